"""Frank-Wolfe and replicator dynamics: the paper's iterates, step by step."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import event
from hypothesis import strategies as st

import reference
from dominantsets import Step, solve
from support import given_comparisons, random_similarity, vector

RULES = ("fw", "pairwise", "away")
similarities = st.builds(  # of more than two objects, which need one step
    random_similarity, st.integers(3, 14), st.integers(0, 10_000), st.sampled_from([0.0, 0.4, 0.8])
)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("start", ["vertex", "barycenter"])
@given_comparisons(0.9, similarities, st.sampled_from([0.0, 0.3, 2.0, 15.0]))
def test_every_step_is_the_papers(start, rule, A, shift):
    """Shift on the diagonal against shift off the diagonal, compiled against plain NumPy.

    Nothing is compared where the start is stationary already.
    """
    M = reference.shifted(A, shift)
    x = reference.vertex(A) if start == "vertex" else reference.barycenter(A)
    steps = 0
    for t in range(1, 16):
        possible = reference.successors(M, rule, x, 1e-9 * M.max())
        if not possible:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            cluster = solve(A, algorithm=rule, start=start, shift=shift, tol=0.0, max_iter=t)
        assert cluster.n_iter == t
        x = vector(cluster, len(A))
        assert min(np.abs(x - y).max() for y in possible) < 1e-8
        steps += 1
    event(f"steps compared: {min(steps, 10)}")
    return steps > 0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_long_runs_follow_the_reference_where_there_are_no_ties(rule, shift):
    A = random_similarity(60, seed=5)
    M = reference.shifted(A, shift)
    # An optimal exchange leaves r_i = r_j: pairwise walks from tie to tie, broken by rounding.
    for t in (1, 2, 5) if rule == "pairwise" else (1, 2, 5, 20, 60):
        expected = reference.frank_wolfe(M, rule, reference.vertex(A), t)[-1]
        cluster = solve(A, algorithm=rule, shift=shift, tol=0.0, max_iter=t)
        np.testing.assert_allclose(vector(cluster, 60), expected, atol=1e-11)


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_replicator_dynamics_are_the_papers(shift):
    A = random_similarity(30, seed=3)
    iterates = reference.replicator(reference.shifted(A, shift), reference.barycenter(A), 200)
    for t in (1, 10, 200):
        cluster = solve(A, algorithm="replicator", start="barycenter", shift=shift, tol=0.0, max_iter=t)
        np.testing.assert_allclose(vector(cluster, 30), iterates[t], atol=1e-12)


def test_replicator_stops_when_two_iterates_are_close():
    A = random_similarity(20, seed=1)
    eps = 1e-6
    expected = len(reference.replicator(A, reference.barycenter(A), 10_000, eps)) - 1
    assert solve(A, algorithm="replicator", start="barycenter", tol=eps, max_iter=10_000).n_iter == expected


def beyond_doubt(M: np.ndarray, iterates: list[np.ndarray]) -> int:
    """Steps until rounding decides whether to go on, which way, or which object it is about."""
    tie = 1e-9 * M.max()
    for k, x in enumerate(iterates):
        r = M @ x
        f, best, worst = x @ r, np.sort(r), np.sort(r[x > 0])
        more = (best[-1] - f) - (f - worst[0])
        asked = best[::-1] if more > 0 else worst
        if best[-1] - f < tie or abs(more) < tie or (asked.size > 1 and abs(asked[1] - asked[0]) < tie):
            return k
    return len(iterates) - 1


@pytest.mark.parametrize("algorithm", ["away", "inimdyn"])
@given_comparisons(0.9, similarities, st.sampled_from([0.0, 0.5]))
def test_away_steps_walk_the_iterates_of_infection_immunization(algorithm, A, shift):
    """Proposition 1, as far as no tie leaves the next step open."""
    M = reference.shifted(A, shift)
    expected = reference.infection_immunization(M, reference.vertex(A), 25)
    last = beyond_doubt(M, expected)
    for t in range(1, last + 1):
        cluster = solve(A, algorithm=algorithm, shift=shift, tol=0.0, max_iter=t)
        assert cluster.algorithm == algorithm
        np.testing.assert_allclose(vector(cluster, len(A)), expected[t], atol=1e-9)
    event(f"steps compared: {min(last, 10)}")
    return last > 0


def test_proposition_1_on_a_larger_similarity():
    A = random_similarity(50, seed=11)
    expected = reference.infection_immunization(A, reference.vertex(A), 60)
    assert len(expected) == 61
    for t in range(1, 61, 7):
        cluster = solve(A, algorithm="away", tol=0.0, max_iter=t)
        np.testing.assert_allclose(vector(cluster, 50), expected[t], atol=1e-10)


def test_steps_are_named_and_counted():
    A = random_similarity(40, seed=4)
    for rule, allowed in {
        "fw": {Step.TOWARD},
        "pairwise": {Step.EXCHANGE, Step.DROP, Step.SWAP},
        "away": {Step.TOWARD, Step.RETREAT, Step.DROP},
    }.items():
        start = "vertex" if rule == "fw" else "barycenter"
        cluster = solve(A, algorithm=rule, start=start, trace=True, max_iter=400)
        trace = cluster.trace
        assert trace is not None
        assert len(trace) == cluster.n_iter
        assert set(trace.step.tolist()) <= set(allowed)
        counts = trace.counts()
        assert sum(counts.values()) == cluster.n_iter
        # sizes change exactly as the kinds say: drops take one out, swaps none
        sizes = np.append(trace.support_size, len(cluster))
        change = np.diff(sizes)
        assert (change[trace.step == Step.DROP] == -1).all()
        assert (change[trace.step == Step.SWAP] == 0).all()
        if rule != "fw":
            assert counts["drop"] > 0


def test_fw_from_the_barycenter_warns_and_keeps_everybody():
    A = random_similarity(20, seed=0)
    with pytest.warns(UserWarning, match="never takes an object out"):
        cluster = solve(A, algorithm="fw", start="barycenter", max_iter=100)
    assert len(cluster) == 20
