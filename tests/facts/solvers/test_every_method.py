"""What holds for every solver: certificates and properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dominantsets import DominantSet, Status, as_similarity, solve
from support import assert_certified, given_comparisons, random_similarity, vector

RULES = ("fw", "pairwise", "away")
REPLICATORS = ("replicator", "exponential-replicator")
FAMILY = ("inimdyn", "shrink-expand", "path-following")  # end at a stationary point, and never descend
METHODS = (*RULES, *REPLICATORS, *FAMILY, "working-set")
similarities = st.builds(
    random_similarity, st.integers(2, 14), st.integers(0, 10_000), st.sampled_from([0.0, 0.4, 0.8])
)
shifts = st.sampled_from([-0.5, 0.0, 0.3, 2.0, 15.0])


def run(A: Any, method: str, **options: Any) -> DominantSet:
    if method in REPLICATORS:
        options.setdefault("start", "barycenter")
        options.setdefault("max_iter", 2_000)
    elif method == "fw":
        options.setdefault("max_iter", 2_000)
    return solve(A, algorithm=method, **options)


@given(similarities, shifts)
@pytest.mark.parametrize("method", [*METHODS, "trajectory"])
def test_the_certificate_is_what_the_weights_say(method, A, shift):
    cluster = run(A, method, shift=shift)
    assert_certified(A, cluster)
    if cluster.status is Status.CONVERGED:
        assert cluster.relative_gap <= 1e-10


@given(similarities, shifts)
@pytest.mark.parametrize("method", ["pairwise", "away", "working-set", *FAMILY, "trajectory"])
def test_a_converged_answer_satisfies_the_kkt_conditions(method, A, shift):
    cluster = run(A, method, shift=shift, tol=1e-12)
    assert cluster.status in (Status.CONVERGED, Status.STALLED)
    assert_certified(A, cluster, stationary=1e-9)


@pytest.mark.parametrize("method", METHODS)
@given_comparisons(0.3, similarities, shifts)  # the working set needs one round for few objects
def test_value_never_falls(method, A, shift):
    cluster = run(A, method, shift=shift, trace=True, max_iter=300)
    assert cluster.trace is not None
    assert (np.diff(cluster.trace.seconds, prepend=0.0) >= 0.0).all()  # a clock that goes forward
    values = np.append(cluster.trace.value, cluster.value)
    assert np.diff(values).min(initial=0.0) >= -1e-13 * max(1.0, abs(shift))
    return len(values) > 1


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
    limit = 20_000 if method in FAMILY else 30  # on their way they amplify rounding
    one, other = (
        run(A, method, shift=shift, max_iter=limit),
        run(with32, method, shift=shift, max_iter=limit),
    )
    assert other.value == pytest.approx(one.value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("method", [*METHODS, "trajectory"])
def test_where_the_problem_is_concave_all_methods_have_one_answer(method):
    """A shift above the largest eigenvalue makes f strictly concave: there is one stationary point."""
    A = random_similarity(30, seed=7)
    shift = float(np.linalg.eigvalsh(A)[-1]) + 1.0
    best = run(A, "pairwise", shift=shift, tol=1e-13)
    cluster = run(A, method, shift=shift, tol=1e-9, max_iter=100_000)
    assert cluster.value == pytest.approx(best.value, abs=1e-6)
    np.testing.assert_allclose(vector(cluster, 30), vector(best, 30), atol=2e-3)
