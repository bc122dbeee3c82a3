"""The symmetrised graph of nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from dominantsets._checks import whole
from dominantsets.similarity.base import Floats, Ints
from dominantsets.similarity.graph import Graph


class Neighbors(Graph):
    r"""Similarity :math:`(c_{ij} + c_{ji}) / 2`, with c = 1 where j is one of the k nearest of i.

    So 1 for objects that are each other's neighbours, 1/2 for a neighbour in one direction. The default
    k is 15, or n - 1 where there are fewer objects.

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

    def __init__(self, X: Any, *, n_neighbors: int | None = None, n_jobs: int | None = None) -> None:
        n = X.shape[0]
        if n_neighbors is None:
            n_neighbors = max(1, min(15, n - 1))
        k = whole("n_neighbors", n_neighbors, at_least=1)
        if k >= n > 1:
            raise ValueError(
                f"n_neighbors={k} needs more than {k} objects, got {n}; pass a smaller n_neighbors."
            )
        self._search = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(X)
        if n == 1:
            graph = sp.csr_array((1, 1))
        else:
            graph = sp.csr_array(self._search.kneighbors_graph(mode="distance"))
        self._reach = graph.max(axis=1).toarray().ravel()
        graph.data[:] = 0.5
        super().__init__(graph + graph.T)
        self.n_features = X.shape[1]

    def cross(self, new: Any, cols: Ints) -> Floats:
        """As if the new object stood among the others, whose own neighbours stay as they are."""
        cols = np.asarray(cols)
        neighbors = self._search.kneighbors_graph(new)[:, cols].toarray()
        distances = pairwise_distances(new, self._search._fit_X[cols])
        return np.asarray(0.5 * (neighbors + (distances <= self._reach[cols])))
