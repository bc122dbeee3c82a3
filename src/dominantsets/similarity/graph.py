"""A precomputed sparse matrix: a weighted graph, absent edges are similarity 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import warn
from dominantsets._typing import Floats, Ints
from dominantsets.compiled import matrices as _arrays
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.dense import SYMMETRY_TOLERANCE


class Graph(Similarity):
    """A similarity stored as a CSR matrix.

    ``column`` and ``gradient`` touch the stored edges only, apart from the vector of length n that
    they return.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> S.degrees()
    array([1., 1.])
    """

    is_sparse = True

    def __init__(self, A: Any) -> None:
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(
                f"a precomputed graph must be square, got shape {A.shape}; if it holds sparse features, "
                "choose affinity='cosine', 'linear' or 'sqeuclidean'."
            )
        if A.shape[0] == 0:
            raise ValueError("a similarity of 0 objects has nothing to cluster.")
        self._A = _laid_out(sp.csr_array(A))
        self.n = self.n_features = self._A.shape[0]
        _check_values(self._A)

    @property
    def matrix(self) -> sp.csr_array:
        """The stored matrix."""
        return self._A

    def largest(self) -> float:
        return float(self._A.data.max(initial=0.0))

    def block(self, rows: Ints, cols: Ints) -> Floats:
        cols = np.asarray(cols)
        order = np.argsort(cols, kind="stable")
        out = np.zeros((len(rows), cols.size))
        A = self._A
        _arrays.pick(A.indptr, A.indices, A.data, np.asarray(rows), cols[order], order, out)
        return out

    def cross(self, new: Any, cols: Ints) -> Floats:
        new = sp.csr_array(new)[:, cols].toarray()
        return np.asarray(new, dtype=np.float64)

    def column(self, i: int) -> Floats:
        return self.gradient(np.array([i]), np.ones(1))

    def entry(self, i: int, j: int) -> float:
        return float(self._A[i, j])

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        out = np.zeros(self.n)
        A = self._A
        _arrays.add_sparse_rows(A.indptr, A.indices, A.data, support, weights, out)
        return out

    def sparse_gradient(self, support: Ints, weights: Floats) -> tuple[Ints, Floats]:
        A = self._A
        return _arrays.merge_sparse_rows(A.indptr, A.indices, A.data, support, weights)


def _laid_out(A: Any) -> Any:
    """CSR in float32 or float64 with sorted, unique indices and an empty diagonal."""
    if np.iscomplexobj(A.data):
        raise ValueError("the graph is complex; similarities must be real numbers.")
    wanted = np.float32 if A.dtype in (np.float16, np.float32) else np.float64
    if A.dtype != wanted:
        A = A.astype(wanted)
    if not A.has_canonical_format:
        A = A.copy()  # the caller's matrix stays as it is
        A.sum_duplicates()
    diagonal = A.diagonal()
    n_self = np.count_nonzero(diagonal)
    if n_self:
        warn(
            f"{n_self} of {A.shape[0]} diagonal entries of the graph are not zero; "
            "they are taken as zero (an object is not its own neighbour)."
        )
        A = A - sp.dia_array((diagonal[None, :], [0]), shape=A.shape).tocsr()
        A.eliminate_zeros()
    return A


def _check_values(A: Any) -> None:
    if not np.isfinite(A.data).all():
        raise ValueError(
            f"the graph has {np.count_nonzero(~np.isfinite(A.data))} NaN or infinite weights; "
            "leave out edges that are not known."
        )
    if A.nnz and A.data.min() < 0:
        raise ValueError(f"the graph has negative weights, down to {A.data.min():.6g}.")
    difference = abs(A - A.T)
    apart = difference.max() if difference.nnz else 0.0
    tolerance = SYMMETRY_TOLERANCE[A.dtype]
    if apart > tolerance * (A.data.max() if A.nnz else 0.0):
        raise ValueError(
            f"the graph is not symmetric: weights of opposite edges differ by up to {apart:.6g}, more "
            f"than {tolerance:g} of the largest; symmetrise it with (A + A.T) / 2 or A.maximum(A.T)."
        )
    if A.shape[0] > 1 and (A.nnz == 0 or A.data.max() == 0):
        raise ValueError("all similarities are zero, so there is nothing to cluster.")
