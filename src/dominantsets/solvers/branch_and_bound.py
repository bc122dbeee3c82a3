r"""The dominant set of highest value, with proof: branch and bound over boxes in the space of U'x.

A look at a box costs one pass over the objects that points in it can have, and bounds f on all of it; boxes
with a bound up to the best value that was found are done with, the others are divided, best first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any, Protocol

import numpy as np

from dominantsets._checks import check_int, check_real
from dominantsets._typing import Ints
from dominantsets.compiled.interrupts import DeferredInterrupt
from dominantsets.compiled.threads import parallel_map
from dominantsets.solvers.boxes import Box, BoxedProblem

from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Point
from dominantsets.solvers.result import HALTING, DominantSet, Status

BATCH = 8  # boxes that are divided at a time, side by side; the same for every number of threads


@dataclass(frozen=True, eq=False)
class GlobalOptimum:
    """The best dominant set that was found, and how much better another one could be at most.

    Attributes
    ----------
    cluster : DominantSet
        The best one, with its own certificate and ``global_gap``.
    bound : float
        No dominant set has a higher value.
    global_gap : float
        ``bound`` minus the value of ``cluster``.
    proven : bool
        Whether the gap is within the tolerance.
    n_nodes : int
        Looks at boxes: passes over the objects that are left in them.
    status : Status
        Why the search ended: ``CONVERGED`` where proven, ``MAX_ITER`` where nodes were used up.
    """

    cluster: DominantSet
    bound: float
    global_gap: float
    proven: bool
    n_nodes: int
    status: Status

    def __repr__(self) -> str:
        what = "proven best" if self.proven else f"at most {self.global_gap:.3g} below the best"
        return (
            f"GlobalOptimum({len(self.cluster)} members, value={self.cluster.value:.9g}, {what}, "
            f"{self.n_nodes} nodes, {self.status.value})"
        )


@dataclass(frozen=True)
class Search:
    """How far a search for the global optimum goes; see :func:`global_optimum`."""

    tol: float = 1e-9
    max_nodes: int = 100_000

    def checked(self) -> Search:
        """The settings, if a search can use them."""
        return Search(
            check_real("tol", self.tol, at_least=0.0), check_int("max_nodes", self.max_nodes, at_least=1)
        )


DEFAULT = Search()


class Solvable(Protocol):
    """What the search asks of a problem, wherever its objects are."""

    similarity: Any
    shift: float

    def living(self) -> Ints:
        """The objects that are alive."""

    def shift_of(self, objects: Ints) -> Any:
        """What is subtracted on the diagonal for some objects."""

    def solve(self, options: SolverOptions, monitor: Monitor, start: Any = None) -> DominantSet:
        """Solve from a start as users name it."""

    def solve_from(self, x: Point, options: SolverOptions, monitor: Monitor) -> DominantSet:
        """Solve from a point of the simplex."""


class _Run:
    """Boxes that are open, the best cluster so far, and what it takes to be better."""

    def __init__(self, problem: Solvable, options: SolverOptions, monitor: Monitor, search: Search) -> None:
        self.problem, self.options, self.monitor, self.search = problem, options, monitor, search
        self.best = problem.solve(options, monitor, "vertex")
        self.objects: Ints = problem.living()
        shift = problem.shift_of(self.objects)
        self.boxed = BoxedProblem(problem.similarity.expanded(self.objects, shift), shift)
        self.open: list[tuple[float, int, Box]] = []
        self.too_small = -float("inf")  # the largest bound of a box that cannot be divided
        self.n_nodes = self._pushed = 0

    @property
    def f(self) -> float:
        return self.best.value - self.problem.shift

    @property
    def done(self) -> float:
        """The f up to which a bound does not matter: more than rounding above the best."""
        unit = self.best.unit
        return self.f + float(max(self.search.tol * unit, self.boxed.finest))

    @property
    def bound(self) -> float:
        """No point has a higher f: boxes are closed below ``done``, and the others are here."""
        return max(self.done, self.too_small, -self.open[0][0] if self.open else self.done)

    def look(self, some: list[Box]) -> None:
        """Look at boxes side by side, then take what they gave in their order."""
        done = self.done
        parallel_map(
            lambda part: self.boxed.look(some[part.start], done), [slice(k, k + 1) for k in range(len(some))]
        )
        self.n_nodes += len(some)
        for box in some:
            if box.value > self.f + self.boxed.rounding:
                self._climb(box)
        for box in some:
            if box.bound > self.done:
                self.boxed.keep_list(box, (entry[2] for entry in self.open))
                heappush(self.open, (-box.bound, self._pushed, box))
                self._pushed += 1

    def _climb(self, box: Box) -> None:
        found = self.problem.solve_from(self.boxed.point(box, self.objects), self.options, self.monitor)
        if found.value > self.best.value:
            self.best = found

    def divided(self) -> list[Box]:
        """Take the boxes of highest bound: what to look at in their place."""
        out: list[Box] = []
        for _ in range(min(BATCH, len(self.open))):
            box = heappop(self.open)[2]
            if box.bound <= self.done:
                self.open.clear()  # all others are no better
                break
            parts = box.parts(self.boxed.narrowest)
            if not parts:
                self.too_small = max(self.too_small, box.bound)
            out += parts
        return out

    def halted(self) -> Status | None:
        if self.n_nodes >= self.search.max_nodes:
            return Status.MAX_ITER
        return self.monitor.report(self.n_nodes, self.best.value, self.bound - self.f, len(self.best))

    def go(self) -> Status:
        """Search until the best is proven, or something ends it between two batches."""
        places = np.searchsorted(self.objects, self.best.members)
        self.look([self.boxed.root(Point(places, self.best.weights))])
        try:
            with DeferredInterrupt() as interrupts:
                while self.open and self.open[0][2].bound > self.done:
                    halt = self.halted()
                    if halt is not None:
                        return halt
                    interrupts.check()
                    self.look(self.divided())
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        return Status.CONVERGED if self.too_small <= self.done else Status.STALLED


def optimise(
    problem: Solvable, options: SolverOptions, monitor: Monitor, search: Search = DEFAULT
) -> GlobalOptimum:
    """The best dominant set among the objects of a problem that are alive."""
    if options.algorithm == "exact":
        best = problem.solve(options, monitor, "vertex")
        gap = best.global_gap or 0.0
        return GlobalOptimum(best, best.value + gap, gap, True, 1, best.status)
    run = _Run(problem, options, monitor, search)
    status = run.go()
    bound, done = run.bound + problem.shift, run.done + problem.shift
    best = replace(run.best, global_gap=bound - run.best.value)
    if status in HALTING:
        best = replace(best, status=status)  # which ends a run of many clusters too
    return GlobalOptimum(best, bound, bound - best.value, bound <= done, run.n_nodes, status)
