"""The tree of leaves that merge: the elder rule, its order of splits, and SciPy's form of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, fcluster, is_valid_linkage
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import squareform

from dominantsets.fitting.nested import Merge, Nested, Place, alone, elders, linkage, moved
from support import random_distances


def merges_of(Z):
    """SciPy's merges, an object standing for either side."""
    n, some = len(Z) + 1, list(range(len(Z) + 1))
    for a, b, height, _ in Z:
        yield Merge(float(height), some[int(a)], some[int(b)], -1)
        some.append(some[int(a)])
    assert len(some) == 2 * n - 1


def nested(doubts, Z, certain):
    n = len(Z) + 1
    root, splits = elders(doubts, merges_of(Z), np.inf)
    places = {k: Place(0.0, k) for k in range(n)}
    tree = Nested(root, splits, places, dict.fromkeys(certain), np.arange(n), np.inf)
    tree.settle(lambda level: level, lambda group, ball: None)
    return tree, splits


def cut(tree, k):
    groups = [tree.root]
    for group in tree.splits[: k - 1]:
        groups.remove(group)
        groups += group.children
    labels = np.full(tree.root.objects.size, -1)
    for name, group in enumerate(groups):
        assert (labels[group.objects] == -1).all()
        labels[group.objects] = name
    assert (labels >= 0).all()
    assert len(groups) == k
    return labels


def together(labels):
    return np.equal.outer(labels, labels)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 14), seed=st.integers(0, 10_000))
def test_leaves_that_are_all_certain_are_cut_as_scipy_cuts_them(n, seed):
    Z = scipy_linkage(squareform(random_distances(n, seed, ties=False)), "single")
    tree, _ = nested(np.full(n, -np.inf), Z, range(n))
    for k in range(1, n + 1):
        theirs = fcluster(Z, k, criterion="maxclust")
        np.testing.assert_array_equal(together(cut(tree, k)), together(theirs))
    assert tree.n_groups == n
    ours = linkage(tree.root, n)
    assert is_valid_linkage(ours)
    np.testing.assert_allclose(cophenet(ours), cophenet(Z))


@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 14), stand=st.integers(1, 14), seed=st.integers(0, 10_000), ties=st.booleans())
def test_every_cut_splits_one_group_and_the_certain_ones_come_first(n, stand, seed, ties):
    rng = np.random.default_rng(seed)
    Z = scipy_linkage(squareform(random_distances(n, seed, ties)), "single")
    doubts = rng.normal(size=n)
    certain = rng.permutation(n)[: min(stand, n)].tolist()
    doubts[certain] = -np.inf
    tree, splits = nested(doubts, Z, certain)
    order = [split.leaf for split in splits]
    assert all(doubts[split.parent] <= doubts[split.leaf] for split in splits)
    assert {*order[: len(certain) - 1]} < {*certain} or len(certain) == 1
    before = cut(tree, 1)
    for k in range(2, n + 1):
        now = cut(tree, k)
        assert all(np.unique(before[now == name]).size == 1 for name in range(k))  # finer cuts only split
        before = now
    apart = cut(tree, len(certain))
    assert np.unique(apart[certain]).size == len(certain)
    for group in tree.root.walk():
        assert group.birth <= group.death
        for child in group.children:
            assert child.death == group.birth
    assert is_valid_linkage(linkage(tree.root, n))


def test_of_two_that_merge_the_more_doubtful_one_ends():
    merges = [Merge(1.0, 0, 1, 7), Merge(2.0, 0, 2, 8), Merge(3.0, 2, 3, 9)]
    root, splits = elders(np.array([0.5, 0.1, 0.9, -np.inf]), merges, 10.0)
    assert root == 3
    assert [(s.leaf, s.parent, s.level, s.ball) for s in splits] == [
        (1, 3, 3.0, 9),
        (0, 1, 1.0, 7),
        (2, 1, 2.0, 8),
    ]


def test_what_is_no_group_is_no_leaf_and_what_never_merges_does_at_the_top():
    root, splits = elders(np.array([-1.0, np.inf, -2.0, np.inf]), [Merge(1.0, 0, 1, 0)], 5.0)
    assert root == 2
    assert [(s.leaf, s.parent, s.level) for s in splits] == [(0, 2, 5.0)]


def test_a_leaf_of_another_group_goes_under_that_group_no_higher_than_it_ends():
    merges = [Merge(1.0, 0, 1, 0), Merge(4.0, 0, 2, 0)]  # 0 and 1 stand alone, 2 is absorbed by both
    root, splits = elders(np.array([-np.inf, -np.inf, 3.0]), merges, 9.0)
    splits = moved(splits, {0: 0, 1: 1, 2: 1}, [0, 1])
    places = {k: Place(0.0 if k < 2 else 3.0, k) for k in range(3)}
    home = np.array([0, 0, 1, 2, 2])
    tree = Nested(root, splits, places, {0: None, 1: None}, home, 9.0)
    assert tree.n_groups == 2
    first, second = tree.splits
    assert [c.objects.tolist() for c in first.children] == [[0, 1], [2, 3, 4]]
    assert [c.objects.tolist() for c in second.children] == [[2], [3, 4]]
    assert second.birth == 1.0  # it cannot outlive the group that it is a part of
    assert all(child.birth <= child.death == 1.0 for child in second.children)


def test_leaves_without_objects_are_left_out_and_their_name_is_their_parents():
    merges = [Merge(1.0, 0, 1, 0), Merge(2.0, 0, 2, 0)]
    root, splits = elders(np.array([-np.inf, 1.0, 2.0]), merges, 9.0)
    places = {k: Place(0.0, k) for k in range(3)}
    tree = Nested(root, splits, places, {0: None}, np.array([0, 2, 2, -1]), 9.0)
    assert len(tree.leaves) == 2
    assert len(tree.splits) == 1
    assert tree.names[1] == tree.names[0]
    assert tree.leaves[tree.names[2]].objects.tolist() == [1, 2]
    Z = linkage(tree.root, 4)
    assert is_valid_linkage(Z)
    assert Z[-1, 3] == 4  # the object in no group joins at the top


def test_one_group():
    tree = alone(5, None)
    assert tree.root.objects.tolist() == [0, 1, 2, 3, 4]
    assert tree.n_groups == 1
    assert not tree.splits
    assert linkage(tree.root, 5)[:, 2].tolist() == [0.0] * 4
    assert tree.rule.of_new(None, np.zeros((3, 1))).tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [1, 2])
def test_the_linkage_of_next_to_nothing(n):
    assert linkage(alone(n, None).root, n).shape == (n - 1, 4)
