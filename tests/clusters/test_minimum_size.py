"""Shifts under which no cluster is small."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, Status, as_similarity, guaranteed_shift, peel, sufficient_shift
from dominantsets.clusters import minimum_size
from support import cliques, given_comparisons, inverse_distance, random_similarity

KINDS = ["sqeuclidean", "cosine", "linear", "rbf", "laplacian", "euclidean", "dense", "graph", "callable"]


def similarity(kind, n, seed):
    rows = np.random.default_rng(seed).random((n, 3)) + 0.1
    if kind == "dense":
        return as_similarity(random_similarity(n, seed))
    if kind == "graph":
        return as_similarity(sp.csr_array(random_similarity(n, seed, zeros=0.4)))
    return as_similarity(rows, inverse_distance if kind == "callable" else kind)


@given(st.sampled_from(KINDS), st.integers(2, 30), st.integers(0, 10_000))
def test_the_bound_of_the_largest_similarity(kind, n, seed):
    S = similarity(kind, n, seed)
    assert S.largest() >= S.toarray().max() * (1.0 - 1e-12)


@given_comparisons(
    0.9, st.sampled_from(KINDS), st.integers(4, 30), st.integers(2, 12), st.integers(0, 10_000)
)
def test_no_cluster_is_small_under_the_guaranteed_shift(kind, n, size, seed):
    S = similarity(kind, n, seed)
    left = n
    for found in peel(S, n, shift=guaranteed_shift(S, size), cutoff=0.0, tol=1e-12):
        if found.status is not Status.CONVERGED:
            break  # the theorem is about stationary points; graphs dissolve under large shifts
        assert len(found) >= min(size, left)
        left -= len(found)
    return left < n


def test_it_knows_no_unit():
    X, _ = make_blobs(60, centers=3, random_state=0)
    for size in (2, 5):
        shifts = [guaranteed_shift(as_similarity(scale * X, "sqeuclidean"), size) for scale in (1.0, 1e-6)]
        assert shifts[1] == pytest.approx(1e-12 * shifts[0])
    with pytest.raises(ValueError, match="size"):
        guaranteed_shift(as_similarity(X, "rbf"), 0)


def test_it_is_just_above_two_less_than_the_size_in_units_of_the_largest_similarity():
    S = as_similarity(3.0 * random_similarity(9, 1))
    assert guaranteed_shift(S, 1) == 0.0  # any set will do
    for size in (2, 3, 7):
        assert 0.0 < guaranteed_shift(S, size) / S.largest() - (size - 2) < 1e-5


def test_a_search_ends_at_the_guaranteed_shift_or_at_the_least_one():
    """Three alike in each group, and four are asked for: no less will do; two of thirty: anything will."""
    threes = as_similarity(cliques([3, 3, 3]).toarray())
    shift = sufficient_shift(threes, 4, 1)
    assert shift <= guaranteed_shift(threes, 4)
    assert len(next(peel(threes, 1, shift=shift))) >= 4
    alike = as_similarity(np.random.default_rng(0).normal(size=(30, 2)), "rbf", gamma=1e-3)
    level = 1.0  # the similarity to oneself
    least = minimum_size.LEAST * (guaranteed_shift(alike, 2) + level) - level
    assert sufficient_shift(alike, 2, 1) == pytest.approx(least)


def test_all_that_is_left_is_enough():
    """Six alike and three alike: once the six are gone, no set of six can be had, and none is asked for."""
    S = as_similarity(cliques([6, 3]))
    shift = sufficient_shift(S, 6, 2)
    assert [len(c) for c in peel(S, 2, shift=shift)] == [6, 3]
    assert shift < 0.5 * guaranteed_shift(S, 6)


def test_the_guarantee_cannot_be_had_for_less():
    """A clique of k equal similarities, alone: k members are stationary up to (k - 1) a, not above."""
    A = np.zeros((8, 8))
    A[:3, :3] = A[3:, 3:] = 1.0
    np.fill_diagonal(A, 0.0)
    below = next(peel(A, 1, shift=2.0 - 1e-3, start=0))
    above = next(peel(A, 1, shift=guaranteed_shift(as_similarity(A), 4), start=0))
    assert set(below.members) == {0, 1, 2}
    assert len(above) >= 4


@pytest.mark.parametrize("affinity", ["sqeuclidean", "rbf", "nearest_neighbors"])
def test_the_search_finds_a_smaller_one_that_is_enough(affinity):
    X, _ = make_blobs(300, centers=4, random_state=0)
    S = as_similarity(X, affinity)
    size = 12
    shift = sufficient_shift(S, size, 4)
    assert shift <= guaranteed_shift(S, size)
    sizes = [len(c) for c in peel(S, 4, shift=shift)]
    assert min(sizes) >= size
    peak = S.largest() if S.self_similarity is None else S.self_similarity
    less = [len(c) for c in peel(S, 4, shift=(shift + peak) / 1.12 - peak)]
    assert min(less) < size  # not smaller than it has to be


def test_the_estimator_offers_both():
    X, _ = make_blobs(300, centers=4, random_state=0)
    for shift in ("guaranteed", "sufficient"):
        model = DominantSets(3, affinity="rbf", shift=shift, min_cluster_size=20).fit(X)
        assert min(len(c) for c in model.clusters_) >= 20
        assert "20 members" in model.selection_.reason
    assert model.shifts_[0] < guaranteed_shift(model.similarity_, 20)
    with pytest.raises(ValueError, match="min_cluster_size, which must be at least 2"):
        DominantSets(3, shift="guaranteed", affinity="sqeuclidean").fit(X)
