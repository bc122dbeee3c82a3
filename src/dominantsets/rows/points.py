r"""Points of a sample, and what takes one product of matrices for all of them at once.

:math:`|x - c|^2 = |x|^2 - 2\,x \cdot c + |c|^2`, so that one product says which points can be within reach of
which centres. It loses digits where points lie close together and far from 0. So what is listed may hold a
few points too many, by the bound of its rounding, and never one too few; a caller that needs distances makes
them of differences, for these points only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import modes
from dominantsets.compiled.clouds import FAINT, expect
from dominantsets.compiled.passes import EPS
from dominantsets.compiled.threads import N_THREADS, blas, parallel_map, row_blocks

NUMBERS = 2**22  # products that are held at once
BLOCK = 2048  # points that a thread takes at a time
MOST = 0.25  # of the points that a list may hold where a ball is only followed: longer ones save nothing
CLOSE = 1e-6  # of the largest squared distance from 0: below it products have too few digits left
NOBODY: Ints = np.empty(0, dtype=np.int64)


class Tail(NamedTuple):
    """The fall of a logarithm of a density: z, or with tails of Student's t ``power log(1 + z / half)``.

    ``half`` are half of the degrees of freedom, ``power`` that and half of the dimension.
    """

    half: float = np.inf
    power: float = np.inf

    @classmethod
    def of(cls, half: float, dimension: float) -> Tail:
        """With so many halves of degrees of freedom."""
        return cls(half, half + 0.5 * dimension)

    def fall(self, z: Any, log1p: Callable[[Any], Any] = np.log1p) -> Any:
        """The fall at z."""
        return self.power * log1p(z / self.half) if np.isfinite(self.half) else z


NORMAL = Tail()


class Points:
    """Points in memory; ``extra`` are the squares of what their coordinates leave out."""

    def __init__(self, rows: Floats, extra: Floats) -> None:
        self.rows, self.extra = rows, extra
        self.lengths = np.square(rows).sum(axis=1) + extra
        self._longest = float(self.lengths.max(initial=0.0))

    def within(self, centres: Floats, reach: Floats, most: float = 1.0) -> tuple[Ints, Ints]:
        """For every centre how many points are listed, and the points, in their order, list after list.

        Points at a squared distance below the reach are listed; -1 where they are more than a share of all.
        """
        if not len(centres):
            return NOBODY, NOBODY
        squares = np.square(centres).sum(axis=1)
        rounding = 4.0 * (self.rows.shape[1] + 4.0) * EPS * (self._longest + squares)
        return self._listed(centres, reach - squares + rounding, int(most * len(self.rows)))

    def _listed(self, centres: Floats, cut: Floats, most: int) -> tuple[Ints, Ints]:
        """Points with |x|² - 2 x·c below the cut."""
        height = max(1, NUMBERS // len(self.rows))
        counts, found = np.empty(len(centres), dtype=np.int64), []
        for begin in range(0, len(centres), height):
            part = slice(begin, begin + height)
            products, here = centres[part] @ self.rows.T, counts[part]
            modes.count_within(products, self.lengths, cut[part], here)
            here[here > most] = -1
            sizes = np.maximum(here, 0)
            places = np.where(here < 0, -1, np.cumsum(sizes) - sizes)
            objects = np.empty(int(sizes.sum()), dtype=np.int64)
            modes.list_within(products, self.lengths, cut[part], places, objects)
            found.append(objects)
        return counts, np.concatenate(found)

    def nearest(self, count: int) -> tuple[Floats, Ints]:
        """Distances of every point to its nearest ones, and which they are: itself, and then those."""
        rows, extra = self.rows, self.extra
        if not extra.any():
            search = "brute" if rows.shape[1] > 10 else "auto"  # trees lose in many dimensions
            far, who = NearestNeighbors(n_neighbors=count + 1, algorithm=search).fit(rows).kneighbors(rows)
        else:  # what the coordinates leave out of two objects is at right angles
            squares = self.lengths[:, None] + self.lengths - 2.0 * rows @ rows.T
            np.fill_diagonal(squares, -1.0)
            who = np.argpartition(squares, count, axis=1)[:, : count + 1]
            near = np.take_along_axis(squares, who, axis=1)
            order = np.argsort(near, axis=1, kind="stable")
            who = np.take_along_axis(who, order, axis=1)
            far = np.sqrt(np.maximum(np.take_along_axis(near, order, axis=1), 0.0))
        return np.ascontiguousarray(far[:, 1:]), np.ascontiguousarray(who, dtype=np.int64)

    def squares(self, centres: Floats) -> Floats:
        """Squared distances of all points from some centers; small ones keep their digits."""
        lengths = np.square(centres).sum(axis=1)
        table = self._table(centres)
        table += lengths[:, None]
        who, i = np.nonzero(table < CLOSE * (self._longest + lengths)[:, None])
        table[who, i] = np.square(self.rows[i] - centres[who]).sum(axis=1) + self.extra[i]
        return np.maximum(table, 0.0, out=table).T

    def _table(self, centres: Floats) -> Floats:
        """|x|² - 2 x·c, a row for each center."""
        return np.asarray(self.lengths - 2.0 * (centres @ self.rows.T))

    def away(self, centres: Floats) -> Floats:
        """The squared distance of every point from the nearest centre, roughly."""
        squares, out = np.square(centres).sum(axis=1), np.empty(len(self.rows))
        for part in row_blocks(len(self.rows), 8 * len(centres)):
            out[part] = (squares - 2.0 * self.rows[part] @ centres.T).min(axis=1)
        return np.asarray(np.maximum(out + self.lengths, 0.0))

    def parts(
        self,
        centres: Floats,
        rates: Floats,
        levels: Floats,
        outside: Floats,
        nearest: bool,
        tail: Tail = NORMAL,
    ) -> tuple[Ints, sp.csr_array]:
        """The cluster of which each point has most, and what it has of every one, see ``expected``.

        ``outside`` is what the background has.
        """
        t = self.lengths[:, None] - 2.0 * self.rows @ centres.T
        t = np.maximum(t + np.square(centres).sum(axis=1), 0.0)
        logs = levels - tail.fall(rates * t)
        home = t.argmin(axis=1) if nearest else logs.argmax(axis=1)
        if nearest:
            parts = sp.csr_array((1.0 - outside, (np.arange(home.size), home)), shape=t.shape)
            return home, parts
        logs -= logs.max(axis=1)[:, None]
        where = np.nonzero(logs > -FAINT)
        values = np.exp(logs[where])
        share = (1.0 - outside) / np.bincount(where[0], values, home.size)
        return home, sp.csr_array((values * share[where[0]], where), shape=t.shape)

    def follow(
        self, centres: Floats, radii: Floats, kappa: Floats, steps: int, tolerance: float
    ) -> tuple[Floats, Floats]:
        """Where balls come to rest, from some centres and squared radii: centres and squared radii."""
        centres, radii = centres.copy(), radii.copy()
        counts, objects = self.within(centres, modes.REACH * radii, MOST)
        ends = np.cumsum(np.maximum(counts, 0))
        lists = modes.Lists(np.where(counts < 0, -1, ends - counts), ends, objects, np.arange(len(self.rows)))
        count = min(N_THREADS, max(1, len(centres) // 8))

        def work(part: slice) -> None:
            some = np.arange(len(centres))[part]
            modes.follow_some(self.rows, self.extra, centres, radii, some, lists, kappa, steps, tolerance)

        parallel_map(work, [slice(k, None, count) for k in range(count)])
        return centres, radii

    def expected(
        self,
        centres: Floats,
        rates: Floats,
        levels: Floats,
        rest: Floats,
        behind: Floats,
        nearest: bool,
        tail: Tail = NORMAL,
    ) -> tuple[Floats, Floats, float]:
        """One round of fitting clouds, see :func:`dominantsets.compiled.clouds.expect`.

        The sums of each cluster, what the background has of every point, the logarithm of the likelihood.
        """
        count, d = centres.shape
        squares, outside = np.square(centres).sum(axis=1), np.empty(len(self.rows))

        def work(part: slice) -> tuple[Floats, float]:
            sums, here = np.zeros((count, 5 + d)), self.rows[part]
            products = np.ascontiguousarray(here @ centres.T)
            mine = (self.lengths[part], here, squares, rates, levels, rest, behind[part])
            return sums, expect(products, *mine, *tail, nearest, sums, outside[part])

        # blocks of one size, so that sums do not depend on the number of threads
        blocks = [slice(i, min(i + BLOCK, len(self.rows))) for i in range(0, len(self.rows), BLOCK)]
        with blas().limit(limits=1, user_api="blas"):  # our threads are enough of them
            found = parallel_map(work, blocks)
        return sum((f[0] for f in found[1:]), found[0][0]), outside, sum(f[1] for f in found)
