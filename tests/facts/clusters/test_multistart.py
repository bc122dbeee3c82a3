"""Many starts at once."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import End, Status, as_similarity, multistart, peel, solve
from support import cliques, features, random_similarity

X, Y = make_blobs(400, centers=6, n_features=3, cluster_std=0.6, random_state=2)


@pytest.mark.parametrize("affinity", ["rbf", "sqeuclidean", "cosine", "precomputed"])
@pytest.mark.parametrize("how", ["uniform", "dpp"])
def test_a_pass_does_what_it_says(affinity, how):
    S = (
        as_similarity(as_similarity(X, "rbf").toarray())
        if affinity == "precomputed"
        else as_similarity(X, affinity)
    )
    shift = 2.0 * S.self_similarity
    run = multistart(S, shift=shift, n_starts=10, sampling=how, random_state=0)
    alive = np.ones(400, dtype=bool)
    total = 0
    for found in run:
        assert 1 <= len(found.clusters) <= 10
        assert len(found.solutions) == len(set(found.starts.tolist())) == 10 or alive.sum() < 10
        assert alive[found.starts].all()
        taken = np.zeros(400, dtype=bool)
        for cluster in found.clusters:
            assert alive[cluster.members].all()
            assert taken[cluster.members].mean() <= 0.1
            taken[cluster.members] = True
            assert cluster.status is Status.CONVERGED
            total += 1
        values = [c.value for c in found.clusters]
        assert values == sorted(values, reverse=True)
        # what was dropped overlaps an accepted one, or was not wanted
        best = max(found.solutions, key=lambda s: s.value)
        assert best.value == values[0]
        for solution in found.solutions:
            if not any(solution is c for c in found.clusters):
                shared = taken[solution.members].mean()
                assert shared > 0.1 or solution.threshold <= run.coherence or len(solution) == 1
        alive &= ~taken
    assert run.end in (End.NOT_COHERENT, End.ALL_ASSIGNED, End.NO_SIMILARITY)
    assert total == run.n_clusters
    assert run.labels.max() == total - 1


def test_fewer_passes_than_clusters_and_the_same_clusters():
    S = as_similarity(X, "rbf", gamma=0.5)
    run = multistart(S, 6, shift=5.0, n_starts=24, max_overlap=0.0, random_state=0)
    passes = list(run)
    for found in passes:  # without any overlap
        every = np.concatenate([cluster.members for cluster in found.clusters])
        assert np.unique(every).size == every.size
    peeling = peel(S, 6, shift=5.0)
    list(peeling)
    assert run.n_passes == len(passes) <= 3
    assert run.n_clusters == 6
    inside = (run.labels >= 0) & (peeling.labels >= 0)
    assert inside.mean() > 0.5
    assert adjusted_rand_score(run.labels[inside], peeling.labels[inside]) > 0.95


@pytest.mark.parametrize("start", ["vertex", "barycenter"])
def test_each_solution_is_that_of_its_start(start):
    A = random_similarity(60, seed=0)
    found = next(multistart(A, n_starts=5, start=start, algorithm="pairwise", random_state=1))
    for i, solution in zip(found.starts, found.solutions, strict=True):
        x = np.full(60, 0.5 / 59) if start == "barycenter" else np.zeros(60)
        x[i] = 0.5 if start == "barycenter" else 1.0
        alone = solve(A, algorithm="pairwise", start=x)
        np.testing.assert_array_equal(alone.members, solution.members)
        np.testing.assert_allclose(alone.weights, solution.weights, atol=1e-8)


@pytest.mark.parametrize("affinity", ["rbf", "cosine", "nearest_neighbors"])
def test_the_number_of_threads_changes_nothing(affinity):
    shift = {"rbf": 10.0, "cosine": 20.0, "nearest_neighbors": 1.0}[affinity]
    S = as_similarity(X, affinity)
    options = {"shift": shift, "n_starts": 8, "random_state": 0}
    runs = [multistart(S, 4, n_jobs=jobs, **options) for jobs in (1, 2, 4, None)]
    first, *others = [[cluster for found in run for cluster in found.clusters] for run in runs]
    for run, clusters in zip(runs[1:], others, strict=True):
        np.testing.assert_array_equal(runs[0].labels, run.labels)
        assert run.n_passes == runs[0].n_passes
        for one, other in zip(first, clusters, strict=True):
            np.testing.assert_array_equal(one.weights, other.weights)


def test_a_few_passes_find_the_groups():
    S = as_similarity(X, "rbf")
    many = {"shift": 3.0, "random_state": 0}
    run = multistart(S, 6, n_starts=20, sampling="dpp", **many)
    passes = list(run)
    assert run.n_clusters == 6
    assert run.n_passes == len(passes) < 6
    inside = run.labels >= 0
    assert adjusted_rand_score(Y[inside], run.labels[inside]) > 0.9
    overlapping = multistart(S, 6, n_starts=30, max_overlap=1.0, **many)
    clusters = [cluster for found in overlapping for cluster in found.clusters]
    for k, cluster in enumerate(clusters):
        assert (overlapping.labels[cluster.members] == k).any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_starts": 0}, "n_starts must be a whole number of at least 1"),
        ({"sampling": "dp"}, "Did you mean 'dpp'"),
        ({"max_overlap": 1.5}, "between 0 and 1"),
        ({"start": 3}, "samples its starts"),
        ({"algorithm": "replicator"}, "cannot start at a vertex"),
        ({"algorithm": "path-following"}, "takes no start"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        multistart(as_similarity(X, "rbf"), **options)


def test_two_starts_are_two_at_a_time():
    """A pass of two starts has up to two clusters, so that some runs need fewer passes than clusters."""
    S = as_similarity(X, "rbf", gamma=0.5)
    passes = []
    for seed in range(4):
        run = multistart(S, 4, shift=2.0, n_starts=2, random_state=seed)
        passes.append(len(list(run)))
        assert run.n_clusters == 4
    assert 2 <= min(passes) < 4


@pytest.mark.parametrize(
    "algorithm",
    ["fw", "pairwise", "away", "inimdyn", "working-set", "shrink-expand", "replicator", "trajectory"],
)
def test_every_method(algorithm):
    start = "barycenter" if algorithm in ("replicator", "trajectory") else "vertex"
    S = as_similarity(as_similarity(X, "rbf").toarray())
    run = multistart(
        S, 3, shift=1.0, n_starts=4, algorithm=algorithm, start=start, max_iter=2_000, random_state=0
    )
    clusters = [cluster for found in run for cluster in found.clusters]
    assert 1 <= len(clusters) <= 3
    assert all(cluster.algorithm == algorithm for cluster in clusters)


def test_a_path_based_similarity_is_solved_from_its_starts():
    S = as_similarity(X, "path")
    run = multistart(S, 3, shift=1.0, n_starts=4, random_state=0)
    clusters = [cluster for found in run for cluster in found.clusters]
    assert clusters
    assert clusters[0].algorithm == "pairwise"


def test_it_can_be_stopped_and_interrupted():
    S = as_similarity(features(3_000, 20), "laplacian")
    options = {"shift": 2.0, "n_starts": 4, "random_state": 0}
    stopped = multistart(S, 500, n_jobs=2, max_time=60.0, callback=lambda p: True, **options)
    list(stopped)
    assert stopped.end is End.STOPPED
    late = multistart(S, 500, max_time=0.0, **options)
    list(late)
    assert late.end is End.TIME_LIMIT
    began = []

    def interrupt(progress):
        if not began:
            began.append(1)
            os.kill(os.getpid(), signal.SIGINT)

    broken = multistart(S, 500, n_jobs=2, max_time=60.0, callback=interrupt, **options)
    list(broken)
    assert broken.end is End.INTERRUPTED


# what a review found -----------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [3, 6])
@pytest.mark.parametrize("seed", range(4))
def test_a_refused_best_solution_does_not_end_the_run(seed, least):
    A = cliques([2, 6, 6, 6, 6], [5.0, 1.0, 0.9, 0.8, 0.7])
    run = multistart(A, 4, n_starts=4, min_cluster_size=least, random_state=seed)
    clusters = [c for found in run for c in found.clusters]
    assert all(len(c) == 6 for c in clusters)
    assert run.end in (End.N_CLUSTERS, End.MIN_CLUSTER_SIZE)
    assert len(clusters) == 4 or run.end is End.MIN_CLUSTER_SIZE  # only where nothing else was sampled
    assert clusters


@pytest.mark.parametrize("seed", range(4))
def test_passes_go_on_where_all_that_was_reached_is_too_small(seed):
    run = multistart(cliques([2] * 6 + [6]), 1, n_starts=1, min_cluster_size=3, random_state=seed)
    (found,) = run
    assert [len(c) for c in found.clusters] == [6]
    assert "solutions" not in repr(found)


def test_a_stop_is_called_a_stop():
    run = multistart(
        cliques([6, 6], [1, 1]), 2, n_starts=3, min_cluster_size=50, random_state=0,
        algorithm="working-set", callback=lambda progress: True,
    )  # fmt: skip
    assert list(run) == []
    assert run.end is End.STOPPED


def test_lonely_objects_are_no_clusters_of_the_first_pass():
    run = multistart(cliques([5, 5], [1, 1], isolated=20), None, n_starts=12, random_state=0)
    assert sorted(len(c) for found in run for c in found.clusters) == [5, 5]


def test_the_same_cluster_twice_is_one_cluster():
    run = multistart(cliques([6, 6], [1, 1]), 4, n_starts=8, max_overlap=1.0, random_state=0)
    assert [len(c) for found in run for c in found.clusters] == [6, 6]


def test_exact_takes_no_starts_of_either_kind():
    for start in ("vertex", "barycenter"):
        with pytest.raises(ValueError, match="takes no start"):
            multistart(as_similarity(X, "path"), 2, algorithm="exact", start=start)


def test_what_dissolves_is_not_taken_for_a_cluster():
    """Thousands of pairs and one clique: once f < 0 those with the largest degrees come first."""
    A = cliques([2] * 2_500 + [60], [1.0] * 2_501)
    alone = solve(A, shift=5.0, start=0, algorithm="working-set")
    assert (len(alone), alone.status) == (60, Status.CONVERGED)
    (found,) = multistart(A, 1, shift=5.0, n_starts=8, algorithm="working-set", random_state=0)
    assert [(len(c), c.status) for c in found.clusters] == [(60, Status.CONVERGED)]
