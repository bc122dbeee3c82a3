"""Trajectories of replicator dynamics: cuts, pruning, phase times."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets import Status, peel, solve, trajectory
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


def test_equal_row_sums_show_no_transition():
    ring = np.roll(np.eye(8), 1, axis=0) + np.roll(np.eye(8), -1, axis=0)
    cluster = solve(ring, algorithm="trajectory")
    assert len(cluster) == 8
    assert cluster.strict is False  # equal weights are a saddle, and the certificate says so


def test_a_whole_trajectory():
    A, y = planted([30, 30], [0.9, 0.8], 0.2, 40, 3)
    run = trajectory(A)
    first, second = run.cuts[:2]
    assert set(second.members) <= set(first.members)
    np.testing.assert_array_equal(np.sort(np.concatenate([second.members, second.left])), first.members)
    assert (run.phase_times[y == 2] == first.step).all()
    assert (run.phase_times[y == 1] == second.step).all()
    gone = np.flatnonzero(run.phase_times >= 0)
    assert set(run.cluster.members) <= set(np.flatnonzero(y == 0))
    assert_certified(A, run.cluster, stationary=1e-9)
    # the weights that were kept: of the simplex at every step, and 0 from the cut on
    np.testing.assert_allclose(run.weights.sum(axis=1), 1.0)
    for i in gone:
        assert (run.weights[run.steps > run.phase_times[i], i] == 0.0).all()
    assert run.steps.size <= 400
    assert run.n_iter >= run.steps[-1]


def test_peeling_by_cuts_takes_the_blocks_one_after_another():
    A, y = planted([30, 20], [0.9, 0.8], 0.1, 0, 5)
    found = list(peel(A, 2, algorithm="trajectory", shift=20.0))
    assert [set(y[cluster.members]) for cluster in found] == [{0}, {1}]
    assert all(cluster.status is Status.CONVERGED for cluster in found)


def test_parameters():
    A = random_similarity(5)
    for params, words in [
        ({"patience": 0}, "patience must be a whole number of at least 1"),
        ({"regularization": 1.5}, "regularization must lie between 0 and 1"),
        ({"rate": 1.0}, "has no parameter 'rate'; it takes: patience, regularization"),
    ]:
        with pytest.raises(ValueError, match=words):
            solve(A, algorithm="trajectory", algorithm_params=params)
    with pytest.raises(ValueError, match="a fixed point"):
        solve(A, algorithm="trajectory", start=2)
