"""Clusters with metrics of their own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, Status, as_similarity
from dominantsets.clusters import elliptic
from dominantsets.labels.ellipses import fit_ellipses
from dominantsets.solvers import Monitor, SolverOptions


def stripes(seed=0, n=200, k=3):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(n, 2)) * [4, 0.35] + [0, 2.2 * j] for j in range(k)])
    return X, np.repeat(range(k), n)


def test_every_cluster_is_a_dominant_set_in_its_own_metric():
    """The certificate, made again from the similarities themselves, in plain NumPy."""
    X, y = stripes()
    model = DominantSets(3, affinity="ellipses").fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.97
    for cluster, T in zip(model.clusters_, model.similarity_.metrics, strict=True):
        assert abs(np.linalg.det(T)) == pytest.approx(1.0)
        Z = X @ T
        D = np.square(Z[:, None] - Z[None, :]).sum(axis=2)
        x = np.zeros(len(X))
        x[cluster.members] = cluster.weights
        M = model.similarity_._top
        A = np.where(np.eye(len(X)) > 0, 0.0, M - D)
        gradient = A @ x - cluster.shift * x
        value = float(x @ gradient)
        assert value == pytest.approx(cluster.threshold, rel=1e-9)
        assert gradient.max() - value <= 1e-7 * abs(M)
        assert np.abs(gradient[cluster.members] - value).max() <= 1e-6 * abs(M)


def test_how_many_are_said_to_be_noise():
    """The share of the background, or of those least typical; and clusters that are not kept are none."""
    X, y = stripes(n=60)
    rows = np.vstack([X, np.random.default_rng(0).uniform(-15, 15, size=(60, 2))])
    fitted = fit_ellipses(rows, np.append(y, np.full(60, -1)), background="flat")
    here = SimpleNamespace(features=rows)
    auto = elliptic.label_by_ellipses(here, fitted, "auto", 3)
    share = float((auto.labels < 0).mean())
    assert 0.1 < share < 0.3
    assert auto.sentence.startswith(f"{share:.0%} of the objects are labelled noise: a background")
    np.testing.assert_array_equal(auto.probabilities == 0.0, auto.labels < 0)
    assert (
        elliptic.label_by_ellipses(here, fitted, None, 3).sentence == "no object is labelled noise, as asked."
    )
    some = elliptic.label_by_ellipses(SimpleNamespace(features=X), fit_ellipses(X, y), 0.1, 3)
    assert np.count_nonzero(some.labels < 0) == 18
    two = elliptic.label_by_ellipses(SimpleNamespace(features=X), fit_ellipses(X, y), "auto", 2)
    assert set(two.labels) == {-1, 0, 1}


def test_a_core_begins_as_wide_as_its_cluster():
    """Round data: the dominant set of a cluster is a ball as wide as the cluster, all of it its own."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + 30.0])
    y = np.repeat([0, 1], 150)
    S = as_similarity(X, "sqeuclidean")
    options, monitor = SolverOptions().checked(), Monitor()
    for k in range(2):
        centre = X[y == k].mean(axis=0)
        t = np.square(X - centre).sum(axis=1)
        core = elliptic._ball(S, t, y == k, options, monitor)
        square = elliptic.WIDE * np.median(t[y == k])
        assert core.shift + S.self_similarity == pytest.approx(np.maximum(square - t, 0.0).sum())
        assert (y[core.members] == k).all()
        assert core.status is Status.CONVERGED
        assert core.radius**2 == pytest.approx(square, rel=0.2)
    # a ball that would be mostly of others is made smaller until it is its own
    some = np.zeros(300, dtype=bool)
    some[np.square(X).sum(axis=1).argsort()[100:150]] = True  # a ring about a group of others
    t = np.square(X - X[y == 0].mean(axis=0)).sum(axis=1)
    wide = elliptic._ball(S, t, some, options, monitor)
    kappa = np.maximum(elliptic.WIDE * np.median(t[some]) - t, 0.0).sum()
    tries = np.log2(kappa / (wide.shift + S.self_similarity))
    assert tries == pytest.approx(round(tries))
    assert 0 < round(tries) < elliptic.TRIES


def test_a_core_of_copies_and_of_nobody():
    X = np.vstack([np.zeros((5, 2)), np.full((5, 2), 3.0)])
    S, y = as_similarity(X, "sqeuclidean"), np.repeat([0, 1], 5)
    options, monitor = SolverOptions().checked(), Monitor()
    t = np.square(X).sum(axis=1)
    core = elliptic._ball(S, t, y == 0, options, monitor)  # all distances are 0
    assert core.members.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(core.weights, 0.2)
    nobody = elliptic._ball(S, t + np.arange(10) * 0.01, np.zeros(10, dtype=bool), options, monitor)
    assert nobody.members[0] == 0  # about the nearest object


def test_metrics_are_those_of_the_covariances_with_determinant_1():
    X, y = stripes()
    mixture = fit_ellipses(X, y, round_=False, background=None)
    for T, covariance in zip(elliptic.metrics(mixture), mixture.covariances, strict=True):
        inverse = np.linalg.inv(covariance)
        np.testing.assert_allclose(T @ T.T, inverse / np.linalg.det(inverse) ** 0.5, rtol=1e-9)
