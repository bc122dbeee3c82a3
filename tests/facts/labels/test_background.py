"""Noise around groups of any shape, and new objects that are far from all groups."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets


def shapes(seed: int, share: float, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Two moons or rings, with this share of objects drawn evenly from a box around them."""
    make = make_moons if seed % 2 else lambda n, **kw: make_circles(n, factor=0.4, **kw)
    X, y = make(n, noise=0.04, random_state=seed)
    rng = np.random.default_rng(seed)
    count = round(share / (1.0 - share) * n)
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    X = np.concatenate([X, rng.uniform(low, high, size=(count, 2))])
    order = rng.permutation(len(X))
    return X[order], np.concatenate([y, np.full(count, -1)])[order]


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("share", [0.15, 0.3])
@pytest.mark.parametrize("seed", [1, 2])
def test_noise_around_moons_and_rings(seed, share, k):
    """Objects of the box that lie on a shape cannot be told from it: so not all noise is found."""
    X, y = shapes(seed, share)
    model = DominantSets(k, affinity="path", affinity_params={"min_samples": 5}).fit(X)
    noise = model.labels_ < 0
    assert (y[noise] < 0).mean() > 0.9
    assert noise[y < 0].mean() > 0.6
    assert adjusted_rand_score(y, model.labels_) > 0.7
    assert "are labelled noise" in model.selection_.noise
    assert (model.probabilities_[noise] == 0.0).all()
    assert (model.probabilities_[~noise] > 0.0).all()


@pytest.mark.parametrize("affinity", ["path", "diffusion", "embedding"])
def test_clean_shapes_have_no_noise(affinity):
    for seed in (1, 2):
        X, _ = shapes(seed, 0.0)
        model = DominantSets(2, affinity=affinity).fit(X)
        assert (model.labels_ >= 0).all()
        assert model.selection_.noise.startswith("no object is labelled noise: ")


@pytest.mark.parametrize("affinity", ["path", "diffusion", "embedding"])
def test_noise_is_that_of_the_rows_for_every_shape_of_groups(affinity):
    X, y = shapes(1, 0.3)
    model = DominantSets(2, affinity=affinity).fit(X)
    noise = model.labels_ < 0
    assert (y[noise] < 0).mean() > 0.9
    assert noise[y < 0].mean() > 0.6
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.labels_)
    assert (DominantSets(2, affinity=affinity, noise=None).fit(X).labels_ >= 0).all()


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 50), st.sampled_from([0.01, 1.0, 1e4]), st.floats(-100.0, 100.0))
def test_noise_depends_neither_on_the_order_nor_on_the_unit(seed, unit, moved):
    X, _ = shapes(seed, 0.25, 300)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    models = [
        DominantSets(2, affinity="path", affinity_params={"min_samples": 5}).fit(rows)
        for rows in (X, (X[order] + moved) * unit)
    ]
    noises = models[0].labels_[order] < 0, models[1].labels_ < 0
    assert (noises[0] != noises[1]).mean() < 0.01  # moved rows are rounded
    assert adjusted_rand_score(models[0].labels_[order], models[1].labels_) > 0.97


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_no_member_of_a_dominant_set_is_noise(seed, k):
    X, _ = shapes(seed, 0.3, 200)
    model = DominantSets(k, affinity="path", affinity_params={"min_samples": 5}).fit(X)
    for label, cluster in enumerate(model.clusters_):
        assert (model.labels_[cluster.members] == label).all()
        assert model.labels_[model.exemplars_[label]] == label


@pytest.mark.parametrize(
    "affinity", ["auto", "path", "diffusion", "embedding", "sqeuclidean", "euclidean", "rbf", "ellipses"]
)
def test_far_is_noise(affinity):
    """A thousand times as far as the data reach, in two directions; unless everything is to have a label."""
    X, _ = shapes(1, 0.0)
    far = [[1e3, 1e3], [-1e3, 5.0]]
    model = DominantSets(2, affinity=affinity).fit(X)
    np.testing.assert_array_equal(model.predict(far), [-1, -1])
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert (model.labels_ >= 0).all()
    near = X + np.random.default_rng(0).normal(size=X.shape) * 0.01
    assert (model.predict(near) >= 0).mean() > 0.99
    everything = DominantSets(2, affinity=affinity, noise=None).fit(X)
    assert (everything.predict(far) >= 0).all()


def test_far_is_noise_among_distances():
    X, _ = shapes(1, 0.0, 100)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    model = DominantSets(2, affinity="path", affinity_params={"metric": "precomputed"}).fit(D)
    np.testing.assert_array_equal(model.predict(D), model.labels_)
    assert model.predict(D[:1] + 100.0)[0] == -1


@pytest.mark.parametrize("n", [1, 2, 5, 30, 59])
def test_few_objects_have_no_background(n):
    X = np.random.default_rng(n).uniform(size=(n, 2))
    model = DominantSets(1, affinity="path").fit(X)
    assert (model.labels_ == 0).all()
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_copies_and_lattices_have_no_background():
    grid = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    for X in (np.zeros((200, 3)), np.repeat(grid[:50], 8, axis=0), grid, grid[:, :1]):
        assert (
            DominantSets(1, affinity="path", affinity_params={"min_samples": 5}).fit(X).labels_ == 0
        ).all()
