"""Similarity by random walks on the graph of nearest neighbours."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSetHierarchy, DominantSets, as_similarity


def groups(n_groups, each, d, apart, seed=0):
    """Gaussian groups about corners of a simplex, ``apart`` deviations from each other."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_groups), each)
    centres = apart / np.sqrt(2.0) * np.eye(max(n_groups, d))[:n_groups]
    return centres[y] + rng.normal(size=(y.size, max(n_groups, d))), y


def test_fifty_clusters_are_fifty():
    X, y = make_blobs(2_000, centers=50, n_features=10, random_state=0)
    model = DominantSets(50, affinity="diffusion", noise=None).fit(X)
    assert model.n_clusters_ == 50
    assert model.similarity_.rows.d == 50
    assert adjusted_rand_score(y, model.labels_) > 0.99


@pytest.mark.parametrize("count", [3, 10, 80])
def test_the_number_of_groups_is_told_by_the_gap(count):
    X, _ = groups(count, 30, 5, 14.0, seed=count)
    assert as_similarity(X, "diffusion").rows.d == count


def test_bent_groups_are_counted():
    X, y = make_moons(600, noise=0.05, random_state=0)
    assert as_similarity(X, "diffusion").rows.d == 2
    for asked in (2, None):
        assert adjusted_rand_score(y, DominantSets(asked, affinity="diffusion").fit_predict(X)) == 1.0


@pytest.mark.parametrize("count", [2, 5, 30])
def test_nobody_of_clean_groups_is_noise(count):
    """Labels are those of the nearest direction, with the number told and without."""
    X, y = groups(count, 60, 4, 12.0, seed=count)
    for asked in (count, None):
        model = DominantSets(asked, affinity="diffusion").fit(X)
        assert (model.labels_ >= 0).all()
        assert model.n_clusters_ == count
        assert adjusted_rand_score(y, model.labels_) == 1.0


def test_a_share_of_noise_that_was_asked_for_is_given():
    X, _ = groups(3, 100, 4, 12.0)
    model = DominantSets(3, affinity="diffusion", noise=0.2).fit(X)
    assert (model.labels_ < 0).mean() == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize("kind", ["normal", "uniform"])
@pytest.mark.parametrize(("n", "d"), [(100, 2), (1_000, 2), (600, 3), (600, 10), (300, 40)])
def test_data_without_groups_are_one(kind, n, d):
    for seed in range(3):
        X = getattr(np.random.default_rng(seed), kind)(size=(n, d))
        model = DominantSets(affinity="diffusion", noise=None).fit(X)
        assert model.similarity_.rows.d == 1
        assert model.n_clusters_ == 1
        assert (model.labels_ == 0).all()


def test_n_components_comes_from_n_clusters_unless_it_is_given():
    X, _ = groups(4, 40, 4, 14.0)
    assert DominantSets(3, affinity="diffusion").fit(X).similarity_.rows.d == 3
    given = DominantSets(3, affinity="diffusion", affinity_params={"n_components": 6}).fit(X)
    assert given.similarity_.rows.d == 6
    assert DominantSets(affinity="diffusion").fit(X).similarity_.rows.d == 4
    assert DominantSetHierarchy(affinity="diffusion").fit(X).similarity_.rows.d == 4


def test_objects_that_arrive_again_are_where_they_were():
    X, _ = make_moons(500, noise=0.08, random_state=0)
    S = as_similarity(X, "diffusion", n_components=3)
    cosines = np.diagonal(S.cross(X, np.arange(S.n))) - 1.0
    assert np.quantile(cosines, 0.01) > 0.99
    assert cosines.mean() > 0.999


def test_new_objects_are_placed_among_their_neighbours():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    seen, new = order[:1_400], order[1_400:]
    model = DominantSets(10, affinity="diffusion", noise=None).fit(X[seen])
    assert (model.predict(X[seen]) == model.labels_).mean() > 0.97
    assert adjusted_rand_score(y[new], model.predict(X[new])) > 0.7  # KMeans fits .67 of what it has seen
    assert model.n_features_in_ == 64


def test_a_new_object_far_from_everything_has_a_place():
    X, _ = groups(2, 40, 2, 20.0)
    model = DominantSets(2, affinity="diffusion").fit(X)
    assert model.predict(np.full((1, 2), 1e6)).shape == (1,)


@pytest.mark.parametrize("n", [1, 2, 3, 30])
@pytest.mark.parametrize("n_components", [1, 5, None])
def test_little_data(n, n_components):
    S = as_similarity(np.arange(float(n))[:, None], "diffusion", n_components=n_components)
    assert S.n == n
    assert np.isfinite(S.toarray()).all()


def test_copies_of_objects():
    """More copies than neighbours: every place is a piece of its own."""
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], 15, axis=0)
    S = as_similarity(X, "diffusion", n_components=3).toarray()
    assert np.isfinite(S).all()
    assert S[0, 1] > 1.99
    assert S[0, 44] < 1.1
    assert np.isfinite(as_similarity(np.zeros((30, 2)), "diffusion").toarray()).all()


def test_sparse_features_and_bad_parameters():
    X, _ = make_moons(60, noise=0.05, random_state=0)
    dense = as_similarity(X, "diffusion", n_components=4)
    np.testing.assert_allclose(
        as_similarity(sp.csr_array(X), "diffusion", n_components=4).toarray(), dense.toarray(), atol=1e-6
    )
    with pytest.raises(ValueError, match="n_components"):
        as_similarity(X, "diffusion", n_components=0)
    with pytest.raises(ValueError, match="steps"):
        as_similarity(X, "diffusion", steps=4)
    with pytest.raises(ValueError, match="n_neighbors"):
        as_similarity(X, "diffusion", n_neighbors=60)


def test_the_table_asks_for_nothing_that_was_not_asked_for():
    """The number comes from the eigenvalues: nobody asked for one, and there is no noise to be judged."""
    X, _ = make_blobs(300, centers=[(0, 0), (12, 0), (0, 12)], random_state=0)
    text = str(DominantSets(affinity="diffusion").fit(X).selection_)
    assert "asked" not in text
    assert "Noise: no object is labelled noise" in text
    assert "affinity=" not in text
