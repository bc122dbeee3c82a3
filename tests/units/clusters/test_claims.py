"""Which cluster has each object, and which sets were found before."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dominantsets.clusters.claims import Claims


@given(k=st.integers(1, 6), overlap=st.floats(0.0, 1.0), seed=st.integers(0, 10_000))
def test_claims(k, overlap, seed):
    """By sets: a set is new if it shares at most half of the larger one with what each cluster has."""
    rng = np.random.default_rng(seed)
    n = 80
    sets = [np.arange(10 * j, 10 * j + 10) for j in range(k)]  # and some of what others have
    sets = [np.union1d(s, rng.choice(n, int(10 * overlap * rng.random()), replace=False)) for s in sets]
    sets += sets[: int(2 * overlap)]
    claims, found = Claims(n), []
    for members in sets:
        mine = set(members.tolist())
        most = max(found, key=lambda other: len(mine & other), default=set())  # the first of equal ones
        new = len(mine & most) <= max(len(mine), len(most)) / 2
        assert claims.take(members) is new
        if new:
            found.append(mine.difference(*found))
    labels = [next((k for k, one in enumerate(found) if i in one), -1) for i in range(n)]
    np.testing.assert_array_equal(claims.labels, labels)
    assert claims.sizes == [len(one) for one in found]


def test_a_cluster_of_an_earlier_run_is_taken_anyway():
    claims = Claims(10)
    assert claims.take(np.arange(5))
    assert not claims.take(np.arange(5))
    assert claims.take(np.arange(5), anyway=True)
    assert claims.sizes == [5, 0]


def test_half_of_a_set_may_be_shared():
    for shared, new in ((5, True), (6, False)):
        claims = Claims(30)
        claims.take(np.arange(10))
        assert claims.take(np.arange(10 - shared, 20 - shared)) is new
