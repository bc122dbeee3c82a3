"""Similarities of objects that are kept in pieces: what is asked of all of them comes back as sums.

Rows stay where they are. What a solver needs of single objects (the rows of a working set, the row at which
it starts) is fetched by number and kept for the while.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets._checks import check_real
from dominantsets._typing import Floats, Ints
from dominantsets.rows.base import Mask, Piece, Pieces
from dominantsets.rows.memory import Rows, require_finite, require_square
from dominantsets.similarity.base import Similarity, off_diagonal
from dominantsets.similarity.low_rank import (
    LowRank,
    both_signs,
    require_offset,
    unit_norms,
    unit_rows,
    unknown_offset,
)


class Degrees:
    """What is asked of the row sums of a similarity in pieces: mostly their sum and the largest.

    All of them come here, eight bytes an object, only where an array is made of it: to pick a sample from the
    lowest to the highest.
    """

    def __init__(
        self, total: float, largest: float, n: int, every: Callable[[], Floats] | None = None
    ) -> None:
        self._total, self._largest, self.size = total, largest, n
        self._every = every

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        assert self._every is not None
        return self._every()

    def copy(self) -> Degrees:
        """Nobody changes it."""
        return self

    def sum(self) -> float:
        return self._total

    def mean(self) -> float:
        return self._total / self.size

    def max(self) -> float:
        return self._largest

    def __getitem__(self, vertex: int) -> float:
        """Of the object that has the largest."""
        return self._largest


class Sharded(Similarity):
    """A similarity of objects in pieces.

    ``present`` turns an array with an entry for each object into what the caller is used to.
    """

    def __init__(self, pieces: Pieces, present: Callable[[NDArray[Any]], Any]) -> None:
        self.pieces = pieces
        self.present = present
        self.n, self.n_features = pieces.n, pieces.d

    def fingerprint(self) -> str:
        """A hash of the data, the same wherever the pieces are."""
        digest = hashlib.blake2b(digest_size=16)
        for part in self.pieces.ask(_fingerprint):
            digest.update(part)
        return digest.hexdigest()

    def rows_of(self, objects: Ints) -> Floats:
        """The rows of chosen objects, as the similarity sees them."""
        raise NotImplementedError

    def fetch(self, objects: Ints, function: Callable[..., Floats], recipe: Any) -> Floats:
        """Rows by number, in the order asked for, in one round over the pieces that have them."""
        order = np.argsort(objects, kind="stable")
        parts = self.pieces.split(np.asarray(objects)[order])
        which = [k for k, (part,) in enumerate(parts) if len(part)]
        out = np.empty((len(objects), self.n_features))
        out[order] = np.concatenate(self.pieces.ask(function, recipe, each=parts, which=which))
        return out


class Recipe(NamedTuple):
    """What makes the rows of a piece: for low-rank kinds all that a piece needs besides its data."""

    name: str  # of this similarity, to tell what a piece remembers of it from what it does of another
    kind: str
    center: Floats | None
    offset: float


def local(piece: Piece, recipe: Recipe) -> LowRank:
    """A piece's own objects under the formula of the whole."""

    def make() -> LowRank:
        data = piece.data
        if recipe.kind == "cosine":
            scale = piece.recall("scale", "all", lambda: unit_rows(data).scale)
            rows = Rows(data, scale=scale)
            norms = piece.recall("unit norms", "all", lambda: unit_norms(rows))
        else:
            rows = Rows(data, center=recipe.center, copy=False)
            norms = piece.recall("norms", recipe.name, rows.square_norms)
        factor = 2.0 if recipe.kind == "sqeuclidean" else 1.0
        return LowRank(rows, norms, factor, recipe.offset, recipe.kind)

    return piece.recall("similarity", (recipe.name, recipe.offset), make) if piece.kept else make()


class Survey(NamedTuple):
    """A first look at the rows of a piece."""

    total: Floats
    finite: bool
    least: float
    most: float


def survey(piece: Piece) -> Survey:
    data = piece.data
    total = data.sum(axis=0, dtype=np.float64)
    finite = bool(np.isfinite(total).all() or np.isfinite(data).all())
    return Survey(np.asarray(total), finite, float(data.min()), float(data.max()))


class Sums(NamedTuple):
    """Over the objects of a piece that are there: rows, squared lengths, diagonal, how many."""

    rows: Floats
    norms: float
    longest: float
    diagonal: float
    objects: float

    def __add__(self, other: Any) -> Sums:
        return Sums(
            self.rows + other.rows,
            self.norms + other.norms,
            max(self.longest, other.longest),
            self.diagonal + other.diagonal,
            self.objects + other.objects,
        )


def measure(piece: Piece, recipe: Recipe, everybody: bool) -> Sums:
    """Sums of the rows, for row sums of the similarity."""
    here = local(piece, recipe)
    alive = None if everybody or piece.alive.all() else piece.alive
    count = piece.size if alive is None else piece.n_alive
    norms = here.square_norms if alive is None else here.square_norms[alive]
    diagonal = here.full_diagonal if alive is None else here.full_diagonal[alive]
    return Sums(
        here.rows.total(alive), float(norms.sum()), float(norms.max(initial=0.0)),
        float(diagonal.sum()), float(count),
    )  # fmt: skip


def _degrees(piece: Piece, recipe: Recipe, sums: Sums) -> Floats:
    """Row sums of the similarity, -inf for objects that are gone."""
    here = local(piece, recipe)
    added = recipe.offset * sums.objects - (sums.norms if recipe.kind == "sqeuclidean" else 0.0)
    form = here.form(sums.rows, times=sums.objects, added=added)
    values = here.rows.products(sums.rows, form, piece.alive)
    values -= here.diagonal
    return values


def largest_degree(piece: Piece, recipe: Recipe, sums: Sums) -> tuple[float, int, Floats]:
    """The object of a piece with the largest row sum: the sum, its number, its row."""
    values = _degrees(piece, recipe, sums)
    best = int(values.argmax())
    return float(values[best]), piece.begin + best, local(piece, recipe).rows.take(np.array([best]))[0]


def _fingerprint(piece: Piece) -> bytes:
    data = piece.data
    digest = hashlib.blake2b(digest_size=16)
    for part in (data,) if isinstance(data, np.ndarray) else (data.data, data.indices, data.indptr):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()


def _rows_at(piece: Piece, recipe: Recipe, objects: Ints) -> Floats:
    return local(piece, recipe).rows.take(piece.places(objects))


def _mixed(piece: Piece, recipe: Recipe, objects: Ints, weights: Floats) -> tuple[Floats, float]:
    """The weighted sum of chosen rows, and of their biases."""
    here, places = local(piece, recipe), piece.places(objects)
    bias = here.bias_of(places)
    return here.rows.mix(places, weights), 0.0 if bias is None else float(bias @ weights)


def _gradient(
    piece: Piece, recipe: Recipe, mixed: Floats, total: float, added: float, objects: Ints, weights: Floats
) -> Floats:
    here = local(piece, recipe)
    out = here.rows.products(mixed, here.form(mixed, times=total, added=added))
    places = piece.places(objects)
    out[places] -= weights * (here.diagonal if here.diagonal.size == 1 else here.diagonal[places])
    return out


class ShardedLowRank(Sharded):
    r"""Similarities :math:`a_{ij} = c\,u_i \cdot u_j + b_i + b_j + m` of objects in pieces.

    See :class:`LowRank`. Made in two rounds: a look at the data, and sums of the rows.
    """

    def __init__(
        self, pieces: Pieces, present: Callable[[NDArray[Any]], Any], kind: str, offset: Any
    ) -> None:
        super().__init__(pieces, present)
        looks = pieces.ask(survey)
        check_survey(looks)
        center = reduce(np.add, [look.total for look in looks]) / self.n if kind == "sqeuclidean" else None
        name = uuid.uuid4().hex
        self.kind, self.factor = kind, 2.0 if kind == "sqeuclidean" else 1.0
        recipe = Recipe(name, kind, center, 1.0 if kind == "cosine" else 0.0)
        sums = self._measure(recipe, None)
        bound = sums.longest * (4.0 if kind == "sqeuclidean" else 1.0)
        if kind == "sqeuclidean":
            recipe = recipe._replace(offset=_bounded(offset, bound))
        elif kind == "linear":
            added = (
                bound if offset == "bound" else 0.0 if offset is None else check_real("offset", offset, 0.0)
            )
            if added < bound and self.n > 1 and min(look.least for look in looks) < 0:
                raise both_signs(self.n, bound)
            recipe = recipe._replace(offset=added)
        if kind != "cosine":
            diagonal = recipe.offset * self.n + (0.0 if kind == "sqeuclidean" else sums.norms)
            sums = sums._replace(diagonal=diagonal)
        self.recipe, self.sums = recipe, sums
        self.offset = recipe.offset
        self.longest = float(np.sqrt(sums.longest))
        self.self_similarity = sums.diagonal / self.n

    def _measure(self, recipe: Recipe, mask: Mask | None) -> Sums:
        return reduce(Sums.__add__, self.pieces.ask(measure, recipe, mask is None, mask=mask))

    def measured(self, mask: Mask) -> Sums:
        """Sums over the objects that are still there."""
        return self._measure(self.recipe, mask)

    def least_diagonal(self) -> float:
        """The smallest number that the formula would put on the diagonal."""
        if self.kind == "sqeuclidean":
            return self.recipe.offset
        return min(self.pieces.ask(_least_diagonal, self.recipe))

    def largest(self) -> float:
        if self.kind == "sqeuclidean":
            return self.recipe.offset
        return self.factor * self.longest**2 + self.recipe.offset

    def self_similarities(self, objects: Ints) -> Floats:
        if self.kind == "sqeuclidean":
            return np.full(len(objects), self.recipe.offset)
        if len(objects) == self.n:
            return np.concatenate(self.pieces.ask(_diagonal, self.recipe))[objects]
        return self._own(self.rows_of(np.asarray(objects)))

    def self_similarities_of_new(self, new: Any) -> Floats:
        return self._own(self._arrivals(new))

    def _own(self, rows: Floats) -> Floats:
        if self.kind == "sqeuclidean":
            return np.full(len(rows), self.recipe.offset)
        return np.asarray(self.factor * np.square(rows).sum(axis=1) + self.recipe.offset)

    def top(self, sums: Sums, mask: Mask | None) -> tuple[float, int, Floats]:
        """The object with the largest row sum, ties to the lowest number."""
        everywhere = self.pieces.ask(largest_degree, self.recipe, sums, mask=mask)
        return max(everywhere, key=lambda found: (found[0], -found[1]))

    def total_degree(self, sums: Sums) -> float:
        """The sum of all row sums."""
        lean = -sums.norms if self.kind == "sqeuclidean" else 0.0
        whole = self.factor * float(sums.rows @ sums.rows) + 2.0 * sums.objects * lean
        return whole + self.recipe.offset * sums.objects**2 - sums.diagonal

    def degrees(self, random_state: Any = 0) -> Any:
        """What is asked of the row sums: their sum and the largest."""
        everybody = self.pieces.mask()
        largest = self.top(self.sums, everybody)[0]
        return Degrees(self.total_degree(self.sums), largest, self.n, self._every_degree)

    def _every_degree(self) -> Floats:
        return np.concatenate(self.pieces.ask(_degrees, self.recipe, self.sums, mask=self.pieces.mask()))

    def rows_of(self, objects: Ints) -> Floats:
        return self.fetch(objects, _rows_at, self.recipe)

    def block(self, rows: Ints, cols: Ints) -> Floats:
        out = self._between(self.rows_of(np.asarray(rows)), self.rows_of(np.asarray(cols)))
        return off_diagonal(out, np.asarray(rows), np.asarray(cols))

    def cross(self, new: Any, cols: Ints) -> Floats:
        return self._between(self._arrivals(new), self.rows_of(np.asarray(cols)))

    def _between(self, P: Floats, Q: Floats) -> Floats:
        out = self.factor * (P @ Q.T) + self.recipe.offset
        if self.kind == "sqeuclidean":
            out -= np.square(P).sum(axis=1)[:, None] + np.square(Q).sum(axis=1)[None, :]
        return out

    def _arrivals(self, new: Any) -> Floats:
        rows = unit_rows(new) if self.kind == "cosine" else Rows(new, center=self.recipe.center)
        return rows.take(slice(None))

    def mix(self, support: Ints, weights: Floats) -> tuple[Floats, float]:
        """The weighted sums of rows and of biases: one round."""
        each = self.pieces.split(support, weights)
        which = [k for k, part in enumerate(each) if len(part[0])]
        parts = self.pieces.ask(_mixed, self.recipe, each=each, which=which)
        return reduce(np.add, [part[0] for part in parts]), sum(part[1] for part in parts)

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        """A x, with an entry for each object here: for assignments, not for solving."""
        mixed, lean = self.mix(support, weights)
        total = float(weights.sum())
        added = self.recipe.offset * total + lean
        each = self.pieces.split(support, weights)
        return np.concatenate(self.pieces.ask(_gradient, self.recipe, mixed, total, added, each=each))

    def payoff(self, new: Any, support: Ints, weights: Floats) -> Floats:
        P = self._arrivals(new)
        mixed, lean = self.mix(support, weights)
        total = float(weights.sum())
        out = self.factor * (P @ mixed) + self.recipe.offset * total + lean
        if self.kind == "sqeuclidean":
            out -= np.square(P).sum(axis=1) * total
        return np.asarray(out)

    def ball(self, support: Ints, weights: Floats, f: float) -> tuple[Floats, float] | None:
        if self.recipe.center is None:
            return None
        mean, lean = self.mix(support, weights)
        return self.ball_of(mean, lean, f)

    def ball_of(self, mean: Floats, lean: float, f: float) -> tuple[Floats, float] | None:
        """The same from the weighted sums of rows and biases."""
        if self.recipe.center is None:
            return None
        square = self.recipe.offset - (-lean - float(mean @ mean)) - f
        return mean + self.recipe.center, float(np.sqrt(max(0.0, square)))


def _bounded(offset: Any, bound: float) -> float:
    """The constant from which squared distances are subtracted."""
    if isinstance(offset, str):
        if offset == "exact":
            raise ValueError(
                "offset='exact' looks at all pairs of objects, which is not done for Dask arrays; use "
                "offset='bound' or a number."
            )
        if offset != "bound":
            raise unknown_offset(offset)
        return bound or 1.0
    M = check_real("offset", offset, at_least=0.0)
    require_offset(M, bound)
    return M


def _diagonal(piece: Piece, recipe: Recipe) -> Floats:
    return local(piece, recipe).full_diagonal


def _least_diagonal(piece: Piece, recipe: Recipe) -> float:
    return float(local(piece, recipe).diagonal.min())


def check_survey(looks: list[Survey]) -> None:
    """Refuse features that no similarity can be made of, in the sentences of arrays in memory."""
    require_finite(all(look.finite for look in looks))
    require_square(max(max(look.most, -look.least) for look in looks))
