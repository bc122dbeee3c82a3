"""The scalar step against the paper's formulas, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from dominantsets import Step
from dominantsets.compiled import loop as _kernels
from support import given_comparisons, random_similarity

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


def test_a_compiled_search_finds_the_lowest_index_of_a_tie():
    n = 1_000
    walk = _kernels.Walk(
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
    walk.r[[400, 700]] = 1.0
    walk.r[[300, 299, 950]] = -1.0
    walk.fence[[300, 950, 20]] = -np.inf  # 299 is outside the support
    _kernels.survey(walk)
    assert walk.counters[_kernels.TOP] == 400
    assert walk.counters[_kernels.LOW] == 300
