"""Shifts under which no cluster is small."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, as_similarity, guaranteed_shift, peel, sufficient_shift
from support import cliques, random_similarity


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
