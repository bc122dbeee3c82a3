"""Similarity by where random walks on the graph of nearest neighbours lead."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from dominantsets._checks import check_choice, check_int
from dominantsets._typing import Floats, Ints
from dominantsets.compiled import spanning
from dominantsets.compiled.threads import parallel_map, row_blocks, thread_slices
from dominantsets.rows.foreign import is_tensor
from dominantsets.rows.memory import InMemory
from dominantsets.similarity.formulas import COSINE
from dominantsets.similarity.located import Coordinates, located, of_rows
from dominantsets.similarity.low_rank import LowRank, LowRankPoints
from dominantsets.similarity.neighbors import Neighbors, rows_of
from dominantsets.similarity.single_linkage import prim
from dominantsets.similarity.spectrum import normalised, slowest, slowest_by_gap

UNIT = 7  # the neighbour whose distance is an object's unit of length
WEAK = 1e-3  # the weight of an edge that joins pieces of the graph
JOINED = 4_000  # objects among which those edges are looked for
AXES = 50  # of the cloud without groups with which data are compared
FAINT = 0.1  # eigenvalues below which a new object's coordinate is not scaled up


class Diffusion(LowRank):
    r"""Cosine of diffusion coordinates, plus 1.

    Neighbours i and j of the graph of the k nearest (10) have the weight
    :math:`w_{ij} = \exp(-d_{ij}^2 / (s_i s_j))`, with :math:`s_i` the distance of i from its 7th neighbour
    (Zelnik-Manor and Perona's local scaling). Pieces of the graph are joined by a spanning tree of edges of
    weight 0.001, so that the walk P on it has one eigenvalue 1. With
    :math:`P \psi_l = \lambda_l \psi_l`, :math:`1 = \lambda_0 > \lambda_1 \ge \dots`, an object i has the
    coordinates :math:`\psi_0(i), \dots, \psi_{m-1}(i)`. K groups that walks seldom leave are K nearly
    orthogonal directions of the first K coordinates, whatever their shapes: for images, embeddings and
    other data on curved surfaces.

    ``n_components`` is m. By default it is the number of clusters where an estimator was given one, else what
    the largest gap of the eigenvalues says (:func:`dominantsets.similarity.spectrum.slowest_by_gap`); m = 1
    means that no group stands out, and all objects are alike. ``metric="cosine"``: neighbours are those of
    about the same direction, as words have it. New objects get the mean of their neighbours'
    coordinates with the weights that they would have in the graph, divided by :math:`\lambda_l`.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> X = np.repeat([[0.0], [100.0]], 20, axis=0) + np.tile(np.arange(20.0), 2)[:, None]
    >>> S = as_similarity(X, "diffusion", n_neighbors=6, n_components=2)
    >>> S.column(0)[[19, 20]].round(2)  # of one group, of two
    array([2., 1.])
    """

    n_groups: int | None = None  # how many the gap of the eigenvalues tells of

    def __init__(
        self,
        X: Any,
        *,
        n_neighbors: int | None = None,
        n_components: int | None = None,
        n_jobs: int | None = None,
        search: str = "auto",
        metric: str = "euclidean",
    ) -> None:
        n, d = X.shape
        self.directions = check_choice("metric", metric, ("euclidean", "cosine")) == "cosine"
        X = normalize(X) if self.directions else X
        if n_components is not None:
            n_components = min(check_int("n_components", n_components, at_least=1), n)
        if n_neighbors is None:
            n_neighbors = max(1, min(10, n - 1))

        def neighbors(rows: Any) -> Neighbors:
            return Neighbors(rows, n_neighbors=n_neighbors, n_jobs=n_jobs, search=search)

        self._X, self.graph = X, neighbors(X)
        W, self._units = walk_graph(X, self.graph.matrix)
        N, roots = normalised(W)
        if n_components is not None:
            values, vectors = slowest(N, n_components, d)
        elif n < 20:  # a gap among so few is chance
            values, vectors = slowest(N, 1, d)
        else:
            cloud = _one_cloud(X)
            null, _ = normalised(walk_graph(cloud, neighbors(cloud).matrix)[0])
            one = 1.0 - float(slowest(null, 2, cloud.shape[1])[0][1])
            values, vectors = slowest_by_gap(N, d, one)
            self.n_groups = values.size
        self._psi = vectors / roots[:, None] * np.linalg.norm(roots)
        self._back = 1.0 / np.maximum(values, FAINT)
        super().__init__(InMemory(self._psi), COSINE)
        self.n_features = d

    def prepared(self, new: Any) -> Any:
        """New rows as the search for neighbors takes them."""
        return normalize(new) if self.directions else new

    def moved(self, new: Any) -> Floats:
        new = self.prepared(new)
        distances, nearest = self.graph.search.kneighbors(new)
        if is_tensor(new):
            squares = np.square(distances)  # found from differences
        else:
            squares = _squares(new, self._X, rows_of(nearest, self.n, 1.0)).reshape(nearest.shape)
        places = np.empty((len(nearest), self._psi.shape[1]))
        parallel_map(
            lambda part: self._put(squares[part], nearest[part], places[part]), thread_slices(len(places))
        )
        return places

    def _put(self, squares: Floats, nearest: Ints, places: Floats) -> None:
        """Fill in the places of new objects from the squared distances of their neighbours."""
        copies, k = squares == 0.0, nearest.shape[1]
        place = np.minimum(np.maximum(UNIT - 1, copies.sum(axis=1)), k - 1)
        units = np.take_along_axis(np.sort(squares, axis=1), place[:, None], axis=1)
        units = np.sqrt(np.where(units > 0.0, units, 1.0))
        weights = np.exp(-squares / (units * self._units[nearest]))
        total = weights.sum(axis=1, keepdims=True)
        lone = total[:, 0] < 1e-300  # far from everything: its neighbours count alike
        weights[lone], total[lone] = 1.0, k
        W = rows_of(nearest, self.n, 1.0)
        W.data[:] = weights.ravel()
        places[:] = (W @ self._psi) / total * self._back
        there = np.flatnonzero(copies.any(axis=1))  # the lowest number, of several originals
        places[there] = self._psi[np.where(copies[there], nearest[there], self.n).min(axis=1)]


class DiffusionPoints(LowRankPoints):
    """Directions of the spectral embedding."""

    of: Diffusion
    has_clouds = False

    @property
    def n_groups(self) -> int | None:
        return self.of.n_groups

    def coordinates(self, objects: Ints) -> Coordinates:
        """On as many axes as there are components: many groups have no few principal ones."""
        assert self.of.self_similarity is not None
        return of_rows(np.sqrt(0.5) * self.of.rows_of(objects), self.of.self_similarity, self.of.rows.d)


located.register(Diffusion, DiffusionPoints)


def walk_graph(X: Any, near: sp.csr_array) -> tuple[sp.csr_array, Floats]:
    """The graph of neighbours with its weights, in one piece, and each object's unit of length."""
    squares = _squares(X, X, near)
    units = _units(squares, near)
    weights = _weights(squares, units, units, near)
    W = sp.csr_array((weights, near.indices, near.indptr), shape=near.shape, copy=True)
    W.eliminate_zeros()
    return W + _ties(X, W), units


def _ties(X: Any, W: sp.csr_array) -> sp.csr_array:
    """Weak edges between the pieces of a graph: the shortest that make it one."""
    n = W.shape[0]
    count, piece = connected_components(W, directed=False)
    if count == 1:
        return sp.csr_array((n, n))
    # all objects of small pieces, of large ones those spread evenly over the order of their degrees
    few = max(1, JOINED // count)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    by_piece = np.split(np.lexsort((degrees, piece)), np.cumsum(np.bincount(piece))[:-1])
    some = np.concatenate([part[:: -(-part.size // few)] for part in by_piece])
    rows = X[some]
    rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
    i, j, lengths = prim(np.ascontiguousarray(rows), np.zeros(some.size))
    order = np.argsort(lengths, kind="stable")
    i, j = some[i[order]], some[j[order]]
    kept, _ = spanning.unite(piece.astype(np.int64), i, j)
    ends = (np.concatenate([i[kept], j[kept]]), np.concatenate([j[kept], i[kept]]))
    return sp.csr_array((np.full(ends[0].size, WEAK), ends), shape=(n, n))


def _one_cloud(X: Any) -> Floats:
    """As many normally distributed objects, with the variances of X along its longest axes.

    How the axes lie means nothing to distances.
    """
    n, d = X.shape
    centred = X if sp.issparse(X) else X - X.mean(axis=0, dtype=np.float64)
    if min(n, d) <= 2 * AXES and not sp.issparse(X):
        lengths = np.linalg.svd(centred, compute_uv=False)[:AXES]
    else:
        lengths = randomized_svd(centred, min(AXES, n, d), random_state=0)[1]
    lengths = lengths[lengths > 1e-9 * lengths.max(initial=0.0)]
    if not lengths.size:
        return np.zeros((n, 1))
    return np.asarray(np.random.RandomState(0).normal(size=(n, lengths.size)) * lengths)


def _heads(near: sp.csr_array) -> Ints:
    return np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))


def _squares(left: Any, right: Any, near: sp.csr_array) -> Floats:
    """Squared distances along the edges of a graph from rows to rows."""
    heads = _heads(near)
    out = np.empty(heads.size)
    for some in row_blocks(heads.size, 24 * left.shape[1]):
        apart = left[heads[some]].astype(np.float64) - right[near.indices[some]].astype(np.float64)
        square = apart.multiply(apart) if sp.issparse(apart) else np.square(apart)
        out[some] = np.asarray(square.sum(axis=1)).ravel()
    return out


def _units(squares: Floats, near: sp.csr_array) -> Floats:
    """The distance from the 7th nearest of each object; the least that is not 0 where that is 0."""
    heads, lengths = _heads(near), np.diff(near.indptr)
    rising = squares[np.lexsort((squares, heads))]
    copies = np.bincount(heads[squares == 0.0], minlength=lengths.size)
    place = near.indptr[:-1] + np.minimum(np.maximum(UNIT - 1, copies), lengths - 1)
    found = rising[place] if rising.size else np.zeros(lengths.size)
    return np.sqrt(np.where(found > 0.0, found, 1.0))


def _weights(squares: Floats, mine: Floats, theirs: Floats, near: sp.csr_array) -> Floats:
    heads = _heads(near)
    return np.asarray(np.exp(-squares / (mine[heads] * theirs[near.indices])))
