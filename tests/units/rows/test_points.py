"""Points of a sample, in memory and as tensors: what one product says of all of them."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from dominantsets.compiled import modes
from dominantsets.rows.points import Points, Tail

WHERE = ["memory", "tensors"]


def points_of(where, X, extra):
    if where == "memory":
        return Points(X, extra)
    torch = pytest.importorskip("torch")
    from dominantsets.rows.tensor_points import TensorPoints

    return TensorPoints(X, extra, torch.device("cpu"))


@pytest.fixture(autouse=True)
def no_sample_is_small(monkeypatch):
    if importlib.util.find_spec("torch"):
        monkeypatch.setattr("dominantsets.rows.tensor_points.LARGE", {"cuda": 0, "cpu": 0})


def squares_of(X, extra, centres):
    """By differences, which lose no digits."""
    return np.square(X[None] - centres[:, None]).sum(axis=2) + extra


def drawn(n, d, seed, with_extra, far=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + far, rng.random(n) * with_extra, rng


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("with_extra", [False, True])
def test_squares_are_those_of_differences(where, with_extra):
    """Of close points with all digits, of copies 0, and in blocks of one center as well."""
    X, extra, rng = drawn(50, 4, 0, with_extra)
    X[7] = X[3]
    centres = np.vstack([X[[3]], X[[5]] + 1e-7, rng.normal(size=(9, 4))])
    expected = squares_of(X, extra, centres).T
    np.testing.assert_allclose(points_of(where, X, extra).squares(centres), expected, rtol=1e-7)
    if not with_extra:
        assert points_of(where, X, extra).squares(centres)[7, 0] == 0.0


@pytest.mark.parametrize("where", WHERE)
@given(
    n=st.integers(1, 40),
    d=st.integers(1, 5),
    s=st.integers(0, 6),
    seed=st.integers(0, 10_000),
    with_extra=st.booleans(),
    power=st.integers(0, 9),
)
def test_lists_have_everybody_within_reach_and_few_others(where, n, d, s, seed, with_extra, power):
    """Also far from 0, where products have lost most digits."""
    X, extra, rng = drawn(n, d, seed, with_extra, far=10.0**power)
    centres = X[rng.integers(n, size=s)] + 0.1
    t = squares_of(X, extra, centres)
    reach = np.quantile(t, 0.3, axis=1) if s else np.empty(0)
    counts, objects = points_of(where, X, extra).within(centres, reach)
    slack = 1e-14 * (d + 4) * np.square(X).sum(axis=1).max()
    for k, mine in enumerate(np.split(objects, np.cumsum(counts)[:-1]) if s else []):
        assert set(np.flatnonzero(t[k] < reach[k])) <= set(mine.tolist())
        assert (t[k, mine] <= reach[k] + slack).all()
        assert (np.diff(mine) > 0).all()
    some, _ = points_of(where, X, extra).within(centres, reach, most=0.1)
    np.testing.assert_array_equal(some < 0, counts > int(0.1 * n))


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("with_extra", [False, True])
def test_the_nearest_are_those_of_all_distances(where, with_extra):
    X, extra, _ = drawn(80, 12, 0, with_extra)
    t = squares_of(X, extra, X) + extra[:, None]
    np.fill_diagonal(t, -1.0)
    far, who = points_of(where, X, extra).nearest(7)
    np.testing.assert_array_equal(who, np.argsort(t, axis=1, kind="stable")[:, :8])
    np.testing.assert_allclose(far, np.sqrt(np.sort(t, axis=1)[:, 1:8]), rtol=1e-9)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("scale", [1.0, 1e-7])
def test_balls_come_to_rest_where_each_does_alone(where, scale):
    """Each at its own kappa; also where they are small beside their distance from 0."""
    rng = np.random.default_rng(0)
    centres = 5.0 * rng.normal(size=(6, 3))
    X = centres[rng.integers(6, size=300)] + scale * rng.normal(size=(300, 3))
    extra = np.zeros(300)
    starts, kappa = X[rng.choice(300, 9)], scale**2 * 10.0 ** rng.uniform(0.5, 2.5, size=9)
    t = np.empty(300)
    radii = np.array([modes.ball(X, extra, c, k, 0.0, t) for c, k in zip(starts, kappa, strict=True)])
    found, r2 = points_of(where, X, extra).follow(starts, radii, kappa, 500, 1e-16)
    for k in range(9):
        c = starts[k].copy()
        alone = modes.follow(X, extra, c, kappa[k], radii[k], t, 500, 1e-16)
        assert r2[k] == pytest.approx(alone, rel=1e-6)
        np.testing.assert_allclose(found[k], c, atol=1e-4 * np.sqrt(alone))


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("nearest", [False, True])
@given(
    n=st.integers(1, 60),
    k=st.integers(1, 5),
    seed=st.integers(0, 10_000),
    noisy=st.booleans(),
    half=st.sampled_from([np.inf, 1.5]),
)
def test_a_round_of_clouds_is_the_plain_formula(where, nearest, n, k, seed, noisy, half):
    X, extra, rng = drawn(n, 3, seed, True)
    centres, rates = rng.normal(size=(k, 3)), rng.uniform(0.2, 3.0, size=k)
    levels, rest = rng.normal(size=k), np.log(rng.dirichlet(np.ones(k)) + 1e-3)
    behind = rng.normal(size=n) - 2.0 if noisy else np.full(n, -np.inf)
    sums, outside, likelihood = points_of(where, X, extra).expected(
        centres, rates, levels, rest, behind, nearest, Tail.of(half, 3.0)
    )
    t = squares_of(X, extra, centres).T
    z, w = rates * t, np.ones((n, k))
    logs = levels - z
    if half < np.inf:
        logs, w = levels - (half + 1.5) * np.log1p(z / half), (half + 1.5) / (half + z)
    both = logsumexp(np.column_stack([logs + rest, behind]), axis=1)
    parts = np.exp(logs - logsumexp(logs, axis=1)[:, None])
    if nearest:
        parts = np.equal.outer(t.argmin(axis=1), np.arange(k)).astype(float)
    out = np.exp(behind - both)
    parts *= (1.0 - out)[:, None]
    columns = [parts, parts * w * t, parts * z**2, parts * w, parts * (np.log(w) - w) * (half < np.inf)]
    columns = [column.sum(axis=0) for column in columns]
    np.testing.assert_allclose(outside, out, atol=1e-12)
    home, found = points_of(where, X, extra).parts(centres, rates, levels, out, nearest, Tail.of(half, 3.0))
    np.testing.assert_allclose(found.toarray(), parts, atol=1e-12)
    far = t if nearest else -logs
    np.testing.assert_allclose(far[np.arange(n), home], far.min(axis=1))
    away = points_of(where, X, extra).away(centres)
    np.testing.assert_allclose(away, t.min(axis=1), atol=1e-12)
    assert likelihood == pytest.approx(both.sum(), rel=1e-10, abs=1e-9)
    np.testing.assert_allclose(
        sums, np.column_stack([*columns[:3], (parts * w).T @ X, *columns[3:]]), rtol=1e-8, atol=1e-9
    )
