"""Similarity by random walks on the graph of nearest neighbours."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSetHierarchy, DominantSets, as_similarity
from dominantsets.similarity import spectrum
from dominantsets.similarity.located import located
from support import diffusion_by_hand, features

WAYS = {  # the limits under which each way to the eigenvectors is taken
    "dense": {},
    "factors": {"DENSE_LIMIT": 0, "FACTOR_WORK": np.inf},
    "filter": {"DENSE_LIMIT": 0, "FACTOR_WORK": 0.0, "FLAT": 0},
}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    for name, value in WAYS[request.param].items():
        monkeypatch.setattr(spectrum, name, value)
    return request.param


def groups(n_groups, each, d, apart, seed=0):
    """Gaussian groups about corners of a simplex, ``apart`` deviations from each other."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_groups), each)
    centres = apart / np.sqrt(2.0) * np.eye(max(n_groups, d))[:n_groups]
    return centres[y] + rng.normal(size=(y.size, max(n_groups, d))), y


def test_it_is_the_cosine_of_diffusion_coordinates(way):
    X = features(90, 3)
    S = as_similarity(X, "diffusion", n_neighbors=8, n_components=6)
    expected = diffusion_by_hand(X, 8, 6)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(S.toarray(), expected, atol=1e-5)


def test_the_eigenvectors_are_those_of_the_dense_matrix(way):
    """Twelve groups: eigenvalues that hardly differ, which must all be found."""
    rng = np.random.default_rng(0)
    blocks = sp.block_diag([sp.csr_array(rng.random((20, 20))) for _ in range(12)])
    W = sp.csr_array(blocks + blocks.T) + 1e-5 * sp.csr_array(np.ones((240, 240)))
    N, _ = spectrum.normalised(sp.csr_array(W))
    values, vectors = spectrum.slowest(N, 14, n_features=20)
    exact, axes = np.linalg.eigh(N.toarray())
    np.testing.assert_allclose(values, exact[::-1][:14], atol=1e-8)
    # of nearly equal eigenvalues the space is known, not the vectors in it
    np.testing.assert_allclose(
        vectors[:, :12] @ vectors[:, :12].T, axes[:, -12:] @ axes[:, -12:].T, atol=1e-5
    )


@pytest.mark.parametrize("count", [2, 3, 7])
def test_pieces_of_the_graph_are_so_many_directions(count, way):
    """Between pieces there are weak edges only: objects of one are parallel, of two at right angles."""
    X, y = groups(count, 40, 3, 60.0)
    S = as_similarity(X, "diffusion", n_components=count).toarray()
    same = np.equal.outer(y, y) & ~np.eye(y.size, dtype=bool)
    assert S[same].min() > 1.99
    np.testing.assert_allclose(S[~np.equal.outer(y, y)], 1.0, atol=0.01)
    model = DominantSets(count, affinity="diffusion", noise=None).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_fifty_clusters_are_fifty():
    X, y = make_blobs(2_000, centers=50, n_features=10, random_state=0)
    model = DominantSets(50, affinity="diffusion", noise=None).fit(X)
    assert model.n_clusters_ == 50
    assert model.similarity_.rows.d == 50
    assert adjusted_rand_score(y, model.labels_) > 0.99


def test_more_groups_than_principal_axes_keep_their_distances():
    """The points that stand for objects: those of two groups are at right angles, however many there are."""
    X, y = groups(150, 12, 150, 40.0)
    S = as_similarity(X, "diffusion", n_components=150)
    points = located(S).coordinates(np.arange(S.n))
    firsts = np.flatnonzero(np.diff(y, prepend=-1))
    away = np.square(points.rows[firsts][:, None] - points.rows[firsts][None]).sum(axis=2)
    np.testing.assert_allclose(away[~np.eye(150, dtype=bool)], 1.0, atol=0.01)
    assert not points.extra.any()


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
        model = DominantSets(affinity="diffusion").fit(X)
        assert model.similarity_.rows.d == 1
        assert model.n_clusters_ == 1
        assert (model.labels_ == 0).all()


def test_rates_of_known_pieces():
    """Of an interval, of a ring, of three intervals together, and of groups; Weyl's law has the rates."""
    k = np.arange(40.0)
    interval, ring = 0.01 * k**2, 0.01 * np.ceil(k / 2) ** 2
    assert spectrum.number_of_groups(interval, 0.01) == 1
    assert spectrum.number_of_groups(ring, 0.01) == 1
    three = np.concatenate([[0.0, 1e-6, 2e-6], np.repeat(interval[1:], 3)])
    assert spectrum.number_of_groups(three, 0.001) == 3
    groups_of_groups = np.concatenate([[0.0, 1e-8], np.full(5, 1e-4), interval[1:]])
    assert spectrum.number_of_groups(groups_of_groups, 0.001) == 7
    touching = np.array([0.0, 0.002, 0.004, 0.006, 0.02, 0.04, 0.06])  # no gap, but slower than a cloud
    assert spectrum.number_of_groups(touching, 0.03) == 4


def test_n_components_comes_from_n_clusters_unless_it_is_given():
    X, _ = groups(4, 40, 4, 14.0)
    assert DominantSets(3, affinity="diffusion").fit(X).similarity_.rows.d == 3
    given = DominantSets(3, affinity="diffusion", affinity_params={"n_components": 6}).fit(X)
    assert given.similarity_.rows.d == 6
    assert DominantSets(affinity="diffusion").fit(X).similarity_.rows.d == 4
    assert DominantSetHierarchy(affinity="diffusion").fit(X).similarity_.rows.d == 4


@pytest.mark.parametrize("n_components", [3, None])
def test_the_order_of_the_objects_means_nothing(n_components, way):
    X, _ = groups(3, 50, 3, 7.0)
    order = np.random.default_rng(1).permutation(len(X))
    S = as_similarity(X, "diffusion", n_components=n_components).toarray()
    T = as_similarity(X[order], "diffusion", n_components=n_components).toarray()
    np.testing.assert_allclose(T, S[np.ix_(order, order)], atol=1e-5)


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
    assert "border" in text
    assert "affinity=" not in text
