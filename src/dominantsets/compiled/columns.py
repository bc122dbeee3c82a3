r"""The bound by columns, compiled: the largest :math:`s \cdot x - \sum \kappa_i x_i^2` over the simplex.

It is at most :math:`\lambda + \sum \max(0, s_i - \lambda)^2 / (4 \kappa_i)` for every level
:math:`\lambda`, and equal to it where the :math:`x_i = \max(0, s_i - \lambda) / (2 \kappa_i)` sum to 1
(docs/theory-global.md). So a level that was rounded still gives a bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import compiled, reassociated

EPS = float(np.finfo(np.float64).eps)
BATCH = 32  # candidates after which the running bound of the level is renewed
STEPS = 30  # of Newton's method at most, from the level of a column nearby; three are usual
LEVEL = 1e-6  # how far the weights, which sum to 2, may be off: values are off by its square


@compiled
def _at(values: NDArray[np.float64], i: int) -> Any:
    return values[i] if values.size > 1 else values[0]


@compiled
def top(
    s: NDArray[np.float64], share: NDArray[np.float64], low: float, keep: NDArray[np.int32]
) -> tuple[float, float]:  # fmt: skip
    """An upper bound of the largest value for one column, and its level; ``share`` is 1 / kappa.

    The level is at least ``low``, so that entries up to it are left out. Rounded up.
    """
    count, fresh, total, mass = 0, 0, -2.0, 0.0
    for k in range(s.size):
        if s[k] > low:
            keep[count] = k
            count += 1
            part = _at(share, k)
            total += s[k] * part
            mass += part
            fresh += 1
            if fresh == BATCH:
                fresh = 0
                low = max(low, total / mass)
    if count == 0:
        return -np.inf, low
    level = max(low, total / mass)
    while True:
        left, total, mass, squares = 0, -2.0, 0.0, 0.0
        for t in range(count):
            k = keep[t]
            over = s[k] - level
            if over > 0.0:
                keep[left] = k
                left += 1
                part = _at(share, k)
                total += over * part
                mass += part
                squares += over * over * part
        if left == count or left == 0:
            value = level + 4.0 * EPS * abs(level) + 0.25 * squares * (1.0 + (count + 16.0) * EPS)
            return value, level
        count, level = left, max(level, level + total / mass)  # what was left out stays below it


@reassociated
def _added(P: NDArray[np.float64], row: int, own: float, bias: NDArray[np.float64]) -> None:
    for k in range(bias.size):
        P[row, k] += own + bias[k]


@reassociated
def _sums(s: NDArray[np.float64], share: NDArray[np.float64], level: float) -> tuple[float, float, float]:
    """What exceeds a level over kappa, 1 / kappa of it, and its squares over kappa: in vector code."""
    total, mass, squares = 0.0, 0.0, 0.0
    if share.size == 1:
        for k in range(s.size):
            over = max(s[k] - level, 0.0)
            total += over
            mass += 1.0 if over > 0.0 else 0.0
            squares += over * over
        return total * share[0], mass * share[0], squares * share[0]
    for k in range(s.size):
        over = max(s[k] - level, 0.0)
        total += over * share[k]
        mass += share[k] if over > 0.0 else 0.0
        squares += over * over * share[k]
    return total, mass, squares


@compiled
def tops(
    P: NDArray[np.float64], own: NDArray[np.float64], bias: NDArray[np.float64], share: NDArray[np.float64],
    low: float, first: int, last: int, out: NDArray[np.float64], levels: NDArray[np.float64],
) -> None:  # fmt: skip
    """``top`` of the rows of P, to which a number per row and one per column are added, in place.

    The level of one row is where Newton's method for the next begins: the sum of the weights is convex in it,
    so that a few steps end near the level, and any level gives a bound.
    """
    keep = np.empty(bias.size, np.int32)
    level = -np.inf
    for row in range(first, last):
        _added(P, row, own[row], bias)
        total, mass, squares = _sums(P[row], share, level) if level > -np.inf else (0.0, 0.0, 0.0)
        if mass == 0.0:
            out[row], level = top(P[row], share, low, keep)
            levels[row] = level
            continue
        for _ in range(STEPS):
            if abs(total - 2.0) <= LEVEL or mass == 0.0 or (total < 2.0 and level == low):
                break
            level = max(low, level + (total - 2.0) / mass)
            total, mass, squares = _sums(P[row], share, level)
        out[row] = level + 4.0 * EPS * abs(level) + 0.25 * squares * (1.0 + (bias.size + 16.0) * EPS)
        levels[row] = level


@reassociated
def around(
    U: NDArray[np.float64], gamma: NDArray[np.float64], objects: NDArray[np.int32], q: NDArray[np.float64],
    radius: float, s: NDArray[np.float64],
) -> None:  # fmt: skip
    """Upper bounds, but for constants, of the similarities of objects to all points within a ball."""
    for k in range(objects.size):
        i = objects[k]
        row, total = U[i], 0.0
        for j in range(q.size):
            off = row[j] - q[j]
            total += off * off
        away = max(0.0, np.sqrt(total) - radius)
        s[k] = gamma[i] - 0.5 * away * away
