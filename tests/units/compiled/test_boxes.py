"""The parts of a box's bound against their plain forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dominantsets.compiled import boxes


def drawn(n, d, seed, shared=False):
    """Rows, biases, 1 / kappa and a shuffled list of some objects."""
    rng = np.random.default_rng(seed)
    Y, beta = rng.normal(size=(n, d)), rng.normal(size=n)
    inverse = np.array([0.6]) if shared else rng.random(n) + 0.2
    objects = rng.permutation(n)[: max(1, n - 2)].astype(np.int32)
    return Y, beta, inverse, objects, rng


def tau_of(s, share):
    """The root of sum max(0, s - tau) / kappa = 1, by trying every number of objects above it."""
    order = np.argsort(-s)
    s, share = s[order], share[order]
    for k in range(1, s.size + 1):
        tau = (s[:k] @ share[:k] - 1.0) / share[:k].sum()
        if k == s.size or tau >= s[k]:
            return tau
    raise AssertionError


def scatter_of(Y, share):
    off = Y - np.average(Y, axis=0, weights=share)
    return (off * share[:, None]).T @ off


def test_rows_are_moved_and_turned():
    U, bias, _, _, rng = drawn(7, 3, 0)
    centre, axes = rng.normal(size=3), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    Y, beta = np.empty((7, 3)), np.empty(7)
    longest, heaviest = boxes.turn(U, centre, np.ascontiguousarray(axes), bias, Y, beta)
    np.testing.assert_allclose(Y, (U - centre) @ axes, atol=1e-13)
    np.testing.assert_allclose(beta, bias + (U - centre) @ centre, atol=1e-13)
    assert longest == pytest.approx(np.square(U - centre).sum(axis=1).max())
    assert heaviest == pytest.approx(np.abs(beta).max())


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("n", [1, 5, 34, 90])
def test_the_level_and_the_point_of_a_pass(n, shared):
    d = 2
    Y, beta, inverse, objects, rng = drawn(n, d, n, shared)
    p, s, keep = 2.0 * rng.normal(size=d), np.empty(n), np.empty(n, np.int32)
    boxes._values(Y, beta, objects, p, s)
    expected_s = Y[objects] @ p + beta[objects]
    np.testing.assert_allclose(s[: objects.size], expected_s, atol=1e-13)
    share = np.broadcast_to(inverse, n)[objects]
    expected = tau_of(expected_s, share)
    for low in (-np.inf, expected - 0.3):
        tau, count = boxes._tau(s, inverse, objects, low, keep)
        assert tau == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert sorted(keep[:count]) == np.flatnonzero(expected_s > expected).tolist()
    image, mean = np.empty(d), np.empty(d)
    whole, squares = boxes._support(Y, inverse, objects, s, tau, keep, count, image, mean)
    x = np.maximum(expected_s - expected, 0.0) * share
    inside = x > 0.0
    assert whole == pytest.approx(1.0)
    assert squares == pytest.approx(np.sum(x[inside] ** 2 / share[inside]))
    np.testing.assert_allclose(image, x @ Y[objects], atol=1e-12)
    np.testing.assert_allclose(
        mean, np.average(Y[objects][inside], axis=0, weights=share[inside]), atol=1e-12
    )


def test_sums_over_more_than_a_block():
    n = boxes.BLOCK + 3
    Y, _, inverse, _, rng = drawn(n, 1, 3)
    objects, s, image, mean = np.arange(n, dtype=np.int32), rng.random(n), np.empty(1), np.empty(1)
    whole, squares = boxes._support(Y, inverse, objects, s, -1.0, objects, n, image, mean)
    x = (s + 1.0) * inverse
    assert whole == pytest.approx(x.sum())
    assert squares == pytest.approx(np.sum((s + 1.0) * x))
    assert image[0] == pytest.approx(x @ Y[:, 0])
    assert mean[0] == pytest.approx(np.average(Y[:, 0], weights=inverse))


@pytest.mark.parametrize("seed", range(4))
def test_who_is_reached_exceeds_tau_at_a_corner(seed):
    """s - tau is bounded by its value at p plus what the box adds to it, each coordinate at its best."""
    n, d = 30, 2
    Y, beta, _, objects, rng = drawn(n, d, seed)
    p, mean = rng.normal(size=d), rng.normal(size=d)
    below, above = -rng.random(d), rng.random(d)
    s = Y[objects] @ p + beta[objects]
    level, out, part = 0.8, np.empty(n, np.int32), np.empty(n)
    count = boxes._reached(Y, objects, s, level, mean, below, above, out, part, np.zeros(d), np.inf)
    corners = np.array([(a, b) for a in (below[0], above[0]) for b in (below[1], above[1])])
    over = s - level
    most = over + (corners @ (Y[objects] - mean).T).max(axis=0)
    reached = (over > 0.0) | (most > 0.0)
    assert out[:count].tolist() == objects[reached].tolist()
    assert 0 < count < objects.size
    # what is o below tau and may exceed it by e counts as 1 / (1 + 2 o / e)
    expected = np.where(over > 0.0, 1.0, 1.0 / (1.0 + 2.0 * np.maximum(-over, 0.0) / most))[reached]
    np.testing.assert_allclose(part[:count], expected, rtol=1e-12)
    # within a ball around p + middle an object gains no more than its distance from the mean times the radius
    middle, radius = 0.3 * rng.normal(size=d), 0.2
    count = boxes._reached(Y, objects, s, level, mean, below, above, out, part, middle, radius)
    off = Y[objects] - mean
    ball = over + off @ middle + radius * np.linalg.norm(off, axis=1)
    assert out[:count].tolist() == objects[(over > 0.0) | (np.minimum(most, ball) > 0.0)].tolist()


@pytest.mark.parametrize("shared", [False, True])
def test_scatter_whole_and_in_part(shared):
    n, d = 12, 3
    Y, _, inverse, objects, rng = drawn(n, d, 5, shared)
    part = np.where(rng.random(objects.size) < 0.5, 1.0, rng.random(objects.size))
    full, out = np.empty((d, d)), np.empty((d, d))
    boxes.scatter(Y, inverse, objects, part, rng.normal(size=d), full, out)
    share = np.broadcast_to(inverse, n)[objects]
    raised = 1e-9  # by rounding, upwards
    for found, weights in ((full, share), (out, share * part)):
        np.testing.assert_allclose(found, scatter_of(Y[objects], weights), atol=raised)
        assert (np.diag(found) > np.diag(scatter_of(Y[objects], weights))).all()


@pytest.mark.parametrize("d", [1, 2, 4])
def test_a_diagonal_above_a_matrix(d):
    rng = np.random.default_rng(d)
    B = rng.normal(size=(d, d))
    S, out = B @ B.T, np.empty(d)
    boxes.dominating(S, out)
    assert np.linalg.eigvalsh(np.diag(out) - S)[0] > -1e-10
    ratio = out / np.diag(S)
    np.testing.assert_allclose(ratio, ratio[0])  # one factor, and no smaller one would do
    if d == 1:
        assert out[0] == S[0, 0]
    else:
        assert np.linalg.eigvalsh(np.diag(0.999 * out) - S)[0] < 0.0
        boxes.dominating(np.diag([2.0, *[0.0] * (d - 1)]), out)
        np.testing.assert_allclose(out, [2.0, *[0.0] * (d - 1)], atol=1e-9)


def box(seed, d=3):
    rng = np.random.default_rng(seed)
    p, v = rng.normal(size=(2, d))
    spread = rng.choice([0.1, 0.5, 0.9, 1.0, 1.5, 3.0], d)
    low = rng.normal(size=d) - 0.5
    return p, v, spread, low, low + rng.random(d) * 3.0


def gain(w, p, v, r, q=0.0, pull=0.0):
    return (w - p) ** 2 - (w - v) ** 2 / np.maximum(r, boxes.LEAST) - pull * (w - q) ** 2


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("pull", [0.0, 0.4])
def test_the_peak_of_each_coordinate_is_that_of_a_fine_grid(seed, pull):
    p, v, spread, low, high = box(seed)
    q = np.random.default_rng(seed).normal(size=3)
    where, top = np.empty(3), np.empty(3)
    whole = boxes.peaks(p, v, spread, low, high, q, pull, where, top)
    grid = gain(np.linspace(low, high, 20_001), p, v, spread, q, pull)
    np.testing.assert_allclose(top, grid.max(axis=0), rtol=1e-6, atol=1e-7)
    assert (top >= grid.max(axis=0) - 1e-12).all()
    np.testing.assert_allclose(gain(where, p, v, spread, q, pull), top, atol=1e-12)
    assert (low <= where).all()
    assert (where <= high).all()
    assert whole == pytest.approx(top.sum())


@pytest.mark.parametrize("seed", range(12))
def test_a_box_within_a_ball_is_bounded_and_cut(seed):
    rng = np.random.default_rng(seed)
    p, v, spread, low, high = box(seed)
    q, radius = 0.5 * (low + high) + 0.3 * rng.normal(size=3), rng.uniform(0.2, 1.0)
    where, top = np.empty(3), np.empty(3)
    bound, pull = boxes.pulled(p, v, spread, low, high, q, radius, where, top)
    w = q + radius * rng.uniform(-1.0, 1.0, size=(20_000, 3))
    inside = (np.square(w - q).sum(axis=1) <= radius**2) & ((w >= low) & (w <= high)).all(axis=1)
    assert gain(w[inside], p, v, spread).sum(axis=1).max(initial=-np.inf) <= bound + 1e-12
    assert bound <= boxes.peaks(p, v, spread, low, high, q, 0.0, np.empty(3), np.empty(3))
    assert boxes.pulled(p, v, spread, low, high, q, np.inf, where, top) == (
        boxes.peaks(p, v, spread, low, high, q, 0.0, where, top),
        0.0,
    )
    assert 0.0 <= pull <= 2.0
    a, b = low.copy(), high.copy()
    left = boxes.clip(a, b, q, radius)
    assert left or not inside.any()
    if left:
        assert ((w[inside] >= a) & (w[inside] <= b)).all()
    assert not boxes.clip(low.copy(), high.copy(), high + 1.0, 1.7)  # the corner is sqrt(3) away


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("ask", [-3.0, -0.5, -0.05, 0.5])
@pytest.mark.parametrize("pull", [0.0, 0.4])
def test_what_is_cut_off_cannot_reach_what_is_needed(seed, ask, pull):
    p, v, spread, low, high = box(seed)
    q = np.random.default_rng(seed).normal(size=3)
    where, top, hole = np.empty(3), np.empty(3), np.empty((3, 2))
    whole = boxes.peaks(p, v, spread, low, high, q, pull, where, top)
    a, b = low.copy(), high.copy()
    left = boxes.shrink(p, v, spread, top, whole + ask, q, pull, a, b, hole)
    w = np.linspace(low, high, 4_001)
    fits = gain(w, p, v, spread, q, pull) >= top + ask  # with the others at their best
    kept = (w >= a) & (w <= b) & ~((w > hole[:, 0]) & (w < hole[:, 1]))
    bend = 1.0 - 1.0 / np.maximum(spread, boxes.LEAST) - pull
    if left:
        assert (kept | ~fits).all()
        step = (high - low) / 4_000
        for j in range(3):
            if abs(bend[j]) < 1e-9 or not fits[:, j].any():
                continue  # a straight line is not cut
            assert a[j] >= w[fits[:, j], j].min() - 1.01 * step[j]  # and all else is
            assert b[j] <= w[fits[:, j], j].max() + 1.01 * step[j]
            wasted = (kept & ~fits)[:, j].mean()
            assert wasted < 0.002
    else:
        assert not fits.all(axis=0).any()
        assert (~fits.any(axis=0)).any()
    if ask > 0.0:
        assert not fits.any()
        assert not left or (np.abs(bend) < 1e-9).all()  # a straight line is left to others


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_by_the_axes_holds_for_every_point_of_the_box(seed):
    rng = np.random.default_rng(seed)
    p, v, _, low, high = box(seed)
    B = rng.normal(size=(3, 3)) * rng.uniform(0.3, 1.0)
    S = B @ B.T + 0.3 * np.eye(3)
    bound, most = boxes.turned(p, v, S, low, high, p, np.inf)
    assert most == pytest.approx(np.linalg.eigvalsh(S)[-1])
    w = rng.uniform(low, high, size=(2_000, 3))
    f = np.square(w - p).sum(axis=1) - np.einsum("ij,ij->i", w - v, np.linalg.solve(S, (w - v).T).T)
    assert f.max() <= bound + 1e-9
    q = 0.5 * (low + high)
    near = np.square(w - q).sum(axis=1) <= 0.25
    assert f[near].max(initial=-np.inf) <= boxes.turned(p, v, S, low, high, q, 0.5)[0] + 1e-9 <= bound + 2e-9
    # of a diagonal S, whose axes are those of the box, it is the sum of the peaks
    D = np.diag([0.3, 0.9, 2.0])
    expected = boxes.peaks(p, v, np.diag(D).copy(), low, high, p, 0.0, np.empty(3), np.empty(3))
    assert boxes.turned(p, v, D, low, high, p, np.inf)[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_where_to_look_next():
    p, v, S = np.array([0.1, -0.2]), np.array([0.3, 0.4]), np.array([[0.5, 0.1], [0.1, 0.4]])
    low, high, out = np.full(2, -9.0), np.full(2, 9.0), np.empty(2)
    newton = p + np.linalg.solve(np.eye(2) - S, v - p)
    boxes.next_place(p, v, S, np.array([0.6, 0.5]), True, low, high, out)
    np.testing.assert_allclose(out, newton)
    boxes.next_place(p, v, S, np.array([0.6, 0.5]), False, low, high, out)
    np.testing.assert_allclose(out, newton)
    # only where all of it is concave may the place lie outside
    boxes.next_place(p, v, S, np.array([0.6, 0.5]), True, low, newton - 0.2, out)
    np.testing.assert_allclose(out, newton)
    boxes.next_place(p, v, S, np.array([0.6, 0.5]), False, low, newton - 0.2, out)
    np.testing.assert_allclose(out, newton - 0.2)
    boxes.next_place(p, v, S, np.array([0.6, 0.5]), False, newton + 0.2, high, out)
    np.testing.assert_allclose(out, newton + 0.2)
    # one coordinate is not concave: its middle, and Newton's step of the other alone
    boxes.next_place(p, v, S, np.array([1.0, 0.5]), False, low, high + 2.0, out)
    np.testing.assert_allclose(out, [1.0, p[1] + (v[1] - p[1]) / (1.0 - S[1, 1])])
    boxes.next_place(p, v, S, np.array([1.5, 1.5]), False, low, high + 2.0, out)
    np.testing.assert_allclose(out, [1.0, 1.0])


@pytest.mark.parametrize("seed", range(12))
def test_below_0_no_point_of_the_box_is_its_own_image(seed):
    p, v, spread, low, high = box(seed)
    w = np.linspace(low, high, 20_001)

    def largest(v):
        return ((w - p) * (w - v) - (w - v) ** 2 / np.maximum(spread, boxes.LEAST)).max(axis=0).sum()

    found = boxes._no_fixed_point(p, v, spread, low, high, np.zeros(3))
    assert found == pytest.approx(largest(v), rel=1e-6, abs=1e-6)
    # v may be off: no v within the error has a larger one
    error = np.array([0.1, 0.0, 0.3])
    for sign in itertools.product((-1.0, 0.0, 1.0), repeat=3):
        assert largest(v + sign * error) <= boxes._no_fixed_point(p, v, spread, low, high, error) + 1e-9


def point_of(Y, beta, share, w):
    s = Y @ w + beta
    tau = tau_of(s, share)
    return np.maximum(s - tau, 0.0) * share, tau


def fixed_points(Y, beta, share, rng, count):
    """Distinct w = Y'x(w), which is where images move to from wherever they are."""
    ends = []
    for w in rng.normal(size=(count, Y.shape[1])):
        for _ in range(200):
            w = Y.T @ point_of(Y, beta, share, w)[0]
        settled = np.abs(Y.T @ point_of(Y, beta, share, w)[0] - w).max() < 1e-9
        if settled and not any(np.abs(w - other).max() < 1e-6 for other in ends):
            ends.append(w)
    assert ends
    return ends


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kappa", [0.5, 5.0])
def test_a_visit_bounds_every_point_whose_image_is_in_the_box(seed, kappa):
    """f(x) = constant + |Y'x|² + 2 beta'x - kappa |x|² of random x, and of its maxima, in the box."""
    n, d = 14, 2
    Y, beta, _, _, rng = drawn(n, d, seed)
    beta *= 0.2
    inverse, everybody = np.array([1.0 / kappa]), np.arange(n, dtype=np.int32)
    share = np.full(n, 1.0 / kappa)
    longest = float(np.linalg.norm(Y, axis=1).max())
    units = (0.7, longest, float(np.abs(beta).max()), 1e-13)
    spread, full, S = np.empty(d), np.empty((d, d)), np.empty((d, d))
    boxes.scatter(Y, inverse, everybody, np.ones(n), np.zeros(d), full, S)
    boxes.dominating(S, spread)
    ends = fixed_points(Y, beta, share, rng, 8)
    centre = ends[0] + 0.1 if seed % 2 else 0.5 * rng.normal(size=d)
    low, high = centre - 0.4, centre + 0.4
    X = np.vstack([rng.dirichlet(np.full(n, 0.3), 4_000), *[point_of(Y, beta, share, w)[0] for w in ends]])
    W = X @ Y
    F = 0.7 + np.square(W).sum(axis=1) + 2.0 * X @ beta - kappa * np.square(X).sum(axis=1)
    inside = ((low <= W) & (high >= W)).all(axis=1)
    room = np.empty(n), np.empty(n, np.int32), np.empty(n)
    ball = (centre - 0.05, 0.3) if seed % 2 else (centre, np.inf)
    inside &= ball[1] == np.inf  # with little in reach only maxima are bounded, which come below
    for best in (-1e3, F.max() - 1.0):
        a, b = low.copy(), high.copy()
        bound, value, tau, mean, mine, place, _, concave, here, image, inner = boxes.visit(
            Y, beta, inverse, everybody, centre, a, b, spread.copy(), -np.inf, best, units, ball, *room
        )
        here_x, expected_tau = point_of(Y, beta, share, centre)
        assert tau == pytest.approx(expected_tau)
        expected = 0.7 + np.square(Y.T @ here_x).sum() + 2.0 * beta @ here_x - kappa * here_x @ here_x
        assert value == pytest.approx(expected)
        np.testing.assert_allclose(mean, Y[here_x > 0].mean(axis=0))
        np.testing.assert_allclose(image, Y.T @ here_x, atol=1e-12)
        np.testing.assert_allclose(inner, np.diag(scatter_of(Y[here_x > 0], share[here_x > 0])), atol=1e-12)
        better = inside & (best < F)
        assert F[better].max(initial=-np.inf) <= max(bound, best) + 1e-9
        # what is cut off has nothing better, and who is left out is in nothing better
        assert (better <= ((a <= W) & (b >= W)).all(axis=1)).all()
        for w in ends:
            x, _ = point_of(Y, beta, share, w)
            f = 0.7 + w @ w + 2.0 * beta @ x - kappa * x @ x
            near = np.square(w - ball[0]).sum() <= ball[1] ** 2
            if f > best and near and ((w >= low) & (w <= high)).all():
                assert set(np.flatnonzero(x > 1e-9)) <= set(mine)
                assert bound >= f - 1e-9
        if mine.size:
            assert bound > best
            assert (concave | ((a <= place) & (place <= b))).all()
            assert np.linalg.eigvalsh(np.diag(here) - scatter_of(Y[here_x > 0], share[here_x > 0]))[0] > -1e-9


@pytest.mark.parametrize("seed", range(12))
def test_a_survey_finds_every_strict_maximum(seed):
    """EMPTY only where no fixed point w = Y'x(w) is a maximum, SINGLE only where there is one at most."""
    n, d, kappa = 12, 2, [0.8, 3.0, 12.0][seed % 3]
    Y, beta, _, _, rng = drawn(n, d, seed)
    beta *= 0.1
    inverse, everybody = np.array([1.0 / kappa]), np.arange(n, dtype=np.int32)
    share = np.full(n, 1.0 / kappa)
    units = (0.0, float(np.linalg.norm(Y, axis=1).max()), float(np.abs(beta).max()), 1e-13)
    ends = fixed_points(Y, beta, share, rng, 30)
    room = np.empty(n), np.empty(n, np.int32), np.empty(n)
    verdicts = []
    for width in (0.02, 0.3, 3.0):
        for centre in (*ends, *rng.normal(size=(6, d))):
            low, high = centre - width, centre + width
            verdict, tau, mine = boxes.survey(Y, beta, inverse, everybody, centre, low, high, units, *room)
            inside = [w for w in ends if ((w >= low) & (w <= high)).all()]
            assert verdict == boxes.OPEN or len(inside) <= verdict
            assert tau == pytest.approx(point_of(Y, beta, share, centre)[1])
            for w in inside:  # their supports are among those that the box can reach
                assert set(np.flatnonzero(point_of(Y, beta, share, w)[0] > 1e-9)) <= set(mine)
            verdicts.append(verdict)
    assert boxes.EMPTY in verdicts


@pytest.mark.parametrize("d", [1, 2])
def test_a_saddle_is_no_maximum_and_a_concave_box_has_one(d):
    """Four objects at ±1: their middle is its own image, a saddle where their scatter 4 / kappa exceeds 1."""
    Y, beta = np.zeros((4, d)), np.zeros(4)
    Y[:, 0] = [1.0, 1.0, -1.0, -1.0]
    everybody, units = np.arange(4, dtype=np.int32), (0.0, 1.0, 0.0, 1e-15)
    p, room = np.zeros(d), (np.empty(4), np.empty(4, np.int32), np.empty(4))
    verdicts = {}
    for kappa, width in ((3.0, 0.01), (5.0, 0.01), (3.0, 0.9)):
        found = boxes.survey(
            Y, beta, np.array([1.0 / kappa]), everybody, p, p - width, p + width, units, *room
        )
        assert sorted(found[2]) == [0, 1, 2, 3]
        verdicts[kappa, width] = found[0]
    assert verdicts == {(3.0, 0.01): boxes.EMPTY, (5.0, 0.01): boxes.SINGLE, (3.0, 0.9): boxes.OPEN}


@pytest.mark.parametrize("n", [1_000, 100_000])
@pytest.mark.parametrize("kappa", [1e-6, 1.0, 1e4])
def test_weights_sum_to_1_up_to_what_is_budgeted(n, kappa):
    """A visit budgets the measured 1 - sum of the weights, which must stay small next to the terms."""
    rng = np.random.default_rng(n)
    s, inverse = rng.normal(size=n), np.array([1.0 / kappa])
    objects, keep = np.arange(n, dtype=np.int32), np.empty(n, np.int32)
    tau, count = boxes._tau(s, inverse, objects, -np.inf, keep)
    x = np.maximum(s - tau, 0.0).astype(np.longdouble) / np.longdouble(kappa)
    # positive terms that sum to 1, each with the rounding of s and tau; no term grows with |tau| n
    assert abs(float(x.sum()) - 1.0) <= 4.0 * boxes.EPS * (count + np.abs(s).max() * count / kappa)
    Y = rng.normal(size=(n, 1))
    whole, _ = boxes._support(Y, inverse, objects, s, tau, keep, count, np.empty(1), np.empty(1))
    assert abs(whole - float(x.sum())) <= boxes.relative_error(count, 1)
