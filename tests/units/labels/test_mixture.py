"""Labels by clouds: their densities, how noise is judged, and what the rule says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, logsumexp
from scipy.stats import chi2, gamma, multivariate_normal

from dominantsets import as_similarity
from dominantsets.labels import mixture
from dominantsets.labels.clouds import Clouds, Fit, Start, fit_clouds, gain_of_two
from dominantsets.labels.noise import UNLIKE
from dominantsets.rows.base import Cores
from dominantsets.rows.rule import Rule
from dominantsets.similarity.located import Coordinates, located
from dominantsets.solvers import Monitor


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
    rule = Rule(cores, dimension, np.zeros(1), np.full(1, 1e-12), np.full(1, np.inf))
    score, scores = constant - 0.5 * t / variance, {}

    def nearest(asked):
        return np.zeros(t.size, dtype=np.int64), scores[id(asked)].copy()

    scores[id(cores)] = score
    labels, probabilities = rule.decide(nearest, rule.beyond, np.log, np.asarray)
    expected = gamma.sf(t, 0.5 * dimension, scale=2.0 * variance)
    far = expected < 1e-12
    np.testing.assert_array_equal(labels, np.where(far, -1, 0))
    np.testing.assert_allclose(probabilities, np.where(far, 0.0, expected), rtol=1e-6, atol=1e-12)
    # a background that is denser takes an object away
    level = float(np.median(score))
    background = Cores([None], np.zeros(1), np.zeros(1), np.array([level]))
    scores[id(background)] = np.full(t.size, level)
    behind, none = rule._replace(background=background).decide(nearest, rule.beyond, np.log, np.asarray)
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


# noise ------------------------------------------------------------------------------------------------


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
        assert abs(near - 0.5) < UNLIKE + 2.0 * error
    else:
        assert (near > 0.65) == (kind == "flanks")
        assert (near < 0.45) == (kind == "ring")
    few = outside * (np.arange(900) < 469)  # of fewer than twenty nothing is known
    assert mixture._nearness(sample, fit._replace(outside=few)) == (0.5, np.inf)


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


# what is believed ---------------------------------------------------------------------------------------


def some_fit(X, centres, variances, home, outside, **background):
    """A fit as it might come out, made by hand."""
    k = len(centres)
    clouds = Clouds(
        np.asarray(centres, dtype=float), np.asarray(variances), np.full(k, 1 / k), float(X.shape[1])
    )
    for name, value in background.items():
        setattr(clouds, name, value)
    parts = sp.csr_array(np.eye(k)[home] * (1.0 - outside)[:, None])
    return Fit(clouds, home, parts, outside, 0.0)


@pytest.fixture
def believed():
    """Three groups and a background about which nothing is wrong: what ``judge_noise`` is asked, by name."""
    rng = np.random.default_rng(3)
    y, centres = np.repeat([0, 1, 2], 150), 9.0 * np.eye(3)
    far = centres.mean(axis=0) + 6.0 * rng.normal(size=(450, 3))
    X = np.vstack([centres[y] + 0.4 * rng.normal(size=(450, 3)), far])
    home, outside = np.append(y, y), np.repeat([0.0, 1.0], 450)
    background = {"noise": 0.5, "middle": far.mean(axis=0), "width": 36.0}
    with_it = some_fit(X, centres, np.full(3, 0.16), home, outside, **background)._replace(likelihood=1_000.0)
    starts = [Start(centres[k], 0.48, np.flatnonzero(y == k)) for k in range(3)]
    without = some_fit(X, centres, np.full(3, 9.0), home, np.zeros(900))
    return {"sample": points(X), "starts": starts, "with_it": with_it, "without": without, "same": without}


def test_a_background_is_believed_where_nothing_speaks_against_it(believed):
    verdict = mixture.judge_noise(**believed)
    price = 0.5 * 5 * np.log(900)  # of a middle of three coordinates, a width and a share
    assert verdict.noisy
    assert verdict.gain == pytest.approx((1_000.0 - price) / 900)
    assert verdict.sentence.startswith("50% are background")


def said(believed, **changed):
    verdict = mixture.judge_noise(**{**believed, **changed})
    assert verdict.noisy == ("are background" in verdict.sentence)
    return verdict.sentence


def test_how_much_a_background_must_explain(believed):
    """A quarter of a nat for each of its objects, beyond the price of its parameters."""
    with_it, price = believed["with_it"], 0.5 * 5 * np.log(900)
    least = 0.25 * 0.5 * 900 + price
    assert "background explains the data no better" in said(
        believed, with_it=with_it._replace(likelihood=least - 0.01)
    )
    assert "50% are" in said(believed, with_it=with_it._replace(likelihood=least + 0.01))
    nobody = with_it._replace(outside=np.zeros(900))
    assert "no better" in said(believed, with_it=nobody)


def test_how_many_may_be_background(believed):
    """At most 85 %, and of fewer than 30 objects nobody knows."""
    with_it, first = believed["with_it"], [Start(np.zeros(3), 1.0, np.array([0]))]

    def behind(count):
        outside = (np.arange(900) >= 900 - count).astype(float)
        return said(believed, starts=first, with_it=with_it._replace(outside=outside))

    assert "86% would be" in behind(774)
    assert "would be, more than" not in behind(765)
    for n, few in ((29, True), (30, False)):
        rows = np.arange(0, 900, 900 // n)[:n]
        sample = points(believed["sample"].rows[rows])
        fits = {
            name: believed[name]._replace(
                home=believed[name].home[rows], outside=believed[name].outside[rows]
            )
            for name in ("with_it", "without", "same")
        }
        assert ("objects are too few to tell" in said(believed, sample=sample, starts=first, **fits)) == few


def test_a_background_leaves_the_dominant_sets_their_objects(believed):
    """Six in ten, on average over the sets."""
    for lost, believes in ((60, True), (61, False)):  # of 150, in each set
        outside = believed["with_it"].outside.copy()
        for start in believed["starts"]:
            outside[start.members[:lost]] = 0.6
        sentence = said(believed, with_it=believed["with_it"]._replace(outside=outside))
        assert ("would take 41% of the dominant sets'" in sentence) != believes
    labels = np.array([0, 0, 1, 1, 1, -1])
    starts = [Start(np.zeros(1), 1.0, np.array(some)) for some in ([0, 1, 2, 3], [4, 5])]
    assert mixture.kept(starts, labels) == 0.5


def test_a_background_is_broader_than_every_cluster(believed):
    for widest, believes in ((35.0, True), (36.0, False), (40.0, False)):
        fit = believed["with_it"]
        clouds = replace(fit.clouds, variances=np.array([0.16, widest, 0.16]))
        assert ("is no broader than the widest" in said(believed, with_it=fit._replace(clouds=clouds))) != (
            believes
        )


def test_a_background_knows_nothing_of_the_clusters_and_is_one(believed, monkeypatch):
    """Nearness to them differs from one half by 0.05 and twice its error; two clouds gain 0.1 nats."""
    for near, error, words in (
        (0.5, 0.0, "are background"), (0.549, 0.0, "are background"), (0.551, 0.0, "keeps to the clusters"),
        (0.451, 0.0, "are background"), (0.449, 0.0, "keeps away from"), (0.569, 0.01, "are background"),
        (0.571, 0.01, "keeps to the clusters"), (0.429, 0.01, "keeps away from"),
    ):  # fmt: skip
        monkeypatch.setattr(mixture, "_nearness", lambda *_, found=(near, error): found)
        assert words in said(believed)
    asked = []
    for gain, words in ((0.099, "are background"), (0.101, "is not one cloud")):
        monkeypatch.setattr(mixture, "_nearness", lambda *_: (0.5, 0.0))
        monkeypatch.setattr(mixture, "gain_of_two", lambda *some, gain=gain: asked.append(some) or gain)
        assert words in said(believed)
    np.testing.assert_array_equal(asked[0][1], np.arange(900) >= 450)
    assert asked[0][2] == 3.0


def test_widths_in_many_dimensions_must_leave_labels_alone(believed):
    """Nine in ten of what is inside; in up to four dimensions they may change what they like."""
    home, outside = np.zeros(300, dtype=int), np.repeat([0.0, 0.5, 0.51], 100)
    for d, changed, believes in ((5, 20, True), (5, 21, False), (4, 150, True)):
        X = np.zeros((300, d))
        fit = some_fit(X, np.zeros((2, d)), np.ones(2), home, outside)
        other = home.copy()
        other[:changed] = 1
        other[200:] = 1  # of the background, which does not count
        same = some_fit(X, np.zeros((2, d)), np.ones(2), other, np.zeros(300))
        assert mixture.are_clouds(points(X), fit, same) == believes
    X = np.zeros((300, 5))
    everybody = some_fit(X, np.zeros((2, 5)), np.ones(2), home, np.ones(300))
    assert not mixture.are_clouds(points(X), everybody, everybody)
    touching = {**believed, "sample": points(np.hstack([believed["sample"].rows, np.zeros((900, 2))]))}
    assert "the clusters touch" in said(
        touching, same=believed["same"]._replace(home=(believed["same"].home + 1) % 3)
    )


def test_widths_of_their_own_must_leave_the_sets_their_objects():
    """Two in a hundred may be lost to them."""
    X, true = np.zeros((1_000, 2)), np.repeat([0, 1], 500)
    starts = [Start(np.zeros(2), 1.0, np.flatnonzero(true == k)) for k in (0, 1)]
    same = some_fit(X, np.zeros((2, 2)), np.ones(2), true, np.zeros(1_000))
    for lost, keeps in ((19, True), (21, False)):
        own = same._replace(home=np.where(np.arange(1_000) < lost, 1, true))
        assert mixture._widths(points(X), starts, own, same) is (own if keeps else same)


# labels by clouds ---------------------------------------------------------------------------------------


def groups_in(kind, seed=0):
    """Three groups of widths 1, 1 and 2, 80 of each, and 80 anywhere in a square, or of a broad cloud."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2, -1], 80)
    X = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0], [0.0, 0.0]])[y] + rng.normal(size=(320, 2))
    X[160:240] = [0.0, 20.0] + 2.0 * rng.normal(size=(80, 2))
    X[240:] = rng.uniform(-30, 50, size=(80, 2)) if kind == "flat" else 10.0 + 25.0 * rng.normal(size=(80, 2))
    X = X[:240] if kind == "none" else X
    S = as_similarity(X, "sqeuclidean")
    sample = located(S).coordinates(np.arange(len(X)))

    def start(mine):
        centre = sample.rows[mine].mean(axis=0)
        return Start(centre, float(np.square(sample.rows[mine] - centre).sum(axis=1).mean()), mine)

    return S, sample, [start(np.flatnonzero(y[: len(X)] == k)) for k in range(3)], y[: len(X)], start


def labelled(S, sample, starts, noise, **more):
    return mixture.label_by_clouds(S, np.arange(S.n), sample, starts, 2.0, noise, Monitor(), **more)


@pytest.mark.parametrize("kind", ["none", "flat", "broad"])
def test_the_rule_has_the_densities_of_the_fit(kind):
    """Scores of clusters and background are logarithms of densities, at every object."""
    S, sample, starts, y, _ = groups_in(kind)
    found = labelled(S, sample, starts, "auto")
    judged = mixture._judged(sample, starts, 2.0, True, True, Monitor())
    clouds, rule = judged.fit.clouds, found.rule
    assert found.verdict == judged.verdict
    assert not judged.common  # in two dimensions widths are believed
    t = np.square(sample.rows[:, None] - clouds.centres).sum(axis=2)
    D = clouds.dimension
    logs = -0.5 * D * np.log(2 * np.pi * clouds.variances) - t / (2 * clouds.variances)
    best, score = located(S).nearest(rule.cores)
    np.testing.assert_array_equal(best, logs.argmax(axis=1))
    np.testing.assert_allclose(score, logs.max(axis=1), rtol=1e-3)  # centres are half a round further
    labels, probabilities = found.of(S)
    expected = best
    if kind == "none":
        assert rule.background is None
        assert not found.verdict.noisy
    else:
        assert found.verdict.noisy
        away = np.square(sample.rows - clouds.middle).sum(axis=1)
        behind = (
            np.full(len(y), clouds.flat)
            if kind == "flat"
            else -0.5 * D * np.log(2 * np.pi * clouds.width) - away / (2 * clouds.width)
        ) + np.log(clouds.noise)
        np.testing.assert_allclose(located(S).nearest(rule.background)[1], behind, rtol=1e-3)
        behind = located(S).nearest(rule.background)[1]
        before = score + np.log(clouds.shares)[best] + np.log1p(-clouds.noise)
        expected = np.where(behind > before, -1, best)
        assert ((labels < 0) == (y < 0)).mean() > 0.9
    expected = np.where(chi2.sf(2.0 * (rule.cores.constants[best] - score), D) < 1e-12, -1, expected)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(probabilities == 0.0, labels < 0)


def test_nobody_is_noise_where_that_was_asked_for_or_nothing_is_known(monkeypatch):
    S, sample, starts, y, _ = groups_in("flat")
    found = labelled(S, sample, starts, None)
    assert (found.of(S)[0] >= 0).all()
    assert found.verdict.sentence == "no object is labelled noise, as asked."
    assert (found.of(S)[0][:240] == y[:240]).mean() > 0.99
    share = labelled(S, sample, starts, 0.25)
    every, labels = found.of(S)[1], share.of(S)[0]
    assert (labels < 0).sum() == 80
    assert every[labels < 0].max() <= every[labels >= 0].min()
    assert share.verdict.noisy
    assert share.verdict.sentence.startswith("25% of the objects are labelled noise (25% asked)")
    nobody = labelled(S, sample, starts, 0.0)
    assert not nobody.verdict.noisy
    assert (nobody.of(S)[0] >= 0).all()
    # directions have no widths: everybody is with the nearest centre
    monkeypatch.setattr(type(located(S)), "has_clouds", False)
    border = labelled(S, sample, starts, "auto")
    assert border.verdict.sentence.endswith("between groups is a border.")
    assert (border.of(S)[0] >= 0).all()
    assert np.ptp(border.rule.cores.rates) == 0.0


@pytest.mark.parametrize("kind", ["none", "flat", "broad"])
def test_groups_that_fill_up_a_number_and_groups_that_are_left_out(kind):
    """Noise is judged on the groups that stand alone, whatever number was asked for."""
    S, sample, starts, y, start = groups_in(kind)
    alone = labelled(S, sample, starts, "auto")
    right = sample.rows[:80, 0] > np.median(sample.rows[:80, 0])
    more = [start(np.flatnonzero(right)), *starts[1:], start(np.flatnonzero(~right))]
    filled = labelled(S, sample, more, "auto", significant=starts)
    labels = filled.of(S)[0]
    assert filled.verdict == alone.verdict
    assert ((labels < 0) == (alone.of(S)[0] < 0)).mean() > 0.95
    assert set(labels[:80]) - {-1} == {0, 3}
    assert set(labels[80:240]) - {-1} == {1, 2}
    fewer = labelled(S, sample, starts[:2], "auto", significant=starts)
    labels = fewer.of(S)[0]
    assert fewer.verdict == alone.verdict
    # the third group is no noise, though no cluster stands for it
    np.testing.assert_array_equal(labels < 0, alone.of(S)[0] < 0)
    assert (labels[160:240] >= 0).mean() > 0.9
    assert (fewer.rule.judges is not None) == (kind != "none")
    np.testing.assert_array_equal(labels[:160][labels[:160] >= 0], y[:160][labels[:160] >= 0])
    same = labelled(S, sample, starts, "auto", significant=starts[::-1])  # labels go by the clusters
    np.testing.assert_array_equal(same.of(S)[0], alone.of(S)[0])
