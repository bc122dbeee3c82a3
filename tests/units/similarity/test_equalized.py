"""Similarities by rank: nothing changes under an increasing map."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dominantsets import as_similarity, solve
from dominantsets.similarity import equalized
from support import features, formula


@pytest.mark.parametrize("limit", [150, 500])
def test_many_objects_are_ranked_among_a_sample(monkeypatch, limit):
    """Above the limits: the same rank whichever increasing map, and nearly that of all pairs."""
    X = features(200)
    every = as_similarity(X, "sqeuclidean", equalize=True).toarray()
    monkeypatch.setattr(equalized, "KEPT", 100)
    monkeypatch.setattr(equalized, "SAMPLED", 60)
    monkeypatch.setattr(equalized, "LARGE", limit)
    monkeypatch.setattr(equalized, "TILE", 70)
    A, B = formula("sqeuclidean", X), formula("rbf", X, 0.01)
    one, other = as_similarity(A, equalize=True), as_similarity(B, equalize=True)
    assert (one.stored is None) == (limit < 200)
    np.testing.assert_array_equal(one.toarray(), other.toarray())
    # a share of pairs in a sample of 60 objects is off by about 1/√60 at most
    assert np.abs(one.toarray() - every).max() < 0.13
    np.testing.assert_array_equal(one.toarray(), pickle.loads(pickle.dumps(one)).toarray())
    x = np.full(200, 1 / 200)
    np.testing.assert_allclose(one.gradient(np.arange(200), x), one.toarray() @ x)
    assert solve(one, shift=0.3).relative_gap <= 1e-9
