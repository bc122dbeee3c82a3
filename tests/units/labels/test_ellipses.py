"""Mixtures of normal clouds with covariances of their own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from dominantsets.labels.ellipses import _begin, best_ellipses, fit_ellipses, usable


def long_groups(seed, n=150, d=2, k=3):
    rng = np.random.default_rng(seed)
    parts = [rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 9.0 * rng.normal(size=d) for _ in range(k)]
    return np.vstack(parts), np.repeat(range(k), n)


def test_the_density_is_that_of_normal_distributions():
    X, y = long_groups(0)
    fitted = fit_ellipses(X, y)
    terms = [
        w * multivariate_normal(m, c).pdf(X)
        for w, m, c in zip(fitted.shares, fitted.centres, fitted.covariances, strict=True)
    ]
    np.testing.assert_allclose(fitted.density(X), np.log(np.sum(terms, axis=0)), rtol=1e-7)
    assert fitted.likelihood == pytest.approx(float(fitted.density(X).sum()), rel=1e-3)


def test_the_mixture_is_that_of_scikit_learn_up_to_the_prior():
    """The prior weighs as d objects do: with many of them it hardly counts."""
    X, y = long_groups(1, n=2_000)
    ours = fit_ellipses(X, y)
    theirs = GaussianMixture(3, means_init=[X[y == k].mean(axis=0) for k in range(3)], tol=1e-6).fit(X)
    np.testing.assert_allclose(ours.centres, theirs.means_, atol=0.02)
    np.testing.assert_allclose(ours.covariances, theirs.covariances_, rtol=0.05, atol=0.02)
    assert (ours.label(X)[0] == theirs.predict(X)).mean() > 0.999


def test_round_clouds_have_one_variance():
    """The mean of those along the axes."""
    X, y = long_groups(2, n=200)
    X[:, 0] += 100.0 * y
    for k, covariance in enumerate(fit_ellipses(X, y, round_=True).covariances):
        np.testing.assert_allclose(covariance, X[y == k].var(axis=0).mean() * np.eye(2), rtol=1e-3, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000), scale=st.sampled_from([1e-6, 1.0, 1e6]), moved=st.sampled_from([0.0, 1e3])
)
def test_units_and_places_mean_nothing(seed, scale, moved):
    X, y = long_groups(seed, n=40)
    here = fit_ellipses(X, y).label(X)[0]
    there = X * scale + moved * scale
    np.testing.assert_array_equal(fit_ellipses(there, y).label(there)[0], here)


@pytest.mark.parametrize("background", ["flat", "broad"])
def test_a_background_takes_what_lies_between(background):
    X, y = long_groups(3)
    noise = np.random.default_rng(0).uniform(X.min(axis=0) - 5, X.max(axis=0) + 5, size=(150, 2))
    rows, start = np.vstack([X, noise]), np.append(y, np.full(150, -1))
    fitted = fit_ellipses(rows, start, background=background)
    assert fitted.has_background
    labels = fitted.label(rows)[0]
    assert (labels[:450] == y).mean() > 0.9
    assert (labels[450:] < 0).mean() > 0.6
    assert best_ellipses(rows, [start]).has_background
    assert not best_ellipses(X, [y]).has_background


def test_of_several_starts_the_best_by_bayes_criterion():
    X, y = long_groups(4)
    halves = np.repeat([0, 1, 2], 150)[np.random.default_rng(0).permutation(450)]
    best = best_ellipses(X, [halves, y])
    each = [fit_ellipses(X, labels).bic(len(X)) for labels in (halves, y)]
    assert best.bic(len(X)) == pytest.approx(min(each))


@pytest.mark.parametrize("round_", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_as_many_parameters_as_scikit_learn_counts(d, round_):
    """A broad background is one cloud more, a constant one is its share."""
    X, y = long_groups(6, n=60, d=d)

    def counted(k, kind):
        theirs = GaussianMixture(k, covariance_type=kind, random_state=0).fit(X)
        return (theirs.bic(X) + 2.0 * len(X) * theirs.score(X)) / np.log(len(X))

    ours = fit_ellipses(X, y, round_=round_)
    assert ours.n_parameters == pytest.approx(counted(3, "spherical" if round_ else "full"))
    criterion = -2.0 * ours.likelihood + ours.n_parameters * np.log(180.0)
    assert ours.bic(180) == pytest.approx(criterion)
    assert fit_ellipses(X, y, round_=round_, background="flat").n_parameters == ours.n_parameters + 1
    if not round_:
        assert fit_ellipses(X, y, background="broad").n_parameters == pytest.approx(counted(4, "full"))


def test_a_constant_background_is_a_density_over_its_box():
    """It is 1 over the volume there, and an object lies a share of its side of 1 in n from the edge."""
    X, y = long_groups(7)
    fitted = fit_ellipses(X, np.where(np.arange(450) % 10 == 0, -1, y), background="flat")
    assert fitted.flat == pytest.approx(-np.log(fitted.high - fitted.low).sum())
    edge = np.ptp(X, axis=0) / 450
    np.testing.assert_allclose(fitted.low, X.min(axis=0) - edge)
    np.testing.assert_allclose(fitted.high, X.max(axis=0) + edge)
    np.testing.assert_allclose(fitted.logs(X)[:, 3], np.log(fitted.noise) + fitted.flat)
    assert fitted.shares.sum() + fitted.noise == pytest.approx(1.0, abs=1e-3)
    inside, beyond = fitted.logs(np.vstack([fitted.high, fitted.high + 1e-6]))[:, 3]
    assert beyond < inside


def test_what_objects_have_of_clusters_at_first():
    """All of one; where nobody is of the background, a little of it; without one, a share of all clusters."""
    some, every = np.array([0, 1, -1, 1]), np.array([0, 1, 0, 1])
    one_hot = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0, 1.0, 0]])
    np.testing.assert_array_equal(_begin(some, 2, True), one_hot)
    np.testing.assert_allclose(_begin(every, 2, True)[:2], [[0.95, 0.0, 0.05], [0.0, 0.95, 0.05]])
    without = _begin(some, 2, False)
    np.testing.assert_allclose(without[:, :2], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 1.0]])
    np.testing.assert_array_equal(_begin(every, 2, False)[:, :2], np.eye(2)[every])


def test_groups_of_one_are_no_start():
    np.testing.assert_array_equal(usable(np.array([4, 4, 7, 9, 9, -1])), [0, 0, -1, 1, 1, -1])
    assert best_ellipses(np.eye(3), [np.arange(3)]) is None


def test_typical_objects_lie_in_the_middle():
    X, y = long_groups(5)
    fitted = fit_ellipses(X, y)
    labels, typical = fitted.label(X)
    for k in range(3):
        mine = labels == k
        away = np.einsum(
            "ni,ij,nj->n",
            X[mine] - fitted.centres[k],
            np.linalg.inv(fitted.covariances[k]),
            X[mine] - fitted.centres[k],
        )
        assert (np.diff(typical[mine][np.argsort(away)]) <= 0.0).all()
        assert typical[mine].max() == 1.0
