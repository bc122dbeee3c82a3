"""The bounds of Theorems 1 to 3, with the constant that is proved, against recorded traces."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from dominantsets import Step, solve
from dominantsets.theory import gap_bound, log_gap_bound
from support import given_comparisons, random_similarity

runs = (
    st.integers(3, 25),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.2, 5.0]),
    st.sampled_from(["vertex", "barycenter"]),
)


def recorded(algorithm, n, seed, shift, start):
    """A run of up to 200 iterations, and the similarities of two different objects, the shift included."""
    A = random_similarity(n, seed)
    start = "vertex" if algorithm == "fw" else start
    cluster = solve(A, algorithm=algorithm, start=start, shift=shift, tol=0.0, max_iter=200, trace=True)
    return cluster.trace, A[~np.eye(n, dtype=bool)] + shift


@pytest.mark.parametrize("algorithm", ["fw", "pairwise", "away"])
@given_comparisons(0.75, *runs)  # some starts are a step from the end
def test_the_smallest_gap_stays_below_its_bound(algorithm, n, seed, shift, start):
    trace, off = recorded(algorithm, n, seed, shift, start)
    smallest = np.minimum.accumulate(2 * trace.gap)  # the gap of the theory
    for t in range(1, len(trace)):
        bound = log_gap_bound(
            algorithm,
            a_max=off.max(),
            gain=trace.value[t] - trace.value[0],
            t=t,
            support0=int(trace.support_size[0]),
            n=n,
        )
        assert math.log(max(smallest[t], 1e-300)) <= bound + 1e-9
    return len(trace) > 1


@pytest.mark.parametrize("algorithm", ["fw", "pairwise", "away"])
@given_comparisons(0.75, *runs)  # some starts are a step from the end
def test_the_steps_that_are_not_cut_short_bound_the_gap(algorithm, n, seed, shift, start):
    """The step before the factorial: with n! the bound of Theorem 2 is too far away to be a test of anything.

    A step with its optimal size gains (r_i - f)² / (2 r_i - f) toward i, (f - r_j)² / (2 r_j - f) away from j
    and (r_i - r_j)² / (2 a_ij) from j to i: each at least g² / 8M, with g = 2 (r_i - f) the gap and M the
    largest similarity. So k such steps leave a gap of at most 2 √(2M gain / k), which the first step from a
    vertex may just reach. Of away steps, at least (t + 1 - |σ_0|) / 2 are not cut short, because each
    drop takes out an object that was there at the beginning or came in by a step toward it.
    """
    trace, off = recorded(algorithm, n, seed, shift, start)
    counted = np.cumsum(~np.isin(trace.step, [Step.DROP, Step.SWAP]))
    smallest = np.minimum.accumulate(2 * trace.gap)
    for t in range(1, len(trace)):
        k, gain = int(counted[t - 1]), trace.value[t] - trace.value[0]
        if k:
            bound = 2 * math.sqrt(2 * off.max() * max(gain, 0.0) / k)
            assert smallest[t - 1] <= bound * (1 + 1e-9) + 1e-7 * off.max()
        if algorithm == "away":
            assert 2 * k >= t + 1 - trace.support_size[0]
    return counted[-1] > 0 if len(trace) > 1 else False


def test_the_constant_of_the_paper_is_too_small_for_one_step():
    """Two objects of similarity 1, from one of them: g² = 4, and the step gains 1/2.

    With 2 M the step inequality g² <= 4 beta h is an equality. The paper's 2 M - m = 1 gives 2 < 4: it takes
    f for no less than the least similarity, and f is 0 at a vertex.
    """
    trace = solve(np.array([[0.0, 1.0], [1.0, 0.0]]), algorithm="fw", start=0, tol=0.0, trace=True).trace
    gap, gain = 2.0 * trace.gap[0], 0.5
    assert gap == 2.0
    assert gap == pytest.approx(gap_bound("fw", a_max=1.0, gain=gain, t=1), rel=1e-12)
    assert gap**2 > 4 * (2.0 - 1.0) * gain


def test_bounds_by_hand():
    common = {"a_max": 1.0, "gain": 0.4}
    assert gap_bound("fw", t=10, **common) == pytest.approx(2 * math.sqrt(2.0 * 0.4 / 10))
    assert gap_bound("away", t=10, support0=3, **common) == pytest.approx(2 * math.sqrt(2 * 2.0 * 0.4 / 8))
    assert gap_bound("pairwise", t=10, n=4, **common) == pytest.approx(2 * math.sqrt(6 * 24 * 0.4 / 10))


def test_away_steps_have_no_bound_until_the_support_can_have_shrunk():
    common = {"a_max": 1.0, "gain": 1.0, "support0": 10}
    assert gap_bound("away", t=9, **common) == math.inf
    assert gap_bound("away", t=10, **common) < math.inf


def test_the_factorial_is_kept_in_logarithms():
    common = {"a_max": 1.0, "gain": 1.0, "t": 10, "n": 100_000}
    assert gap_bound("pairwise", **common) == math.inf
    # log n! is about n log n - n
    expected = 0.5 * (100_000 * math.log(100_000) - 100_000)
    assert log_gap_bound("pairwise", **common) == pytest.approx(expected, rel=1e-4)


def test_nothing_gained_means_a_bound_of_zero():
    assert gap_bound("fw", a_max=1.0, gain=0.0, t=5) == 0.0


def test_what_was_observed_is_what_the_page_says():
    root = Path(__file__).parents[2]
    if not (root / "benchmarks").is_dir():
        pytest.skip("benchmarks are in the repository, not in the sdist")
    counts = json.loads((root / "benchmarks" / "results" / "lemma.json").read_text(encoding="utf-8"))
    page = (root / "docs" / "paper.md").read_text(encoding="utf-8")
    assert f"makes {counts['runs']:,} runs" in page
    above = counts["runs with a step above the constant, the paper's"]
    assert f"failed in {above:,} of them, with β = 2M in none" in page
    assert counts["runs with a step above the constant, 2M"] == 0
    assert counts["runs with a gap above the bound, the paper's"] == 0
