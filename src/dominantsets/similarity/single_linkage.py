"""Single-linkage trees in O(n) memory: of features, of a matrix of distances, of a sparse graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.neighbors import KDTree, NearestNeighbors

from dominantsets._checks import warn
from dominantsets._typing import Floats, Ints
from dominantsets.compiled import spanning as _spanning
from dominantsets.compiled import tree as _tree
from dominantsets.compiled.interrupts import check, listening
from dominantsets.compiled.threads import row_blocks

SMALL = 500  # objects up to which all pairs are visited in any case
KD_DIMENSIONS = 6  # features up to which a k-d tree is always faster than all pairs
KD_DIMENSIONS_LARGE = 10  # and up to which it is for many objects
PRIM_LIMIT = 20_000  # objects up to which all pairs are visited where it is not
NEIGHBORS = 15  # of the approximate tree above that
# Between two checks for Ctrl-C: objects searched for neighbours, objects of a k-d tree that look for others,
# and multiplications of all pairs.
PORTION, SEARCHED, WORK = 2_000, 10_000, 30_000_000

Edges = tuple[Ints, Ints, Floats]


@dataclass(frozen=True, eq=False)
class SingleLinkage:
    """A single-linkage tree (a forest where the graph is not connected).

    Merge k joins the nodes ``left[k]`` and ``right[k]`` at ``height[k]`` into node n + k; heights never
    fall. The leaves below a node are ``order[start[node]:start[node] + size[node]]``.

    Attributes
    ----------
    ends : tuple of two ndarrays
        The objects that the edges of the spanning tree join, by rising height.
    approximate : bool
        Whether heights may be too large, because only near neighbours were looked at.
    """

    n: int
    left: Ints
    right: Ints
    height: Floats
    parent: Ints
    size: Ints
    start: Ints
    order: Ints
    component: Ints
    ends: tuple[Ints, Ints]
    approximate: bool = False

    @classmethod
    def from_edges(cls, n: int, edges: Edges, approximate: bool = False) -> SingleLinkage:
        """The tree that the edges of a spanning forest make."""
        u, v, w = edges
        sequence = np.argsort(w, kind="stable")
        ends = u[sequence], v[sequence]
        left, right = _spanning.agglomerate(n, *ends)
        height = np.ascontiguousarray(w[sequence], dtype=np.float64)
        return cls(n, left, right, height, *_tree.lay_out(n, left, right), ends, approximate)

    @property
    def n_components(self) -> int:
        """Number of trees of the forest."""
        return self.n - self.left.size

    def leaves(self, node: int) -> Ints:
        """The objects below a node, in increasing order."""
        return np.sort(self.order[self.start[node] : self.start[node] + self.size[node]])

    def first_heights(self) -> Floats:
        """The height at which each object is joined to another one; inf for a tree of one object."""
        parent = self.parent[: self.n]
        return np.where(
            parent < 0, np.inf, np.append(self.height, np.inf)[np.maximum(parent, self.n) - self.n]
        )

    def linkage(self) -> Floats:
        """The tree in the form of ``scipy.cluster.hierarchy``; one component only."""
        if self.n_components > 1:
            raise ValueError(f"a linkage needs one tree, this forest has {self.n_components}.")
        return np.column_stack([self.left, self.right, self.height, self.size[self.n :]]).astype(float)


@listening()
def tree_of_features(X: Any, min_samples: int = 1) -> SingleLinkage:
    """Euclidean single linkage of feature rows; equal rows are merged first, at height 0.

    With ``min_samples`` above 1, two objects are no nearer than either is to its nearest so many objects,
    itself among them.
    """
    points, inverse = np.unique(np.asarray(X, dtype=np.float64), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    n, m = len(inverse), len(points)
    approximate = False
    if m == 1:
        edges: Edges = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    elif m > SMALL and points.shape[1] <= (KD_DIMENSIONS if m <= PRIM_LIMIT else KD_DIMENSIONS_LARGE):
        edges = boruvka(points, _cores(points, inverse, min_samples))
    elif m <= PRIM_LIMIT:
        edges = prim(points, _cores(points, inverse, min_samples))
    else:
        edges, approximate = _nearest_neighbor_edges(points, min_samples), True
        warn(
            f"{m:,} objects of {points.shape[1]} features: the single-linkage tree is approximate, made "
            f"from {NEIGHBORS} nearest neighbours; it is exact up to {PRIM_LIMIT:,} objects or "
            f"{KD_DIMENSIONS_LARGE} features."
        )
    return SingleLinkage.from_edges(n, _with_copies(edges, inverse, m), approximate)


def tree_of_matrix(D: Any, min_samples: int = 1) -> SingleLinkage:
    """Single linkage of a dense matrix of distances, read once and never copied (twice for min_samples)."""
    n = D.shape[0]
    if n == 1:
        return SingleLinkage.from_edges(1, (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)))
    cores = np.zeros(n)
    if min_samples > 1:
        count = min(min_samples, n) - 1
        for part in row_blocks(n, n):
            cores[part] = np.partition(np.asarray(D[part]), count, axis=1)[:, count]
    return SingleLinkage.from_edges(n, _grown(_spanning.grow_matrix, D, cores, 1))


def tree_of_graph(G: Any) -> SingleLinkage:
    """Single linkage of a sparse graph of distances; stored zeros are edges of length 0."""
    G = sp.coo_array(G)
    # SciPy drops edges of weight 0, and only the order of the weights matters: use their ranks.
    values, rank = np.unique(G.data, return_inverse=True)
    ranked = sp.csr_array((rank.reshape(-1) + 1.0, (G.row, G.col)), shape=G.shape)
    forest = _forest(ranked)
    weights = values[np.rint(forest.data).astype(np.int64) - 1].astype(np.float64)
    edges = (forest.row.astype(np.int64), forest.col.astype(np.int64), weights)
    return SingleLinkage.from_edges(G.shape[0], edges)


def _forest(graph: Any) -> Any:
    """The minimum spanning forest; SciPy 1.15 takes indices of 32 bits only."""
    if graph.nnz < np.iinfo(np.int32).max:
        places = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
        graph = sp.csr_array((graph.data, *places), shape=graph.shape)
    return minimum_spanning_tree(graph).tocoo()


def _cores(points: Floats, inverse: Ints, min_samples: int) -> Floats:
    """Squared distances of points within which so many objects lie, copies and the point itself included."""
    m, farthest = len(points), np.zeros(len(points), dtype=np.int64)
    if min_samples <= 1:
        return np.zeros(m)
    copies = np.bincount(inverse, minlength=m)
    count = min(min_samples, m)
    search = NearestNeighbors(n_neighbors=count).fit(points)
    for part in row_blocks(m, 1, PORTION):
        check()
        who = search.kneighbors(points[part], return_distance=False)
        enough = np.cumsum(copies[who], axis=1) >= min(min_samples, inverse.size)
        last = np.where(enough.any(axis=1), enough.argmax(axis=1), count - 1)
        farthest[part] = np.take_along_axis(who, last[:, None], axis=1)[:, 0]
    return _spanning.squares_to(points, farthest)


def prim(points: Floats, cores: Floats) -> Edges:
    """Exact Euclidean minimum spanning tree of points, by all pairs."""
    return _grown(_spanning.grow_features, points, cores, points.shape[1])


def _grown(grow: Callable[..., None], data: Any, cores: Floats, cost: int) -> Edges:
    """A tree that grows step by step, with checks for Ctrl-C; a pair costs so many multiplications."""
    n = data.shape[0]
    best, source, left = np.full(n, np.inf), np.zeros(n, dtype=np.int64), np.arange(1, n)
    edges = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64), np.empty(n - 1)
    tree, step = _spanning.Growing(best, source, left, *edges), 0
    while step < n - 1:
        check()
        last = min(n - 1, step + 1 + WORK // (cost * (n - step)))
        grow(data, cores, tree, step, last)
        step = last
    return edges


def boruvka(points: Floats, cores: Floats) -> Edges:
    """Exact Euclidean minimum spanning tree of distinct points of few dimensions, by a k-d tree."""
    _, order, nodes, bounds = KDTree(points, leaf_size=16).get_arrays()
    boxes = _spanning.Boxes(
        np.ascontiguousarray(order, dtype=np.int64),
        np.ascontiguousarray(nodes["idx_start"], dtype=np.int64),
        np.ascontiguousarray(nodes["idx_end"], dtype=np.int64),
        np.ascontiguousarray(bounds[0]),
        np.ascontiguousarray(bounds[1]),
    )
    n = len(points)
    owner = np.arange(n)
    found: list[Edges] = []
    n_components = n
    while n_components > 1:
        inside = _spanning.components_of(boxes, owner)
        i, j = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
        squares = np.full(n, np.inf)
        for part in row_blocks(n, 1, SEARCHED):
            check()
            best = (i, j, squares)
            _spanning.join_nearest(points, cores, boxes, owner, inside, *best, part.start, part.stop)
        chosen = np.flatnonzero(i >= 0)
        chosen = chosen[np.argsort(squares[chosen], kind="stable")]
        i, j, squares = i[chosen], j[chosen], squares[chosen]
        kept, owner = _spanning.unite(owner, i, j)
        found.append((i[kept], j[kept], np.sqrt(squares[kept])))
        n_components -= int(kept.sum())
    u, v, w = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return u, v, w


def _with_copies(edges: Edges, inverse: Ints, m: int) -> Edges:
    """Edges between the first objects of equal rows, and edges of length 0 to their copies."""
    n = inverse.size
    sequence = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[sequence], np.arange(m))
    original = sequence[starts]
    copy = np.ones(n, dtype=bool)
    copy[original] = False
    copies = np.flatnonzero(copy)
    u, v, w = edges
    return (
        np.concatenate([original[inverse[copies]], original[u]]),
        np.concatenate([copies, original[v]]),
        np.concatenate([np.zeros(copies.size), w]),
    )


def _nearest_neighbor_edges(points: Floats, min_samples: int) -> Edges:
    """A spanning tree over near neighbours; what they leave apart is joined by near pairs."""
    n = len(points)
    search = NearestNeighbors(n_neighbors=NEIGHBORS + 1).fit(points)  # points are distinct: itself is first
    distances, neighbors = np.empty((n, NEIGHBORS)), np.empty((n, NEIGHBORS), dtype=np.int64)
    for part in row_blocks(n, 1, PORTION):
        check()
        near, who = search.kneighbors(points[part])
        distances[part], neighbors[part] = near[:, 1:], who[:, 1:]
    cores = np.zeros(n) if min_samples < 2 else distances[:, min(min_samples, NEIGHBORS) - 2]
    distances = np.maximum(distances, np.maximum(cores[:, None], cores[neighbors]))
    rows = np.repeat(np.arange(n), NEIGHBORS)
    graph = sp.csr_array((distances.ravel(), (rows, neighbors.ravel())), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    edges = _forest(graph)
    u, v = edges.row.astype(np.int64), edges.col.astype(np.int64)
    if count == 1:
        return u, v, edges.data
    # What neighbours leave apart is joined through a few objects of each part, all pairs of them.
    few = max(1, PRIM_LIMIT // count)
    by_part = np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1])
    chosen = np.concatenate([part[:: -(-part.size // few)] for part in by_part])
    i, j, w = prim(points[chosen], cores[chosen] ** 2)
    sequence = np.argsort(w, kind="stable")
    i, j, w = chosen[i[sequence]], chosen[j[sequence]], w[sequence]
    kept, _ = _spanning.unite(label.astype(np.int64), i, j)
    return (
        np.concatenate([u, i[kept]]),
        np.concatenate([v, j[kept]]),
        np.concatenate([edges.data, w[kept]]),
    )
