"""Which groups of a tree are clusters: on trees made by hand."""

from __future__ import annotations

from itertools import count

import numpy as np

from dominantsets.clusters.modes import Node
from dominantsets.clusters.selection import by_evidence, by_number, finest, groups, walk


class Tree:
    """A tree that is the same for all chances: what ``nodes`` of a tree of modes gives."""

    def __init__(self, *roots):
        self.roots = list(roots)

    def nodes(self, chance):
        return self.roots


numbers = count()


def node(chance, *children, persistence=1.0, size=10, level=0):
    return Node(next(numbers), 0, 5, persistence, 0.5, level, size, chance, list(children))


def family():
    """All of the data; in it A with A1 and A2, and B."""
    a1, a2, b = node(-9.0), node(-8.0), node(-10.0)
    a = node(-12.0, a1, a2, size=25, persistence=2.0)
    return Tree(node(-30.0, a, b)), a, a1, a2, b


def test_the_finest_groups():
    tree, a, a1, a2, b = family()
    assert list(walk(tree.roots)) == [tree.roots[0], a, a1, a2, b]
    assert groups(tree.roots) == [a, a1, a2, b]
    assert set(finest(tree.roots, -5.0)) == {a1, a2, b}
    assert set(finest(tree.roots, -8.5)) == {a1, b}  # one child is enough to take its parent's place
    assert set(finest(tree.roots, -9.5)) == {a, b}
    assert finest(tree.roots, -11.0) == [a]
    assert finest(tree.roots, -20.0) == []  # a root is all of the data
    a1.level = -1  # no group anywhere
    assert set(finest(tree.roots, -5.0)) == {a2, b}


def test_by_evidence_the_most_certain_comes_first():
    tree, _, a1, a2, b = family()
    chosen, roots = by_evidence(tree)
    assert chosen == [b, a1, a2]
    assert roots is tree.roots
    assert by_evidence(Tree(node(-30.0)))[0] == []
    assert by_evidence(Tree(node(-30.0, node(1.0), node(0.5))))[0] == []  # log(0.02) is what chance may have


def test_exactly_as_many_as_there_are_leaves():
    tree, a, a1, a2, b = family()
    assert set(by_number(tree, 3)[0]) == {a1, a2, b}
    assert set(by_number(tree, 2)[0]) == {a, b}  # the parent for its children
    assert by_number(tree, 1)[0] == [a]  # the most certain of those
    assert set(by_number(tree, 5)[0]) == {a1, a2, b}  # there are no more


def test_others_only_fill_up():
    """Groups that are no more than chance come in by their chance, and only where more are wanted."""
    sure = [node(-9.0), node(-8.0)]
    doubtful = [node(4.0), node(1.0), node(2.0)]
    tree = Tree(node(-30.0, *sure, *doubtful))
    for wanted, expected in ((2, []), (3, [1.0]), (4, [1.0, 2.0]), (5, [1.0, 2.0, 4.0])):
        chosen = by_number(tree, wanted)[0]
        assert len(chosen) == wanted
        assert [n.chance for n in chosen if n.chance > 0] == expected
        assert set(sure) <= set(chosen)


def test_what_stands_alone_is_not_given_up_for_as_many_others():
    """A doubtful group within one that stands alone makes them no more, so that it is not taken."""
    b = node(-10.0, node(3.0))
    a = node(-9.0)
    chosen = by_number(Tree(node(-30.0, a, b)), 3)[0]
    assert chosen == [b, a]


def test_parents_that_stay_longest_take_their_children_s_place_first():
    """Of two pairs, the one whose parent is worth more beside its parts is put together."""
    one, other = [node(-9.0), node(-9.1)], [node(-9.2), node(-9.3)]
    strong = node(-12.0, *one, persistence=3.0, size=20)
    weak = node(-12.0, *other, persistence=0.5, size=20)
    tree = Tree(node(-30.0, strong, weak))
    assert set(by_number(tree, 4)[0]) == {*one, *other}
    assert set(by_number(tree, 3)[0]) == {strong, *other}
    assert set(by_number(tree, 2)[0]) == {strong, weak}


def test_no_parent_goes_below_the_number_that_is_wanted():
    """A parent of three would leave too few, so that the least certain of them is left out instead."""
    three = [node(-9.0), node(-8.0), node(-7.0)]
    tree = Tree(node(-30.0, node(-12.0, *three)))
    chosen = by_number(tree, 2)[0]
    assert chosen == three[:2]
    assert np.isfinite([n.chance for n in chosen]).all()
