"""Problems whose objects are in pieces: the mask is here, everything else is asked in rounds."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.sharded import Degrees, Sharded, ShardedLowRank
from dominantsets.similarity.sharded_kernel import Change, KernelDegrees, ShardedKernel, best, payoffs
from dominantsets.solvers.certificate import Recomputed, certify
from dominantsets.solvers.chunk_dual import FarDual, FarPoint
from dominantsets.solvers.chunk_pass import Described
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.newton import Climb, climb_together
from dominantsets.solvers.problem import Outcome, Payoffs, Point, Problem
from dominantsets.solvers.result import DominantSet
from dominantsets.solvers.starts import weights_of

SPARE = 256  # best others that come with the payoffs of a point


def pose(similarity: Similarity, shift: float, degrees: Any = None, cutoff: float = 0.0) -> Problem:
    """The problem of a similarity, wherever its objects are.

    Weights up to ``cutoff`` are left out at once where that saves a round; else whoever asks does it.
    """
    if isinstance(similarity, ShardedLowRank):
        return LowRankShards(similarity, shift, degrees, cutoff)
    if isinstance(similarity, ShardedKernel):
        return KernelShards(similarity, shift, degrees)
    return Problem(similarity, shift, degrees)


def solver_of(algorithm: str, similarity: Sharded, start: Any) -> str:
    """The solver for objects in pieces: there is one for each kind."""
    only = "dual" if isinstance(similarity, ShardedLowRank) else "working-set"
    if algorithm not in ("auto", only):
        raise ValueError(
            f"algorithm={algorithm!r} needs columns of the whole similarity, which Dask arrays do not give; "
            f"use {only!r} (or 'auto') here."
        )
    if isinstance(similarity, ShardedKernel) and (
        (isinstance(start, str) and start == "barycenter") or np.ndim(start) > 0
    ):
        raise ValueError(
            "a start of many objects costs all pairs of them under a kernel; for Dask arrays use "
            "start='vertex' or an object's number."
        )
    return only


class _Shards(Problem):
    """What both kinds share: the mask, and row sums of which only the largest comes here."""

    in_pieces = True
    similarity: Sharded

    def __init__(self, similarity: Sharded, shift: float) -> None:
        self.similarity, self.shift = similarity, shift
        self.n = self.n_alive = similarity.n
        self.mask = similarity.pieces.mask()
        self.alive = self.mask.alive

    def thread_copy(self) -> Problem:
        return self

    def remove(self, members: Ints) -> None:
        self.mask.remove(members)
        self.n_alive -= len(members)


class LowRankShards(_Shards):
    """Low-rank features in pieces, solved by the dual."""

    similarity: ShardedLowRank

    def __init__(
        self, similarity: ShardedLowRank, shift: float, degrees: Degrees | None, cutoff: float
    ) -> None:
        super().__init__(similarity, shift)
        self.cutoff = cutoff
        self._sums: Any = similarity.sums
        self._top: tuple[float, int, Floats] | None = None

    @property
    def sums(self) -> Any:
        """Sums of the rows that are still there, for row sums of the similarity."""
        if self._sums is None:
            self._sums = self.similarity.measured(self.mask)
        return self._sums

    @property
    def top(self) -> tuple[float, int, Floats]:
        """The largest row sum, whose it is, and its row."""
        if self._top is None:
            self._top = self.similarity.top(self.sums, self.mask)
        return self._top

    @property
    def degrees(self) -> Any:
        return Degrees(self.similarity.total_degree(self.sums), self.top[0], max(1, self.n_alive))

    def vertex(self) -> int:
        return self.top[1]

    def remove(self, members: Ints) -> None:
        super().remove(members)
        self.recompute_degrees()

    def recompute_degrees(self) -> None:
        self._sums = self._top = None

    def image(self, start: Any) -> Floats:
        """U'x of a start: "vertex", "barycenter", an object or weights."""
        root = float(np.sqrt(self.similarity.factor))
        if isinstance(start, str) and start == "vertex":
            return np.asarray(root * self.top[2])
        if isinstance(start, str):
            return np.asarray(root * self.sums.rows / self.sums.objects)
        if np.ndim(start) == 0:
            return np.asarray(root * self.similarity.rows_of(np.array([int(start)]))[0])
        return self.at(Point.of(np.where(self.alive, weights_of(start, self.n), 0.0)))

    def at(self, x: Point) -> Floats:
        """U'x of a point."""
        return np.asarray(np.sqrt(self.similarity.factor) * self.similarity.mix(*x)[0])

    def on(self, objects: Ints) -> list[Floats]:
        """U'x of starts with all mass on an object."""
        return list(np.sqrt(self.similarity.factor) * self.similarity.rows_of(objects))

    def half_on(self, objects: Ints) -> list[Floats]:
        """U'x of starts with half of their mass on an object and the rest spread over the others."""
        whole = np.sqrt(self.similarity.factor) * self.sums.rows
        others = self.sums.objects - 1.0
        return [0.5 * row + 0.5 * (whole - row) / others for row in self.on(objects)]

    def payoffs(self, x: Point) -> Payoffs:
        """With an entry for each object here: where an answer is cut, which the solver does itself."""
        r, f = self.every_payoff(x)
        return Payoffs(None, r, f, -np.inf)


def solve_far(
    problem: LowRankShards,
    starts: list[Floats],
    *,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    trace: bool = False,
    algorithm: str = "dual",
) -> list[DominantSet]:
    """From several starts at once, given by their U'x: all share each round."""
    similarity = problem.similarity
    problem.similarity.pieces.balance()
    least = similarity.least_diagonal() + problem.shift
    if least <= 0.0:
        raise ValueError(
            f"algorithm='dual' needs a shift above {problem.shift - least:.6g} here, got "
            f"{problem.shift:.6g}: below it the problem is not concave along any single object."
        )
    dual = FarDual(similarity, problem.shift, problem.mask, problem.n_alive)
    climbs: list[Climb[FarPoint]] = [Climb(dual, start) for start in starts]

    def visit(active: list[int], W: list[Floats]) -> list[FarPoint]:
        return dual.at(W, [climbs[k].point for k in active])

    ends = climb_together(climbs, visit, tol=tol, max_iter=max_iter, monitor=monitor)
    reached = [(climb, end) for climb, end in zip(climbs, ends, strict=True) if climb.point is not None]
    if not reached:
        raise KeyboardInterrupt  # before the first pass was made: there is nothing to show
    points = [
        Described(point.w, point.tau, problem.cutoff * point.total)
        for point in (climb.reached() for climb, _ in reached)
    ]
    gathered = dual.members(points)
    if any(not found.members.size for found in gathered):  # equal weights, all up to the cutoff
        points = [point._replace(floor=0.0) for point in points]
        gathered = dual.members(points)
    totals = [float(found.weights.sum()) for found in gathered]
    mixes = [
        (point, total, found.mixed / total, found.lean / total)
        for point, found, total in zip(points, gathered, totals, strict=True)
    ]
    out = []
    for k, (low, high, outside, f) in enumerate(dual.extremes(mixes)):
        climb, end = reached[k]
        x = Point(gathered[k].members, gathered[k].weights / totals[k])
        outcome = Outcome(x, climb.passes, end, climb.trace() if trace else None, climb.face())
        ball = similarity.ball_of(*mixes[k][2:], f)
        known = Recomputed(f, low, high, outside, ball)
        out.append(certify(problem, outcome, tol=tol, algorithm=algorithm, recomputed=known))
    return out


class FarPayoffs:
    """Payoffs that stay with the pieces: those of the members came, and the best of the others."""

    objects = None
    others = -np.inf

    def __init__(self, problem: KernelShards, x: Point) -> None:
        self._problem, self._x = problem, x
        self._name = uuid.uuid4().hex
        similarity = problem.similarity
        self._few = similarity.few(*x)
        shares = similarity.pieces.ask(
            payoffs, similarity.recipe, self._few, problem.shift, SPARE, self._name, mask=problem.mask
        )
        self._inside = np.concatenate([share.inside for share in shares])
        self.f = float(x.weights @ self._inside)
        self._spare = self._learn(shares, SPARE)

    def _learn(self, shares: list[Any], count: int) -> tuple[Ints, Floats]:
        objects = np.concatenate([share.others for share in shares])
        r = np.concatenate([share.r for share in shares])
        rows = np.concatenate([share.rows for share in shares])
        order = np.lexsort((objects, -r))[:count]
        self._problem.similarity.learn(objects[order], rows[order])
        return objects[order], r[order]

    def largest(self) -> float:
        return max(float(self._inside.max()), float(self._spare[1].max(initial=-np.inf)))

    def of(self, members: Ints) -> Floats:
        """The payoffs of members of the point."""
        return self._inside[np.searchsorted(self._x.support, members)]

    def extremes(self, members: Ints) -> tuple[float, float, float]:
        """Smallest and largest payoff of the members, and the largest of the others."""
        outside = float(self._spare[1].max(initial=-np.inf))
        return float(self._inside.min()), float(self._inside.max()), outside

    def best(self, count: int, level: float, besides: Ints) -> tuple[Ints, Floats, bool]:
        """The best objects above a level that are none of ``besides``, and whether there are more."""
        objects, r = self._spare
        new = (r > level) & ~np.isin(objects, besides)
        inside = (self._inside > level) & ~np.isin(self._x.support, besides)
        # what came suffices where it reaches down to the level, or holds enough
        if r.size < SPARE or r[-1] <= level or np.count_nonzero(new) > count:
            objects, r = objects[new], r[new]
        else:
            similarity = self._problem.similarity
            shares = similarity.pieces.ask(
                best, similarity.recipe, self._few, self._problem.shift, count + 1, self._name, level,
                np.union1d(besides, self._x.support), mask=self._problem.mask,
            )  # fmt: skip
            objects, r = self._learn(shares, count + 1)
        objects = np.concatenate([objects, self._x.support[inside]])
        r = np.concatenate([r, self._inside[inside]])
        order = np.lexsort((objects, -r))
        return objects[order[:count]], r[order[:count]], objects.size > count


class KernelShards(_Shards):
    """A kernel of features in pieces, solved by a working set."""

    similarity: ShardedKernel

    def __init__(self, similarity: ShardedKernel, shift: float, degrees: KernelDegrees | None) -> None:
        super().__init__(similarity, shift)
        first: KernelDegrees = similarity.degrees() if degrees is None else degrees
        self._name, self._changes = first.name, list(first.changes)
        self._new = 0
        self._top: Any = first.top
        self._total = first.sum()

    def _renew(self) -> Any:
        if self._top is None:
            self._top, self._total = self.similarity.top(self._name, self._changes, self._new, self.mask)
            self._new = 0
        return self._top

    @property
    def degrees(self) -> Any:
        return Degrees(self._total, self._renew().value, max(1, self.n_alive))

    def vertex(self) -> int:
        top = self._renew()
        self.similarity.learn(np.array([top.vertex]), top.row[None, :])
        return int(top.vertex)

    def remove(self, members: Ints) -> None:
        super().remove(members)
        self._changes.append(Change(self.similarity.few(members, np.ones(len(members))), -1.0))
        self._new += 1
        self._top = None
        self.similarity.forget()

    def recompute_degrees(self) -> None:
        """Row sums of what is left, from scratch."""
        left = np.flatnonzero(self.alive)
        few = self.similarity.few(left, np.ones(left.size))
        self.similarity.forget()
        self._name, self._changes, self._new, self._top = uuid.uuid4().hex, [Change(few, 1.0)], 1, None

    def payoffs(self, x: Point) -> Any:
        return FarPayoffs(self, x)
