"""Which of many balls are one, against the plain form."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets.clusters.balls import Ball, distinct


def plainly_distinct(balls, n):
    """Each that shares less than half of its weight with every one kept before it."""
    kept = []
    for ball in balls:
        x = np.zeros(n)
        x[ball.members] = ball.weights
        for other in kept:
            y = np.zeros(n)
            y[other.members] = other.weights
            if np.minimum(x, y).sum() >= 0.5 * x.sum():
                break
        else:
            kept.append(ball)
    return kept


@pytest.mark.parametrize("seed", range(5))
def test_twins_are_left_out(seed):
    """Weights are eighths, so that sums are exact: half of it shared is too much."""
    rng = np.random.default_rng(seed)
    balls = []
    for _ in range(30):
        first, size = rng.integers(0, 40), rng.integers(2, 9)
        weights = np.zeros(50)
        weights[first : first + size] = rng.integers(1, 4, size) / 8.0
        balls.append(Ball.of(np.zeros(2), weights, 1.0))
    found = distinct(balls)
    assert found == plainly_distinct(balls, 50)
    assert 1 < len(found) < 30


def test_half_is_too_much_and_nothing_is_none():
    x, y = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0, 0.0])
    one, half, other = (Ball.of(np.zeros(1), weights, 2.0) for weights in (x, y, 0.75 * y))
    assert distinct([one, half]) == [one]
    assert distinct([one, other]) == [one]
    assert distinct([other, one]) == [other, one]  # 0.75 of 2 is less than half
    assert distinct([]) == []
    assert half.members.tolist() == [1, 2]
    np.testing.assert_array_equal(half.weights, [1.0, 1.0])
    assert half.kappa == 2.0
