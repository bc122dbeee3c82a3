"""Compiled functions that make spanning trees, and single linkage from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@compiled
def _find(root: Ints, a: int) -> int:
    """The root of a set of a union-find forest, halving the path to it."""
    while root[a] != a:
        root[a] = root[root[a]]
        a = root[a]
    return a


@compiled
def agglomerate(n: int, u: Ints, v: Ints) -> tuple[Ints, Ints]:
    """Left and right nodes of the merges that forest edges make, shortest edge first."""
    root = np.arange(n)
    node = np.arange(n)  # the tree node of each set
    left = np.empty(u.size, dtype=np.int64)
    right = np.empty(u.size, dtype=np.int64)
    for k in range(u.size):
        a, b = _find(root, u[k]), _find(root, v[k])
        left[k], right[k] = node[a], node[b]
        root[a] = b
        node[b] = n + k
    return left, right


@compiled
def unite(owner: Ints, i: Ints, j: Ints) -> tuple[Flags, Ints]:
    """Join the components of i and j, edge by edge: which edges joined two, and the new components."""
    n = owner.size
    root = np.arange(n)
    kept = np.zeros(i.size, dtype=np.bool_)
    for k in range(i.size):
        a, b = _find(root, owner[i[k]]), _find(root, owner[j[k]])
        if a != b:
            root[a] = b
            kept[k] = True
    new = np.empty(n, dtype=np.int64)
    for t in range(n):
        new[t] = _find(root, owner[t])
    return kept, new


class Growing(NamedTuple):
    """A minimum spanning tree that grows from object 0 on, by one edge a step (Prim).

    Attributes
    ----------
    best, source : ndarrays
        The shortest way of each object outside to the tree, and the object of the tree where it ends.
    left : ndarray of int
        The objects outside, in the first places.
    u, v, w : ndarrays
        The edges: from the tree, to the object that joined, how long.
    """

    best: Floats
    source: Ints
    left: Ints
    u: Ints
    v: Ints
    w: Floats


@compiled
def squares_to(X: Floats, others: Ints) -> Floats:
    """Squared distances of rows to one other row each, rounded as :func:`grow_features` rounds them.

    So a distance that is a core of one of its ends is exactly that core, in every unit of length.
    """
    n, d = others.size, X.shape[1]
    out = np.empty(n)
    for i in range(n):
        total = 0.0
        for f in range(d):
            difference = X[i, f] - X[others[i], f]
            total += difference * difference
        out[i] = total
    return out


@compiled
def grow_features(X: Floats, cores: Floats, tree: Growing, first: int, last: int) -> None:
    """Steps ``first`` to ``last`` of the exact tree of all pairs of rows: O(n² d) time, O(n) memory in all.

    A pair is as far apart as its distance, or the larger of its two ``cores`` where that is more (squared).
    """
    n, d = X.shape
    best, source, left, u, v, w = tree
    new = v[first - 1] if first > 0 else 0
    for step in range(first, last):
        nearest, place = np.inf, 0
        for t in range(n - 1 - step):
            i = left[t]
            total = 0.0
            for f in range(d):
                difference = X[i, f] - X[new, f]
                total += difference * difference
            total = max(total, max(cores[i], cores[new]))
            if total < best[i]:
                best[i], source[i] = total, new
            if best[i] < nearest:
                nearest, place = best[i], t
        new = left[place]
        left[place] = left[n - 2 - step]
        u[step], v[step], w[step] = source[new], new, np.sqrt(nearest)


@compiled
def grow_matrix(D: Any, cores: Floats, tree: Growing, first: int, last: int) -> None:
    """The same for a matrix of distances, read once in all; ``cores`` are not squared here."""
    n = D.shape[0]
    best, source, left, u, v, w = tree
    new = v[first - 1] if first > 0 else 0
    for step in range(first, last):
        nearest, place = np.inf, 0
        for t in range(n - 1 - step):
            i = left[t]
            far = D[new, i]
            if far > 0.0:  # objects at no distance are one
                far = max(far, max(cores[new], cores[i]))
            if far < best[i]:
                best[i], source[i] = far, new
            if best[i] < nearest:
                nearest, place = best[i], t
        new = left[place]
        left[place] = left[n - 2 - step]
        u[step], v[step], w[step] = source[new], new, nearest


class Boxes(NamedTuple):
    """A k-d tree, its nodes numbered as a heap: ``points[first:last]`` lie in the box from low to high."""

    points: Ints
    first: Ints
    last: Ints
    low: Floats
    high: Floats


@compiled
def components_of(boxes: Boxes, owner: Ints) -> Ints:
    """The component of all points of each box, -1 where there are several."""
    points, first, last, _, _ = boxes
    nodes = first.size
    inside = np.empty(nodes, dtype=np.int64)  # the component of all points below, or -1
    for node in range(nodes - 1, -1, -1):
        if 2 * node + 1 >= nodes:
            inside[node] = owner[points[first[node]]] if last[node] > first[node] else -1
            for t in range(first[node], last[node]):
                if owner[points[t]] != inside[node]:
                    inside[node] = -1
        else:
            a, b = inside[2 * node + 1], inside[2 * node + 2]
            inside[node] = a if a == b else -1
    return inside


@compiled
def join_nearest(
    X: Floats, cores: Floats, boxes: Boxes, owner: Ints, inside: Ints,
    ends_i: Ints, ends_j: Ints, best: Floats, begin: int, end: int,
) -> None:  # fmt: skip
    """A part of a round of Boruvka's algorithm over a k-d tree: each component's shortest edge to another.

    ``owner`` holds the component (a leaf's number) of each point, ``inside`` that of boxes. The points in the
    places from ``begin`` to ``end`` look for others; subtrees within one component and boxes farther than the
    best edge so far are passed over. ``cores`` as for :func:`grow_features`. Ends and squared lengths of the
    best edges are indexed by component (-1: none).
    """
    points, first, last, low, high = boxes
    d, nodes = X.shape[1], first.size
    stack = np.empty(128, dtype=np.int64)
    for t in range(begin, end):
        i = points[t]  # in the tree's order, so that neighbours follow each other
        mine = owner[i]
        size = 1
        stack[0] = 0
        while size > 0:
            size -= 1
            node = stack[size]
            if inside[node] == mine:
                continue
            gap = 0.0
            for f in range(d):
                away = max(low[node, f] - X[i, f], X[i, f] - high[node, f])
                if away > 0.0:
                    gap += away * away
            if max(gap, cores[i]) >= best[mine]:
                continue
            if 2 * node + 1 >= nodes:
                for s in range(first[node], last[node]):
                    j = points[s]
                    if owner[j] == mine:
                        continue
                    total = 0.0
                    for f in range(d):
                        difference = X[i, f] - X[j, f]
                        total += difference * difference
                    total = max(total, max(cores[i], cores[j]))
                    if total < best[mine]:
                        best[mine], ends_i[mine], ends_j[mine] = total, i, j
                    if total < best[owner[j]]:
                        best[owner[j]], ends_i[owner[j]], ends_j[owner[j]] = total, i, j
                continue
            # the nearer child is looked at first: it is pushed last
            a, b = 2 * node + 1, 2 * node + 2
            reach_a, reach_b = 0.0, 0.0
            for f in range(d):
                away = max(low[a, f] - X[i, f], X[i, f] - high[a, f])
                reach_a += away * away if away > 0.0 else 0.0
                away = max(low[b, f] - X[i, f], X[i, f] - high[b, f])
                reach_b += away * away if away > 0.0 else 0.0
            stack[size] = b if reach_a <= reach_b else a
            stack[size + 1] = a if reach_a <= reach_b else b
            size += 2
