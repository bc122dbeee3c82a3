"""A precomputed sparse matrix: a weighted graph, absent edges are similarity 0."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import warn
from dominantsets._typing import Floats, Ints
from dominantsets.compiled import matrices as _arrays
from dominantsets.similarity.base import Similarity, hashed
from dominantsets.similarity.dense import SYMMETRY_TOLERANCE
from dominantsets.similarity.solving import alike_to_copies

LARGE = 2_000  # objects from which the working set is the faster solver: benchmarks/crossover.py


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
    structure = "network"
    costs_all_pairs = False

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

    def solver(self, algorithm: str, shift: float, start: Any) -> str:
        return (
            "working-set"
            if algorithm == "auto" and self.n >= LARGE
            else super().solver(algorithm, shift, start)
        )

    def fingerprint(self) -> str:
        return hashed(self._A.data, self._A.indices, self._A.indptr)

    @property
    def matrix(self) -> sp.csr_array:
        """The stored matrix."""
        return self._A

    @cached_property
    def _largest(self) -> float:
        return float(self._A.data.max(initial=0.0))

    def largest(self) -> float:
        return self._largest

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

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        out = np.zeros(self.n)
        A = self._A
        _arrays.add_sparse_rows(A.indptr, A.indices, A.data, support, weights, out)
        return out

    def sparse_gradient(self, support: Ints, weights: Floats) -> tuple[Ints, Floats]:
        A = self._A
        return _arrays.merge_sparse_rows(A.indptr, A.indices, A.data, support, weights)


@alike_to_copies.register(Graph)
def _alike_to_copies(similarity: Graph, objects: Ints) -> Floats:
    """Nothing: copies of an object have its edges, and none between them."""
    return np.zeros(len(objects))


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
    diagonal, data = A.diagonal(), A.data
    n_self = int(np.count_nonzero(diagonal))
    bad = int(np.count_nonzero(~np.isfinite(data)))
    check_graph(GraphSurvey(A.shape[0], bad, float(data.min(initial=0.0)), n_self))
    if n_self:
        A = A - sp.dia_array((diagonal[None, :], [0]), shape=A.shape).tocsr()
        A.eliminate_zeros()
    return A


class GraphSurvey(NamedTuple):
    """What the checks of a graph need: its objects, weights that are not finite, the least one, loops."""

    n: int
    not_finite: int
    least: float
    n_self: int


def check_graph(seen: GraphSurvey) -> None:
    """Refuse weights that are no similarities, and warn of loops, which are left out."""
    if seen.not_finite:
        raise ValueError(
            f"the graph has {seen.not_finite} NaN or infinite weights; leave out edges that are not known."
        )
    if seen.least < 0:
        raise ValueError(f"the graph has negative weights, down to {seen.least:.6g}.")
    if seen.n_self:
        warn(
            f"{seen.n_self} of {seen.n} diagonal entries of the graph are not zero; "
            "they are taken as zero (an object is not its own neighbour)."
        )


def not_symmetric(how_far: str) -> ValueError:
    """The error for a graph with opposite edges that differ."""
    return ValueError(
        f"the graph is not symmetric: weights of opposite edges differ by {how_far}; symmetrise it with "
        "(A + A.T) / 2 or A.maximum(A.T), or take it as it is with solve_asymmetric."
    )


def require_similar(n: int, most: float) -> None:
    """Refuse a graph without a similarity."""
    if n > 1 and most == 0:
        raise ValueError("all similarities are zero, so there is nothing to cluster.")


def _check_values(A: Any) -> None:
    difference = abs(A - A.T)
    apart = difference.max() if difference.nnz else 0.0
    most = float(A.data.max(initial=0.0))
    tolerance = SYMMETRY_TOLERANCE[A.dtype]
    if apart > tolerance * most:
        raise not_symmetric(f"up to {apart:.6g}, more than {tolerance:g} of the largest")
    require_similar(A.shape[0], most)
