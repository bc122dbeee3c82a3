"""Sets of at least m members: weights up to 1 / m, with the certificate of that problem."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from capped_maxima import agree, strict_maxima
from dominantsets import Status, as_similarity, solve
from support import features, given_comparisons, press_ctrl_c, random_similarity, vector

KINDS = ("sqeuclidean", "cosine", "linear", "matrix")


def random_problem(rng: np.random.Generator):
    kind = KINDS[rng.integers(4)]
    n = int(rng.integers(3, 40))
    shift = float(rng.exponential(1.0)) + 0.1
    if kind == "matrix":
        return as_similarity(random_similarity(n, int(rng.integers(10**6)))), shift
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    return as_similarity(np.abs(X) + 0.1 if kind == "linear" else X, kind), shift


def best_payoff(r: np.ndarray, m: int) -> float:
    """The largest r'y over weights up to 1 / m, as a linear program."""
    found = linprog(-r, A_eq=np.ones((1, len(r))), b_eq=[1.0], bounds=(0.0, 1.0 / m))
    return float(-found.fun)


def test_every_set_has_as_many_members_as_asked_for():
    rng, converged = np.random.default_rng(0), 0
    for _ in range(300):
        S, shift = random_problem(rng)
        m = int(rng.integers(2, S.n + 1))
        found = solve(S, min_members=m, shift=shift)
        A, n = S.toarray(), S.n
        x = vector(found, n)
        unit = float(np.abs(A).max()) + shift
        assert len(found) >= m
        assert x.max() <= (1.0 + 1e-9) / m
        assert x.sum() == pytest.approx(1.0)
        r = A @ x - shift * x
        f = float(x @ r)
        assert found.value == pytest.approx(f + shift, abs=1e-10 * unit)
        assert found.gap == pytest.approx(max(0.0, best_payoff(r, m) - f), abs=1e-8 * unit)
        if found.status is Status.CONVERGED:
            converged += 1
            # level where weights may move, no less at the cap, no more outside
            free = (x > 1e-9) & (x < (1.0 - 1e-6) / m)
            level = r[free].mean() if free.any() else r[x > 0].min()
            assert np.abs(r[free] - level).max(initial=0.0) <= 1e-5 * unit
            assert r[x == 0].max(initial=-np.inf) <= level + 1e-5 * unit
            assert r[x >= (1.0 - 1e-6) / m].min(initial=np.inf) >= level - 1e-5 * unit
    assert converged >= 280


def test_strict_maxima_have_nothing_better_near_them():
    rng, tried = np.random.default_rng(1), 0
    for _ in range(40):
        S, shift = random_problem(rng)
        m = int(rng.integers(2, S.n + 1))
        found = solve(S, min_members=m, shift=shift)
        if not found.strict:
            continue
        tried += 1
        A, x = S.toarray() - shift * np.eye(S.n), vector(found, S.n)
        for _ in range(50):  # towards random points of the capped simplex, a little
            y = np.zeros(S.n)
            y[rng.choice(S.n, m, replace=False)] = 1.0 / m
            z = x + 1e-3 * (y - x)
            assert z @ A @ z <= x @ A @ x + 1e-12 * np.abs(A).max()
    assert tried > 20


def test_an_object_of_weight_zero_is_no_member():
    """Payoffs are 4/7 at (0, 3/7, 3/7, 1/7), also of object 0, which rounding gave a negative weight."""
    A = np.array([[0.0, 1, 0, 1], [1, 0, 3, 1], [0, 3, 0, 1], [1, 1, 1, 0]])
    found = solve(A, shift=2.0, min_members=2)
    assert (found.weights > 0).all()
    np.testing.assert_allclose(vector(found, 4), [0, 3 / 7, 3 / 7, 1 / 7], atol=1e-12)
    assert found.undecided.tolist() == [0]
    assert found.strict is True  # f is concave on all four: see the next test
    S = as_similarity(np.array([0.0, -1, -2, 0, 0])[:, None], "sqeuclidean", offset=8.0)
    found = solve(S, shift=4.0, min_members=2)
    assert (found.weights > 0).all()
    assert found.strict is True
    assert found.undecided.tolist() == [2]


def test_a_flat_direction_is_not_called_strict():
    """Objects 1 and 2 are copies without a shift: mass may move from one to the other at no loss."""
    A = np.array([[0.0, 1, 1], [1, 0, 0], [1, 0, 0]])
    found = solve(A, min_members=2, start=np.array([0.5, 0.3, 0.2]))
    assert found.strict is not True


@given_comparisons(
    0.8, st.integers(3, 5), st.integers(0, 10_000), st.integers(2, 4), st.sampled_from([0.0, 1e-12, 1e-16])
)
def test_strict_is_so_in_rationals(n, seed, m, noise):
    """Integers have ties and flat faces in plenty; noise makes near-ties of them."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.integers(0, 4, (n, n)) + noise * rng.integers(0, 3, (n, n)), 1)
    A = A + A.T
    shift, m = float(rng.integers(0, 9)) / 2, min(m, n)
    if not A.any():
        return False
    found = solve(A, min_members=m, shift=shift)
    assert len(found) >= m
    if found.strict is None:
        return False
    B = [[Fraction(-shift if i == j else A[i, j]) for j in range(n)] for i in range(n)]
    members, undecided = set(found.members.tolist()), set(found.undecided.tolist())
    supports = [{i for i in range(n) if x[i]} for x in strict_maxima(B, Fraction(1, m))]
    if found.strict:
        assert any(agree(members, undecided, support) for support in supports)
    return found.strict


def test_the_unit_stays_if_a_constant_moves_from_the_shift_to_the_similarities():
    A = random_similarity(9, seed=3)
    moved = A + 2.0 * (1 - np.eye(9))
    one, other = solve(A, shift=5.0, min_members=4), solve(moved, shift=3.0, min_members=4)
    np.testing.assert_allclose(vector(one, 9), vector(other, 9), atol=1e-9)
    assert one.unit == pytest.approx(other.unit)
    assert one.unit == pytest.approx((A.max() + 5.0) * np.square(one.weights).sum())


def test_concave_problems_against_a_general_solver():
    for seed in range(6):
        A = random_similarity(12, seed=seed)
        shift = float(np.linalg.eigvalsh(A)[-1]) + 0.1
        m = 4 + seed
        found = solve(A, min_members=m, shift=shift)
        B = A - shift * np.eye(12)
        other = minimize(
            lambda x, B=B: -x @ B @ x,
            np.full(12, 1 / 12),
            jac=lambda x, B=B: -2 * B @ x,
            bounds=[(0.0, 1.0 / m)] * 12,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1.0},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert found.value - shift == pytest.approx(-other.fun, abs=1e-7)
        assert found.strict


def test_a_cap_that_nobody_reaches_changes_nothing():
    S = as_similarity(features(80, d=2), "sqeuclidean")
    plain = solve(S, shift=10.0)
    m = int(1.0 / plain.weights.max())
    found = solve(S, shift=10.0, min_members=m, start=vector(plain, 80))
    assert found.members.tolist() == plain.members.tolist()
    np.testing.assert_allclose(found.weights, plain.weights, atol=1e-9)
    everybody = solve(S, min_members=80)
    np.testing.assert_allclose(everybody.weights, 1 / 80)


def test_the_same_wherever_the_rows_are():
    X = features(120, d=3)
    da, torch = pytest.importorskip("dask.array"), pytest.importorskip("torch")
    plain = solve(as_similarity(X, "sqeuclidean"), min_members=60)
    for data in (da.from_array(X, chunks=(50, 3)), torch.tensor(X)):
        found = solve(as_similarity(data, "sqeuclidean"), min_members=60)
        assert found.members.tolist() == plain.members.tolist()
        assert found.value == pytest.approx(plain.value, rel=1e-9)


def test_it_can_be_stopped():
    S = as_similarity(features(80, d=2), "sqeuclidean")
    assert solve(S, min_members=30, callback=lambda progress: True).status is Status.STOPPED
    assert solve(S, min_members=30, max_time=0.0).status is Status.TIME_LIMIT
    assert solve(S, min_members=30, callback=press_ctrl_c).status is Status.INTERRUPTED


def test_what_cannot_be_meant():
    A = random_similarity(5)
    with pytest.raises(ValueError, match="min_members=6 is more than the number of objects, which is 5"):
        solve(A, min_members=6)
    with pytest.raises(ValueError, match="min_members must be a whole number"):
        solve(A, min_members=2.5)
    with pytest.raises(ValueError, match="goes with neither seeds"):
        solve(A, min_members=2, seeds=0)
    with pytest.raises(ValueError, match=r"a set of at least m members of a .* at most 300 objects, got 400"):
        solve(random_similarity(400), min_members=2)
