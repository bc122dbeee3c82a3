"""What must not change the labels: to move, turn, scale or reorder the data, or to take each object twice."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, as_similarity


def data(seed: int) -> np.ndarray:
    """Four groups in five dimensions, and noise around them."""
    X, _ = make_blobs(220, centers=4, n_features=5, cluster_std=1.5, random_state=seed)
    return np.vstack([X, np.random.default_rng(seed).uniform(-14, 14, size=(30, 5))])


def turned(X, rng):
    return X @ ortho_group.rvs(X.shape[1], random_state=int(rng.integers(2**31)))


def moved(X, rng):
    return X + 100.0 * rng.normal(size=X.shape[1])


def scaled(X, rng):
    return X * 8.0  # a power of two, which rounds nothing


def stretched(X, rng):
    return X * 0.37


def shrunk(X, rng):
    return X * 1e-8


def grown(X, rng):
    return X * 1e8


def features_reordered(X, rng):
    return X[:, rng.permutation(X.shape[1])]


def mirrored(X, rng):
    return X * rng.choice([-1.0, 1.0], size=X.shape[1])


def rows_stretched(X, rng):
    return X * rng.uniform(0.1, 10.0, size=(len(X), 1))


UNITS = (scaled, stretched, shrunk, grown)
NAMES = (features_reordered, mirrored)
CHANGES = {  # what each affinity must not notice
    **dict.fromkeys(
        ("sqeuclidean", "euclidean", "rbf", "path", "nearest_neighbors", "diffusion"),
        (turned, moved, *UNITS, *NAMES),
    ),
    "laplacian": (moved, *UNITS, *NAMES),
    "cosine": (turned, *UNITS, *NAMES, rows_stretched),
}


def fit(X, affinity, n_clusters):
    return DominantSets(n_clusters, affinity=affinity).fit(X)


@pytest.mark.parametrize(("n_clusters", "seed"), [(4, 0), (None, 1)])
@pytest.mark.parametrize(("affinity", "change"), [(a, change) for a in CHANGES for change in CHANGES[a]])
def test_labels_do_not_depend_on_how_the_features_are_written_down(affinity, change, seed, n_clusters):
    X = data(seed)
    plain = fit(X, affinity, n_clusters)
    other = fit(change(X, np.random.default_rng(seed)), affinity, n_clusters)
    assert plain.n_clusters_ > 0
    np.testing.assert_array_equal(other.labels_, plain.labels_)
    np.testing.assert_allclose(other.memberships_, plain.memberships_, atol=1e-5)


@pytest.mark.parametrize(("n_clusters", "seed"), [(4, 0), (None, 1)])
@pytest.mark.parametrize("affinity", CHANGES)
def test_labels_do_not_depend_on_the_order_of_the_objects(affinity, seed, n_clusters):
    X = data(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    plain, other = fit(X, affinity, n_clusters), fit(X[order], affinity, n_clusters)
    np.testing.assert_array_equal(other.labels_, plain.labels_[order])


@pytest.mark.parametrize("assign", ["refine", "average", None])
@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf", "laplacian"])
def test_every_object_twice(affinity, assign):
    """With p the similarity of an object to its copy, 2 shift + p does to two copies what shift does to one.

    Half the weight on each copy gives the sum over pairs of different objects as it was, and a diagonal of
    (p - shift') / 2 in place of -shift.
    """
    X = data(0)
    params = {"gamma": 0.02} if affinity in ("rbf", "laplacian") else {}
    p = as_similarity(X, affinity, **params).self_similarity
    twice = np.vstack([X, X])
    assert as_similarity(twice, affinity, **params).self_similarity == pytest.approx(p, rel=1e-12)
    options = {"affinity": affinity, "affinity_params": params, "assign": assign}
    if assign == "refine":
        options["noise"] = None  # the evidence for noise grows with the number of objects, as it should
    once = DominantSets(4, shift=2.0 * p, **options).fit(X)
    double = DominantSets(4, shift=5.0 * p, **options).fit(twice)
    np.testing.assert_array_equal(double.labels_, np.tile(once.labels_, 2))
    for one, two in zip(once.clusters_, double.clusters_, strict=True):
        assert two.threshold == pytest.approx(one.threshold, rel=1e-9)
        np.testing.assert_allclose(two.weights, np.tile(one.weights, 2) / 2, atol=1e-7)
