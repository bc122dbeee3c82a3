"""The symmetrised graph of nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from dominantsets._checks import check_choice, check_int, missing_extra
from dominantsets._typing import Floats, Ints
from dominantsets.similarity.graph import Graph

EXACT_LIMIT = 100_000  # objects up to which "auto" searches exactly
FEW_FEATURES = 10  # features up to which a tree makes the exact search fast for any number of objects
PROBES = 24  # lists looked at, of the root of n, in the approximate search: benchmarks/neighbors.py
TRAINING = 50  # objects for each list from which the lists' centres are found
SLACK = 1e-6  # distances of the approximate search are in float32


class Neighbors(Graph):
    r"""Similarity :math:`(c_{ij} + c_{ji}) / 2`, with c = 1 where j is one of the k nearest of i.

    So 1 for objects that are each other's neighbours, 1/2 for a neighbour in one direction. The default
    k is 15, or n - 1 where there are fewer objects. ``search`` is "exact" (scikit-learn), "approximate"
    (faiss, an extra: inverted lists, which give the same graph in every run) or "auto": exact up to 100,000
    objects or 10 features, and for sparse features.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(np.array([[0.0], [1.0], [3.0]]), "nearest_neighbors", n_neighbors=1)
    >>> S.toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """

    is_network = False

    def __init__(
        self,
        X: Any,
        *,
        n_neighbors: int | None = None,
        n_jobs: int | None = None,
        search: str = "auto",
    ) -> None:
        n, d = X.shape
        if n_neighbors is None:
            n_neighbors = max(1, min(15, n - 1))
        k = check_int("n_neighbors", n_neighbors, at_least=1)
        if k >= n > 1:
            raise ValueError(
                f"n_neighbors={k} needs more than {k} objects, got {n}; pass a smaller n_neighbors."
            )
        few = n <= EXACT_LIMIT or d <= FEW_FEATURES or sp.issparse(X)
        if check_choice("search", search, ("auto", "exact", "approximate")) == "auto":
            search = "exact" if few else "approximate"
        self._slack = 0.0 if search == "exact" else SLACK
        self._X, self._asked = X, (search, k, n_jobs)
        self._made: Any = None
        if n == 1:
            graph = sp.csr_array((1, 1))
        else:
            graph = sp.csr_array(self._search.kneighbors_graph(mode="distance"))
        self._reach = graph.max(axis=1).toarray().ravel()
        graph.data[:] = 0.5
        super().__init__(graph + graph.T)
        self.n_features = d

    @property
    def _search(self) -> Any:
        """The index of the objects, made when first asked for: files hold the features only once."""
        if self._made is None:
            search, k, n_jobs = self._asked
            exact = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs)
            self._made = exact.fit(self._X) if search == "exact" else _Lists(self._X, k, n_jobs)
        return self._made

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": None}

    def neighbors_of(self, new: Any) -> sp.csr_array:
        """Which objects are the nearest of new ones: one row of ones and zeros per new object."""
        return sp.csr_array(self._search.kneighbors_graph(new))

    def cross(self, new: Any, cols: Ints) -> Floats:
        """Similarities as if each new object were among the others, with their neighbours unchanged."""
        cols = np.asarray(cols)
        neighbors = self._search.kneighbors_graph(new)[:, cols].toarray()
        distances = pairwise_distances(new, self._X[cols])
        return np.asarray(0.5 * (neighbors + (distances <= self._reach[cols] * (1.0 + self._slack))))


class _Lists:
    """Approximate search by inverted lists, with the two methods used of scikit-learn's search."""

    def __init__(self, X: Any, k: int, n_jobs: int | None) -> None:
        if sp.issparse(X):
            raise ValueError("search='approximate' needs dense features; use search='exact' for sparse ones.")
        try:
            import faiss
        except ModuleNotFoundError as error:
            need = f"a search of {X.shape[0]:,} objects in {X.shape[1]} dimensions that is not exact needs"
            raise missing_extra(need, "neighbors", "faiss") from error
        self._fit_X = X
        self._k = k
        self._center = X.mean(axis=0, dtype=np.float64)  # float32 keeps more digits near 0
        faiss.omp_set_num_threads(effective_n_jobs(n_jobs))
        rows, d = self._rows(X), X.shape[1]
        lists = max(1, int(np.sqrt(len(rows))))
        self._index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, lists)
        self._index.cp.max_points_per_centroid = TRAINING
        self._index.cp.min_points_per_centroid = 1
        self._index.train(rows)
        self._index.add(rows)
        self._index.nprobe = min(PROBES, lists)

    def _rows(self, X: Any) -> Any:
        return np.ascontiguousarray(X - self._center, dtype=np.float32)

    def kneighbors_graph(self, X: Any = None, mode: str = "connectivity") -> sp.csr_array:
        """The k nearest of each row; of the objects themselves, without themselves, where X is None."""
        alone = X is None
        rows = self._rows(self._fit_X if alone else X)
        squares, nearest = self._index.search(rows, self._k + alone)
        keep = nearest >= 0  # fewer where the lists looked at hold fewer
        if alone:
            keep &= nearest != np.arange(len(rows))[:, None]
            keep &= keep.cumsum(axis=1) <= self._k
        starts = np.concatenate([[0], keep.sum(axis=1).cumsum()])
        values = np.sqrt(np.maximum(squares[keep], 0.0)) if mode == "distance" else np.ones(starts[-1])
        shape = (len(rows), self._index.ntotal)
        return sp.csr_array((values.astype(np.float64), nearest[keep], starts), shape=shape)
