"""The bounds of Theorems 1 to 3 against recorded traces."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dominantsets import solve
from dominantsets.theory import gap_bound, log_gap_bound
from support import random_similarity


@given(
    st.integers(3, 25),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.2, 5.0]),
    st.sampled_from(["vertex", "barycenter"]),
)
@pytest.mark.parametrize("algorithm", ["fw", "pairwise", "away"])
def test_the_smallest_gap_stays_below_its_bound(algorithm, n, seed, shift, start):
    if algorithm == "fw":
        start = "vertex"
    A = random_similarity(n, seed)
    cluster = solve(A, algorithm=algorithm, start=start, shift=shift, tol=0.0, max_iter=200, trace=True)
    trace = cluster.trace
    assert trace is not None
    off = A[~np.eye(n, dtype=bool)] + shift
    smallest = np.minimum.accumulate(2 * trace.gap)  # the gap of the theory
    for t in range(1, len(trace)):
        bound = log_gap_bound(
            algorithm,
            a_max=off.max(),
            a_min=off.min(),
            gain=trace.value[t] - trace.value[0],
            t=t,
            support0=int(trace.support_size[0]),
            n=n,
        )
        assert math.log(max(smallest[t], 1e-300)) <= bound + 1e-9


def test_bounds_by_hand():
    common = {"a_max": 1.0, "a_min": 0.5, "gain": 0.4}
    assert gap_bound("fw", t=10, **common) == pytest.approx(2 * math.sqrt(1.5 * 0.4 / 10))
    assert gap_bound("away", t=10, support0=3, **common) == pytest.approx(2 * math.sqrt(2 * 1.5 * 0.4 / 8))
    assert gap_bound("pairwise", t=10, n=4, **common) == pytest.approx(2 * math.sqrt(6 * 24 * 0.4 / 10))


def test_away_steps_have_no_bound_until_the_support_can_have_shrunk():
    common = {"a_max": 1.0, "a_min": 0.0, "gain": 1.0, "support0": 10}
    assert gap_bound("away", t=9, **common) == math.inf
    assert gap_bound("away", t=10, **common) < math.inf


def test_the_factorial_is_kept_in_logarithms():
    common = {"a_max": 1.0, "a_min": 0.0, "gain": 1.0, "t": 10, "n": 100_000}
    assert gap_bound("pairwise", **common) == math.inf
    # log n! is about n log n - n
    expected = 0.5 * (100_000 * math.log(100_000) - 100_000)
    assert log_gap_bound("pairwise", **common) == pytest.approx(expected, rel=1e-4)


def test_nothing_gained_means_a_bound_of_zero():
    assert gap_bound("fw", a_max=1.0, a_min=0.0, gain=0.0, t=5) == 0.0
