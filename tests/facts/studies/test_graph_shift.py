"""Graph shift: every object where its own climb ends."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets import End, as_similarity, graph_shift, solve
from support import assert_certified, cliques, neighbor_graph, press_ctrl_c, random_similarity


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


def test_threads_do_not_matter():
    A = random_similarity(300, seed=4)  # more than a batch
    one, two = (graph_shift(A, shift=0.5, algorithm="pairwise", n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)


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
