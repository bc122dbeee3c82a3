"""Graph shift: every object where its own climb ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import End, as_similarity, graph_shift, solve
from dominantsets.clusters.shift import Scale
from dominantsets.studies.graph_shift import BATCH, same_mode
from support import CORNERS, assert_certified, cliques, neighbor_graph, press_ctrl_c, random_similarity


@pytest.mark.parametrize("algorithm", ["pairwise", "shrink-expand", "inimdyn", "working-set"])
def test_a_label_is_where_a_run_from_the_object_ends(algorithm):
    A = neighbor_graph(200, seed=2)
    found = graph_shift(A, algorithm=algorithm, shift=0.5)
    assert found.end is End.ALL_ASSIGNED
    assert (found.labels >= 0).all()
    counts = np.bincount(found.labels)
    assert (np.diff(counts) <= 0).all()  # the mode that most objects lead to comes first
    assert len(found.modes) == counts.size > 1
    for i in range(0, 200, 3):
        end, mode = solve(A, algorithm=algorithm, shift=0.5, start=i), found.modes[found.labels[i]]
        assert end.value == pytest.approx(mode.value, rel=1e-9)
        np.testing.assert_array_equal(end.members[end.weights > 1e-6], mode.members[mode.weights > 1e-6])
    dense = A.toarray()
    for mode in found.modes:
        assert_certified(dense, mode, stationary=1e-8)


def test_half_of_the_mass_may_be_elsewhere():
    """From "barycenter" with half of the mass on the object, as in multi-start."""
    A = random_similarity(40, seed=3)
    found = graph_shift(A, algorithm="pairwise", start="barycenter", shift=0.2)
    for i in range(0, 40, 7):
        x = np.full(40, 0.5 / 39)
        x[i] = 0.5
        end = solve(A, algorithm="pairwise", start=x, shift=0.2)
        np.testing.assert_array_equal(end.members, found.modes[found.labels[i]].members)


def test_cliques_are_their_modes():
    found = graph_shift(cliques([7, 5, 4], isolated=2), algorithm="shrink-expand")
    assert np.bincount(found.labels[:16])[:3].tolist() == [7, 5, 4]
    assert [mode.members.size for mode in found.modes] == [7, 5, 4, 1, 1]  # nothing is like the last two
    assert sorted(found.labels[16:]) == [3, 4]
    assert repr(found) == "GraphShift(5 modes of 18 objects)"


def test_groups_of_points():
    X, y = make_blobs(200, centers=CORNERS, random_state=1)
    S = as_similarity(X, "sqeuclidean")
    found = graph_shift(S, shift=Scale(S, S.degrees()).shift(0.015))
    assert len(found.modes) == 4
    assert adjusted_rand_score(y, found.labels) == 1.0


def test_threads_do_not_matter():
    A = random_similarity(300, seed=4)  # more than a batch
    one, two = (graph_shift(A, shift=0.5, algorithm="pairwise", n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)


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
    found = graph_shift(random_similarity(60, seed=1), shift=0.5, max_time=0.0)
    assert found.end is End.TIME_LIMIT
    assert found.labels.shape == (60,)
    assert found.labels.max() == len(found.modes) - 1


def test_ctrl_c_keeps_what_was_climbed():
    S = as_similarity(np.random.default_rng(0).normal(size=(3_000, 8)), "laplacian")
    found = graph_shift(S, shift=1.0, algorithm="working-set", max_time=60.0, callback=press_ctrl_c)
    assert found.end is End.INTERRUPTED
    assert found.labels.shape == (3_000,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"start": 3}, "start"),
        ({"start": "global"}, "start"),
        ({"algorithm": "replicator"}, "a fixed point"),
        ({"algorithm": "path-following"}, "takes no start"),
        ({"shift": np.nan}, "shift"),
    ],
)
def test_what_does_not_go_with_climbs_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        graph_shift(random_similarity(10), **options)


def test_a_callback_hears_how_many_are_left():
    n, left = BATCH + 300, []
    S = as_similarity(np.random.default_rng(0).normal(size=(n, 8)), "laplacian")
    graph_shift(S, shift=1.0, algorithm="working-set", callback=lambda progress: left.append(progress.n_left))
    assert left  # a climb takes some steps, and the callback is called at least once for each batch
    assert set(left) <= {n, n - BATCH, n - 2 * BATCH}
