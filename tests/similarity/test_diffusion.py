"""Similarity by random walks on the graph of nearest neighbours."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, as_similarity
from dominantsets.similarity import diffusion
from support import diffusion_by_hand, features


@pytest.mark.parametrize("lanczos", [False, True])
def test_it_is_the_cosine_of_diffusion_coordinates(lanczos, monkeypatch):
    if lanczos:
        monkeypatch.setattr(diffusion, "DENSE_LIMIT", 0)
    X = features(90, 3)
    S = as_similarity(X, "diffusion", n_neighbors=8, n_components=6, steps=5)
    expected = diffusion_by_hand(X, 8, 6, 5)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(S.toarray(), expected, atol=1e-5)


def test_components_of_the_graph_are_told_apart(monkeypatch):
    monkeypatch.setattr(diffusion, "DENSE_LIMIT", 0)
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 80)
    X = 50.0 * np.eye(3)[y] + rng.normal(size=(240, 3))
    model = DominantSets(3, affinity="diffusion", affinity_params={"n_neighbors": 10}).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_new_objects_are_placed_among_their_neighbours():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    seen, new = order[:1_400], order[1_400:]
    model = DominantSets(10, affinity="diffusion").fit(X[seen])
    assert (model.predict(X[seen]) == model.labels_).mean() > 0.97
    assert adjusted_rand_score(y[new], model.predict(X[new])) > 0.7  # KMeans fits .67 of what it has seen
    assert model.n_features_in_ == 64


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_little_data(n):
    S = as_similarity(np.arange(float(n))[:, None], "diffusion")
    assert S.n == n
    assert np.isfinite(S.toarray()).all()


def test_sparse_features_and_bad_parameters():
    X, _ = make_moons(60, noise=0.05, random_state=0)
    dense = as_similarity(X, "diffusion")
    np.testing.assert_allclose(
        as_similarity(sp.csr_array(X), "diffusion").toarray(), dense.toarray(), atol=1e-6
    )
    with pytest.raises(ValueError, match="n_components"):
        as_similarity(X, "diffusion", n_components=0)
    with pytest.raises(ValueError, match="steps"):
        as_similarity(X, "diffusion", steps=-1)
    with pytest.raises(ValueError, match="n_neighbors"):
        as_similarity(X, "diffusion", n_neighbors=60)
