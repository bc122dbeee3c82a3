"""The problem that a solver is given: a similarity, a shift, and the objects still there."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dominantsets.similarity.base import Floats, Ints, Similarity

CACHE_BYTES = 2**28  # columns of a features similarity that a run keeps


class Problem:
    """max x'(A - shift I)x over the simplex of the objects that are alive.

    Removed objects are masked, never copied out. ``columns`` and ``degrees`` are made when first asked
    for and kept from one cluster to the next.
    """

    def __init__(
        self,
        similarity: Similarity,
        shift: float,
        degrees: Floats | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.similarity = similarity
        self.shift = shift
        self.n = similarity.n
        self.alive = np.ones(self.n, dtype=bool)
        self.n_alive = self.n
        self._degrees = None if degrees is None else degrees.copy()
        self._columns: Columns | None = None
        self._cache_bytes = cache_bytes

    @property
    def degrees(self) -> Floats:
        """Sums of similarity to the objects that are alive; -inf for those that are not."""
        if self._degrees is None:
            self._degrees = self.similarity.degrees()
            if self.n_alive < self.n:
                self.recount()
        return self._degrees

    @property
    def columns(self) -> Columns:
        if self._columns is None:
            self._columns = Columns(self.similarity, self._cache_bytes)
        return self._columns

    def within(self, x: Floats) -> Problem:
        """The same problem, kept to the component in which x has most of its mass."""
        components = self.similarity.components
        if components is None:
            return self
        part = int(np.bincount(components, weights=x).argmax())
        narrowed = copy.copy(self)
        narrowed.alive = self.alive & (components == part)
        narrowed.n_alive = int(narrowed.alive.sum())
        return narrowed

    def payoffs(self, x: Floats) -> tuple[Floats, float]:
        """r = (A - shift I) x, with -inf for removed objects, and f = x'r."""
        support = np.flatnonzero(x)
        weights = x[support]
        r = self.similarity.gradient(support, weights)
        r[support] -= self.shift * weights
        f = float(weights @ r[support])
        r[~self.alive] = -np.inf
        return r, f

    def remove(self, members: Ints) -> None:
        """Mask objects, and take their share out of the others' degrees."""
        self.alive[members] = False
        self.n_alive -= len(members)
        if self._degrees is not None:
            self._degrees -= self.similarity.gradient(members, np.ones(len(members)))
            self._degrees[members] = -np.inf

    def recount(self) -> None:
        """Degrees of what is left, from scratch: for when subtraction has left only rounding."""
        left = np.flatnonzero(self.alive)
        degrees = self.similarity.gradient(left, np.ones(left.size))
        degrees[~self.alive] = -np.inf
        self._degrees = degrees


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
