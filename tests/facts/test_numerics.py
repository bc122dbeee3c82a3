"""The numerics that the paper leaves out, each a case."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import Status, Step, as_similarity, solve
from support import random_similarity

RULES = ("fw", "pairwise", "away")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shift", [-0.5, 0.0, 1.0])
def test_a_vertex_with_an_empty_row(rule, shift):
    """f = 0 there: no 0/0, and the shift alone decides."""
    A = np.zeros((4, 4))
    A[0, 1] = A[1, 0] = 1.0
    with np.errstate(all="raise"):
        cluster = solve(A, algorithm=rule, start=3, shift=shift)
    assert np.isfinite(cluster.value)
    assert np.isfinite(cluster.gap)
    if shift < 0:  # a vertex is a strict maximum among objects that are not alike
        assert cluster.members.tolist() == [3]
        assert cluster.strict is True


@pytest.mark.parametrize("rule", ["pairwise", "away"])
@pytest.mark.parametrize("shift", [0.0, 0.5, 20.0])
def test_going_on_for_ever_loses_no_mass(rule, shift):
    """Seen in a prototype: steps with i == j turned a gap of 1e-8 into 1e-1."""
    for seed in range(20):
        A = random_similarity(30, seed)
        cluster = solve(A, algorithm=rule, shift=shift, tol=0.0, max_iter=50_000)
        assert cluster.weights.sum() == pytest.approx(1.0, abs=1e-14)
        assert cluster.gap < 1e-13 * max(cluster.value, cluster.threshold)
        assert cluster.status in (Status.STALLED, Status.CONVERGED)
        assert cluster.n_iter < 50_000  # it ends by itself instead of burning the budget


@pytest.mark.parametrize("rule", ["pairwise", "away"])
def test_machine_epsilon_ends_with_a_status_instead_of_the_budget(rule):
    A = random_similarity(100, seed=1)
    cluster = solve(A, algorithm=rule, shift=15.0, tol=2.2e-16, max_iter=10**7)
    assert cluster.status in (Status.STALLED, Status.CONVERGED)
    assert cluster.gap < 1e-14 * cluster.value


@pytest.mark.parametrize("rule", ["pairwise", "away"])
def test_a_drop_leaves_an_exact_zero(rule):
    A = random_similarity(40, seed=2)
    cluster = solve(A, algorithm=rule, start="barycenter", trace=True, max_iter=300)
    assert cluster.trace is not None
    drops = int((cluster.trace.step == Step.DROP).sum())
    assert drops > 10
    # every object that left is really out of the support, not there with a residue
    assert cluster.trace.support_size[0] == 40
    assert cluster.weights.min() > 1e-12


def test_ties_go_to_the_lowest_index():
    A = np.zeros((6, 6))
    for i, j in ((0, 1), (2, 3), (4, 5)):
        A[i, j] = A[j, i] = 1.0
    assert solve(A).members.tolist() == [0, 1]
    again = [solve(A, algorithm=rule).members.tolist() for rule in RULES for _ in range(3)]
    assert again == [[0, 1]] * 9


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
@pytest.mark.parametrize("method", ["fw", "pairwise", "away", "replicator", "working-set"])
def test_extreme_scales(method, scale):
    A = random_similarity(20, seed=5)
    start = "barycenter" if method == "replicator" else "vertex"
    one = solve(A, algorithm=method, start=start, max_iter=500)
    other = solve(scale * A, algorithm=method, start=start, max_iter=500)
    np.testing.assert_array_equal(one.members, other.members)
    assert other.value == pytest.approx(scale * one.value, rel=1e-6)


@pytest.mark.parametrize("method", ["fw", "pairwise", "away", "replicator", "working-set"])
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_denormal_similarities(method, stored):
    """Numbers so small that they have few digits: an answer on the simplex, no NaN, no endless run."""
    A = np.round(10 * random_similarity(15, seed=5)) * 5e-324
    start = "barycenter" if method == "replicator" else "vertex"
    cluster = solve(stored(A), algorithm=method, start=start, max_iter=2_000)
    assert np.isfinite(cluster.weights).all()
    assert cluster.weights.sum() == pytest.approx(1.0)
    assert np.isfinite([cluster.value, cluster.gap]).all()


def test_a_negative_shift_on_a_graph_gives_a_clique_with_equal_weights():
    """Motzkin-Straus-Bomze: with -1/2 the weights are 1/k and f is 1 - 1/(2k)."""
    A = np.ones((5, 5)) - np.eye(5)
    A[4, :3] = A[:3, 4] = 0.0
    cluster = solve(A, shift=-0.5, start=0)
    assert cluster.members.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(cluster.weights, 0.25, atol=1e-10)
    assert cluster.threshold == pytest.approx(1 - 1 / 8)
    assert cluster.strict is True


def test_float32_storage_reaches_the_same_tolerance():
    A = random_similarity(200, seed=6).astype(np.float32)
    A = np.maximum(A, A.T)
    cluster = solve(A, tol=1e-13)
    assert cluster.status is Status.CONVERGED


def test_a_diagonal_is_ignored_not_overwritten():
    A = random_similarity(30, seed=7)
    B = A.copy()
    np.fill_diagonal(B, 5.0)
    kept = B.copy()
    with pytest.warns(UserWarning, match="30 of 30 diagonal entries"):
        S = as_similarity(B)
    for rule in RULES:
        one, other = solve(A, algorithm=rule, max_iter=300), solve(S, algorithm=rule, max_iter=300)
        np.testing.assert_array_equal(one.members, other.members)
        assert other.value == pytest.approx(one.value, rel=1e-12)
    np.testing.assert_array_equal(B, kept)


def test_an_object_alone_and_a_pair():
    one = solve(np.zeros((1, 1)))
    assert (one.members.tolist(), one.value, one.gap, one.margin) == ([0], 0.0, 0.0, np.inf)
    assert one.status is Status.CONVERGED
    two = solve(np.array([[0.0, 3.0], [3.0, 0.0]]))
    assert two.value == pytest.approx(1.5)
    assert two.margin == np.inf
