"""Trajectories of replicator dynamics: cuts, pruning, phase times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from dominantsets import Status, as_similarity, solve
from dominantsets.solvers import Monitor, SolverOptions, make_problem
from dominantsets.solvers.problem import Point
from dominantsets.studies.trajectory import Dynamics, largest_gap, least_similarity
from support import assert_certified, random_similarity


def planted(sizes, inside, outside, noise, seed):
    """Blocks of high similarity in a background of objects that are alike to nobody, with some scatter."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes) + 1), [*sizes, noise])
    levels = np.full((y.size, y.size), outside)
    for k in range(len(sizes)):
        levels[np.ix_(y == k, y == k)] = inside[k]
    A = np.triu(np.clip(levels + 0.05 * rng.normal(size=levels.shape), 0.01, None), 1)
    return A + A.T, y


def dynamics(A, shift=0.0, **params):
    n = len(A)
    options = SolverOptions("trajectory", tol=1e-10, algorithm_params=params).checked()
    return Dynamics(make_problem(as_similarity(A), shift), Point(np.arange(n), np.full(n, 1.0 / n)), options)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_first_cut_is_the_union_of_the_planted_blocks(seed, share):
    A, y = planted([40, 40], [0.8, 0.8], 0.2, 60, seed)
    run = dynamics(A, regularization=share)
    run.run(1, Monitor())
    np.testing.assert_array_equal(run.cuts[0].members, np.flatnonzero(y < 2))
    np.testing.assert_array_equal(run.cuts[0].left, np.flatnonzero(y == 2))
    assert run.n_iter == run.cuts[0].step < 50


@pytest.mark.parametrize("seed", range(3))
def test_the_next_cut_is_one_of_the_blocks(seed):
    A, y = planted([40, 40], [0.9, 0.8], 0.2, 60, seed)
    run = dynamics(A)
    run.run(2, Monitor())
    last = run.cuts[-1].members
    np.testing.assert_array_equal(last, np.flatnonzero(y == 0))


def test_a_cut_takes_the_longer_the_more_alike_the_blocks_are():
    """The logarithms of the weights drift apart in proportion to the difference of the payoffs."""
    steps = []
    for inside in (0.9, 0.5, 0.3):
        A, _ = planted([40], [inside], 0.2, 60, 0)
        run = dynamics(A)
        run.run(1, Monitor())
        steps.append(run.cuts[0].step)
    assert steps == sorted(steps)
    assert steps[-1] > steps[0]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_its_steps_are_replicator_dynamics_on_lowered_similarities(share, shift):
    A = random_similarity(30, seed=3) + 0.2 * (1.0 - np.eye(30))
    least = A[~np.eye(30, dtype=bool)].min()
    lowered = reference.shifted(A, shift - share * (least + shift))
    run = dynamics(A, shift, regularization=share, patience=10**6)
    iterates = reference.replicator(lowered, reference.barycenter(A), 20)
    for x in iterates[1:]:
        run._step()
        np.testing.assert_allclose(run.weights, x, atol=1e-13)
    values = [x @ lowered @ x for x in iterates]
    assert np.diff(values).min() > 0.0


@given(st.integers(3, 12), st.integers(0, 10_000))
def test_the_largest_gap_by_its_definition(n, seed):
    x = np.exp(np.random.default_rng(seed).normal(size=n) * 3)
    above, gap = largest_gap(x)
    logs = np.sort(np.log(x))[::-1]
    sizes = [k for k in range(2, n) if np.isclose(logs[k - 1] - logs[k], np.diff(-logs).max())]
    sizes = [k for k in sizes if logs[k - 1] - logs[k] > max(np.log(2.0), logs[0] - logs[k - 1])]
    if not sizes:
        assert above is None
    else:
        assert above.size == sizes[0]
        assert x[above].min() > np.delete(x, above).max() * 2.0
        assert gap == pytest.approx(np.log(x[above].min() / np.delete(x, above).max()))


@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_the_answer_is_pruned_and_certified(shift):
    """Within the block at first; where others gain they come in, so that it is a KKT point of the whole."""
    A, y = planted([40], [0.8], 0.2, 60, 1)
    cluster = solve(A, algorithm="trajectory", shift=shift, tol=1e-12)
    assert cluster.status is Status.CONVERGED
    assert_certified(A, cluster, stationary=1e-9)
    assert (y[cluster.members] == 0).all()
    run = dynamics(A, shift)
    run.run(1, Monitor())
    steady = solve(A, algorithm="replicator", start="barycenter", shift=shift, tol=1e-10)
    assert run.n_iter < steady.n_iter  # the cut is seen long before it converges


def test_the_least_similarity():
    A = random_similarity(20, seed=1)
    objects = np.array([2, 5, 7, 11])
    block = A[np.ix_(objects, objects)]
    assert least_similarity(as_similarity(A), objects) == block[~np.eye(4, dtype=bool)].min()
