"""The tree of modes: where each of its nodes is taken, by the plain form, and how it ends."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets.clusters.modes import WINDOW, ModeTree
from dominantsets.similarity.located import Coordinates
from dominantsets.solvers import Monitor


def sample(seed, extra=0.0):
    """Groups of three sizes and widths, and some objects between them."""
    rng = np.random.default_rng(seed)
    parts = [
        rng.normal(size=(m, 2)) * w + at for m, w, at in ((60, 0.3, 0.0), (30, 1.0, 6.0), (8, 0.01, 9.0))
    ]
    X = np.vstack([*parts, rng.uniform(-2.0, 10.0, size=(20, 2))])
    return Coordinates(X - X.mean(axis=0), np.full(len(X), extra), 0.0)


def taken(tree, node):
    """The level at which a node is taken, from its definition, and whether it is the one after the best.

    Where it changes least: how fast it grows about there, plus the error of that, plus what is not its own.
    """
    state, kappa = tree._state, tree.levels
    own, mass, share = (table[node.chain] for table in (state.own, state.mass, state.share))
    able = [at for at in range(node.first, node.last) if own[at] >= tree.least and share[at] >= 0.5]
    unrest = []
    for at in able:
        before, after = max(at - WINDOW, node.first), min(at + WINDOW, node.last - 1)
        grown = 1.0
        if after > before:
            grown = abs(np.log(mass[after] / mass[before])) / np.log(kappa[after] / kappa[before])
        unrest.append(grown + 1.0 / np.sqrt(own[at]) + 1.0 - own[at] / mass[at])
    if not able:
        return -1, False
    best = able[int(np.argmin(unrest))]
    # where a ball begins its farthest object has no weight yet
    later = best == state.born[node.chain] and best + 1 in able and own[best + 1] == own[best]
    return best + later, later


def test_where_a_node_is_taken():
    after = 0
    for seed in range(4):
        tree = ModeTree(sample(seed), 8, Monitor())
        lives = tree.lives()
        early = [
            tree.life(node.chain, node.first + begin, node.first + begin + more)
            for node in lives
            for begin in (0, 1, 2)
            for more in (1, 2, 3)
        ]
        for node in [*lives, *early]:
            level, later = taken(tree, node)
            after += later
            assert node.level == level
            if level >= 0:
                assert node.size == tree._state.own[node.chain, level]
                assert node.sharpness == tree._state.sharpness[node.chain, level]
    assert after


def test_how_fast_a_ball_grows_about_a_level():
    """The exponent of kappa, over two levels on either side that it lives; 1 where it lives at one only."""
    tree = ModeTree(sample(2), 8, Monitor())
    for node in tree.lives():
        mass = np.maximum(tree._state.mass[node.chain], 1)
        found = tree._change(node.chain, node.first, node.last, np.arange(node.last - node.first))
        for at, exponent in enumerate(found, node.first):
            low, high = max(at - WINDOW, node.first), min(at + WINDOW, node.last - 1)
            expected = 1.0
            if high > low:
                expected = abs(np.log(mass[high] / mass[low])) / np.log(tree.levels[high] / tree.levels[low])
            assert exponent == pytest.approx(expected)
        assert tree._change(node.chain, node.first, node.first + 1, np.arange(1)).tolist() == [1.0]


@pytest.mark.parametrize("extra", [0.0, 400.0])
def test_all_end_in_one(extra):
    """Also where most of what tells objects apart is in none of their coordinates."""
    tree = ModeTree(sample(0, extra), 8, Monitor())
    for chance in (0.0, np.inf):
        assert len(tree.nodes(chance)) == 1
    assert tree.lives()[tree.nodes(0.0)[0].chain].last == tree.levels.size


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_nodes_know_no_unit(unit):
    here = sample(1)
    plain, other = (ModeTree(Coordinates(u * here.rows, here.extra, 0.0), 8, Monitor()) for u in (1.0, unit))
    assert [(n.level, n.size) for n in other.lives()] == [(n.level, n.size) for n in plain.lives()]
    for one, two in zip(plain.nodes(0.0), other.nodes(0.0), strict=True):
        np.testing.assert_allclose(other.span(two), np.array(plain.span(one)) * unit**2)
        (centre, square), (moved, scaled) = plain.place(one), other.place(two)
        np.testing.assert_allclose(moved, unit * centre, atol=1e-6 * unit)
        assert scaled == pytest.approx(unit**2 * square)
