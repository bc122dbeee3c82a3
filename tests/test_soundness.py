"""What a certificate claims, against exact arithmetic; hypothesis searches for the worst of it.

``benchmarks/soundness.py`` asks the same of 100,000 problems, with every affinity, scale and solver. Its
degenerate problems are asked here too, some of each kind.
"""

from __future__ import annotations

import sys
from collections import Counter
from fractions import Fraction
from importlib import import_module
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

import brute_force
from dominantsets import DominantSet, Status, as_similarity, solve
from support import given_comparisons

EPS = float(np.finfo(np.float64).eps)
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SOLVERS = ("pairwise", "away", "working-set", "shrink-expand", "path-following", "inimdyn")
entries = st.one_of(
    st.integers(0, 4).map(float), st.floats(0.0, 1.0), st.sampled_from([0.1, 1 / 3, 1e-9, 1e9])
)


@st.composite
def matrices(draw: st.DrawFn, most: int = 6) -> np.ndarray:
    """A symmetric similarity with a zero diagonal, in which numbers of all sizes and ties occur."""
    n = draw(st.integers(2, most))
    upper = draw(st.lists(entries, min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2))
    A = np.zeros((n, n))
    A[np.triu_indices(n, 1)] = upper
    A += A.T
    if not A.any():
        A[0, 1] = A[1, 0] = 1.0
    return A


def exactly(A: np.ndarray, found: DominantSet) -> tuple[Fraction, Fraction, Fraction | None]:
    """f, gap and margin in rationals, from the weights alone."""
    x = {int(i): Fraction(float(w)) for i, w in zip(found.members, found.weights, strict=True)}
    shift = Fraction(found.shift)
    r = [sum((Fraction(float(A[i, j])) * w for j, w in x.items()), -shift * x.get(i, Fraction(0)))
         for i in range(len(A))]  # fmt: skip
    f = sum((r[i] * w for i, w in x.items()), Fraction(0))
    outside = [r[i] for i in range(len(A)) if i not in x]
    return f, max(Fraction(0), max(r) - f), f - max(outside) if outside else None


@pytest.mark.parametrize("method", SOLVERS)
@given(matrices(), st.sampled_from([-0.5, -0.1, 0.0, 0.1, 1.0, 7.0]))
@settings(max_examples=60)
def test_the_worst_error_of_value_gap_and_margin_is_a_few_eps(method, A, share):
    """Relative to the largest number of the problem; with n products to add up, each rounded."""
    shift = share * float(A.max())
    found = solve(A, algorithm=method, shift=shift)
    f, gap, margin = exactly(A, found)
    unit = max(EPS * max(float(A.max()), abs(shift)), 5e-324)  # or the least number that there is
    errors = [abs(float(Fraction(found.value) - f - Fraction(shift))), abs(float(Fraction(found.gap) - gap))]
    if margin is not None:
        errors.append(abs(float(Fraction(found.margin) - margin)))
    target(errors[1] / unit, label="error of the gap in eps")
    assert max(errors) <= 4 * len(A) * unit
    if found.status is Status.CONVERGED:
        whole = (Fraction(float(A.max())) + Fraction(shift)) * sum(
            Fraction(float(w)) ** 2 for w in found.weights
        )
        assert gap <= Fraction(1e-10) * max(whole, Fraction(0)) + Fraction(4 * len(A) * unit)


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("power", [-1071, -1040, -1020, -960, 990])
def test_numbers_at_the_ends_of_the_range_end_and_claim_nothing_that_rounding_hides(method, power):
    """Below 2**-1022 numbers have fewer digits: payoffs no longer fall below a gap of the least number."""
    A = np.triu(np.random.default_rng(0).integers(0, 50, (8, 8)), 1)
    A = np.ldexp((A + A.T).astype(float), power)
    for share in (-0.1, 0.0, 0.3):
        found = solve(A, algorithm=method, shift=share * float(A.max()))
        assert found.strict is None or power > -1022
        assert abs(found.weights.sum() - 1.0) <= 8 * EPS


@pytest.mark.parametrize("method", SOLVERS)
@given_comparisons(0.3, st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 4), st.integers(-1, 3))
@settings(max_examples=40)
def test_what_is_called_strict_is_a_strict_maximum_in_rationals(method, seed, n, largest, shift):
    """Small whole numbers: flat faces and outsiders exactly at the threshold are common."""
    A = np.triu(np.random.default_rng(seed).integers(0, largest + 1, (n, n)), 1)
    A = A + A.T
    if not A.any():
        A[0, 1] = A[1, 0] = 1
    found = solve(A.astype(float), algorithm=method, shift=float(shift))
    if not found.strict:
        return False
    # brute force takes distances from the largest of them, so its similarities are lower by the least of
    # ours: the same on the simplex with a shift that is larger by it
    D = ((A.max() - A) * (1 - np.eye(n, dtype=int))).tolist()
    shift += int(A[~np.eye(n, dtype=bool)].min())
    strict, _ = brute_force.local_maxima(D, shift)
    members, undecided = set(found.members.tolist()), set(found.undecided.tolist())
    assert any(members.symmetric_difference(support) <= undecided for support in strict)
    return True


@given(
    st.integers(0, 10_000), st.integers(3, 30), st.integers(1, 4), st.sampled_from(["sqeuclidean", "cosine"])
)
@settings(max_examples=60)
def test_one_maximum_has_one_value_whatever_the_solver(seed, n, d, kind):
    """With optimisations disabled: dual, working set and pairwise, on features and on the plain matrix.

    A shift of n times the largest similarity makes f concave: the eigenvalues of A are below it.
    """
    X = np.random.default_rng(seed).normal(size=(n, d))
    S = as_similarity(X, kind)
    A = S.toarray()
    shift = float(n * A.max())
    answers = [solve(S, algorithm=method, shift=shift) for method in ("dual", "working-set", "pairwise")]
    answers.append(solve(A, algorithm="pairwise", shift=shift))
    assert {one.status for one in answers} == {Status.CONVERGED}
    values = [one.value for one in answers]
    allowed = 2 * max(one.gap for one in answers) + 8 * n * EPS * shift
    assert max(values) - min(values) <= allowed
    for one in answers:
        assert one.global_gap is not None
        assert max(values) <= one.value + one.global_gap + 8 * n * EPS * shift


PROBLEMS = 100  # of each kind
# numbers of problems of which something false was claimed once (benchmarks/results/attack.json)
FOUND = {
    "evenly spaced": [10_000_114, 10_000_437, 10_002_018],
    "exact thresholds": [10_000_166, 10_001_747, 10_002_189],
    "whole rows": [10_000_082, 10_000_167],
    "nearly null faces": [10_000_474, 10_006_951],
    "a far object": [10_000_033, 10_000_084, 10_005_456],
    "a constant added": [10_000_000, 10_000_476, 10_001_734],
    "whole matrices": [10_000_018, 10_001_174],
    "hypergraphs": [10_000_240, 10_002_246],
    "capped": [10_000_088, 10_003_539, 10_009_149],
    "seeds": [10_000_021, 10_000_735],
    "welded seeds": [10_000_362, 10_000_685],
    "weights": [10_000_023, 10_000_142],
    "games": [10_001_231, 10_003_662],
    "paths": [10_000_042, 10_000_144, 10_014_934, 10_017_705],
    "overlaps": [10_000_026],
    "trivial bounds": [10_000_010],
    "streams": [10_000_096],
}


@pytest.fixture
def benchmark(monkeypatch):
    """The modules of benchmarks/, which import each other by name."""
    if not BENCHMARKS.is_dir():
        pytest.skip("benchmarks are in the repository, not in the sdist")
    pytest.importorskip("mpmath")
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
    return import_module


@pytest.mark.filterwarnings("ignore")  # a seed that is lost, nodes that are used up: nothing is claimed then
@pytest.mark.parametrize("kind", FOUND)
def test_what_is_claimed_of_degenerate_problems_is_so(kind, benchmark):
    claims = benchmark("_degenerate").claims
    made, false = Counter(), []
    for number in [*FOUND[kind], *range(PROBLEMS)]:
        for claim, holds in claims(kind, number):
            made[claim] += 1
            if not holds:
                false.append((claim, number))
    assert not false
    assert made.total() >= PROBLEMS // 20


def test_every_degenerate_kind_is_tested(benchmark):
    assert FOUND.keys() == benchmark("_degenerate").KINDS.keys()


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(-1, 3))
@settings(max_examples=60)
def test_the_exact_checker_agrees_with_another_one(seed, n, shift):
    """Whole numbers without fractions against Gauss-Jordan elimination of fractions, games and maxima."""
    if not BENCHMARKS.is_dir():
        pytest.skip("benchmarks are in the repository, not in the sdist")
    sys.path.append(str(BENCHMARKS))
    try:
        Form = import_module("_exact").Form
    finally:
        sys.path.remove(str(BENCHMARKS))
    A = np.random.default_rng(seed).integers(0, 4, (n, n))
    for B in (np.triu(A, 1) + np.triu(A, 1).T, A):
        payoffs = [[Fraction(-shift if i == j else int(B[i, j])) for j in range(n)] for i in range(n)]
        form, stable = Form(payoffs), brute_force.equilibria(payoffs)
        for size in range(1, n + 1):
            for support in combinations(range(n), size):
                assert form.strict(support) == stable.get(support, (None, False))[1]
        if np.array_equal(B, B.T):
            assert set(form.all_strict()) == {support for support, (_, ess) in stable.items() if ess}
