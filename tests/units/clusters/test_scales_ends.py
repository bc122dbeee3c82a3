"""Clusters at scales of their own: what a time limit and Ctrl-C leave."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets import DominantSets, End, as_similarity
from dominantsets.clusters.modes import ModeTree
from dominantsets.clusters.scales import Scales
from dominantsets.rows import points
from dominantsets.similarity.located import located
from dominantsets.solvers import Monitor
from support import assert_certified, assert_clusters_certified, press_ctrl_c, unequal


def test_a_time_limit_inside_the_tree_gives_what_is_there():
    X, _ = unequal()
    with pytest.warns(UserWarning, match="ended early"):
        model = DominantSets(4, max_time=0.0, affinity="sqeuclidean").fit(X)
    assert model.end_ is End.TIME_LIMIT
    assert 1 <= model.n_clusters_ <= 4
    assert len(model.labels_) == len(X)
    assert set(model.labels_) <= {-1, *range(model.n_clusters_)}
    assert_certified(as_similarity(X, "sqeuclidean").toarray(), model.clusters_[0], rounding=1e-9)
    scales = Scales(as_similarity(X, "sqeuclidean"), located(model.similarity_).spread(), 4, 1, Monitor(0.0))
    assert scales.tree.levels.size == 1
    assert scales.balls


@pytest.mark.parametrize("level", [0, 6, 20])
def test_ctrl_c_inside_the_tree_ends_the_fit(level, monkeypatch):
    """The levels before are whole: their groups are solved for, and it says so."""
    advance = ModeTree._advance

    def interrupted(self, state, kappa, at):
        advance(self, state, kappa, at)
        if at == level:
            press_ctrl_c()

    monkeypatch.setattr(ModeTree, "_advance", interrupted)
    X, _ = unequal()
    with pytest.warns(UserWarning, match="interrupted"):
        model = DominantSets(4, affinity="sqeuclidean").fit(X)
    assert model.end_ is End.INTERRUPTED
    assert 1 <= model.n_clusters_ <= 4
    A = as_similarity(X, "sqeuclidean").toarray()
    assert_clusters_certified(A, model, rounding=1e-9)
    assert set(model.labels_) <= {-1, *range(model.n_clusters_)}
    assert len(model.predict(X[:5])) == 5


def test_ctrl_c_between_two_clusters_keeps_those_before(monkeypatch):
    from dominantsets.clusters.scales import OwnScales

    solve, calls = OwnScales._solve, []

    def interrupted(self):
        calls.append(self)
        found = solve(self)
        if len(calls) == 2:
            press_ctrl_c()
        return found

    monkeypatch.setattr(OwnScales, "_solve", interrupted)
    X, _ = unequal()
    with pytest.warns(UserWarning, match="interrupted"):
        model = DominantSets(4, affinity="sqeuclidean").fit(X)
    assert model.end_ is End.INTERRUPTED
    assert model.n_clusters_ == len(model.selection_.rows) == 2
    assert set(model.labels_) <= {-1, 0, 1}


def test_the_number_of_threads_changes_nothing(monkeypatch):
    X, _ = unequal()
    every = DominantSets(affinity="sqeuclidean").fit(X)
    for threads in (1, 3):
        monkeypatch.setattr(points, "N_THREADS", threads)
        monkeypatch.setattr("dominantsets.compiled.threads.N_THREADS", threads)
        other = DominantSets(affinity="sqeuclidean").fit(X)
        np.testing.assert_array_equal(other.labels_, every.labels_)
        np.testing.assert_array_equal(other.shifts_, every.shifts_)
