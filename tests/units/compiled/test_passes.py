"""The passes of the dual and Newton's steps against their plain forms."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets.compiled import passes
from support import frozen

NONE, NOBODY = np.empty(0), np.empty(0, dtype=bool)


def tau_of(s, inverse, unit=1.0):
    """The root of sum max(0, s - tau) / kappa = unit, by trying every number of objects above it."""
    order = np.argsort(-s)
    s, inverse = s[order], np.broadcast_to(inverse, s.shape)[order]
    for k in range(1, s.size + 1):
        tau = (s[:k] @ inverse[:k] - unit) / inverse[:k].sum()
        if k == s.size or tau >= s[k]:
            return tau
    raise AssertionError


@pytest.mark.parametrize("count", range(10))
def test_sums_and_products_of_rows(count):
    rng = np.random.default_rng(count)
    A, weights, w = frozen(rng.normal(size=(12, 5))), rng.normal(size=count), rng.normal(size=5)
    rows, out = rng.permutation(12)[:count], np.ones(5)
    passes.add_rows(A, rows, weights, out)
    np.testing.assert_allclose(out, 1.0 + weights @ A[rows], atol=1e-13)
    products = np.empty(count)
    passes.dot_rows(frozen(A[:count]), w, products)
    np.testing.assert_allclose(products, A[:count] @ w, atol=1e-13)


@pytest.mark.parametrize("with_scale", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("added", [0.0, 0.7])
def test_products_become_s(with_scale, with_bias, added):
    rng = np.random.default_rng(0)
    s, scale, bias = rng.normal(size=(3, 8))
    form = passes.Affine(2.0, 0.3, scale if with_scale else NONE, bias if with_bias else NONE, 1.5, added)
    expected = 2.0 * (s - 0.3) * (scale if with_scale else 1.0) + (1.5 * bias if with_bias else 0.0) + added
    alive = np.arange(8) != 4
    for mask in (NOBODY, alive):
        out = s.copy()
        passes.transform(out, form, mask, 2, 6)
        np.testing.assert_allclose(out[2:6], np.where(alive[2:6] | (mask.size == 0), expected[2:6], -np.inf))
        assert (out[:2] == s[:2]).all()
        assert (out[6:] == s[6:]).all()  # a part of them only
    plain = passes.Affine(2.0, 0.3, NONE, NONE)
    assert (plain.times, plain.added) == (1.0, 0.0)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 100])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("unit", [1.0, 0.2])
def test_tau_is_where_weights_sum_to_the_unit(n, shared, unit):
    rng = np.random.default_rng(n)
    s = 3.0 * rng.normal(size=n)
    inverse = np.array([0.4]) if shared else rng.random(n) + 0.1
    expected = tau_of(s, inverse, unit)
    members = np.flatnonzero(s > expected)
    for guess in (np.empty(0, np.int64), members, np.arange(n), np.array([n - 1])):
        low = passes.level(s, inverse, guess, unit)
        share = np.broadcast_to(inverse, n)[guess]
        if guess.size:
            assert low == pytest.approx((s[guess] @ share - unit) / share.sum(), rel=1e-12, abs=1e-12)
        else:
            assert low == -np.inf
        assert low <= expected + 1e-12  # a bound, whoever is guessed
        keep = np.full(n, -1)
        # in two parts, as threads do; the second writes from its own place on
        cut = n // 2
        first = passes.sweep(s, inverse, low - 1e-9, 0, cut, keep, unit)
        second = passes.sweep(s, inverse, low - 1e-9, cut, n, keep, unit)
        found = np.concatenate([keep[:first], keep[cut : cut + second]])
        assert set(members) <= set(found)
        assert (np.diff(found) > 0).all()
        keep[: found.size] = found
        tau, count = passes.narrow(s, inverse, keep, found.size, unit)
        assert tau == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert keep[:count].tolist() == members.tolist()


def test_a_sweep_forgets_what_its_own_objects_have_outbid():
    """After 32 candidates the bound is that of those: later ones below it are left out."""
    s = np.concatenate([np.full(32, 5.0), np.full(40, 1.0)])
    keep = np.empty(72, np.int64)
    assert passes.sweep(s, np.ones(1), -np.inf, 0, 72, keep) == 32
    assert passes.sweep(s[::-1].copy(), np.ones(1), -np.inf, 0, 72, keep) == 72


def test_where_nobody_exceeds_tau_those_on_top_are_members():
    s = np.array([1.0, 7.0, 7.0, 3.0])
    keep = np.arange(4)
    # 1 / kappa is so large that s - tau is below the rounding of s
    tau, count = passes.narrow(s, np.array([1e30]), keep, 4)
    assert (tau, keep[:count].tolist()) == (7.0, [1, 2])
    tau, count = passes.narrow(s, np.array([1.0]), keep, 0)  # a bound by rounding above all
    assert keep[:count].tolist() == [1]
    assert tau == 6.0


def drawn(n, d, seed, scaled, biased):
    rng = np.random.default_rng(seed)
    X, center = rng.normal(size=(n, d)) + 2.0, rng.normal(size=d)
    scale, bias = (rng.random(n) + 0.5 if scaled else NONE), (rng.normal(size=n) if biased else NONE)
    form = passes.Affine(1.5, 0.0, scale, bias, 0.5, 0.0)
    U = 1.5 * (X - center) * (scale[:, None] if scaled else 1.0)
    lean = 0.5 * bias if biased else np.zeros(n)
    return frozen(X), center, form, U, lean, rng


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_a_pass_is_its_plain_form(scaled, biased, shared):
    n, d = 17, 3
    X, center, form, U, lean, rng = drawn(n, d, 1, scaled, biased)
    inverse = np.array([0.3]) if shared else rng.random(n) + 0.1
    alive = np.arange(n) % 5 != 0
    w = rng.normal(size=d)
    tau, members, weights, image, f = passes.small_pass(
        X, w, form, center, inverse, alive, np.array([1, 2]), np.empty(n, np.int64)
    )
    s = np.where(alive, U @ w + lean, -np.inf)
    share = np.broadcast_to(inverse, n)
    expected = tau_of(s[alive], share[alive])
    x = np.maximum(s - expected, 0.0) * share
    assert tau == pytest.approx(expected)
    np.testing.assert_allclose(weights, x[members], rtol=1e-9)
    assert members.tolist() == np.flatnonzero(x).tolist()
    np.testing.assert_allclose(image, U.T @ x, atol=1e-12)
    value = (U.T @ x) @ (U.T @ x) - np.sum(x[members] ** 2 / share[members]) + 2.0 * lean @ x
    assert f == pytest.approx(value, rel=1e-10)


def test_a_pass_of_rows_so_alike_that_kappa_is_lost_shares_as_one_over_kappa():
    X, inverse = frozen(np.full((4, 2), 3.0)), np.array([1e30, 2e30, 1e30, 4e30])
    form = passes.Affine(1.0, 0.0, NONE, NONE)
    _, members, weights, image, f = passes.small_pass(
        X, np.ones(2), form, np.zeros(2), inverse, NOBODY, np.empty(0, np.int64), np.empty(4, np.int64)
    )
    assert members.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(weights, inverse / inverse.sum())
    np.testing.assert_allclose(image, [3.0, 3.0])
    assert f == pytest.approx(18.0)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("count", [1, 127, 128, 129])
def test_moments_and_the_scatter_about_the_mean(scaled, count):
    n, d = 130, 2
    X, center, form, U, _, rng = drawn(n, d, count, scaled, False)
    members, about, inverse = rng.permutation(n)[:count], rng.normal(size=d), rng.random(n) + 0.1
    first, second = np.zeros(d), np.zeros((d, d))
    mass = passes.moments(X, members, form, center, about, inverse, first, second)
    share, off = inverse[members], U[members] - about
    assert mass == pytest.approx(share.sum())
    np.testing.assert_allclose(first, share @ off, atol=1e-10)
    np.testing.assert_allclose(second, (off * share[:, None]).T @ off, atol=1e-10)
    passes.centred(mass, first, second)
    off = U[members] - np.average(U[members], axis=0, weights=share)
    np.testing.assert_allclose(second, (off * share[:, None]).T @ off, atol=1e-9)


def symmetric(d, seed, largest):
    """A matrix whose largest eigenvalue is known."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return np.ascontiguousarray(Q @ np.diag(np.linspace(0.1, largest, d)) @ Q.T), rng


@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("largest", [0.3, 0.6, 0.9, 0.999, 1.0 - 1e-7, 1.0, 1.0 + 1e-7, 1.5])
def test_room_is_at_most_the_distance_of_eigenvalues_from_1(d, largest):
    J, _ = symmetric(d, d, largest)
    slack = 1e-13
    room = passes.room(J, slack)
    if largest == 1.0:
        assert room == 0.0
    elif largest > 1.0:
        assert room == -1.0
    else:
        assert 0.0 < room < 1.0 - largest
        assert room == max(one for one in passes.ROOMS if one < 1.0 - largest - slack)


@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("radius", [1e-3, 0.5, 1e3])
def test_newtons_step_is_the_best_of_its_ball(d, radius):
    J, rng = symmetric(d, d, 0.9)
    g = rng.normal(size=d)
    step, convex = passes.newton(J, g, radius)
    assert convex
    H = np.eye(d) - J
    free = np.linalg.solve(H, g)
    length = np.linalg.norm(step)
    assert length <= radius * (1.0 + 1e-12)
    if np.linalg.norm(free) <= radius:
        np.testing.assert_allclose(step, free, rtol=1e-9)
        return
    assert length >= 0.98 * radius
    # on the edge H step + raised step = g, and raised is not negative; it may have been shortened by 1 %
    raised = (g - H @ step) @ step / (step @ step)
    assert raised > 0.0
    np.testing.assert_allclose(H @ step + raised * step, g, atol=0.03 * np.linalg.norm(g))
    assert not passes.newton(J, np.zeros(d), radius)[0].any()


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("radius", [1e-2, 0.5, 1e4])
def test_where_it_is_not_definite_the_step_goes_by_the_size_of_eigenvalues(d, radius):
    J, rng = symmetric(d, 7, 1.6)
    g = rng.normal(size=d)
    step, convex = passes.newton(J, g, radius)
    assert not convex
    np.testing.assert_array_equal(step, passes.bent(J, g, radius))
    values, vectors = np.linalg.eigh(J)
    size = vectors @ np.diag(np.abs(1.0 - values)) @ vectors.T
    free = np.linalg.solve(size, g)
    assert step @ g > 0.0
    if np.linalg.norm(free) <= radius:
        np.testing.assert_allclose(step, free, rtol=1e-9)
        return
    assert 0.5 * radius <= np.linalg.norm(step) <= radius
    raised = (g - size @ step) @ step / (step @ step)
    np.testing.assert_allclose(size @ step + raised * step, g, rtol=1e-6)


def test_which_steps_are_accepted():
    f, length, rounding, scatter = 1.0, 0.5, 1e-3, 100.0

    def judged(new_f, new_length, stride=0.1, radius=1.0, stretch=1.0):
        return passes.accept_step(f, length, new_f, new_length, rounding, scatter, stride, radius, stretch)

    assert judged(1.1, 0.9)[0]  # higher
    assert judged(1.0085, 0.9)[0]  # by more than 0.9² / 100
    assert not judged(1.0080, 0.9)[0]  # the safe step gains as much: it is not sure that this one did
    assert judged(1.0005, 0.2)[0]  # level, and nearer to rest
    assert judged(0.9995, 0.2)[0]
    assert not judged(0.9995, 0.4)[0]
    assert not judged(1.0005, 0.6)[0]
    assert not judged(0.99, 0.1)[0]
    assert judged(0.99, 0.1) == (False, 0.025, 1.0)  # a quarter of what was too long
    assert judged(1.1, 0.4, stride=0.5)[1] == 1.0
    assert judged(1.1, 0.4, stride=0.95)[1] == pytest.approx(3.8)
    assert judged(1.1, 0.4, stretch=1.0)[2] == 2.0
    assert judged(1.1, 0.4, stretch=3.0)[2] == 6.0
    assert judged(1.1, 0.4, stretch=7.0)[2] == passes.STRETCH
    assert judged(1.1, 0.2, stretch=4.0)[2] == 1.0  # it closes in


def test_many_steps_are_judged_each_by_itself():
    f, length = np.ones(5), np.full(5, 0.5)
    new_f = np.array([1.1, 0.9, 0.9, 1.0, 1.0])
    new_length = np.array([0.6, 0.6, 0.6, 0.5, 0.4])
    rounding, stride = np.full(5, 1e-3), np.full(5, 0.1)
    radius, stretch, stale = np.ones(5), np.ones(5), np.full(5, 2)
    refused = np.array([False, False, True, True, False])
    moved = np.zeros(5, dtype=bool)
    scatter, records = np.full(5, 1e3), np.column_stack([f, length])
    passes.accept_steps(
        f,
        length,
        new_f,
        new_length,
        rounding,
        scatter,
        stride,
        radius,
        stretch,
        stale,
        records,
        refused,
        moved,
    )
    assert records.tolist() == [[1.1, 0.5], [1.0, 0.5], [1.0, 0.5], [1.0, 0.5], [1.0, 0.4]]
    assert moved.tolist() == [True, False, True, True, True]  # a safe step always
    assert refused.tolist() == [False, True, False, False, False]
    assert radius.tolist() == [1.0, 0.025, 1.0, 1.0, 1.0]
    assert stretch.tolist() == [2.0, 1.0, 1.0, 1.0, 2.0]
    assert stale.tolist() == [0, 2, 3, 3, 0]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shift", [2.0, 20.0])
def test_a_climb_ends_where_w_is_the_image_of_its_own_weights(seed, shift):
    n, d = 25, 2
    rng = np.random.default_rng(seed)
    X = frozen(rng.normal(size=(n, d)))
    center, form = X.mean(axis=0), passes.Affine(1.0, 0.0, NONE, NONE)
    U = X - center
    inverse, keep = np.array([1.0 / shift]), np.empty(n, np.int64)
    reach, offset = float(np.linalg.norm(U, axis=1).max()), 3.0
    w = U[seed].copy()
    first = passes.small_pass(X, w, form, center, inverse, NOBODY, np.empty(0, np.int64), keep)
    point = (w, *first[:4], first[4] + offset)
    rows = np.zeros((60, 4))

    def climb(budget, tol=1e-10):
        return passes.small_climb(
            X,
            form,
            center,
            inverse,
            NOBODY,
            offset,
            shift,
            reach,
            float(np.square(U).sum()) / shift,
            tol,
            budget,
            1.0,
            1.0,
            0,
            np.array([-np.inf, np.inf]),
            point,
            keep,
            rows,
        )

    done, steps, _, _, stale, (w, tau, members, weights, image, f) = climb(200)
    assert steps <= done <= 2 * steps
    if members.size < d:  # which it leaves to others
        return
    x = np.zeros(n)
    x[members] = weights
    assert x.sum() == pytest.approx(1.0)
    assert f == pytest.approx(offset + (U.T @ x) @ (U.T @ x) - shift * x @ x, rel=1e-9)
    np.testing.assert_allclose(image, U.T @ x, atol=1e-9)
    np.testing.assert_allclose(image, w, atol=1e-6)
    s = U @ w
    np.testing.assert_allclose(x, np.maximum(s - tau, 0.0) / shift, atol=1e-6)
    assert stale < passes.PATIENCE
    trace = rows[:steps]
    assert (np.diff(trace[:, 0]) >= -1e-9).all()  # never down
    assert set(trace[:, 3]) <= {passes.SAFE, passes.NEWTON}
    assert (trace[:, 1] > 0.0).all()
    if steps:
        gap = 2.0 * reach * np.linalg.norm(first[3] - point[0])
        assert trace[0, :3].tolist() == [point[5], pytest.approx(gap), first[1].size]
        assert (trace[:, 2] >= d).all()
    if steps > 1:
        assert climb(1)[1] == 1
        assert climb(200, tol=1e6)[:2] == (0, 0)  # within tolerance at once
