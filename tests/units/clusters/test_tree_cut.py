"""Pieces of spanning trees, and their dominant sets."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import as_similarity, path_spectrum
from dominantsets.clusters import tree_cut
from dominantsets.clusters.tree_cut import cut_tree
from dominantsets.compiled.cuts import pure_nodes, root_forest, sized_cuts
from dominantsets.solvers import Monitor, SolverOptions
from support import assert_certified, path

OPTIONS = SolverOptions().checked()


def pieces(n, u, v, left):
    graph = sp.csr_array((np.ones(left.sum()), (u[left], v[left])), shape=(n, n))
    return connected_components(graph, directed=False)[1]


def plain_cuts(n, u, v, weights, count, share):
    """Edges from the last (the longest) to the first; both sides are counted anew for every edge."""
    left, cuts = np.ones(u.size, dtype=bool), []
    first = pieces(n, u, v, left).max() + 1
    for k in range(count):
        need = share * weights.sum() / (first + k + 1)
        for edge in np.flatnonzero(left)[::-1]:
            left[edge] = False
            name = pieces(n, u, v, left)
            sides = [weights[name == name[end]].sum() for end in (u[edge], v[edge])]
            if min(sides) >= need:
                cuts.append(int(edge))
                break
            left[edge] = True
        else:
            break
    return cuts, pieces(n, u, v, left)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 25), st.integers(0, 6), st.sampled_from([0.0, 0.1, 0.25, 0.5]))
def test_cuts_are_their_plain_form(seed, n, count, share):
    rng = np.random.default_rng(seed)
    v = np.arange(1, n)
    u = np.array([rng.integers(0, i) for i in v])
    kept = rng.random(n - 1) > 0.1 * rng.integers(0, 2)  # sometimes a forest
    order = rng.permutation(int(kept.sum()))
    u, v = u[kept][order], v[kept][order]
    weights = rng.integers(0, 2, n).astype(float)
    cuts, roots = sized_cuts(*root_forest(n, u, v), weights, np.arange(u.size)[::-1], count, share)
    expected, names = plain_cuts(n, u, v, weights, count, share)
    assert cuts.tolist() == expected
    assert adjusted_rand_score(roots, names) == 1.0


def test_pure_nodes_have_one_label():
    X = np.random.default_rng(0).normal(size=(40, 2))
    tree = as_similarity(X, "path").tree
    labels = np.random.default_rng(1).integers(0, 3, 40)
    pure = pure_nodes(tree.n, tree.left, tree.right, labels)
    for node in range(tree.n + tree.left.size):
        names = set(labels[tree.leaves(node)])
        assert pure[node] == (names.pop() if len(names) == 1 else -1)


@pytest.mark.parametrize("min_samples", [1, 5])
@pytest.mark.parametrize("n_clusters", [None, 2, 7])
def test_every_piece_has_its_dominant_set(n_clusters, min_samples):
    X, _ = make_moons(200, noise=0.06, random_state=0)
    S = as_similarity(X, "path", min_samples=min_samples)
    found = cut_tree(S, n_clusters, 1, OPTIONS, Monitor())
    spectrum, A = path_spectrum(S), S.toarray()
    lives = dict(
        zip(spectrum.nodes.tolist(), zip(spectrum.shift_from, spectrum.shift_to, strict=True), strict=True)
    )
    assert len(found.pieces) == (n_clusters or len(found.pieces))
    for k, piece in enumerate(found.pieces):
        assert_certified(A, piece.core, rounding=1e-9)
        assert (found.labels[piece.core.members] == k).all()
        assert piece.size == np.count_nonzero(found.labels == k)
        np.testing.assert_array_equal(np.sort(piece.core.members), S.tree.leaves(piece.node))
        pure = [node for node in lives if (found.labels[S.tree.leaves(node)] == k).all()]
        assert len(piece.core) == max(S.tree.size[pure])  # the largest within it that is one at some shift
        if len(piece.core) > 1:  # the exact spectrum, found another way, has the node at this shift
            low, high = lives[piece.node]
            assert low < piece.core.shift < high


def test_a_small_group_comes_before_a_single_far_object():
    """Where no piece is large enough for the number that is asked for, half as large is tried, and so on."""
    # two stars of 21 with a step of 10 between them, a chain of three 8 away, and one object 50 away
    steps = [(0, i, 1.0) for i in range(1, 21)] + [(21, i, 1.0) for i in range(22, 42)]
    steps += [(0, 21, 10.0), (0, 42, 8.0), (42, 43, 1.0), (43, 44, 1.0), (0, 45, 50.0)]
    u, v, length = zip(*steps, strict=True)
    found = cut_tree(path(sp.csr_array((length, (u, v)), shape=(46, 46))), 3, 1, OPTIONS, Monitor())
    np.testing.assert_array_equal(found.labels, [*21 * [0], *21 * [1], 2, 2, 2, 0])
    assert [piece.size for piece in found.pieces] == [22, 21, 3]
    np.testing.assert_allclose(found.strengths, np.log([10.0, 8.0]))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_very_few_objects(n):
    found = cut_tree(
        as_similarity(np.arange(n, dtype=float)[:, None] ** 2, "path"), None, 1, OPTIONS, Monitor()
    )
    assert found.labels.tolist() == [0] * n


def test_pieces_by_size_by_hand():
    roots, nowhere = np.array([5, 5, 2, 9, 9, 9, 2, 7]), np.zeros(8, dtype=bool)
    for wanted, least, expected in (
        (9, 1, [1, 1, 2, 0, 0, 0, 2, 3]),  # of equal size the one that comes first
        (2, 1, [1, 1, -1, 0, 0, 0, -1, -1]),
        (9, 2, [1, 1, 2, 0, 0, 0, 2, -1]),
        (9, 4, [-1, -1, -1, 0, 0, 0, -1, -1]),  # the largest counts anyhow
    ):
        np.testing.assert_array_equal(tree_cut._by_size(roots, nowhere, wanted, least, np.ones(8)), expected)
    lengths = np.where(roots == 2, 0.5, 1.0)  # of equal size the shorter one, wherever it is
    np.testing.assert_array_equal(tree_cut._by_size(roots, nowhere, 9, 1, lengths), [2, 2, 1, 0, 0, 0, 1, 3])
    behind = roots == 9  # noise does not count
    assert tree_cut._by_size(roots, behind, 9, 1, np.ones(8)).tolist() == [0, 0, 1, -1, -1, -1, 1, 2]


def test_what_chance_reaches_falls_with_the_number_of_objects_and_of_dimensions():
    for least in (1, 5):
        assert tree_cut._by_chance(100, 2.0, least) > tree_cut._by_chance(10_000, 2.0, least) > 0.0
        assert tree_cut._by_chance(100, 2.0, least) > tree_cut._by_chance(100, 9.0, least) > 0.0


@pytest.mark.parametrize("d", [2, 3, 6])
def test_data_without_structure_are_one_piece(d):
    """Uniform and normal data, on seeds that the levels were not fitted on."""
    several = 0
    for seed in range(10):
        rng = np.random.default_rng(1_000 + seed)
        for X in (rng.random((300, d)), rng.normal(size=(300, d))):
            S = as_similarity(X, "path", min_samples=5)
            several += len(cut_tree(S, None, 1, OPTIONS, Monitor()).pieces) > 1
    assert several <= 1  # of 20


def test_the_last_cut_that_is_clearly_stronger_counts():
    number = tree_cut._number
    assert number([], 0.3) == 0
    assert number([2.0, 1.9, 0.35, 0.33, 0.32], 0.3) == 2
    assert number([0.45, 0.42, 0.41, 0.40, 0.39, 0.35, 0.31, 0.29, 0.28], 0.3) == 0  # a curve
    assert number([0.2, 2.0, 0.1], 0.3) == 0


@pytest.mark.parametrize(("d", "least"), [(2, 5), (4, 5), (10, 5), (10, 1)])
def test_near_groups_of_far_pairs_count_where_there_are_no_curves(d, least):
    """Cuts between pairs are many times stronger than those within, which are more than chance, too.

    In a plane they do not count: parts of curves may be as far apart. Nor where single objects make chains.
    """
    rng = np.random.default_rng(d)
    centres = np.zeros((4, d))
    centres[:, 0] = [0.0, 5.0 + 0.4 * d, 4000.0, 4005.0 + 0.4 * d]
    X = centres[np.repeat(range(4), 120)] + rng.normal(size=(480, d))
    found = cut_tree(as_similarity(X, "path", min_samples=least), None, 1, OPTIONS, Monitor())
    expected = np.repeat([0, 0, 2, 2] if d == 2 or least == 1 else range(4), 120)
    assert adjusted_rand_score(expected, found.labels) == 1.0
    assert found.strengths[1] > found.least
    assert found.strengths[1] < tree_cut.WEAK * min(found.strengths[0], tree_cut.FULL)
