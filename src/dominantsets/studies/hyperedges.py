"""Products over hyperedges: payoffs, second derivatives, and the pairwise walk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import compiled

LOOK = 1  # the gap seems within tolerance, or nothing can move: recompute and decide
EXCHANGE, DROP, SWAP = 2, 3, 4  # as in solvers.result.Step

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Edges(NamedTuple):
    """Hyperedges of k objects each with their weights, and the edges of every object (as in CSR)."""

    members: Ints
    weights: Floats
    indptr: Ints
    owners: Ints


@compiled
def _rest(members: Ints, e: int, x: Floats, a: int, b: int) -> float:
    """The product of the weights of an edge's objects, besides a and b."""
    product = 1.0
    for place in range(members.shape[1]):
        v = members[e, place]
        if v != a and v != b:
            product *= x[v]
    return product


@compiled
def payoffs(edges: Edges, x: Floats) -> Floats:
    """The derivative of f with respect to every weight."""
    out = np.zeros(x.size)
    k = edges.members.shape[1]
    for e in range(edges.weights.size):
        for place in range(k):
            product = edges.weights[e]
            for other in range(k):
                if other != place:
                    product *= x[edges.members[e, other]]
            out[edges.members[e, place]] += product
    return out


@compiled
def second_derivatives(edges: Edges, x: Floats, numbered: Ints, size: int) -> Floats:
    """Those of f with respect to two objects; ``numbered`` is the row of an object, or -1 for none."""
    out = np.zeros((size, size))
    k = edges.members.shape[1]
    for e in range(edges.weights.size):
        for first in range(k):
            i = edges.members[e, first]
            for second in range(first):
                j = edges.members[e, second]
                if numbered[i] >= 0 and numbered[j] >= 0:
                    value = edges.weights[e] * _rest(edges.members, e, x, i, j)
                    out[numbered[i], numbered[j]] += value
                    out[numbered[j], numbered[i]] += value
    return out


@compiled
def _has(members: Ints, e: int, v: int) -> bool:
    found = False
    for place in range(members.shape[1]):
        found |= members[e, place] == v
    return found


@compiled
def _curvature(edges: Edges, x: Floats, i: int, j: int) -> float:
    """The second derivative of f with respect to two objects."""
    total = 0.0
    for place in range(edges.indptr[i], edges.indptr[i + 1]):
        e = edges.owners[place]
        if _has(edges.members, e, j):
            total += edges.weights[e] * _rest(edges.members, e, x, i, j)
    return total


@compiled
def _exchange(edges: Edges, x: Floats, r: Floats, i: int, j: int, gamma: float) -> None:
    """Move gamma from j to i, and bring the payoffs up to date: only edges of the two change."""
    before = x[i] * x[j]
    after = (x[i] + gamma) * (x[j] - gamma)
    for place in range(edges.indptr[i], edges.indptr[i + 1]):
        e = edges.owners[place]
        both = _has(edges.members, e, j)
        for other in range(edges.members.shape[1]):
            v = edges.members[e, other]
            if not both and v != i:
                r[v] += gamma * edges.weights[e] * _rest(edges.members, e, x, v, i)
            elif both and v == i:
                r[v] -= gamma * edges.weights[e] * _rest(edges.members, e, x, i, j)
            elif both and v == j:
                r[v] += gamma * edges.weights[e] * _rest(edges.members, e, x, i, j)
            elif both:
                left = edges.weights[e]
                for more in range(edges.members.shape[1]):
                    w = edges.members[e, more]
                    if w != i and w != j and w != v:
                        left *= x[w]
                r[v] += (after - before) * left
    for place in range(edges.indptr[j], edges.indptr[j + 1]):
        e = edges.owners[place]
        if not _has(edges.members, e, i):
            for other in range(edges.members.shape[1]):
                v = edges.members[e, other]
                if v != j:
                    r[v] -= gamma * edges.weights[e] * _rest(edges.members, e, x, v, j)
    x[i] += gamma
    x[j] = x[j] - gamma if gamma < x[j] else 0.0


@compiled
def survey(x: Floats, r: Floats) -> tuple[int, int, float, int]:
    """The best object of all, the worst of the support, the mean payoff, and the size of the support."""
    top, low, mean, size = 0, -1, 0.0, 0
    for v in range(x.size):
        if r[v] > r[top]:
            top = v
        if x[v] > 0.0:
            size += 1
            mean += x[v] * r[v]
            if low < 0 or r[v] < r[low]:
                low = v
    return top, low, mean, size


@compiled
def pairwise(edges: Edges, x: Floats, r: Floats, tol: float, budget: int, record: Floats) -> tuple[int, int]:
    """Up to ``budget`` steps from the worst object of the support to the best of all, in place.

    Returns why it came back (0: the budget is used up) and the steps made. A row of ``record``, where it
    has rows, is the mean payoff, the gap, the size of the support and the kind of step.
    """
    for step in range(budget):
        i, j, mean, size = survey(x, r)
        gap = r[i] - mean
        if gap <= tol * mean or i == j:
            return LOOK, step
        curve, gamma, kind = _curvature(edges, x, i, j), x[j], DROP if x[i] > 0.0 else SWAP
        if r[i] - r[j] < 2.0 * curve * gamma:
            gamma, kind = (r[i] - r[j]) / (2.0 * curve), EXCHANGE
        if record.shape[0] > 0:
            record[step, 0], record[step, 1], record[step, 2], record[step, 3] = mean, gap, size, kind
        _exchange(edges, x, r, i, j, gamma)
    return 0, budget
