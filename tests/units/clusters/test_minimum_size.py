"""Shifts under which no cluster is small."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dominantsets import Status, as_similarity, guaranteed_shift, peel, sufficient_shift
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
