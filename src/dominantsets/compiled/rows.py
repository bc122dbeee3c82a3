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


@reassociated
def place(
    X: Any,
    V: NDArray[np.float64],
    constants: NDArray[np.float64],
    slopes: NDArray[np.float64],
    scale: NDArray[np.float64],
    bias: NDArray[np.float64],
    labels: NDArray[np.int64],
    outside: NDArray[np.bool_],
    best: NDArray[np.int64],
    fit: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """A round of refinement over some rows: the cluster that each fits best, and the new clusters' sums.

    The fit of row i to cluster k is scale_i (x_i · V_k - V_kd) + slope_k bias_i + constant_k; arrays of
    length 0 stand for nothing. A row of ``sums`` holds the sum of scale_i x_i, of scale_i, of the biases, and
    the number of a cluster's objects.
    """
    d = X.shape[1]
    for i in range(X.shape[0]):
        if outside.size and outside[i]:
            best[i], fit[i] = -1, -np.inf
            continue
        row, mine = X[i], labels[i]
        s = scale[i] if scale.size else 1.0
        b = bias[i] if bias.size else 0.0
        top, here, at = -np.inf, -np.inf, mine
        for k in range(V.shape[0]):
            v, total = V[k], 0.0
            for f in range(d):
                total += np.float64(row[f]) * v[f]
            value = s * (total - v[d]) + slopes[k] * b + constants[k]
            if k == mine:
                here = value
            if value > top:
                top, at = value, k
        if top <= 0.0 or (mine >= 0 and top <= here * (1.0 + 1e-12)):
            top, at = here, mine
        best[i], fit[i] = at, top
        if at >= 0:
            total_row = sums[at]
            for f in range(d):
                total_row[f] += s * np.float64(row[f])
            total_row[d] += s
            total_row[d + 1] += b
            total_row[d + 2] += 1.0


@compiled
def mask(r: NDArray[np.float64], alive: NDArray[np.bool_]) -> None:
    """Set r = -inf for removed objects."""
    for i in range(r.size):
        r[i] = r[i] if alive[i] else -np.inf
