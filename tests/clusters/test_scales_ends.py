"""Clusters at scales of their own: what a time limit and Ctrl-C leave."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, End, as_similarity
from dominantsets.clusters.modes import ModeTree
from dominantsets.clusters.scales import Scales
from dominantsets.rows import points
from dominantsets.similarity.located import located
from dominantsets.solvers import Monitor
from support import assert_certified, press_ctrl_c, unequal


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
    """The levels before are whole: their groups are solved for among all objects, and it says so."""
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
    for cluster in model.clusters_:
        assert_certified(A, cluster, rounding=1e-9)
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


def test_a_callback_ends_it():
    X, _ = unequal(1_500)
    with pytest.warns(UserWarning, match="ended early"):
        model = DominantSets(4, affinity="rbf", callback=lambda progress: True).fit(X)
    assert model.end_ is End.STOPPED


def test_the_number_of_threads_changes_nothing(monkeypatch):
    X, _ = unequal()
    every = DominantSets(affinity="sqeuclidean").fit(X)
    for threads in (1, 3):
        monkeypatch.setattr(points, "N_THREADS", threads)
        monkeypatch.setattr("dominantsets.compiled.threads.N_THREADS", threads)
        other = DominantSets(affinity="sqeuclidean").fit(X)
        np.testing.assert_array_equal(other.labels_, every.labels_)
        np.testing.assert_array_equal(other.shifts_, every.shifts_)


@pytest.mark.parametrize("sizes", [(2, 2), (2, 2, 2), (3, 2)])
def test_pairs_where_there_is_no_room_for_more(sizes):
    X = np.concatenate([20.0 * k + np.arange(size) for k, size in enumerate(sizes)])[:, None]
    labels = DominantSets(len(sizes), affinity="sqeuclidean").fit(X).labels_
    parts = np.split(labels, np.cumsum(sizes)[:-1])
    assert [len(set(part)) for part in parts] == [1] * len(sizes)
    assert sorted(part[0] for part in parts) == list(range(len(sizes)))


@pytest.mark.parametrize("far", [5.0, 9.0, 100.0])
def test_three_and_three(far):
    """Right angles, so that two objects are as far from the third: none of them is left at the edge."""
    corner = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]])
    X = np.concatenate([corner, corner + far])
    labels = DominantSets(2, affinity="sqeuclidean").fit(X).labels_
    assert len(set(labels[:3])) == len(set(labels[3:])) == 1
    assert labels[0] != labels[3]
    assert labels.min() == 0


@pytest.mark.parametrize("sizes", [(5, 2), (3, 2), (2, 4), (4, 2, 3), (2, 2, 2)])
@pytest.mark.parametrize("d", [1, 3])
def test_few_objects_far_apart_are_the_clusters_that_were_asked_for(sizes, d):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = 20.0 * y[:, None] + np.random.default_rng(0).uniform(size=(y.size, d))
    labels = DominantSets(len(sizes)).fit(X).labels_
    assert adjusted_rand_score(y, labels) == 1.0
    assert labels.min() == 0  # too few to tell noise
