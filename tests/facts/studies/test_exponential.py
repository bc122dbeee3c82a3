"""Exponential replicator dynamics: the plain form, and a value that does not fall whatever the rate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

import reference
from dominantsets import Status, solve
from support import given_comparisons, random_similarity, vector

similarities = st.builds(random_similarity, st.integers(3, 14), st.integers(0, 10_000), st.just(0.2))


def run(A, rate=1.0, **options):
    return solve(
        A,
        algorithm="exponential-replicator",
        start="barycenter",
        algorithm_params={"rate": rate},
        **options,
    )


@pytest.mark.parametrize("shift", [0.0, 2.0])
@pytest.mark.parametrize("rate", [0.5, 1.0, 6.0])
def test_every_step_is_the_plain_one(shift, rate):
    A = random_similarity(30, seed=3)
    iterates = reference.exponential_replicator(
        reference.shifted(A, shift), reference.barycenter(A), 60, rate
    )
    for t in (1, 2, 10, 60):
        np.testing.assert_allclose(
            vector(run(A, rate, shift=shift, tol=0.0, max_iter=t), 30), iterates[t], atol=1e-10
        )


@given_comparisons(0.9, similarities, st.sampled_from([1.0, 30.0, 3000.0]), st.sampled_from([0.0, 1.0]))
def test_the_value_does_not_fall_whatever_the_rate(A, rate, shift):
    """Without the safeguard large rates jump from one vertex to another."""
    cluster = run(A, rate, shift=shift, trace=True, max_iter=100)
    values = np.append(cluster.trace.value, cluster.value)
    assert np.diff(values).min() >= -1e-13
    return len(values) > 2


def test_a_rate_that_is_large_would_swing_without_the_safeguard():
    A = 1.0 - np.eye(2)
    x = np.array([0.6, 0.4])
    unguarded = x * np.exp(50.0 * (A @ x) / (x @ A @ x))
    unguarded /= unguarded.sum()
    assert unguarded @ A @ unguarded < x @ A @ x
    cluster = solve(
        A, algorithm="exponential-replicator", start=x, algorithm_params={"rate": 50.0}, tol=1e-12
    )
    np.testing.assert_allclose(cluster.weights, 0.5, atol=1e-6)


def test_it_settles_where_replicator_dynamics_does():
    A = random_similarity(25, seed=9)
    one, other = run(A, tol=1e-9), solve(A, algorithm="replicator", start="barycenter", tol=1e-9)
    assert one.status in (Status.STEADY, Status.CONVERGED)
    assert one.value == pytest.approx(other.value, abs=1e-7)


def test_parameters_are_refused_by_name():
    A = random_similarity(5)
    with pytest.raises(ValueError, match="has no parameter 'pace'; it takes: rate"):
        solve(A, algorithm="exponential-replicator", algorithm_params={"pace": 1.0})
    with pytest.raises(ValueError, match="'pairwise' has no parameter 'rate'; it takes none"):
        solve(A, algorithm="pairwise", algorithm_params={"rate": 1.0})
    with pytest.raises(ValueError, match="rate must be above 0"):
        run(A, 0.0)
    with pytest.raises(ValueError, match="a fixed point"):
        solve(A, algorithm="exponential-replicator", start=2)
