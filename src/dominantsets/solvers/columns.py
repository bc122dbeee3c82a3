"""What a problem keeps of a similarity from one cluster to the next: columns, and a ranking of degrees."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dominantsets._typing import Floats
from dominantsets.similarity.base import Similarity

CACHE_BYTES = 2**28  # columns of a features similarity that a run keeps


class Ranking:
    """The object with the largest degree while degrees only fall, without a sweep over all of them.

    Objects are sorted once. Those whose degree has fallen since move to a heap when they come up, and in
    the heap they sink when they come up again; so a look costs as much as has changed at the top.
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
