"""Compiled sums over rows of matrices, and checks of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import compiled, exact, larger, smaller, watchful


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


@compiled
def merge_sparse_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.float64],
    rows: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The sum of weights[k] A[rows[k]] for few rows: its columns (and the rows), in order, and its values.

    Costs the edges of those rows and the sorting of their ends, whatever the size of the matrix.
    """
    size = rows.size
    for k in range(rows.size):
        size += indptr[rows[k] + 1] - indptr[rows[k]]
    ends = np.empty(size, dtype=np.int64)
    parts = np.zeros(size)
    at = rows.size
    ends[:at] = rows
    for k in range(rows.size):
        for e in range(indptr[rows[k]], indptr[rows[k] + 1]):
            ends[at] = indices[e]
            parts[at] = weights[k] * data[e]
            at += 1
    order = np.argsort(ends, kind="mergesort")  # stable: the same sums in the same order, always
    objects = np.empty(size, dtype=np.int64)
    values = np.empty(size)
    count = 0
    for k in range(size):
        e = order[k]
        if count > 0 and objects[count - 1] == ends[e]:
            values[count - 1] += parts[e]
        else:
            objects[count] = ends[e]
            values[count] = parts[e]
            count += 1
    return objects[:count].copy(), values[:count].copy()


@compiled
def pick(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.float64],
    rows: NDArray[np.int64],
    cols: NDArray[np.int64],
    places: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """out[k, places[m]] = A[rows[k], cols[m]] for a CSR matrix A with sorted indices; cols in order.

    Entries on the diagonal of A are left out.
    """
    for k in range(rows.size):
        i = rows[k]
        e, end, m = indptr[i], indptr[i + 1], 0
        while e < end and m < cols.size:
            if indices[e] < cols[m]:
                e += 1
            elif indices[e] > cols[m]:
                m += np.searchsorted(cols[m:], indices[e]) if cols.size > 64 else 1
            else:
                if indices[e] != i:
                    out[k, places[m]] = data[e]
                m += 1


@compiled
def take_block(
    A: NDArray[np.float64], rows: NDArray[np.int64], cols: NDArray[np.int64], out: NDArray[np.float64]
) -> None:
    """out[k, m] = A[rows[k], cols[m]], with 0 where both are the same object."""
    for k in range(rows.size):
        i = rows[k]
        source, line = A[i], out[k]
        for m in range(cols.size):
            line[m] = source[cols[m]] if cols[m] != i else 0.0


@watchful
def _stain(total: float, value: float) -> float:
    """total + 0, unless value is NaN or infinite: then NaN, for good."""
    return total + value * 0.0


@compiled
def _compare(u: Any, v: Any, seen: NDArray[np.float64]) -> None:
    """Smallest, largest and farthest apart of two equally long slices, and whether all are finite."""
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
def glance_square(A: NDArray[np.float64], tile: int, first: int, stride: int) -> NDArray[np.float64]:
    """Smallest and largest entry off the diagonal, largest difference of a_ij and a_ji, and a stain.

    The stain is 0 where every entry is finite, else NaN, and then the other three mean nothing. One sweep by
    tiles, in vector code, over every ``stride``-th row of tiles; where it finds a fault,
    ``inspect_square`` says where it is.
    """
    n = A.shape[0]
    seen = np.array([np.inf, 0.0, 0.0, 0.0])
    turned = np.empty((tile, tile), dtype=A.dtype)
    for i0 in range(first * tile, n, stride * tile):
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
