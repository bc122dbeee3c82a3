"""Similarities by rank: nothing changes under an increasing map."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn.datasets import make_blobs

from dominantsets import DominantSetHierarchy, DominantSets, as_similarity, solve
from support import CORNERS, features, formula, neighbor_graph, random_distances, random_similarity

MAPS = {
    "exp": np.exp,
    "cube": lambda v: v**3,
    "root": np.sqrt,
    "affine": lambda v: 7.0 * v + 3.0,
    "a step for every value": lambda v: np.searchsorted(np.unique(v), v).astype(float) ** 2 + 1.0,
}


def by_hand(A):
    """Ranks of the pairs, the least 0 and the largest 1."""
    n = len(A)
    upper = np.triu_indices(n, 1)
    ranks = rankdata(A[upper], method="max")
    out = np.zeros((n, n))
    least = ranks.min() if np.ptp(ranks) > 0 else 0
    out[upper] = (ranks - least) / (ranks.max() - least)
    return out + out.T


@given(st.integers(2, 15), st.integers(0, 10_000), st.booleans())
def test_ranks_are_those_of_scipy(n, seed, ties):
    A = random_distances(n, seed, ties)
    np.testing.assert_allclose(
        as_similarity(A + 1 - np.eye(n), equalize=True).toarray(), by_hand(A), atol=1e-15
    )


@pytest.mark.parametrize("name", MAPS)
@given(st.integers(0, 10_000), st.booleans())
def test_no_increasing_map_changes_anything(name, seed, ties):
    """Bit by bit: the matrix, a dominant set and its certificate."""
    A = random_distances(12, seed, ties) if ties else random_similarity(12, seed)
    off = ~np.eye(12, dtype=bool)
    B = np.zeros_like(A)
    B[off] = MAPS[name](A[off])
    if len(np.unique(B[off])) < len(np.unique(A[off])):  # a map that rounds two values to one
        return
    one, other = as_similarity(A + 0.0, equalize=True), as_similarity(B, equalize=True)
    np.testing.assert_array_equal(one.toarray(), other.toarray())
    first, second = solve(one, shift=0.5), solve(other, shift=0.5)
    np.testing.assert_array_equal(first.members, second.members)
    np.testing.assert_array_equal(first.weights, second.weights)
    assert (first.value, first.gap, first.status) == (second.value, second.gap, second.status)


@pytest.mark.parametrize("name", ["exp", "cube", "affine"])
def test_of_a_graph_the_edges_are_ranked(name):
    A = neighbor_graph(300)
    A.sort_indices()
    B = A.copy()
    B.data = MAPS[name](B.data)
    one, other = as_similarity(A, equalize=True), as_similarity(B, equalize=True)
    assert (one.matrix != other.matrix).nnz == 0
    np.testing.assert_allclose(one.matrix.data, rankdata(A.data, method="max") / A.nnz, atol=1e-15)
    np.testing.assert_array_equal(one.matrix.indices, A.indices)  # what is no edge stays none
    models = [
        DominantSets(4, affinity="precomputed", affinity_params={"equalize": True}).fit(M) for M in (A, B)
    ]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    np.testing.assert_array_equal(models[0].predict(A[:40]), models[1].predict(B[:40]))


def test_two_directions_of_an_edge_that_differ_by_rounding_have_one_rank():
    A = random_similarity(20, 0)
    A[3, 4] *= 1 + 1e-14
    for stored in (A, sp.csr_array(A)):
        ranked = as_similarity(stored, equalize=True).toarray()
        np.testing.assert_array_equal(ranked, ranked.T)


def test_the_width_of_a_kernel_is_no_parameter():
    """Whole numbers about 0, so that all distances are exact: labels and predictions are the same."""
    X, _ = make_blobs(120, centers=CORNERS, random_state=0)
    X = np.round(8 * X)
    X = np.vstack([X, -X])
    kinds = [("sqeuclidean", {}), ("euclidean", {}), *(("rbf", {"gamma": g}) for g in (1e-5, 1e-4, 1e-3))]
    models = [
        DominantSets(7, affinity=name, affinity_params={**params, "equalize": True}, shift=2.0).fit(X)
        for name, params in kinds
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
        np.testing.assert_array_equal(model.predict(X[:20]), models[0].predict(X[:20]))


def test_new_objects_are_ranked_among_the_old_pairs():
    X = features(40)
    S = as_similarity(X, "rbf", gamma=0.1, equalize=True)
    A = formula("rbf", X)
    seen = np.sort(A[np.triu_indices(40, 1)])
    new = features(5, seed=1)
    given = as_similarity(X, "rbf", gamma=0.1).cross(new, np.arange(40))
    share = np.array([[np.count_nonzero(seen <= v) for v in row] for row in given])
    np.testing.assert_allclose(S.cross(new, np.arange(40)), np.maximum(share - 1, 0) / (seen.size - 1))


def test_equal_similarities_stay_equal():
    S = as_similarity(np.full((4, 4), 0.3) - 0.3 * np.eye(4), equalize=True)
    np.testing.assert_array_equal(S.toarray(), 1 - np.eye(4))
    assert as_similarity(np.array([[1.0, 2.0]]), "sqeuclidean", equalize=True).n == 1


def test_a_model_travels_and_a_hierarchy_takes_it(tmp_path):
    X = features(80)
    model = DominantSets(3, affinity="rbf", affinity_params={"equalize": True}).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert as_similarity(X, "rbf", equalize=True).fingerprint() == model.similarity_.fingerprint()
    tree = DominantSetHierarchy(affinity="rbf", affinity_params={"equalize": True}).fit(X)
    assert tree.labels_.shape == (80,)


def test_rows_elsewhere_are_refused():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="rows in this process's memory"):
        as_similarity(da.from_array(features(), chunks=(30, 4)), "rbf", equalize=True)


@pytest.mark.parametrize("wanted", ["yes", 1, None])
def test_it_is_yes_or_no(wanted):
    with pytest.raises(ValueError, match="equalize must be True or False"):
        as_similarity(features(), "rbf", equalize=wanted)


def test_objects_without_a_way_between_them_are_refused():
    D = sp.block_diag([random_distances(3, 0, False), random_distances(3, 1, False)])
    with pytest.raises(ValueError, match="a way between any two objects"):
        as_similarity(sp.csr_array(D), "path", metric="precomputed", equalize=True)
    X = features()
    plain = as_similarity(X, "rbf", equalize=False)
    np.testing.assert_array_equal(plain.toarray(), as_similarity(X, "rbf").toarray())
