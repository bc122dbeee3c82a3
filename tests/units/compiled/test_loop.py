"""The scalar step against the paper's formulas, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

import reference
from dominantsets import Step
from dominantsets.compiled import loop as _kernels
from support import frozen, given_comparisons, random_similarity

N = 6


def state(seed: int, shift: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, int, int]:
    """A random point, and B, r, f, i, j there."""
    rng = np.random.default_rng(seed)
    A = random_similarity(N, seed)
    x = rng.random(N) * (rng.random(N) < 0.7)
    x[rng.integers(N)] += 0.1
    x /= x.sum()
    B = A - shift * np.eye(N)
    r = B @ x
    support = np.flatnonzero(x)
    return B, x, r, x @ r, int(r.argmax()), int(support[r[support].argmin()])


def along(B: np.ndarray, x: np.ndarray, direction: np.ndarray, largest: float) -> float:
    """The best step size in [0, largest] by comparing the ends and the vertex of the parabola."""
    slope, curve = 2 * direction @ B @ x, direction @ B @ direction
    candidates = [0.0, largest]
    if curve < 0:
        candidates.append(min(largest, max(0.0, -slope / (2 * curve))))
    return max(candidates, key=lambda g: slope * g + curve * g * g)


@given_comparisons(0.8, st.integers(0, 5_000), st.sampled_from([-0.8, -0.3, 0.0, 0.4, 3.0]))
def test_every_rule_takes_the_best_step_of_its_line(seed, shift):
    B, x, r, f, i, j = state(seed, shift)
    if i == j:  # stationary: every member has the largest payoff
        return False
    e = np.eye(N)
    for rule in (_kernels.FW, _kernels.PAIRWISE, _kernels.AWAY):
        c, p, q, _ = _kernels.step(rule, shift, shift, f, r[i], r[j], x[i], x[j], B[i, j])
        new = c * x + p * e[i] - q * e[j]
        if rule == _kernels.PAIRWISE:
            direction, largest = e[i] - e[j], x[j]
        elif rule == _kernels.FW or r[i] - f >= f - r[j]:
            direction, largest = e[i] - x, 1.0
        else:
            direction, largest = x - e[j], x[j] / (1 - x[j])
        best = x + along(B, x, direction, largest) * direction
        np.testing.assert_allclose(new @ B @ new, best @ B @ best, atol=1e-12)
        assert new.min() > -1e-15
        assert new.sum() == pytest.approx(1.0)
    return True


def test_paper_step_sizes_without_a_shift():
    """Equations for gamma^FW, gamma^PFW and gamma^A with numbers chosen by hand."""
    f, r_i, r_j, a_ij = 0.5, 0.8, 0.4, 1.0
    assert _kernels.step(_kernels.FW, 0.0, 0.0, f, r_i, r_j, 0.1, 0.2, a_ij)[:2] == pytest.approx(
        (1 - 0.3 / 1.1, 0.3 / 1.1)
    )
    # (r_i - r_j) / 2a = 0.2 reaches x_j = 0.2: truncated, a drop because x_i > 0
    c, p, q, kind = _kernels.step(_kernels.PAIRWISE, 0.0, 0.0, f, r_i, r_j, 0.1, 0.2, a_ij)
    assert (c, p, q, kind) == (1.0, 0.2, 0.2, Step.DROP)
    assert _kernels.step(_kernels.PAIRWISE, 0.0, 0.0, f, r_i, r_j, 0.0, 0.2, a_ij)[3] == Step.SWAP
    c, p, q, kind = _kernels.step(_kernels.PAIRWISE, 0.0, 0.0, f, r_i, r_j, 0.1, 0.3, a_ij)
    assert (p, q, kind) == (pytest.approx(0.2), pytest.approx(0.2), Step.EXCHANGE)
    # away, because f - r_j = 0.1 > r_i - f = 0.05: gamma = 0.1 / 0.3, below x_j / (1 - x_j)
    c, p, q, kind = _kernels.step(_kernels.AWAY, 0.0, 0.0, 0.5, 0.55, 0.4, 0.1, 0.5, a_ij)
    assert (c, p, q, kind) == (pytest.approx(1 + 1 / 3), 0.0, pytest.approx(1 / 3), Step.RETREAT)
    c, p, q, kind = _kernels.step(_kernels.AWAY, 0.0, 0.0, 0.5, 0.55, 0.4, 0.1, 0.2, a_ij)
    assert (c, q, kind) == (pytest.approx(1.25), pytest.approx(0.25), Step.DROP)
    # 2 r_j - f <= 0: the paper takes the largest away step
    assert _kernels.step(_kernels.AWAY, 0.0, 0.0, 0.5, 0.55, 0.2, 0.1, 0.2, a_ij)[3] == Step.DROP


@pytest.mark.parametrize("shift", [-2.0, -0.5])
def test_where_the_curvature_is_not_negative_the_whole_step_is_taken(shift):
    # pairwise: a_ij + alpha <= 0
    c, p, q, kind = _kernels.step(_kernels.PAIRWISE, shift, shift, 0.5, 0.8, 0.4, 0.1, 0.2, 0.5)
    assert (c, p, q, kind) == (1.0, 0.2, 0.2, Step.DROP)
    # fw: 2 r_i - f + alpha <= 0 or the optimum beyond 1
    r_i, f = 0.4, 0.39
    c, p, q, kind = _kernels.step(_kernels.FW, -2.0, -2.0, f, r_i, 0.1, 0.1, 0.2, 0.5)
    assert (c, p, q, kind) == (0.0, 1.0, 0.0, Step.JUMP)


def walk_of(n: int) -> _kernels.Walk:
    """Nobody has weight yet."""
    return _kernels.Walk(
        y=np.zeros(n),
        fence=np.full(n, np.inf, dtype=np.float32),
        r=np.zeros(n),
        block_max=np.empty(-(-n // _kernels.BLOCK)),
        block_min=np.empty(-(-n // _kernels.BLOCK)),
        members=np.zeros(n, dtype=np.int64),
        place=np.zeros(n, dtype=np.int64),
        numbers=np.array([0.0, 1.0]),
        counters=np.zeros(4, dtype=np.int64),
    )


def test_a_compiled_search_finds_the_lowest_index_of_a_tie():
    n = 1_000
    walk = walk_of(n)
    walk.r[[400, 700]] = 1.0
    walk.r[[300, 299, 950]] = -1.0
    walk.fence[[300, 950, 20]] = -np.inf  # 299 is outside the support
    _kernels.survey(walk)
    assert walk.counters[_kernels.TOP] == 400
    assert walk.counters[_kernels.LOW] == 300


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 65, 255, 256, 257, 300])
def test_a_search_finds_every_place(n):
    """The first, the last, and both sides of every border of strides and blocks."""
    rng = np.random.default_rng(n)
    for k in {0, n - 1, n // 2, *(b + e for b in (32, 64, 256) for e in (-1, 0, 1) if b + e < n)}:
        walk = walk_of(n)
        walk.r[:] = rng.random(n)
        walk.r[k], walk.r[(k + 1) % n] = 2.0, -1.0 if n > 1 else 2.0
        walk.fence[:] = -np.inf
        _kernels.survey(walk)
        assert walk.counters[_kernels.TOP] == k
        assert walk.counters[_kernels.LOW] == (k + 1) % n


def started(B: np.ndarray, x: np.ndarray) -> _kernels.Walk:
    """A walk at x, everything derived from it as the solver does."""
    walk = walk_of(len(B))
    support = np.flatnonzero(x)
    walk.y[:], walk.r[:] = x, B @ x
    walk.fence[support] = -np.inf
    walk.members[: support.size], walk.place[support] = support, np.arange(support.size)
    walk.numbers[0], walk.counters[_kernels.SIZE] = x @ B @ x, support.size
    _kernels.survey(walk)
    return walk


def ascended(rule, alphas, columns, walk, budget, *, slot=None, record=None, floor=0.0, clock=0):
    n, columns = columns.shape[1], frozen(columns)
    slot = np.arange(n) if slot is None else slot
    stamp = np.full(len(columns), -1)
    none = _kernels.Record(np.empty(0), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int8))
    back = _kernels.ascend(
        rule,
        alphas,
        floor,
        budget,
        columns,
        slot,
        stamp,
        clock,
        walk,
        record or none,
    )
    return back, stamp


NAMES = {"fw": _kernels.FW, "pairwise": _kernels.PAIRWISE, "away": _kernels.AWAY}


@pytest.mark.parametrize("rule", NAMES)
@pytest.mark.parametrize("n", [5, 40, 300])
@pytest.mark.parametrize("start", ["vertex", "barycenter", "few"])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_steps_are_those_of_the_papers_pseudocode(rule, n, start, shift):
    """Step by step, and twelve at once: weights, payoffs, value, support, next objects, the record."""
    A = random_similarity(n, n)
    few = np.zeros(n)
    few[[0, n // 2, n - 1]] = [0.2, 0.5, 0.3]
    x = few if start == "few" else getattr(reference, start)(A)
    S, B = reference.shifted(A, shift), A - shift * np.eye(n)
    columns, alphas = A + 7.0 * np.eye(n), np.array([shift])  # nobody reads what stands on a diagonal
    single, many = started(B, x), started(B, x)
    record = _kernels.Record(np.zeros(12), np.zeros(12), np.zeros(12, np.int64), np.zeros(12, np.int8))
    (_, done), stamp = ascended(NAMES[rule], alphas, columns, many, 12, record=record, clock=5)
    assert done > 0
    assert stamp.max() == 5 + done - 1  # the time of the last step
    assert 0 < (stamp >= 0).sum() <= 2 * done
    for k in range(done):
        y = single.y.copy()
        assert record.f[k] == pytest.approx(y @ B @ y, abs=1e-12)
        assert record.gap[k] == pytest.approx((B @ y).max() - y @ B @ y, abs=1e-12)
        assert record.size[k] == np.count_nonzero(y)
        (code, one), _ = ascended(NAMES[rule], alphas, columns, single, 1)
        assert (code, one) == (_kernels.PAUSED, 1)
        # objects may be level, up to rounding: then either is right
        plain = reference.successors(S, rule, y, 1e-9)
        assert min(np.abs(single.y - z).max() for z in plain) < 1e-9
        assert_whole(single, B, rule)
        grown = np.count_nonzero(single.y) - np.count_nonzero(y)
        allowed = {Step.DROP: {-1}, Step.SWAP: {0}}.get(Step(record.kind[k]), {0, 1})
        assert grown in allowed
    np.testing.assert_allclose(many.y, single.y, atol=1e-12)
    assert_whole(many, B, rule)


def assert_whole(walk: _kernels.Walk, B: np.ndarray, rule: str) -> None:
    """Everything that a walk keeps is what its weights say."""
    y = walk.y
    assert y.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(walk.r, B @ y, atol=1e-12)
    assert walk.numbers.tolist() == [pytest.approx(y @ B @ y, abs=1e-12), 1.0]
    support = np.flatnonzero(y)
    size = walk.counters[_kernels.SIZE]
    members = walk.members[:size]
    assert sorted(members) == support.tolist()
    assert walk.place[members].tolist() == list(range(size))
    assert np.flatnonzero(walk.fence < 0).tolist() == support.tolist()
    assert walk.r[walk.counters[_kernels.TOP]] == walk.r.max()
    if rule != "fw":
        assert walk.counters[_kernels.LOW] == support[walk.r[support].argmin()]


@pytest.mark.parametrize("rule", NAMES)
def test_a_column_that_is_not_there_is_asked_for(rule):
    n = 12
    A = random_similarity(n, 3)
    x = reference.barycenter(A)
    walk = started(A, x)
    i, j = walk.counters[:2].copy()
    slot = np.full(n, -1)
    (code, done), _ = ascended(NAMES[rule], np.zeros(1), A[:1].copy(), walk, 5, slot=slot)
    assert (code, done) == (_kernels.WANT_COLUMN, 0)
    wanted = walk.counters[_kernels.WANTED]
    assert wanted in (i, j)
    np.testing.assert_array_equal(walk.y, x)
    if rule == "pairwise":  # both: the worse one next
        slot[i] = 0
        (code, done), _ = ascended(NAMES[rule], np.zeros(1), A[[i]], walk, 5, slot=slot)
        assert (code, done, walk.counters[_kernels.WANTED]) == (_kernels.WANT_COLUMN, 0, j)


@pytest.mark.parametrize("rule", NAMES)
def test_each_object_may_have_a_shift_of_its_own(rule):
    n = 9
    A, alphas = random_similarity(n, 4), np.linspace(0.1, 0.9, n)
    B = A - np.diag(alphas)
    walk = started(B, reference.barycenter(A))
    before = walk.numbers[0]
    ascended(NAMES[rule], alphas, A, walk, 30)
    y = walk.y
    assert y.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(walk.r, B @ y, atol=1e-12)
    assert walk.numbers[0] == pytest.approx(y @ B @ y)
    assert walk.numbers[0] > before


def test_it_comes_back_where_the_gap_is_small():
    A = random_similarity(9, 5)
    walk = started(A, reference.barycenter(A))
    gap = walk.r.max() - walk.numbers[0]
    assert ascended(_kernels.PAIRWISE, np.zeros(1), A, walk, 9, floor=1.01 * gap)[0] == (_kernels.LOOK, 0)
    assert ascended(_kernels.PAIRWISE, np.zeros(1), A, walk, 1, floor=0.99 * gap)[0] == (_kernels.PAUSED, 1)


def test_it_comes_back_where_a_step_would_move_nothing():
    """A difference of payoffs below the rounding of the weights."""
    A = np.array([[0.0, 1.0], [1.0, 0.0]])
    walk = started(A - np.eye(2), np.full(2, 0.5))
    walk.r[0] = 1e-18  # of 0
    walk.counters[:2] = 0, 1
    assert ascended(_kernels.PAIRWISE, np.ones(1), A, walk, 9)[0] == (_kernels.LOOK, 0)


@pytest.mark.parametrize("removed", [None, 2])
def test_the_whole_step_goes_to_one_object_and_leaves_removed_ones_out(removed):
    """Nothing is gained by sharing where the shift is very negative: all weight goes to the best object."""
    A = random_similarity(6, 6)
    B = A + 5.0 * np.eye(6)
    x = reference.barycenter(A)
    walk = started(B, x)
    if removed is not None:
        walk.r[removed] = -np.inf
        _kernels.survey(walk)
    best = int(np.argmax(walk.r))
    (_, done), _ = ascended(_kernels.FW, np.array([-5.0]), A, walk, 1)
    assert done == 1
    assert walk.y.tolist() == np.eye(6)[best].tolist()
    expected = B[best].copy()
    if removed is not None:
        expected[removed] = -np.inf
    np.testing.assert_array_equal(walk.r, expected)
    assert walk.numbers.tolist() == [5.0, 1.0]
    assert (walk.counters[_kernels.SIZE], walk.members[0], walk.place[best]) == (1, best, 0)
    assert np.flatnonzero(walk.fence < 0).tolist() == [best]
    assert walk.counters[_kernels.TOP] == best


@pytest.mark.parametrize("seed", range(6))
def test_exchanges_within_a_block_climb_to_where_none_gains(seed):
    rng = np.random.default_rng(seed)
    n = 7
    B = random_similarity(n, seed) - 0.4 * np.eye(n)
    y, fixed = rng.random(n) * (rng.random(n) < 0.6), rng.random(n)
    y[0] += 0.1
    total, r = y.sum(), B @ y + fixed
    before = y @ B @ y + 2.0 * fixed @ y
    one, r_one = y.copy(), r.copy()
    assert _kernels.exchange(B, one, r_one, 1e-9, 1) <= 1
    steps = _kernels.exchange(B, y, r, 1e-9, 10_000)
    assert steps < 10_000
    assert (y >= 0.0).all()
    assert y.sum() == pytest.approx(total)
    np.testing.assert_allclose(r, B @ y + fixed, atol=1e-9)
    assert r.max() - r[y > 0].min() <= 1e-9
    middle = one @ B @ one + 2.0 * fixed @ one
    assert before <= middle + 1e-12
    assert middle <= y @ B @ y + 2.0 * fixed @ y + 1e-12
    np.testing.assert_allclose(r_one, B @ one + fixed, atol=1e-12)
    assert _kernels.exchange(B, np.zeros(n), r, 0.0, 5) == 0  # nobody has anything to give


def test_one_step_of_the_replicator_dynamics():
    A = random_similarity(8, 8)
    x = np.random.default_rng(8).dirichlet(np.ones(8))
    x[3] = 0.0
    x /= x.sum()
    for lift in (0.0, 0.7):
        B = A - lift * np.eye(8)
        y, r = x.copy(), B @ x
        size, moved = _kernels.replicate(y, r, x @ r, lift)
        S = reference.shifted(A, lift)
        expected = x * (S @ x) / (x @ S @ x)
        np.testing.assert_allclose(y, expected, rtol=1e-12)
        assert size == 7
        assert moved == pytest.approx(np.square(expected - x).sum())
    y, r = x.copy(), A @ x
    _kernels.replicate(y, r, 2.0 * (x @ r), 0.0)  # a value that is off: weights sum to 1 all the same
    np.testing.assert_allclose(y, x * r / (x @ r), rtol=1e-12)
    tiny = np.array([1.0, 1e-289])
    _kernels.replicate(tiny, np.array([1.0, 0.05]), 1.0, 0.0)
    assert tiny.tolist() == [1.0, 0.0]
    kept = np.array([1.0, 1e-288])
    _kernels.replicate(kept, np.array([1.0, 0.05]), 1.0, 0.0)
    assert kept[1] == pytest.approx(5e-290)
