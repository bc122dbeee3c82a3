"""Every cluster at its own scale: what must not matter, and what must hold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, End, as_similarity
from support import assert_clusters_certified, unequal


def same_partition(one, other):
    return adjusted_rand_score(one, other) == 1.0


# the units and the order of objects -------------------------------------------------------------------


@pytest.mark.parametrize("n_clusters", [None, 4])
@pytest.mark.parametrize("d", [2, 6])
def test_units_place_and_direction_do_not_matter(n_clusters, d):
    X, y = unequal(d=d)
    model = DominantSets(n_clusters, affinity="sqeuclidean").fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y[y >= 0], model.labels_[y >= 0]) > 0.95
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0]
    for name, other in {
        "thousand": 1e3 * X,
        "millionth": 1e-6 * X,
        "elsewhere": X + 100.0,
        "turned": X @ turn,
        "wider": np.hstack([X, np.zeros((len(X), 3))]),
    }.items():
        assert same_partition(
            DominantSets(n_clusters, affinity="sqeuclidean").fit_predict(other), model.labels_
        ), name


@pytest.mark.parametrize("n_clusters", [None, 4])
def test_the_order_of_objects_does_not_matter(n_clusters):
    X, _ = unequal()
    order = np.random.default_rng(1).permutation(len(X))
    one, other = (
        DominantSets(n_clusters, affinity="sqeuclidean").fit(X),
        DominantSets(n_clusters, affinity="sqeuclidean").fit(X[order]),
    )
    assert same_partition(one.labels_[order], other.labels_)
    np.testing.assert_allclose(np.sort(one.shifts_), np.sort(other.shifts_), rtol=1e-6)


@pytest.mark.parametrize("n_clusters", [None, 4])
def test_every_object_twice_is_the_same_partition(n_clusters):
    X, _ = unequal()
    one, twice = (
        DominantSets(n_clusters, affinity="sqeuclidean").fit(X),
        DominantSets(n_clusters, affinity="sqeuclidean").fit(np.repeat(X, 2, axis=0)),
    )
    np.testing.assert_array_equal(twice.labels_[::2], twice.labels_[1::2])
    assert same_partition(one.labels_, twice.labels_[::2])


# features and matrices --------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("n_clusters", [None, 4])
def test_features_and_their_own_matrix_are_clustered_alike(d, n_clusters):
    """A matrix does not know how similar an object is to its copy: it takes the largest entry there is.

    kappa is the shift and that similarity together, and what is taken from one goes to the other.
    """
    X, _ = unequal(400, d)
    features = DominantSets(n_clusters, affinity="sqeuclidean").fit(X)
    S = as_similarity(X, "sqeuclidean")
    A = S.toarray()
    matrix = DominantSets(n_clusters, affinity="precomputed").fit(A)
    assert matrix.n_clusters_ == features.n_clusters_ == 4
    assert adjusted_rand_score(features.labels_, matrix.labels_) > (0.999 if d == 2 else 0.9)
    if d == 2:  # where the nearest objects are as good as copies
        kappas = np.sort(features.shifts_ + S.self_similarity)
        np.testing.assert_allclose(np.sort(matrix.shifts_ + A.max()), kappas, rtol=0.02)


# as many as asked for, each with its proof ------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("affinity", ["sqeuclidean", "rbf"])
def test_the_number_of_clusters_is_honoured(k, affinity):
    X, _ = unequal(300)
    model = DominantSets(k, affinity=affinity, assign=None).fit(X)
    assert model.n_clusters_ == len(model.clusters_) == len(model.selection_.rows) == k
    assert model.end_ is End.N_CLUSTERS
    if k > 4:
        doubtful = sum(row.chance > 1.0 for row in model.selection_.rows)
        assert f"{doubtful} of the {k} only fill up" in model.selection_.advice
        assert doubtful >= k - 8


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf"])
@pytest.mark.parametrize("n_clusters", [None, 7])
def test_every_cluster_is_proved_at_its_own_shift(affinity, n_clusters):
    X, _ = unequal(300, 6)
    model = DominantSets(n_clusters, affinity=affinity).fit(X)
    A = as_similarity(X, affinity).toarray()
    assert len(set(model.shifts_)) > 1
    assert [cluster.shift for cluster in model.clusters_] == list(model.shifts_)
    assert_clusters_certified(A, model, rounding=1e-9, stationary=1e-8)
    kappa = A.max() if affinity == "rbf" else as_similarity(X, affinity).self_similarity
    for row in model.selection_.rows:
        if np.isfinite(row.shift_from):
            assert row.shift_from - 1e-9 * kappa <= row.shift <= row.shift_to + 1e-9 * kappa


def test_a_shift_for_each_width():
    """Groups of width 1 : 4 in 6 dimensions: kappa is the mass times the squared radius, at its own scale."""
    X, y = make_blobs(800, centers=40.0 * np.eye(4, 6), cluster_std=[0.5, 1.0, 2.0, 4.0], random_state=21)
    model = DominantSets(affinity="sqeuclidean").fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) > 0.99
    widths = [np.sqrt(np.square(X[y == k] - X[y == k].mean(axis=0)).sum(axis=1).mean()) for k in range(4)]
    names = [int(y[c.exemplar]) for c in model.clusters_]
    kappas = model.shifts_ + model.similarity_.self_similarity
    assert sorted(names) == [0, 1, 2, 3]
    by_width = kappas[np.argsort(np.array(widths)[names])]
    assert (np.diff(by_width) > 0).all()


# little data ------------------------------------------------------------------------------------------


def test_all_objects_equal_one_and_two_objects():
    for data in (np.full((20, 3), 0.1), np.zeros((12, 2))):
        model = DominantSets(affinity="sqeuclidean").fit(data)
        assert model.labels_.tolist() == [0] * len(data)
        assert model.n_clusters_ == 1
        assert "alike" in model.selection_.reason
    with pytest.warns(UserWarning, match="there is one object"):
        assert DominantSets(1, affinity="sqeuclidean").fit([[1.0, 2.0]]).labels_.tolist() == [0]
    assert DominantSets(affinity="sqeuclidean").fit([[0.0], [1.0]]).labels_.tolist() == [0, 0]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 12])
def test_as_many_clusters_as_objects(n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    model = DominantSets(n, affinity="sqeuclidean").fit(X)
    assert sorted(model.labels_) == list(range(n))
    assert sorted(len(c) for c in model.clusters_) == [1] * n


def test_constant_columns_change_nothing():
    X, _ = unequal(200)
    flat = np.hstack([np.full((len(X), 2), 7.0), X, np.full((len(X), 1), -3.0)])
    for n_clusters in (None, 4):
        assert same_partition(
            DominantSets(n_clusters, affinity="sqeuclidean").fit_predict(X),
            DominantSets(n_clusters, affinity="sqeuclidean").fit_predict(flat),
        )


def test_copies_of_a_few_places():
    """Fewer places than clusters that are asked for: each place is one, and it says how many there are."""
    X = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]], 10, axis=0)
    model = DominantSets(3, affinity="sqeuclidean").fit(X)
    labels = model.labels_.reshape(3, 10)
    assert (labels == labels[:, :1]).all()
    assert len(set(labels[:, 0])) == 3
