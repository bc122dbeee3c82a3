"""The nearest of many, against sorting all of them."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets.compiled.nearest import rerank, smallest


def drawn(seed, rows, cols, ties):
    """Rows of small integers, so that float32 is exact, and many distances are equal where there are ties."""
    rng = np.random.default_rng(seed)
    span = 3 if ties else 1000
    return (
        rng.integers(0, span, (rows, 2)).astype(np.float32),
        rng.integers(0, span, (cols, 2)).astype(np.float32),
        rng,
    )


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("cols", "count"), [(12, 5), (12, 1), (4, 6), (5, 5), (1, 1)])
def test_the_smallest_scores_in_rising_order_of_equals_the_first(cols, count, ties):
    P, Q, rng = drawn(cols + count, 8, cols, ties)
    products, squares = P @ Q.T, np.square(Q).sum(axis=1)
    own = np.where(rng.random(8) < 0.5, rng.integers(0, cols, 8), -1)
    out = np.full((8, count), 99)
    smallest(products, squares, own, out)
    for i in range(8):
        order = np.argsort(squares - 2 * products[i], kind="stable")
        order = order[order != own[i]][:count]
        assert out[i].tolist() == [*order, *[-1] * (count - len(order))]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [1, 3, 9])
def test_candidates_in_the_order_of_their_distances_and_then_their_numbers(seed, count, ties):
    """Whatever the order in which they come, and however often."""
    P, Q, rng = drawn(seed, 6, 10, ties)
    own = np.where(rng.random(6) < 0.5, rng.integers(0, 10, 6), -1)
    candidates = rng.integers(-1, 10, (6, 14))
    nearest, squares = np.full((6, count), 99), np.full((6, count), np.float32(-1.0))
    rerank(P, Q, own, candidates, nearest, squares)
    for i in range(6):
        those = sorted(set(candidates[i].tolist()) - {-1, own[i]})
        order = sorted((float(np.square(P[i] - Q[c]).sum()), c) for c in those)[:count]
        rest = count - len(order)
        assert nearest[i].tolist() == [c for _, c in order] + [-1] * rest
        assert squares[i].tolist() == [s for s, _ in order] + [np.inf] * rest
