"""Groups that fill up a number."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets.clusters import filling
from dominantsets.clusters.filling import Explained, Group
from dominantsets.clusters.modes import ModeTree
from dominantsets.clusters.selection import by_evidence
from dominantsets.similarity.located import Coordinates
from dominantsets.solvers import Monitor


def sample(X):
    return Coordinates(np.ascontiguousarray(X), np.zeros(len(X)), 0.0)


def test_what_a_group_adds_is_the_difference_of_two_sums():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 3)), rng.normal(size=(5, 3)) * 0.1 + 6.0])
    explained = Explained(sample(X), 3.0, X[:1] * 0.0, np.array([3.0]), np.array([1.0]))
    before = explained.levels.copy()
    np.testing.assert_allclose(before, -np.square(X).sum(axis=1) / 2.0)  # share 1, variance 1
    some, t, group, gain = explained.about(44)
    assert set(some) <= set(range(40, 45))
    centre = X[some].mean(axis=0)
    np.testing.assert_allclose(t, np.square(X - centre).sum(axis=1), atol=1e-9)
    logs = np.log(some.size / 45) - 1.5 * np.log(group.variance) - t / (2.0 * group.variance)
    np.testing.assert_allclose(gain, np.maximum(logs - before, 0.0).sum())
    explained.add(t, group)
    np.testing.assert_allclose(explained.levels.sum() - before.sum(), gain)


def test_explanations_are_their_formula():
    """log share - D/2 log variance - t / (2 variance), the largest of all groups."""
    rng = np.random.default_rng(2)
    X, D = rng.normal(size=(30, 2)), 3.0
    centres, squares, shares = X[[3, 7]], np.array([2.0, 1.2]), np.array([0.6, 0.4])
    explained = Explained(Coordinates(X, np.full(30, 0.5), 0.0), D, centres, squares, shares)
    t = np.square(X[:, None] - centres).sum(axis=2) + 0.5
    np.testing.assert_allclose(explained.distances(centres), t)
    variances = squares / D
    logs = np.log(shares) - 0.5 * D * np.log(variances) - t / (2.0 * variances)
    np.testing.assert_allclose(explained.levels, logs.max(axis=1))
    # a quarter of the least variance is the floor of all others
    assert explained.group(t[:, 0] * 1e-9, np.arange(5)).variance == pytest.approx(filling.FLOOR * 1.2 / D)
    wide = explained.group(t[:, 0], np.arange(5))
    assert wide.variance == pytest.approx(t[:5, 0].mean() / D)
    assert wide.share == 5 / 30
    assert explained.group(t[:, 0], np.arange(1)).share == 1 / 30
    assert explained.gain(t[:, 0], Group(variances[0], shares[0])) < 1e-12  # it is one of them
    # where there are no groups, all objects are one
    none = Explained(sample(X), D, np.empty((0, 2)), np.empty(0), np.empty(0))
    lengths = np.square(X).sum(axis=1)
    one = lengths.mean() / D
    np.testing.assert_allclose(none.levels, -0.5 * D * np.log(one) - lengths / (2.0 * one))
    assert none.group(lengths * 0.0, np.arange(5)).variance == pytest.approx(1e-3 * lengths.mean() / D)


def test_groups_settle_on_their_objects():
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(50, 2)), rng.normal(size=(30, 2)) + 20.0])
    y = np.repeat([0, 1], [50, 30])
    begun = Explained(sample(X), 2.0, X[[0, 79]], np.array([2.0, 2.0]), np.array([0.5, 0.5]))
    total = begun.settle()
    for k in range(2):
        np.testing.assert_allclose(begun.centres[k], X[y == k].mean(axis=0))
        spread = np.square(X[y == k] - X[y == k].mean(axis=0)).sum(axis=1).mean()
        assert begun.variances[k] == pytest.approx(spread / 2.0)
        assert begun.shares[k] == pytest.approx((y == k).mean())
    assert total == pytest.approx(begun.levels.sum())
    # one without objects stays where it is
    idle = Explained(
        sample(X), 2.0, np.array([[0.0, 0.0], [20.0, 20.0], [500.0, 0.0]]), np.full(3, 2.0), np.full(3, 1 / 3)
    )
    idle.settle()
    assert idle.centres[2].tolist() == [500.0, 0.0]
    assert idle.shares[2] == 1 / 80


def test_the_best_few_about_an_object():
    """Every number from a few to some is tried, and the one that adds most is taken."""
    rng = np.random.default_rng(4)
    X = np.vstack([rng.normal(size=(60, 2)), rng.normal(size=(6, 2)) * 0.05 + 9.0])
    explained = Explained(sample(X), 2.0, X[:1] * 0.0, np.array([2.0]), np.array([1.0]))
    some, away, group, gain = explained.about(62)
    order = np.argsort(np.square(X - X[62]).sum(axis=1), kind="stable")
    gains = []
    for count in range(filling.FEWEST, filling.SOME + 1):
        t = np.square(X - X[order[:count]].mean(axis=0)).sum(axis=1)
        gains.append(explained.gain(t, explained.group(t, order[:count])))
    assert gain == pytest.approx(max(gains))
    assert some.tolist() == order[: filling.FEWEST + int(np.argmax(gains))].tolist()
    assert explained.gain(away, group) == gain


def test_which_groups_fill_up():
    """Of two that nobody has explained, first the one that adds more; without a node, its objects."""
    rng = np.random.default_rng(2)
    y = np.repeat(range(4), [120, 90, 60, 20])
    X = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0], [30.0, 30.0]])[y] + rng.normal(size=(290, 2))
    tree = ModeTree(sample(X), 8, Monitor())
    nodes = sorted(by_evidence(tree)[0], key=lambda node: -node.size)
    assert len(nodes) == 4
    middles = np.array([tree.place(node)[0] for node in nodes])
    names = [int(y[np.square(X - at).sum(axis=1).argmin()]) for at in middles]

    def explained(known):
        squares = [np.square(X[y == k] - X[y == k].mean(axis=0)).sum(axis=1).mean() for k in known]
        centres = np.array([X[y == k].mean(axis=0) for k in known])
        return Explained(
            sample(X), 2.0, centres, np.array(squares), np.array([(y == k).mean() for k in known])
        )

    third, fourth = (nodes[names.index(k)] for k in (2, 3))
    assert filling.fillers(explained([0, 1]), tree, [fourth, third], 2) == [third, fourth]
    assert filling.fillers(explained([0, 1]), tree, [fourth, third], 1) == [third]
    first, second = filling.fillers(explained([0, 1]), tree, [fourth], 2)
    parts = {3: first, 2: second} if first is fourth else {2: first, 3: second}
    assert parts[3] is fourth
    assert set(y[parts[2]]) == {2}
    (alone,) = filling.fillers(explained([0, 1, 2]), tree, [], 1)
    assert set(y[alone]) == {3}
    twice = filling.fillers(explained([0, 1, 2]), tree, [fourth, fourth], 2)
    assert twice[0] is fourth
    assert all(part is not fourth for part in twice[1:])  # it adds nothing once it is there
