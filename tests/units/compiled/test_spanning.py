"""Spanning trees against SciPy's, and what is joined against sets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.neighbors import KDTree

from dominantsets.compiled import spanning
from support import frozen


def lengths_of_the_tree(D):
    tree = minimum_spanning_tree(np.triu(D, 1))
    assert tree.nnz == len(D) - 1
    return np.sort(tree.data)


def cored(n, d, seed):
    """Rows, what they are squared apart at least, and the distances that result."""
    rng = np.random.default_rng(seed)
    X, cores = rng.normal(size=(n, d)), rng.random(n) * (seed % 2)
    D = np.sqrt(np.maximum(cdist(X, X, "sqeuclidean"), np.maximum.outer(cores, cores)))
    return X, cores, D


def assert_is_the_tree(u, v, w, D):
    np.testing.assert_allclose(np.sort(w), lengths_of_the_tree(D), rtol=1e-12)
    np.testing.assert_allclose(w, D[u, v], rtol=1e-12)
    graph = csr_array((np.ones(u.size), (u, v)), shape=D.shape)
    assert connected_components(graph, directed=False)[0] == 1


def grown(grow, data, cores, pieces=1):
    """A whole tree, made in some pieces."""
    n = len(data)
    edges = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    tree = spanning.Growing(np.full(n, np.inf), np.zeros(n, np.int64), np.arange(1, n), *edges)
    ends = [(n - 1) * k // pieces for k in range(pieces + 1)]
    for first, last in pairwise(ends):
        grow(data, cores, tree, first, last)
    return edges


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [2, 3, 14])
def test_all_pairs_give_scipys_tree(n, seed, pieces):
    X, cores, D = cored(n, 2, seed)
    assert_is_the_tree(*grown(spanning.grow_features, X, cores, pieces), D)
    assert_is_the_tree(*grown(spanning.grow_matrix, frozen(cdist(X, X)), np.sqrt(cores), pieces), D)


def test_squares_to_one_other_row_each():
    X, others = np.random.default_rng(0).normal(size=(9, 3)), np.array([3, 3, 0, 8, 4, 1, 1, 2, 5])
    np.testing.assert_allclose(spanning.squares_to(X, others), np.square(X - X[others]).sum(axis=1))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "leaf"), [(3, 1), (13, 2), (30, 4)])
def test_each_component_finds_its_shortest_edge_to_another(n, leaf, seed):
    X, cores, D = cored(n, 2, seed)
    _, order, nodes, bounds = KDTree(X, leaf_size=leaf).get_arrays()
    tree = spanning.Boxes(
        np.ascontiguousarray(order, dtype=np.int64),
        np.ascontiguousarray(nodes["idx_start"], dtype=np.int64),
        np.ascontiguousarray(nodes["idx_end"], dtype=np.int64),
        np.ascontiguousarray(bounds[0]),
        np.ascontiguousarray(bounds[1]),
    )
    rng = np.random.default_rng(seed)
    beside = (X[:, 0] > np.quantile(X[:, 0], 0.3)).astype(np.int64)  # whole subtrees are of one component
    strips = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.25, 0.5])).astype(np.int64)
    for owner in (np.arange(n), rng.integers(0, 3, n), beside, 1 - beside, strips, np.zeros(n, np.int64)):
        inside = spanning.components_of(tree, owner)
        for node in range(tree.first.size):
            mine = set(owner[tree.points[tree.first[node] : tree.last[node]]])
            assert inside[node] == (mine.pop() if len(mine) == 1 else -1)
        i, j, squares = np.full(n, -1), np.full(n, -1), np.full(n, np.inf)
        for begin, end in ((0, n // 2), (n // 2, n)):
            spanning.join_nearest(X, cores, tree, owner, inside, i, j, squares, begin, end)
        for c in range(n):
            mine = owner == c
            between = D[mine][:, ~mine]
            if between.size == 0:
                assert (i[c], j[c], squares[c]) == (-1, -1, np.inf)
                continue
            assert squares[c] == pytest.approx(between.min() ** 2, rel=1e-12)
            assert sorted([owner[i[c]] == c, owner[j[c]] == c]) == [False, True]
            assert D[i[c], j[c]] ** 2 == pytest.approx(squares[c], rel=1e-12)


def merged(sets, a, b):
    one, other = (next(s for s in sets if k in s) for k in (a, b))
    return [s for s in sets if s not in (one, other)] + [one | other], one, other


@pytest.mark.parametrize("seed", range(4))
def test_merges_are_those_of_sets(seed):
    n = 9
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    u, v, w = grown(spanning.grow_features, X, np.zeros(n))
    order = np.argsort(w)[: n - 1 - seed]  # a forest, where not all edges are given
    u, v = u[order], v[order]
    left, right = spanning.agglomerate(n, u, v)
    below = [frozenset([i]) for i in range(n)]
    sets = list(below)
    for k in range(u.size):
        sets, one, other = merged(sets, u[k], v[k])
        assert (below[left[k]], below[right[k]]) == (one, other)
        below.append(one | other)


@pytest.mark.parametrize("seed", range(4))
def test_edges_that_join_two_components(seed):
    rng = np.random.default_rng(seed)
    n, m = 12, 8
    owner = rng.integers(0, n, n)
    i, j = rng.integers(0, n, m), rng.integers(0, n, m)
    kept, new = spanning.unite(owner, i, j)
    sets = [frozenset([c]) for c in range(n)]
    for k in range(m):
        before = len(sets)
        sets, *_ = merged(sets, owner[i[k]], owner[j[k]])
        assert kept[k] == (len(sets) < before)
    where = {c: number for number, s in enumerate(sets) for c in s}
    expected = np.array([where[c] for c in owner])
    assert ((new[:, None] == new) == (expected[:, None] == expected)).all()
