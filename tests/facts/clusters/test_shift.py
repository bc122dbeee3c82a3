"""Which shift is chosen, and how many clusters there are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score, homogeneity_score

from dominantsets import DominantSets, End
from support import CORNERS


@pytest.mark.parametrize("far", [1e2, 1e4, 1e5, 1e6])
def test_one_far_object_changes_nothing(far):
    X, y = make_blobs(500, centers=CORNERS, random_state=0)
    model = DominantSets(4, affinity="sqeuclidean").fit(np.vstack([X, [[far, far]]]))
    assert model.labels_[-1] == -1
    assert adjusted_rand_score(y, model.labels_[:-1]) > 0.95


@pytest.mark.parametrize("n_clusters", [4, None])
def test_samples_of_one_distribution_are_clustered_alike(n_clusters):
    """Share assigned and ARI may differ by less than 0.1 between 10³, 10⁴ and 10⁵ objects."""
    rows = []
    for n in (1_000, 10_000, 100_000):
        rng = np.random.default_rng(n)
        y = rng.integers(4, size=n)
        X = np.array(CORNERS)[y] + rng.normal(size=(n, 2))
        noise = rng.random(n) < 0.1
        X[noise], y[noise] = rng.uniform(-20, 30, size=(int(noise.sum()), 2)), -1
        model = DominantSets(n_clusters, affinity="sqeuclidean").fit(X)
        cores = model.core_labels_ >= 0
        rows.append([model.assignment_rate_, adjusted_rand_score(y, model.labels_), cores.mean()])
        assert model.n_clusters_ == 4
    assert np.ptp(rows, axis=0).max() < 0.1
    assert np.min(rows, axis=0)[1] > 0.9


@pytest.mark.parametrize("dimension", [1, 2, 5, 20])
@pytest.mark.parametrize("draw", ["uniform", "normal"])
def test_noise_is_one_cluster_and_says_so(dimension, draw):
    rng = np.random.default_rng(dimension)
    X = rng.random((1_500, dimension)) if draw == "uniform" else rng.normal(size=(1_500, dimension))
    model = DominantSets(affinity="sqeuclidean").fit(X)
    assert model.n_clusters_ == 1
    assert (model.labels_ == 0).all()
    assert "they are one" in str(model.selection_)
    assert "n_clusters" in model.selection_.advice or "path" in model.selection_.advice


@pytest.mark.parametrize("k", [2, 5, 9])
def test_blobs_are_counted(k):
    centers = 12.0 * np.random.default_rng(k).normal(size=(k, 6))
    X, y = make_blobs(150 * k, centers=centers, random_state=k)
    model = DominantSets(affinity="sqeuclidean").fit(X)
    assert model.n_clusters_ == k
    assert adjusted_rand_score(y, model.labels_) > 0.95


def assert_pure(model, y, least):
    """Groups that are found by themselves may be parts of classes, but not of several classes."""
    core = model.core_labels_ >= 0
    assert homogeneity_score(y[core], model.core_labels_[core]) > least
    assert model.n_clusters_ <= 5 * len(set(y))


def test_groups_of_digits_are_of_one_digit_each():
    X, y = load_digits(return_X_y=True)
    model = DominantSets(affinity="diffusion").fit(X)
    assert model.n_clusters_ >= 10
    assert_pure(model, y, 0.9)
    assert adjusted_rand_score(y, model.labels_) > 0.75  # one cluster that held three digits gave .57


def documents(n=600, n_words=2_000, n_topics=5, length=80, seed=0):
    """tf-idf of texts whose words are drawn, half each, from what is common and from one of five topics."""
    rng = np.random.default_rng(seed)
    common, *topics = rng.dirichlet(np.full(n_words, 0.05), size=1 + n_topics)
    y = rng.integers(n_topics, size=n)
    counts = [rng.multinomial(length, 0.5 * common + 0.5 * topics[k]) for k in y]
    return TfidfTransformer().fit_transform(sp.csr_array(np.array(counts))), y


@pytest.mark.parametrize("seed", [0, 1])
def test_documents_of_five_topics(seed):
    X, y = documents(seed=seed)
    assert 2 <= DominantSets(affinity="cosine").fit(X).n_clusters_ <= 12
    model = DominantSets(5, affinity="cosine").fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert model.assignment_rate_ > 0.95


def test_a_time_limit_ends_it_with_what_there_is():
    X, _ = make_blobs(2_000, centers=CORNERS, random_state=0)
    with pytest.warns(UserWarning, match="ended early"):
        model = DominantSets(4, affinity="rbf", max_time=0.0).fit(X)
    assert model.end_ is End.TIME_LIMIT
    assert model.n_clusters_ == 1


def test_scores_may_all_be_negative():
    X = np.vstack([np.zeros((20, 2)), np.ones((20, 2))])
    assert DominantSets(2, affinity="cosine").fit(X).n_clusters_ >= 1


def test_components_of_a_path_are_all_found():
    rng = np.random.default_rng(0)
    D = np.full((90, 90), np.inf)
    for k in range(3):
        X = rng.normal(size=(30, 2))
        D[30 * k : 30 * k + 30, 30 * k : 30 * k + 30] = np.linalg.norm(X[:, None] - X[None], axis=2)
    graph = sp.csr_array(np.where(np.isfinite(D), D, 0.0))
    model = DominantSets(affinity="path", affinity_params={"metric": "precomputed"}).fit(graph)
    assert {
        len(set(range(30 * k, 30 * k + 30)) & set(np.flatnonzero(model.labels_ >= 0))) > 0 for k in range(3)
    } == {True}
