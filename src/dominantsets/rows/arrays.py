"""Feature rows in memory: an array's rows, and what a formula makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled import passes
from dominantsets.compiled import rows as compiled_rows
from dominantsets.compiled.threads import GRAIN, parallel_map, row_blocks, thread_slices
from dominantsets.rows.base import Block, Recipe, kept_between

# Rows are converted to float64 and centred a block at a time; a block should stay in the cache.
PIECE_BYTES = 2**20
# Columns up to which our own threads multiply as fast as BLAS; two pools of threads slow each other down.
NARROW = 48
_NOTHING, EVERYBODY = np.empty(0), np.empty(0, dtype=bool)


class ArrayRows:
    r"""The rows :math:`s_i (x_i - \mu)` of a feature matrix, never formed as a whole where avoidable.

    float64 arrays in memory are centred once, in a copy (unless ``copy=False``). For float32 arrays, memmaps
    and sparse rows the centre enters as a correction, in float64: a centred float32 copy would round the data
    differently from the memmap, and sparse rows must stay sparse. Where a column of theirs has no zeros it is
    centred in a copy as well: that makes no row longer, and a correction would leave its rounding.
    """

    def __init__(
        self, X: Any, center: Floats | None = None, scale: Floats | None = None, copy: bool = True
    ) -> None:
        self.sparse = sp.issparse(X)
        self.n, self.d = X.shape
        self.center = center
        self.scale = scale
        self.pending = center
        if self.sparse:
            X = sp.csr_array(X)
            if center is not None:
                X, self.pending = _full_columns_centred(X, center)
        elif copy and center is not None and X.dtype == np.float64 and not isinstance(X, np.memmap):
            X = X - center
            self.pending = None
        if not self.sparse:
            # one layout for the compiled sums; other orders are copied once
            X = self.plain = np.ascontiguousarray(X).view(np.ndarray)
            self.plain.flags.writeable = False
        self._X = X

    def take(self, rows: Ints | slice) -> Floats:
        """The chosen rows, dense and in float64."""
        piece = self._X[rows]
        piece = piece.toarray() if self.sparse else piece
        piece = np.asarray(piece, dtype=np.float64)
        if self.pending is not None:
            piece = piece - self.pending
        if self.scale is not None:
            piece = piece * self.scale[rows, None]
        return piece

    def stored(self, rows: slice) -> Any:
        """A slice of the rows as they are stored."""
        return self._X[rows]

    def products(
        self,
        w: Floats,
        form: passes.Affine,
        alive: Flags = EVERYBODY,
        out: Floats | None = None,
    ) -> Floats:
        """What ``form`` makes of the products of the stored rows with one vector; -inf for removed objects.

        O(nd), without a copy of the rows, in parts side by side.
        """
        values = np.empty(self.n) if out is None else out
        by_part = not self.sparse and (self.d <= NARROW or self.plain.dtype != np.float64)
        if self.sparse:
            values = np.asarray(self._X @ w)
        elif not by_part:
            np.dot(self.plain, w, out=values)  # BLAS on every core

        def work(part: slice) -> None:
            if by_part:
                passes.dot_rows(self.plain[part], w, values[part])
            passes.transform(values, form, alive, part.start, part.stop)

        parallel_map(work, thread_slices(self.n, GRAIN // self.d if by_part else GRAIN))
        return values

    def dot(self, w: Floats) -> Floats:
        """Products of all rows with one vector."""
        constant = 0.0 if self.pending is None else float(self.pending @ w)
        scale = _NOTHING if self.scale is None else self.scale
        return self.products(w, passes.Affine(1.0, constant, scale, _NOTHING))

    def plain_mix(self, support: Ints, weights: Floats) -> Floats:
        """The weighted sum of the chosen stored rows: O(sd), without a copy of them."""
        if self.sparse:
            whole = support.size == self.n and bool((np.diff(support) == 1).all())
            chosen = self._X if whole else self._X[support]
            return np.asarray(chosen.T @ weights)
        support = np.asarray(support, dtype=np.int64)

        def added(part: slice) -> Floats:
            out = np.zeros(self.d)
            passes.add_rows(self.plain, support[part], weights[part], out)
            return out

        first, *others = parallel_map(added, thread_slices(support.size, GRAIN // self.d))
        for other in others:
            first += other
        return first

    def mix(self, support: Ints, weights: Floats) -> Floats:
        """The weighted sum of the chosen rows."""
        if self.scale is not None:
            weights = weights * self.scale[support]
        out = self.plain_mix(support, weights)
        if self.pending is not None:
            out -= self.pending * weights.sum()
        return out

    def total(self, alive: Flags | None = None) -> Floats:
        """The sum of all rows, or of those that are alive."""
        sums = parallel_map(lambda part: self._total(part, alive), thread_slices(self.n, GRAIN // self.d))
        out, count = (sum(column) for column in zip(*sums, strict=True))
        return np.asarray(out if self.pending is None else out - count * self.pending)

    def _total(self, whole: slice, alive: Flags | None) -> tuple[Floats, float]:
        """The sum of the stored rows of a part, and of their weights."""
        out, count = np.zeros(self.d), 0.0
        for part in row_blocks(whole.stop - whole.start, 8, PIECE_BYTES):
            here = slice(whole.start + part.start, whole.start + part.stop)
            weights = np.ones(here.stop - here.start) if self.scale is None else self.scale[here]
            if alive is not None:
                weights = weights * alive[here]
            if self.sparse:
                out += self._X[here].T @ weights
            else:
                compiled_rows.add_all_rows(self.plain[here], weights, out)
            count += float(weights.sum())
        return out, count

    def gram(self, rows: Ints, cols: Ints, other: ArrayRows | None = None) -> Floats:
        """Inner products of chosen rows with chosen rows (of ``other``, where given)."""
        other = self if other is None else other
        if not (self.sparse and other.sparse):
            return np.asarray(self.take(rows) @ other.take(cols).T)
        P, Q = self._X[rows].astype(np.float64), other._X[cols].astype(np.float64)
        out: Floats = (P @ Q.T).toarray()
        if self.pending is not None and other.pending is not None:  # which columns have no zeros differs
            p, q = self.pending, other.pending
            out += p @ q - (P @ q)[:, None] - (Q @ p)[None, :]
        if self.scale is not None:
            out *= self.scale[rows, None]
        if other.scale is not None:
            out *= other.scale[None, cols]
        return out

    def square_norms(self) -> Floats:
        """Squared lengths of all rows."""
        if self.sparse:
            X = self._X.astype(np.float64)
            out = np.asarray(X.multiply(X).sum(axis=1)).ravel()
            if self.pending is not None:
                out += self.pending @ self.pending - 2.0 * (X @ self.pending)
                np.maximum(out, 0.0, out=out)
            if self.scale is not None:
                out *= self.scale**2
            return out
        out = np.empty(self.n)
        for part in row_blocks(self.n, 8 * self.d, PIECE_BYTES):
            piece = self.take(part)
            out[part] = np.einsum("ij,ij->i", piece, piece)
        return out


def _full_columns_centred(X: Any, center: Floats) -> tuple[Any, Floats]:
    """Sparse rows with the columns that have no zeros centred, and what is left to subtract."""
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    if not (full.any() and X.has_canonical_format):  # else a place may be stored twice
        return X, center
    data = X.data - np.where(full, center, 0.0)[X.indices]
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape), np.where(full, 0.0, center)


def mean_row(X: Any) -> Floats:
    """The mean of the rows in float64, without a float64 copy of X, see :func:`kept_between`."""
    least, most = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        mean = X.T @ np.ones(X.shape[0]) / X.shape[0]
        return kept_between(mean, least.toarray().ravel(), most.toarray().ravel())
    return kept_between(X.mean(axis=0, dtype=np.float64), least, most)


class FormulaRows:
    """The rows of a block as a formula sees them, with their squared lengths."""

    def __init__(self, rows: ArrayRows, norms: Floats, recipe: Recipe) -> None:
        self.rows, self.formula = rows, recipe.formula
        self.norms = norms  # of one number where all rows are equally long

    @property
    def diagonal(self) -> Floats:
        """What the formula would put on the diagonal; one number where all objects share it."""
        return np.asarray(self.formula.diagonal(self.norms))

    @property
    def square_norms(self) -> Floats:
        """Squared lengths of the rows (made when asked for, where all are the same)."""
        return self.norms if self.norms.size == self.rows.n else np.full(self.rows.n, float(self.norms[0]))

    def bias_of(self, places: Ints) -> Floats | None:
        """The biases b of chosen objects, where the formula has any."""
        return -self.norms[places] if self.formula.has_bias else None

    def form(
        self, w: Floats, *, factor: float | None = None, times: float = 1.0, added: float = 0.0
    ) -> passes.Affine:
        """What turns products of the stored rows with w into factor v · w + times b + added."""
        rows = self.rows
        return passes.Affine(
            factor=self.formula.factor if factor is None else factor,
            constant=0.0 if rows.pending is None else float(rows.pending @ w),
            scale=_NOTHING if rows.scale is None else rows.scale,
            bias=self.norms if self.formula.has_bias else _NOTHING,
            times=-times,
            added=added,
        )


def unit_rows(X: Any) -> ArrayRows:
    """Rows scaled to length 1; a row of zeros stays zero."""
    length = np.sqrt(ArrayRows(X).square_norms())
    return ArrayRows(X, scale=np.divide(1.0, length, out=length, where=length > 0))


def formula_rows(X: Any, recipe: Recipe, copy: bool = True) -> FormulaRows:
    """Rows of an array as a formula sees them."""
    if recipe.formula.unit:
        rows = unit_rows(X)
        assert rows.scale is not None
        short = rows.scale == 0.0
        return FormulaRows(rows, np.where(short, 0.0, 1.0) if short.any() else np.ones(1), recipe)
    rows = ArrayRows(X, center=recipe.center, copy=copy)
    return FormulaRows(rows, rows.square_norms(), recipe)


def local(block: Block, recipe: Recipe) -> FormulaRows:
    """The rows of a block under the formula of the whole."""

    def make() -> FormulaRows:
        # a formula that differs by its offset only has the same rows
        rows, norms = block.recall("rows", recipe.name, measured) if block.kept else measured()
        return FormulaRows(rows, norms, recipe)

    def measured() -> tuple[ArrayRows, Floats]:
        if block.kept:
            made = formula_rows(block.data, recipe, copy=block.owned)
            return made.rows, made.norms
        name = "lengths" if recipe.formula.unit else f"lengths {recipe.name}"
        data = block.data  # read anew each time; only numbers of their lengths are kept
        known = block.recall(name, "all", lambda: _lengths(data, recipe))
        return ArrayRows(data, recipe.center, known[0], copy=False), known[1]

    return block.recall("formula", recipe, make) if block.kept else make()


def _lengths(data: Any, recipe: Recipe) -> tuple[Floats | None, Floats]:
    made = formula_rows(data, recipe, copy=False)
    return made.rows.scale, made.norms


def kernel_rows(block: Block, recipe: Recipe) -> ArrayRows:
    """The rows of a block as a kernel sees them."""

    def make() -> ArrayRows:
        return ArrayRows(block.data, center=recipe.center, copy=block.owned)

    return block.recall("kernel rows", recipe.name, make) if block.kept else make()


def kernel_lengths(block: Block, recipe: Recipe) -> Floats:
    """Squared lengths of the rows as a kernel sees them."""
    rows = kernel_rows(block, recipe)
    return (
        block.recall("kernel lengths", recipe.name, rows.square_norms) if block.kept else rows.square_norms()
    )
