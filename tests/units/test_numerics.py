"""The numerics that the paper leaves out, each a case."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets import Status, as_similarity, solve
from dominantsets.solvers import Monitor, Point, Problem
from dominantsets.solvers import frank_wolfe as first_order
from support import random_similarity

RULES = ("fw", "pairwise", "away")


def test_the_running_gap_drifts_and_is_not_reported(monkeypatch):
    """Corrupt r on the way; the reported certificate must not notice."""
    A = random_similarity(50, seed=3)
    problem = Problem(as_similarity(A), 0.0)
    run = first_order._Ascent(problem, Point.of(np.ones(50)), first_order.RULES["pairwise"], 1e-10, False)
    run.until(40, Monitor())
    run.walk.r[:] += 1e-3  # as if rounding had piled up
    status = run.until(100_000, Monitor())
    x = run.walk.y
    r = A @ x
    assert status is Status.CONVERGED
    assert r.max() - x @ r <= 1e-10 * (x @ r) * 1.01


def test_r_and_f_are_the_products_they_stand_for():
    A = random_similarity(300, seed=4)
    for rule in RULES:
        for shift in (0.0, 3.0):
            problem = Problem(as_similarity(A), shift)
            run = first_order._Ascent(
                problem, Point(np.array([7]), np.ones(1)), first_order.RULES[rule], 0.0, False
            )
            run.until(3_000, Monitor())
            x = run.walk.y
            np.testing.assert_allclose(run.walk.r, A @ x - shift * x, atol=1e-11)
            assert run.f == pytest.approx(x @ A @ x - shift * x @ x, abs=1e-11)


@pytest.mark.parametrize("rule", RULES)
def test_how_often_compiled_code_looks_up_changes_nothing_but_rounding(rule, monkeypatch):
    """Pieces of work are as long as the clock says; the weights are rescaled at the end of each."""
    A, values = random_similarity(60, seed=0), []
    for steps in (1, 7, 1_000, 10**6):
        monkeypatch.setattr(Monitor, "budget", lambda self, steps=steps: steps)
        values.append(solve(A, algorithm=rule, max_iter=5_000).value)
    assert max(values) == pytest.approx(min(values), rel=1e-13)
