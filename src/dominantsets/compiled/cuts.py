"""Cuts of a spanning tree: the longest edge that leaves enough on both sides, again and again."""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.jit import compiled


@compiled
def root_forest(n: int, u: Ints, v: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """A forest hung up: preorder, how many objects lie below each, its parent, and the edge to it (-1)."""
    m = u.size
    start = np.zeros(n + 1, dtype=np.int64)
    for e in range(m):
        start[u[e] + 1] += 1
        start[v[e] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    fill, near = start[:-1].copy(), np.empty(2 * m, dtype=np.int64)
    for e in range(m):
        near[fill[u[e]]] = e
        fill[u[e]] += 1
        near[fill[v[e]]] = e
        fill[v[e]] += 1
    order, below = np.empty(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    parent, edge = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    seen, stack = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int64)
    count = 0
    for root in range(n):
        if seen[root]:
            continue
        seen[root], stack[0], size = True, root, 1
        while size > 0:
            size -= 1
            i = stack[size]
            order[count] = i
            count += 1
            for t in range(start[i], start[i + 1]):
                e = near[t]
                j = v[e] if u[e] == i else u[e]
                if not seen[j]:
                    seen[j], parent[j], edge[j] = True, i, e
                    stack[size] = j
                    size += 1
    for t in range(n - 1, -1, -1):
        if parent[order[t]] >= 0:
            below[parent[order[t]]] += below[order[t]]
    return order, below, parent, edge


@compiled
def sized_cuts(
    order: Ints,
    below: Ints,
    parent: Ints,
    edge: Ints,
    weights: Floats,
    lasting: Ints,
    count: int,
    share: float,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Up to so many cuts: the edges, and for each object the piece that it is in at the end, by its root.

    ``lasting`` are edges, the longest first. A cut is the longest edge that leaves on both sides a weight of
    at least ``share`` of all divided by the number of pieces with it.
    """
    n = order.size
    place, size = np.empty(n, dtype=np.int64), weights.copy()
    total = 0.0
    for t in range(n):
        place[order[t]] = t
        total += weights[t]
    child = np.full(edge.size, -1, dtype=np.int64)
    piece = np.arange(n)
    for t in range(n - 1, -1, -1):
        i = order[t]
        if parent[i] >= 0:
            size[parent[i]] += size[i]
            child[edge[i]] = i
    pieces = 0
    for t in range(n):
        if parent[order[t]] >= 0:
            piece[order[t]] = piece[parent[order[t]]]
        else:
            pieces += 1
    # sides only become smaller, and so does what is asked: what is too small for the last never counts
    least = share * total / (count + pieces)
    left = np.empty(lasting.size, dtype=np.int64)
    some = 0
    for e in lasting:
        c = child[e]
        if min(size[c], size[piece[c]] - size[c]) >= least:
            left[some] = e
            some += 1
    cuts = np.empty(count, dtype=np.int64)
    for k in range(count):
        need, found, kept = share * total / (k + 1 + pieces), -1, 0
        for s in range(some):
            e = left[s]
            c = child[e]
            side = min(size[c], size[piece[c]] - size[c])
            if found < 0 and side >= need:
                found = e
            elif side >= least:
                left[kept] = e
                kept += 1
        some = kept
        if found < 0:
            return cuts[:k], piece
        cuts[k] = found
        c = child[found]
        root, lost = piece[c], size[c]
        i = parent[c]
        while True:
            size[i] -= lost
            if i == root:
                break
            i = parent[i]
        for t in range(place[c], place[c] + below[c]):
            if piece[order[t]] == root:
                piece[order[t]] = c
    return cuts, piece


@compiled
def pure_nodes(n: int, left: Ints, right: Ints, labels: Ints) -> Ints:
    """For each node of single linkage the label that all its objects have, or -1."""
    out = np.full(n + left.size, -1, dtype=np.int64)
    out[:n] = labels
    for k in range(left.size):
        if out[left[k]] == out[right[k]]:
            out[n + k] = out[left[k]]
    return out
