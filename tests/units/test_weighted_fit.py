"""``sample_weight`` in ``fit``: the answer of repeated rows, as one of the objects."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dominantsets import as_similarity, peel, solve
from dominantsets.fitting.copies import counts_of
from dominantsets.similarity.solving import fold


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.0, 20.0), min_size=1, max_size=40).filter(lambda w: sum(w) > 1e-3))
def test_counts_are_the_weights_to_one(weights):
    w = np.array(weights)
    counts = counts_of(w)
    assert (counts >= 0).all()
    scale = max(w.sum(), np.count_nonzero(w)) / w.sum()
    for i in range(len(w)):
        for j in range(i, len(w)):
            # to one, and half of one more for the rounding of the number of copies
            assert abs(counts[i : j + 1].sum() - scale * w[i : j + 1].sum()) < 1.5 + 1e-6
    if (w == np.rint(w)).all():
        np.testing.assert_array_equal(counts, w)


def test_many_copies_are_fewer_in_proportion():
    w = np.array([1e9, 3e9, 0.0])
    counts = counts_of(w)
    assert counts.sum() <= 2_000_000
    assert counts.tolist() == [500_000, 1_500_000, 0]


@pytest.mark.parametrize("affinity", ["rbf", "laplacian", "euclidean"])
def test_copies_are_folded_where_that_is_cheaper(affinity):
    """The same set as by a solver that sees every row; value, gap and margin hold for all rows."""
    rng = np.random.default_rng(0)
    U = rng.normal(size=(80, 3))
    X = U[rng.integers(0, 80, 600)]
    S, shift = as_similarity(X, affinity), 20.0
    assert fold(S).similarity.n == len(np.unique(X, axis=0))
    found, plain = solve(S, shift=shift), solve(S, shift=shift, algorithm="pairwise")
    np.testing.assert_array_equal(found.members, plain.members)
    np.testing.assert_allclose(found.weights, plain.weights, atol=1e-7)
    A = S.block(np.arange(600), np.arange(600))
    x = np.zeros(600)
    x[found.members] = found.weights
    payoffs = A @ x - shift * x
    f = x @ payoffs
    assert f + shift == pytest.approx(found.value, rel=1e-12)
    assert payoffs.max() - f == pytest.approx(found.gap, abs=1e-12 * abs(f + shift))
    run, other = peel(S, 3, shift=shift), peel(S, 3, shift=shift, algorithm="pairwise")
    for a, b in zip(run, other, strict=True):
        np.testing.assert_array_equal(a.members, b.members)
    np.testing.assert_array_equal(run.labels, other.labels)
    assert fold(as_similarity(U, affinity)) is None
