"""Enumeration by destabilising: maximal cliques against networkx, and the conditions of the method."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from dominantsets import destabilise
from support import assert_certified, cliques, press_ctrl_c, random_similarity


def random_graph(n, seed, density):
    A = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1).astype(float)
    return A + A.T


def sets(found):
    return {frozenset(clique.members.tolist()) for clique in found}


@pytest.mark.parametrize("seed", range(12))
def test_all_maximal_cliques_of_small_graphs(seed):
    A = random_graph(5 + seed % 6, 500 + seed, 0.3 + 0.05 * seed)
    found = destabilise(A)
    assert sets(found) == {frozenset(clique) for clique in nx.find_cliques(nx.from_numpy_array(A))}
    assert len(sets(found)) == len(found)
    for clique in found:
        k = len(clique)
        assert clique.strict is True
        assert clique.threshold == pytest.approx(1 - 1 / (2 * k))
        assert_certified(A, clique, stationary=1e-12)


def test_cliques_beside_each_other_and_nodes_alone():
    found = destabilise(2.5 * cliques([4, 3], isolated=2))
    assert sets(found) == {frozenset(range(4)), frozenset(range(4, 7)), frozenset([7]), frozenset([8])}
    largest = max(found, key=len)
    assert largest.value == pytest.approx(2.5 * (1 - 1 / 4 + 1 / 8) - 2.5 / 2)
    assert largest.shift == -1.25


def test_the_cocktail_party_graph_has_two_to_the_n_cliques():
    """Everybody knows everybody but one: a maximal clique has one of each couple."""
    A = np.ones((6, 6)) - np.eye(6)
    for i in range(0, 6, 2):
        A[i, i + 1] = A[i + 1, i] = 0.0
    found = destabilise(A)
    assert len(found) == 8
    assert all(len({i // 2 for i in clique.members}) == 3 for clique in found)
    assert len(destabilise(A, max_sets=3)) == 3


def test_weights_are_refused_with_the_reason():
    with pytest.raises(ValueError, match=r"without weights, and \d+ edges weigh less.*use dominant_sets"):
        destabilise(random_similarity(6))
    with pytest.raises(ValueError, match="max_sets must be a whole number of at least 1"):
        destabilise(cliques([3]), max_sets=0)


def test_it_stops_where_it_is_told_to():
    A = random_graph(60, 0, 0.6)
    total = sum(1 for _ in nx.find_cliques(nx.from_numpy_array(A)))
    for options in (
        {"max_time": 0.0},
        {"callback": press_ctrl_c},
        {"callback": lambda progress: progress.n_clusters >= 1},
    ):
        found = destabilise(A, **options)
        assert len(found) < total
        assert all(clique.strict for clique in found)
