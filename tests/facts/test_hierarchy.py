"""The tree of groups over all shifts: the one that DominantSets() reads its clusters from."""

from __future__ import annotations

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, fcluster, is_valid_linkage
from sklearn.datasets import load_iris, load_wine, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from dominantsets import DominantSetHierarchy, DominantSets, as_similarity, path_spectrum, solve
from dominantsets.plotting import HierarchyDisplay
from support import assert_certified, cliques, in_row_blocks, minimax, random_similarity

# three near groups, two near groups, and one by itself
CENTERS = np.array([(0, 0), (8, 0), (0, 8), (60, 60), (68, 60), (60, 0)], dtype=float)
COARSE = np.array([0, 0, 0, 1, 1, 2])


def nested_blobs(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(6, size=n)
    return CENTERS[y] + rng.normal(size=(n, 2)), y


def planted(seed=0):
    """A network of four groups, of which two pairs have some edges between them, and one lone node."""
    rng = np.random.default_rng(seed)
    y = np.repeat(range(4), 20)
    share = np.array(
        [[0.7, 0.15, 0.0, 0.0], [0.15, 0.7, 0.02, 0.0], [0.0, 0.02, 0.7, 0.15], [0, 0, 0.15, 0.7]]
    )
    A = np.triu(rng.random((80, 80)) < share[np.ix_(y, y)], 1)
    return sp.csr_array(sp.block_diag([(A + A.T).astype(float), sp.csr_array((1, 1))])), y


KINDS = {
    "points": lambda: (nested_blobs()[0], "sqeuclidean"),
    "kernel": lambda: (nested_blobs(300)[0], "rbf"),
    "path": lambda: (nested_blobs(240, 1)[0], "path"),
    "network": lambda: (planted()[0], "precomputed"),
    "overlapping": lambda: (make_blobs(500, centers=9, random_state=4)[0], "sqeuclidean"),
    "no groups": lambda: (np.random.default_rng(5).random((400, 2)), "sqeuclidean"),
}


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    X, affinity = KINDS[request.param]()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no groups stand out")
        return X, affinity, DominantSetHierarchy(affinity=affinity).fit(X)


@pytest.fixture(scope="module")
def nested():
    X, y = nested_blobs()
    return X, y, DominantSetHierarchy().fit(X)


def same(one, other):
    """Whether two partitions are one, up to the numbers of their labels."""
    one, other = np.asarray(one), np.asarray(other)
    return np.array_equal(np.equal.outer(one, one), np.equal.outer(other, other))


@pytest.mark.parametrize("data", [
    lambda: make_moons(300, noise=0.06, random_state=0)[0],
    lambda: make_circles(300, noise=0.04, factor=0.4, random_state=0)[0],
    lambda: make_blobs(300, centers=4, random_state=0)[0],
    lambda: make_blobs(300, 2, centers=3, random_state=1)[0] @ np.array([[3.0, 1], [0, 0.5]]),
    lambda: load_iris().data,
    lambda: load_wine().data,
    lambda: np.random.default_rng(0).uniform(size=(200, 2)),
])  # fmt: skip
@pytest.mark.parametrize("k", [None, 3])
def test_by_default_it_is_the_tree_of_what_the_estimator_finds(data, k):
    X = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model, tree = DominantSets(k, noise=None).fit(X), DominantSetHierarchy(k).fit(X)
    assert tree.affinity_ == model.affinity_
    assert tree.n_groups_ == model.n_clusters_
    assert same(tree.labels_, model.labels_)
    assert same(tree.predict(X), model.predict(X))


# the tree ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("affinity", ["sqeuclidean", "euclidean", "rbf"])
def test_groups_within_groups(affinity):
    X, y = nested_blobs()
    tree = DominantSetHierarchy(affinity=affinity).fit(X)
    assert tree.n_groups_ == 6
    assert adjusted_rand_score(y, tree.labels_) == 1.0
    assert adjusted_rand_score(y, tree.cut(6)) == 1.0
    assert adjusted_rand_score(COARSE[y], tree.cut(3)) == 1.0
    assert (tree.cut(1) == 0).all()
    assert np.diff(np.bincount(tree.cut(6))).max() <= 0  # the largest first


def test_it_is_a_tree_that_can_be_cut_at_every_number(fitted):
    _, _, tree = fitted
    n, somewhere = tree.similarity_.n, tree.leaves_ >= 0
    np.testing.assert_array_equal(tree.root_.objects, np.flatnonzero(somewhere))
    for group in tree.root_.walk():
        assert group.birth <= group.death
        assert len(group.children) in (0, 2)
        for child in group.children:
            assert child.death == group.birth
        if group.children:
            together = np.sort(np.concatenate([child.objects for child in group.children]))
            np.testing.assert_array_equal(together, group.objects)
    cuts = [tree.cut(k) for k in range(1, tree.n_leaves_ + 1)]
    for k, labels in enumerate(cuts, 1):
        assert labels.shape == (n,)
        assert set(labels[somewhere]) == set(range(k))
        assert (labels[~somewhere] == -1).all()
    for coarse, fine in pairwise(cuts):  # finer cuts only split
        assert all(np.unique(coarse[fine == c]).size == 1 for c in range(fine.max() + 1))
    assert same(cuts[-1], tree.leaves_)
    with pytest.raises(ValueError, match=f"more than the {tree.n_leaves_} groups"):
        tree.cut(tree.n_leaves_ + 1)


def test_the_linkage_is_scipys(fitted):
    _, _, tree = fitted
    Z = tree.linkage_
    assert is_valid_linkage(Z)
    assert len(Z) == tree.similarity_.n - 1
    assert (np.diff(Z[:, 2]) >= 0).all()
    assert Z[0, 2] == 0.0
    assert Z[-1, 3] == tree.similarity_.n
    lowest = min(group.birth for group in tree.root_.walk())
    assert cophenet(Z).max() == pytest.approx(tree.root_.birth - lowest)


def test_where_all_groups_stand_alone_scipy_cuts_alike(nested):
    _, _, tree = nested
    for k in (2, 3, 6):
        assert same(fcluster(tree.linkage_, k, criterion="maxclust"), tree.cut(k))


def test_a_cut_at_a_shift_has_the_groups_of_that_shift(fitted):
    _, _, tree = fitted
    births = sorted(group.birth for group in tree.root_.walk() if group.children)
    for shift in (births[0] - 1e-9 * abs(births[0]), births[len(births) // 2], births[-1]):
        labels = tree.cut(shift=shift)
        expected = [g for g in tree.root_.walk() if g.birth <= shift < g.death]
        assert labels.max() + 1 == len(expected) == len(tree.groups(shift=shift))
        for group in expected:
            assert np.unique(labels[group.objects]).size == 1
    assert (tree.cut(shift=1e12)[tree.root_.objects] == 0).all()
    lowest = min(group.birth for group in tree.root_.walk())
    assert (tree.cut(shift=lowest - 1.0 - abs(lowest)) == -1).all()


def test_every_core_is_a_certified_dominant_set_of_all_objects(fitted):
    _, _, tree = fitted
    A = tree.similarity_.toarray()
    cores = [group.core for group in tree.root_.walk() if group.core is not None]
    for core in cores:
        assert_certified(A, core, stationary=1e-6)
    assert len(cores) >= max(tree.n_leaves_, 0.5 * sum(1 for _ in tree.root_.walk()))
    assert all(leaf.core is not None for leaf in tree.groups(tree.n_groups_))


@pytest.mark.parametrize("kind", ["points", "overlapping"])
def test_a_group_above_those_that_stand_alone_has_its_set_within_its_life(kind):
    X, affinity = KINDS[kind]()
    tree = DominantSetHierarchy(affinity=affinity).fit(X)
    certain = tree.groups(tree.n_groups_)
    inner = {group for k in range(1, tree.n_groups_) for group in tree.groups(k)} - set(certain)
    inner = [group for group in inner if group.core is not None]
    assert inner
    for group in inner:
        assert group.birth <= group.core.shift <= group.death
        inside = np.isin(group.core.members, group.objects).mean()
        assert inside > 0.5


# one tree, several views -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "affinity"), [(2, "sqeuclidean"), (8, "sqeuclidean"), (2, "rbf"), (5, "cosine"), (2, "path")]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_without_a_number_it_has_the_groups_of_dominant_sets(d, affinity, seed):
    X, _ = make_blobs(400, n_features=d, centers=5, center_box=(-30, 30), random_state=seed)
    tree = DominantSetHierarchy(affinity=affinity).fit(X)
    for noise in ("auto", None):
        model = DominantSets(affinity=affinity, noise=noise).fit(X)
        inside = model.labels_ >= 0
        assert inside.mean() > 0.9
        assert same(tree.labels_[inside], model.labels_[inside])
        assert model.n_clusters_ == tree.n_groups_ == len(tree.groups(tree.n_groups_))


@pytest.mark.parametrize("kind", ["points", "overlapping", "kernel"])
def test_the_sets_of_groups_that_stand_alone_are_those_of_dominant_sets(kind):
    X, affinity = KINDS[kind]()
    tree, model = DominantSetHierarchy(affinity=affinity).fit(X), DominantSets(affinity=affinity).fit(X)
    ours = {group.core.members.tobytes() for group in tree.groups(tree.n_groups_)}
    assert ours == {cluster.members.tobytes() for cluster in model.clusters_}


def test_a_network_has_the_groups_of_dominant_sets_and_merges_those_with_edges():
    A, y = planted()
    tree = DominantSetHierarchy(affinity="precomputed").fit(A)
    model = DominantSets(affinity="precomputed").fit(A)
    assert same(tree.labels_, model.labels_)
    assert same(tree.cut(4)[:80], y)
    assert same(tree.cut(2)[:80], y // 2)
    assert tree.cut(1)[80] == -1  # the node without an edge is in no group


@pytest.mark.parametrize("d", [2, 6])
def test_features_and_their_own_matrix_have_one_tree(d):
    X, _ = make_blobs(300, n_features=d, centers=6, random_state=d)
    A = as_similarity(X, "sqeuclidean").toarray()
    tree, other = DominantSetHierarchy().fit(X), DominantSetHierarchy(affinity="precomputed").fit(A)
    assert tree.n_groups_ == other.n_groups_
    assert same(tree.labels_, other.labels_)
    assert same(tree.labels_, DominantSets(affinity="precomputed", noise=None).fit(A).labels_)
    for k in range(1, tree.n_groups_ + 1):
        assert same(tree.cut(k), other.cut(k))


def test_path_based_groups_are_those_of_the_exact_spectrum():
    X, _ = nested_blobs(240, 1)
    tree = DominantSetHierarchy(affinity="path").fit(X)
    spectrum = path_spectrum(as_similarity(X, "path"))
    groups = list(tree.root_.walk())
    assert len(groups) >= 11
    for group in groups:
        exact = [set(spectrum.members(node).tolist()) for node in spectrum.at(group.core.shift)]
        assert set(group.core.members.tolist()) in exact
        assert group.core.strict
    begins = {*spectrum.shift_from.tolist()}
    assert all(group.birth in begins for group in groups)


def test_path_based_groups_are_cut_at_gaps():
    """The six blobs are farther apart than any object of theirs is from its next one, but for a few."""
    X, y = nested_blobs(600, 3)
    D = minimax(np.linalg.norm(X[:, None] - X, axis=2))
    tree = DominantSetHierarchy(affinity="path").fit(X)
    assert adjusted_rand_score(COARSE[y], tree.cut(3)) == 1.0
    six = tree.cut(6)
    assert adjusted_rand_score(y, six) > 0.95
    for k in range(6):
        mine = np.flatnonzero(six == k)
        assert np.median(D[np.ix_(mine, mine)]) < np.median(D[np.ix_(mine, np.flatnonzero(six != k))])


@pytest.mark.parametrize("kind", ["points", "path", "network"])
def test_the_order_of_objects_does_not_matter(kind):
    X, affinity = KINDS[kind]()
    order = np.random.default_rng(3).permutation(X.shape[0])
    shuffled = sp.csr_array(X[order][:, order]) if kind == "network" else X[order]
    tree = DominantSetHierarchy(affinity=affinity).fit(X)
    other = DominantSetHierarchy(affinity=affinity).fit(shuffled)
    assert tree.n_leaves_ == other.n_leaves_
    for k in range(1, tree.n_leaves_ + 1):
        assert same(tree.cut(k)[order], other.cut(k))


def test_iris_can_be_cut_at_its_species():
    X, y = load_iris(return_X_y=True)
    tree = DominantSetHierarchy(3).fit(X)
    assert set(tree.labels_) == {0, 1, 2}
    assert adjusted_rand_score(y > 0, tree.cut(2)) == 1.0  # setosa stands apart, as Fisher (1936) found
    assert adjusted_rand_score(y, tree.labels_) > adjusted_rand_score(y, tree.cut(2))


# gamma -------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(n=st.integers(3, 9), size=st.integers(1, 8), seed=st.integers(0, 10_000))
def test_above_gamma_no_set_of_these_objects_is_a_dominant_one(n, size, seed):
    r"""Pavan and Pelillo's lemma (2003).

    With gamma_S the largest, over x on S, of the smallest (x'Ax - (Ax)_i) / x'x over i outside S, no x on S
    is stationary for a shift above gamma_S, which is at most the largest eigenvalue of A on S.
    """
    rng = np.random.default_rng(seed)
    A = random_similarity(n, seed)
    S = rng.permutation(n)[: min(size, n - 1)]
    outside = np.setdiff1d(np.arange(n), S)
    top = float(np.linalg.eigvalsh(A[np.ix_(S, S)]).max())
    for _ in range(20):
        x = np.zeros(n)
        x[S] = rng.dirichlet(np.full(S.size, 0.7))
        assert ((x @ A @ x - A[outside] @ x) / (x @ x)).min() <= top + 1e-12
    for start in S:
        found = solve(as_similarity(A), shift=top + 1e-3, start=int(start), algorithm="pairwise")
        assert not np.isin(found.members, S).all()


def test_no_group_stands_above_its_gamma(fitted):
    _, _, tree = fitted
    A = tree.similarity_.toarray()
    seen = 0
    for group in tree.root_.walk():
        core = group.core
        outside = np.ones(len(A), dtype=bool)
        if core is None or len(core) == len(A):
            continue
        outside[core.members] = False
        payoffs = A[:, core.members] @ core.weights
        value = core.weights @ payoffs[core.members]
        gamma = ((value - payoffs[outside]) / (core.weights @ core.weights)).min()  # at x: a lower bound
        unit = max(1.0, abs(core.shift), float(A.max()))
        assert core.shift <= gamma + 1e-6 * unit * len(core)
        assert core.shift <= np.linalg.eigvalsh(A[np.ix_(core.members, core.members)]).max() + 1e-9 * unit
        seen += 1
    assert seen >= tree.n_groups_


# new objects, little data, bad input -------------------------------------------------------------------


def test_new_objects_get_the_labels_of_the_rule(fitted):
    X, _, tree = fitted
    rows = X.toarray() if sp.issparse(X) else X
    for k in (1, tree.n_groups_, tree.n_leaves_):
        np.testing.assert_array_equal(tree.predict(rows, n_clusters=k), tree.cut(k))
    np.testing.assert_array_equal(tree.predict(rows), tree.labels_)
    again = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.predict(rows), tree.labels_)
    np.testing.assert_array_equal(again.cut(2), tree.cut(2))


@pytest.mark.parametrize("affinity", ["sqeuclidean", "path"])
def test_new_objects_of_a_group_are_placed_with_it(affinity):
    X, y = nested_blobs()
    tree = DominantSetHierarchy(3, affinity=affinity).fit(X)
    new, labels = nested_blobs(200, 9)
    assert adjusted_rand_score(COARSE[labels], tree.predict(new)) == 1.0
    assert adjusted_rand_score(COARSE[np.r_[y, labels]], np.r_[tree.labels_, tree.predict(new)]) == 1.0


@pytest.mark.parametrize("affinity", ["cosine", "rbf", "precomputed", "graph"])
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


def test_what_has_no_hierarchy_says_what_to_use():
    X, _ = nested_blobs(60)
    with pytest.raises(ValueError, match="diffusion"):
        DominantSetHierarchy(affinity="nearest_neighbors").fit(X)
    pytest.importorskip("dask")
    with pytest.raises(ValueError, match="one CSR matrix"):
        DominantSetHierarchy().fit(as_similarity(in_row_blocks(cliques([5, 6]), (4, 7))))


@pytest.mark.parametrize("affinity", ["sqeuclidean", "path"])
@pytest.mark.parametrize("X", [np.zeros((1, 2)), np.zeros((2, 2)), np.ones((30, 2)), np.arange(3.0)[:, None]])
@pytest.mark.filterwarnings("ignore:no groups stand out")
def test_little_data(X, affinity):
    tree = DominantSetHierarchy(affinity=affinity).fit(X)
    assert tree.linkage_.shape == (len(X) - 1, 4)
    assert tree.cut(1).tolist() == tree.predict(X).tolist() == [0] * len(X)


def test_graphs_with_next_to_nothing_in_them():
    lone = DominantSetHierarchy(affinity="precomputed").fit(sp.csr_array((1, 1)))
    assert lone.labels_.tolist() == [0]
    two = DominantSetHierarchy(affinity="precomputed").fit(cliques([6, 8], isolated=2))
    assert same(two.labels_, np.repeat([0, 1, -1], [6, 8, 2]))
    assert is_valid_linkage(two.linkage_)


def test_trees_that_never_merge_do_at_the_top():
    at = np.r_[0.0:3.0:0.1, 100.0:103.0:0.1]
    D = np.abs(np.subtract.outer(at, at))
    D[:30, :30] **= 1.1  # no two steps alike
    G = sp.csr_array(np.where(D < 10.0, D, 0.0))
    tree = DominantSetHierarchy(2, affinity="path", affinity_params={"metric": "precomputed"}).fit(G)
    assert same(tree.labels_, at > 50.0)
    assert np.isfinite(tree.linkage_).all()
    three = sp.csr_array(sp.block_diag([G, np.ones((3, 3)) - np.eye(3)]))  # too few objects for a group
    tree = DominantSetHierarchy(2, affinity="path", affinity_params={"metric": "precomputed"}).fit(three)
    assert same(tree.labels_[:60], at > 50.0)
    assert (tree.labels_[60:] == -1).all()
    assert is_valid_linkage(tree.linkage_)


def test_where_nothing_stands_out_there_is_one_group_that_can_still_be_cut():
    X = np.random.default_rng(0).random((300, 2))
    with pytest.warns(UserWarning, match="no groups stand out"):
        tree = DominantSetHierarchy().fit(X)
    assert tree.n_groups_ == 1
    assert (tree.labels_ == 0).all()
    assert set(tree.cut(3)) == {0, 1, 2}


def test_a_similarity_is_taken_as_affinity():
    X = CENTERS[np.arange(60) % 6] + np.random.default_rng(0).normal(size=(60, 2))
    tree = DominantSetHierarchy(2, affinity=as_similarity(X, "rbf")).fit(X)
    assert set(tree.labels_) == {0, 1}


def test_bad_cuts_are_refused(nested):
    X, _, tree = nested
    with pytest.raises(ValueError, match="either"):
        tree.cut()
    with pytest.raises(ValueError, match="either"):
        tree.cut(2, shift=1.0)
    with pytest.raises(ValueError, match="at least 1"):
        tree.cut(0)
    with pytest.raises(ValueError, match="max_time"):
        DominantSetHierarchy(max_time=-1.0).fit(np.zeros((3, 1)))
    with pytest.warns(UserWarning, match="fewer than n_clusters=500"):
        few = DominantSetHierarchy(500).fit(X)
    assert same(few.labels_, few.leaves_)


# stopped early -----------------------------------------------------------------------------------------


def assert_whole(tree, n):
    assert (tree.cut(1) == 0).all()
    assert is_valid_linkage(tree.linkage_)
    assert len(tree.linkage_) == n - 1
    assert tree.predict(np.zeros((2, 2))).shape == (2,)


@pytest.mark.parametrize("affinity", ["sqeuclidean", "path"])
def test_a_time_limit_leaves_a_whole_tree(affinity):
    X = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.warns(UserWarning, match="ended early"):
        tree = DominantSetHierarchy(affinity=affinity, max_time=0.0).fit(X)
    assert_whole(tree, 300)


@pytest.mark.slow
def test_scikit_learns_checks():
    check_estimator(DominantSetHierarchy())


# pictures ----------------------------------------------------------------------------------------------


def test_the_dendrogram_shows_the_groups_asked_for(nested):
    _, _, tree = nested
    for options, count in (({}, 6), ({"n_clusters": 3}, 6), ({"n_clusters": 8}, 8), ({"n_leaves": 12}, 12)):
        display = HierarchyDisplay.from_estimator(tree, **options)
        ax = display.ax_
        shown = sorted(int(t.get_text().replace(",", "")) for t in ax.get_xticklabels())
        assert shown == sorted(np.bincount(tree.cut(count)).tolist())
        assert ax.get_yscale() == "log"
        *links, feet = ax.collections
        assert sum(len(c.get_segments()) for c in links) == count - 1
        assert len(feet.get_offsets()) == count  # a dot for each leaf
        assert display.figure_ is ax.figure
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no groups stand out")
        alone = DominantSetHierarchy().fit(np.ones((5, 1)))
    assert "one group" in [t.get_text() for t in HierarchyDisplay(alone).plot().ax_.texts]
