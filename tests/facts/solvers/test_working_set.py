"""The working set: small blocks of a large similarity."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dominantsets import Status, Step, as_similarity, peel, solve
from support import assert_certified, features, given_comparisons, press_ctrl_c, random_similarity


@given(st.integers(2, 60), st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 0.9]), st.floats(0.0, 10.0))
def test_answers_are_kkt_points_of_the_whole_problem(n, seed, zeros, shift):
    A = random_similarity(n, seed, zeros)
    for stored in (A, sp.csr_array(A)):
        cluster = solve(stored, algorithm="working-set", shift=shift, tol=1e-11)
        assert_certified(A, cluster, rounding=1e-11, stationary=1e-9)


@given_comparisons(0.5, st.integers(5, 60), st.integers(0, 10_000), st.floats(0.0, 5.0))
def test_weights_are_those_of_pairwise_where_supports_agree(n, seed, shift):
    A = random_similarity(n, seed)
    one = solve(A, algorithm="working-set", shift=shift, tol=1e-12)
    other = solve(A, algorithm="pairwise", shift=shift, tol=1e-12)
    if one.members.tolist() != other.members.tolist() or not one.strict:
        return False  # two methods may climb to two maxima
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)
    return True


def test_a_large_similarity_in_few_rounds():
    A = as_similarity(as_similarity(features(2_000, 10), "rbf", gamma=0.02).toarray())
    for shift in (0.0, 0.5, 10.0):
        cluster = solve(A, algorithm="working-set", shift=shift, trace=True, tol=1e-12)
        assert cluster.status is Status.CONVERGED
        assert len(cluster.trace) <= 40
        assert set(cluster.trace.step.tolist()) == {Step.ROUND}
        assert np.diff(cluster.trace.value).min(initial=0.0) >= -1e-12
        assert cluster.gap <= solve(A, shift=shift, algorithm="pairwise").gap


def test_a_dense_start_begins_from_its_best_candidates():
    A = random_similarity(500, seed=1)
    cluster = solve(A, algorithm="working-set", start="barycenter")
    assert cluster.status is Status.CONVERGED
    assert len(cluster) < 50


def test_once_f_is_negative_everybody_gains_and_it_still_ends():
    """A sparse graph with a shift above its degrees: f < 0, all objects violate."""
    graph = sp.csr_array(random_similarity(400, seed=2, zeros=0.99))
    cluster = solve(graph, algorithm="working-set", shift=5.0)
    assert cluster.status in (Status.CONVERGED, Status.STALLED)
    assert cluster.relative_gap < 1e-6


def test_peeling_with_it():
    S = as_similarity(features(600, 5), "laplacian", gamma=0.1)
    ours = peel(S, 4, shift=3.0, algorithm="working-set")
    theirs = peel(S, 4, shift=3.0, algorithm="pairwise")
    for one, other in zip(ours, theirs, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-2)
        assert one.status is Status.CONVERGED


def test_it_can_be_stopped():
    A = random_similarity(800, seed=3)
    stopped = solve(A, algorithm="working-set", shift=3.0, callback=lambda progress: progress.n_iter > 0)
    assert stopped.status is Status.STOPPED
    interrupted = solve(A, algorithm="working-set", shift=3.0, callback=press_ctrl_c)
    assert interrupted.status is Status.INTERRUPTED
    for cluster in (stopped, interrupted):
        assert cluster.weights.sum() == pytest.approx(1.0)


def chain(n: int, links: int = 7, seed: int = 0) -> sp.csr_array:
    """A graph of points on a line, each linked to its neighbours by their distance."""
    place = np.sort(np.random.default_rng(seed).random(n)) * n
    parts = [np.exp(place[:-s] - place[s:]) for s in range(1, links + 1)]
    upper = sp.diags_array(parts, offsets=range(1, links + 1), shape=(n, n), format="csr")
    return sp.csr_array(upper + upper.T)


def test_a_cluster_of_a_graph_costs_what_it_touches():
    """After the first one no array as long as the graph is made, not even of bytes."""
    n = 600_000  # small objects of 50 clusters take a tenth of a megabyte
    clusters = peel(as_similarity(chain(n)), 50)
    sizes = [len(next(clusters))]
    tracemalloc.start()
    try:
        sizes += [len(cluster) for cluster in clusters]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert max(sizes) < 40
    assert peak < n / 2


def test_peeling_a_graph_is_peeling_its_matrix():
    graph = chain(300)
    near = list(peel(graph, 30, algorithm="working-set"))
    far = list(peel(graph.toarray(), 30, algorithm="working-set"))
    assert [c.members.tolist() for c in near] == [c.members.tolist() for c in far]
    for one, other in zip(near, far, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-12)
        assert one.margin == pytest.approx(other.margin, abs=1e-12)
        assert one.gap == pytest.approx(other.gap, abs=1e-11)
        assert one.strict == other.strict
