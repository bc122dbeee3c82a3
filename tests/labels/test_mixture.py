"""Clouds: their densities, their centres on every store of rows, and noise by evidence."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaincc, gammaln, logsumexp
from scipy.stats import chi2, gamma, multivariate_normal
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, as_similarity
from dominantsets.labels import mixture
from dominantsets.labels.clouds import Clouds, Fit, Start, fit_clouds, gain_of_two
from dominantsets.rows.base import Cores
from dominantsets.rows.rule import Rule
from dominantsets.similarity.base import Coordinates
from dominantsets.solvers import Monitor
from support import CORNERS

SCORED = ("sqeuclidean", "cosine", "linear")


def points(X):
    return Coordinates(np.ascontiguousarray(X, dtype=np.float64), np.zeros(len(X)), 0.0)


# densities --------------------------------------------------------------------------------------------


@given(st.integers(1, 6), st.floats(0.05, 20.0), st.integers(0, 10_000))
def test_the_density_of_a_cloud_is_that_of_normal_coordinates(d, variance, seed):
    """By scipy's normal distribution, and squared distances by chi-squared with their volume element."""
    rng = np.random.default_rng(seed)
    X, centres = rng.normal(size=(20, d)), rng.normal(size=(3, d))
    clouds = Clouds(centres, np.array([variance, 1.0, 2.0]), np.full(3, 1 / 3), float(d))
    t = clouds.squares(points(X))
    np.testing.assert_allclose(t, np.square(X[:, None] - centres).sum(axis=2), atol=1e-9)
    logs = clouds.levels() - t / (2.0 * clouds.variances)
    for k, v in enumerate(clouds.variances):
        expected = multivariate_normal(centres[k], v * np.eye(d)).logpdf(X)
        np.testing.assert_allclose(logs[:, k], expected, rtol=1e-9, atol=1e-9)
    # the surface of a sphere: density of t is the density of a point times pi^(d/2) t^(d/2 - 1) / Gamma(d/2)
    surface = 0.5 * d * np.log(np.pi) + (0.5 * d - 1.0) * np.log(t[:, 0]) - gammaln(0.5 * d)
    expected = chi2.logpdf(t[:, 0], d, scale=variance)
    np.testing.assert_allclose(logs[:, 0] + surface, expected, rtol=1e-8, atol=1e-8)


@given(st.floats(1.0, 50.0), st.floats(0.1, 10.0), st.lists(st.floats(0.0, 300.0), min_size=1, max_size=20))
def test_the_probability_is_the_share_of_the_cluster_farther_out(dimension, variance, squares):
    t = np.array(squares)
    constant = -0.5 * dimension * np.log(2.0 * np.pi * variance)
    cores = Cores([None], np.zeros(1), np.array([0.5 / variance]), np.array([constant]))
    rule = Rule(cores, dimension, np.zeros(1), np.full(1, 1e-12))
    score, scores = constant - 0.5 * t / variance, {}

    def nearest(asked):
        return np.zeros(t.size, dtype=np.int64), scores[id(asked)].copy()

    scores[id(cores)] = score
    labels, probabilities = rule.decide(nearest, gammaincc, np.asarray)
    expected = gamma.sf(t, 0.5 * dimension, scale=2.0 * variance)
    far = expected < 1e-12
    np.testing.assert_array_equal(labels, np.where(far, -1, 0))
    np.testing.assert_allclose(probabilities, np.where(far, 0.0, expected), rtol=1e-6, atol=1e-12)
    # a background that is denser takes an object away
    level = float(np.median(score))
    background = Cores([None], np.zeros(1), np.zeros(1), np.array([level]))
    scores[id(background)] = np.full(t.size, level)
    behind, none = rule._replace(background=background).decide(nearest, gammaincc, np.asarray)
    np.testing.assert_array_equal(behind < 0, (score < level) | far)
    assert (none[behind < 0] == 0.0).all()


@pytest.mark.parametrize("d", [2, 8])
def test_a_fit_finds_centres_widths_and_the_dimension(d):
    """Normal groups of widths 1 and 2, far apart: each cloud is its own sample's mean and mean square."""
    rng = np.random.default_rng(40 + d)
    y = np.repeat([0, 1], 1_000)
    X = 30.0 * np.eye(2, d)[y] + rng.normal(size=(2_000, d)) * np.array([1.0, 2.0])[y, None]
    starts = [
        Start(X[y == k][0], 0.5 * d, np.flatnonzero((y == k) & (rng.random(2_000) < 0.1))) for k in (0, 1)
    ]
    fit = fit_clouds(points(X), starts, noise=False, dimension=3.0, free=True, monitor=Monitor())
    assert fit.clouds.dimension == pytest.approx(d, rel=0.1)
    np.testing.assert_array_equal(fit.parts.argmax(axis=1), y)
    for k in (0, 1):
        centre = X[y == k].mean(axis=0)
        np.testing.assert_allclose(fit.clouds.centres[k], centre, atol=1e-6)
        mean_square = np.square(X[y == k] - centre).sum(axis=1).mean()
        assert fit.clouds.variances[k] == pytest.approx(mean_square / fit.clouds.dimension, rel=1e-3)
    np.testing.assert_allclose(fit.clouds.shares, 0.5, atol=1e-3)
    np.testing.assert_allclose(fit.parts.sum(axis=1), 1.0)


def test_two_clouds_are_told_from_one():
    """Two normal groups 20 deviations apart have the log likelihood of two halves; one has that of one."""
    rng = np.random.default_rng(41)
    d = 6
    one = rng.normal(size=(800, d))
    two = one + 20.0 * np.eye(1, d) * (np.arange(800) % 2)[:, None]
    everybody = np.ones(800, dtype=bool)
    assert gain_of_two(points(one), everybody, d) < 0.05
    # variance falls from 1 + 100 / d to 1; of objects spread evenly along the axis, to a quarter there
    whole = 1.0 + 100.0 / d
    expected = 0.5 * d * (np.log(whole) - np.log(whole / (1.0 + (101.0 / 4.0 - 1.0) / d)))
    assert gain_of_two(points(two), everybody, d) == pytest.approx(expected, rel=0.1)
    assert gain_of_two(points(two), np.arange(800) < 9, d) == 0.0  # too few to say


# every store of rows ----------------------------------------------------------------------------------


def backends():
    out = ["float64", "float32", "CSR", "dense"]
    for name, module in (("Dask", "dask.array"), ("torch", "torch")):
        try:
            __import__(module)
        except ModuleNotFoundError:
            continue
        out.append(name)
    return out


def stored(X, how):
    if how == "float32":
        return X.astype(np.float32)
    if how == "CSR":
        return sp.csr_array(X)
    if how == "Dask":
        import dask.array as da

        return da.from_array(X, chunks=((70, 1, 49), X.shape[1]))
    if how == "torch":
        import torch

        return torch.tensor(X)
    return X


@pytest.mark.parametrize("kind", [*SCORED, "rbf"])
@pytest.mark.parametrize("how", backends())
def test_the_nearest_centre_by_direct_distances(kind, how):
    """Squared distances of feature space, in the unit of coordinates: half of s_ii - 2 (Sx)_i + x'Sx."""
    rng = np.random.default_rng(42)
    X = np.abs(rng.normal(size=(120, 4)) + 4.0 * np.eye(3, 4)[rng.integers(3, size=120)])
    X = X.astype(np.float32).astype(np.float64) if how == "float32" else X
    params = {"gamma": 0.2} if kind == "rbf" else {}
    plain = as_similarity(X, kind, **params)
    S = as_similarity(plain.toarray()) if how == "dense" else as_similarity(stored(X, how), kind, **params)
    full = plain.toarray() + np.diag(S.diagonal() if how == "dense" else plain.diagonal())
    rates, constants = np.array([1.0, 3.0, 0.5]), np.array([0.0, -1.0, 0.25])
    mixtures, inside, scores = [], np.empty(3), np.empty((120, 3))
    for k in range(3):
        objects = np.sort(rng.choice(120, size=15, replace=False))
        weights = rng.dirichlet(np.ones(15))
        x = np.zeros(120)
        x[objects] = weights
        mixtures.append(S.centre(objects, weights))
        inside[k] = x @ full @ x
        scores[:, k] = constants[k] - 0.5 * rates[k] * (full.diagonal() - 2.0 * full @ x + inside[k])
        if kind == "sqeuclidean" and how != "dense":
            away = np.square(X - weights @ X[objects]).sum(axis=1)
            np.testing.assert_allclose(scores[:, k], constants[k] - rates[k] * away, atol=1e-8)
    best, top = S.nearest(Cores(mixtures, inside, rates, constants))
    np.testing.assert_allclose(np.asarray(top), scores.max(axis=1), atol=1e-8 * np.abs(scores).max())
    np.testing.assert_array_equal(np.asarray(best), scores.argmax(axis=1))


@pytest.mark.parametrize("kind", [*SCORED, "rbf", "euclidean"])
def test_coordinates_have_half_the_squared_distances(kind):
    """s_ii + s_jj - 2 s_ij over 2, for objects that the axes hold whole."""
    X = np.abs(np.random.default_rng(43).normal(size=(60, 3))) + 0.1
    S = as_similarity(X, kind)
    objects = np.arange(0, 60, 2)
    sample = S.coordinates(objects)
    full = S.toarray() + np.diag(S.diagonal())
    own = full.diagonal()
    expected = 0.5 * (own[:, None] + own - 2.0 * full)[np.ix_(objects, objects)]
    rows, extra = sample.rows, sample.extra
    found = np.square(rows[:, None] - rows).sum(axis=2) + (extra[:, None] + extra) * (
        1 - np.eye(len(objects))
    )
    np.testing.assert_allclose(found, expected, atol=1e-8 * expected.max())
    assert sample.own == pytest.approx(S.self_similarity)


# noise ------------------------------------------------------------------------------------------------


NOISE = ("normal", "cube", "box")


def with_noise(d, share, kind, seed, n=2_000):
    """Five groups of deviation 1, and so much noise: a broad normal cloud, or in a cube, or their box."""
    rng = np.random.default_rng([seed, d, int(100 * share)])
    k = 5
    if d == 2:
        centres = 25.0 * np.array([(0, 0), (1, 0), (0, 1), (1, 1), (0.5, 0.5)])
    else:
        centres = rng.normal(size=(k, d)) * (8.0 if d < 10 else 4.0)
    y = rng.integers(k, size=n)
    X = centres[y] + rng.normal(size=(n, d))
    noise = rng.random(n) < share
    m, low, high = int(noise.sum()), X.min(axis=0) - 2.0, X.max(axis=0) + 2.0
    if kind == "normal":
        X[noise] = rng.normal(size=(m, d)) * 1.5 * centres.std() + centres.mean(axis=0)
    elif kind == "cube":
        X[noise] = rng.uniform(low.min(), high.max(), size=(m, d))
    else:
        X[noise] = rng.uniform(low, high, size=(m, d))
    y[noise] = -1
    return X, y


def assert_noise(model, y, least):
    said, true = model.labels_ < 0, y < 0
    assert (said & true).sum() >= least * true.sum()  # recall
    assert (said & true).sum() >= least * said.sum()  # precision


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("d", [10, 30])
@pytest.mark.parametrize("n_clusters", [None, 5])
def test_noise_in_many_dimensions(d, share, kind, n_clusters):
    X, y = with_noise(d, share, kind, 61)
    model = DominantSets(n_clusters, affinity="sqeuclidean").fit(X)
    assert model.n_clusters_ == 5
    assert_noise(model, y, 0.95)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert "background" in model.selection_.noise


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("share", [0.2, 0.5])
@pytest.mark.parametrize("d", [2, 5])
def test_noise_in_few_dimensions(d, share, kind):
    X, y = with_noise(d, share, kind, 62)
    model = DominantSets(5, affinity="sqeuclidean").fit(X)
    assert_noise(model, y, 0.8)


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine"])
def test_noise_among_unit_vectors(affinity):
    """Twenty directions in 64 dimensions, and 60 % of the rows anywhere on the sphere."""
    rng = np.random.default_rng(63)
    U = rng.normal(size=(20, 64))
    y = np.where(rng.random(3_000) < 0.6, -1, rng.integers(20, size=3_000))
    X = rng.normal(size=(3_000, 64)) * np.where(y < 0, 1.0, 0.35)[:, None] + np.where(
        (y < 0)[:, None], 0.0, U[np.maximum(y, 0)]
    )
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = DominantSets(affinity=affinity).fit(X)
    assert model.n_clusters_ == 20
    assert_noise(model, y, 0.95)


@pytest.mark.parametrize("d", [2, 10, 30])
@pytest.mark.parametrize("n_clusters", [None, 4])
def test_clean_groups_have_no_noise(d, n_clusters):
    centres = 1.4 * np.array(CORNERS) if d == 2 else 10.0 * np.eye(4, d)
    X, y = make_blobs(800, centers=centres, random_state=64)
    model = DominantSets(n_clusters, affinity="sqeuclidean").fit(X)
    assert model.n_clusters_ == 4
    assert model.assignment_rate_ >= 0.98
    assert adjusted_rand_score(y, model.labels_) > 0.98


@pytest.mark.parametrize("noise", ["auto", "cores", 0.2, None])
@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf", "euclidean"])
def test_what_was_seen_is_predicted_as_it_was_labelled(affinity, noise):
    X, _ = with_noise(10, 0.3, "normal", 65, n=500)
    model = DominantSets(5, affinity=affinity, noise=noise).fit(X)
    differ = model.predict(X) != model.labels_
    # by rounding an object on a border may go to either side
    assert differ.sum() <= (2 if noise == 0.2 else 1)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.37, 0.9])
def test_a_share_is_that_share_of_all_objects(share):
    X, _ = with_noise(5, 0.3, "normal", 66, n=600)
    every = DominantSets(5, noise=None, affinity="sqeuclidean").fit(X)
    model = DominantSets(5, noise=share, affinity="sqeuclidean").fit(X)
    assert (model.labels_ < 0).mean() == pytest.approx(share, abs=1.5 / 600)
    out = model.labels_ < 0
    np.testing.assert_array_equal(model.labels_[~out], every.labels_[~out])
    assert every.probabilities_[out].max(initial=0.0) <= every.probabilities_[~out].min()


@pytest.mark.parametrize("kind", ["noise", "ring", "flanks"])
def test_what_a_background_knows_of_the_clusters(kind):
    """Drawn anywhere it is as near to them as chance has it; a ring keeps away, flanks keep close."""
    rng = np.random.default_rng(3)
    centres = np.zeros((1, 3)) if kind == "ring" else 9.0 * np.eye(3)
    y = np.repeat(range(len(centres)), 450 // len(centres))
    X = centres[y] + 0.4 * rng.normal(size=(450, 3))
    far = centres.mean(axis=0) + 6.0 * rng.normal(size=(450, 3))
    if kind == "ring":
        far *= 14.0 / np.linalg.norm(far, axis=1)[:, None]
    elif kind == "flanks":
        far = centres[y] + 1.7 * rng.normal(size=(450, 3))
    sample, k = points(np.vstack([X, far])), len(centres)
    middle = far.mean(axis=0)
    width = float(np.square(far - middle).mean())
    clouds = Clouds(centres, np.full(k, 0.16), np.full(k, 1.0 / k), 3.0, 0.5, middle, width)
    outside = np.repeat([0.0, 1.0], 450)
    home = np.append(y, y)
    fit = Fit(clouds, home, sp.csr_array(np.eye(k)[home] * (1.0 - outside)[:, None]), outside, 0.0)
    near, error = mixture._nearness(sample, fit)
    assert error < 0.03
    if kind == "noise":
        assert abs(near - 0.5) < mixture.KNOWS + 2.0 * error
    else:
        assert (near > 0.65) == (kind == "flanks")
        assert (near < 0.45) == (kind == "ring")


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_curves_are_not_noise_about_a_few_dense_places(make):
    X, _ = make(500, noise=0.05, random_state=0)
    for k in (None, 2):
        assert (DominantSets(k, affinity="sqeuclidean").fit(X).labels_ >= 0).all()


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_fit_of_clouds_does_not_depend_on_the_unit_of_length(seed, noise):
    """A density in D dimensions changes by D logarithms of the unit: also while D is being found.

    The likelihood is that of the clouds that come back, whatever ends the fit.
    """
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(15, 4)), rng.normal(size=(12, 4)) + 4.0, rng.uniform(-9, 9, size=(9, 4))])
    groups = [np.arange(36) < 15, (np.arange(36) >= 15) & (np.arange(36) < 27)]

    def fitted(unit):
        rows, starts = unit * X, []
        for mine in groups:
            centre = rows[mine].mean(axis=0)
            starts.append(Start(centre, float(np.square(rows[mine] - centre).sum(axis=1).mean()), mine))
        return fit_clouds(points(rows), starts, noise=noise, dimension=2.0, free=True, monitor=Monitor())

    def likelihood(fit, rows):
        """By the definition, in plain NumPy."""
        clouds, D = fit.clouds, fit.clouds.dimension
        t = np.square(rows[:, None] - clouds.centres).sum(axis=2)
        shares = np.log(clouds.shares) + np.log1p(-clouds.noise)
        logs = shares - 0.5 * D * np.log(2 * np.pi * clouds.variances) - t / (2 * clouds.variances)
        if noise:
            away = np.square(rows - clouds.middle).sum(axis=1) / (2 * clouds.width)
            behind = np.log(clouds.noise) - 0.5 * D * np.log(2 * np.pi * clouds.width) - away
            logs = np.column_stack([logs, behind])
        return logsumexp(logs, axis=1).sum()

    plain = fitted(1.0)
    for unit in (1e-8, 1e-3, 1e3, 1e8):
        fit = fitted(unit)
        assert fit.clouds.dimension == pytest.approx(plain.clouds.dimension, rel=1e-6)
        moved = fit.likelihood + len(X) * fit.clouds.dimension * np.log(unit)
        assert moved == pytest.approx(plain.likelihood, rel=1e-6)
        assert fit.likelihood == pytest.approx(likelihood(fit, unit * X), rel=1e-9)
        np.testing.assert_allclose(fit.parts.toarray(), plain.parts.toarray(), atol=1e-6)
