"""The tree of groups over all shifts: the one that DominantSets() reads its clusters from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.metrics import adjusted_rand_score

import dominantsets.fitting.nested_points as points
from dominantsets import DominantSetHierarchy, End
from dominantsets.clusters.modes import ModeTree
from support import press_ctrl_c

# three near groups, two near groups, and one by itself
CENTERS = np.array([(0, 0), (8, 0), (0, 8), (60, 60), (68, 60), (60, 0)], dtype=float)


def nested_blobs(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(6, size=n)
    return CENTERS[y] + rng.normal(size=(n, 2)), y


@pytest.fixture(scope="module")
def nested():
    X, y = nested_blobs()
    return X, y, DominantSetHierarchy().fit(X)


def same(one, other):
    """Whether two partitions are one, up to the numbers of their labels."""
    one, other = np.asarray(one), np.asarray(other)
    return np.array_equal(np.equal.outer(one, one), np.equal.outer(other, other))


# one tree, several views -------------------------------------------------------------------------------


# stopped early -----------------------------------------------------------------------------------------


def assert_whole(tree, n):
    assert (tree.cut(1) == 0).all()
    assert is_valid_linkage(tree.linkage_)
    assert len(tree.linkage_) == n - 1
    assert tree.predict(np.zeros((2, 2))).shape == (2,)


@pytest.mark.parametrize("affinity", ["sqeuclidean", "auto"])  # the tree itself, and that of a comparison
@pytest.mark.parametrize("level", [0, 6])
def test_ctrl_c_inside_the_tree_keeps_its_levels(level, affinity, monkeypatch):
    advance, pressed = ModeTree._advance, []

    def interrupted(self, state, kappa, at):
        if at == level and not pressed:
            pressed.append(level)
            press_ctrl_c()
        advance(self, state, kappa, at)

    monkeypatch.setattr(ModeTree, "_advance", interrupted)
    X, _ = nested_blobs()
    with pytest.warns(UserWarning, match="interrupted"):
        tree = DominantSetHierarchy(affinity=affinity).fit(X)
    assert_whole(tree, len(X))
    assert tree.end_ is End.INTERRUPTED


def test_ctrl_c_between_two_sets_keeps_the_tree_and_those_before(monkeypatch, nested):
    X, y, whole = nested
    solved, calls = points.solved, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 4:
            press_ctrl_c()
        return solved(*args)

    monkeypatch.setattr(points, "solved", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        tree = DominantSetHierarchy().fit(X)
    assert_whole(tree, len(X))
    np.testing.assert_array_equal(tree.leaves_, whole.leaves_)
    assert adjusted_rand_score(y, tree.labels_) == 1.0
    found = [group.core for group in tree.root_.walk() if group.core is not None]
    assert len(found) == 6 + 3  # of the groups that stand alone, and before Ctrl-C
    assert len(calls) == 4
