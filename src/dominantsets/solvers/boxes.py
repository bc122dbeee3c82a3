r"""Boxes of the space of U'x, and what a pass over the objects says of the best x in one of them.

The rows are turned so that the scatter of all objects is diagonal, largest first, and moved so that their
mean is 0: on the simplex :math:`|U^T x|^2 = |y|^2 + 2 a \cdot y + |a|^2` with :math:`y = U^T x - a`, so
that only biases and the constant change. docs/theory-global.md has the bound and its proof.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import boxes
from dominantsets.compiled.boxes import EPS
from dominantsets.similarity.expansion import Expansion
from dominantsets.solvers.anchors import WIDER, Balls
from dominantsets.solvers.problem import Point
from dominantsets.solvers.result import DominantSet

LISTS_BYTES = 2**30  # of such lists; beyond it boxes go on with those of their ancestors
LEAST_BEND = 0.05  # along concave coordinates boxes are divided too, where nothing else is left to do
NOBODY = np.empty(0, dtype=np.int32)
NARROWEST = 1e-13  # of the whole: a side below it is not divided


@dataclass(eq=False)
class Box:
    """A box, the objects that points in it can have, and what the last look at it gave."""

    low: Floats
    high: Floats
    objects: NDArray[np.int32]
    spread: Floats  # a diagonal above the scatter of the objects
    p: Floats  # where it is looked at next
    guess: float  # a lower bound of tau there
    bound: float  # no x with U'x in the box has a higher f
    of: BoxedProblem
    value: float = -np.inf  # f of the point that was looked at
    tau: float = 0.0
    at: Floats = field(default_factory=lambda: np.empty(0))  # where it was looked at
    mean: Floats = field(default_factory=lambda: np.empty(0))  # of that point's support
    image: Floats = field(default_factory=lambda: np.empty(0))  # v of that look
    inner: Floats = field(default_factory=lambda: np.empty(0))  # the diagonal of the scatter of that support
    listed: bool = False  # whether the objects are those of this box
    here: Floats = field(default_factory=lambda: np.empty(0))  # as spread, but for that look only
    hole: Floats = field(default_factory=lambda: np.empty((0, 2)))  # what no good x has, for each coordinate
    reached: NDArray[np.int32] = field(default_factory=lambda: NOBODY)  # objects, until a list is made
    concave: bool = False
    looks: int = 0
    before: float = np.inf  # what the bound must be below for another look to be worth it
    excess: float = np.inf  # how far the bound is above what would do

    def look(self, best: float) -> None:
        """Look at the box: a bound, of which nothing up to ``best`` matters."""
        self.of.look(self, best)

    def point(self) -> Point:
        """The point x that was looked at."""
        return self.of.point_at(self.at, self.tau, self.objects, self.of.numbers)

    def parts(self) -> list[Box]:
        """What to look at next: the box itself from a better place, or two halves; nothing, if too small.

        Where f is concave along all coordinates the best place is known, and halves would not help.
        """
        width = self.high - self.low
        bend = 1.0 - 1.0 / np.maximum(self.here, 1e-9)
        gain = 0.25 * np.maximum(bend, 0.0) * width**2  # what halves can win
        again = self.concave or gain.sum() <= 0.5 * self.excess
        if again and self.bound < self.before and (self.p != self.at).any():
            return [self._child(self.low, self.high, self.p)]
        gain = np.where(width > self.of.narrowest, np.maximum(bend, LEAST_BEND) * width**2, 0.0)
        if not gain.any():
            return []
        j = int(gain.argmax())
        middle = 0.5 * (self.low[j] + self.high[j])
        first, second = self.hole[j]
        inside = self.low[j] < first < second < self.high[j]
        left, right = (min(middle, first), max(middle, second)) if inside else (middle, middle)
        halves = []
        for a, b in ((self.low[j], left), (right, self.high[j])):
            low, high = self.low.copy(), self.high.copy()
            low[j], high[j] = a, b
            p = np.where(self.spread >= 1.0, self._balanced(0.5 * (low + high)), self.p)
            if self.listed:
                p = np.minimum(np.maximum(p, self.low), self.high)
            else:
                p = np.minimum(np.maximum(p, low), high)
            halves.append(self._child(low, high, p))
        return halves

    def _balanced(self, middle: Floats) -> Floats:
        """The place from which the bound is level in the middle of a box: where p - v(p) / spread is.

        v is taken to move with p as the scatter of the support has it, along each coordinate.
        """
        r = np.maximum(self.here, 1.0)
        moves = np.minimum(self.inner, 0.95 * r)
        return np.asarray((middle * (r - 1.0) + self.image - moves * self.at) / (r - moves))

    def _child(self, low: Floats, high: Floats, p: Floats) -> Box:
        same = low is self.low
        child = Box(low, high, self.objects, self.spread.copy(), p, 0.0, self.bound, self.of)
        # tau is convex in p, with the mean of the support as its slope; less what rounding may do
        child.guess = self.tau + float(self.mean @ (p - self.at)) - 1e-9 * (abs(self.tau) + abs(self.value))
        if same:
            child.low, child.high = low.copy(), high.copy()
            child.looks = self.looks + 1
        return child


class BoxedProblem:
    """max f over the simplex of n objects, as rows, biases and kappa in the axes of their scatter."""

    def __init__(self, expansion: Expansion, shift: float | Floats) -> None:
        U, bias, own, offset, error = expansion
        n, d = U.shape
        self.inverse = 1.0 / (own + shift)  # one number where all have the same
        everybody = np.arange(n, dtype=np.int32)
        centre = self.inverse @ U / self.inverse.sum() if self.inverse.size > 1 else U.mean(axis=0)
        ones, S, full = np.ones(n), np.empty((d, d)), np.empty((d, d))
        boxes.scatter(U, self.inverse, everybody, ones, centre, full, S)
        axes = np.ascontiguousarray(np.linalg.eigh(S)[1][:, ::-1])
        self.Y, self.beta = np.empty((n, d)), np.empty(n)
        longest, heaviest = boxes.turn(U, centre, axes, bias, self.Y, self.beta)
        longest = float(np.sqrt(longest))
        boxes.scatter(self.Y, self.inverse, everybody, ones, np.zeros(d), full, S)
        self._spread = np.empty(d)
        boxes.dominating(S, self._spread)
        constant = offset + float(centre @ centre)
        reach = longest + float(np.sqrt(centre @ centre))
        # what moved and turned rows, their biases and the constant may be off, in f
        self.rounding = 16.0 * (d + 8.0) * EPS * (reach**2 + heaviest) + 8.0 * EPS * abs(constant) + error
        # what is added to the bound of a box at most, so that nothing finer can be told apart
        spans = 16.0 * d * longest**2 / boxes.LEAST
        self.finest = 4.0 * self.rounding + spans * boxes.relative_error(n, d)
        self.longest = longest
        self._units = (constant, longest, heaviest, self.rounding)
        self._everybody = everybody
        self._local = threading.local()
        self._kept = 0
        self.low, self.high = self.Y.min(axis=0), self.Y.max(axis=0)
        self.narrowest = NARROWEST * np.maximum(self.high - self.low, 1e-300)
        self._ball = (np.zeros(d), np.inf)
        self._centre, self._axes = centre, axes
        self.numbers: Ints = np.arange(n)  # that the objects have elsewhere

    def confine(self, balls: Balls) -> None:
        """From now on only U'x in one of some balls is looked for."""
        centers, radii = (balls.centers - self._centre) @ self._axes, balls.radii[:, None]
        wider = (WIDER - 1.0) * float(np.abs(centers).max() + radii.max())
        self.low = np.maximum(self.low, (centers - radii).min(axis=0) - wider)
        self.high = np.minimum(self.high, (centers + radii).max(axis=0) + wider)
        self._ball = (balls.middle - self._centre) @ self._axes, balls.radius + wider

    def root(self, objects: Ints, best: DominantSet) -> Box:
        """The box of all U'x, objects by their numbers elsewhere.

        Along concave directions it is looked at where the best set so far is, if that has these objects.
        """
        self.numbers = objects
        low, high = self.low.copy(), self.high.copy()
        p = 0.5 * (low + high)
        places = np.minimum(np.searchsorted(objects, best.members), objects.size - 1)
        if (objects[places] == best.members).all():
            p = np.where(self._spread < 1.0, np.clip(best.weights @ self.Y[places], low, high), p)
        return Box(low, high, self._everybody, self._spread.copy(), p, -np.inf, np.inf, self)

    def look(self, box: Box, best: float) -> None:
        """A pass over the objects of a box: a bound, of which nothing up to ``best`` matters."""
        s, keep, part = self._work()
        before, box.at = box.bound, box.p
        found = boxes.visit(
            self.Y, self.beta, self.inverse, box.objects, box.p, box.low, box.high, box.spread, box.guess,
            best, self._units, self._ball, s, keep, part,
        )  # fmt: skip
        bound, box.value, box.tau, box.mean, box.reached, box.p, box.hole, box.concave, box.here = found[:9]
        box.image, box.inner = found[9:]
        # looked at twice from the same box: only while it closes in
        box.before = np.inf if box.looks == 0 else best + 0.5 * (before - best)
        box.bound = min(before, bound)  # both hold
        box.excess = box.bound - best

    def keep_list(self, box: Box, others: Iterable[Box]) -> None:
        """Give a box a list of its own objects where there is room beside the others'."""
        if self._kept > LISTS_BYTES:
            self._kept = sum({id(other.objects): other.objects.nbytes for other in others}.values())
        if box.reached.size == box.objects.size:
            box.listed = True
        elif self._kept <= LISTS_BYTES:
            self._kept += box.reached.nbytes
            box.objects, box.listed = box.reached, True
        else:  # spread is that of fewer objects than are listed: others could be seen from outside the box
            box.p = np.minimum(np.maximum(box.p, box.low), box.high)
        box.reached = NOBODY

    def _work(self) -> tuple[Floats, NDArray[np.int32], Floats]:
        """Room for values and candidates, for each thread: the pages of new arrays cost more than a pass."""
        if not hasattr(self._local, "room"):
            n = len(self.Y)
            self._local.room = np.empty(n), np.empty(n, dtype=np.int32), np.empty(n)
        room: tuple[Floats, NDArray[np.int32], Floats] = self._local.room
        return room

    def surveyed(
        self, p: Floats, low: Floats, high: Floats, objects: NDArray[np.int32]
    ) -> tuple[int, float, NDArray[np.int32]]:
        """Whether a box may have strict maxima, tau at p, and the objects that it can reach."""
        s, keep, part = self._work()
        verdict, tau, mine = boxes.survey(
            self.Y, self.beta, self.inverse, objects, p, low, high, self._units, s, keep, part
        )
        return int(verdict), float(tau), mine

    def point_at(self, p: Floats, tau: float, mine: NDArray[np.int32], objects: Ints) -> Point:
        """x(p) on some objects, by the numbers that they have elsewhere."""
        over = self.Y[mine] @ p + self.beta[mine] - tau
        inside = over > 0.0
        weights = over[inside] * (self.inverse if self.inverse.size == 1 else self.inverse[mine[inside]])
        return Point(objects[mine[inside]], weights / weights.sum())
