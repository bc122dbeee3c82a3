"""Rounded features, with the rounding undone."""

from __future__ import annotations

import numpy as np

from dominantsets.rows.rounding import unrounded


def test_rounding_is_undone_below_the_last_digit():
    rng = np.random.default_rng(0)
    X = np.round(3.0 * rng.normal(size=(200, 4)))
    X[:, 1] = X[:, 1] > 0.0  # two values are classes, not digits
    X[:, 2] = 7.0
    X[:, 3] = 1e9 * (np.arange(200) == 0) + np.arange(200) % 3  # one far object does not change the digits
    Y = unrounded(X)
    np.testing.assert_array_equal(np.round(Y), X)
    np.testing.assert_array_equal(Y[:, 1:3], X[:, 1:3])
    assert len(np.unique(Y[:, 0])) == 200
    assert abs(np.var(Y[:, 0] - X[:, 0]) - 1.0 / 12.0) < 0.03  # uniform
    mixed = rng.permutation(200)
    np.testing.assert_array_equal(np.sort(unrounded(X[mixed])[:, 0]), np.sort(Y[:, 0]))


def test_what_is_not_rounded_stays():
    rng = np.random.default_rng(0)
    for exact in (rng.normal(size=(50, 2)), np.repeat([[0.0, 1.0]], 50, axis=0), np.empty((0, 2))):
        np.testing.assert_array_equal(unrounded(exact), exact)


def test_values_far_apart_are_classes():
    """A difference larger than the deviation is no last digit."""
    X = np.r_[np.zeros(90), 50.0, 100.0][:, None]
    np.testing.assert_array_equal(unrounded(X), X)
