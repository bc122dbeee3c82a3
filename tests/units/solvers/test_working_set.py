"""The working set: small blocks of a large similarity."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from dominantsets import DominantSets, Status, as_similarity, solve
from dominantsets.solvers import Problem, working_set
from support import assert_certified, given_comparisons, random_similarity


def test_supports_beyond_the_block_are_optimised_a_block_at_a_time(monkeypatch):
    A = random_similarity(200, seed=0) + 1.0
    np.fill_diagonal(A, 0.0)
    expected = solve(A, shift=20.0, algorithm="pairwise")
    for limit in (40, 80, 150):
        monkeypatch.setattr(working_set, "BLOCK_LIMIT", limit)
        for start in ("vertex", "barycenter"):
            cluster = solve(A, shift=20.0, algorithm="working-set", start=start, trace=True)
            assert len(cluster) > limit
            assert cluster.status is Status.CONVERGED
            assert cluster.value == pytest.approx(expected.value, rel=1e-9)
            assert np.diff(cluster.trace.value).min() >= -1e-12


@given_comparisons(
    0.7, st.integers(20, 60), st.integers(0, 10_000), st.floats(0.0, 30.0), st.sampled_from([0.0, 0.7])
)
def test_blocks_of_coordinates_reach_kkt_points(n, seed, shift, zeros):
    A, settled = random_similarity(n, seed, zeros), 0
    for stored in (A, sp.csr_array(A)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(working_set, "BLOCK_LIMIT", 16)
            cluster = solve(stored, algorithm="working-set", shift=shift, tol=1e-11)
        if cluster.status is not Status.DISSOLVED:
            assert_certified(A, cluster, rounding=1e-11, stationary=1e-9)
            settled += 1
    return settled > 0


def test_a_graph_that_dissolves_says_so(monkeypatch):
    monkeypatch.setattr(working_set, "BLOCK_LIMIT", 100)
    graph = sp.csr_array(random_similarity(600, seed=2, zeros=0.99))
    cluster = solve(graph, algorithm="working-set", shift=50.0)
    assert cluster.status is Status.DISSOLVED
    assert cluster.weights.sum() == pytest.approx(1.0)
    solver = {"algorithm": "working-set"}
    with pytest.warns(UserWarning, match="the shift of 50 is too large for this graph, whose mean degree is"):
        DominantSets(1, affinity="precomputed", solver_params=solver, shift=50.0).fit(graph)
    assert solve(graph, algorithm="working-set", shift=0.0).status is Status.CONVERGED


@given_comparisons(0.9, st.integers(2, 40), st.integers(0, 10_000), st.data())
def test_the_ranking_is_the_argmax_of_degrees_that_fall(n, seed, data):
    A = sp.csr_array(np.ceil(10 * random_similarity(n, seed, zeros=0.7)))  # few different numbers: ties
    problem, removals = Problem(as_similarity(A), 0.0), 0
    while problem.n_alive > 1:
        assert problem.vertex() == int(problem.degrees.argmax())
        alive = np.flatnonzero(problem.alive).tolist()
        problem.remove(np.array(sorted(data.draw(st.sets(st.sampled_from(alive), min_size=1)))))
        removals += 1
    return removals > 0
