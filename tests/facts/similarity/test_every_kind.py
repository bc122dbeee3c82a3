"""Every kind of similarity against its own dense matrix."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from dominantsets import as_similarity
from support import features, formula, given_comparisons


def test_new_objects_in_a_neighbor_graph():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    S = as_similarity(X, "nearest_neighbors", n_neighbors=2)
    # 0.4 is nearest to 0 and 1, and nearer to 0 and 1 than their second neighbours; 2 reaches to 0.
    np.testing.assert_array_equal(S.cross(np.array([[0.4]]), np.arange(6)), [[1, 1, 0.5, 0, 0, 0]])


def test_offset_is_the_bound_of_the_design_and_exact_on_request():
    X = features()
    D2 = np.square(X[:, None, :] - X[None, :, :]).sum(axis=2)
    bound = 4 * np.square(X - X.mean(axis=0)).sum(axis=1).max()
    assert as_similarity(X, "sqeuclidean").offset == pytest.approx(bound)
    assert as_similarity(X, "sqeuclidean", offset="exact").offset == pytest.approx(D2.max())
    assert as_similarity(X, "euclidean").offset == pytest.approx(np.sqrt(bound))
    assert as_similarity(X, "euclidean", offset="exact").offset == pytest.approx(np.sqrt(D2.max()))
    assert as_similarity(X, "sqeuclidean", offset=bound + 1).offset == bound + 1
    with pytest.raises(ValueError, match="could be negative"):
        as_similarity(X, "sqeuclidean", offset=0.1)


def test_linear_with_negative_products():
    X = np.array([[1.0, 0.0], [-1.0, 1.0]])
    with pytest.raises(ValueError, match="objects 0 and 1 is -1, but similarities must not be"):
        as_similarity(X, "linear")
    S = as_similarity(X, "linear", offset="bound")
    assert S.column(0)[1] == pytest.approx(-1 + 2)  # the longest row has squared length 2


def test_equal_objects_are_all_alike():
    for affinity in ("sqeuclidean", "euclidean", "rbf", "cosine"):
        A = as_similarity(np.full((4, 3), 0.1), affinity).toarray()
        off = A[~np.eye(4, dtype=bool)]
        assert off.min() > 0
        assert off.max() == pytest.approx(off.min())


def test_features_never_form_the_matrix():
    """n = 200,000 and d = 16: n² floats would be 320 GB; allowed are 40 bytes × n × d."""
    n, d = 200_000, 16
    X = np.random.default_rng(0).normal(size=(n, d))
    gc.collect()
    tracemalloc.start()
    S = as_similarity(X, "cosine")
    S.degrees()
    S.gradient(np.arange(100), np.full(100, 0.01))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * n * d


def test_a_sparse_similarity_never_densifies():
    X = sp.random_array((3_000, 50_000), density=1e-3, rng=np.random.default_rng(0)).tocsr()
    X.data[:] = 1.0
    tracemalloc.start()
    for affinity in ("linear", "cosine", "sqeuclidean"):
        S = as_similarity(X, affinity)
        S.degrees()
        S.column(0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.05 * 8 * X.shape[0] * X.shape[1]


@given_comparisons(0.9, st.integers(2, 12), st.integers(1, 4), st.integers(0, 10_000))
def test_low_rank_agrees_with_its_formula_whatever_the_data(n, d, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 1) + rng.integers(-3, 3)  # ties and duplicates occur
    X[~X.any(axis=1)] = 1.0
    x = rng.random(n)
    distinct = bool(
        np.ptp(X, axis=0).any()
    )  # of equal objects the offset is 1, which the formula does not know
    for affinity in ("sqeuclidean", "cosine") if distinct else ("cosine",):
        S, A = as_similarity(X, affinity), formula(affinity, X)
        got = S.gradient(np.arange(n), x)
        np.testing.assert_allclose(got, A @ x, atol=1e-11 * max(1.0, A.max()), rtol=0)
    return distinct


@pytest.mark.parametrize("k", [1, 15])
def test_approximate_neighbours_are_nearly_the_exact_ones(k):
    X = features(3_000, 12, seed=3)
    exact = as_similarity(X, "nearest_neighbors", n_neighbors=k, search="exact")
    near = as_similarity(X, "nearest_neighbors", n_neighbors=k, search="approximate", n_jobs=2)
    shared = exact.toarray()[near.toarray() > 0]
    assert (shared > 0).mean() > 0.9
    again = as_similarity(X, "nearest_neighbors", n_neighbors=k, search="approximate")
    np.testing.assert_array_equal(near.toarray(), again.toarray())
    # an object of the data, asked for as a new one, sees those it sees from inside (and itself)
    some, every = np.arange(0, 3_000, 97), np.arange(3_000)
    seen, known = near.cross(X[some], every), near.block(some, every)
    assert ((seen > 0)[known == 1.0]).mean() > 0.95


def test_a_matrix_may_be_a_list_of_lists():
    rows = [[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    np.testing.assert_array_equal(as_similarity(rows).toarray(), rows)
