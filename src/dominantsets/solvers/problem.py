"""The problem that a solver is given: a similarity, a shift, and the objects still there."""

from __future__ import annotations

import copy
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import rows as compiled_rows
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.faces import EPS, OPEN, Face, low_rank_face, matrix_face
from dominantsets.similarity.solving import alike_to_copies
from dominantsets.solvers.result import Status, Trace

MATRIX_LIMIT = 500  # objects up to which a face is tested by the matrix itself, which costs their cube
CACHE_BYTES = 2**28  # columns of a features similarity that a run keeps


class Point(NamedTuple):
    """A point of the simplex: the objects with a positive weight, in increasing order, and those weights."""

    support: Ints
    weights: Floats

    @classmethod
    def of(cls, x: Floats) -> Point:
        """Make a point from the weights of all objects, which need not sum to 1."""
        support = np.flatnonzero(x)
        weights = x[support]
        return cls(support, weights / weights.sum())

    def dense(self, n: int) -> Floats:
        """The weights of all n objects."""
        x = np.zeros(n)
        x[self.support] = self.weights
        return x


class Outcome(NamedTuple):
    """What a solver reached, before anything is proved of it."""

    x: Point
    n_iter: int
    status: Status
    trace: Trace | None = None
    room: float | None = None  # of the dual: how far J is below 1 on the face, see Jacobian.room
    face: bool | None = None  # of a tree: whether it proves that f is strictly concave on the face
    weak: bool = False  # of a tree: whether it proves that this is no strict maximum
    best: bool = False  # whether no point of the simplex has a higher f


class Recomputed(NamedTuple):
    """f, the smallest and largest payoff inside, the largest outside, the unit, and the ball, if any."""

    f: float
    low: float
    high: float
    outside: float
    unit: float
    ball: tuple[Floats, float] | None = None


class Payoffs(NamedTuple):
    """r = (A - shift I) x of the objects that are alive, and f = x'r.

    ``objects`` (in increasing order) are those that ``r`` is for; None stands for all. On a graph
    only the support and its neighbours are listed, and every object that is alive and not listed has
    the payoff ``others``, 0; it is -inf where there are none.
    """

    objects: Ints | None
    r: Floats
    f: float
    others: float

    def of(self, members: Ints) -> Floats:
        """The payoffs of listed objects."""
        return self.r[members if self.objects is None else np.searchsorted(self.objects, members)]

    def largest(self) -> float:
        return max(float(self.r.max()), self.others)

    def largest_outside(self, members: Ints) -> float:
        """The largest payoff of an object that is not one of ``members``; -inf where there is none."""
        places = members if self.objects is None else np.searchsorted(self.objects, members)
        inside = self.r[places]
        self.r[places] = -np.inf
        largest = self.largest()
        self.r[places] = inside
        return largest

    def extremes(self, members: Ints) -> tuple[float, float, float]:
        """The smallest and the largest payoff of ``members``, and the largest of the others."""
        inside = self.of(members)
        return float(inside.min()), float(inside.max()), self.largest_outside(members)

    def best(self, count: int, level: float, besides: Ints) -> tuple[Ints, Floats, bool]:
        """The best listed objects above a level that are none of ``besides``, and whether there are more."""
        candidates, r = self.above(level)
        new = ~np.isin(candidates, besides, assume_unique=True)
        candidates, r = candidates[new], r[new]
        if candidates.size <= count:
            return candidates, r, False
        best = np.argpartition(-r, count)[:count]
        return candidates[best], r[best], True

    def above(self, level: float) -> tuple[Ints, Floats]:
        """Listed objects with a payoff above a level, and those payoffs."""
        places = np.flatnonzero(self.r > level)
        return (places if self.objects is None else self.objects[places]), self.r[places]


class Problem:
    """max x'(A - shift I - diag(extra))x over the simplex of the objects that are alive.

    Removed objects are masked, never copied out. ``columns`` and ``degrees`` are made when first asked
    for and kept from one cluster to the next; degrees that are given are taken over, and change.
    """

    def __init__(
        self,
        similarity: Similarity,
        shift: float,
        degrees: Any = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.similarity: Any = similarity
        self.bounds = bounds_of(similarity)
        self.shift = shift
        self.n = self.n_alive = similarity.n
        self.alive: Any = self._everybody()
        self._degrees = degrees
        self._ranking: Ranking | None = None
        self._columns: Columns | None = None
        self._cache_bytes = cache_bytes
        self.copies: Floats | None = None  # for how many objects each one stands; None: for itself
        self.extra: Floats | None = None  # subtracted on the diagonal besides the shift, for each object

    def shift_of(self, objects: Ints) -> Any:
        """What is subtracted on the diagonal for some objects: one number where all share it."""
        return self.shift if self.extra is None else self.shift + self.extra[objects]

    @property
    def shifts(self) -> Floats:
        """What is subtracted on the diagonal: for each object, or one number."""
        return np.full(1, self.shift) if self.extra is None else self.shift + self.extra

    def _everybody(self) -> Any:
        return np.ones(self.n, dtype=bool)

    @property
    def degrees(self) -> Any:
        """Sums of similarity to the objects that are alive; -inf for those that are not."""
        if self._degrees is None and self.copies is not None:
            self.recompute_degrees()
        if self._degrees is None:
            self._degrees = self.similarity.degrees()
            if self.n_alive < self.n:
                self.recompute_degrees()
        return self._degrees

    def copies_of(self, objects: Ints) -> Floats:
        """For how many objects these stand."""
        return np.ones(len(objects)) if self.copies is None else self.copies[objects]

    def largest_degree(self) -> float:
        """The largest degree of an object that is alive."""
        return float(self.degrees[self.vertex()])

    def total_degree(self) -> float:
        """The sum of all degrees, of copies too, while all objects are alive."""
        if self.copies is None:
            return float(self.degrees.sum())
        left = self.living()
        return float(self.degrees[left] @ self.copies[left])

    @property
    def columns(self) -> Columns:
        """Columns for a run that begins."""
        # a kernel may have formed its matrix since: then there is nothing to copy out of it
        if self._columns is None or not (self._columns.in_place or self.similarity.stored is None):
            self._columns = Columns(self.similarity, self._cache_bytes)
        return self._columns

    def living(self) -> Ints:
        """The objects that are alive, in increasing order."""
        return np.flatnonzero(self.alive)

    def vertex(self) -> int:
        """The object with the largest degree, ties to the lowest number."""
        if not self.similarity.is_sparse:
            return int(self.degrees.argmax())
        if self._ranking is None:
            self._ranking = Ranking(self.degrees)
        return self._ranking.top()

    def thread_copy(self) -> Problem:
        """The same problem for another thread: everything is shared but the columns that are kept."""
        other = copy.copy(self)
        if self._columns is not None and not self._columns.in_place:
            other._columns = None
        return other

    def in_component_of(self, x: Point) -> Problem:
        """The same problem, kept to the component in which x has most of its mass."""
        components = self.similarity.components
        if components is None:
            return self
        part = int(np.bincount(components[x.support], weights=x.weights).argmax())
        narrowed = copy.copy(self)
        narrowed.alive = self.alive & (components == part)
        narrowed.n_alive = int(narrowed.alive.sum())
        return narrowed

    def payoffs(self, x: Point) -> Payoffs:
        """What every object would gain: for a graph, at the cost of the edges of the support only."""
        support, weights = x
        if self.similarity.is_sparse:
            objects, r = self.similarity.sparse_gradient(support, weights)
            places: Ints = np.searchsorted(objects, support)
        else:
            objects, r = None, self.similarity.gradient(support, weights)
            places = support
        r[places] -= self.shift_of(support) * weights
        f = float(weights @ r[places])
        if objects is None:
            compiled_rows.mask(r, self.alive)
            return Payoffs(None, r, f, -np.inf)
        alive = self.alive[objects]
        r[~alive] = -np.inf
        return Payoffs(objects, r, f, 0.0 if self.n_alive > np.count_nonzero(alive) else -np.inf)

    def recomputed(self, x: Point) -> Recomputed:
        """What a certificate says of x, from its weights alone."""
        payoffs = self.payoffs(x)
        low, high, outside = payoffs.extremes(x.support)
        ball = self.bounds.ball(x.support, x.weights, payoffs.f)
        return Recomputed(payoffs.f, low, high, outside, self.unit_of(x), ball)

    def unit_of(self, x: Point) -> float:
        r"""The unit of tolerances, :math:`\sum_i \kappa_i x_i^2`: no constant of the similarity enters."""
        kappa = self.bounds.kappa_of(x.support, self.shift_of(x.support))
        if kappa.size == 1:
            return max(0.0, float(kappa[0] * (x.weights @ x.weights)))
        return max(0.0, float(np.sum(kappa * np.square(x.weights))))

    def payoff_error(self, x: Point) -> float:
        """How far recomputed payoffs, and f, may be off by rounding."""
        own = float(np.max(np.abs(self.shift_of(x.support))) * x.weights.max())
        return float(self.bounds.rounding_of(x.support.size)) + 4.0 * EPS * own

    def enclosure(self, x: Point) -> float | None:
        """How far f and payoffs may be off at most, in sums of any order; None where that is not known."""
        if self.extra is not None or not self.bounds.encloses:
            return None
        m, largest = x.support.size, float(x.weights.max())
        return self.bounds.rounding_of(m) + (m + 8.0) * EPS * abs(self.shift) * largest

    def face_of(self, objects: Ints, room: float | None, radius: float | None, margin: float) -> Face:
        """What is proved of f on the simplex of some objects.

        ``room`` is that of the dual for them, where it is known. Radius and margin are those of their ball.
        """
        bounds, shift = self.bounds, self.shift_of(objects)
        extents = bounds.extents(radius, margin)
        kappa = bounds.kappa_of(objects, shift) if extents is not None else np.zeros(1)
        face = OPEN
        if extents is not None and room is not None and float(kappa.min()) > 0.0:
            face = low_rank_face(room, kappa, objects.size, *extents)
        if face.concave is None and objects.size <= MATRIX_LIMIT:
            B: Floats = self.similarity.block(objects, objects)
            B[np.diag_indices_from(B)] = -shift
            face = matrix_face(B, bounds.rounding_of(1), bounds.magnitude)
        return face

    def room_of(self, objects: Ints) -> float | None:
        """How far J is below 1 on some objects, where a dual tells."""
        return None

    def near(self, x: Point, level: float) -> Ints | None:
        """Objects outside x with a payoff above a level; None where that would cost another round."""
        payoffs = self.payoffs(x)
        if payoffs.others > level:  # objects without an edge to x: all of them
            return None
        return np.setdiff1d(payoffs.above(level)[0], x.support, assume_unique=True)

    def is_everything(self, count: int) -> bool:
        """Whether so many objects are all there are: where f is concave on them it has one maximum."""
        return count == self.n_alive and self.similarity.components is None

    def is_alive(self, objects: Ints) -> NDArray[np.bool_]:
        """Which of these objects are alive."""
        return np.asarray(self.alive[objects])

    def joiners(self, x: Point, level: float) -> Ints:
        """Removed objects with a payoff above a level, in the component of x."""
        similarity = self.similarity
        if similarity.is_sparse:
            objects, payoffs = similarity.sparse_gradient(*x)
        else:
            objects, payoffs = None, similarity.gradient(*x)
        places = np.flatnonzero(payoffs > level)
        above = places if objects is None else objects[places]
        joiners: Ints = above[~self.is_alive(above)]
        if similarity.components is not None:
            joiners = joiners[similarity.components[joiners] == similarity.components[x.support[0]]]
        return joiners

    def every_payoff(self, x: Point) -> tuple[Floats, float]:
        """r of all objects by number, with -inf for removed ones, and f = x'r."""
        r = self.similarity.gradient(x.support, x.weights)
        r[x.support] -= self.shift_of(x.support) * x.weights
        f = float(x.weights @ r[x.support])
        compiled_rows.mask(r, self.alive)
        return r, f

    def numbered(self, ranks: Ints) -> Ints:
        """The objects with these ranks among those that are alive, without a list of all of them."""
        width = 2**16
        counts = np.add.reduceat(self.alive, np.arange(0, self.n, width), dtype=np.int64)
        ends = np.cumsum(counts)
        blocks = np.searchsorted(ends, ranks, side="right")
        out = np.empty(len(ranks), dtype=np.int64)
        for block in np.unique(blocks):
            mine, begin = blocks == block, block * width
            inside = np.flatnonzero(self.alive[begin : begin + width])
            out[mine] = begin + inside[ranks[mine] - (ends[block] - counts[block])]
        return out

    def remove(self, members: Ints) -> None:
        """Mask objects, and take their share out of the others' degrees."""
        self.alive[members] = False
        self.n_alive -= len(members)
        if self._degrees is not None:
            ones = self.copies_of(members)
            if self.similarity.is_sparse:
                objects, lost = self.similarity.sparse_gradient(members, ones)
                self._degrees[objects] -= lost
            else:
                self._degrees -= self.similarity.gradient(members, ones)
            self._degrees[members] = -np.inf

    def recompute_degrees(self) -> None:
        """Degrees of what is left, from scratch: for when subtraction has left only rounding."""
        left = np.flatnonzero(self.alive)
        degrees = self.similarity.gradient(left, self.copies_of(left))
        if self.copies is not None:  # an object is alike to its copies
            degrees[left] += (self.copies[left] - 1.0) * alike_to_copies(self.similarity, left)
        degrees[~self.alive] = -np.inf
        self._degrees, self._ranking = degrees, None


class Ranking:
    """The object with the largest degree while degrees only fall, without a sweep over all of them.

    Objects are sorted once. Those with a degree that has fallen move to a heap when they come up, and in
    the heap they sink when they come up again; so a query costs as much as has changed at the top.
    """

    def __init__(self, degrees: Floats) -> None:
        self._degrees = degrees
        self._order = np.argsort(-degrees, kind="stable")
        self._sorted = degrees[self._order]
        self._next = 0
        self._fallen: list[tuple[float, int]] = []

    def top(self) -> int:
        degrees, order, fallen = self._degrees, self._order, self._fallen
        while self._next < order.size:
            i = int(order[self._next])
            if degrees[i] == self._sorted[self._next]:
                break
            heappush(fallen, (-float(degrees[i]), i))
            self._next += 1
        while fallen and -fallen[0][0] != degrees[fallen[0][1]]:
            _, i = heappop(fallen)
            if degrees[i] > -np.inf:
                heappush(fallen, (-float(degrees[i]), i))
        first = int(order[self._next]) if self._next < order.size else -1
        if fallen and (first < 0 or fallen[0] < (-float(degrees[first]), first)):
            return fallen[0][1]
        return first


class Columns:
    """Columns of the similarity for the compiled loop: read in place, or computed once and kept.

    ``array[slot[i]]`` is column i where ``slot[i] >= 0``. Where memory is short the column that was
    used least recently makes room.
    """

    def __init__(self, similarity: Similarity, cache_bytes: int = CACHE_BYTES) -> None:
        n = similarity.n
        self._similarity = similarity
        stored = similarity.stored
        self.n_computed = 0
        self.clock = 0  # runs on from one cluster to the next
        self.in_place = stored is not None
        if stored is not None:
            self.array: NDArray[Any] = stored
            self.slot = np.arange(n)
            self.stamp = np.zeros(n, dtype=np.int64)
            return
        capacity = int(min(n, max(4, cache_bytes // (8 * n))))
        self._room = np.empty((capacity, n))
        self.array = self._room.view()
        self.array.flags.writeable = False  # as `stored` is, so that one compiled loop serves both
        self.slot = np.full(n, -1, dtype=np.int64)
        self.stamp = np.full(capacity, -1, dtype=np.int64)
        self._owner = np.full(capacity, -1, dtype=np.int64)

    def load(self, i: int, keep: int) -> None:
        """Compute column i, in the place of the least recently used one other than ``keep``."""
        column = self._similarity.column(i)
        stamp = self.stamp.copy()
        if self.slot[keep] >= 0:
            stamp[self.slot[keep]] = np.iinfo(np.int64).max
        place = int(stamp.argmin())
        if self._owner[place] >= 0:
            self.slot[self._owner[place]] = -1
        self._room[place] = column
        self._owner[place] = i
        self.slot[i] = place
        self.stamp[place] = self.clock
        self.n_computed += 1
