"""Refinement: every object where it fits best."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets

X, Y = make_blobs(300, centers=4, n_features=3, cluster_std=1.0, random_state=3)


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf", "nearest_neighbors", "path"])
def test_the_estimator_refines(affinity):
    rows = X - X.mean(axis=0) if affinity == "cosine" else X
    model = DominantSets(4, affinity=affinity, noise=None).fit(rows)
    assert model.assignment_rate_ == 1.0
    if affinity not in ("path", "nearest_neighbors"):
        assert adjusted_rand_score(Y, model.labels_) > 0.9
        assert (model.predict(rows) == model.labels_).mean() > 0.97
    plain = DominantSets(4, affinity=affinity, assign=None).fit(rows)
    np.testing.assert_array_equal(model.core_labels_, plain.labels_)
    np.testing.assert_array_equal(model.memberships_, plain.memberships_)


def test_more_of_the_digits_than_the_cores_hold():
    digits, y = load_digits(return_X_y=True)
    average = DominantSets(10, assign="average", affinity="sqeuclidean").fit(digits)
    refined = DominantSets(10, assign="refine", affinity="sqeuclidean").fit(digits)
    cores = DominantSets(10, assign=None, affinity="sqeuclidean").fit(digits)
    assert cores.assignment_rate_ < 1.0
    assert adjusted_rand_score(y, refined.labels_) > 0.55
    assert refined.assignment_rate_ == average.assignment_rate_ == 1.0


def test_noise_can_be_kept_out():
    rng = np.random.default_rng(0)
    rows = np.concatenate([X, rng.uniform(-30, 30, size=(100, 3))])
    noise = np.arange(400) >= 300
    rates = []
    inner = DominantSets(4, noise=None, affinity="sqeuclidean").fit(rows).probabilities_
    for share in (0.0, 0.25, 0.5):
        model = DominantSets(4, noise=share, affinity="sqeuclidean").fit(rows)
        rates.append(model.assignment_rate_)
        # as many as asked for, and those that are least typical of their clusters
        assert inner[model.labels_ < 0].max(initial=0.0) <= inner[model.labels_ >= 0].min()
    np.testing.assert_allclose(rates, [1.0, 0.75, 0.5], atol=1 / 400)
    auto = DominantSets(4, affinity="sqeuclidean").fit(rows)
    assert (auto.labels_[noise] < 0).mean() > 0.8
    assert (auto.labels_[~noise] >= 0).mean() > 0.95
    cores = DominantSets(4, noise="cores", affinity="sqeuclidean").fit(rows)
    np.testing.assert_array_equal(cores.labels_ >= 0, cores.core_labels_ >= 0)
    assert DominantSets(4, noise=None, affinity="sqeuclidean").fit(rows).assignment_rate_ == 1.0
    for wrong in (
        {"assign": None, "noise": 0.1},
        {"assign": "refine", "noise": 2.0},
        {"assign": "refine", "noise": "x"},
    ):
        with pytest.raises(ValueError, match="noise"):
            DominantSets(4, **wrong).fit(X)


def test_new_objects_of_a_component_without_a_cluster():
    D = sp.csr_array(sp.block_diag([np.ones((5, 5)) - np.eye(5), 9.0 * (np.ones((3, 3)) - np.eye(3))]))
    model = DominantSets(1, affinity="path", affinity_params={"metric": "precomputed"}, assign="refine").fit(
        D
    )
    inside = int(model.labels_[0] >= 0)
    new = sp.csr_array(([1.0, 1.0], ([0, 1], [0, 6])), shape=(3, 8))
    labels = model.predict(new)
    assert labels[0 if inside else 1] == 0
    assert labels[1 if inside else 0] == -1
    assert labels[2] == -1


def test_a_partition_is_numbered_after_its_cores():
    model = DominantSets(4, affinity="sqeuclidean").fit(X)
    for k, cluster in enumerate(model.clusters_):
        inside = model.labels_[cluster.members]
        assert np.bincount(inside[inside >= 0]).argmax() == k
