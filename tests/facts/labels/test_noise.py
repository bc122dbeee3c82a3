"""Noise by evidence, or as much as is asked for: what estimators call so of groups with a background."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets
from support import CORNERS

NOISE = ("normal", "cube", "box")


def with_noise(d, share, kind, seed, n=2_000):
    """Five groups of deviation 1, and so much noise: a broad normal cloud, or in a cube, or their box."""
    rng = np.random.default_rng([seed, d, int(100 * share)])
    k = 5
    if d == 2:
        centres = 25.0 * np.array([(0, 0), (1, 0), (0, 1), (1, 1), (0.5, 0.5)])
    else:
        centres = rng.normal(size=(k, d)) * (8.0 if d < 10 else 4.0)
    y = rng.integers(k, size=n)
    X = centres[y] + rng.normal(size=(n, d))
    noise = rng.random(n) < share
    m, low, high = int(noise.sum()), X.min(axis=0) - 2.0, X.max(axis=0) + 2.0
    if kind == "normal":
        X[noise] = rng.normal(size=(m, d)) * 1.5 * centres.std() + centres.mean(axis=0)
    elif kind == "cube":
        X[noise] = rng.uniform(low.min(), high.max(), size=(m, d))
    else:
        X[noise] = rng.uniform(low, high, size=(m, d))
    y[noise] = -1
    return X, y


def assert_noise(model, y, least):
    said, true = model.labels_ < 0, y < 0
    assert (said & true).sum() >= least * true.sum()  # recall
    assert (said & true).sum() >= least * said.sum()  # precision


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("d", [10, 30])
@pytest.mark.parametrize("n_clusters", [None, 5])
def test_noise_in_many_dimensions(d, share, kind, n_clusters):
    X, y = with_noise(d, share, kind, 61)
    model = DominantSets(n_clusters, affinity="sqeuclidean").fit(X)
    assert model.n_clusters_ == 5
    assert_noise(model, y, 0.95)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert "background" in model.selection_.noise


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("d", [2, 5])
def test_noise_in_few_dimensions(d, share, kind):
    X, y = with_noise(d, share, kind, 62)
    model = DominantSets(5, affinity="sqeuclidean").fit(X)
    assert_noise(model, y, 0.8)


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine"])
def test_noise_among_unit_vectors(affinity):
    """Twenty directions in 64 dimensions, and 60 % of the rows anywhere on the sphere."""
    rng = np.random.default_rng(63)
    U = rng.normal(size=(20, 64))
    y = np.where(rng.random(3_000) < 0.6, -1, rng.integers(20, size=3_000))
    X = rng.normal(size=(3_000, 64)) * np.where(y < 0, 1.0, 0.35)[:, None] + np.where(
        (y < 0)[:, None], 0.0, U[np.maximum(y, 0)]
    )
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = DominantSets(affinity=affinity).fit(X)
    assert model.n_clusters_ == 20
    assert_noise(model, y, 0.95)


@pytest.mark.parametrize("d", [2, 10, 30])
@pytest.mark.parametrize("n_clusters", [None, 4])
def test_clean_groups_have_no_noise(d, n_clusters):
    centres = 1.4 * np.array(CORNERS) if d == 2 else 10.0 * np.eye(4, d)
    X, y = make_blobs(800, centers=centres, random_state=64)
    model = DominantSets(n_clusters, affinity="sqeuclidean").fit(X)
    assert model.n_clusters_ == 4
    assert model.assignment_rate_ >= 0.98
    assert adjusted_rand_score(y, model.labels_) > 0.98


@pytest.mark.parametrize("noise", ["auto", "cores", 0.2, None])
@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf", "euclidean"])
def test_what_was_seen_is_predicted_as_it_was_labelled(affinity, noise):
    X, _ = with_noise(10, 0.3, "normal", 65, n=500)
    model = DominantSets(5, affinity=affinity, noise=noise).fit(X)
    differ = model.predict(X) != model.labels_
    # by rounding an object on a border may go to either side
    assert differ.sum() <= (2 if noise == 0.2 else 1)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.37, 0.9])
def test_a_share_is_that_share_of_all_objects(share):
    X, _ = with_noise(5, 0.3, "normal", 66, n=600)
    every = DominantSets(5, noise=None, affinity="sqeuclidean").fit(X)
    model = DominantSets(5, noise=share, affinity="sqeuclidean").fit(X)
    assert (model.labels_ < 0).mean() == pytest.approx(share, abs=1.5 / 600)
    out = model.labels_ < 0
    np.testing.assert_array_equal(model.labels_[~out], every.labels_[~out])
    assert every.probabilities_[out].max(initial=0.0) <= every.probabilities_[~out].min()


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_curves_are_not_noise_about_a_few_dense_places(make):
    X, _ = make(500, noise=0.05, random_state=0)
    for k in (None, 2):
        assert (DominantSets(k, affinity="sqeuclidean").fit(X).labels_ >= 0).all()
