"""Balls: their radius, where they come to rest, and how sharply they stand out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dominantsets.compiled import modes
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


# the levels of the tree, step by step ---------------------------------------------------------------------

LEAST, MEET = 4, 0.3


def sample(seed, n=36, d=2):
    """Three groups of unequal density."""
    rng = np.random.default_rng(seed)
    centres = 4.0 * rng.normal(size=(3, d))
    return centres[rng.integers(3, size=n)] + rng.normal(size=(n, d)) * rng.uniform(0.3, 1.2, size=(n, 1))


def state_of(X, count, with_extra=False):
    """The state before the first level, with the nearest of each object, itself first."""
    n, d = X.shape
    extra = np.linspace(0.0, 0.3, n) * with_extra
    t = np.square(X[:, None] - X).sum(axis=2) + extra + extra[:, None]
    np.fill_diagonal(t, -1.0)
    near = np.ascontiguousarray(np.argsort(t, axis=1, kind="stable")[:, :count])
    squares = np.sort(t, axis=1)[:, 1:LEAST]
    birth = LEAST * squares[:, -1] - squares.sum(axis=1)
    ints = {
        name: np.full(n, -1) for name in ("holder", "first", "joined", "born", "died", "into", "sequence")
    }
    return modes.State(
        X=X, extra=extra, birth=birth, order=np.argsort(birth, kind="stable"), near=near,
        centre=np.zeros((n, d)), radius=np.zeros(n), size=np.zeros(n, np.int64), alive=np.zeros(n, bool),
        counters=np.zeros(2, np.int64), own=np.zeros((n, 1), np.int64), mass=np.zeros((n, 1), np.int64),
        share=np.zeros((n, 1)), sharpness=np.full((n, 1), -np.inf), radii=np.zeros((n, 1)), **ints,
    )  # fmt: skip


def everybody(n):
    return modes.Lists(np.full(n, -1), np.full(n, -1), np.empty(0, np.int64), np.arange(n))


def copied(state):
    return modes.State(*(part.copy() for part in state))


def weights_of(state, a, kappa):
    """What a ball has of each object, not divided by kappa; 0 outside."""
    t = np.square(state.X - state.centre[a]).sum(axis=1) + state.extra
    r2 = radius_of(t, kappa)
    return np.maximum(r2 - t, 0.0), r2


def started(seed, kappa, count=12, with_extra=False):
    state = state_of(sample(seed), count, with_extra)
    modes.start(state, kappa, 0, LEAST, 200, 1e-16)
    return state


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kappa", [0.3, 2.0, 40.0])
@pytest.mark.parametrize("count", [LEAST, 12, 36])
def test_chains_start_where_nobody_near_is_denser(seed, kappa, count):
    state = started(seed, kappa, count)
    plain = copied(state_of(sample(seed), count))
    born = 0
    for i in plain.order:
        if plain.birth[i] > kappa or plain.holder[i] >= 0:
            continue
        denser = [
            j for j in plain.near[i, 1:LEAST] if plain.holder[j] >= 0 and plain.birth[j] < plain.birth[i]
        ]
        if denser:
            plain.holder[i] = plain.holder[denser[0]]  # the nearest of them
            continue
        # among the nearest; where they are all inside, others may be too
        who, t = plain.near[i], np.empty(36)
        c = plain.X[i].copy()
        r2 = follow(plain.X[who], plain.extra[who], c, kappa, 0.0, t[:count], 200, 1e-16)
        if (t[:count] < r2).all():
            who, c = np.arange(36), plain.X[i].copy()
            r2 = follow(plain.X, plain.extra, c, kappa, 0.0, t, 200, 1e-16)
        assert state.radius[born] == pytest.approx(r2, rel=1e-9)
        np.testing.assert_allclose(state.centre[born], c, rtol=1e-9)
        inside = np.zeros(36, bool)
        inside[who[t[: who.size] < r2]] = True
        inside &= plain.holder < 0
        inside[i] = True
        plain.holder[inside] = born
        born += 1
    assert born == state.counters[modes.CHAINS]
    assert (state.counters[modes.CHAINS] > 0) == (plain.birth <= kappa).any()
    np.testing.assert_array_equal(state.holder, plain.holder)
    np.testing.assert_array_equal(state.first, state.holder)
    np.testing.assert_array_equal(state.joined, np.where(state.holder >= 0, 0, -1))
    np.testing.assert_array_equal(
        state.size[:born], np.bincount(state.holder[state.holder >= 0], minlength=born)
    )
    assert state.alive[:born].all()
    assert (state.born[:born] == 0).all()
    assert not state.alive[born:].any()


@pytest.mark.parametrize("seed", range(4))
def test_those_that_nobody_holds_join_the_ball_with_most_weight_on_them(seed):
    state = started(seed, 0.5, with_extra=True)
    before, chains, kappa = copied(state), np.flatnonzero(state.alive), 12.0
    modes.join(state, chains, everybody(36), kappa, 7)
    weights = np.array([weights_of(before, a, kappa)[0] for a in chains])
    best = weights.argmax(axis=0)
    joins = (before.holder < 0) & (weights.max(axis=0) > 0.0)
    expected = np.where(joins, chains[best], before.holder)
    assert joins.any()
    np.testing.assert_array_equal(state.holder, expected)
    np.testing.assert_array_equal(state.joined, np.where(joins, 7, before.joined))
    np.testing.assert_array_equal(state.size, before.size + np.bincount(expected[joins], minlength=36))
    # among listed objects only
    state = copied(before)
    lists = everybody(36)
    some = np.flatnonzero(joins)[:1]
    lists.begin[chains], lists.end[chains] = 0, 1
    modes.join(state, chains, lists._replace(objects=some), kappa, 7)
    assert (np.flatnonzero(state.holder != before.holder) == some).all()


def settled(before, chains, kappa, level=0):
    """The plain form: notes of every ball, and who dies into whom."""
    state = copied(before)
    for a in chains:
        weights, r2 = weights_of(state, a, kappa)
        held = state.holder >= 0
        on = np.bincount(state.holder[held], weights[held], minlength=state.size.size) / weights.sum()
        own, mass = np.count_nonzero((weights > 0) & (state.holder == a)), np.count_nonzero(weights)
        state.own[a, level], state.mass[a, level] = own, mass
        state.share[a, level], state.radii[a, level] = on[a], r2
        state.sharpness[a, level] = np.inf if own >= LEAST and on[a] >= 0.5 else -np.inf

        def above(b, a=a):  # larger, or as large and older
            return state.alive[b] and (state.size[b], -b) > (state.size[a], -a)

        leaning = [b for b in chains if on[b] > on[a] and above(b)]
        h2 = kappa / (mass * r2)
        reach = MEET * r2 * h2 / (2.0 * (1.0 + h2))
        gaps = np.square(state.centre - state.centre[a]).sum(axis=1)
        met = [b for b in chains if gaps[b] < reach and above(b)]
        if not (leaning or met):
            continue
        to = max(leaning, key=lambda b: on[b]) if leaning else max(met, key=lambda b: state.size[b])
        state.alive[a], state.died[a], state.into[a] = False, level, to
        state.sequence[a] = state.counters[modes.DEATHS]
        state.counters[modes.DEATHS] += 1
        state.size[to] += state.size[a]
        state.holder[state.holder == a] = to
    return state


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kappa", [0.5, 8.0, 100.0, 3_000.0])
@pytest.mark.parametrize("d", [2, 20])
def test_balls_that_lean_on_others_or_have_met_them_die(seed, kappa, d):
    """A level after they started, followed to a larger kappa; d above the 16 that are looked at at once."""
    state = state_of(sample(seed, d=d), 12)
    modes.start(state, np.quantile(state.birth, 0.6), 0, LEAST, 200, 1e-16)
    chains = np.flatnonzero(state.alive)
    t = np.empty(36)
    for a in chains:
        state.radius[a] = follow(state.X, state.extra, state.centre[a], kappa * d, 0.0, t, 300, 1e-16)
    by_size = chains[np.argsort(state.size[chains], kind="stable")]
    expected = settled(state, by_size, kappa * d)
    leanings = modes.lean(state, by_size, everybody(36), kappa * d, 0)
    modes.settle(state, by_size, leanings, kappa * d, 0, LEAST, MEET)
    for name, found, plain in zip(modes.State._fields, state, expected, strict=True):
        np.testing.assert_allclose(found, plain, rtol=1e-9, atol=1e-12, err_msg=name)
    # then those that can be groups are asked how sharp they are
    marked = np.flatnonzero(np.isposinf(state.sharpness[:, 0]))
    before = state.sharpness.copy()
    modes.sharpen(state, chains, everybody(36), kappa * d, 0)
    for a in range(36):
        if a not in marked:
            assert state.sharpness[a, 0] == before[a, 0]
            continue
        weights, _ = weights_of(state, a, kappa * d)
        members = np.flatnonzero(weights)
        farthest = members[weights[members].argmin()]
        assert state.sharpness[a, 0] == pytest.approx(
            sharpness(state.X, members, state.centre[a], kappa * d, int(farthest))
        )


@pytest.mark.parametrize("near", [0.98, 1.02])
def test_two_balls_have_met_where_their_centres_are_nearer_than_the_width_of_a_top(near):
    """In squares, meet r2 h2 / (2 (1 + h2)), h2 = kappa / (count r2): the smaller one dies then."""
    state, kappa = state_of(sample(0), 12), 50.0
    state.alive[:2], state.size[:2], state.counters[modes.CHAINS] = True, [30, 40], 2
    state.holder[:30], state.holder[30:] = 0, 1  # the smaller holds most of what both have
    state.centre[0] = state.X.mean(axis=0)
    weights, r2 = weights_of(state, 0, kappa)
    h2 = kappa / (np.count_nonzero(weights) * r2)
    state.centre[1] = state.centre[0] + [np.sqrt(near * MEET * r2 * h2 / (2.0 * (1.0 + h2))), 0.0]
    assert weights[:30].sum() > weights[30:].sum()
    chains = np.array([0, 1])
    modes.settle(state, chains, modes.lean(state, chains, everybody(36), kappa, 0), kappa, 0, LEAST, MEET)
    assert state.alive[:2].tolist() == [near > 1.0, True]
    assert state.into[0] == (1 if near < 1.0 else -1)
    assert state.size[1] == (70 if near < 1.0 else 40)


def test_who_outranks_whom():
    state = state_of(sample(0), 12)
    state.size[:4], state.alive[:3] = [3, 5, 3, 9], True
    assert modes.outranks(state.alive, state.size, 1, 0)
    assert not modes.outranks(state.alive, state.size, 0, 1)
    assert modes.outranks(state.alive, state.size, 0, 2)  # as large, and older
    assert not modes.outranks(state.alive, state.size, 2, 0)
    assert not modes.outranks(state.alive, state.size, 3, 0)  # dead
    assert not modes.outranks(state.alive, state.size, 1, 1)


def test_objects_within_a_cut_are_counted_and_listed():
    rng = np.random.default_rng(0)
    products, lengths, cut = rng.normal(size=(4, 9)), rng.normal(size=9), np.array([0.0, 1.0, -9.0, 9.0])
    below = lengths - 2.0 * products < cut[:, None]
    counts = np.empty(4, np.int64)
    modes.count_within(products, lengths, cut, counts)
    assert counts.tolist() == below.sum(axis=1).tolist()
    begin = np.cumsum(counts) - counts
    begin[1] = -1  # left out
    objects = np.full(counts.sum(), -1)
    modes.list_within(products, lengths, cut, begin, objects)
    for k in range(4):
        if k == 1:
            assert (objects[counts[0] : counts[:2].sum()] == -1).all()
        else:
            assert objects[begin[k] : begin[k] + counts[k]].tolist() == np.flatnonzero(below[k]).tolist()
    lists = modes.Lists(np.array([2, -1]), np.array([4, -1]), np.arange(10, 16), np.arange(3))
    assert modes.near(lists, 0).tolist() == [12, 13]
    assert modes.near(lists, 1).tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("reach", ["few", "all"])
def test_some_balls_are_followed_to_where_each_comes_to_rest_alone(seed, reach):
    """Among listed objects near them, and among all where a ball has moved farther than these reach."""
    X = sample(seed)
    extra, t = np.zeros(36), np.empty(36)
    kappa = np.full(36, 6.0)
    centres, radii = X.copy(), np.full(36, 1e-3 if reach == "few" else 5.0)
    chosen = np.array([1, 5, 30])
    modes.follow_some(X, extra, centres, radii, chosen, everybody(36), kappa, 500, 1e-20)
    for a in range(36):
        if a not in chosen:
            assert (centres[a] == X[a]).all()
            continue
        c = X[a].copy()
        r2 = follow(X, extra, c, 6.0, 0.0, t, 500, 1e-20)
        assert radii[a] == pytest.approx(r2, rel=1e-6)
        np.testing.assert_allclose(centres[a], c, atol=1e-5)
