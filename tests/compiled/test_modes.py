"""Balls: their radius, where they come to rest, and how sharply they stand out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dominantsets.compiled.modes import ball, follow, sharpness


def radius_of(t, kappa):
    """The root of sum max(0, r2 - t) = kappa, by trying every number of objects inside."""
    t = np.sort(t)
    for k in range(1, t.size + 1):
        r2 = (kappa + t[:k].sum()) / k
        if k == t.size or r2 <= t[k]:
            return r2
    raise AssertionError


def fixed_point(X, extra, c, kappa, steps):
    """The plain iteration: the mean of the objects under the weights of the ball."""
    for _ in range(steps):
        t = np.square(X - c).sum(axis=1) + extra
        c = np.maximum(radius_of(t, kappa) - t, 0.0) / kappa @ X
    return c


def drawn(n, d, seed, with_extra):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 5.0)
    return X, rng.random(n) * with_extra, rng


@given(
    st.integers(1, 60),
    st.integers(1, 5),
    st.integers(0, 10_000),
    st.floats(-3, 4),
    st.booleans(),
    st.sampled_from([0.0, 1e-9, 1.0, 1e6, np.inf]),
)
def test_the_radius_solves_its_equation(n, d, seed, power, with_extra, start):
    """From wherever it is sought, and also where objects are copies of each other."""
    X, extra, rng = drawn(n, d, seed, with_extra)
    X[: n // 3] = X[0]
    kappa, t = 10.0**power, np.empty(n)
    c = rng.normal(size=d) if seed % 2 else X[0].copy()
    r2 = ball(X, extra, c, kappa, start, t)
    np.testing.assert_allclose(t, np.square(X - c).sum(axis=1) + extra, rtol=1e-12, atol=1e-12)
    assert np.maximum(0.0, r2 - t).sum() == pytest.approx(kappa, rel=1e-9, abs=1e-11 * t.sum())
    assert r2 == pytest.approx(radius_of(t, kappa), rel=1e-12)


@given(st.integers(5, 60), st.integers(1, 4), st.integers(0, 10_000), st.floats(0, 3), st.booleans())
def test_a_ball_comes_to_rest_at_the_mean_under_its_weights(n, d, seed, power, with_extra):
    X, extra, _ = drawn(n, d, seed, with_extra)
    kappa, t, c = 10.0**power, np.empty(n), X[seed % n].copy()
    r2 = follow(X, extra, c, kappa, 0.0, t, 5_000, 1e-22)
    np.testing.assert_allclose(t, np.square(X - c).sum(axis=1) + extra, rtol=1e-9, atol=1e-9)
    assert r2 == pytest.approx(radius_of(t, kappa), rel=1e-12)
    weights = np.maximum(r2 - t, 0.0) / kappa
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(weights @ X, c, atol=1e-7 * np.sqrt(r2))


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("share", [0.05, 0.5, 3.0])
def test_a_ball_is_where_the_plain_iteration_ends(d, share):
    """One normal cloud: leaps of the compiled form must end where small steps end."""
    X = np.random.default_rng(d).normal(size=(400, d))
    kappa, t, c = share * 400 * d, np.empty(400), X[7].copy()
    follow(X, np.zeros(400), c, kappa, 0.0, t, 5_000, 1e-24)
    # small steps slow down where the density is flat, so that they come near only
    plain = fixed_point(X, np.zeros(400), X[7], kappa, 600)
    np.testing.assert_allclose(c, plain, atol=1e-4)


def sharpness_of(X, c, kappa):
    t = np.empty(len(X))
    r2 = ball(X, np.zeros(len(X)), c, kappa, 0.0, t)
    members = np.flatnonzero(t < r2)
    return sharpness(X, members, c, kappa, int(members[t[members].argmax()])), members


@given(st.integers(10, 80), st.sampled_from([1, 2]), st.integers(0, 10_000), st.floats(0.02, 2.0))
def test_sharpness_is_1_less_the_largest_scatter_on_one_side(n, d, seed, share):
    """No more than the largest over a fine grid of directions, no less than where its steps begin."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    kappa, c, t = share * n * d, X[0].copy(), np.empty(n)
    follow(X, np.zeros(n), c, kappa, 0.0, t, 500, 1e-12)
    found, members = sharpness_of(X, c, kappa)
    turns = np.linspace(0.0, 2.0 * np.pi, 2_000, endpoint=False)
    V = np.array([[1.0], [-1.0]]) if d == 1 else np.column_stack([np.cos(turns), np.sin(turns)])
    along = np.maximum((X[members] - c) @ V.T, 0.0)
    top = 4.0 / kappa * np.square(along).sum(axis=0).max()
    # power steps, which never descend, from the farthest member and its opposite
    ray = X[members[np.square(X[members] - c).sum(axis=1).argmax()]] - c
    ray = ray / max(np.linalg.norm(ray), 1e-300)
    begins = [4.0 / kappa * np.square(np.maximum((X[members] - c) @ v, 0.0)).sum() for v in (ray, -ray)]
    assert 1.0 - found >= max(begins) * (1.0 - 1e-9) - 1e-12
    assert 1.0 - found <= top * (1.0 + 1e-4) + 1e-12  # no more than what some direction has


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_a_flat_density_is_not_sharp(d):
    """Constant density in a ball of radius 1: sum (1 - t) is 2 n / (d + 2), and scatter is 1 for every side.

    Of n objects the second moment of one side has the relative error of a few roots of n.
    """
    rng, n = np.random.default_rng(d), 20_000
    X = rng.normal(size=(n, d))
    X *= rng.random((n, 1)) ** (1.0 / d) / np.linalg.norm(X, axis=1, keepdims=True)
    found, members = sharpness_of(X, np.zeros(d), 2.0 * n / (d + 2))
    assert len(members) > 0.97 * n
    assert abs(found) < 6.0 * np.sqrt(d / n)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_what_is_much_smaller_than_its_ball_is_sharp(d):
    """m objects of deviation s in a ball of squared radius r2: 4 m s² / 2 over kappa = m (r2 - d s²)."""
    X = 0.01 * np.random.default_rng(d).normal(size=(4_000, d))
    found, members = sharpness_of(X, np.zeros(d), 4_000.0 * (1.0 - d * 1e-4))
    assert len(members) == 4_000
    assert 1.0 - found == pytest.approx(2e-4 / (1.0 - d * 1e-4), rel=0.15)
    alike = np.zeros((5, d))
    assert sharpness(alike, np.arange(5), np.zeros(d), 1.0, 0) == 1.0
