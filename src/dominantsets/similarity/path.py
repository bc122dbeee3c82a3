"""Path-based (minimax) similarity, from a single-linkage tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from dominantsets._checks import check_choice, check_int
from dominantsets._typing import Floats, Ints
from dominantsets.compiled import tree as _tree
from dominantsets.rows.foreign import is_tensor
from dominantsets.similarity.base import Similarity, hashed
from dominantsets.similarity.dense import checked_distances
from dominantsets.similarity.located import Located, located
from dominantsets.similarity.search import Search
from dominantsets.similarity.single_linkage import tree_of_features, tree_of_graph, tree_of_matrix
from dominantsets.similarity.solving import Solving, solving_of

REACH = 5  # objects within which two must lie to be near each other, of distances and embeddings
SOME, NEAR = 2_000, 12  # objects whose nearest ones say how many dimensions there are, and how many of those


class Path(Similarity):
    r"""Similarity :math:`\max(D) - D_{ij}` with :math:`D_{ij}` the minimax distance of i and j.

    That is the smallest, over all paths from i to j, of the longest step; in a single-linkage tree it is
    the height at which i and j meet. So A is never formed: a column and a product with a vector are one
    walk over the tree, O(n). Objects of different components of a graph are never put together.

    The tree of features is exact up to 10 features, by a k-d tree, and up to 20,000 different objects, by
    looking at all pairs in O(n) memory; above both it is made from 15 nearest neighbours, says so in a
    warning, and ``tree.approximate`` is True. ``metric="precomputed"`` takes a matrix of distances, or a
    sparse graph of distances of which one direction of each edge is enough. With ``min_samples`` above 1 two
    objects are no nearer to each other than either is to its nearest so many, itself among them (mutual
    reachability): single objects then make no bridges. Equal objects stay at distance 0. New objects are
    reached through the object nearest to them.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(np.array([[0.0], [1.0], [2.0], [7.0]]), affinity="path")
    >>> S.toarray()[0]
    array([0., 4., 4., 0.])
    """

    costs_all_pairs = False

    def __init__(self, X: Any, *, metric: str = "euclidean", min_samples: int = 1) -> None:
        check_choice("metric", metric, ("euclidean", "precomputed"))
        check_int("min_samples", min_samples, at_least=1)
        self.min_samples = min_samples
        self.metric = metric
        self._features: Any = None
        self.search: Search | None = None
        self._near: Floats | None = None
        if metric == "euclidean":
            if sp.issparse(X):
                raise ValueError(
                    "affinity='path' needs dense features; for a sparse graph of distances pass "
                    "metric='precomputed'."
                )
            self._features = X
            self.search = Search(X, max(1, min(REACH + 1, X.shape[0] - 1)), "exact", None)
            self.tree = tree_of_features(X, min_samples)
        elif sp.issparse(X):
            if min_samples > 1:
                raise ValueError(f"min_samples={min_samples} needs features or a matrix, not a graph.")
            self.tree = tree_of_graph(_checked_graph(X))
        else:
            D = checked_distances(X)
            self.tree = tree_of_matrix(D, min_samples)
            some = np.linspace(0, len(D) - 1, min(len(D), SOME)).astype(np.int64)
            self._near = np.sort(np.asarray(D[some]), axis=1)[:, 1 : NEAR + 1]
        self.n, self.n_features = self.tree.n, X.shape[1]
        # Where all objects are equal every distance is 0; a positive constant makes them one cluster.
        self.top = float(self.tree.height.max(initial=0.0)) or 1.0
        self.offset = self.self_similarity = self.top
        self.bounded_by_self_similarity = True
        self.zero_means_unrelated, self.structure = False, "tree"
        self.components = self.tree.component if self.tree.n_components > 1 else None

    def solver(self, algorithm: str, shift: float, start: Any) -> str:
        # the exact solver takes no start: one that is given is honoured
        best = "exact" if isinstance(start, str) else "pairwise"
        return best if algorithm == "auto" else algorithm

    def fingerprint(self) -> str:
        tree = self.tree
        return hashed(self.metric, tree.left, tree.right, tree.height)

    def column(self, i: int) -> Floats:
        out, tree = np.zeros(self.n), self.tree
        _tree.fill_column(
            i, self.n, self.top, tree.left, tree.right, tree.height,
            tree.parent, tree.size, tree.start, tree.order, out,
        )  # fmt: skip
        return out

    def block(self, rows: Ints, cols: Ints) -> Floats:
        rows, cols = np.asarray(rows), np.asarray(cols)
        if cols.size > rows.size:
            return self.block(cols, rows).T
        out = np.empty((rows.size, cols.size))
        for k, i in enumerate(cols):
            out[:, k] = self.column(int(i))[rows]
        return out

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        tree = self.tree
        mass = np.zeros(self.n + tree.left.size)
        mass[support] = weights
        return _tree.multiply(self.n, self.top, tree.left, tree.right, tree.height, mass)

    def nearest_object(self, new: Any) -> tuple[Floats, Ints]:
        """The distance of new objects to the object nearest to them (inf where there is none), and which."""
        if self.search is None:
            return _nearest_of_distances(new)
        reach, nearest = self.search.kneighbors(new if is_tensor(new) else np.asarray(new))
        return reach[:, 0], nearest[:, 0]

    def near(self, objects: Ints) -> Floats | None:
        """Distances between some of these objects and their nearest others of them; None of a graph."""
        count = min(NEAR, objects.size - 1)
        if count < 1 or self._features is None:
            return self._near if count > 0 else None
        rows = np.asarray(self._features[objects])
        some = np.linspace(0, len(rows) - 1, min(len(rows), SOME)).astype(np.int64)
        return np.asarray(NearestNeighbors(n_neighbors=count + 1).fit(rows).kneighbors(rows[some])[0][:, 1:])

    def cross(self, new: Any, cols: Ints) -> Floats:
        """Similarities of new objects, each through the object nearest to it; -inf where there is no way."""
        cols = np.asarray(cols)
        reach, nearest = self.nearest_object(new)
        distances = self.top - self.block(nearest, cols)
        distances[np.equal.outer(nearest, cols)] = 0.0
        if self.components is not None:
            distances[np.not_equal.outer(self.components[nearest], self.components[cols])] = np.inf
        return np.asarray(self.top - np.maximum(distances, reach[:, None]))


class PathSolving(Solving):
    """By the single-linkage tree."""

    of: Path

    @property
    def all_sets_by(self) -> str:
        return "tree"

    def require_path(self) -> Path:
        return self.of


class PathPoints(Located):
    """The objects of a tree, of which there is no sample: its single linkage is another one."""

    def sample_limit(self, of_rows: int, of_matrix: int) -> int:
        return self.of.n


solving_of.register(Path, PathSolving)
located.register(Path, PathPoints)


def _checked_graph(G: Any) -> Any:
    """A sparse graph of distances: square, finite, not negative; one direction of an edge is enough."""
    if G.shape[0] != G.shape[1]:
        raise ValueError(f"a graph of distances must be square, got shape {G.shape}.")
    G = sp.csr_array(G, copy=True)
    G.sum_duplicates()
    if G.nnz and (not np.isfinite(G.data).all() or G.data.min() < 0):
        raise ValueError("the graph has NaN, infinite or negative distances; leave such edges out.")
    return G


def _nearest_of_distances(new: Any) -> tuple[Floats, Ints]:
    """Distance to and number of the nearest object, from rows of distances (sparse: stored ones)."""
    if not sp.issparse(new):
        new = np.asarray(new, dtype=np.float64)
        nearest = new.argmin(axis=1)
        return new[np.arange(len(new)), nearest], nearest
    new = sp.csr_array(new)
    reach, nearest = np.full(new.shape[0], np.inf), np.zeros(new.shape[0], dtype=np.int64)
    for row in range(new.shape[0]):
        part = slice(new.indptr[row], new.indptr[row + 1])
        if part.stop > part.start:
            k = int(new.data[part].argmin())
            reach[row], nearest[row] = new.data[part][k], new.indices[part][k]
    return reach, nearest
