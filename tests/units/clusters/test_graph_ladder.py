"""Sets of a graph over rising shifts: where they begin, and which are the same."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets.clusters import graph_ladder
from dominantsets.solvers import Monitor, Point
from support import cliques


def graph(n=20, seed=0, density=0.4):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return A + A.T


@pytest.mark.parametrize("most", [1, 3, 32])
def test_no_more_than_the_strongest_edges_of_every_node(most, monkeypatch):
    monkeypatch.setattr(graph_ladder, "STRONGEST", most)
    A = graph()
    strong = graph_ladder._strongest(sp.csr_array(A)).toarray()
    for row, kept in zip(A, strong, strict=True):
        least = np.sort(row[row > 0])[::-1][:most].min(initial=np.inf)
        np.testing.assert_array_equal(kept, np.where(row >= least, row, 0.0))


@pytest.mark.parametrize("rows", [3, 1000])
def test_a_start_has_half_of_the_mass_at_its_node_and_a_reach(rows, monkeypatch):
    """x'Ax / |x|² of the start is the shift at which its value is 0."""
    monkeypatch.setattr(graph_ladder, "ROWS", rows)
    A = graph()
    A[5] = A[:, 5] = 0.0  # alone
    M = sp.csr_array(A)
    reach = graph_ladder._reach(M, M)
    for i in range(20):
        if i == 5:
            assert reach[i] == 0.0
            continue
        support, weights = graph_ladder._about(M, i)
        assert support.tolist() == sorted({i, *np.flatnonzero(A[i])})
        x = np.zeros(20)
        x[support] = weights
        assert x[i] == 0.5
        others = np.arange(20) != i
        np.testing.assert_allclose(x[others], 0.5 * A[i, others] / A[i].sum())
        assert reach[i] == pytest.approx(x @ A @ x / (x @ x))


def test_sets_are_alike_where_most_of_them_is_shared():
    a = np.arange(100)
    same = graph_ladder.SAME
    for shared in range(50, 101):
        b = np.arange(100 - shared, 200 - shared)
        assert graph_ladder._alike(a, b) == (shared >= same * (200 - shared))


def test_of_equal_sets_the_one_in_the_middle_of_its_shifts():
    def followed(members, shift):
        return graph_ladder.FollowedSet(
            Point(np.array(members), np.full(len(members), 1 / len(members))), shift, None
        )

    sets = [followed([0, 1], 1.0), followed([2, 3], 1.0), *(followed([0, 1], s) for s in (2.0, 3.0, 4.0))]
    assert [(s.members.tolist(), s.shift) for s in graph_ladder.distinct(sets)] == [
        ([0, 1], 3.0),
        ([2, 3], 1.0),
    ]


def test_cliques_are_followed_up_to_where_their_value_is_0():
    """Weights 1: f = (m - 1 - shift) / m, so that a clique of m lasts up to the shift m - 1."""
    A = cliques([4, 7, 11], isolated=2)
    A.eliminate_zeros()
    sets = graph_ladder.Ladder(A, Monitor()).climb()
    for members in (range(4), range(4, 11), range(11, 22)):
        mine = [s for s in sets if s.members.tolist() == list(members)]
        shifts = np.array([s.shift for s in mine])
        m = len(members)
        assert shifts[0] == graph_ladder.LOWEST
        assert shifts[-1] < m - 1 <= shifts[-1] * graph_ladder.RATIO * (1 + 1e-9)
        np.testing.assert_allclose(shifts[1:] / shifts[:-1], graph_ladder.RATIO)
        for low, high in pairwise(mine):
            assert low.above is high
            assert high.below is low
        assert {s.range() for s in mine} == {(shifts[0], shifts[-1])}
        np.testing.assert_allclose(mine[0].weights, 1 / m, atol=1e-3)
    assert {tuple(s.members) for s in sets} == {tuple(range(4)), tuple(range(4, 11)), tuple(range(11, 22))}


@pytest.mark.parametrize("effort", [1e-9, 100])
def test_one_start_for_each_set_and_so_much_effort(effort, monkeypatch):
    """Nodes that a set holds are no starts; once the effort is spent, what is left starts together."""
    starts, about = [], graph_ladder._about
    monkeypatch.setattr(graph_ladder, "_about", lambda A, i: starts.append(i) or about(A, i))
    monkeypatch.setattr(graph_ladder, "EFFORT", effort)
    A = cliques([4, 7, 11])
    A.eliminate_zeros()
    ladder = graph_ladder.Ladder(A, Monitor())
    found = ladder._rung(0.5, [])
    assert sorted(len(one.members) for one in found) == [4, 7, 11]
    assert len(starts) == (3 if effort == 100 else 1)
    again = ladder._rung(0.6, found)  # those are followed, and nothing is left to start from
    assert sorted(len(one.members) for one in again) == [4, 7, 11]
    assert all(one.below is before for one, before in zip(again, found, strict=True))
    assert len(starts) == (3 if effort == 100 else 1)
    assert ladder._rung(11.0, again) == []  # above all of them
