"""The paper's assignment of objects that are in no cluster, and of new ones, against plain sums."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import as_similarity, peel, solve
from dominantsets.labels.average import (
    Core,
    assign_by_average,
    average_of,
    predict_by_average,
    predict_by_payoff,
)
from support import cliques, features, vector


@pytest.fixture
def found():
    """Clusters of a kernel, its matrix, and what peeling alone says."""
    X = features(60)
    S = as_similarity(X, "rbf", gamma=0.05)
    clusters = list(peel(S, 3, shift=0.5))
    assert len(clusters) == 3
    labels = np.full(60, -1)
    for k, cluster in enumerate(clusters):
        labels[cluster.members] = k
    assert (labels < 0).any()
    return X, S, clusters, labels


def averages(A, clusters):
    return np.array([A[:, c.members].mean(axis=1) for c in clusters])


def test_who_is_left_goes_to_the_highest_average(found):
    _, S, clusters, labels = found
    before = labels.copy()
    out = assign_by_average(S, clusters, labels)
    np.testing.assert_array_equal(labels, before)  # a copy is changed
    np.testing.assert_array_equal(
        out, np.where(before >= 0, before, averages(S.toarray(), clusters).argmax(axis=0))
    )
    np.testing.assert_array_equal(assign_by_average(S, [], labels), before)
    np.testing.assert_array_equal(assign_by_average(S, clusters, out), out)


def test_of_equal_averages_the_cluster_found_first():
    S = as_similarity(np.ones((5, 5)) - np.eye(5))
    one, two = peel(cliques([2, 2]), 2, shift=0.1)
    labels = np.array([0, 0, 1, 1, -1])
    assert assign_by_average(S, [one, two], labels)[-1] == 0


def test_nothing_leads_to_another_component():
    """A path of distances: who is alone in its component joins nobody, however near the average is."""
    D = sp.coo_array(([1.0, 1.0, 2.0, 1.0], ([0, 1, 2, 4], [1, 2, 3, 5])), shape=(7, 7)).tocsr()
    S = as_similarity(D, "path", metric="precomputed")
    clusters = [c for c in peel(S, 2, shift=0.5) if 0 in c.members or 4 in c.members]
    assert clusters
    labels = np.full(7, -1)
    for k, cluster in enumerate(clusters):
        labels[cluster.members] = k
    out = assign_by_average(S, clusters, labels)
    assert out[6] == -1
    for i in range(6):
        home = [k for k, c in enumerate(clusters) if S.components[c.members[0]] == S.components[i]]
        assert out[i] in (home or [-1])
    new = sp.csr_array(([1.0], ([0], [0])), shape=(2, 7))  # one next to the first, one next to nobody
    cores, averages_ = zip(*[(Core.of(S, c), average_of(S, c)) for c in clusters], strict=True)
    mine = next((k for k, c in enumerate(clusters) if S.components[c.members[0]] == S.components[0]), -1)
    np.testing.assert_array_equal(predict_by_average(S, cores, averages_, new), [mine, -1])


def test_the_level_of_a_core_is_the_threshold_less_half_of_the_margin_at_most(found):
    _, S, clusters, _ = found
    for cluster in clusters:
        core = Core.of(S, cluster)
        slack = cluster.threshold - core.level
        unit = max(cluster.value, cluster.threshold)
        assert slack == pytest.approx(min(0.5 * cluster.margin, 1e-6 * unit), rel=1e-6)
    # without a similarity to oneself, and with a negative shift, members are below f by weight times shift
    T = as_similarity(cliques([6, 5, 4], isolated=2))
    assert T.self_similarity is None
    for cluster in peel(T, 2, shift=-0.2):
        slack = cluster.threshold - Core.of(T, cluster).level
        below = 0.2 * cluster.weights.max() + 1e-6 * cluster.threshold
        assert slack == pytest.approx(min(0.5 * cluster.margin, below), rel=1e-9)
        assert slack > 1e-3
    # an outsider with 0.75 to all four: f = 3/4 + 0.2/4 is 0.05 above it, and 0.2/4 what members lack
    A = cliques([4, 1]).toarray()
    A[4, :4] = A[:4, 4] = 0.75
    U = as_similarity(sp.csr_array(A))
    near = solve(U, start=np.array([0.25, 0.25, 0.25, 0.25, 0.0]), shift=-0.2)
    assert near.members.tolist() == [0, 1, 2, 3]
    assert near.threshold - Core.of(U, near).level == pytest.approx(0.025)


def test_new_objects_join_the_first_cluster_in_which_they_gain(found):
    X, S, clusters, labels = found
    cores = [Core.of(S, cluster) for cluster in clusters]
    new = np.vstack([X, X.mean(axis=0) + 50.0, X[:5] + 0.3])
    K = np.exp(-0.05 * np.square(new[:, None] - X).sum(axis=2))
    payoffs = np.array([K @ vector(c, 60) for c in clusters])
    gains = payoffs > np.array([core.level for core in cores])[:, None]
    expected = np.where(gains.any(axis=0), gains.argmax(axis=0), -1)
    np.testing.assert_array_equal(predict_by_payoff(S, cores, new), expected)
    np.testing.assert_array_equal(expected[:60], labels)  # training objects get their labels
    assert expected[60] == -1
    summaries = [average_of(S, cluster) for cluster in clusters]
    mean = np.array([K[:, c.members].mean(axis=1) for c in clusters])
    both = np.where(expected >= 0, expected, mean.argmax(axis=0))
    np.testing.assert_array_equal(predict_by_average(S, cores, summaries, new), both)
    np.testing.assert_array_equal(predict_by_average(S, [], [], new), np.full(len(new), -1))
