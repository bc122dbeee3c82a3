"""Forests that are hung up and cut, against sets of objects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dominantsets.compiled.cuts import pure_nodes, root_forest, sized_cuts


def forest(n, seed, dropped):
    """Edges of a random forest, the longest first."""
    rng = np.random.default_rng(seed)
    v = np.array([rng.integers(0, k) for k in range(1, n)], dtype=np.int64)
    order = rng.permutation(n - 1)[: n - 1 - dropped]
    names = rng.permutation(n)
    return names[np.arange(1, n)[order]], names[v[order]], rng


def pieces_of(n, u, v, removed=()):
    keep = [e for e in range(u.size) if e not in removed]
    return connected_components(coo_array((np.ones(len(keep)), (u[keep], v[keep])), shape=(n, n)), False)[1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "dropped"), [(1, 0), (2, 0), (2, 1), (12, 0), (12, 3)])
def test_a_forest_that_is_hung_up(n, dropped, seed):
    u, v, _ = forest(n, seed, dropped)
    order, below, parent, edge = root_forest(n, u, v)
    assert sorted(order) == list(range(n))
    component = pieces_of(n, u, v)
    roots = np.flatnonzero(parent < 0)
    assert sorted(component[roots]) == sorted(set(component))
    for i in range(n):
        if parent[i] < 0:
            assert edge[i] == -1
            assert i == np.flatnonzero(component == component[i])[0]  # the first of its component
        else:
            assert {u[edge[i]], v[edge[i]]} == {i, parent[i]}
    place = np.argsort(order)
    for i in range(n):
        under = {i}
        for j in order[place[i] :]:
            if parent[j] in under:
                under.add(j)
        assert set(order[place[i] : place[i] + below[i]]) == under


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dropped", [0, 2])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
def test_the_longest_edge_that_leaves_enough_on_both_sides_again_and_again(share, dropped, seed):
    n, count = 13, 4
    u, v, rng = forest(n, seed, dropped)
    weights = rng.integers(1, 4, n).astype(float)
    lasting = np.sort(rng.permutation(u.size)[: u.size - 1])  # one edge is not asked about
    cuts, piece = sized_cuts(*root_forest(n, u, v), weights, lasting, count, share)
    removed = []
    for k in range(count):
        need = share * weights.sum() / (k + 1 + dropped + 1)
        for e in lasting:
            if e in removed:
                continue
            after = pieces_of(n, u, v, [*removed, e])
            sides = [weights[after == after[end]].sum() for end in (u[e], v[e])]
            if min(sides) >= need:
                removed.append(e)
                break
        else:
            break
    assert cuts.tolist() == removed
    expected = pieces_of(n, u, v, removed)
    assert ((piece[:, None] == piece) == (expected[:, None] == expected)).all()
    assert (expected[piece] == expected).all()  # named by one of its own


def test_nodes_with_one_label():
    left, right = np.array([0, 2, 4, 5]), np.array([1, 3, 6, 7])
    # nodes 5 = {0, 1}, 6 = {2, 3}, 7 = {4, 2, 3}, 8 = all
    assert pure_nodes(5, left, right, np.array([3, 3, 1, 1, 1])).tolist() == [3, 3, 1, 1, 1, 3, 1, 1, -1]
    assert pure_nodes(5, left, right, np.array([3, 1, 1, 1, 1])).tolist() == [3, 1, 1, 1, 1, -1, 1, 1, -1]
    assert pure_nodes(2, left[:1], right[:1], np.array([-1, 0])).tolist() == [-1, 0, -1]
