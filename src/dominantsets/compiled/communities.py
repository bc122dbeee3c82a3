"""Compiled moves of nodes between the groups of a graph, one at a time, while each of them gains."""

from __future__ import annotations

from math import lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled.jit import compiled


class Level(NamedTuple):
    """A graph whose nodes may stand for several of the first graph; its diagonal is in ``loops``.

    Attributes
    ----------
    indptr, indices, data : ndarray
        The CSR matrix, with both directions of every edge.
    loops : ndarray of float
        Weight of the edges inside each node, one direction.
    ends : ndarray of float
        Weight of all edge ends of each node.
    sizes : ndarray of int
        Nodes of the first graph that each node stands for.
    """

    indptr: Ints
    indices: NDArray[np.int32]
    data: Floats
    loops: Floats
    ends: Floats
    sizes: Ints


class Groups(NamedTuple):
    """Groups of the nodes of a level, and the nodes that wait to be looked at.

    Attributes
    ----------
    labels : ndarray of int
        Group of each node.
    within : ndarray of int
        Group of each node that it may not leave, for parts of groups.
    edges, ends, sizes : ndarray
        Weight of the edges inside each group, of its edge ends, and its nodes of the first graph.
    empty : ndarray of int
        Numbers of groups without nodes, a stack.
    queue : ndarray of int
        Nodes that wait, in a ring.
    waits : ndarray of bool
        Whether a node waits.
    state : ndarray of int
        Where the ring begins, nodes that wait, groups, empty groups, edges looked at, moves.
    sums : ndarray of float
        Sum of ``edges``, and of the squares of ``ends``.
    values : ndarray of float
        What each group adds to the goal.
    tied : ndarray of float
        Room: weight of the edges of a node to each group, all zero before and after.
    """

    labels: Ints
    within: Ints
    edges: Floats
    ends: Floats
    sizes: Ints
    empty: Ints
    queue: Ints
    waits: Flags
    state: Ints
    sums: Floats
    values: Floats
    tied: Floats


class Goal(NamedTuple):
    """What moves are to raise: the modularity at a resolution, or the nats saved.

    Attributes
    ----------
    resolution : float
        Of modularity; 0 for nats.
    total : float
        Weight of all edges.
    factorials : ndarray of float
        Logarithms of 0!, 1!, ..., n!.
    """

    resolution: float
    total: float
    factorials: Floats


@compiled
def of_degrees(ends: float) -> float:
    """Minus the logarithm of the probability that edge ends are dealt as they are, near log(2π ends) / 2."""
    return float(lgamma(ends + 1.0) - ends * log(ends) + ends) if ends > 0.0 else 0.0


@compiled
def of_group(edges: float, ends: float, size: int, goal: Goal) -> float:
    """What a group adds to the goal."""
    if size == 0:
        return 0.0
    if goal.resolution > 0.0:
        return float(edges - goal.resolution * ends * ends / (4.0 * goal.total))
    value: float = goal.factorials[size]
    out = max(ends - 2.0 * edges, 0.0)
    value -= of_degrees(ends) - of_degrees(out)
    value -= log(1.0 + min(0.5 * size * (size - 1.0), 0.5 * ends))
    if edges > 0.0:
        value += lgamma(edges + 1.0) + 2.0 * edges * log(2.0 * goal.total / ends)
    if size == 1:
        return value
    pairs = 0.5 * size * (size - 1.0)
    p = (ends / size) ** 2 / (2.0 * goal.total)
    if edges > p * pairs and p < 1.0:  # a pair has no more than one edge
        q = min(edges / pairs, 1.0)
        value += pairs * (q - p)
        if q < 1.0:
            value += pairs * (1.0 - q) * log((1.0 - q) / (1.0 - p))
    return value


@compiled
def of_rest(edges: float, squares: float, goal: Goal) -> float:
    """What the edges that are in no group add; ``edges`` are in one, ``squares`` as in ``sums``."""
    if goal.resolution > 0.0:
        return 0.0
    out, pairs = max(goal.total - edges, 0.0), 4.0 * goal.total * goal.total
    linked = out * log(pairs / max(pairs - squares, 1e-12 * pairs))
    return linked + lgamma(out + 1.0) - of_degrees(2.0 * out)


@compiled
def of_number(groups: int, goal: Goal) -> float:
    """What the number of groups adds."""
    if goal.resolution > 0.0:
        return 0.0
    n = goal.factorials.size - 1
    named = log((groups + 1.0) * (groups + 2.0))
    return float(2.0 * goal.factorials[groups] - named + goal.factorials[n - groups])


@compiled
def move(level: Level, groups: Groups, goal: Goal, fixed: bool, budget: int) -> bool:
    """Move nodes that wait to the groups where they add most, until none waits or so many edges were seen.

    A node may also become a group by itself, unless the number of groups is ``fixed``. The neighbors of a
    node that moves wait again. Returns whether any node waits still.
    """
    labels, within, edges, ends, sizes, empty, queue, waits, state, sums, values, tied = groups
    touched = np.empty(labels.size + 1, dtype=np.int64)
    last = state[4] + budget
    while state[1] > 0 and state[4] < last:
        i = queue[state[0]]
        state[0] = (state[0] + 1) % labels.size
        state[1] -= 1
        waits[i] = False
        state[4] += level.indptr[i + 1] - level.indptr[i] + 1
        old, count = labels[i], 1
        touched[0] = old
        for e in range(level.indptr[i], level.indptr[i + 1]):
            j = level.indices[e]
            if within[j] == within[i]:
                k = labels[j]
                if tied[k] == 0.0 and k != old:
                    touched[count] = k
                    count += 1
                tied[k] += level.data[e]
        size = sizes[old] - level.sizes[i]
        if fixed and size < 2:
            for c in range(count):
                tied[touched[c]] = 0.0
            continue
        rest = edges[old] - level.loops[i] - tied[old] if size > 0 else 0.0
        left = ends[old] - level.ends[i] if size > 0 else 0.0
        number = state[2] - (size == 0)
        inner = sums[0] - edges[old] + rest
        squares = sums[1] - ends[old] ** 2 + left**2
        base = of_group(rest, left, size, goal)
        same, other = of_number(number, goal), of_number(number + 1, goal)
        best, high = old, -np.inf
        for c in range(count + 1):
            if c < count:
                k = touched[c]
            elif size > 0 and state[3] > 0 and not fixed:
                k = empty[state[3] - 1]
            else:
                break
            has, had, many = edges[k], ends[k], sizes[k]
            if k == old:
                has, had, many = rest, left, size
            more, all_ends = has + level.loops[i] + tied[k], had + level.ends[i]
            gain = of_group(more, all_ends, many + level.sizes[i], goal)
            gain -= base if k == old else values[k]
            gain += of_rest(inner - has + more, squares - had**2 + all_ends**2, goal)
            gain += other if many == 0 else same
            if gain > high + (0.0 if c == 0 else 1e-9 + 1e-12 * abs(high)):
                best, high = k, gain
        if best != old:
            if sizes[best] == 0:
                state[3] -= 1
            if size == 0:
                empty[state[3]] = old
                state[3] += 1
            state[2] = number + (sizes[best] == 0)
            sums[0], sums[1] = inner - edges[best], squares - ends[best] ** 2
            edges[old], ends[old], sizes[old], values[old] = rest, left, size, base
            edges[best] += level.loops[i] + tied[best]
            ends[best] += level.ends[i]
            sizes[best] += level.sizes[i]
            values[best] = of_group(edges[best], ends[best], sizes[best], goal)
            sums[0] += edges[best]
            sums[1] += ends[best] ** 2
            labels[i] = best
            state[5] += 1
            for e in range(level.indptr[i], level.indptr[i + 1]):
                j = level.indices[e]
                if not waits[j] and labels[j] != best and within[j] == within[i]:
                    waits[j] = True
                    queue[(state[0] + state[1]) % labels.size] = j
                    state[1] += 1
        for c in range(count):
            tied[touched[c]] = 0.0
    return bool(state[1] > 0)


@compiled
def weigh(groups: Groups, goal: Goal) -> None:
    """Set what each group adds to the goal."""
    for k in range(groups.sizes.size):
        groups.values[k] = of_group(groups.edges[k], groups.ends[k], groups.sizes[k], goal)


@compiled
def tally(level: Level, labels: NDArray[np.int64], edges: NDArray[np.float64]) -> None:
    """Add the weight of the edges inside each group to ``edges``."""
    for i in range(labels.size):
        k = labels[i]
        edges[k] += level.loops[i]
        for e in range(level.indptr[i], level.indptr[i + 1]):
            if labels[level.indices[e]] == k:
                edges[k] += 0.5 * level.data[e]
