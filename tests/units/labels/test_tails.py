"""Clouds with the tails of Student's t: densities, fits, and the scores that give labels in every store."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import f as fisher
from scipy.stats import multivariate_t

from dominantsets.labels.clouds import LIGHT, Clouds, Start, fit_clouds
from dominantsets.rows.base import Cores, Tails
from dominantsets.rows.rule import Rule
from dominantsets.similarity.located import Coordinates


def points(X: np.ndarray) -> Coordinates:
    return Coordinates(X, np.zeros(len(X)), 0.0)


def heavy(rng: np.random.Generator, n: int, d: int, df: float) -> np.ndarray:
    return rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(df, size=(n, 1)) / df)


@pytest.mark.parametrize(("d", "df"), [(1, 3.0), (4, 1.0), (6, 30.0)])
def test_densities_are_those_of_student(d, df):
    rng = np.random.default_rng(d)
    X, centres, variances = rng.normal(size=(20, d)), rng.normal(size=(2, d)), np.array([0.4, 2.5])
    clouds = Clouds(centres, variances, np.full(2, 0.5), float(d), half=0.5 * df)
    logs = clouds.levels() - clouds.falls(clouds.squares(points(X)))
    for k in range(2):
        expected = multivariate_t(centres[k], variances[k] * np.eye(d), df).logpdf(X)
        np.testing.assert_allclose(logs[:, k], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("df", [2.0, 4.0])
@pytest.mark.parametrize("d", [2, 8])
def test_a_fit_finds_centers_variances_and_degrees_of_freedom(d, df):
    rng = np.random.default_rng(d)
    y = np.repeat([0, 1], 4_000)
    X = 300.0 * np.eye(2, d)[y] + np.array([1.0, 2.0])[y, None] * heavy(rng, y.size, d, df)
    starts = [Start(X[y == k][0], 1.0 * d, np.flatnonzero(y == k)[:400]) for k in (0, 1)]
    fit = fit_clouds(points(X), starts, dimension=float(d), tails=True, rounds=400, steady=1e-9)
    assert 2.0 * fit.clouds.half == pytest.approx(df, rel=0.1)
    np.testing.assert_allclose(fit.clouds.variances, [1.0, 4.0], rtol=0.1)
    np.testing.assert_allclose(fit.clouds.centres, 300.0 * np.eye(2, d), atol=0.1)
    # no other degrees of freedom have a higher likelihood

    def likelihood(times: float) -> float:
        shapes = zip(fit.clouds.centres, fit.clouds.variances, strict=True)
        each = [multivariate_t(c, v * np.eye(d), 2.0 * fit.clouds.half * times) for c, v in shapes]
        return float(sum(each[k].logpdf(X[y == k]).sum() for k in (0, 1)))

    assert likelihood(1.0) > max(likelihood(0.95), likelihood(1.05))


def test_normal_groups_have_light_tails():
    X = np.random.default_rng(0).normal(size=(4_000, 5))
    start = Start(X[0], 5.0, np.arange(400))
    normal = fit_clouds(points(X), [start], dimension=5.0)
    fit = fit_clouds(points(X), [start], dimension=5.0, tails=True, rounds=200)
    assert fit.clouds.half > 0.3 * LIGHT
    assert fit.likelihood == pytest.approx(normal.likelihood, abs=5.0)  # in nats, of 4,000 objects


@given(st.integers(0, 10_000), st.integers(1, 5), st.floats(1.0, 20.0), st.floats(0.5, 20.0), st.booleans())
def test_scores_that_are_linear_in_the_distance_have_the_order_of_densities(seed, count, d, half, noisy):
    """The best cluster, the share farther out, and the comparison with a background, against plain forms."""
    rng = np.random.default_rng(seed)
    t, variances = rng.exponential(3.0 * d, size=(30, count)), rng.uniform(0.2, 4.0, size=count)
    clouds = Clouds(np.zeros((count, 1)), variances, np.full(count, 1.0 / count), d, half=half)
    logs, power = clouds.levels() - clouds.falls(t), half + 0.5 * d
    level = float(clouds.levels().mean())
    heights = np.exp((level - clouds.levels()) / power)
    tails = Tails(half, power, level, half / heights)
    cores = Cores([None] * count, np.zeros(count), heights * 0.5 / variances / half, -heights, tails)
    behind = Cores([None], np.zeros(1), np.zeros(1), np.array([float(np.median(logs))]))

    def nearest(asked):
        if asked is behind:
            return np.zeros(30, dtype=np.int64), np.full(30, asked.constants[0])
        scores = asked.constants - asked.rates * t
        return scores.argmax(axis=1), scores.max(axis=1)

    rest = np.log(rng.dirichlet(np.ones(count)))
    rule = Rule(cores, d, rest, np.zeros(count), np.full(count, np.inf), behind if noisy else None)
    labels, probabilities = rule.decide(nearest, rule.beyond, np.log, np.asarray)
    best = logs.argmax(axis=1)
    noise = noisy & (logs.max(axis=1) + rest[best] < behind.constants[0])
    clear = np.abs(logs.max(axis=1) + rest[best] - behind.constants[0]) > 1e-9
    np.testing.assert_array_equal(labels[clear], np.where(noise, -1, best)[clear])
    share = fisher.sf(
        t[np.arange(30), best] / variances[best] / d, d, 2.0 * half
    )  # t/d over D variances is F
    np.testing.assert_allclose(probabilities[labels >= 0], share[labels >= 0], rtol=1e-6, atol=1e-12)
    # the distance at which so much is farther out
    falls = rule._replace(least=np.full(count, 0.01)).falls
    np.testing.assert_allclose(rule.beyond(falls), 0.01, rtol=1e-6)
