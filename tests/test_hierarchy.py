"""The tree of groups over all shifts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import cophenet, fcluster, is_valid_linkage
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from dominantsets import DominantSetHierarchy, as_similarity, path_spectrum
from dominantsets.plotting import HierarchyDisplay
from support import assert_certified

# three near groups, two near groups, and one by itself
CENTERS = np.array([(0, 0), (8, 0), (0, 8), (60, 60), (68, 60), (60, 0)], dtype=float)
COARSE = np.array([0, 0, 0, 1, 1, 2])


@pytest.fixture(scope="module")
def nested():
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=600)
    X = CENTERS[y] + rng.normal(size=(600, 2))
    return X, y, DominantSetHierarchy().fit(X)


def groups(model):
    found, stack = [], [model.root_]
    while stack:
        group = stack.pop()
        found.append(group)
        stack += group.children
    return found


def test_groups_within_groups(nested):
    _, y, tree = nested
    assert tree.n_leaves_ == 6
    assert adjusted_rand_score(y, tree.leaves_) == 1.0
    assert adjusted_rand_score(y, tree.cut(6)) == 1.0
    assert adjusted_rand_score(COARSE[y], tree.cut(3)) == 1.0
    assert (tree.cut(1) == 0).all()
    assert np.diff(np.bincount(tree.cut(6))).max() <= 0  # the largest first


def test_it_is_a_tree(nested):
    X, _, tree = nested
    np.testing.assert_array_equal(tree.root_.objects, np.arange(len(X)))
    for group in groups(tree):
        assert group.birth <= group.death
        for child in group.children:
            assert child.death == group.birth
        if group.children:
            together = np.sort(np.concatenate([c.objects for c in group.children]))
            np.testing.assert_array_equal(together, group.objects)
    for k in range(1, 6):  # finer cuts only split
        coarse, fine = tree.cut(k), tree.cut(k + 1)
        assert all(np.unique(coarse[fine == c]).size == 1 for c in range(k + 1))


def test_the_linkage_is_scipys(nested):
    X, _, tree = nested
    assert is_valid_linkage(tree.linkage_)
    assert tree.linkage_[-1, 3] == len(X)
    for k in (2, 3, 6):
        theirs = fcluster(tree.linkage_, k, criterion="maxclust")
        assert adjusted_rand_score(theirs, tree.cut(k)) == 1.0
    # two objects merge at the lowest group that has both
    heights = cophenet(tree.linkage_)
    lowest = tree.levels_[-1]
    assert heights.max() == pytest.approx(tree.root_.birth - lowest)


def test_a_cut_at_a_shift_has_the_groups_of_that_shift(nested):
    _, _, tree = nested
    births = sorted(g.birth for g in groups(tree) if g.children)
    for shift in (births[0] - 1e-9 * abs(births[0]), births[2], births[-1]):
        labels = tree.cut(shift=shift)
        expected = [g for g in groups(tree) if g.birth <= shift < g.death]
        assert labels.max() + 1 == len(expected)
        for group in expected:
            assert np.unique(labels[group.objects]).size == 1
    assert (tree.cut(shift=1e12) == 0).all()
    assert (tree.cut(shift=float(tree.levels_[-1]) - 1.0) == -1).all()


def test_every_core_is_certified_at_the_shift_it_was_followed_to(nested):
    _, _, tree = nested
    S = tree.similarity_
    A = S.toarray()
    for group in groups(tree):
        assert_certified(A, group.core, stationary=1e-6)
        assert group.core.shift in tree.levels_


def test_path_based_groups_are_those_of_the_exact_spectrum():
    rng = np.random.default_rng(1)
    X = CENTERS[rng.integers(6, size=240)] + rng.normal(size=(240, 2))
    S = as_similarity(X, "path")
    tree = DominantSetHierarchy(affinity="path", n_levels=30, tol=1e-12).fit(X)
    spectrum = path_spectrum(S)
    held = 0
    for group in groups(tree):
        core = group.core
        if len(core) < 2 or not core.strict:
            continue
        exact = [set(spectrum.members(node).tolist()) for node in spectrum.at(core.shift)]
        assert set(core.members.tolist()) in exact
        held += 1
    assert held >= 6


@pytest.mark.parametrize("affinity", ["cosine", "rbf", "nearest_neighbors", "precomputed", "graph"])
def test_other_similarities(affinity):
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=150)
    X = 6.0 * np.eye(3)[y] + rng.normal(size=(150, 3)) * 0.3 + 0.5
    data: object = X
    if affinity in ("precomputed", "graph"):
        data = as_similarity(X, "rbf").toarray()
        data = sp.csr_array(np.where(data > 0.5, data, 0.0)) if affinity == "graph" else data
    tree = DominantSetHierarchy(3, affinity="precomputed" if affinity == "graph" else affinity).fit(data)
    assert adjusted_rand_score(y, tree.labels_) > 0.95
    assert is_valid_linkage(tree.linkage_)


@pytest.mark.parametrize("X", [np.zeros((1, 2)), np.zeros((2, 2)), np.ones((30, 2)), np.arange(3.0)[:, None]])
def test_little_data(X):
    tree = DominantSetHierarchy().fit(X)
    assert tree.linkage_.shape == (len(X) - 1, 4)
    assert tree.cut(1).tolist() == [0] * len(X)


def test_where_nothing_stands_out_there_is_one_group():
    X = np.random.default_rng(0).random((60, 2))
    with pytest.warns(UserWarning, match="no groups stand out"):
        tree = DominantSetHierarchy().fit(X)
    assert (tree.labels_ == 0).all()


def test_a_similarity_is_taken_as_affinity():
    X = CENTERS[np.arange(60) % 6] + np.random.default_rng(0).normal(size=(60, 2))
    tree = DominantSetHierarchy(2, affinity=as_similarity(X, "rbf")).fit(X)
    assert set(tree.labels_) == {0, 1}


def test_bad_cuts_are_refused(nested):
    _, _, tree = nested
    with pytest.raises(ValueError, match="more than the 6 groups"):
        tree.cut(7)
    with pytest.raises(ValueError, match="either"):
        tree.cut()
    with pytest.raises(ValueError, match="either"):
        tree.cut(2, shift=1.0)
    for wrong in ({"tol": -1.0}, {"max_iter": 0}, {"max_time": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            DominantSetHierarchy(**wrong).fit(np.zeros((3, 1)))
    with pytest.raises(ValueError, match="n_levels"):
        DominantSetHierarchy(n_levels=1).fit(np.zeros((3, 1)))


def test_a_time_limit_leaves_a_whole_tree():
    X = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.warns(UserWarning, match="ended early"):
        tree = DominantSetHierarchy(max_time=0.0).fit(X)
    assert (tree.cut(1) == 0).all()
    assert len(tree.linkage_) == 299


@pytest.mark.slow
def test_scikit_learns_checks():
    check_estimator(DominantSetHierarchy())


def test_the_dendrogram_shows_every_leaf(nested):
    _, _, tree = nested
    ax = HierarchyDisplay(tree).plot(n_clusters=3).ax_
    shown = sorted(int(t.get_text().replace(",", "")) for t in ax.get_xticklabels())
    assert shown == sorted(np.bincount(tree.leaves_).tolist())
    assert ax.get_yscale() == "log"
    links = sum(len(c.get_segments()) for c in ax.collections)
    assert links == tree.n_leaves_ - 1
    alone = DominantSetHierarchy().fit(np.ones((5, 1)))
    assert "one group" in [t.get_text() for t in HierarchyDisplay(alone).plot().ax_.texts]
