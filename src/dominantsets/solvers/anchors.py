r"""The bound by columns, and where it leaves room for a better point (docs/theory-global.md).

Every x has a member y, an *anchor*, with :math:`(K x)_y \ge x^T K x`, where K is A with anything on its
diagonal. So f is at most the largest, over all y, of what column y allows, in any dimension. For features
:math:`U^T x` is near an anchor: only parts of the space near objects with a column above the best value have
to be searched.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import columns
from dominantsets.compiled.columns import EPS
from dominantsets.compiled.threads import parallel_map, row_blocks, thread_slices
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.expansion import Expansion

LEAF = 128  # objects with columns that are made together: enough for a fast product, few for one list
LEAVES = 512  # cells at most, so that bounding cells costs no more than some passes over the objects
GRAIN = 2**15  # entries of columns for which a thread is worth it
WIDE = 1.5  # radii of its largest ball, beyond which a part of the space is divided
ROUNDS = 4  # of smaller balls, fewer objects within reach, a smaller scatter
TIGHTER = 32  # steps to a ball around the anchors: each brings it closer to the smallest one
WIDER = 1.0 + 1e-9  # factor of radii and distances, above what rounding does to them

Halted = Callable[[], bool]


def trivial_bound(largest: float, shift: float | Floats, n: int) -> float:
    r"""No f is higher: :math:`f \le a - (a + \alpha) |x|^2` with a the largest similarity.

    :math:`|x|^2` is between 1/n and 1. The least shift counts where objects have their own.
    """
    least = float(np.min(shift))
    f = largest - (largest + least) / n if largest + least >= 0.0 else -least
    return f + 8.0 * EPS * (abs(largest) + abs(least))


def column_tops(
    similarity: Any, objects: Ints, shift: float | Floats, largest: float, floor: float, halted: Halted
) -> Floats:
    """What the column of each object allows f to be; columns that time did not allow get the trivial bound.

    The diagonal is the largest similarity. Values up to ``floor`` are only known to be no higher than it.
    """
    n, trivial = objects.size, trivial_bound(largest, shift, objects.size)
    out = np.full(n, trivial)
    kappa = np.broadcast_to(np.asarray(largest + shift, dtype=np.float64), n)
    if kappa.min() <= 0.0:
        return out
    share = 1.0 / kappa
    low = 2.0 * floor - largest  # where a column's level is lower, it allows no more than the floor
    made = _sparse_tops if similarity.is_sparse else _dense_tops
    made(similarity, objects, share, largest, low, halted, out)
    out += 16.0 * EPS * (abs(largest) + abs(floor)) + bounds_of(similarity).rounding
    return np.asarray(np.minimum(out, trivial))


def _dense_tops(
    similarity: Any, objects: Ints, share: Floats, largest: float, low: float, halted: Halted, out: Floats
) -> None:
    n = objects.size
    nothing = np.zeros(n)
    for rows in row_blocks(n, 8 * n):
        if halted():
            return
        block = np.ascontiguousarray(similarity.block(objects[rows], objects), dtype=np.float64)
        block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = largest
        out[rows], _ = _tops(block, nothing[rows], nothing, share, low)


def _sparse_tops(
    similarity: Any, objects: Ints, share: Floats, largest: float, low: float, halted: Halted, out: Floats
) -> None:
    one, whole, place = np.ones(1), float(share.sum()), np.full(similarity.n, -1)
    place[objects] = np.arange(objects.size)
    for k, y in enumerate(objects):
        if k % LEAF == 0 and halted():
            return
        near, s = similarity.sparse_gradient(np.array([y]), one)
        listed = (place[near] >= 0) & (near != y)
        mine = share[place[near[listed]]]
        rest = max(0.0, whole - float(mine.sum()) - share[k])  # all others have similarity 0
        s = np.concatenate([s[listed], [largest, 0.0]])
        out[k], _ = columns.top(
            s, np.concatenate([mine, [share[k], rest * WIDER]]), low, np.empty(s.size, np.int32)
        )


def _tops(P: Floats, own: Floats, bias: Floats, share: Floats, low: float) -> tuple[Floats, Floats]:
    """What columns allow, the rows of P, and their levels: on threads, where they are long enough."""
    out, levels = np.empty(len(P)), np.empty(len(P))
    parts = thread_slices(len(P), max(1, GRAIN // max(1, bias.size)))
    parallel_map(
        lambda part: columns.tops(P, own, bias, share, low, part.start, part.stop, out, levels), parts
    )
    return out, levels


def work_of(pairs: int, d: int) -> float:
    """The work of columns with so many entries: the passes over an entry cost as much as 220 products."""
    return pairs * (d + 220.0)


class Cell(NamedTuple):
    """Objects near each other, those that their columns can use, and what these allow at most."""

    mine: NDArray[np.int32]
    near: NDArray[np.int32]
    low: float
    value: float


class Balls(NamedTuple):
    r"""Balls in one of which :math:`U^T x` is, and a ball around all of them."""

    centers: Floats
    radii: Floats
    middle: Floats
    radius: float

    @classmethod
    def around(cls, centers: Floats, radii: Floats) -> Balls:
        """With the ball around them as small as some steps towards the farthest make it."""
        q = centers.mean(axis=0)
        best, least = q, np.inf
        for step in range(TIGHTER):
            far = np.sqrt(np.square(centers - q).sum(axis=1)) + radii
            if far.max() < least:
                best, least = q, float(far.max())
            q = q + (centers[int(far.argmax())] - q) / (step + 2.0)
        return cls(centers, radii, best, least * WIDER)


class Part(NamedTuple):
    r"""A part of the space in which :math:`U^T x` may be, and the objects that such an x may have."""

    balls: Balls
    objects: Ints


class RowAnchors:
    """Columns of objects that are rows: :math:`K_{ij} = \\gamma_i + \\gamma_j + m - |u_i - u_j|^2 / 2`."""

    def __init__(self, expansion: Expansion, shift: float | Floats, floor: float) -> None:
        self.U, bias, self.own, m, self.error = expansion
        n, d = self.U.shape
        squares = np.einsum("ij,ij->i", self.U, self.U)
        # what rounding may take off a similarity is added to its two objects
        self.gamma = bias + 0.5 * squares + 16.0 * (d + 8.0) * EPS * (squares + np.abs(bias))
        self.m = m + 8.0 * EPS * abs(m) + self.error
        self.share = np.asarray(1.0 / (self.own + shift))
        self.floor = floor
        self._top_own = float(self.own.max())
        self._added = 16.0 * EPS * (abs(self._top_own) + abs(floor))
        self._least = 1.0 / float(np.broadcast_to(self.share, n).sum()) / WIDER  # of the sum of kappa x²
        self._everybody = np.arange(n, dtype=np.int32)
        self.values = np.full(n, floor)
        self.cells = self._cells()
        self._balls: list[list[Balls]] = []
        for cell in self.cells:
            self.values[cell.mine] = cell.value + self._added
            self._balls.append([Balls.around(self.U[cell.mine], self._radii(cell.mine))])

    def _share(self, objects: NDArray[np.int32]) -> Floats:
        return self.share if self.share.size == 1 else self.share[objects]

    def _cells(self) -> list[Cell]:
        """Cells of objects of which one may be an anchor of something better."""
        n = len(self.U)
        every, least = self._everybody, max(LEAF, n // LEAVES)
        room, keep = np.empty(n), np.empty(n, dtype=np.int32)
        waiting, found = [(every, every)], []
        while waiting:
            mine, near = waiting.pop()
            rows = self.U[mine]
            q = rows.mean(axis=0)
            radius = float(np.sqrt(np.square(rows - q).sum(axis=1).max())) * WIDER
            s = room[: near.size]
            columns.around(self.U, self.gamma, near, q, radius, s)
            s += float(self.gamma[mine].max()) + self.m
            low = 2.0 * self.floor - max(float(s.max()), self._top_own)
            value, _ = columns.top(s, self._share(near), low, keep)
            if value + self._added <= self.floor:
                continue
            used = np.flatnonzero(s > low)
            j = int(rows.var(axis=0).argmax())
            left = rows[:, j] <= q[j]
            if mine.size <= least or radius == 0.0 or left.all():  # all: rows that differ by rounding only
                near = near[used[np.argsort(-s[used])]]  # the first ones lift the level soonest
                found.append(Cell(mine, near, low, value))
                continue
            waiting += [(mine[left], near[used]), (mine[~left], near[used])]
        return found

    @property
    def work(self) -> float:
        """What all columns of the cells take, see ``work_of``."""
        return work_of(sum(cell.mine.size * cell.near.size for cell in self.cells), self.U.shape[1])

    def look(self, halted: Halted, until: float = np.inf) -> None:
        """The columns of all cells themselves, as far as there is time, and smaller balls until some time."""
        for k, cell in enumerate(self.cells):
            if halted():
                return
            self._balls[k] = self._look(cell, until)

    def _look(self, cell: Cell, until: float) -> list[Balls]:
        """The columns of a cell, and balls around where they leave room."""
        near = self.U[cell.near]
        q = near.mean(axis=0)
        near -= q
        bias = self.gamma[cell.near] - 0.5 * np.einsum("ij,ij->i", near, near) + self.m
        share, found = self._share(cell.near), []
        for rows in row_blocks(cell.mine.size, 8 * cell.near.size):
            mine = cell.mine[rows]
            own = self.U[mine] - q
            P = own @ near.T
            lean = self.gamma[mine] - 0.5 * np.einsum("ij,ij->i", own, own)
            tops, levels = _tops(P, lean, bias, share, cell.low)
            self.values[mine] = np.maximum(self.floor, tops + self._added)
            waiting = [np.flatnonzero(self.values[mine] > self.floor)]
            while waiting:
                some = waiting.pop()
                if not some.size:
                    continue
                if time.perf_counter() > until:
                    found.append(Balls.around(self.U[mine[some]], self._radii(mine[some])))
                    continue
                x = 0.5 * share * np.maximum(P[some] - levels[some, None], 0.0)
                anchors, whole = mine[some], x.sum(axis=1)
                weak, used = (
                    self._weakened(cell.near, anchors, float(levels[some].min())),
                    (x > 0.0).any(axis=0),
                )
                points = x @ near + whole[:, None] * q, whole
                balls, all_are = self._closer(cell.near, np.where(used, share, weak), used, anchors, *points)
                spread = own[some].var(axis=0)
                j = int(spread.argmax())
                if all_are or spread[j] == 0.0:
                    found.append(balls)
                else:  # less is within reach of fewer anchors
                    first = own[some, j] <= own[some, j].mean()
                    waiting += [some[first], some[~first]]
        return found

    def _weakened(self, near: NDArray[np.int32], anchors: NDArray[np.int32], level: float) -> Floats:
        r"""What counts of objects outside of a column's support as members: the 1 / c of the page, or 0.

        An object that is below the level by o pays :math:`o x`, and how far it is from the anchor bounds
        :math:`\kappa x`.
        """
        rows = self.U[anchors]
        q = rows.mean(axis=0)
        radius = float(np.sqrt(np.square(rows - q).sum(axis=1).max())) * WIDER
        own, most = self._own(near), float(self._own(anchors).max())
        squares = np.square(
            np.maximum(0.0, np.sqrt(np.square(self.U[near] - q).sum(axis=1)) / WIDER - radius)
        )
        below = level - (self.gamma[near] + float(self.gamma[anchors].max()) + self.m - 0.5 * squares)
        room = 0.5 * (own + most) - self.floor - 0.25 * squares + self._added + self.error
        room = np.maximum(room, 0.0)
        return np.asarray(
            self._share(near) * WIDER * room / np.maximum(room + np.maximum(below, 0.0), 1e-300)
        )

    def _closer(
        self, near: NDArray[np.int32], share: Floats, used: NDArray[np.bool_], anchors: NDArray[np.int32],
        images: Floats, whole: Floats,
    ) -> tuple[Balls, bool]:  # fmt: skip
        r"""Small balls: x is near the point that its anchor's column allows the highest value, see the page.

        And whether all are smaller than balls around the anchors.
        """
        balls = Balls.around(self.U[anchors], self._radii(anchors))
        rooms = self.values[anchors] - self.floor
        closer = np.zeros(anchors.size, dtype=bool)
        near, share, used = near[share > 0.0], share[share > 0.0], used[share > 0.0]
        for _ in range(ROUNDS):
            inside = self.within(balls, near) | used
            rows, part = self.U[near[inside]], share[inside]
            mean = part @ rows / part.sum()
            rows -= mean
            S = (rows * part[:, None]).T @ rows
            most = float(np.linalg.eigvalsh(S)[-1] + rows.size * EPS * np.trace(S)) * WIDER
            centers = images + (1.0 - whole)[:, None] * mean
            radii = np.sqrt(most * rooms) * WIDER
            nearer = radii < balls.radii
            if not nearer.any():
                break
            closer |= nearer
            balls = Balls.around(
                np.where(nearer[:, None], centers, balls.centers), np.where(nearer, radii, balls.radii)
            )
        return balls, bool(closer.all())

    def _own(self, objects: NDArray[np.int32]) -> Floats:
        return self.own if self.own.size == 1 else self.own[objects]

    def _radii(self, anchors: NDArray[np.int32]) -> Floats:
        r"""How far :math:`U^T x` may be from its anchors."""
        squares = self._own(anchors) - self.floor - self._least + self._added + 2.0 * self.error
        return np.asarray(np.sqrt(np.maximum(np.broadcast_to(squares, anchors.size), 0.0)) * WIDER)

    def within(self, balls: Balls, objects: NDArray[np.int32]) -> NDArray[np.bool_]:
        r"""Which objects an x with :math:`U^T x` within balls may have."""
        reach = self._own(objects) + (self._top_own - 2.0 * self.floor + 2.0 * self._added + 4.0 * self.error)
        away = np.sqrt(np.square(self.U[objects] - balls.middle).sum(axis=1))
        return np.asarray(away <= (balls.radius + np.sqrt(np.maximum(reach, 0.0))) * WIDER)

    @property
    def bound(self) -> float:
        """No f is higher."""
        return float(self.values.max())

    def parts(self, floor: float) -> list[Part]:
        r"""Where :math:`U^T x` of something above a floor may be."""
        some = [self._balls[k] for k, cell in enumerate(self.cells) if (self.values[cell.mine] > floor).any()]
        joined = [
            _joined(together) for together in _together([balls for several in some for balls in several])
        ]
        return [Part(balls, np.flatnonzero(self.within(balls, self._everybody))) for balls in joined]


def _joined(some: list[Balls]) -> Balls:
    return Balls.around(
        np.concatenate([one.centers for one in some]), np.concatenate([one.radii for one in some])
    )


def _together(some: list[Balls]) -> Iterator[list[Balls]]:
    """Balls in parts: those that overlap, unless a ball around them is much wider than each of them.

    Any parts would do. Where they overlap something is looked at twice, where they are wide boxes have to
    be divided more often.
    """
    if not some:
        return
    middles, radii = np.array([one.middle for one in some]), np.array([one.radius for one in some])
    count, label = connected_components(cdist(middles, middles) <= np.add.outer(radii, radii), directed=False)
    waiting = [np.flatnonzero(label == part) for part in range(count)]
    while waiting:
        mine = waiting.pop()
        wide = np.sqrt(np.square(middles[mine] - middles[mine].mean(axis=0)).sum(axis=1)) + radii[mine]
        spread = middles[mine].var(axis=0)
        j = int(spread.argmax())
        if wide.max() <= WIDE * radii[mine].max() or spread[j] == 0.0:
            yield [some[k] for k in mine]
            continue
        first = middles[mine, j] <= middles[mine, j].mean()
        waiting += [mine[first], mine[~first]]
