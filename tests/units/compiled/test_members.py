"""Labels and members against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dominantsets.compiled import members as of_members


@pytest.fixture(autouse=True)
def threads(monkeypatch):
    monkeypatch.setattr(of_members, "OBJECTS", 5)
    monkeypatch.setattr("dominantsets.compiled.threads.N_THREADS", 4)


@given(n=st.integers(1, 60), k=st.integers(1, 4), seed=st.integers(0, 10_000))
def test_what_members_ask_for(n, k, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, k, size=n)
    members = np.flatnonzero(rng.random(n) < 0.5)
    weights = rng.random(members.size) + 0.1
    np.testing.assert_array_equal(of_members.sizes_of(labels, k), [(labels == a).sum() for a in range(k)])
    if members.size:
        memberships, expected = np.zeros(n), np.zeros(n)
        of_members.put_memberships(labels, members, weights, 0, memberships)
        expected[members] = np.where(labels[members] == 0, weights / weights.max(), 0.0)
        np.testing.assert_allclose(memberships, expected)


@given(n=st.integers(1, 60), k=st.integers(1, 6), seed=st.integers(0, 10_000))
def test_what_all_objects_are_asked_for(n, k, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, 3, size=n)
    sets = [np.flatnonzero(rng.random(n) < rng.random()) for _ in range(k)]
    np.testing.assert_array_equal(of_members.joined(sets), np.concatenate(sets))
    probabilities = rng.random(n) + 0.1
    kept = np.where(labels < 0, 0.0, probabilities)
    assert of_members.silence(labels, probabilities) == (labels < 0).sum()
    np.testing.assert_array_equal(probabilities, kept)
