r"""Dominant sets of a graph at all shifts, from the smallest to where every node would gain by joining.

At a positive shift a set starts at a node and its neighbours and goes to a local maximum of
:math:`x^T (A - \alpha I) x`; when the shift rises it is followed from where it stood. At one shift the value
never falls, and while it is positive no node without an edge to the set can gain by joining. So each set
costs what it touches; one that would begin with a negative value is not begun.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled.graph import ascend
from dominantsets.solvers import Monitor, Point

RATIO = 2.0**0.25  # from one shift of the ladder to the next
LOWEST, QUANTILE = 0.5, 0.1  # the first shift: half of this quantile of the nodes' largest weights
STRONGEST = 32  # edges of a node that a set is started on
SAME = 0.7  # of the union of two sets that both hold, for a group that has stayed the same
ROWS = 4_096  # rows of a product that are made at a time
TOL, WORK, LARGE = 1e-4, 200_000, 100  # relative gap; nodes looked at for a set, as often as it has 100 nodes
EFFORT = 1_000  # nodes looked at, for each node and edge, after which no set is begun at a shift


class FollowedSet:
    """A dominant set at one shift, with those at the next ones that it comes from and goes to."""

    __slots__ = ("above", "below", "members", "shift", "weights")

    def __init__(self, x: Point, shift: float, below: FollowedSet | None) -> None:
        self.members, self.weights = x
        self.shift, self.below = shift, below
        self.above: FollowedSet | None = None

    def range(self) -> tuple[float, float]:
        """The shifts from which and to which it stays the same."""
        low = high = self
        while low.below is not None and _alike(low.below.members, self.members):
            low = low.below
        while high.above is not None and _alike(high.above.members, self.members):
            high = high.above
        return low.shift, high.shift


class Ladder:
    """Dominant sets of the whole graph at rising shifts."""

    def __init__(self, A: Any, monitor: Monitor) -> None:
        self._A, self._monitor, self._halted = A, monitor, False
        n = A.shape[0]
        self._room = np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool), np.empty(n, dtype=np.int64)
        self._spent, self._effort = 0, EFFORT * (n + A.nnz)
        self._strong = _strongest(A)
        self._reach = _reach(A, self._strong)

    def climb(self) -> list[FollowedSet]:
        """The sets of all shifts, up to where every value is negative."""
        A, found = self._A, list[FollowedSet]()
        largest = np.maximum.reduceat(A.data, A.indptr[:-1][np.diff(A.indptr) > 0])
        shift, rung = LOWEST * float(np.quantile(largest, QUANTILE)), list[FollowedSet]()
        while (rung or shift < float(self._reach.max())) and not self._halted:
            rung = self._rung(shift, rung)
            found += rung
            shift *= RATIO
        return found

    def _rung(self, shift: float, lower: list[FollowedSet]) -> list[FollowedSet]:
        """The sets at a shift: those of the shift below, followed, and from nodes that none of them holds."""
        sets: dict[bytes, FollowedSet] = {}
        free, self._spent = np.ones(self._reach.size, dtype=bool), 0
        for old in lower:
            x = self._solve(Point(old.members, old.weights), shift)
            if x.support.size:
                old.above = sets.setdefault(x.support.tobytes(), FollowedSet(x, shift, old))
                free[x.support] = False
        able = np.flatnonzero(free & (self._reach > shift))
        for i in able[np.argsort(-self._reach[able], kind="stable")].tolist():
            if free[i] and self._spent < self._effort and not self._halted:
                x = self._solve(_about(self._strong, i), shift)
                if x.support.size:
                    sets.setdefault(x.support.tobytes(), FollowedSet(x, shift, None))
                    free[x.support] = False
        while (x := self._rest(shift, free)).support.size and free[x.support].any():
            sets.setdefault(x.support.tobytes(), FollowedSet(x, shift, None))
            free[x.support] = False
        return list(sets.values())

    def _rest(self, shift: float, free: Flags) -> Point:
        """A start on all nodes that no set holds, by their edges to one another, for large groups."""
        left = np.flatnonzero(free)
        weights = self._A[left] @ free.astype(np.float64)
        left, weights = left[weights > 0.0], weights[weights > 0.0]
        return self._solve(Point(left, weights / weights.sum()), shift) if left.size else Point(left, weights)

    def _solve(self, x: Point, shift: float) -> Point:
        """Where x leads to; nobody where its value is not positive, so that all nodes would gain."""
        A = self._A
        if self._halted:
            return Point(np.empty(0, dtype=np.int64), np.empty(0))
        work = WORK * (1 + x.support.size // LARGE)
        support, weights, spent = ascend(A.indptr, A.indices, A.data, shift, *x, *self._room, TOL, work)
        self._spent += spent
        if self._monitor.due():
            self._halted = self._monitor.report(0, shift, 0.0, support.size) is not None
        return Point(support, weights)


def distinct(sets: list[FollowedSet]) -> list[FollowedSet]:
    """One of all equal sets, from the middle of the shifts at which it is there."""
    equal: dict[bytes, list[FollowedSet]] = {}
    for s in sets:
        equal.setdefault(s.members.tobytes(), []).append(s)
    return [same[len(same) // 2] for same in equal.values()]


def _alike(a: Ints, b: Ints) -> bool:
    shared = np.intersect1d(a, b, assume_unique=True).size
    return bool(shared >= SAME * (a.size + b.size - shared))


def _strongest(A: Any) -> Any:
    """The graph with no more than the 32 strongest edges of every node."""
    sizes = np.diff(A.indptr)
    rows = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((-A.data, rows))
    keep = np.sort(order[np.arange(order.size) - A.indptr[rows] < STRONGEST])
    indptr = np.concatenate([[0], np.cumsum(np.minimum(sizes, STRONGEST))])
    return sp.csr_array((A.data[keep], A.indices[keep], indptr), shape=A.shape)


def _about(strong: Any, i: int) -> Point:
    """The start at node i: half of the mass there, the other half on its neighbours by weight."""
    edges = slice(strong.indptr[i], strong.indptr[i + 1])
    ends, data = strong.indices[edges].astype(np.int64), strong.data[edges].astype(np.float64)
    at = int(np.searchsorted(ends, i))
    return Point(np.insert(ends, at, i), np.insert(0.5 * data / data.sum(), at, 0.5))


def _reach(A: Any, strong: Any) -> Floats:
    """The shift up to which the start at a node has a positive value: x'Ax / |x|², 0 without an edge."""
    sums = np.asarray(strong.sum(axis=1), dtype=np.float64)
    squares = np.asarray(strong.power(2).sum(axis=1), dtype=np.float64)
    triangles = np.zeros(sums.size)
    for begin in range(0, sums.size, ROWS):
        part = strong[begin : begin + ROWS]
        triangles[begin : begin + ROWS] = (part @ A).multiply(part).sum(axis=1)
    sums[squares == 0.0] = 1.0
    return np.asarray((2.0 * squares / sums + triangles / sums**2) / (1.0 + squares / sums**2))
