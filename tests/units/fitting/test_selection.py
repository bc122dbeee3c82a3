"""The table of what was chosen: its rows say what the clusters, the tree and the labels say."""

from __future__ import annotations

import numpy as np

from dominantsets import DominantSets, Selection
from dominantsets.fitting import selection as table
from dominantsets.fitting.selection import Row
from support import CORNERS, cliques


def corners(m=40, spread=0.6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), m)
    return np.array(CORNERS, dtype=float)[y] + spread * rng.normal(size=(4 * m, 2)), y


def row(**more):
    base = {"shift_from": 1.0, "shift": 2.0, "shift_to": 3.0, "radius": 0.5, "members": 4, "labelled": 5}
    return Row(**{**base, "among": 0, "persistence": 1.0, "sharpness": 0.9, "chance": 0.1, **more})


def test_what_is_printed():
    few = Selection("why", [row(), row(members=7)], noise="none", advice="do", runner_up="next")
    lines = str(few).splitlines()
    assert lines[1].split() == ["0", "1", "2", "3", "0.5", "4", "5", "0", "1.00", "0.90", "1.0e-01"]
    assert lines[2].split()[5] == "7"
    assert lines[3:] == ["why", "next", "Noise: none", "do"]
    assert str(Selection("why")) == "why"
    assert str(Selection("why", choice="because")).splitlines() == ["because", "why"]
    exactly = str(Selection("why", [row()] * table.SHOWN)).splitlines()
    assert len(exactly) == table.SHOWN + 2
    many = str(Selection("why", [row()] * (table.SHOWN + 3))).splitlines()
    assert many[table.SHOWN + 1 :] == ["... and 3 more", "why"]


def test_advice_where_groups_only_fill_up_a_number():
    X, _ = corners()
    assert not DominantSets(4, affinity="sqeuclidean").fit(X).selection_.advice
    chosen = DominantSets(7, affinity="sqeuclidean").fit(X).selection_
    found = [row.chance > 1.0 for row in chosen.rows]
    assert chosen.advice == f"{sum(found)} of the 7 only fill up the number that was asked for."
    assert 0 < sum(found) <= 3


def test_tables_of_graphs_and_trees():
    graph = DominantSets(affinity="precomputed").fit(cliques([12, 9, 7]))
    rows = graph.selection_.rows
    assert "3 of 3 groups are significant" in graph.selection_.reason
    assert [row.members for row in rows] == [len(c) for c in graph.clusters_]
    assert all(np.isnan(row.radius) and row.chance < 1.0 for row in rows)
    X, _ = corners(spread=0.3)
    path = DominantSets(affinity="path").fit(X)
    made = path.n_clusters_ - 1
    assert f"{made} of {made} cuts are stronger" in path.selection_.reason
    assert not path.selection_.advice
    one = DominantSets(affinity="path").fit(X[:40]).selection_
    assert "pass n_clusters" in one.advice
    assert "0 of 0 cuts" in one.reason
    for k in (5, 9):
        more = DominantSets(k, affinity="path").fit(X).selection_
        weak = k - 1 - int(more.reason.split("sides. ")[1].split(" of ")[0])
        assert weak == k - 4
        assert more.advice == f"{weak} of the {k} only fill up the number that was asked for."
