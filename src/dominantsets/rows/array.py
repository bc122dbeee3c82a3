"""Feature rows in memory, dense or sparse, with an implied centre and an implied scale for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled import passes
from dominantsets.compiled import rows as compiled_rows
from dominantsets.compiled.threads import GRAIN, parallel_map, row_blocks, thread_slices

# Rows are converted to float64 and centred a block at a time; a block should stay in the cache.
PIECE_BYTES = 2**20
# Columns up to which our own threads multiply as fast as BLAS; two pools of threads slow each other down.
NARROW = 48
_NOTHING, _EVERYBODY = np.empty(0), np.empty(0, dtype=bool)


class ArrayRows:
    r"""The rows :math:`s_i (x_i - \mu)` of a feature matrix, never formed as a whole where avoidable.

    float64 arrays in memory are centred once, in a copy (unless ``copy=False``). For float32 arrays, memmaps
    and sparse rows the centre enters as a correction, in float64: a centred float32 copy would round the data
    differently from the memmap, and sparse rows must stay sparse.
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
        alive: Flags = _EVERYBODY,
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
        if self.pending is not None and other.pending is not None:
            mu = self.pending
            out += mu @ mu - (P @ mu)[:, None] - (Q @ mu)[None, :]
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


def mean_row(X: Any) -> Floats:
    """The mean of the rows in float64, without a float64 copy of X."""
    if sp.issparse(X):
        return np.asarray(X.T @ np.ones(X.shape[0]) / X.shape[0])
    return np.asarray(X.mean(axis=0, dtype=np.float64))
