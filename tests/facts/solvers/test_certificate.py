"""Second-order conditions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import Matrix, maxima_of
from dominantsets import as_similarity, global_optimum, solve


def test_a_weak_maximum_is_not_called_strict():
    # a path 0 - 1 - 2: weight may move between 0 and 2 freely, both pairs have value 1/2
    A = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    assert solve(A).strict is False
    assert solve(np.array([[0.0, 1.0], [1.0, 0.0]])).strict is True


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_a_block_of_equal_similarities_has_equal_weights(shift):
    """Derived: k objects of similarity a have value (a + shift)(1 - 1/k) in the paper's convention."""
    k, a = 7, 2.0
    A = np.zeros((10, 10))
    A[:k, :k] = a * (1 - np.eye(k))
    A[k:, k:] = 0.1 * (1 - np.eye(10 - k))
    for method in ("pairwise", "away"):
        cluster = solve(A, algorithm=method, shift=shift)
        assert cluster.members.tolist() == list(range(k))
        np.testing.assert_allclose(cluster.weights, 1 / k, atol=1e-9)
        assert cluster.value == pytest.approx((a + shift) * (1 - 1 / k), rel=1e-12)
        assert cluster.strict is True


@pytest.mark.parametrize("unit", [1.0, 0.1, 1e140, 1e-140])
@pytest.mark.parametrize("method", ["pairwise", "away", "working-set", "path-following", "shrink-expand"])
def test_an_outsider_at_the_threshold_proves_nothing(method, unit):
    """A triangle, and an object that is like two of its corners: at equal weights it has f = 2/3 too.

    A solver stops near the maximum, where the margin is of either sign and may exceed the gap, or where the
    outsider still has a tiny weight.
    """
    A = np.zeros((5, 5))
    for i, j in [(0, 1), (0, 2), (1, 2), (3, 0), (3, 1)]:
        A[i, j] = A[j, i] = unit
    for start in ("vertex",) if method == "path-following" else (0, 2, 3, "barycenter"):
        found = solve(A, algorithm=method, start=start)
        assert found.value == pytest.approx(2 / 3 * unit, rel=1e-9)
        assert not found.strict


def test_a_member_whose_weight_is_rounding_proves_nothing():
    """The best point leaves one of four at 0, exactly level with the others."""
    B = np.array([[-2.0, 0.5, 1.0, 2.0], [0.5, -2.0, 0.5, 0.5], [1.0, 0.5, -2.0, 1.0], [2.0, 0.5, 1.0, -2.0]])
    x = np.array([3.0, 0.0, 2.0, 3.0]) / 8.0
    B[1, [0, 2, 3]] = B[[0, 2, 3], 1] = x @ B @ x
    r = B @ x
    np.testing.assert_allclose(r, x @ r)
    near = x + np.array([0.0, 4e-17, 0.0, 0.0])
    for method in ("pairwise", "working-set", "shrink-expand"):
        found = solve(B + 2.0 * np.eye(4), algorithm=method, shift=2.0, start=near)
        assert not found.strict or found.undecided.tolist() == [1]


def test_expansions_end_whatever_the_unit():
    """Products of gains of 1e-281 are 0: a step of 0 was taken again and again."""
    A = np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    for unit in (1.0, 1e-280, 1e100):
        found = solve(unit * A, algorithm="shrink-expand", shift=-0.5 * unit, start=2)
        assert found.status.value == "converged"
        assert found.members.tolist() == [0, 1]


def of_squares(x: np.ndarray, offset: float, shift: float) -> Matrix:
    """The matrix of offset - (x_i - x_j)² with minus the shift on the diagonal, in rationals."""
    rows = [Fraction(float(v)) for v in x]
    return [
        [-Fraction(shift) if i == j else Fraction(offset) - (a - b) ** 2 for j, b in enumerate(rows)]
        for i, a in enumerate(rows)
    ]


def stands_for_one(found, strict) -> bool:
    """Whether a strict maximum has the members of an answer, up to those that it calls undecided."""
    certain = set(found.members.tolist()) - set(found.undecided.tolist())
    possible = set(found.members.tolist()) | set(found.undecided.tolist())
    return any(certain <= set(S) <= possible for S in strict)


def check_claims(found, B: Matrix) -> None:
    """What an answer says about strictness is so in rationals, over all supports."""
    strict, _ = maxima_of(B)
    if found.strict:
        assert stands_for_one(found, strict)
    elif found.strict is False:
        assert tuple(found.members.tolist()) not in strict


def test_evenly_spaced_numbers_have_flat_faces():
    """Five numbers 0.05 apart have J = 1 at kappa = h² m (m² - 1) / 6: the face is flat, up to rounding.

    At kappa a little off, the face has its maximum far outside the simplex, while payoffs are level to 1e-17.
    """
    for first, h, m, shift in ((1.7, 0.05, 5, 0.01), (1.7, 0.1, 6, -0.05)):
        x = first + h * np.arange(m)
        S = as_similarity(x[:, None], "sqeuclidean")
        check_claims(solve(S, shift=shift), of_squares(x, S.offset, shift))


@given(
    st.integers(3, 6),
    st.sampled_from([0.05, 0.1, 0.25, 0.7, 1.0, 3.0]),
    st.sampled_from([0.0, 1.7, -3.3, 1000.1]),
    st.sampled_from([0.0, 1e-15, -1e-15, 1e-12, -1e-9, 1e-6, -1e-3, 0.3]),
    st.integers(2, 6),
)
@settings(max_examples=60, deadline=None)
def test_strict_near_flat_faces(n, h, first, off, m):
    """Kappa is that at which m of n evenly spaced numbers have a flat face, times 1 + off."""
    x = first + h * np.arange(n)
    S = as_similarity(x[:, None], "sqeuclidean")
    shift = h * h * m * (m * m - 1) / 6.0 * (1.0 + off) - S.offset
    check_claims(solve(S, shift=shift), of_squares(x, S.offset, shift))
    check_claims(
        solve(S.toarray(), shift=shift), [[Fraction(float(v)) for v in row] for row in _shifted(S, shift)]
    )


def _shifted(S, shift: float) -> np.ndarray:
    A = S.toarray()
    np.fill_diagonal(A, -shift)
    return A


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=7), st.integers(1, 30), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_strict_of_whole_numbers(values, kappa, more):
    """Thresholds are often hit exactly: outsiders tie with the members."""
    x = np.array(values, dtype=float)
    S = as_similarity(x[:, None], "sqeuclidean", offset=float((x.max() - x.min()) ** 2 + more + 1))
    shift = kappa - S.offset
    check_claims(solve(S, shift=shift), of_squares(x, S.offset, shift))


def test_a_tie_can_be_a_strict_maximum():
    """f is strictly concave for these rows: it has one maximum, at which the last object has the payoff f."""
    x = np.array([-1.0, 0.0, 0.0, 1.0, 2.0])
    S = as_similarity(x[:, None], "sqeuclidean", offset=10.0)
    found = solve(S, shift=4.0)
    assert found.strict is True
    assert found.undecided.tolist() == [4]
    assert list(maxima_of(of_squares(x, 10.0, 4.0))[0]) == [(0, 1, 2, 3)]


def test_a_far_object_does_not_make_everything_proven():
    """Two groups and one object at -1e4, which makes the offset 4e8; the tolerance does not grow with it."""
    rng = np.random.default_rng(0)
    near = np.concatenate([rng.normal(0.0, 0.5, 30), rng.normal(6.0, 0.15, 25)])
    for x in (near, np.append(near, -1e4)):
        S = as_similarity(x[:, None], "sqeuclidean")
        best = global_optimum(S, shift=5.0 - S.offset)
        assert best.proven
        assert best.global_gap <= 1e-4 * best.cluster.unit  # rounding is 1e-16 of the offset, here 1e-7
        assert x[best.cluster.members].min() > 3.0  # the narrow group has the higher value


@given(st.integers(0, 10**6), st.floats(0.1, 1e6), st.sampled_from(["pairwise", "away", "working-set"]))
@settings(max_examples=30, deadline=None)
def test_the_unit_does_not_depend_on_a_constant(seed, constant, method):
    """Adding a constant to all similarities and taking it off the shift is the same problem."""
    rng = np.random.default_rng(seed)
    A = rng.random((8, 8))
    A = np.triu(A, 1) + np.triu(A, 1).T
    one = solve(A, shift=0.5, algorithm=method, start=0)
    moved = A + constant * (1.0 - np.eye(8))
    other = solve(moved, shift=0.5 - constant, algorithm=method, start=0)
    assert other.value == pytest.approx(one.value, abs=1e-12 * constant + 1e-9)
    if np.array_equal(one.members, other.members):
        assert other.unit == pytest.approx(one.unit, rel=1e-6, abs=1e-9 * constant)


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "linear"])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_the_dual_has_a_rate(affinity, shift):
    """After T steps some gap was at most 2 max|u| sqrt(scatter (f_T - f_0) / T): docs/theory-dual.md."""
    rng = np.random.default_rng(1)
    compared = 0
    for n, d in ((30, 2), (200, 3), (400, 8)):
        X = np.abs(rng.normal(size=(n, d))) if affinity == "linear" else rng.normal(size=(n, d))
        S = as_similarity(X, affinity)
        U = S.formula.root * S.rows_of(np.arange(n))
        reach = np.linalg.norm(U, axis=1).max()
        kappa = S.self_similarities(np.arange(n)) + shift
        mean = (U / kappa[:, None]).sum(axis=0) / (1.0 / kappa).sum()
        scatter = np.square(U - U.mean(axis=0)).sum() / kappa.min()
        assert scatter >= np.linalg.eigvalsh(((U - mean) / kappa[:, None]).T @ (U - mean))[-1]
        for start in range(0, n, n // 10):
            trace = solve(S, algorithm="dual", shift=shift, start=start, trace=True).trace
            for t in range(2, len(trace)):
                least = trace.gap[1:t].min()
                bound = 2.0 * reach * np.sqrt(scatter * (trace.value[t - 1] - trace.value[0]) / (t - 1))
                assert least <= bound * (1.0 + 1e-9) + 1e-6
                compared += 1
    assert compared > 50


def test_a_tie_that_only_copositivity_decides():
    """A pair, and two outsiders that have f = 1/2 too and may be alike.

    Weight on both outsiders would gain at second order, weight on one loses: with 3 between them it is no
    maximum, with 0 it is a strict one though f is not concave on all four.
    """
    for between, shift in ((3.0, 0.0), (0.0, 0.0), (0.5, 0.0), (1.5, 0.25)):
        A = np.zeros((4, 4))
        for i, j, value in ((0, 1, 1.0), (0, 2, 0.5), (1, 2, 0.5), (0, 3, 0.5), (1, 3, 0.5), (2, 3, between)):
            A[i, j] = A[j, i] = value
        start = np.array([0.5, 0.5, 0.0, 0.0])
        B = [[Fraction(-shift) if i == j else Fraction(A[i, j]) for j in range(4)] for i in range(4)]
        strict, _ = maxima_of(B)
        found = solve(A, shift=shift, start=start, algorithm="pairwise")
        if shift == 0.0:
            assert found.members.tolist() == [0, 1]
            assert found.strict is ((0, 1) in strict)
        check_claims(found, B)


@given(st.integers(3, 6), st.integers(0, 10**6), st.integers(-1, 3))
@settings(max_examples=60, deadline=None)
def test_strict_of_whole_matrices(n, seed, shift):
    """Ties of small whole numbers are decided, both ways."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.integers(0, 3, (n, n)), 1).astype(float)
    A += A.T
    B = [[Fraction(-shift) if i == j else Fraction(A[i, j]) for j in range(n)] for i in range(n)]
    for start in (0, "barycenter"):
        check_claims(solve(A, shift=float(shift), start=start), B)
