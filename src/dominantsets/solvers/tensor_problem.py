"""Problems whose features are on a device: who is alive, payoffs in float64, and solving from many starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.rows.tensors import allowed, fetched, host, roomy
from dominantsets.similarity.tensor_kernel import TensorKernel
from dominantsets.similarity.tensor_low_rank import TensorLowRank
from dominantsets.solvers.certificate import Recomputed, certify, undecided
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.problem import Outcome, Payoffs, Point, Problem
from dominantsets.solvers.result import DominantSet, Status
from dominantsets.solvers.tensor_dual import CANDIDATES, Batch, Clock, exact_products
from dominantsets.solvers.tensor_newton import Reached, climb_together
from dominantsets.solvers.tensor_working_set import climb_kernel, outsiders
from dominantsets.solvers.tiles import Tiles

PAYOFF_VALUES = {"cuda": 2**28, "cpu": 2**20}  # float64 payoffs that are there at once
HALTING = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.STOPPED)
GROUP_BYTES = {"cuda": 2**33, "cpu": 2**30}  # of Newton's matrices: with more the starts come in groups


class Known(NamedTuple):
    """f, the smallest and largest payoff inside a support, the largest outside: what a certificate asks."""

    f: float
    low: float
    high: float
    outside: float
    ball: tuple[Floats, float] | None = None

    def extremes(self, members: Ints) -> tuple[float, float, float]:
        """The smallest and the largest payoff of the members, and the largest of the others."""
        return self.low, self.high, self.outside


class DeviceProblem(Problem):
    """As :class:`Problem`, with masks and degrees on the device of the features."""

    def __init__(
        self, similarity: TensorLowRank | TensorKernel, shift: float, degrees: Floats | None = None
    ) -> None:
        self.similarity: Any = similarity
        self.shift = shift
        self.n = similarity.n
        self.device = similarity.device
        self.clock = Clock(similarity.device)
        self.alive: Any = torch.ones(self.n, dtype=torch.bool, device=self.device)
        self.n_alive = self.n
        self._degrees: Any = None if degrees is None else torch.from_numpy(degrees).to(self.device)

    @property
    def degrees(self) -> Any:
        """Sums of similarity to the objects that are alive; -inf for those that are not."""
        if self._degrees is None:
            self.recompute_degrees()
        return self._degrees

    def vertex(self) -> int:
        degrees = self.degrees
        return int(torch.nonzero(degrees == degrees.max())[0, 0])  # ties to the lowest number

    def remove(self, members: Ints) -> None:
        gone = torch.from_numpy(np.asarray(members, dtype=np.int64)).to(self.device)
        self.alive[gone] = False
        self.n_alive -= len(members)
        if self._degrees is not None:
            ones = torch.ones(len(gone), dtype=torch.float64, device=self.device)
            self._degrees -= self.similarity.summed(gone, ones)  # the diagonal concerns the removed alone
            self._degrees[gone] = -torch.inf

    def recompute_degrees(self) -> None:
        degrees = self.similarity.degrees_of(None if self.n_alive == self.n else self.alive)
        self._degrees = degrees.masked_fill_(~self.alive, -torch.inf)

    def in_component_of(self, x: Point) -> DeviceProblem:
        return self

    def thread_copy(self) -> DeviceProblem:
        return self

    def living(self) -> Ints:
        """The objects that are alive, in increasing order."""
        return np.asarray(host(torch.nonzero(self.alive).view(-1)))

    def ranked(self, ranks: Ints) -> Ints:
        """The objects with these ranks among the living."""
        if self.n_alive == self.n:
            return ranks
        places = self.alive.cumsum(0)
        wanted = torch.from_numpy(ranks + 1).to(self.device)
        return np.asarray(host(torch.searchsorted(places, wanted)))

    def is_alive(self, objects: Ints) -> NDArray[np.bool_]:
        return np.asarray(host(self.alive[torch.from_numpy(objects).to(self.device)]))

    def joiners(self, x: Point, level: float) -> Ints:
        if self.n_alive == self.n:
            return np.empty(0, dtype=np.int64)
        objects, weights = (torch.from_numpy(part).to(self.device) for part in x)
        found = None
        if not isinstance(self.similarity, TensorKernel):
            mixed, lean = self.similarity.mixture(objects, weights)
            found = self._above(mixed, lean, level)
        if found is None:
            payoffs = self.similarity.gradient_of(objects, weights)
            found = torch.nonzero((payoffs > level) & ~self.alive).view(-1)
        return np.asarray(host(found))

    def _above(self, mixed: Tensor, lean: float, level: float) -> Tensor | None:
        """The same by a rough sweep, and exactly for those that it finds; None where they are too many."""
        similarity, w = self.similarity, mixed[None, :]
        removed = Batch(similarity, self.shift, ~self.alive, self.n - self.n_alive)
        least = torch.tensor([level - lean - similarity.offset], dtype=torch.float64).to(self.device)
        found = removed.above(w, least, allowed(CANDIDATES, self.device))
        if found is None or not len(found[0]):
            return None if found is None else found[0]
        tiles = Tiles(found[0], np.array([len(found[0])]))
        values, bias, _ = similarity.from_products(*exact_products(similarity, tiles, w))
        values = values if bias is None else values + bias
        return tiles.objects[tiles.valid & (values > least)]

    def payoffs(self, x: Point) -> Payoffs:
        objects = torch.from_numpy(np.asarray(x.support, dtype=np.int64)).to(self.device)
        tiles = Tiles(objects, np.array([len(objects)]))
        weights = tiles.spread(torch.from_numpy(x.weights).to(self.device))
        return known_payoffs(self, tiles, weights)[0]  # type: ignore[return-value]


def known_payoffs(problem: DeviceProblem, tiles: Tiles, weights: Tensor) -> list[Known]:
    """Payoffs of many points in float64: of the members, and of all objects in blocks."""
    similarity, shift, s = problem.similarity, problem.shift, tiles.s
    if isinstance(similarity, TensorKernel):
        mixtures = None
        inside = similarity.inside(tiles, weights, shift)
    else:
        mixtures = similarity.mixtures(tiles, weights)
        products = exact_products(similarity, tiles, mixtures[0])
        inside = similarity.inside(tiles, weights, shift, mixtures[1], products)
    f = tiles.total(weights * inside)
    nothing = torch.full((s,), -torch.inf, dtype=torch.float64, device=problem.device)
    most = nothing.scatter_reduce(
        0, tiles.owner, torch.where(tiles.valid, inside, -torch.inf).amax(1), "amax"
    )
    least = (-nothing).scatter_reduce(
        0, tiles.owner, torch.where(tiles.valid, inside, torch.inf).amin(1), "amin"
    )
    outside = nothing
    height = max(1, allowed(PAYOFF_VALUES, problem.device) // max(s, similarity.n_features))
    for _, values, constant in outsiders(similarity, tiles, weights, problem.alive, height, mixtures):
        outside = torch.maximum(outside, values.amax(1) + constant)
    balls = None if mixtures is None else similarity.balls(mixtures, f)
    rows = torch.stack([f, least, most, outside], 1).tolist()
    return [
        Known(f_k, low, high, out, None if balls is None else balls[k])
        for k, (f_k, low, high, out) in enumerate(rows)
    ]


def solve_starts(
    problem: DeviceProblem,
    starts: Sequence[Point],
    *,
    algorithm: str,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    trace: bool = False,
) -> list[DominantSet]:
    """Solve from every start, all of them together; in the order of the starts."""
    if trace:
        raise ValueError("trace=True is not there on a device, where many starts share their steps.")
    similarity = problem.similarity
    found: dict[int, DominantSet] = {}
    d = similarity.n_features
    size = max(1, allowed(GROUP_BYTES, problem.device) // (64 * d * d)) if d <= 2_000 else len(starts)
    with roomy(f"{len(starts)} starts over {similarity.n:,} objects"):
        for begin in range(0, len(starts), size):
            group = starts[begin : begin + size]
            if isinstance(similarity, TensorKernel):
                batch = None
                reached = climb_kernel(
                    similarity, problem.shift, problem.alive, group, tol=tol, max_iter=max_iter,
                    monitor=monitor,
                )  # fmt: skip
            else:
                batch = Batch(similarity, problem.shift, problem.alive, problem.n_alive, problem.clock)
                W = _images(problem, group)
                reached = climb_together(batch, W, tol=tol, max_iter=max_iter, monitor=monitor)
            clusters = _certified(problem, batch, reached, tol, algorithm)
            found |= {begin + k: cluster for k, cluster in zip(reached.starts, clusters, strict=True)}
            if any(status in HALTING for status in reached.statuses):
                break
    return [found[k] for k in sorted(found)]


def _images(problem: DeviceProblem, starts: Sequence[Point]) -> Tensor:
    """U'x of every start."""
    similarity, device = problem.similarity, problem.device
    if all(len(start.support) == 1 for start in starts):
        objects = np.array([int(start.support[0]) for start in starts])
        u: Tensor = similarity.chosen(torch.from_numpy(objects).to(device)).u
        return u
    images = [
        similarity.mixture(
            torch.from_numpy(np.asarray(start.support, dtype=np.int64)).to(device),
            torch.from_numpy(np.asarray(start.weights, dtype=np.float64)).to(device),
        )[0]
        for start in starts
    ]
    return torch.stack(images)


def _certified(
    problem: DeviceProblem, batch: Batch | None, ends: Reached, tol: float, algorithm: str
) -> list[DominantSet]:
    """The clusters with their certificates; one sweep over all objects for all of them."""
    problem.clock.begin()
    tiles = Tiles(ends.objects, ends.counts)
    weights = tiles.spread(ends.weights)
    known = known_payoffs(problem, tiles, weights)
    problem.clock.add("certificate")
    faces = _faces(problem, batch, ends, known)
    problem.clock.add("second order")
    members, shares = fetched(ends.objects), fetched(ends.weights)
    edges = np.concatenate([[0], np.cumsum(ends.counts)])

    def work(part: slice) -> list[DominantSet]:
        out = []
        for k in range(part.start, part.stop):
            mine = slice(int(edges[k]), int(edges[k + 1]))
            outcome = Outcome(
                Point(members[mine].copy(), shares[mine]), ends.passes[k], ends.statuses[k], None, faces[k]
            )
            there = Recomputed(*known[k])
            out.append(certify(problem, outcome, tol=tol, algorithm=algorithm, recomputed=there))
        return out

    clusters = [cluster for part in parallel_map(work, thread_slices(tiles.s, 1)) for cluster in part]
    problem.clock.add("results to the host")
    return clusters


def _faces(
    problem: DeviceProblem, batch: Batch | None, ends: Reached, known: list[Known]
) -> list[bool | None]:
    """Whether the Hessian is negative definite on the face, where that would prove a strict maximum."""
    faces: list[bool | None] = [None] * len(known)
    asked = [k for k, one in enumerate(known) if undecided(*one[:4], problem.shift)]
    if batch is None or not batch.newton or not asked:
        return faces
    objects, weights, rows = ends.objects, ends.weights, ends.W
    if len(asked) < len(known):
        here = torch.zeros(len(known), dtype=torch.bool)
        here[asked] = True
        which = torch.repeat_interleave(here, torch.from_numpy(ends.counts)).to(problem.device)
        objects, weights, rows = objects[which], weights[which], rows[here.to(problem.device)]
    tiles = Tiles(objects, ends.counts[asked])
    for k, face in zip(asked, batch.definite(rows, tiles, tiles.spread(weights)).tolist(), strict=True):
        faces[k] = face
    return faces
