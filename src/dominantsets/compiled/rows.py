"""Compiled sums over dense rows that no other compiled function calls."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import compiled, reassociated


@compiled
def _at(values: NDArray[np.float64], i: int) -> Any:
    """One number for each object, or a single one that all of them share."""
    return values[i] if values.size > 1 else values[0]


@compiled
def add_all_rows(A: NDArray[np.float64], weights: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """out += sum of weights[k] A[k], in float64 whatever A is; rows of weight 0 are skipped."""
    for k in range(weights.size):
        row, weight = A[k], weights[k]
        if weight != 0.0:
            for i in range(out.size):
                out[i] += weight * row[i]


@reassociated
def city_block(P: NDArray[np.float64], Q: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Sums of absolute differences of all rows of P and Q."""
    for i in range(P.shape[0]):
        p = P[i]
        for j in range(Q.shape[0]):
            q, total = Q[j], 0.0
            for f in range(p.size):
                total += abs(p[f] - q[f])
            out[i, j] = total


@compiled
def squares(
    products: NDArray[np.float64], p: NDArray[np.float64], q: NDArray[np.float64], factor: float
) -> None:
    """From inner products and squared lengths to factor times squared distances, in place."""
    for i in range(p.size):
        row, own = products[i], p[i]
        for j in range(q.size):
            row[j] = factor * max(0.0, own + q[j] - 2.0 * row[j])


@compiled
def subtract_at(
    out: NDArray[np.float64], places: NDArray[np.int64], values: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:  # fmt: skip
    """out[i] -= values[i] weights[k] for i = places[k]."""
    for k in range(places.size):
        out[places[k]] -= _at(values, places[k]) * weights[k]


@compiled
def histogram(
    s: NDArray[np.float64], inverse: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For each bin from edges[k] to edges[k + 1], the last one open: three sums.

    Of 1 (the objects), of 1 / kappa and of (s - edges[0]) / kappa.
    """
    out = np.zeros((3, edges.size))
    for i in range(s.size):
        if s[i] > edges[0]:
            k, beyond = 0, edges.size
            while beyond - k > 1:
                middle = (k + beyond) // 2
                if edges[middle] < s[i]:
                    k = middle
                else:
                    beyond = middle
            share = _at(inverse, i)
            out[0, k] += 1.0
            out[1, k] += share
            out[2, k] += (s[i] - edges[0]) * share
    return out


@compiled
def mask(r: NDArray[np.float64], alive: NDArray[np.bool_]) -> None:
    """Set r = -inf for removed objects."""
    for i in range(r.size):
        r[i] = r[i] if alive[i] else -np.inf
