r"""The dominant set of highest value, with proof: columns, then branch and bound in the space of U'x.

The columns of the similarity bound f in any dimension, and leave few places where something better may be.
There boxes are looked at: it costs one pass over the objects that points in a box can have, and bounds f on
all of it. Boxes with a bound up to the best value that was found are done with, the others are divided, best
first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any, Protocol

import numpy as np

from dominantsets._checks import check_int, check_real
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.boxes import EPS
from dominantsets.compiled.threads import parallel_map
from dominantsets.similarity.expansion import EXPANDED, Expansion, expandable
from dominantsets.solvers.anchors import Part, RowAnchors, column_tops, trivial_bound, work_of
from dominantsets.solvers.boxes import Box, BoxedProblem
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Point
from dominantsets.solvers.result import HALTING, DominantSet, Status

BATCH = 8  # boxes that are divided at a time, side by side; the same for every number of threads
CLIMBS = 8  # sets that are looked for from columns that allow the highest values
SPEED = 5e10  # of the work of columns per second, roughly, on two cores: see ``RowAnchors.work``
CLOSER = 6.0  # times as long, roughly, if they say where to look for something better too
GROUPED = 0.125  # of it, roughly, in data with groups, where objects of others are left out
AT_ONCE = 0.02  # of the time: columns that take no more come first, and boxes of many features get no more
FIRST = 1.0 / 3.0  # of the time, for boxes alone: few features need no columns
FEW, MANY = (
    5,
    8,
)  # features up to which boxes alone prove the best of 100,000 objects in seconds, and of 1,000
CLOSING = 0.35  # of the trivial gap: where boxes have come closer, columns would hardly help (theory-global)
SOON, LATER = 1.0 / 3.0, 0.75  # of what is left: for columns that say where to look, and for bounds alone
PATIENCE = 15.0  # seconds that are shared where the time is not limited


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
        Why the search ended: ``CONVERGED`` where proven, ``MAX_ITER`` where nodes were used up, ``STALLED``
        where nothing finer can be said: only columns bound the value, or rounding hides the rest.
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
    max_nodes: int = 300_000

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
    """What is open, the best cluster so far, and what it takes to be better."""

    def __init__(self, problem: Solvable, options: SolverOptions, monitor: Monitor, search: Search) -> None:
        self.problem, self.options, self.monitor, self.search = problem, options, monitor, search
        self.best = problem.solve(options, monitor, "vertex")
        self.objects: Ints = problem.living()
        self.shift = problem.shift_of(self.objects)
        self.largest = float(problem.similarity.largest())
        self.ceiling = trivial_bound(self.largest, self.shift, self.objects.size)  # no f is higher
        self.open: list[tuple[float, int, Box]] = []
        self.left = float("inf")  # the largest bound of what cannot be divided: all, until there are boxes
        # what is added to bounds for rounding: of f itself, and later of boxes
        self.finest = 16.0 * EPS * (abs(self.largest) + float(np.max(np.abs(self.shift))))
        self.n_nodes = self._pushed = 0
        self._until: float | None = None  # when boxes leave the rest of the time to columns, and columns end

    @property
    def f(self) -> float:
        return self.best.value - self.problem.shift

    @property
    def done(self) -> float:
        """The f up to which a bound does not matter: more than rounding above the best."""
        return self.f + max(self.search.tol * self.best.unit, self.finest)

    @property
    def bound(self) -> float:
        """No point has a higher f: boxes are closed below ``done``, and the others are here."""
        boxes = max(self.done, self.left, -self.open[0][0] if self.open else self.done)
        return max(self.f, min(self.ceiling, boxes))

    def go(self) -> Status:
        """Search until the best is proven, or something ends it."""
        if self.best.status in HALTING:
            return self.best.status
        rows = expandable(self.problem.similarity).low_rank(self.objects, self.shift)
        return self._by_rows() if rows else self._by_columns()

    def _halt(self) -> Status | None:
        """What ends the search here, if anything does."""
        if self._until is not None and time.perf_counter() >= self._until:
            return Status.TIME_LIMIT
        return self.monitor.report(self.n_nodes, self.best.value, self.bound - self.f, len(self.best))

    # columns --------------------------------------------------------------------------------------------

    def _by_columns(self) -> Status:
        """The columns of any similarity, and boxes where there are few objects."""
        similarity, halting = self.problem.similarity, _Halting(self._halt)
        tops = column_tops(similarity, self.objects, self.shift, self.largest, self.f, halting)
        self.ceiling = min(self.ceiling, max(float(tops.max()), self.f))
        self._climb_from(tops, halting)
        if self.bound <= self.done:
            return Status.CONVERGED
        if halting.status is not None:
            return halting.status
        if self.objects.size > EXPANDED:
            return Status.STALLED
        boxed = BoxedProblem(expandable(similarity).expanded(self.objects, self.shift), self.shift)
        return self._by_boxes([(boxed, self.objects)])

    def _by_rows(self) -> Status:
        """Boxes for some time; then columns, if there is time for them, and boxes near what they leave.

        Columns come first where they take next to no time.
        """
        expansion = expandable(self.problem.similarity).expanded(self.objects, self.shift)
        began, deadline = time.perf_counter(), self.monitor.deadline
        patience = PATIENCE if deadline is None else max(0.0, deadline - began)
        n, d = expansion.rows.shape
        needed = work_of(n * n, d) / SPEED  # seconds that all columns take at most
        rest = patience
        if CLOSER * needed > AT_ONCE * patience:
            self._until = began + (FIRST if d <= MANY else AT_ONCE) * patience
            status = self._by_boxes([(BoxedProblem(expansion, self.shift), self.objects)])
            self._until = None
            ended = status not in (Status.TIME_LIMIT, Status.MAX_ITER, Status.STALLED)
            if ended or self.monitor.out_of_time():
                return status
            rest = patience if deadline is None else max(0.0, deadline - time.perf_counter())
            closing = self.bound - self.f <= CLOSING * (self.ceiling - self.f)
            if d <= FEW or closing or GROUPED * needed > rest:
                return self._divide()
        anchors, halting = RowAnchors(expansion, self.shift, self.done), _Halting(self._halt)
        needed = anchors.work / SPEED
        if CLOSER * needed <= SOON * rest:
            anchors.look(halting, time.perf_counter() + SOON * rest)
            self._climb_from(anchors.values, halting)
            if self.done > anchors.floor:  # something better leaves less room
                anchors = RowAnchors(expansion, self.shift, self.done)
                anchors.look(halting, time.perf_counter() + SOON * rest)
            self.ceiling = min(self.ceiling, anchors.bound)
            if halting.status is not None:
                return halting.status
            return self._by_boxes([self._confined(expansion, part) for part in anchors.parts(self.done)])
        if needed <= LATER * rest:
            anchors.look(halting, -np.inf)
            self.ceiling = min(self.ceiling, anchors.bound)
        return halting.status or self._divide()

    def _confined(self, expansion: Expansion, part: Part) -> tuple[BoxedProblem, Ints]:
        """The problem of the objects within reach of a part of the space."""
        U, bias, own, offset, error = expansion
        mine = part.objects
        some = Expansion(U[mine], bias[mine], own if own.size == 1 else own[mine], offset, error)
        boxed = BoxedProblem(some, self.shift if np.ndim(self.shift) == 0 else self.shift[mine])
        boxed.confine(part.balls)
        return boxed, self.objects[mine]

    def _climb_from(self, tops: Floats, halting: _Halting) -> None:
        """Look for better sets from the objects with the highest columns that are in none that was found."""
        tops = tops.copy()
        for _ in range(CLIMBS):
            y = int(tops.argmax())
            if tops[y] <= self.done or halting():
                return
            start = Point(self.objects[y : y + 1], np.ones(1))
            found = self.problem.solve_from(start, self.options, self.monitor)
            self._take(found)
            tops[y] = tops[np.searchsorted(self.objects, found.members)] = -np.inf

    def _take(self, found: DominantSet) -> None:
        if found.value > self.best.value:
            self.best = found

    # boxes ----------------------------------------------------------------------------------------------

    def _by_boxes(self, parts: list[tuple[BoxedProblem, Ints]]) -> Status:
        """Look at the problems of some parts of the space, and divide them."""
        self.finest = max([self.finest, *(boxed.finest for boxed, _ in parts)])
        roots = [boxed.root(objects, self.best) for boxed, objects in parts]
        self.open, self.left = [], float("inf")
        for k in range(0, len(roots), BATCH):
            self.look(roots[k : k + BATCH])
        self.left = -float("inf")
        return self._divide()

    def _divide(self) -> Status:
        """Divide boxes until the best is proven, or something ends it between two batches."""
        while self.open and self.open[0][2].bound > self.done:
            halt = Status.MAX_ITER if self.n_nodes >= self.search.max_nodes else self._halt()
            if halt is not None:
                return halt
            self.look(self.divided())
        return Status.CONVERGED if self.left <= self.done else Status.STALLED

    def look(self, some: list[Box]) -> None:
        """Look at boxes side by side, then take what they gave in their order."""
        done = self.done
        parallel_map(lambda part: some[part.start].look(done), [slice(k, k + 1) for k in range(len(some))])
        self.n_nodes += len(some)
        for box in some:
            if box.value > self.f + box.of.rounding:
                self._take(self.problem.solve_from(box.point(), self.options, self.monitor))
        for box in some:
            if box.bound > self.done:
                box.of.keep_list(box, (entry[2] for entry in self.open))
                heappush(self.open, (-box.bound, self._pushed, box))
                self._pushed += 1

    def divided(self) -> list[Box]:
        """Take the boxes of highest bound: what to look at in their place."""
        out: list[Box] = []
        for _ in range(min(BATCH, len(self.open))):
            box = heappop(self.open)[2]
            if box.bound <= self.done:
                self.open.clear()  # all others are no better
                break
            parts = box.parts()
            if not parts:
                self.left = max(self.left, box.bound)
            out += parts
        return out


class _Halting:
    """Whether something has ended the search, and what it was."""

    def __init__(self, halt: Callable[[], Status | None]) -> None:
        self._halt = halt
        self.status: Status | None = None

    def __call__(self) -> bool:
        self.status = self.status or self._halt()
        return self.status is not None


def optimise(
    problem: Solvable, options: SolverOptions, monitor: Monitor, search: Search = DEFAULT
) -> GlobalOptimum:
    """The best dominant set among the objects of a problem that are alive."""
    if options.algorithm == "exact":
        best = problem.solve(options, monitor, "vertex")
        assert best.global_gap is not None  # the tree has the value of every maximum, weak ones too
        done = search.tol * best.unit + 16.0 * EPS * (abs(best.value) + abs(best.shift))
        proven = best.global_gap <= max(done, 2.0 * best.gap)
        return GlobalOptimum(best, best.value + best.global_gap, best.global_gap, proven, 1, best.status)
    run = _Run(problem, options, monitor, search)
    status = run.go()
    bound, done = run.bound + problem.shift, run.done + problem.shift
    best = replace(run.best, global_gap=bound - run.best.value)
    if status in HALTING:
        best = replace(best, status=status)  # which ends a run of many clusters too
    return GlobalOptimum(best, bound, bound - best.value, bound <= done, run.n_nodes, status)
