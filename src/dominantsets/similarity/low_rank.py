"""Features whose similarity is an inner product plus a constant for each object."""

from __future__ import annotations

from typing import Any

import numpy as np

from dominantsets._checks import check_real
from dominantsets._typing import Floats, Ints
from dominantsets.compiled import dual as _rows
from dominantsets.compiled.threads import row_blocks
from dominantsets.rows.memory import Rows, mean_row
from dominantsets.similarity.base import Similarity, off_diagonal

_NOTHING = np.empty(0)
EXACT_LIMIT = 20_000  # objects up to which all pairs may be visited to find one exact number


class LowRank(Similarity):
    r"""Similarities :math:`a_{ij} = c\,u_i \cdot u_j + b_i + b_j + m` off the diagonal.

    Cosine, linear and squared Euclidean similarity are of this form, so that a product A x costs
    O(nd), whatever the size of the support of x:
    :math:`(A x)_i = c\,u_i \cdot \sum_j x_j u_j + (b_i + m) \sum_j x_j + \sum_j b_j x_j - a^0_{ii} x_i`
    with :math:`a^0_{ii} = c|u_i|^2 + 2 b_i + m` what the formula would put on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), affinity="cosine")
    >>> S.column(0)
    array([0., 1., 2.])
    """

    def __init__(self, rows: Rows, norms: Floats, factor: float, offset: float, kind: str) -> None:
        self.n, self.n_features = rows.n, rows.d
        self.rows = rows
        self.factor = factor
        self.offset = offset
        self.kind = kind
        self._norms = norms  # of one number where all rows are equally long
        self._leans = kind == "sqeuclidean"  # whether b_i = -|u_i|²: nothing else is kept for it
        self.longest = float(np.sqrt(norms.max()))
        self.self_similarity = float(self.diagonal.mean())

    @property
    def diagonal(self) -> Floats:
        """What the formula would put on the diagonal; one number where that is the same for all objects."""
        if self._leans:
            return np.full(1, self.offset or 0.0)
        return self.factor * self._norms + (self.offset or 0.0)

    @property
    def full_diagonal(self) -> Floats:
        """The diagonal, for each object (made when asked for)."""
        return self.diagonal * np.ones(self.n)

    @property
    def square_norms(self) -> Floats:
        """Squared lengths of the rows (made when asked for, where all are the same)."""
        return self._norms if self._norms.size == self.n else np.full(self.n, float(self._norms[0]))

    @property
    def bias(self) -> Floats | None:
        """The b_i, where there are any (made when asked for)."""
        return -self._norms if self._leans else None

    def bias_of(self, objects: Ints) -> Floats | None:
        """The b_i of chosen objects, where there are any."""
        return -self._norms[objects] if self._leans else None

    def block(self, rows: Ints, cols: Ints) -> Floats:
        rows, cols = np.asarray(rows), np.asarray(cols)
        out = self.rows.gram(rows, cols)
        out *= self.factor
        out += self.offset or 0.0
        if self._leans:
            out -= self._norms[rows, None]
            out -= self._norms[None, cols]
        return off_diagonal(out, rows, cols)

    def column(self, i: int) -> Floats:
        return self.gradient(np.array([i]), np.ones(1))

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        total = float(weights.sum())
        added = (self.offset or 0.0) * total
        if self._leans:
            added -= float(self._norms[support] @ weights)
        mixed = self.rows.mix(support, weights)
        out = self.rows.products(mixed, self.form(mixed, times=total, added=added))
        _rows.subtract_at(out, np.asarray(support), self.diagonal, weights)
        return out

    def degrees(self, random_state: int | np.random.RandomState | None = 0) -> Floats:
        whole = self.rows.total()
        added = (self.offset or 0.0) * self.n - (float(self._norms.sum()) if self._leans else 0.0)
        out = self.rows.products(whole, self.form(whole, times=float(self.n), added=added))
        out -= self.diagonal
        return out

    def form(
        self, w: Floats, *, factor: float | None = None, times: float = 1.0, added: float = 0.0
    ) -> _rows.Affine:
        """What turns products of the stored rows with w into factor u · w + times b + added."""
        rows = self.rows
        return _rows.Affine(
            factor=self.factor if factor is None else factor,
            constant=0.0 if rows.pending is None else float(rows.pending @ w),
            scale=_NOTHING if rows.scale is None else rows.scale,
            bias=self._norms if self._leans else _NOTHING,
            times=-times,
            added=added,
        )

    def largest(self) -> float:
        if self.kind == "sqeuclidean":
            return float(self.offset or 0.0)
        return self.factor * self.longest**2 + (self.offset or 0.0)

    def self_similarities(self, objects: Ints) -> Floats:
        diagonal = self.diagonal
        return diagonal[objects] if diagonal.size > 1 else np.full(len(objects), diagonal[0])

    def rows_of(self, objects: Ints) -> Floats:
        """The rows u of chosen objects, without the factor."""
        return self.rows.take(objects)

    def self_similarities_of_new(self, new: Any) -> Floats:
        rows, bias = self._arrivals(new)
        out = self.factor * rows.square_norms() + (self.offset or 0.0)
        return out if bias is None else out + 2.0 * bias

    def ball(self, support: Ints, weights: Floats, f: float) -> tuple[Floats, float] | None:
        r"""For M - D²: a payoff is :math:`M - |y - c|^2 - v`, c the weighted mean and v its variance."""
        if self.kind != "sqeuclidean" or self.rows.center is None:
            return None
        mean = self.rows.mix(support, weights)
        variance = float(self._norms[support] @ weights) - float(mean @ mean)
        square = (self.offset or 0.0) - variance - f
        return mean + self.rows.center, float(np.sqrt(max(0.0, square)))

    def _arrivals(self, new: Any) -> tuple[Rows, Floats | None]:
        """New objects as rows of the same space, with their biases."""
        if self.kind == "cosine":
            return unit_rows(new), None
        rows = Rows(new, center=self.rows.center)
        return rows, -rows.square_norms() if self._leans else None

    def cross(self, new: Any, cols: Ints) -> Floats:
        rows, bias = self._arrivals(new)
        out = self.factor * rows.gram(np.arange(rows.n), np.asarray(cols), self.rows)
        out += self.offset or 0.0
        if bias is not None:
            out += bias[:, None] - self._norms[None, cols]
        return out

    def payoff(self, new: Any, support: Ints, weights: Floats) -> Floats:
        rows, bias = self._arrivals(new)
        total = float(weights.sum())
        out = self.factor * rows.dot(self.rows.mix(support, weights))
        out += (self.offset or 0.0) * total
        if bias is not None:
            out += bias * total - float(self._norms[support] @ weights)
        return out


def unit_rows(X: Any) -> Rows:
    """Rows scaled to length 1; a row of zeros stays zero."""
    length = np.sqrt(Rows(X).square_norms())
    return Rows(X, scale=np.divide(1.0, length, out=length, where=length > 0))


def cosine(X: Any) -> LowRank:
    """Cosine of the angle between rows, plus 1: from 0 (opposite) to 2 (parallel)."""
    rows = unit_rows(X)
    return LowRank(rows, unit_norms(rows), 1.0, 1.0, "cosine")


def unit_norms(rows: Rows) -> Floats:
    """Squared lengths of rows scaled to 1: one number, unless some are zero."""
    assert rows.scale is not None
    short = rows.scale == 0.0
    return np.where(short, 0.0, 1.0) if short.any() else np.ones(1)


def sqeuclidean(X: Any, *, offset: str | float = "bound") -> LowRank:
    r"""M minus the squared distance, with :math:`M = 4 \max_i |x_i - \bar x|^2 \ge \max D^2`.

    ``offset="exact"`` takes the largest squared distance itself (all pairs are visited), a number is
    taken as M.
    """
    rows = Rows(X, center=mean_row(X))
    norms = rows.square_norms()
    M = distance_offset(rows, norms, offset, power=2)
    return LowRank(rows, norms, 2.0, M, "sqeuclidean")


def distance_offset(rows: Rows, norms: Floats, offset: str | float, power: int) -> float:
    """The constant from which distances (power 1) or squared distances (2) are subtracted."""
    if isinstance(offset, str):
        if offset not in ("bound", "exact"):
            raise unknown_offset(offset)
        squared = 4.0 * float(norms.max()) if offset == "bound" else _largest_square(rows, norms)
        # Where all objects are equal every distance is 0; a positive constant makes them one cluster.
        return (squared if power == 2 else float(np.sqrt(squared))) or 1.0
    M = check_real("offset", offset, at_least=0.0)
    bound = 4.0 * float(norms.max())
    if bound > (M**2 if power == 1 else M):
        # the bound is always enough; below it only all pairs can tell
        square = bound if rows.n > EXACT_LIMIT else _largest_square(rows, norms)
        largest = square if power == 2 else float(np.sqrt(square))
        require_offset(M, largest)
    return M


def unknown_offset(offset: str) -> ValueError:
    """The error for a name that no offset has."""
    return ValueError(f"offset={offset!r} is not known; choose 'bound', 'exact' or a number.")


def require_offset(M: float, largest: float) -> None:
    """Refuse a constant that is below the largest (squared) distance."""
    if largest * (1.0 - 1e-12) > M:
        raise ValueError(
            f"offset={M:g} is below {largest:g}, so that similarities could be negative; use "
            "offset='bound' or 'exact'."
        )


def _largest_square(rows: Rows, norms: Floats) -> float:
    """The largest squared distance of two rows, in O(n) memory."""
    every, largest = np.arange(rows.n), 0.0
    for part in row_blocks(rows.n, 8 * rows.n):
        squares = -2.0 * rows.gram(every[part], every)
        squares += norms[part, None]
        squares += norms[None, :]
        largest = max(largest, float(squares.max()))
    return largest


def linear(X: Any, *, offset: str | float | None = None) -> LowRank:
    r"""Inner products :math:`x_i \cdot x_j`, plus ``offset``.

    Products must not be negative. Where features have both signs, ``offset="bound"`` adds
    :math:`\max_i |x_i|^2`, which is always enough; a number adds that number.
    """
    rows = Rows(X)
    norms = rows.square_norms()
    bound = float(norms.max())
    if offset == "bound":
        return LowRank(rows, norms, 1.0, bound, "linear")
    added = 0.0 if offset is None else check_real("offset", offset, at_least=0.0)
    if added < bound and X.shape[0] > 1 and X.min() < 0:
        _refuse_negative(rows, added, bound)
    return LowRank(rows, norms, 1.0, added, "linear")


def both_signs(n: int, bound: float) -> ValueError:
    """The error for inner products that may be negative, where pairs are too many to look."""
    return ValueError(
        f"features of both signs may have negative inner products, and {n:,} objects are too many to look at "
        f"every pair; {_remedy(bound)}."
    )


def _remedy(bound: float) -> str:
    return f"pass offset='bound' (adds {bound:.6g}), or affinity='cosine'"


def _refuse_negative(rows: Rows, added: float, bound: float) -> None:
    if rows.n > EXACT_LIMIT:
        raise both_signs(rows.n, bound)
    every = np.arange(rows.n)
    for part in row_blocks(rows.n, 8 * rows.n):
        products = rows.gram(every[part], every)
        i, j = np.unravel_index(int(products.argmin()), products.shape)
        if products[i, j] + added < 0:
            raise ValueError(
                f"the linear similarity of objects {part.start + i} and {j} is "
                f"{products[i, j] + added:.6g}, but similarities must not be negative; {_remedy(bound)}."
            )
