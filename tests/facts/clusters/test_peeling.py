"""Peeling: masks instead of copies, and why it ends."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import reference
from dominantsets import End, Status, as_similarity, peel, solve
from support import assert_certified, cliques, features, path, random_similarity


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5]), st.sampled_from(["pairwise", "away"]))
def test_masking_is_the_same_as_cutting_out(seed, shift, algorithm):
    """Each cluster is what solve finds in the matrix of the objects that are left."""
    A = random_similarity(14, seed)
    left = np.arange(14)
    for cluster in peel(A, 4, shift=shift, algorithm=algorithm):
        alone = solve(A[np.ix_(left, left)], shift=shift, algorithm=algorithm)
        np.testing.assert_array_equal(left[alone.members], cluster.members)
        assert cluster.value == pytest.approx(alone.value, rel=1e-9)
        assert cluster.margin == pytest.approx(alone.margin, rel=1e-6, abs=1e-9)
        left = np.setdiff1d(left, cluster.members)


def test_ends_at_n_clusters():
    peeling = peel(cliques([4, 3, 2]), 2)
    assert [len(c) for c in peeling] == [4, 3]
    assert peeling.end is End.N_CLUSTERS
    assert peeling.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, -1, -1]


def test_small_sets_are_passed_over():
    """They are no clusters, and not the end: what comes after them is found."""
    peeling = peel(cliques([4, 3, 2]), 5, min_cluster_size=3)
    assert [len(c) for c in peeling] == [4, 3]
    assert peeling.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, -1, -1]
    heavy = cliques([2, 6, 2, 6], [9.0, 2.0, 1.5, 1.0])  # their degrees are 9, 10, 1.5 and 5
    peeling = peel(heavy, 5, min_cluster_size=3)
    assert [len(c) for c in peeling] == [6, 6]
    assert peeling.labels.tolist() == [-1] * 2 + [0] * 6 + [-1] * 2 + [1] * 6
    assert [len(c) for c in peel(heavy, 1, min_cluster_size=3)] == [6]
    assert list(peel(heavy, min_cluster_size=7)) == []


def test_ends_when_no_similarity_is_left():
    A = np.zeros((5, 5))
    A[:2, :2] = 1 - np.eye(2)
    for stored in (A, sp.csr_array(A)):
        peeling = peel(stored, 5)
        assert [c.members.tolist() for c in peeling] == [[0, 1]]
        assert peeling.end is End.NO_SIMILARITY


def test_ends_where_nothing_leads_from_one_to_another():
    """Of a forest, when all that are left are alone in their trees."""
    D = sp.csr_array(([1.0, 2.0, 1.0], ([0, 1, 3], [1, 2, 4])), shape=(7, 7))
    peeling = peel(path(D), 7, shift=0.5)
    assert sorted(c.members.tolist() for c in peeling) == [[0, 1], [3, 4]]
    assert peeling.end is End.NO_SIMILARITY
    np.testing.assert_array_equal(peeling.labels < 0, [False, False, True, False, False, True, True])


def test_ends_when_all_are_assigned():
    peeling = peel(cliques([3, 2]), 5)
    assert [len(c) for c in peeling] == [3, 2]
    assert peeling.end is End.ALL_ASSIGNED


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_rounding_left_by_subtracted_degrees_is_not_similarity(unit):
    A = np.zeros((40, 40))
    A[:30, :30] = unit * (random_similarity(30, seed=1) / 3 + 0.1)
    np.fill_diagonal(A, 0.0)
    peeling = peel(A, 40, shift=5.0 * unit)
    members = np.concatenate([c.members for c in peeling])
    assert peeling.end is End.NO_SIMILARITY
    assert members.max() < 30


def test_without_a_number_it_ends_when_nothing_coherent_is_left():
    rng = np.random.default_rng(0)
    X = np.concatenate([c + rng.normal(size=(60, 2)) for c in ((0, 0), (20, 0), (0, 20))])
    S = as_similarity(X, "sqeuclidean")
    peeling = peel(S, shift=2.0 * S.offset)
    found = list(peeling)
    assert peeling.end in (End.NOT_COHERENT, End.ALL_ASSIGNED, End.NO_SIMILARITY)
    assert all(c.threshold > peeling.coherence for c in found[1:])
    assert 3 <= len(found) <= 5


def test_what_a_cluster_must_exceed_is_a_tenth_above_the_mean_of_all_pairs():
    A = random_similarity(12, seed=3)
    mean = A.sum() / (12 * 11)
    dense = peel(A)
    assert dense.coherence == pytest.approx(mean + 0.1 * (A.max() - mean))  # to the largest similarity
    assert peel(sp.csr_array(A)).coherence == pytest.approx(mean)  # of a graph, which has no such level
    X, counts = features(12), np.repeat([1, 2], 6)
    copies = peel(as_similarity(np.repeat(X, counts, axis=0), "rbf", gamma=0.1))
    counted = peel(as_similarity(X, "rbf", gamma=0.1), sample_weight=counts)
    assert counted.coherence == pytest.approx(copies.coherence)


def test_where_each_cluster_starts():
    """An object or weights hold at first, what is left is begun as if nothing had been said."""
    A = cliques([6, 4, 5])
    assert [len(c) for c in peel(A, 3, start=7)] == [4, 6, 5]
    assert [len(c) for c in peel(A, 3)] == [6, 5, 4]
    few = np.where(np.arange(15) < 10, np.where(np.arange(15) < 6, 0.01, 0.2), 0.0)
    found = list(peel(A, 3, start=few / few.sum(), algorithm="replicator", max_iter=5_000))
    left = np.arange(15)
    for k, cluster in enumerate(found):
        inside = A.toarray()[np.ix_(left, left)]
        begin = few / few.sum() if k == 0 else "barycenter"
        alone = solve(inside, start=begin, algorithm="replicator", max_iter=5_000)
        np.testing.assert_array_equal(cluster.members, left[alone.members[alone.weights > 2e-12]])
        left = np.setdiff1d(left, cluster.members)
    assert len(found) == 3


def test_no_time_at_all_is_enough_for_one_cluster():
    peeling = peel(cliques([4, 3, 2]), 3, max_time=0.0)
    assert len(list(peeling)) == 1
    assert peeling.end is End.TIME_LIMIT


def test_cutoff_takes_small_weights_out_and_certifies_the_rest():
    A = reference.shifted(cliques([6, 6], [1.0, 0.9]).toarray(), 0.05)
    full = next(peel(A, 1, algorithm="replicator", start="barycenter", max_iter=60, cutoff=0.0))
    cut = next(peel(A, 1, algorithm="replicator", start="barycenter", max_iter=60, cutoff=1e-2))
    assert len(full) == 12
    assert 0 < len(cut) < 12
    assert cut.weights.sum() == pytest.approx(1.0)
    assert_certified(A, cut)


def test_a_cutoff_above_every_weight_keeps_the_largest():
    cluster = next(peel(cliques([5]), 1, cutoff=0.5))
    assert len(cluster) == 1


def test_the_similarity_is_never_copied():
    n = 1_500
    A = random_similarity(n, seed=0)
    S = as_similarity(A)
    list(peel(S, 1, max_iter=10))  # compiled before the memory is watched
    tracemalloc.start()
    list(peel(S, 10, shift=2.0, max_iter=200))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * A.nbytes


def test_time_runs_out_between_and_within_clusters():
    A = random_similarity(300, seed=1)
    peeling = peel(A, 50, algorithm="fw", tol=0.0, max_iter=10**9, max_time=0.3)
    found = list(peeling)
    assert peeling.end is End.TIME_LIMIT
    assert found[-1].status is Status.TIME_LIMIT
    assert found[-1].weights.sum() == pytest.approx(1.0)


def test_the_callback_is_told_and_can_stop():
    seen = []

    def stop_in_the_second(progress):
        seen.append(progress)
        return progress.n_clusters == 1 and progress.n_iter > 0

    A = random_similarity(400, seed=2)
    peeling = peel(A, 5, algorithm="fw", tol=0.0, max_iter=60_000, callback=stop_in_the_second)
    found = list(peeling)
    assert peeling.end is End.STOPPED
    assert len(found) == 2
    assert found[1].status is Status.STOPPED
    first = [p for p in seen if p.n_clusters == 0]
    assert [p.n_iter for p in first] == sorted(p.n_iter for p in first)
    assert len(first) >= 2  # called between chunks, not only at the end
    assert first[0].n_left == 400
    assert seen[-1].n_left == 400 - len(found[0])
    assert all(p.gap > -1e-9 for p in seen)


def test_features_are_peeled_as_their_matrix_is():
    X = features(80)
    S = as_similarity(X, "sqeuclidean")
    for kwargs in ({"shift": 50.0}, {"shift": 200.0, "algorithm": "away"}):
        ours = peel(S, 3, **kwargs)
        dense = peel(S.toarray(), 3, **kwargs)
        list(ours), list(dense)
        np.testing.assert_array_equal(ours.labels, dense.labels)
