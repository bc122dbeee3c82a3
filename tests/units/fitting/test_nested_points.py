"""The hierarchy of points: which leaf is nearest, and which ball a leaf has before others merge with it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dominantsets import End, as_similarity
from dominantsets.clusters.balls import Ball
from dominantsets.clusters.scales import Scales
from dominantsets.fitting.nested import Split
from dominantsets.fitting.nested_points import _by_centre, _early, _nearest_within
from dominantsets.similarity.located import located
from dominantsets.solvers import Monitor, SolverOptions
from plans import nested_of
from support import CORNERS


@pytest.fixture
def some():
    X, y = make_blobs(120, centers=CORNERS, cluster_std=[0.3, 1.0, 0.5, 1.5], random_state=0)
    S = as_similarity(X, "sqeuclidean")
    return X, y, S, Scales(S, located(S).spread(), None, 1, Monitor())


def test_every_object_has_the_nearest_centre(some):
    """Centres are weighted means of the balls' members, whatever their spreads are."""
    X, y, S, scales = some
    rng, rows = np.random.default_rng(0), scales.sample.rows
    balls = []
    for k in range(4):
        weights = np.where(y == k, rng.random(120), 0.0)
        weights /= weights.sum()
        balls.append(Ball.of(weights @ rows, weights, 1.0))
    rule = _by_centre(S, scales, balls)
    centres = np.array([ball.centre for ball in balls])
    expected = np.square(rows[:, None] - centres).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(rule.of(S)[0], expected)
    for share in (0.48, 0.52):  # between a narrow one and a wide one the border is in the middle
        at = X[y == 0].T @ balls[0].weights * (1 - share) + X[y == 3].T @ balls[3].weights * share
        away = np.linalg.norm(at - np.array([X[ball.members].T @ ball.weights for ball in balls]), axis=1)
        assert rule.of_new(S, at[None])[0] == away.argmin()


def test_the_nearest_leaf_of_each_group():
    """A leaf of the group itself is its own."""
    centres = np.array([[0.0], [1.0], [5.0], [9.0]])
    balls = [Ball(at, np.arange(1), np.ones(1), 1.0) for at in centres]
    np.testing.assert_array_equal(_nearest_within(balls, [0, 1, 0, 1], 2), [[0, 0, 2, 2], [1, 1, 1, 3]])


def test_balls_of_leaves_before_any_other_merges_with_them(some):
    _, _, _, scales = some
    tree = scales.tree
    lives = tree.lives()
    chain, into, level = tree.absorptions()[-1]
    splits = [Split(chain, into, float(level), into)]
    found = _early(tree, lives, [into, chain], splits)
    for leaf in (chain, into):
        until = tree.life(leaf, None, level)
        expected = until if until.level >= 0 else lives[leaf]
        assert (found[leaf].level, found[leaf].last) == (expected.level, expected.last)
        assert found[leaf].level < level
    first = lives[into].first
    none = _early(tree, lives, [into], [Split(into, into, float(first), into)])  # it is no group by then
    assert none[into] is lives[into]


def test_a_hierarchy_of_four(some):
    _, y, S, _ = some
    options = SolverOptions().chosen_for(S, 0.0)
    found = nested_of(S, 1, options, Monitor())
    assert found.n_groups == 4
    assert found.halt is None
    every = [group.objects.tolist() for group in found.root.walk()]
    for k in range(4):
        assert np.flatnonzero(y == k).tolist() in every
    for group in found.splits[:3]:  # above the four
        if group.birth < group.death:  # two that merge at once with a third live nowhere by themselves
            assert group.birth <= group.core.shift <= group.death
    assert nested_of(S, 1, options, Monitor(0.0)).halt is End.TIME_LIMIT
