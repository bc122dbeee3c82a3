"""Shrink and expand: the closed step of the expansion, and where the rounds end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

import reference
from dominantsets import as_similarity, solve
from dominantsets.solvers import make_problem
from dominantsets.solvers.problem import Point
from dominantsets.studies.shrink_expand import _Expansions, expansion_step
from support import assert_certified, given_comparisons, random_similarity

similarities = st.builds(
    random_similarity, st.integers(3, 14), st.integers(0, 10_000), st.sampled_from([0.0, 0.4, 0.8])
)
shifts = st.sampled_from([-0.5, 0.0, 0.3, 2.0])


@given_comparisons(0.5, similarities, shifts, st.integers(0, 10_000))
def test_the_step_is_the_best_of_a_grid(A, shift, seed):
    """From a random point of a random face, against the objective itself along the direction."""
    rng = np.random.default_rng(seed)
    n, B = len(A), A - shift * np.eye(len(A))
    support = np.sort(rng.choice(n, size=rng.integers(1, n), replace=False))
    x = np.zeros(n)
    x[support] = rng.dirichlet(np.ones(support.size))
    r, f = B @ x, x @ B @ x
    Z = np.flatnonzero((x == 0) & (r > max(0.0, f)))
    if not Z.size:
        return False
    b, longest = reference.expansion(B, x)
    grid = np.linspace(0.0, longest, 2_001)
    values = [(x + t * b) @ B @ (x + t * b) for t in grid]
    v = r[Z] - f
    t = expansion_step(f, v, float(v @ v), float(v @ B[np.ix_(Z, Z)] @ v))
    assert 0.0 < t <= longest * (1 + 1e-12)
    assert (x + t * b) @ B @ (x + t * b) >= max(values) - 1e-12
    assert max(values) > f
    # the rounds of the library make that step
    run = _Expansions(make_problem(as_similarity(A), shift), Point(support, x[support]))
    assert run.admit() == Z.size
    np.testing.assert_allclose(run.x.dense(n), x + t * b, atol=1e-12)
    assert run.f == pytest.approx((x + t * b) @ B @ (x + t * b), abs=1e-12)
    return True


def test_the_first_expansion_from_a_vertex_is_the_papers_start():
    """Neighbours in proportion to their similarities; the object itself keeps what the step leaves it."""
    A = random_similarity(9, seed=1)
    run = _Expansions(make_problem(as_similarity(A), 0.0), Point(np.array([4]), np.ones(1)))
    run.admit()
    x = run.x.dense(9)
    assert 0.0 < x[4] < 1.0
    np.testing.assert_allclose(np.delete(x, 4) / (1.0 - x[4]), np.delete(A[4], 4) / A[4].sum(), atol=1e-14)


def test_supports_beyond_a_block(monkeypatch):
    """As the working set: blocks of coordinates where the support outgrows one."""
    from dominantsets.solvers import working_set

    monkeypatch.setattr(working_set, "BLOCK_LIMIT", 40)
    A = random_similarity(120, seed=2)
    cluster = solve(A, algorithm="shrink-expand", shift=40.0)
    assert len(cluster) > 40
    assert_certified(A, cluster, stationary=1e-9)
    assert cluster.value == pytest.approx(solve(A, algorithm="pairwise", shift=40.0).value, rel=1e-9)
