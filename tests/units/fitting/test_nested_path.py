"""Single linkage as a hierarchy of dominant sets: nodes against the exact spectrum, and plain searches."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets import End, as_similarity, path_spectrum
from dominantsets.fitting import nested_path
from dominantsets.fitting.nested_path import _Tree
from dominantsets.solvers import Monitor, SolverOptions
from plans import nested_of
from support import assert_certified, path, random_distances

OPTIONS = SolverOptions().checked()


def tree_of(n, seed, ties=False, unit=1.0):
    S = path(unit * random_distances(n, seed, ties))
    return S, _Tree(S, OPTIONS)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_nodes_live_as_the_spectrum_says(seed, ties):
    """Those that are a set at no shift are as old as what they merge into, and roots are always sets."""
    S, tree = tree_of(14, seed, ties)
    spectrum, parents = path_spectrum(S), tree.links.parent
    np.testing.assert_array_equal(np.flatnonzero(tree.is_set), np.sort(spectrum.nodes))
    assert tree.is_set[parents < 0].all()
    for node in np.flatnonzero(~tree.is_set):
        assert tree.begins[node] == tree.ends[node] == tree.begins[parents[node]]
    assert tree.top == spectrum.shift_from.max()
    for node in range(parents.size):
        leaves = tree.links.leaves(node)
        assert tree.some(node) in leaves


@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
def test_the_set_of_a_node_is_all_of_it_within_its_life(unit):
    S, tree = tree_of(12, 0, unit=unit)
    A = S.toarray()
    for node in np.flatnonzero(tree.is_set).tolist():
        core = tree.core(node)
        np.testing.assert_array_equal(core.members, tree.links.leaves(node))
        assert tree.begins[node] < core.shift < tree.ends[node]
        assert_certified(A, core, rounding=1e-9)
        assert core.strict
        low, high = tree.begins[node], tree.ends[node]
        inside = 0.9 * low + 0.1 * high if np.isfinite(high) else low + 1.0
        assert tree.core(node, inside).shift == inside
        assert tree.core(node, low - 1.0).shift == core.shift  # no shift of its life: the middle
        if np.isfinite(high) and low + S.top > 0.0:
            assert core.shift + S.top == pytest.approx(np.sqrt((low + S.top) * (high + S.top)))
    assert tree.core(-1) is None
    assert tree.core(0).members.tolist() == [0]


@pytest.mark.parametrize("seed", range(4))
def test_the_node_that_is_a_set_for_longest(seed):
    """Of those above that begin below a shift: one that begins there is none of them."""
    _, tree = tree_of(14, seed, ties=bool(seed % 2))
    for node in range(tree.begins.size):
        up = [node]
        while tree.links.parent[up[-1]] >= 0:
            up.append(int(tree.links.parent[up[-1]]))
        for below in [*tree.begins[up].tolist(), np.inf]:
            first = next((k for k, one in enumerate(up) if k and not tree.begins[one] < below), len(up))
            able = [one for one in up[:first] if tree.is_set[one]]
            life = {
                one: tree.kappa(tree.ends[one]) / max(tree.kappa(tree.begins[one]), 1e-300) for one in able
            }
            expected = max(able, key=life.__getitem__) if able else -1
            found = tree.longest(node, below)
            assert found == expected or life[found] == life[expected]


@pytest.mark.parametrize("seed", range(3))
def test_the_first_nodes_that_are_large_enough(seed):
    """With no such node below them; and how many of them each node holds."""
    _, tree = tree_of(40, seed)
    links, n = tree.links, 40
    stand = [int(np.flatnonzero(links.size == 2)[0]), int(np.flatnonzero(links.size >= 3)[0])]
    first, count = nested_path._firsts(tree, stand)
    large = [
        node for node in range(n, links.size.size) if links.size[node] >= nested_path.LEAST or node in stand
    ]
    within = {node: set(links.leaves(node).tolist()) for node in range(links.size.size)}
    lowest = [node for node in large if not any(within[other] < within[node] for other in large)]
    assert sorted(first.values()) == sorted(lowest)
    for leaf, node in first.items():
        assert leaf in within[node]
    assert count == [sum(within[low] <= within[node] for low in lowest) for node in within]


def test_groups_that_stand_alone_and_the_time_limit():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)) + at for at in ((0.0, 0.0), (15.0, 0.0), (60.0, 0.0))])
    S = as_similarity(X, "path")
    found = nested_of(S, 1, OPTIONS, Monitor())
    assert found.n_groups == 3
    assert found.halt is None
    every = [group.objects.tolist() for group in found.root.walk()]
    for first, last in ((0, 30), (30, 60), (60, 90)):
        assert list(range(first, last)) in every
    parts = [group.objects.tolist() for group in found.root.children]
    assert sorted(parts) == [list(range(60)), list(range(60, 90))]  # the near ones are put together first
    assert nested_of(S, 1, OPTIONS, Monitor(0.0)).halt is End.TIME_LIMIT
