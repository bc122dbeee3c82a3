"""Similarity by random walks on the graph of nearest neighbours."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, as_similarity
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


def test_more_groups_than_principal_axes_keep_their_distances():
    """The points that stand for objects: those of two groups are at right angles, however many there are."""
    X, y = groups(150, 12, 150, 40.0)
    S = as_similarity(X, "diffusion", n_components=150)
    points = located(S).coordinates(np.arange(S.n))
    firsts = np.flatnonzero(np.diff(y, prepend=-1))
    away = np.square(points.rows[firsts][:, None] - points.rows[firsts][None]).sum(axis=2)
    np.testing.assert_allclose(away[~np.eye(150, dtype=bool)], 1.0, atol=0.01)
    assert not points.extra.any()


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


@pytest.mark.parametrize("n_components", [3, None])
def test_the_order_of_the_objects_means_nothing(n_components, way):
    X, _ = groups(3, 50, 3, 7.0)
    order = np.random.default_rng(1).permutation(len(X))
    S = as_similarity(X, "diffusion", n_components=n_components).toarray()
    T = as_similarity(X[order], "diffusion", n_components=n_components).toarray()
    np.testing.assert_allclose(T, S[np.ix_(order, order)], atol=1e-5)
