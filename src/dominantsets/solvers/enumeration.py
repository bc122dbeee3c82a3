"""All dominant sets of few features, with proof that there are no others: a survey of boxes of U'x."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import boxes
from dominantsets.similarity.expansion import expandable
from dominantsets.solvers.boxes import BoxedProblem
from dominantsets.solvers.branch_and_bound import Solvable
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Point
from dominantsets.solvers.result import HALTING, DominantSet

EPS = boxes.EPS
NEWTON = 20  # steps at most: each must halve what is left, so that 1e-6 is down to rounding
WIDENED = 4  # times that a box around a point may grow until it must contain the maximum


@dataclass(frozen=True, eq=False)
class Survey:
    """What a survey found, and whether that is all there is."""

    clusters: list[DominantSet]
    complete: bool
    n_nodes: int


class _Open:
    """A box that may have dominant sets."""

    __slots__ = ("high", "low", "objects")

    def __init__(self, low: Floats, high: Floats, objects: NDArray[np.int32]) -> None:
        self.low, self.high, self.objects = low, high, objects

    def halves(self) -> list[_Open]:
        j = int((self.high - self.low).argmax())
        middle = 0.5 * (self.low[j] + self.high[j])
        left, right = (
            _Open(self.low, self.high.copy(), self.objects),
            _Open(self.low.copy(), self.high, self.objects),
        )
        left.high[j] = right.low[j] = middle
        return [left, right]


def survey(problem: Solvable, options: SolverOptions, monitor: Monitor, max_nodes: int) -> Survey:
    """All strict maxima of a problem in low-rank form, box by box, those of a box at a time."""
    objects = problem.living()
    shift = problem.shift_of(objects)
    boxed = BoxedProblem(expandable(problem.similarity).expanded(objects, shift), shift)
    found = _Found(problem, options, monitor, boxed, objects)
    low, high = boxed.Y.min(axis=0), boxed.Y.max(axis=0)
    narrowest = 1e-9 * float((high - low).max())
    waiting, left, nodes = [_Open(low, high, np.arange(len(objects), dtype=np.int32))], 0, 0
    while waiting:
        stopped = monitor.due() and monitor.report(nodes, 0.0, 0.0, len(found.peaks))
        if nodes >= max_nodes or monitor.out_of_time() or stopped:
            break
        box = waiting.pop()
        nodes += 1
        p = 0.5 * (box.low + box.high)
        verdict, tau, box.objects = boxed.surveyed(p, box.low, box.high, box.objects)
        if verdict == boxes.EMPTY or (verdict == boxes.SINGLE and found.settle(p, tau, box)):
            continue
        if float((box.high - box.low).max()) <= narrowest:
            left += 1  # a maximum that is not strict, or nearly so
            continue
        waiting.extend(box.halves())
    complete = not waiting and not left and not found.unsure
    clusters = [peak.cluster for peak in found.peaks]
    if not complete:
        proved = {one.members.tobytes() for one in clusters}
        clusters += [one for one in found.others if one.members.tobytes() not in proved]
    order = sorted(clusters, key=lambda one: (-one.value, int(one.members[0])))
    return Survey(order, complete, nodes)


class _Peak(NamedTuple):
    """A strict maximum that is proved: its U'x is in a box, its members are among the objects of the box."""

    cluster: DominantSet
    low: Floats
    high: Floats
    objects: NDArray[np.int32]


class _Found:
    """The strict maxima that were found so far, each with the objects among which it is the only one."""

    def __init__(
        self, problem: Solvable, options: SolverOptions, monitor: Monitor, boxed: BoxedProblem, objects: Ints
    ) -> None:
        self._problem, self._options, self._monitor = problem, options, monitor
        self._boxed, self._objects = boxed, objects
        self._everybody = np.arange(len(objects), dtype=np.int32)
        self.peaks: list[_Peak] = []
        self.others: list[DominantSet] = []  # proved by their own certificates only: they close no box
        self.unsure = False  # whether two of them may be one, or one could not be proved

    def settle(self, p: Floats, tau: float, box: _Open) -> bool:
        """Whether the one maximum on the objects of a box is known now: then the box has no other.

        So it is where a climb ends on these objects at a point that is not proved; but then it is not listed.
        """
        inside = np.zeros(len(self._objects), dtype=bool)
        inside[box.objects] = True
        if any(inside[peak.objects].all() for peak in self.peaks):
            return True
        point = self._boxed.point_at(p, tau, box.objects, self._objects)
        one = self._problem.solve_from(point, self._options, self._monitor)
        if one.status in HALTING:
            return False
        peak = self._peak_of(one)
        if peak is None and inside[np.searchsorted(self._objects, one.members)].all():
            self.unsure = True
            return True
        return peak is not None and self._concave(box.objects, peak.objects)

    def _peak_of(self, one: DominantSet) -> _Peak | None:
        """What is proved of a point that a climb ended at; a new maximum is listed."""
        for peak in self.peaks:  # a face has one strict maximum at most
            if np.array_equal(peak.cluster.members, one.members):
                return peak
        new = self._proved(one)
        if new is None:
            known = any(np.array_equal(other.members, one.members) for other in self.others)
            if one.strict and not known:
                self.others.append(one)
            return None
        for peak in self.peaks:
            if self._concave(peak.objects, new.objects):  # both are the one maximum on these
                return peak
        apart = [((peak.high < new.low) | (new.high < peak.low)).any() for peak in self.peaks]
        self.unsure |= not all(apart)
        self.peaks.append(new)
        return new

    def _concave(self, *parts: NDArray[np.int32]) -> bool:
        return self._bend(np.unique(np.concatenate(parts)))[0] < 1.0

    def _bend(self, mine: NDArray[np.int32]) -> tuple[float, float]:
        """The largest eigenvalue of the scatter of objects, rounded up, and their sum of 1 / kappa.

        Similarities that are off by an error add no more than error times that sum.
        """
        boxed, d = self._boxed, self._boxed.Y.shape[1]
        share = self._share(mine)
        mass = float(share.sum())
        S, full = np.empty((d, d)), np.empty((d, d))
        mean = share @ boxed.Y[mine] / mass
        boxes.scatter(boxed.Y, boxed.inverse, mine, np.ones(mine.size), mean, full, S)
        top = float(np.linalg.eigvalsh(S)[-1]) * (1.0 + 64.0 * d * EPS)
        return top + boxed.rounding * mass, mass

    def _share(self, mine: NDArray[np.int32]) -> Floats:
        inverse = self._boxed.inverse
        return inverse[mine] if inverse.size > 1 else np.full(mine.size, inverse[0])

    def _at(self, w: Floats, width: float = 0.0) -> tuple[bool, NDArray[np.int32], Floats, float, Floats]:
        """A box around w: whether f is concave on its objects, these, x(w) and its excess over 1, U'x - w."""
        verdict, tau, mine = self._boxed.surveyed(w, w - width, w + width, self._everybody)
        x = np.maximum(self._boxed.Y[mine] @ w + self._boxed.beta[mine] - tau, 0.0) * self._share(mine)
        whole = float(x.sum())
        x /= whole
        return verdict == boxes.SINGLE, mine, x, whole - 1.0, x @ self._boxed.Y[mine] - w

    def _polished(self, w: Floats) -> Floats:
        """Newton's steps to U'x(w) = w, as long as they close in."""
        best, error = w, np.inf
        for _ in range(NEWTON):
            _, mine, x, _, delta = self._at(w)
            if not float(np.abs(delta).max()) < 0.5 * error:
                break
            best, error = w, float(np.abs(delta).max())
            inside = mine[x > 0.0]
            share, rows = self._share(inside), self._boxed.Y[inside]
            off = rows - share @ rows / share.sum()
            try:
                w = w + np.linalg.solve(np.eye(w.size) - (share[:, None] * off).T @ off, delta)
            except np.linalg.LinAlgError:
                break
        return best

    def _proved(self, one: DominantSet) -> _Peak | None:
        """The strict maximum near a point, proved from U'x alone (docs/theory-all.md); None: it is not."""
        boxed = self._boxed
        places = np.searchsorted(self._objects, one.members)
        w, width = self._polished(one.weights @ boxed.Y[places]), 0.0
        for _ in range(WIDENED):
            concave, mine, x, excess, delta = self._at(w, width)
            top, mass = self._bend(mine)
            if not concave or top >= 1.0:
                return None
            share = self._share(mine)
            rounding = 3.0 * boxed.rounding + abs(excess) * float((x / share).max())
            moved = float(np.linalg.norm(delta)) + (mine.size + 8.0) * EPS * boxed.longest
            distance = (np.sqrt(top) * moved + rounding * np.sqrt(mass)) / (1.0 - top)
            reach = moved + np.sqrt(top) * distance
            if reach <= width:
                doubtful = x <= distance * np.sqrt(share)
                return None if doubtful.all() else self._listed(w, width, mine, x, doubtful)
            width = 2.0 * reach
        return None

    def _listed(
        self, w: Floats, width: float, mine: NDArray[np.int32], x: Floats, doubtful: NDArray[np.bool_]
    ) -> _Peak | None:
        """The set of a maximum, from x(w); None where a solver at x(w) disagrees on members that are sure."""
        possible, certain = self._objects[mine], self._objects[mine[~doubtful]]
        point = Point(certain, x[~doubtful] / x[~doubtful].sum())
        one = self._problem.solve_from(point, self._options, self._monitor)
        agrees = np.isin(one.members, possible).all() and np.isin(certain, one.members).all()
        if one.status in HALTING or not agrees:
            return None
        one = replace(one, strict=True, undecided=self._objects[mine[doubtful]])
        return _Peak(one, w - width, w + width, mine)
