"""Clouds against SciPy's densities, and fits against plain expectation and maximisation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dominantsets.labels import clouds
from dominantsets.labels.clouds import Clouds, Start, fit_clouds
from dominantsets.similarity.located import Coordinates
from dominantsets.solvers import Monitor

rng = np.random.default_rng(0)
TWO = np.vstack([rng.normal(size=(60, 2)), 0.5 * rng.normal(size=(40, 2)) + 6.0])
BOTH = np.vstack([TWO, rng.uniform(-8.0, 12.0, size=(25, 2))])


def coordinates(X, extra=0.0):
    return Coordinates(X, np.full(len(X), float(extra)), 0.0)


def some_clouds(**more):
    centres = np.array([[0.0, 1.0], [5.0, 5.0]])
    return Clouds(centres, np.array([1.5, 0.4]), np.array([0.7, 0.3]), 2.0, **more)


def test_densities_are_those_of_normal_clouds():
    model, X = some_clouds(), TWO
    t = model.squares(coordinates(X))
    np.testing.assert_allclose(t, np.square(X[:, None] - model.centres).sum(axis=2), atol=1e-12)
    np.testing.assert_allclose(model.squares(coordinates(X, 2.0)), t + 2.0, atol=1e-12)
    logs = model.levels() - t / (2.0 * model.variances)
    for k in range(2):
        normal = multivariate_normal(model.centres[k], model.variances[k] * np.eye(2))
        np.testing.assert_allclose(logs[:, k], normal.logpdf(X))
    np.testing.assert_allclose(model.rest(), np.log(model.shares))
    counted = some_clouds(counted=True, noise=0.2)
    np.testing.assert_allclose(counted.levels(), model.levels() + np.log(model.shares))
    np.testing.assert_allclose(counted.rest(), np.log(0.8))
    np.testing.assert_allclose(some_clouds(noise=0.2).rest(), np.log(0.8) + np.log(model.shares))


def test_a_background_is_a_cloud_or_constant():
    X = TWO
    none = some_clouds()
    assert (none.away(coordinates(X)) == 0.0).all()
    assert np.isneginf(none.behind(np.zeros(3))).all()
    model = some_clouds(noise=0.3, middle=np.array([1.0, 2.0]), width=9.0)
    away = model.away(coordinates(X, 0.5))
    np.testing.assert_allclose(away, np.square(X - [1.0, 2.0]).sum(axis=1) + 0.5)
    normal = multivariate_normal([1.0, 2.0], 9.0 * np.eye(2))
    np.testing.assert_allclose(model.behind(model.away(coordinates(X))), np.log(0.3) + normal.logpdf(X))
    flat = some_clouds(noise=0.3, middle=np.zeros(2), flat=-4.0)
    np.testing.assert_allclose(flat.behind(away), np.log(0.3) - 4.0)


def starts(X, groups):
    spreads = [float(np.square(X[g] - X[g].mean(axis=0)).sum(axis=1).mean()) for g in groups]
    return [
        Start(X[g].mean(axis=0), spread, np.flatnonzero(g)) for g, spread in zip(groups, spreads, strict=True)
    ]


def plain(X, groups, *, counted, noise, common, rounds):
    """Expectation and maximisation with d = 2 dimensions, as the formulas have it."""
    n, c = len(X), np.array([X[g].mean(axis=0) for g in groups])
    var = np.array([np.square(X[g] - X[g].mean(axis=0)).sum(axis=1).mean() / 2.0 for g in groups])
    share = np.array([g.sum() for g in groups]) / sum(g.sum() for g in groups)
    eta, mid = (
        (float(np.clip(1.0 - np.any(groups, axis=0).mean(), 0.05, 0.95)) if noise else 0.0),
        X.mean(axis=0),
    )
    width = np.square(X).sum(axis=1).mean() / 2.0
    for _ in range(rounds):
        t = np.square(X[:, None] - c).sum(axis=2)
        p = np.exp(-t / (2 * var)) / (2 * np.pi * var)
        away = np.square(X - mid).sum(axis=1)
        back = eta * np.exp(-away / (2 * width)) / (2 * np.pi * width) if noise else np.zeros(n)
        weighted = p * share if counted else p
        parts = weighted / weighted.sum(axis=1, keepdims=True)
        if common:
            parts = np.eye(len(c))[t.argmin(axis=1)]
        total = (1.0 - eta) * (p * share).sum(axis=1) + back
        outside = back / total
        parts = parts * (1.0 - outside)[:, None]
        value = np.log(total).sum()
        w = parts.sum(axis=0)
        out = c, var, share, eta, mid, width, value
        means = (parts * t).sum(axis=0) / w
        c, var, share = parts.T @ X / w[:, None], means / 2.0, w / w.sum()
        if common:
            var = np.full(len(c), var @ w / w.sum())
        if noise:
            eta, mid = outside.mean(), outside @ X / outside.sum()
            width = outside @ away / outside.sum() / 2.0
    return out


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("common", [False, True])
def test_a_fit_is_plain_expectation_and_maximisation(counted, noise, common):
    X = BOTH if noise else TWO
    groups = [np.linalg.norm(X - at, axis=1) < 1.5 for at in ([0.0, 0.0], [6.0, 6.0])]
    fit = fit_clouds(
        coordinates(X), starts(X, groups), noise=noise, dimension=2.0, counted=counted, common=common,
        rounds=6, steady=0.0,
    )  # fmt: skip
    # after six rounds, the likelihood of what they have made
    c, var, share, eta, mid, width, value = plain(
        X, groups, counted=counted, noise=noise, common=common, rounds=7
    )
    assert fit.likelihood == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(fit.clouds.centres, c, atol=1e-5)
    np.testing.assert_allclose(fit.clouds.variances, var, rtol=1e-5)
    np.testing.assert_allclose(fit.clouds.shares, share, rtol=1e-5)
    if noise:
        assert fit.clouds.noise == pytest.approx(eta, rel=1e-5)
        assert fit.clouds.width == pytest.approx(width, rel=1e-5)
        np.testing.assert_allclose(fit.clouds.middle, mid, rtol=1e-5)
    assert fit.clouds.dimension == 2.0
    assert fit.parts.shape == (len(X), 2)
    assert fit.outside.shape == (len(X),)


def test_the_dimension_is_what_squared_distances_say():
    """Normal clouds in 6 dimensions, begun with 2; no more than there are coordinates, if all are known."""
    X = np.random.default_rng(3).normal(size=(3_000, 6))
    X[1500:] += 20.0
    groups = [np.arange(3_000) < 1_500, np.arange(3_000) >= 1_500]

    def fitted(sample, free=True):
        return fit_clouds(
            sample, starts(X, groups), noise=False, dimension=2.0, free=free, monitor=Monitor()
        ).clouds  # fmt: skip

    model = fitted(coordinates(X))
    t = np.concatenate([np.square(X[g] - X[g].mean(axis=0)).sum(axis=1) for g in groups])
    t /= t.mean()
    assert model.dimension == pytest.approx(min(6.0, 2.0 / t.var()), rel=0.02)
    assert fitted(coordinates(X), free=False).dimension == 2.0
    assert clouds.limit(coordinates(X)) == 6.0
    assert clouds.limit(coordinates(X, 0.1)) == np.inf
    np.testing.assert_allclose(model.variances * model.dimension, 6.0, rtol=0.1)
    # where nobody knows the largest one, it is free
    t /= np.repeat([t[:1500].mean(), t[1500:].mean()], 1_500)
    assert fitted(coordinates(X, 1e-9)).dimension == pytest.approx(2.0 / t.var(), rel=1e-3)


@pytest.mark.parametrize("covered", [0, 30, 100])
def test_where_a_fit_begins(covered):
    """At the starts; the background about the middle, as wide as all, with what no start covers."""
    members = [np.arange(covered), np.arange(covered // 2)]
    begun = [
        Start(np.array(at), 3.0, mine) for at, mine in zip(([0.0, 1.0], [6.0, 6.0]), members, strict=True)
    ]
    fit = fit_clouds(coordinates(TWO, 0.5), begun, noise=True, dimension=1.5, rounds=0).clouds
    np.testing.assert_array_equal(fit.centres, [[0.0, 1.0], [6.0, 6.0]])
    np.testing.assert_allclose(fit.variances, 2.0)
    sizes = np.maximum([covered, covered // 2], 1.0)
    np.testing.assert_allclose(fit.shares, sizes / sizes.sum())
    assert fit.noise == pytest.approx(np.clip(1.0 - covered / 100, 0.05, 0.95))
    np.testing.assert_allclose(fit.middle, TWO.mean(axis=0))
    assert fit.width == pytest.approx((np.square(TWO).sum(axis=1) + 0.5).mean() / 1.5)


def test_a_fit_goes_on_until_it_has_settled():
    """From centres that are far off, to where plain rounds lead; and a line has one dimension."""
    near = TWO * 0.4  # they overlap
    groups = [np.arange(100) < 60, np.arange(100) >= 60]
    off = [start._replace(centre=np.add(start.centre, [1.0, -1.0])) for start in starts(near, groups)]
    options = {"noise": False, "dimension": 2.0, "monitor": Monitor()}
    found = fit_clouds(coordinates(near), off, free=False, **options)
    value = plain(near, groups, counted=False, noise=False, common=False, rounds=200)[-1]
    assert found.likelihood == pytest.approx(value, abs=0.2)
    same = fit_clouds(coordinates(near), off, free=False, common=False, counted=False, **options)
    assert same.likelihood == found.likelihood
    for other in ({"common": True}, {"counted": True}):
        assert (
            fit_clouds(coordinates(near), off, free=False, **other, **options).likelihood != found.likelihood
        )
    line = np.random.default_rng(0).normal(size=(2_000, 1)) @ [[0.6, 0.8]]
    alone = fit_clouds(
        coordinates(line), [Start(line.mean(axis=0), 1.0, np.arange(2_000))], free=True, **options
    )  # fmt: skip
    t = np.square(line - line.mean(axis=0)).sum(axis=1)
    assert alone.clouds.dimension == pytest.approx(max(1.0, 2.0 * t.mean() ** 2 / t.var()), rel=1e-3)


def test_a_fit_that_has_settled_ends(monkeypatch):
    asked, climb = [], clouds.climb

    def counted(step, *some, **more):
        return climb(lambda *now: asked.append(1) or step(*now), *some, **more)

    monkeypatch.setattr(clouds, "climb", counted)
    groups = [np.arange(100) < 60, np.arange(100) >= 60]
    fit_clouds(
        coordinates(TWO), starts(TWO, groups), noise=False, dimension=2.0, free=False, monitor=Monitor()
    )
    assert len(asked) == 2  # it begins where it would end: the second round sees that nothing is gained


def test_two_groups_gain_by_two_clouds_and_one_does_not():
    rng = np.random.default_rng(1)
    everybody = np.ones(400, dtype=bool)
    one = rng.normal(size=(400, 2))
    long = one * [6.0, 1.0]
    apart = one.copy()
    apart[200:] += 8.0

    def gain(X):
        return clouds.gain_of_two(coordinates(X), everybody, 2.0)

    assert gain(apart) > 0.8
    assert gain(one) < 0.1
    assert gain(long) < 0.1  # a long one is no two
    assert gain(long) < clouds._gain(long - long.mean(axis=0), np.zeros(400), long[:, 0] > 0, 2.0)
    few = np.zeros(400, dtype=bool)
    few[:9] = True
    assert clouds.gain_of_two(coordinates(apart), few, 2.0) == 0.0
    few[9] = True
    assert clouds.gain_of_two(coordinates(apart), few, 2.0) != 0.0
    assert clouds._gain(one, np.zeros(400), everybody, 2.0) == 0.0  # nobody on the other side
    assert clouds._gain(one, np.zeros(400), ~everybody, 2.0) == 0.0


@pytest.mark.parametrize("extra", [0.0, 0.5])
def test_the_gain_of_two_groups_far_apart_is_known(extra):
    """Each of variance 1 in one dimension, at ±D: one cloud has the variance 1 + D², two share the objects.

    log sqrt(1 + D²) - log 2 nats for each object; what coordinates leave out is added to all variances.
    """
    D, x = 40.0, np.random.default_rng(2).normal(size=2_000)
    x = (x - x.mean()) / x.std()
    X = np.concatenate([x - D, x + D])[:, None]
    found = clouds._gain(X, np.full(4_000, extra), X[:, 0] > 0, 1.0)
    ratio = (1.0 + D**2 + extra) / (1.0 + extra)
    assert found == pytest.approx(0.5 * np.log(ratio) - np.log(2.0), rel=1e-6)


def test_a_constant_density_is_one_over_the_volume():
    square = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [2.0, 3.0], [1.0, 1.0]])
    assert clouds.constant_density(coordinates(square)) == pytest.approx(-np.log(6.0))
    line = np.array([[1.0], [4.0], [2.0]])
    assert clouds.constant_density(coordinates(line)) == pytest.approx(-np.log(3.0))
    assert clouds.constant_density(coordinates(square, 0.1)) is None  # not all coordinates are known
    assert clouds.constant_density(coordinates(square[:3])) is None
    assert clouds.constant_density(coordinates(square[:4])) is not None
    assert clouds.constant_density(coordinates(np.zeros((9, 2)))) is None
    assert clouds.constant_density(coordinates(np.outer(np.arange(9.0), [1.0, 2.0]))) is None  # in a line
    cube = np.random.default_rng(0).random((40, 4))
    assert clouds.constant_density(coordinates(cube)) is not None
    assert clouds.constant_density(coordinates(np.hstack([cube, cube[:, :1] ** 2]))) is None  # five


def test_places_within_the_hull():
    triangle = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0]])
    places = np.random.default_rng(0).random((200, 2))
    found = clouds.within_hull(triangle, places)
    inside = places[places.sum(axis=1) <= 1.0]
    np.testing.assert_allclose(found, inside * [4.0, 2.0])
    np.testing.assert_allclose(
        clouds.within_hull(np.array([[1.0], [3.0]]), places[:, :1]), 1.0 + 2.0 * places[:, :1]
    )


def test_a_climb_ends_where_rounds_gain_nothing():
    """The likelihood is -2**-k: gains fall below 0.1 at the fifth round, and below it ever after."""
    seen = []

    def step(parts, k, calm):
        seen.append((k, calm))
        return parts + 1, -(2.0**-k)

    assert clouds.climb(step, 0, rounds=50, steady=0.1) == 5  # 1/8 - 1/16 is the first gain below 0.1
    assert seen == [(k, False) for k in range(5)]
    assert clouds.climb(step, 0, rounds=50, steady=0.1, patience=2) == 7
    assert seen[-2:] == [(5, True), (6, True)]
    assert clouds.climb(step, 0, rounds=3, steady=0.1) == 3

    def falling(parts, k, calm):
        return parts + 1, -float(k)

    assert clouds.climb(falling, 0, rounds=9, steady=0.1) == 2
    assert clouds.climb(falling, 0, rounds=9, steady=0.1, may_fall=True) == 9
    assert clouds.climb(step, 0, rounds=50, steady=0.1, monitor=Monitor(0.0)) == 1
