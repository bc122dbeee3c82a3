"""The table of what was chosen: its rows say what the clusters, the tree and the labels say."""

from __future__ import annotations

import numpy as np

from dominantsets import DominantSets, Selection
from support import CORNERS


def corners(m=40, spread=0.6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), m)
    return np.array(CORNERS, dtype=float)[y] + spread * rng.normal(size=(4 * m, 2)), y


def test_a_fit_has_a_row_for_each_cluster():
    X, _ = corners()
    model = DominantSets(affinity="sqeuclidean").fit(X)
    chosen = model.selection_
    assert len(chosen.rows) == model.n_clusters_ == 4
    for k, (one, cluster) in enumerate(zip(chosen.rows, model.clusters_, strict=True)):
        assert one.members == len(cluster)
        assert one.labelled == (model.labels_ == k).sum()
        assert one.among == len(X)
        assert one.shift == cluster.shift
        assert one.shift_from <= one.shift <= one.shift_to
        centre = X[cluster.members].T @ cluster.weights
        inside = np.linalg.norm(X - centre, axis=1) < one.radius
        assert np.flatnonzero(inside).tolist() == cluster.members.tolist()  # the ball is the dominant set
        assert one.chance < 1.0
    assert "For 4 of 4 groups, less than one" in chosen.reason
    assert f"of {len(X)} objects" in chosen.reason
    assert chosen.n_objects == len(X)
    assert not chosen.advice
    assert repr(chosen).startswith("Selection(4 clusters")


def test_advice_for_one_group_and_for_curves():
    rng = np.random.default_rng(0)
    one = DominantSets(affinity="sqeuclidean").fit(rng.normal(size=(120, 2))).selection_
    assert "they are one" in one.reason
    assert "pass n_clusters" in one.advice
    turn = np.linspace(0.0, 2.0 * np.pi, 150)
    circle = np.column_stack([np.cos(turn), np.sin(turn)]) + 0.005 * rng.normal(size=(150, 2))
    assert "look like curves" in DominantSets(affinity="sqeuclidean").fit(circle).selection_.advice
    line = DominantSets(affinity="sqeuclidean").fit(rng.normal(size=(120, 1))).selection_
    assert "curves" not in line.advice  # one feature has no curves
    alike = DominantSets(affinity="sqeuclidean").fit(np.ones((9, 2))).selection_
    assert "alike" in alike.reason
    assert not alike.advice


def test_two_scales_of_equal_strength_are_said():
    """Four pairs of groups: eight, or four."""
    rng = np.random.default_rng(0)
    centres = np.array([c + d for c in 60.0 * np.array(CORNERS) for d in ([0.0, 0.0], [15.0, 0.0])])
    X = np.repeat(centres, 40, axis=0) + rng.normal(size=(320, 2))
    chosen = DominantSets(affinity="sqeuclidean").fit(X).selection_
    assert len(chosen.rows) == 8
    assert chosen.advice == "Two scales are about equally strong: n_clusters=4 or 8."
    assert chosen.runner_up.startswith("Runner-up: a group of groups of 25% of the objects")
    assert not DominantSets(8, affinity="sqeuclidean").fit(X).selection_.advice


def test_tables_of_one_shift_and_of_ellipses():
    X, _ = corners()
    assert Selection("why").n_objects == 0
    shifted = DominantSets(4, shift=50.0, affinity="sqeuclidean").fit(X)
    for one, cluster in zip(shifted.selection_.rows, shifted.clusters_, strict=True):
        assert (one.shift, one.members, one.radius) == (cluster.shift, len(cluster), cluster.radius)
        assert np.isnan([one.shift_from, one.shift_to, one.persistence, one.sharpness, one.chance]).all()
    round_ones = DominantSets(4, affinity="ellipses").fit(X)
    assert "Ellipses: 4 normal clouds, the best of several starts" in round_ones.selection_.reason
    for one, cluster in zip(round_ones.selection_.rows, round_ones.clusters_, strict=True):
        assert (one.shift, one.members) == (cluster.shift, len(cluster))
