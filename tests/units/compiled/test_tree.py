"""Passes over single-linkage trees against sets of leaves and dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets.compiled import spanning, tree


def forest(n, seed, dropped=0, ties=False):
    """A random forest: left, right, heights, and the leaves below each node."""
    rng = np.random.default_rng(seed)
    u = np.arange(1, n)
    v = np.array([rng.integers(0, k) for k in u], dtype=np.int64)
    keep = np.sort(rng.permutation(n - 1)[: n - 1 - dropped])
    order = rng.permutation(keep)
    left, right = spanning.agglomerate(n, u[order], v[order])
    height = np.sort(rng.integers(1, 4, left.size).astype(float) if ties else rng.random(left.size))
    below = [frozenset([i]) for i in range(n)]
    for a, b in zip(left, right, strict=True):
        below.append(below[a] | below[b])
    return left, right, height, below


def similarity(n, top, left, right, height, below):
    """top - height of the merge at which two leaves meet; 0 where they never do, and on the diagonal."""
    A = np.zeros((n, n))
    for a, b, h in zip(left, right, height, strict=True):
        for i in below[a]:
            for j in below[b]:
                A[i, j] = A[j, i] = top - h
    return A


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "dropped"), [(2, 0), (11, 0), (11, 3), (5, 4)])
def test_a_layout_makes_every_node_a_range(n, dropped, seed):
    left, right, _, below = forest(n, seed, dropped)
    parent, size, start, order, root = tree.lay_out(n, left, right)
    assert sorted(order) == list(range(n))
    for node, leaves in enumerate(below):
        assert size[node] == len(leaves)
        assert set(order[start[node] : start[node] + size[node]]) == leaves
        up = [n + k for k in range(left.size) if node in (left[k], right[k])]
        assert parent[node] == (up[0] if up else -1)
    tops = [leaves for node, leaves in enumerate(below) if parent[node] < 0]
    assert sorted(set(root)) == list(range(len(tops)))
    for leaves in tops:
        assert len({root[i] for i in leaves}) == 1
    sequence = tree.postorder(n, left, right, parent)
    assert sorted(sequence) == list(range(left.size))
    for place, k in enumerate(sequence):  # the merges of its subtree come right before it
        count = len(below[n + k]) - 1
        inside = {m for m in range(left.size) if below[n + m] <= below[n + k]}
        assert set(sequence[place - count + 1 : place + 1]) == inside


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dropped", [0, 3])
def test_columns_and_products_are_those_of_the_dense_matrix(dropped, seed):
    n, top = 10, 2.0
    left, right, height, below = forest(n, seed, dropped)
    A = similarity(n, top, left, right, height, below)
    parent, size, start, order, _ = tree.lay_out(n, left, right)
    for i in range(n):
        out = np.zeros(n)
        tree.fill_column(i, n, top, left, right, height, parent, size, start, order, out)
        np.testing.assert_array_equal(out, A[i])
    mass = np.zeros(n + left.size)
    mass[:n] = np.random.default_rng(seed).normal(size=n)
    expected = A @ mass[:n]
    np.testing.assert_allclose(tree.multiply(n, top, left, right, height, mass), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_payoffs_within_each_maximum(seed):
    """Members of different maxima do not see each other; objects of none are passed by."""
    n, top = 12, 2.0
    rng = np.random.default_rng(seed)
    left, right, height, below = forest(n, seed)
    A = similarity(n, top, left, right, height, below)
    member, weight = np.full(n, -1), np.zeros(n)
    nodes = [k for k in rng.permutation(range(n, n + left.size - 1)) if len(below[k]) < n]
    for node in nodes[:4]:
        some = [i for i in below[node] if member[i] < 0 and rng.random() < 0.8]
        if any(member[i] >= 0 for i in below[node]):
            continue  # sets of a tree are nested or disjoint: these are disjoint
        member[some], weight[some] = node, rng.random(len(some)) + 0.1
    assert (weight > 0).any()
    found = tree.inner_payoffs(n, top, left, right, height, weight, member)
    together = (member[:, None] == member) & (member >= 0)[:, None]
    expected = (A * together) @ weight
    inside = weight > 0
    np.testing.assert_allclose(found[inside], expected[inside], atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ties", [False, True])
def test_an_end_is_closed_where_no_other_side_at_its_height_lasts_as_long(ties, seed):
    n = 9
    left, right, height, _ = forest(n, seed, ties=ties)
    parent, size, *_ = tree.lay_out(n, left, right)
    upper = np.random.default_rng(seed).integers(1, 4, n + left.size).astype(float)
    closed = tree.closed_ends(n, left, right, height, parent, size, upper)
    for node in range(n + left.size):
        rivals, at = [], node
        while parent[at] >= 0:  # up, as long as merges are at the height of the first
            up = parent[at] - n
            if height[up] != height[parent[node] - n]:
                break
            rivals.append(upper[right[up] if left[up] == at else left[up]])
            at = parent[at]
        assert closed[node] == bool(rivals and max(rivals) < upper[node])
