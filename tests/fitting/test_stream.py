"""Parts of a stream by hand: who is counted, when clusters are looked for, and what a batch does to one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import as_similarity, solve
from dominantsets.fitting import stream
from dominantsets.fitting.stream import Seen, take_in, weighed
from support import features


def seen(n, born, looked, **more):
    return Seen(
        np.zeros((n, 2)), np.asarray(born), np.zeros(n), np.ones(n), None, looked, np.zeros((2, 3)), **more
    )


def test_where_the_rows_of_a_batch_are_counted():
    """By the first cluster in which they would gain, those of none before all others."""
    start = seen(5, np.zeros(5), 5)
    payoffs = np.array([[2.0, 0.0], [1.0, 4.0], [0.0, 3.1], [1.5, 9.0], [0.0, 0.0]])
    after = start.with_batch(np.zeros((5, 2)), 0.0, payoffs, np.array([1.0, 3.0]))
    np.testing.assert_array_equal(after.counts, [[0, 0, 0], [1, 2, 2]])
    assert (after.n, after.n_batches) == (10, 2)
    again = after.with_batch(np.zeros((1, 2)), 0.25, payoffs[:1], np.array([1.0, 3.0]))
    np.testing.assert_array_equal(again.counts[1], [1, 3, 2])
    np.testing.assert_array_equal(again.left, [0.75, 0.75, 1.0])
    assert after.decay == 1.0
    assert again.decay == 0.75


def test_when_clusters_are_looked_for(monkeypatch):
    """With twice as many rows, up to a sample; or where the k-th batch since is unlike at 1 / (k (k + 1))."""
    levels = []
    monkeypatch.setattr(stream, "is_surprising", lambda counts, level: levels.append(level) or False)
    monkeypatch.setattr(stream, "SAMPLED", 10)
    one = (np.zeros((1, 2)),)
    assert not seen(17, np.zeros(17), 9).calls_for_a_look()
    assert seen(17, np.zeros(17), 9, waiting=one).calls_for_a_look()
    assert not seen(19, np.zeros(19), 10, waiting=one).calls_for_a_look()  # a sample is as large as it gets
    levels.clear()
    for born, batches, k in ((0, 1, 1), (0, 2, 1), (0, 3, 2), (2, 7, 4)):
        rows = np.append(np.full(10, born), born + 3)
        seen(11, rows, 10, left=np.ones(batches)).calls_for_a_look()
        assert levels.pop() == pytest.approx(stream.SURPRISE / (k * (k + 1)))


def test_what_a_batch_does_to_a_cluster():
    """Nobody gains: the margin is the least so far. Somebody does: the ball of all has their masses, too."""
    S = as_similarity(features(60), "rbf", gamma=0.05)
    cluster = solve(S, shift=0.5)
    f, kappa = cluster.threshold, 1.5
    for top in (f - 0.01, f - 5.0):
        kept = take_in(cluster, np.array([top - 1.0, top]), 60, 0.0, kappa, 1e-9)
        assert kept.start is None
        assert kept.cluster.margin == pytest.approx(min(cluster.margin, f - top))
        assert kept.cluster.shift == cluster.shift
        raised = take_in(cluster, np.array([top]), 60, 0.3, kappa, 1e-9).cluster
        assert raised.shift == pytest.approx(cluster.shift - 0.3)
        assert raised.value == pytest.approx(cluster.value)  # f is more by what the shift is less
    touched = take_in(cluster, np.array([f + 0.2, f - 0.1, f + 0.1]), 60, 0.0, kappa, 1e-9)
    assert touched.start.support[-2:].tolist() == [60, 62]
    masses = np.append(kappa * cluster.weights, [0.2, 0.1])
    np.testing.assert_allclose(touched.start.weights, masses / masses.sum())
    assert touched.cluster.shift == pytest.approx(cluster.shift + 0.3)
    half = take_in(cluster, np.array([f + 0.2]), 60, 0.0, kappa, 1e-9, 0.5, np.array([3.0]))
    masses = np.append(0.5 * kappa * cluster.weights, 0.6)
    np.testing.assert_allclose(half.start.weights, masses / masses.sum())
    assert half.cluster.shift + 1.0 == pytest.approx(0.5 * kappa + 0.6)


def test_a_row_at_the_threshold_leaves_open_whether_a_set_stays_one():
    """Neither is proved: it may be a member of a set that is as good. What has no proof gets none."""
    cluster = solve(as_similarity(features(60), "rbf", gamma=0.05), shift=0.5)
    assert cluster.strict
    f = cluster.threshold
    kept = take_in(cluster, np.array([f - 1.0, f, f - 1e-3]), 60, 0.0, 1.5, 1e-9).cluster
    assert kept.strict is None
    assert kept.undecided.tolist() == [61]
    away = take_in(cluster, np.array([f - 1e-3]), 60, 0.0, 1.5, 1e-9).cluster
    assert away.strict is True
    assert away.undecided.size == 0
    for before in (None, False):
        same = take_in(replace(cluster, strict=before), np.array([f]), 60, 0.0, 1.5, 1e-9).cluster
        assert same.strict is before
    # without the row: still open, and the others have new numbers
    arrival = take_in(cluster, np.array([f - 1.0, f]), 60, 0.0, 1.5, 1e-9)
    outside = np.setdiff1d(np.arange(60), cluster.members)[0]
    keep = np.ones(62, dtype=bool)
    keep[outside] = False
    assert arrival.without(keep, 1.5).cluster.undecided.tolist() == [60]
    keep[61] = False
    assert arrival.without(keep, 1.5).cluster.undecided.size == 0


def test_a_ball_without_a_radius_is_climbed_again():
    """Where kappa falls below what rounding leaves of the members' similarities."""
    cluster = solve(as_similarity(features(60), "rbf", gamma=0.05), shift=0.5)
    far, m = np.array([cluster.threshold - 1.0]), len(cluster)
    assert take_in(cluster, far, 60, 0.0, 1.5, 1e-9, 0.5, rounding=0.75 / m).start is None
    touched = take_in(cluster, far, 60, 0.0, 1.5, 1e-9, 0.5, rounding=0.8 / m)
    assert touched.start.support.tolist() == cluster.members.tolist()
    np.testing.assert_allclose(touched.start.weights, cluster.weights)
    assert touched.cluster.shift + 1.0 == pytest.approx(0.8)


def test_rows_that_get_weights_leave_the_ball_where_it_is():
    """Kappa is in proportion to what the members count for."""
    cluster = solve(as_similarity(features(60), "rbf", gamma=0.05), shift=0.5)
    weights = np.random.default_rng(0).random(60)
    arrival = weighed(cluster, weights, 1.0)
    masses = cluster.weights * weights[cluster.members]
    assert arrival.cluster.shift + 1.0 == pytest.approx(1.5 * masses.sum())
    np.testing.assert_allclose(arrival.start.weights, masses / masses.sum())
    same = weighed(cluster, np.ones(60), 1.0)
    assert same.cluster.shift == pytest.approx(0.5)
    np.testing.assert_array_equal(same.start.support, cluster.members)


def test_batches_are_joined_as_sparse_rows_where_one_is():
    one, two = np.eye(2), np.ones((3, 2))
    np.testing.assert_array_equal(stream.joined([one, two]), np.vstack([one, two]))
    for parts in ([sp.csr_array(one), sp.csr_array(two)], [one, sp.csr_array(two)]):
        found = stream.joined(parts)
        assert sp.issparse(found)
        np.testing.assert_array_equal(found.toarray(), np.vstack([one, two]))
