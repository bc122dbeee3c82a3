"""Compiled ascent on a graph, where many small dominant sets are looked for: it costs what it touches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import compiled


@compiled
def ascend(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.float64],
    shift: float,
    support: NDArray[np.int64],
    weights: NDArray[np.float64],
    x: NDArray[np.float64],
    r: NDArray[np.float64],
    listed: NDArray[np.bool_],
    near: NDArray[np.int64],
    tol: float,
    work: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """Pairwise steps for x'(A - shift I)x from weights on a support; no node where the value is not positive.

    Ends where payoffs of members are level and no other node has a higher one, up to tol, or after looking at
    ``work`` nodes; how many it looked at comes with the set. ``x``, ``r`` and ``listed`` are all zero before
    and after, ``near`` is room for all nodes.
    """
    count = 0
    for k in range(support.size):
        i = support[k]
        x[i] = weights[k]
        if not listed[i]:
            listed[i] = True
            near[count] = i
            count += 1
        r[i] -= shift * weights[k]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if not listed[j]:
                listed[j] = True
                near[count] = j
                count += 1
            r[j] += weights[k] * data[e]
    value = 0.0
    for k in range(support.size):
        value += weights[k] * r[support[k]]
    size, spent = 0, count
    if value > 0.0:
        while work > 0:
            work -= count
            spent += count
            best, worst = near[0], support[0]
            high, low = -np.inf, np.inf
            for k in range(count):
                i = near[k]
                if r[i] > high:
                    best, high = i, r[i]
                if x[i] > 0.0 and r[i] < low:
                    worst, low = i, r[i]
            if high - low <= tol * (abs(high) + shift * x[best]):
                break
            edge = 0.0
            for e in range(indptr[best], indptr[best + 1]):
                if indices[e] == worst:
                    edge = data[e]
            step = (high - low) / (2.0 * (shift + edge))
            if step >= x[worst]:
                step = x[worst]
                x[worst] = 0.0
            else:
                x[worst] -= step
            x[best] += step
            r[best] -= shift * step
            r[worst] += shift * step
            for e in range(indptr[best], indptr[best + 1]):
                j = indices[e]
                if not listed[j]:
                    listed[j] = True
                    near[count] = j
                    count += 1
                r[j] += step * data[e]
            for e in range(indptr[worst], indptr[worst + 1]):
                r[indices[e]] -= step * data[e]
        for k in range(count):
            size += x[near[k]] > 0.0
    members = np.empty(size, dtype=np.int64)
    at = 0
    for k in range(count):
        i = near[k]
        if size > 0 and x[i] > 0.0:
            members[at] = i
            at += 1
    members.sort()
    found = np.empty(size)
    for k in range(size):
        found[k] = x[members[k]]
    for k in range(count):
        i = near[k]
        x[i] = r[i] = 0.0
        listed[i] = False
    return members, found / max(found.sum(), 1e-300), spent


@compiled
def within(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    data: NDArray[np.float64],
    members: NDArray[np.int64],
    inside: NDArray[np.bool_],
) -> float:
    """Sum of the weights of the edges inside a set; ``inside`` is False before and after."""
    for i in members:
        inside[i] = True
    total = 0.0
    for i in members:
        for e in range(indptr[i], indptr[i + 1]):
            if inside[indices[e]]:
                total += data[e]
    for i in members:
        inside[i] = False
    return total / 2.0
