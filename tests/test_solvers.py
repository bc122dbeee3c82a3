"""Solvers: certificates, properties, and agreement with plain NumPy forms of the paper."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import reference
from conftest import random_similarity
from dominantsets import DominantSet, Status, Step, as_similarity, solve
from dominantsets.solvers.certificate import negative_definite_on_face

RULES = ("fw", "pairwise", "away")
METHODS = (*RULES, "replicator", "working-set")
similarities = st.builds(
    random_similarity, st.integers(2, 14), st.integers(0, 10_000), st.sampled_from([0.0, 0.4, 0.8])
)
shifts = st.sampled_from([-0.5, 0.0, 0.3, 2.0, 15.0])


def run(A: Any, method: str, **options: Any) -> DominantSet:
    if method == "replicator":
        options.setdefault("start", "barycenter")
        options.setdefault("max_iter", 2_000)
    elif method == "fw":
        options.setdefault("max_iter", 2_000)
    return solve(A, algorithm=method, **options)


def certificate_holds(A: np.ndarray, cluster: DominantSet, shift: float, tol: float = 1e-10) -> None:
    """Recompute everything that a cluster claims, from its members and weights alone."""
    x = np.zeros(len(A))
    x[cluster.members] = cluster.weights
    assert cluster.weights.min() > 0
    assert cluster.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(cluster.members) > 0).all()
    r = A @ x - shift * x
    f = x @ r
    size = max(1.0, float(np.abs(A).max()), abs(shift))
    assert cluster.value == pytest.approx(f + shift, abs=1e-12 * size)
    assert cluster.gap == pytest.approx(max(0.0, r.max() - f), abs=1e-12 * size)
    outside = np.setdiff1d(np.arange(len(A)), cluster.members)
    best = r[outside].max() if outside.size else -np.inf
    assert cluster.margin == pytest.approx(f - best, abs=1e-12 * size)
    if cluster.status is Status.CONVERGED:
        assert cluster.gap <= tol * max(f, f + shift) + 1e-15 * size
    if cluster.strict:
        B = A - shift * np.eye(len(A))
        assert cluster.margin > 0
        assert negative_on_face_by_eigenvalues(B[np.ix_(cluster.members, cluster.members)])


def negative_on_face_by_eigenvalues(B: np.ndarray) -> bool:
    m = len(B)
    P = np.eye(m) - 1.0 / m
    eigenvalues = np.sort(np.linalg.eigvalsh(P @ B @ P))
    # one eigenvalue is 0, that of the all-ones direction
    rest = np.delete(eigenvalues, np.abs(eigenvalues).argmin())
    return bool((rest < 0).all())


@given(similarities, shifts)
@pytest.mark.parametrize("method", METHODS)
def test_the_certificate_is_what_the_weights_say(method, A, shift):
    certificate_holds(A, run(A, method, shift=shift), shift)


@given(similarities, shifts)
@pytest.mark.parametrize("method", ["pairwise", "away", "working-set"])
def test_a_converged_answer_satisfies_the_kkt_conditions(method, A, shift):
    cluster = run(A, method, shift=shift, tol=1e-12)
    x = np.zeros(len(A))
    x[cluster.members] = cluster.weights
    r = A @ x - shift * x
    f = x @ r
    assert cluster.status in (Status.CONVERGED, Status.STALLED)
    slack = 1e-9 * max(1.0, abs(shift))
    assert r.max() <= f + slack
    # members' payoffs equal f up to what the gap allows: sum of x (f - r) over the support is 0
    assert x @ np.abs(r - f) <= 2 * slack


@given(similarities, shifts)
@pytest.mark.parametrize("method", METHODS)
def test_value_never_falls(method, A, shift):
    trace = run(A, method, shift=shift, trace=True, max_iter=300).trace
    assert trace is not None
    size = max(1.0, abs(shift))
    if len(trace) > 1:
        assert np.diff(trace.value).min() >= -1e-13 * size


@given(similarities, st.sampled_from([0.0, 0.3, 2.0, 15.0]), st.integers(1, 40))
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("start", ["vertex", "barycenter"])
def test_iterates_are_the_papers(start, rule, A, shift, t):
    """Shift on the diagonal against shift off the diagonal, compiled against plain NumPy."""
    M = reference.shifted(A, shift)
    x0 = reference.vertex(A) if start == "vertex" else reference.barycenter(A)
    iterates = reference.frank_wolfe(M, rule, x0, t)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        cluster = solve(A, algorithm=rule, start=start, shift=shift, tol=0.0, max_iter=t)
    if cluster.n_iter != len(iterates) - 1:
        return  # stopped by rounding at another step: nothing to compare
    x = np.zeros(len(A))
    x[cluster.members] = cluster.weights
    expected = iterates[-1]
    same_value = cluster.value == pytest.approx(expected @ M @ expected, rel=1e-9)
    if not np.allclose(x, expected, atol=1e-8):
        # a tie that rounding broke differently leads elsewhere, but only after equal values
        assert same_value or _was_tied(M, iterates)
    else:
        assert same_value


def _was_tied(M: np.ndarray, iterates: list[np.ndarray]) -> bool:
    for x in iterates:
        r = np.sort(M @ x)
        low = np.sort((M @ x)[x > 0])
        if r[-1] - r[-2] < 1e-9 or (low.size > 1 and low[1] - low[0] < 1e-9):
            return True
    return False


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_long_runs_follow_the_reference_where_there_are_no_ties(rule, shift):
    A = random_similarity(60, seed=5)
    M = reference.shifted(A, shift)
    # An optimal exchange leaves r_i = r_j: pairwise walks from tie to tie, broken by rounding.
    for t in (1, 2, 5) if rule == "pairwise" else (1, 2, 5, 20, 60):
        expected = reference.frank_wolfe(M, rule, reference.vertex(A), t)[-1]
        cluster = solve(A, algorithm=rule, shift=shift, tol=0.0, max_iter=t)
        x = np.zeros(60)
        x[cluster.members] = cluster.weights
        np.testing.assert_allclose(x, expected, atol=1e-11)


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_replicator_dynamics_are_the_papers(shift):
    A = random_similarity(30, seed=3)
    iterates = reference.replicator(reference.shifted(A, shift), reference.barycenter(A), 200)
    for t in (1, 10, 200):
        cluster = run(A, "replicator", shift=shift, tol=0.0, max_iter=t)
        x = np.zeros(30)
        x[cluster.members] = cluster.weights
        np.testing.assert_allclose(x, iterates[t], atol=1e-12)


def test_replicator_stops_when_two_iterates_are_close():
    A = random_similarity(20, seed=1)
    eps = 1e-6
    expected = len(reference.replicator(A, reference.barycenter(A), 10_000, eps)) - 1
    assert run(A, "replicator", tol=eps, max_iter=10_000).n_iter == expected


@given(similarities, shifts)
@pytest.mark.parametrize("method", ["pairwise", "away"])
def test_scaling_the_similarity_scales_the_answer(method, A, shift):
    one = run(A, method, shift=shift, max_iter=50)
    ten = run(8 * A, method, shift=8 * shift, max_iter=50)  # a power of two: the same rounding
    np.testing.assert_array_equal(one.members, ten.members)
    np.testing.assert_array_equal(one.weights, ten.weights)
    assert ten.value == 8 * one.value
    assert ten.status is one.status


def test_scale_equivalence_for_ten():
    A = random_similarity(80, seed=2)
    for method in METHODS:
        one, ten = run(A, method), run(10 * A, method)
        np.testing.assert_array_equal(one.members, ten.members)
        np.testing.assert_allclose(one.weights, ten.weights, atol=1e-7)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 2.0, 15.0]))
@pytest.mark.parametrize("method", ["away", "replicator", "pairwise"])
def test_permuting_the_objects_permutes_the_result(method, seed, shift):
    rng = np.random.default_rng(seed)
    A = random_similarity(12, seed)
    if method == "pairwise":
        # An optimal exchange leaves r_i = r_j, a tie that rounding breaks by the order of the objects;
        # two clear groups have the same answer whichever way it goes.
        A[:6, :6] += 3.0
        A[6:, 6:] += 4.0
        np.fill_diagonal(A, 0.0)
    order = rng.permutation(12)
    one = run(A, method, shift=shift)
    other = run(A[np.ix_(order, order)], method, shift=shift)
    assert set(order[other.members]) == set(one.members)
    assert other.value == pytest.approx(one.value, rel=1e-9)


@given(similarities, shifts, st.sampled_from(["dense", "graph"]))
@pytest.mark.parametrize("method", METHODS)
def test_storage_does_not_matter(method, A, shift, storage):
    stored = sp.csr_array(A) if storage == "graph" else A.astype(np.float32).astype(np.float64)
    A = A if storage == "graph" else stored
    with32 = as_similarity(stored.astype(np.float32)) if storage == "dense" else as_similarity(stored)
    one, other = (
        run(A, method, shift=shift, max_iter=30),
        run(with32, method, shift=shift, max_iter=30),
    )
    assert other.value == pytest.approx(one.value, rel=1e-9, abs=1e-12)


def test_every_method_on_every_kind(kind):
    _, S, A, atol = kind
    for method in METHODS:
        limit = 500 if method in ("fw", "replicator") else 20_000
        cluster = run(S, method, shift=0.5 * A.max(), max_iter=limit)
        x = np.zeros(len(A))
        x[cluster.members] = cluster.weights
        r = A @ x - cluster.shift * x
        assert cluster.value == pytest.approx(x @ r + cluster.shift, abs=100 * atol)
        assert cluster.gap == pytest.approx(max(0.0, r.max() - x @ r), abs=100 * atol)
        if method == "working-set":
            assert cluster.status is Status.CONVERGED
        if method in ("pairwise", "away"):
            assert cluster.status is Status.CONVERGED
            dense = run(A, method, shift=0.5 * A.max(), max_iter=20_000)
            np.testing.assert_array_equal(cluster.members, dense.members)
            np.testing.assert_allclose(cluster.weights, dense.weights, atol=1e-6)


def test_columns_of_features_are_computed_once_and_kept_within_bounds():
    from conftest import features
    from dominantsets.solvers import Monitor, Problem, solve_problem

    S = as_similarity(features(200), "rbf", gamma=0.02)
    options = {"algorithm": "pairwise", "start": "vertex", "tol": 1e-10, "max_iter": 5_000}
    roomy = Problem(S, 2.0)
    tight = Problem(S, 2.0, cache_bytes=8 * 200 * 6)
    one = solve_problem(roomy, monitor=Monitor(), **options)
    two = solve_problem(tight, monitor=Monitor(), **options)
    assert one.n_iter > 200
    assert roomy.columns.n_computed <= 200
    assert len(tight.columns.array) == 6
    assert tight.columns.n_computed > 200  # it had to compute some again
    np.testing.assert_array_equal(one.members, two.members)
    np.testing.assert_array_equal(one.weights, two.weights)


@given(similarities, st.sampled_from([0.0, 0.5]))
def test_away_steps_walk_the_iterates_of_infection_immunization(A, shift):
    """Proposition 1."""
    M = reference.shifted(A, shift)
    start = reference.vertex(A)
    expected = reference.infection_immunization(M, start, 25)
    if _was_tied(M, expected):
        return
    for t in (1, 3, len(expected) - 1):
        if not 0 < t < len(expected):
            continue
        cluster = solve(A, algorithm="away", shift=shift, tol=0.0, max_iter=t)
        x = np.zeros(len(A))
        x[cluster.members] = cluster.weights
        np.testing.assert_allclose(x, expected[t], atol=1e-9)


def test_proposition_1_on_a_larger_similarity():
    A = random_similarity(50, seed=11)
    expected = reference.infection_immunization(A, reference.vertex(A), 60)
    assert len(expected) == 61
    for t in range(1, 61, 7):
        cluster = solve(A, algorithm="away", tol=0.0, max_iter=t)
        x = np.zeros(50)
        x[cluster.members] = cluster.weights
        np.testing.assert_allclose(x, expected[t], atol=1e-10)


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


def test_second_order_test_agrees_with_eigenvalues():
    rng = np.random.default_rng(0)
    verdicts = set()
    for _ in range(200):
        m = int(rng.integers(2, 7))
        B = rng.normal(size=(m, m))
        B = (B + B.T) / 2 - rng.random() * 3 * np.eye(m)
        verdict = negative_definite_on_face(B)
        assert verdict == negative_on_face_by_eigenvalues(B)
        verdicts.add(verdict)
    assert verdicts == {True, False}


def test_a_weak_maximum_is_not_called_strict():
    # a path 0 - 1 - 2: weight may move between 0 and 2 freely, both pairs have value 1/2
    A = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    assert solve(A).strict is False
    assert solve(np.array([[0.0, 1.0], [1.0, 0.0]])).strict is True


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_a_block_of_equal_similarities_has_equal_weights(shift):
    """Derived: k objects of similarity a have value (a + shift)(1 - 1/k) in the paper's convention."""
    k, a = 7, 2.0
    A = np.zeros((10, 10))
    A[:k, :k] = a * (1 - np.eye(k))
    A[k:, k:] = 0.1 * (1 - np.eye(10 - k))
    for method in ("pairwise", "away"):
        cluster = run(A, method, shift=shift)
        assert cluster.members.tolist() == list(range(k))
        np.testing.assert_allclose(cluster.weights, 1 / k, atol=1e-9)
        assert cluster.value == pytest.approx((a + shift) * (1 - 1 / k), rel=1e-12)
        assert cluster.strict is True


def test_fw_from_the_barycenter_warns_and_keeps_everybody():
    A = random_similarity(20, seed=0)
    with pytest.warns(UserWarning, match="never takes an object out"):
        cluster = solve(A, algorithm="fw", start="barycenter", max_iter=100)
    assert len(cluster) == 20


@pytest.mark.parametrize("start", ["vertex", 3, np.eye(5)[2]], ids=["vertex", "index", "weights"])
def test_replicator_refuses_a_vertex(start):
    with pytest.raises(ValueError, match="a fixed point"):
        solve(random_similarity(5), algorithm="replicator", start=start)


def test_starts():
    A = random_similarity(9, seed=6)
    one_step = {"algorithm": "fw", "max_iter": 1}
    by_name = solve(A, start="vertex", **one_step)
    by_index = solve(A, start=int(A.sum(axis=0).argmax()), **one_step)
    np.testing.assert_array_equal(by_name.members, by_index.members)
    by_weights = solve(A, start=2 * np.eye(9)[4], **one_step)  # normalised
    np.testing.assert_array_equal(by_weights.members, solve(A, start=4, **one_step).members)
    for bad, words in [
        (9, "not an object"),
        (-1, "not an object"),
        ("vortex", "Did you mean 'vertex'"),
        (np.ones(8), "one for each of 9 objects"),
        (np.zeros(9), "not all 0"),
        (-np.ones(9), "finite, not negative"),
        (object(), "neither"),
    ]:
        with pytest.raises(ValueError, match=words):
            solve(A, start=bad)
