"""All dominant sets of few features, with proof that there are no others: a survey of boxes of U'x."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import boxes
from dominantsets.compiled.interrupts import DeferredInterrupt
from dominantsets.solvers.boxes import BoxedProblem
from dominantsets.solvers.branch_and_bound import Solvable
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.result import DominantSet, Status

SAME = 1e-6  # how far apart, in units of the longest row, U'x of one set may be found


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
    boxed = BoxedProblem(problem.similarity.expanded(objects, shift), shift)
    found = _Found(problem, options, monitor, boxed, objects)
    low, high = boxed.Y.min(axis=0), boxed.Y.max(axis=0)
    narrowest = 1e-9 * float((high - low).max())
    waiting, left, nodes = [_Open(low, high, np.arange(len(objects), dtype=np.int32))], 0, 0
    try:
        with DeferredInterrupt() as interrupts:
            while waiting:
                stopped = monitor.due() and monitor.report(nodes, 0.0, 0.0, len(found.clusters))
                if nodes >= max_nodes or monitor.out_of_time() or stopped:
                    break
                interrupts.check()
                box = waiting.pop()
                nodes += 1
                p = 0.5 * (box.low + box.high)
                verdict, tau, box.objects = boxed.surveyed(p, box.low, box.high, box.objects)
                if verdict == boxes.EMPTY or (verdict == boxes.SINGLE and found.has_one(p, tau, box)):
                    continue
                if float((box.high - box.low).max()) <= narrowest:
                    left += 1  # a maximum that is not strict, or nearly so
                    continue
                waiting.extend(box.halves())
    except KeyboardInterrupt:
        pass
    order = sorted(found.clusters, key=lambda one: (-one.value, int(one.members[0])))
    return Survey(order, not waiting and not left, nodes)


class _Found:
    """The sets found so far, and where they are."""

    def __init__(
        self, problem: Solvable, options: SolverOptions, monitor: Monitor, boxed: BoxedProblem, objects: Ints
    ) -> None:
        self._problem, self._options, self._monitor = problem, options, monitor
        self._boxed, self._objects = boxed, objects
        self.clusters: list[DominantSet] = []
        self._places: list[Floats] = []

    def has_one(self, p: Floats, tau: float, box: _Open) -> bool:
        """Whether the one maximum on the objects of a box is known now: then the box has no other."""
        mine = self._objects[box.objects]
        if any(len(one) <= mine.size and np.isin(one.members, mine).all() for one in self.clusters):
            return True
        point = self._boxed.point_at(p, tau, box.objects, self._objects)
        one = self._problem.solve_from(point, self._options, self._monitor)
        place = one.weights @ self._boxed.Y[np.searchsorted(self._objects, one.members)]
        unit = SAME * self._boxed.longest
        if one.status is not Status.CONVERGED:  # stopped on the way: nothing is known
            return False
        if one.strict and all(np.abs(place - other).max() > unit for other in self._places):
            self.clusters.append(one)
            self._places.append(place)
        return bool(np.isin(one.members, mine).all())
