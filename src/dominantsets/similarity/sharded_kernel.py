"""Gaussian and Laplacian similarity of objects in pieces.

Every question is "similarities of all objects to these few": the few rows travel, the objects stay.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import row_blocks
from dominantsets.rows.base import Mask, Piece, Pieces
from dominantsets.rows.memory import PIECE_BYTES, Rows
from dominantsets.similarity.base import off_diagonal
from dominantsets.similarity.kernel import (
    MEDIAN_SAMPLE,
    SAMPLE,
    SAMPLED_ABOVE,
    direction,
    evenly,
    gaussian,
    laplacian,
    one_over_median,
    positive,
)
from dominantsets.similarity.sharded import Degrees, Sharded, check_survey, survey

_BETWEEN: dict[str, Callable[[Floats, Floats, float], Floats]] = {"rbf": gaussian, "laplacian": laplacian}


class KernelRecipe(NamedTuple):
    """All that a piece needs besides its data."""

    kind: str
    center: Floats | None
    gamma: float


class Few(NamedTuple):
    """Some objects with weights: their numbers in increasing order, their rows."""

    objects: Ints
    rows: Floats
    weights: Floats


def _rows(piece: Piece, recipe: KernelRecipe) -> Rows:
    return Rows(piece.data, center=recipe.center, copy=False)


def summed(piece: Piece, recipe: KernelRecipe, few: Few) -> Floats:
    """Weighted sums of the similarities of a piece's objects to a few; none of an object to itself."""
    rows, between = _rows(piece, recipe), _BETWEEN[recipe.kind]
    out = np.zeros(piece.size)
    own = np.flatnonzero((few.objects >= piece.begin) & (few.objects < piece.begin + piece.size))
    places = piece.places(few.objects[own])
    for cols in row_blocks(len(few.rows), 8, PIECE_BYTES // 64):
        for part in row_blocks(piece.size, 8 * (cols.stop - cols.start), PIECE_BYTES):
            block = between(rows.take(part), few.rows[cols], recipe.gamma)
            mine = (places >= part.start) & (places < part.stop) & (own >= cols.start) & (own < cols.stop)
            block[places[mine] - part.start, own[mine] - cols.start] = 0.0
            out[part] += block @ few.weights[cols]
    return out


class Share(NamedTuple):
    """A piece's part of the payoffs: those of its own members, the best others with their rows."""

    inside: Floats
    others: Ints
    r: Floats
    rows: Floats


def payoffs(piece: Piece, recipe: KernelRecipe, few: Few, shift: float, count: int, name: str) -> Share:
    """Payoffs of a point: of its members here, and of the best others."""
    r = piece.recall("payoffs", (name, piece.token), lambda: _payoffs(piece, recipe, few, shift))
    own = (few.objects >= piece.begin) & (few.objects < piece.begin + piece.size)
    places = piece.places(few.objects[own])
    inside = r[places]
    return Share(inside, *_best(piece, recipe, r, count, -np.inf, few.objects[own]))


def _payoffs(piece: Piece, recipe: KernelRecipe, few: Few, shift: float) -> Floats:
    r = summed(piece, recipe, few)
    own = (few.objects >= piece.begin) & (few.objects < piece.begin + piece.size)
    r[piece.places(few.objects[own])] -= shift * few.weights[own]
    r[~piece.alive] = -np.inf
    return r


def best(
    piece: Piece, recipe: KernelRecipe, few: Few, shift: float, count: int, name: str, level: float,
    besides: Ints,
) -> Share:  # fmt: skip
    """The best objects above a level that are none of ``besides``."""
    r = piece.recall("payoffs", (name, piece.token), lambda: _payoffs(piece, recipe, few, shift))
    return Share(np.empty(0), *_best(piece, recipe, r, count, level, besides))


def _best(
    piece: Piece, recipe: KernelRecipe, r: Floats, count: int, level: float, besides: Ints
) -> tuple[Ints, Floats, Floats]:
    outside = r.copy()
    here = besides[(besides >= piece.begin) & (besides < piece.begin + piece.size)]
    outside[piece.places(here)] = -np.inf
    places = np.flatnonzero(outside > level)
    if places.size > count:
        places = np.sort(places[np.argpartition(-outside[places], count)[:count]])
    return piece.begin + places, outside[places], _rows(piece, recipe).take(places)


class Change(NamedTuple):
    """A change of the row sums: similarities to a few objects, times a factor."""

    few: Few
    factor: float


class Top(NamedTuple):
    """Largest row sum of a piece, whose, its row; the sum of all, and how sure a sample is of them."""

    value: float
    vertex: int
    row: Floats
    total: float
    variance: float
    behind: bool = False


def row_sums(piece: Piece, recipe: KernelRecipe, name: str, since: int, changes: list[Change]) -> Top:
    """Bring a piece's row sums up to date; ``behind`` where it has not seen the changes before ``since``."""
    state: list[Any] = piece.recall("row sums", name, lambda: [0, np.zeros(piece.size), 0.0])
    if state[0] < since:
        return Top(-np.inf, -1, np.empty(0), 0.0, 0.0, behind=True)
    for change in changes[state[0] - since :]:
        state[1] += change.factor * summed(piece, recipe, change.few)
        state[0] += 1
    values = np.where(piece.alive, state[1], -np.inf)
    first = int(values.argmax())
    row = _rows(piece, recipe).take(np.array([first]))[0]
    total = float(state[1][piece.alive].sum())
    return Top(float(values[first]), piece.begin + first, row, total, 0.0)


def _project(piece: Piece, recipe: KernelRecipe, along: Floats) -> Floats:
    return _rows(piece, recipe).dot(along)


def _rows_at(piece: Piece, recipe: KernelRecipe, objects: Ints) -> Floats:
    return _rows(piece, recipe).take(piece.places(objects))


class KernelDegrees(Degrees):
    """Row sums that stay with the pieces: what they were made of, so that they can be made again."""

    def __init__(
        self, name: str, changes: list[Change], top: Top, total: float, n: int, every: Callable[[], Floats]
    ) -> None:
        super().__init__(total, top.value, n, every)
        self.name, self.changes, self.top = name, changes, top


class ShardedKernel(Sharded):
    """Gaussian or Laplacian similarity of objects in pieces, see :class:`Rbf` and :class:`Laplacian`."""

    def __init__(
        self, pieces: Pieces, present: Callable[[NDArray[Any]], Any], kind: str, gamma: float | None
    ) -> None:
        super().__init__(pieces, present)
        looks = pieces.ask(survey)
        check_survey(looks)
        center = reduce(np.add, [look.total for look in looks]) / self.n if kind == "rbf" else None
        self.self_similarity, self.bounded_by_self_similarity = 1.0, True
        self._known: dict[int, Floats] = {}
        self.recipe = KernelRecipe(kind, center, 1.0 if gamma is None else positive(gamma))
        if gamma is None:
            self.recipe = self.recipe._replace(gamma=self._default_gamma())
        self.gamma = self.recipe.gamma

    def _default_gamma(self) -> float:
        """One over the median distance of the objects that :class:`Rbf` and :class:`Laplacian` look at."""
        chosen = np.arange(self.n)
        if self.n > MEDIAN_SAMPLE:  # the one time that a number for each object comes here
            along = np.concatenate(self.pieces.ask(_project, self.recipe, direction(self.n_features)))
            chosen = evenly(along, MEDIAN_SAMPLE)
        P = self.fetch(chosen, _rows_at, self.recipe)
        return one_over_median(cdist(P, P, "sqeuclidean" if self.recipe.kind == "rbf" else "cityblock"))

    def learn(self, objects: Ints, rows: Floats) -> None:
        """Keep rows that came along with something else."""
        self._known.update(zip(objects.tolist(), rows, strict=True))

    def forget(self) -> None:
        """Let go of the rows that were fetched."""
        self._known.clear()

    def rows_of(self, objects: Ints) -> Floats:
        missing = np.array([i for i in np.asarray(objects).tolist() if i not in self._known], dtype=np.int64)
        if missing.size:
            self.learn(missing, self.fetch(missing, _rows_at, self.recipe))
        return np.array([self._known[i] for i in np.asarray(objects).tolist()])

    def few(self, objects: Ints, weights: Floats) -> Few:
        """Objects with weights, as they travel."""
        return Few(objects, self.rows_of(objects), weights)

    def block(self, rows: Ints, cols: Ints) -> Floats:
        out = _BETWEEN[self.recipe.kind](self.rows_of(rows), self.rows_of(cols), self.gamma)
        return off_diagonal(out, np.asarray(rows), np.asarray(cols))

    def cross(self, new: Any, cols: Ints) -> Floats:
        P = Rows(new, center=self.recipe.center).take(slice(None))
        return _BETWEEN[self.recipe.kind](P, self.rows_of(np.asarray(cols)), self.gamma)

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        """A x, with an entry for each object here: for assignments, not for solving."""
        return np.concatenate(self.pieces.ask(summed, self.recipe, self.few(support, weights)))

    def degrees(self, random_state: Any = 0) -> Any:
        """Row sums, exact up to 20,000 objects, else from a sample; they stay with the pieces."""
        chosen, factor = np.arange(self.n), 1.0
        if self.n > SAMPLED_ABOVE:
            chosen = np.sort(check_random_state(random_state).choice(self.n, SAMPLE, replace=False))
            factor = self.n / SAMPLE
        few = Few(chosen, self.fetch(chosen, _rows_at, self.recipe), np.ones(chosen.size))
        name, changes = uuid.uuid4().hex, [Change(few, factor)]
        tops = self.pieces.ask(row_sums, self.recipe, name, 0, changes, mask=self.pieces.mask())
        top = max(tops, key=lambda top: (top.value, -top.vertex))

        def every() -> Floats:
            return factor * np.concatenate(self.pieces.ask(summed, self.recipe, few))

        return KernelDegrees(name, changes, top, sum(top.total for top in tops), self.n, every)

    def top(self, name: str, changes: list[Change], new: int, mask: Mask) -> tuple[Top, float]:
        """The object with the largest row sum after the last ``new`` changes, and the sum of all."""
        since = len(changes) - new
        tops = self.pieces.ask(row_sums, self.recipe, name, since, changes[since:], mask=mask)
        lost = [k for k, top in enumerate(tops) if top.behind]  # pieces that were made again
        again = self.pieces.ask(row_sums, self.recipe, name, 0, changes, mask=mask, which=lost)
        for k, top in zip(lost, again, strict=True):
            tops[k] = top
        best_of = max(tops, key=lambda top: (top.value, -top.vertex))
        return best_of, sum(top.total for top in tops)
