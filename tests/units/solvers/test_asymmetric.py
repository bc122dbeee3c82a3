"""Asymmetric similarities: infection and immunisation, and the test of evolutionary stability."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import brute_force
from dominantsets.solvers.ess import as_rationals, stable_against_ties, strictly_copositive

sizes, seeds = st.integers(2, 6), st.integers(0, 10_000)


# against enumeration ------------------------------------------------------------------------------------


@given(st.integers(1, 5), seeds)
def test_strict_copositivity_against_kellers_criterion(n, seed):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.integers(-2, 4, (n, n)))
    W = W + np.triu(W, 1).T
    expected = brute_force.strictly_copositive([[Fraction(int(v)) for v in row] for row in W])
    assert strictly_copositive(as_rationals(W)) is expected


def test_too_many_ties_are_said_to_be_untested():
    n = 16
    W = as_rationals(-np.ones((n, n)) / (n - 1.5) + (1.0 + 1.0 / (n - 1.5)) * np.eye(n))
    assert strictly_copositive(W) is None
    assert strictly_copositive(W[:8, :8]) is True  # positive definite: fewer of the same
    assert strictly_copositive(as_rationals(np.eye(n) + 1.0)) is True
    assert stable_against_ties(np.zeros((2, 2)), np.array([0]), np.array([1])) is False
