"""Mode labelling: every object where its own climb ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, End, as_similarity, solve
from dominantsets.clusters.climbs import BATCH, climb_from_all, same_mode, typicality
from dominantsets.solvers import Monitor, SolverOptions
from support import CORNERS, assert_certified, cliques, neighbor_graph, random_similarity


def by_mode(n_clusters=None, **options):
    options = {"affinity": "precomputed", "assign": "mode"} | options
    return DominantSets(n_clusters, **options)


@pytest.mark.parametrize("algorithm", ["pairwise", "shrink-expand", "inimdyn", "working-set"])
def test_a_label_is_where_a_run_from_the_object_ends(algorithm):
    A = neighbor_graph(200, seed=2)
    model = by_mode(200, algorithm=algorithm, shift=0.5).fit(A)
    assert (model.labels_ >= 0).all()
    counts = np.bincount(model.labels_)
    assert (np.diff(counts) <= 0).all()  # the mode that most objects lead to comes first
    assert model.n_clusters_ == counts.size > 1
    for i in range(0, 200, 3):
        end, mode = solve(A, algorithm=algorithm, shift=0.5, start=i), model.clusters_[model.labels_[i]]
        assert end.value == pytest.approx(mode.value, rel=1e-9)
        np.testing.assert_array_equal(end.members[end.weights > 1e-6], mode.members[mode.weights > 1e-6])
    dense = A.toarray()
    for mode in model.clusters_:
        assert_certified(dense, mode, stationary=1e-8)


def test_cliques_are_their_modes():
    model = by_mode(algorithm="shrink-expand", shift=0.0).fit(cliques([7, 5, 4], isolated=2))
    assert np.bincount(model.labels_[:16]).tolist() == [7, 5, 4]
    assert (model.labels_[16:] == -1).all()  # nobody is like them
    np.testing.assert_array_equal(model.core_labels_, model.labels_)
    new = np.zeros((2, 18))
    new[0, 8:12] = 1.0
    assert model.predict(new).tolist() == [1, -1]


def test_groups_of_points():
    X, y = make_blobs(200, centers=CORNERS, random_state=1)
    model = DominantSets(4, affinity="sqeuclidean", assign="mode").fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    np.testing.assert_array_equal(
        model.predict(X[model.core_labels_ >= 0]), model.labels_[model.core_labels_ >= 0]
    )
    assert ((model.probabilities_ > 0.0) & (model.probabilities_ <= 1.0)).all()
    assert "a climb from there ends" in str(model.selection_)


def test_fewer_clusters_than_modes_leave_objects_out():
    A = random_similarity(80, seed=3)
    every = by_mode(80, shift=0.2, algorithm="pairwise").fit(A)
    assert every.n_clusters_ > 3
    three = by_mode(3, shift=0.2, algorithm="pairwise").fit(A)
    np.testing.assert_array_equal(three.labels_, np.where(every.labels_ < 3, every.labels_, -1))


def test_threads_do_not_matter():
    A = random_similarity(300, seed=4)  # more than a batch
    one, two = (by_mode(300, shift=0.5, algorithm="pairwise", n_jobs=jobs).fit(A) for jobs in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)


def test_modes_with_a_weight_that_hardly_counts_are_one():
    A = as_similarity(random_similarity(20, seed=5))
    one = solve(A, shift=1.0)
    weights = np.append(one.weights * (1 - 1e-5), 1e-5)
    outsider = int(np.setdiff1d(np.arange(20), one.members)[0])
    order = np.argsort(np.append(one.members, outsider))
    nearly = replace(one, members=np.append(one.members, outsider)[order], weights=weights[order])
    assert same_mode(one, nearly)
    assert not same_mode(one, replace(nearly, value=2.0 * one.value))
    assert not same_mode(one, replace(one, members=one.members + 100))


def test_a_time_limit_keeps_what_was_climbed():
    A = random_similarity(60, seed=1)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = by_mode(5, shift=0.5, max_time=0.0).fit(A)
    assert model.end_ is End.TIME_LIMIT
    assert model.labels_.shape == (60,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_starts": 4}, "leave n_starts at 1, got 4"),
        ({"checkpoint": "file"}, "keeps no checkpoint"),
        ({"solver_params": {"start": 3}}, "start must be 'vertex' or 'barycenter'"),
        ({"algorithm": "replicator", "shift": 0.0}, "a fixed point"),
        ({"algorithm": "path-following", "shift": 0.0}, "takes no start"),
        ({"noise": 0.1}, "needs assign='refine'"),
    ],
)
def test_what_does_not_go_with_climbs_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        by_mode(2, **options).fit(random_similarity(10))


def test_typicality_is_the_share_of_the_largest_payoff():
    A = random_similarity(12, seed=6)
    modes = [solve(A, shift=0.3, start=i) for i in (0, 5)]
    labels = np.array([0, 1, 0, 1, -1, 1, 0, 0, 1, -1, 0, 1])
    found = typicality(as_similarity(A), modes, labels)
    for k, mode in enumerate(modes):
        payoffs = A[:, mode.members] @ mode.weights
        np.testing.assert_allclose(found[labels == k], payoffs[labels == k] / payoffs[labels == k].max())
    assert (found[labels < 0] == 0.0).all()
    alone = np.zeros((3, 3))
    alone[0, 1] = alone[1, 0] = 1.0
    pair = solve(alone, start=0)
    assert typicality(as_similarity(alone), [pair], np.array([-1, -1, 0])).tolist() == [0.0, 0.0, 1.0]


def test_a_batch_is_told_how_many_are_left():
    n = BATCH + 20
    S = as_similarity(neighbor_graph(n))
    seen = []

    class Noting(Monitor):
        n_left = property(
            lambda self: self._left, lambda self, value: (seen.append(value), setattr(self, "_left", value))
        )

    options = SolverOptions().checked().chosen_for(S, 0.5)
    found = climb_from_all(S, 0.5, S.degrees(), options, Noting(), 1)
    assert [left for left in seen if left is not None][-2:] == [n, n - BATCH]
    assert found.end is End.ALL_ASSIGNED
    assert (found.labels >= 0).all()
