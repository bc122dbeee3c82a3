"""Path-based similarity: trees, and a suite that would catch a wrong theorem."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

import brute_force
from dominantsets import DominantSets, Status, as_similarity, path_clusters, path_spectrum, peel, solve
from dominantsets.similarity import single_linkage


def random_distances(n: int, seed: int, ties: bool) -> np.ndarray:
    """A random symmetric matrix; with ties, small integers and zeros."""
    rng = np.random.default_rng(seed)
    D = rng.integers(0, 6, (n, n)).astype(float) if ties else rng.random((n, n)) + 0.1
    D = np.triu(D, 1)
    return D + D.T


def path(D: np.ndarray):
    return as_similarity(D, "path", metric="precomputed")


# ---- trees ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize("kind", ["continuous", "lattice", "far apart"])
def test_every_way_to_a_tree_has_scipys_heights(d, kind, monkeypatch):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(300, d))
    if kind == "lattice":
        X = np.round(2 * X)
    elif kind == "far apart":
        X[150:] += 100.0
    expected = np.sort(linkage(X, "single")[:, 2])
    points = np.unique(X, axis=0)
    for limit in (10**6, 0):  # SciPy's own, then ours
        monkeypatch.setattr(single_linkage, "SCIPY_LIMIT", limit)
        tree = single_linkage.tree_of_features(X)
        np.testing.assert_allclose(np.sort(tree.height), expected, rtol=1e-12, atol=1e-12)
        assert not tree.approximate
    if len(points) > 1:
        for edges in (single_linkage.boruvka(points), single_linkage._spanning.prim_features(points)):
            np.testing.assert_allclose(
                np.sort(edges[2]), np.sort(linkage(points, "single")[:, 2]), rtol=1e-12
            )
    matrix = single_linkage.tree_of_matrix(squareform(pdist(X)))
    np.testing.assert_allclose(np.sort(matrix.height), expected, rtol=1e-12, atol=1e-12)


def test_linkage_is_scipys():
    from scipy.cluster.hierarchy import cophenet, is_valid_linkage

    X = np.random.default_rng(0).normal(size=(40, 3))
    Z = as_similarity(X, "path").tree.linkage()
    assert is_valid_linkage(Z)
    np.testing.assert_allclose(cophenet(Z), cophenet(linkage(X, "single")), rtol=1e-12)


def test_many_dimensions_and_objects_say_that_they_are_approximate(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 12)), rng.normal(size=(60, 12)) + 30])
    exact = single_linkage.tree_of_features(X)
    monkeypatch.setattr(single_linkage, "SCIPY_LIMIT", 0)
    monkeypatch.setattr(single_linkage, "PRIM_LIMIT", 50)
    with pytest.warns(UserWarning, match="approximate, made from 15 nearest neighbours"):
        S = as_similarity(X, "path")
    assert S.tree.approximate
    assert S.tree.n_components == 1
    # heights can only be too large, and the gap between the groups is found
    assert (np.sort(S.tree.height) >= np.sort(exact.height) - 1e-12).all()
    assert S.top == pytest.approx(exact.height.max(), rel=0.05)


def test_a_graph_of_distances_with_zeros_and_several_components():
    edges = {(0, 1): 0.0, (1, 2): 2.0, (3, 4): 1.0, (0, 2): 5.0}
    G = sp.coo_array((list(edges.values()), tuple(zip(*edges, strict=True))), shape=(6, 6)).tocsr()
    S = as_similarity(G, "path", metric="precomputed")
    assert S.tree.n_components == 3
    assert S.top == 2.0
    np.testing.assert_array_equal(S.column(0), [0, 2, 0, 0, 0, 0])
    clusters = path_clusters(S, shift=10.0)
    assert [c.members.tolist() for c in clusters] == [[0, 1, 2], [3, 4], [5]]
    for start, members in ((0, [0, 1, 2]), (3, [3, 4]), (5, [5])):
        for algorithm in ("pairwise", "away"):
            cluster = solve(S, shift=10.0, algorithm=algorithm, start=start)
            assert cluster.members.tolist() == members
            assert cluster.margin == np.inf  # nobody else is in the component
            assert cluster.status is Status.CONVERGED
    assert [len(c) for c in peel(S, 3, shift=10.0)] == [3, 2]  # 5 is like nobody


def test_a_tree_takes_memory_in_proportion_to_n():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    as_similarity(X[:600], "path")
    tracemalloc.start()
    S = as_similarity(X, "path")
    S.degrees()
    solve(S, shift=5.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 600 * len(X)


# ---- the theorem ----------------------------------------------------------------------------------


@given(st.integers(2, 25), st.integers(0, 10_000), st.booleans(), st.sampled_from([-2, -0.3, 0, 0.7, 4]))
def test_each_exact_answer_is_a_kkt_point_of_the_dense_problem(n, seed, ties, shift):
    S = path(random_distances(n, seed, ties))
    A = S.toarray()
    size = S.top + abs(shift)
    for cluster in path_clusters(S, shift=shift, weak=True):
        x = np.zeros(n)
        x[cluster.members] = cluster.weights
        assert cluster.weights.min() > 0
        assert x.sum() == pytest.approx(1.0, abs=1e-13)
        r = A @ x - shift * x
        f = x @ r
        assert r.max() <= f + 1e-12 * size
        np.testing.assert_allclose(r[cluster.members], f, atol=1e-12 * size)
        assert cluster.value == pytest.approx(f + shift, abs=1e-12 * size)
        assert cluster.gap <= 1e-12 * size
        outside = np.setdiff1d(np.arange(n), cluster.members)
        if outside.size:
            assert cluster.margin == pytest.approx(f - r[outside].max(), abs=1e-12 * size)


@settings(max_examples=60)
@given(st.integers(2, 6), st.integers(0, 100_000), st.integers(1, 6), st.sampled_from([-2, -1, 0, 1, 3, 5]))
def test_brute_force_in_exact_rationals_finds_the_same_maxima(n, seed, largest, shift):
    """Strict and weak ones, with ties, duplicates and negative shifts."""
    rng = np.random.default_rng(seed)
    D = np.triu(rng.integers(0, largest + 1, (n, n)), 1)
    _same_maxima(brute_force.minimax(D + D.T), shift)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [7, 8])
def test_brute_force_for_seven_and_eight_objects(n, seed):
    rng = np.random.default_rng(seed)
    D = np.triu(rng.integers(0, 5, (n, n)), 1)
    _same_maxima(brute_force.minimax(D + D.T), int(rng.integers(-1, 4)))


def _same_maxima(P: list[list[int]], shift: int) -> None:
    if max(map(max, P)) == 0:
        return  # all objects equal: the offset is then 1 by definition, not max(D)
    strict, weak = brute_force.local_maxima(P, shift)
    clusters = path_clusters(path(np.array(P, dtype=float)), shift=float(shift), weak=True)
    assert {tuple(c.members.tolist()) for c in clusters if c.strict} == set(strict)
    assert {tuple(c.members.tolist()) for c in clusters if not c.strict} == weak
    for cluster in clusters:
        if cluster.strict:
            weights, value = strict[tuple(cluster.members.tolist())]
            assert cluster.value == pytest.approx(float(value), abs=1e-12)
            np.testing.assert_allclose(cluster.weights, [float(w) for w in weights], atol=1e-12)


@given(st.integers(3, 20), st.integers(0, 10_000), st.sampled_from([0.0, 0.2, 1.0]))
def test_pairwise_from_every_vertex_ends_in_an_exact_answer(n, seed, shift):
    D = random_distances(n, seed, ties=False)
    # distinct merge heights: random distances have them
    S = path(D)
    exact = {tuple(c.members.tolist()): c for c in path_clusters(S, shift=shift)}
    for i in range(n):
        if S.column(i).max() + shift <= 0:
            continue  # similar to nobody: stationary where it stands, though no maximum
        found = solve(S, algorithm="pairwise", start=i, shift=shift, tol=1e-13)
        assert tuple(found.members.tolist()) in exact
        assert found.value == pytest.approx(exact[tuple(found.members.tolist())].value, rel=1e-9)


@given(st.integers(3, 15), st.integers(0, 10_000), st.sampled_from([0.0, 1.0, 3.0]))
def test_with_ties_pairwise_ends_at_a_value_of_an_exact_answer(n, seed, shift):
    """Unless a tie holds it at a saddle: gap 0 and margin 0, which is not called strict."""
    S = path(random_distances(n, seed, ties=True))
    values = np.array([c.value for c in path_clusters(S, shift=shift, weak=True)])
    for i in range(n):
        found = solve(S, algorithm="pairwise", start=i, shift=shift, tol=1e-12)
        if np.abs(values - found.value).min() > 1e-6 * max(1.0, found.value):
            assert found.margin == pytest.approx(0.0, abs=1e-9)
            assert found.strict is False


def test_copies_have_the_value_of_a_block():
    """m equal objects: c (1 - 1/m), c = max(D) + shift."""
    X = np.repeat([[0.0], [10.0]], [7, 3], axis=0)
    big, small = path_clusters(as_similarity(X, "path"), shift=2.0)
    assert (len(big), len(small)) == (7, 3)
    assert big.value == pytest.approx(12 * (1 - 1 / 7), rel=1e-14)
    assert small.value == pytest.approx(12 * (1 - 1 / 3), rel=1e-14)
    np.testing.assert_allclose(big.weights, 1 / 7, rtol=1e-14)


def test_equal_objects_are_one_cluster():
    cluster = solve(as_similarity(np.zeros((5, 2)), "path"))
    assert len(cluster) == 5
    np.testing.assert_allclose(cluster.weights, 0.2)


@given(st.integers(3, 30), st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.5, 2.0]))
def test_peeling_takes_the_highest_value_of_what_is_left(n, seed, ties, shift):
    D = random_distances(n, seed, ties)
    P = np.array(D)
    for k in range(n):
        P = np.minimum(P, np.maximum.outer(P[:, k], P[k]))
    S = path(D)
    left = np.arange(n)
    for cluster in peel(S, min(4, n), shift=shift):
        # the objects left keep their distances, so their own tree has the answer
        sub = path(P[np.ix_(left, left)])
        best = path_clusters(sub, shift=shift + S.top - sub.top)[0]
        assert cluster.value == pytest.approx(best.value, rel=1e-10, abs=1e-12)
        np.testing.assert_array_equal(left[best.members], cluster.members)
        left = np.setdiff1d(left, cluster.members)
        if left.size < 2 or P[np.ix_(left, left)].max() == 0:
            break


# ---- the whole resolution path ---------------------------------------------------------------------


@given(st.integers(2, 25), st.integers(0, 10_000), st.booleans(), st.floats(-1.0, 30.0))
def test_the_spectrum_says_which_clusters_exist(n, seed, ties, shift):
    S = path(random_distances(n, seed, ties))
    spectrum = path_spectrum(S)
    ends = np.concatenate([spectrum.shift_from, spectrum.shift_to])
    if np.abs(ends[np.isfinite(ends)] - shift).min(initial=np.inf) < 1e-9 * (1 + abs(shift)):
        return  # an end that rounding decides; ends are tested below
    expected = {tuple(c.members.tolist()) for c in path_clusters(S, shift=shift) if len(c) > 1 and c.strict}
    assert {tuple(spectrum.members(k).tolist()) for k in spectrum.at(shift)} == expected


def test_the_ends_of_the_spectrum_themselves():
    """Whole numbers and pairs, for which the ends are exact: closed where no neighbour ends there too."""
    S = as_similarity(np.array([[0.0], [1.0], [3.0]]), "path")
    spectrum = path_spectrum(S)
    assert spectrum.closed.tolist() == [True, False]
    for shift, expected in ((-1.0, []), (0.5, [[0, 1]]), (1.0, [[0, 1]]), (1.5, [[0, 1, 2]])):
        assert [spectrum.members(k).tolist() for k in spectrum.at(shift)] == expected
        strict = [c.members.tolist() for c in path_clusters(S, shift=shift) if c.strict and len(c) > 1]
        assert strict == expected
    twins = path_spectrum(as_similarity(np.array([[0.0], [1.0], [3.0], [4.0]]), "path"))
    assert twins.closed.tolist() == [False, False, False]  # both pairs end together: weak at the end
    assert twins.at(1.0).size == 0


def test_a_cluster_gives_way_where_its_parent_begins():
    X = np.sort(np.random.default_rng(0).normal(size=40))[:, None]
    S = as_similarity(X, "path")
    spectrum = path_spectrum(S)
    assert len(spectrum.nodes) == 39  # no ties: every merge is a dominant set for some shift
    begins = dict(zip(spectrum.nodes.tolist(), spectrum.shift_from, strict=True))
    ends = dict(zip(spectrum.nodes.tolist(), spectrum.shift_to, strict=True))
    for node in spectrum.nodes.tolist():
        children = [c for c in (S.tree.left[node - 40], S.tree.right[node - 40]) if c >= 40]
        if children:
            assert begins[node] >= max(ends[c] for c in children) - 1e-12
    assert max(ends.values()) == np.inf


# ---- use -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_shapes_that_other_similarities_cannot_find(make):
    kwargs = {"factor": 0.4} if make is make_circles else {}
    X, y = make(600, noise=0.04, random_state=0, **kwargs)
    S = as_similarity(X, "path")
    model = DominantSets(2, affinity="path", shift=0.05 * 600 * S.top, assign="average").fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.99
    assert all(c.strict for c in model.clusters_)
    new, answer = make(200, noise=0.04, random_state=1, **kwargs)
    assert adjusted_rand_score(answer, model.predict(new)) > 0.98


def test_copies_of_an_edge_are_added_up_as_scipy_does():
    G = sp.csr_array(([1.0, 1.0, 5.0, 7.0], [1, 1, 2, 3], [0, 2, 3, 4, 4]), shape=(4, 4))
    kept = G.copy()
    S = as_similarity(G, "path", metric="precomputed")
    assert S.tree.height.tolist() == [2.0, 5.0, 7.0]
    assert G.nnz == kept.nnz  # the caller's graph is as it was


def test_components_are_never_put_together():
    G = sp.csr_array(([1.0, 2.0], ([0, 2], [1, 3])), shape=(5, 5))
    options = {"affinity": "path", "affinity_params": {"metric": "precomputed"}, "shift": 10.0}
    S = as_similarity(G, "path", metric="precomputed")
    assert [c.members.tolist() for c in path_clusters(S, shift=10.0)] == [[0, 1], [2, 3], [4]]
    peeling = peel(S, 5, shift=10.0)
    assert [c.members.tolist() for c in peeling] == [[0, 1], [2, 3]]
    model = DominantSets(2, **options).fit(G)
    assert model.labels_.tolist() == [0, 0, 1, 1, -1]
    new = sp.csr_array(([0.5, 0.5], ([0, 1], [0, 3])), shape=(3, 5))
    assert model.predict(new).tolist() == [0, 1, -1]
    always = DominantSets(2, assign="average", **options).fit(G)
    assert always.labels_.tolist() == [0, 0, 1, 1, -1]
    assert always.predict(new).tolist() == [0, 1, -1]


def test_two_objects_and_huge_shifts():
    S = as_similarity(np.array([[0.0], [1.0]]), "path")
    assert [c.members.tolist() for c in peel(S, 2, shift=3.0)] == [[0, 1]]
    X = np.random.default_rng(0).normal(size=(20, 2))
    huge = path_clusters(as_similarity(X, "path"), shift=1e160)
    assert [len(c) for c in huge] == [20]
    assert np.isfinite(huge[0].value)


def test_a_given_start_is_honoured():
    S = as_similarity(np.array([[0.0], [1.0], [2.0], [7.0], [8.0]]), "path")
    assert solve(S).algorithm == "exact"
    from_four = solve(S, start=4)
    assert from_four.algorithm == "pairwise"
    assert from_four.members.tolist() == [3, 4]


def test_a_long_chain_of_ties():
    """Equal steps, no shift: every merge ties with every other, and the pass stays a pass."""
    n = 50_000
    G = sp.diags_array([np.ones(n - 1)], offsets=[1], shape=(n, n)).tocsr()
    S = as_similarity(G, "path", metric="precomputed")
    clusters = path_clusters(S, weak=True)
    assert len(clusters) == n  # flat: every object alone has the value 0, and so has every mixture
    assert not any(c.strict for c in clusters)


def test_the_callback_is_told_of_an_exact_pass():
    seen = []
    S = as_similarity(np.random.default_rng(0).normal(size=(50, 2)), "path")
    list(peel(S, 2, shift=1.0, callback=lambda p: seen.append((p.n_clusters, p.n_left)) and None))
    assert [k for k, _ in seen] == [0, 1]


def test_exact_needs_a_tree_and_no_start():
    A = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"needs a path-based similarity, which has a single-linkage tree"):
        solve(A, algorithm="exact")
    with pytest.raises(ValueError, match="takes no start"):
        solve(path(A), algorithm="exact", start=1)
    with pytest.raises(ValueError, match="path-based"):
        path_spectrum(as_similarity(A))


@pytest.mark.parametrize(
    ("X", "params", "words"),
    [
        (np.ones((3, 2)), {"metric": "precomputed"}, r"square and not empty, got shape \(3, 2\)"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), {"metric": "precomputed"}, "negative"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), {"metric": "precomputed"}, "not symmetric"),
        (sp.csr_array(np.ones((2, 3))), {"metric": "precomputed"}, "must be square"),
        (sp.csr_array(-np.eye(2)), {"metric": "precomputed"}, "negative distances"),
        (sp.csr_array(np.eye(3)), {}, "metric='precomputed'"),
        (np.ones((3, 2)), {"metric": "cityblock"}, "'euclidean', 'precomputed'"),
    ],
)
def test_bad_input(X, params, words):
    with pytest.raises(ValueError, match=words):
        as_similarity(X, "path", **params)


def test_new_objects_by_their_distances():
    D = squareform(pdist(np.array([[0.0], [1.0], [2.0], [9.0]])))
    S = path(D)
    new = np.array([[0.5, 0.5, 1.5, 8.5], [9.0, 8.0, 7.0, 0.0]])
    # through the nearest object: 0 (a step of 0.5, then 1 to the next) and 3 itself
    np.testing.assert_allclose(S.cross(new, np.arange(4)), [[6.5, 6, 6, 0], [0, 0, 0, 7]])
    sparse = S.cross(sp.csr_array(new + 1e-12), np.arange(4))
    np.testing.assert_allclose(sparse, S.cross(new, np.arange(4)), atol=1e-9)
