"""Path-following: the projection, the capped problem of a level, and where the path ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from dominantsets import as_similarity, solve
from dominantsets.solvers import Monitor, make_problem
from dominantsets.studies import path_following
from dominantsets.studies.path_following import _Path, largest_within, project
from support import random_similarity

caps = st.floats(1.0, 4.0)  # times 1/n


@given(st.integers(2, 9), st.integers(0, 10_000), caps)
def test_the_projection_is_the_nearest_point(n, seed, factor):
    """Against the definition: no feasible direction has a positive product with y - x (Kolmogorov)."""
    y = np.random.default_rng(seed).normal(size=n)
    cap = min(1.0, factor / n)
    x = project(y, cap)
    assert x.min() >= 0.0
    assert x.max() <= cap * (1 + 1e-12)
    assert x.sum() == pytest.approx(1.0, abs=1e-12)
    best = linprog(-(y - x), A_eq=np.ones((1, n)), b_eq=[1.0], bounds=(0.0, cap))
    assert -best.fun <= (y - x) @ x + 1e-9


@given(st.integers(1, 9), st.integers(0, 10_000), caps)
def test_the_largest_product_within_the_cap(n, seed, factor):
    r = np.random.default_rng(seed).normal(size=n)
    cap = min(1.0, factor / n)
    best = linprog(-r, A_eq=np.ones((1, n)), b_eq=[1.0], bounds=(0.0, cap))
    assert largest_within(r, cap) == pytest.approx(-best.fun, abs=1e-9)


@pytest.mark.parametrize("cap", [1 / 10, 1 / 4, 1 / 2])
def test_a_level_solves_the_capped_problem(cap, monkeypatch):
    """With a shift that makes it concave, where there is one answer: that of another solver."""
    monkeypatch.setattr(path_following, "ROUGH", 1e-10)
    monkeypatch.setattr(path_following, "STEPS", 20_000)
    A = random_similarity(20, seed=4)
    shift = float(np.linalg.eigvalsh(A)[-1])
    B = A - shift * np.eye(20)
    path = _Path(make_problem(as_similarity(A), shift))
    path.cap = cap
    assert path.climb(20_000, Monitor()) is None
    bounds = {"type": "eq", "fun": lambda x: x.sum() - 1.0}
    other = minimize(
        lambda x: -x @ B @ x, path.x * 0 + 1 / 20, jac=lambda x: -2 * B @ x, bounds=[(0, cap)] * 20,
        constraints=[bounds], method="SLSQP", options={"ftol": 1e-14, "maxiter": 1_000},
    )  # fmt: skip
    assert path.f == pytest.approx(-other.fun, abs=1e-8)
    np.testing.assert_allclose(path.x, other.x, atol=1e-4)
    assert np.count_nonzero(path.x) >= round(1 / cap)


def test_at_least_as_many_objects_as_the_cap_asks_for():
    """Every level has 1/cap objects or more, also where the best dominant set is a pair."""
    A = random_similarity(40, seed=5)
    A[3, 7] = A[7, 3] = 30.0
    path, seen = _Path(make_problem(as_similarity(A), 0.0)), []
    while path.cap < 0.5:
        path.cap *= 2.0
        path.climb(path.n_iter + 200, Monitor())
        seen.append((path.cap, np.count_nonzero(path.x)))
    assert all(count * cap >= 1.0 - 1e-9 for cap, count in seen)
    assert solve(A, algorithm="path-following").members.tolist() == [3, 7]
