"""Sets that come together are claimed as they would be one after another."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dominantsets.clusters.balls import SAME
from dominantsets.clusters.claims import Claims


def one_by_one(n, sets):
    """Labels, sizes and who is taken, by the definition."""
    labels, sizes, taken = np.full(n, -1), [], []
    for members in sets:
        names = labels[members]
        shared = np.bincount(names[names >= 0], minlength=1)
        size = sizes[shared.argmax()] if sizes else 0
        taken.append(bool(shared.max() <= SAME * max(members.size, size)))
        if taken[-1]:
            free = members[names < 0]
            labels[free] = len(sizes)
            sizes.append(free.size)
    return labels, sizes, taken


@given(k=st.integers(1, 6), overlap=st.floats(0.0, 1.0), looks=st.booleans(), seed=st.integers(0, 10_000))
def test_claims(k, overlap, looks, seed):
    rng = np.random.default_rng(seed)
    n = 80
    sets = [np.arange(10 * j, 10 * j + 10) for j in range(k)]  # and some of what others have
    sets = [np.union1d(s, rng.choice(n, int(10 * overlap * rng.random()), replace=False)) for s in sets]
    sets += sets[: int(2 * overlap)]
    labels, sizes, taken = one_by_one(n, sets)
    claims = Claims(n)
    half = len(sets) // 2
    for part in (sets[:half], sets[half:]):
        if looks and len(part) > 1:
            claims.expect(part)
        assert [claims.take(members) for members in part] == taken[: len(part)]
        taken = taken[len(part) :]
    np.testing.assert_array_equal(claims.labels, labels)
    assert claims.sizes == sizes


def test_what_was_looked_at_and_not_taken_has_no_label():
    """A run that ends early leaves sets that it has looked at."""
    claims = Claims(30)
    sets = [np.arange(10), np.arange(10, 20), np.arange(20, 30)]
    claims.expect(sets)
    assert claims.take(sets[0])
    np.testing.assert_array_equal(claims.labels, np.repeat([0, -1], [10, 20]))
    assert claims.take(sets[1])
    np.testing.assert_array_equal(claims.labels, np.repeat([0, 1, -1], 10))


def test_a_cluster_of_an_earlier_run_is_taken_anyway():
    claims = Claims(10)
    assert claims.take(np.arange(5))
    assert not claims.take(np.arange(5))
    assert claims.take(np.arange(5), anyway=True)
    assert claims.sizes == [5, 0]


def test_half_of_a_set_may_be_shared():
    """As much as ``SAME`` allows, and one object more."""
    assert SAME == 0.5
    for shared, new in ((5, True), (6, False)):
        claims = Claims(30)
        claims.take(np.arange(10))
        assert claims.take(np.arange(10 - shared, 20 - shared)) is new
