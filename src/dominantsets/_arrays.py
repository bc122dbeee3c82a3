"""Compiled sums over rows, checks of matrices, and the threshold of the dual."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dominantsets._compile import compiled, exact, larger, reassociated, smaller, watchful


@compiled
def add_rows(
    A: NDArray[np.float64],
    rows: NDArray[np.int64],
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """out += sum of weights[k] A[rows[k]], four rows a sweep, in float64 whatever A is."""
    k = 0
    while k + 4 <= rows.size:
        a, b, c, d = A[rows[k]], A[rows[k + 1]], A[rows[k + 2]], A[rows[k + 3]]
        u, v, w, z = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for i in range(out.size):
            out[i] += u * a[i] + v * b[i] + w * c[i] + z * d[i]
        k += 4
    while k < rows.size:
        a, u = A[rows[k]], weights[k]
        for i in range(out.size):
            out[i] += u * a[i]
        k += 1


@reassociated
def dot_rows(X: NDArray[np.float64], w: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """out = X w with float64 products and sums, whatever X is stored in, and no copy of it."""
    for i in range(out.size):
        row = X[i]
        total = 0.0
        for f in range(w.size):
            total += np.float64(row[f]) * w[f]
        out[i] = total


@compiled
def add_sparse_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.float64],
    rows: NDArray[np.int64],
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """out += sum of weights[k] A[rows[k]] for a CSR matrix A."""
    for k in range(rows.size):
        w = weights[k]
        for e in range(indptr[rows[k]], indptr[rows[k] + 1]):
            out[indices[e]] += w * data[e]


@watchful
def _stain(total: float, value: float) -> float:
    """total + 0, unless value is NaN or infinite: then NaN, for good."""
    return total + value * 0.0


@compiled
def _compare(u: Any, v: Any, seen: NDArray[np.float64]) -> None:
    """Smallest, largest and farthest apart of two equally long pieces, and whether all are finite."""
    least, most, apart, stain = seen[0], seen[1], seen[2], seen[3]
    for k in range(u.size):
        a, b = np.float64(u[k]), np.float64(v[k])
        least = smaller(least, smaller(a, b))
        most = larger(most, larger(a, b))
        apart = larger(apart, larger(a - b, b - a))
        stain = _stain(stain, a)
        stain = _stain(stain, b)
    seen[0], seen[1], seen[2], seen[3] = least, most, apart, stain


@compiled
def glance_square(A: NDArray[np.float64], tile: int) -> NDArray[np.float64]:
    """Smallest and largest entry off the diagonal, largest difference of a_ij and a_ji, and a stain.

    The stain is 0 where every entry is finite, else NaN, and then the other three mean nothing. One sweep by
    tiles, in vector code; where it finds a fault, ``inspect_square`` says where it is.
    """
    n = A.shape[0]
    seen = np.array([np.inf, 0.0, 0.0, 0.0])
    turned = np.empty((tile, tile), dtype=A.dtype)
    for i0 in range(0, n, tile):
        rows = min(tile, n - i0)
        for j0 in range(i0, n, tile):
            cols = min(tile, n - j0)
            for b in range(cols):
                source = A[j0 + b, i0 : i0 + rows]
                for a in range(source.size):
                    turned[a, b] = source[a]
            for a in range(rows):
                u, v = A[i0 + a, j0 : j0 + cols], turned[a, :cols]
                if i0 == j0:
                    _compare(u[:a], v[:a], seen)
                    _compare(u[a + 1 :], v[a + 1 :], seen)
                else:
                    _compare(u, v, seen)
    return seen


@exact
def inspect_square(A: NDArray[np.float64], tile: int) -> tuple[int, float, int, int, float, int, int, float]:
    """What a dense similarity must not have, in one sweep by tiles; the diagonal is left out.

    Returns the count of pairs that are not finite, the smallest entry and its place, the largest
    difference of a_ij and a_ji with its place, and the largest entry.
    """
    n = A.shape[0]
    bad = 0
    least, least_i, least_j = np.inf, 0, 0
    apart, apart_i, apart_j = 0.0, 0, 0
    most = 0.0
    for i0 in range(0, n, tile):
        for j0 in range(i0, n, tile):
            for i in range(i0, min(n, i0 + tile)):
                for j in range(max(j0, i + 1), min(n, j0 + tile)):
                    u, v = np.float64(A[i, j]), np.float64(A[j, i])
                    if not (np.isfinite(u) and np.isfinite(v)):
                        bad += 1
                        continue
                    if u < least:
                        least, least_i, least_j = u, i, j
                    if v < least:
                        least, least_i, least_j = v, j, i
                    most = max(most, u)
                    if abs(u - v) > apart:
                        apart, apart_i, apart_j = abs(u - v), i, j
    return bad, least, least_i, least_j, apart, apart_i, apart_j, most


@compiled
def threshold(
    s: NDArray[np.float64], kappa: NDArray[np.float64], alive: NDArray[np.bool_],
    keep: NDArray[np.int64],
) -> tuple[float, int]:  # fmt: skip
    """The tau with sum of max(0, s_i - tau) / kappa_i = 1 over the living: (tau, how many exceed it).

    tau is at least s_i - kappa_i for every i, which leaves few candidates after one sweep; those are
    narrowed until none falls below the tau of the rest. Candidates are left in ``keep``, in order; s is
    set to -inf for objects that are gone.
    """
    low = -np.inf
    for i in range(s.size):
        s[i] = s[i] if alive[i] else -np.inf
    for i in range(s.size):
        low = larger(low, s[i] - kappa[i])
    count = 0
    for i in range(s.size):
        if s[i] > low:
            keep[count] = i
            count += 1
    tau = low
    while True:
        total, mass = 0.0, 0.0
        for k in range(count):
            i = keep[k]
            total += s[i] / kappa[i]
            mass += 1.0 / kappa[i]
        tau = (total - 1.0) / mass
        left = 0
        for k in range(count):
            if s[keep[k]] > tau:
                keep[left] = keep[k]
                left += 1
        if left == count or left == 0:
            return tau, count
        count = left
