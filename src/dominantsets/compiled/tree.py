"""Compiled passes over single-linkage trees.

A tree of n leaves and m merges is four arrays: ``left``, ``right`` (nodes; a merge k is node n + k),
``height`` (never falling) and what is derived from them. Every function but ``lifetimes`` is a pass over the
merges, up or down, in O(n) time and memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

EPS = float(np.finfo(np.float64).eps)
STRICT, WEAK = 1, 2  # kinds of maxima
FITS = 2.0**61  # products of whole numbers below it, and sums of two of them, fit into 64 bits


@compiled
def lay_out(n: int, left: Ints, right: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Parent and size of every node, and an order of the leaves in which every node is a range.

    Returns parent (-1 for a root), size, start of the range, the order itself, and the component of
    each leaf, numbered from 0.
    """
    nodes = n + left.size
    parent = np.full(nodes, -1, dtype=np.int64)
    size = np.ones(nodes, dtype=np.int64)
    for k in range(left.size):
        parent[left[k]] = n + k
        parent[right[k]] = n + k
        size[n + k] = size[left[k]] + size[right[k]]
    start = np.empty(nodes, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    root = np.empty(nodes, dtype=np.int64)
    place, count = 0, 0
    for node in range(nodes - 1, -1, -1):
        if parent[node] < 0:
            start[node] = place
            root[node] = count
            place += size[node]
            count += 1
        if node >= n:
            a, b = left[node - n], right[node - n]
            start[a], start[b] = start[node], start[node] + size[a]
            root[a], root[b] = root[node], root[node]
        else:
            order[start[node]] = node
    return parent, size, start, order, root[:n].copy()


@compiled
def fill_column(
    i: int, n: int, top: float, left: Ints, right: Ints, height: Floats,
    parent: Ints, size: Ints, start: Ints, order: Ints, out: Floats,
) -> None:  # fmt: skip
    """Similarities top - height of leaf i to all others: each ancestor fills its other side."""
    node = i
    while parent[node] >= 0:
        above = parent[node]
        other = right[above - n] if left[above - n] == node else left[above - n]
        similarity = top - height[above - n]
        for place in range(start[other], start[other] + size[other]):
            out[order[place]] = similarity
        node = above


@compiled
def multiply(n: int, top: float, left: Ints, right: Ints, height: Floats, mass: Floats) -> Floats:
    """Product of the similarity with the weights ``mass[:n]``; the rest of ``mass`` is working space."""
    m = left.size
    for k in range(m):
        mass[n + k] = mass[left[k]] + mass[right[k]]
    out = np.zeros(n + m)
    for k in range(m - 1, -1, -1):
        a, b, similarity = left[k], right[k], top - height[k]
        out[a] = out[n + k] + similarity * mass[b]
        out[b] = out[n + k] + similarity * mass[a]
    return out[:n]


@compiled
def _common_divisor(a: int, b: int) -> int:
    while b != 0:
        a, b = b, a % b
    return a


@compiled
def _joined(b: int, P: int, k: int, Q: int, m: int) -> tuple[int, int]:
    """b - pq / (p + q) with p = P / k and q = Q / m, as a reduced fraction; (0, 0) where it does not fit."""
    if max(float(P) * m, float(Q) * k, float(P) * Q) >= FITS:
        return 0, 0
    below = P * m + Q * k
    if abs(float(b)) * below >= FITS:
        return 0, 0
    over = b * below - P * Q
    common = _common_divisor(abs(over), below)
    return over // common, below // common


@compiled
def ascend_tree(
    n: int, c: float, left: Ints, right: Ints, height: Floats, alive: Flags, rounding: float, scale: float,
    exact: bool,
) -> tuple[Floats, Floats, Flags, Flags, Flags, Ints, Ints, Ints]:  # fmt: skip
    """The upward pass: what each node's side can reach.

    Returns, for every node, the largest value G of a maximum below it, how far that is below what the next
    real merge offers (gap), whether the sign of this is sure, whether all of its leaves are one maximum
    (fused), whether that is sure, the node it stands for once removed leaves are left out (-1: nothing
    alive), the node of the next real merge above, and the lowest leaf.

    A sign is sure where the gap exceeds rounding: ``rounding`` is how far one merge may be off, and what
    its sides are off is carried up by bounds of the derivatives. Where ``scale`` times c and all heights
    are whole numbers, values are fractions, and signs are exact as long as these fit into 64 bits
    (``scale`` 0: they are not). ``exact`` says whether c itself is without rounding.
    """
    m = left.size
    value, gap, error = np.zeros(n + m), np.zeros(n + m), np.zeros(n + m)
    sure = np.zeros(n + m, dtype=np.bool_)
    fused = np.zeros(n + m, dtype=np.bool_)
    settled = np.zeros(n + m, dtype=np.bool_)
    stands = np.full(n + m, -1, dtype=np.int64)
    above = np.full(n + m, -1, dtype=np.int64)
    lowest = np.full(n + m, n, dtype=np.int64)
    over = np.zeros(n + m, dtype=np.int64)  # value = over / under / scale
    under = np.zeros(n + m, dtype=np.int64)  # 0: not known
    apart = np.zeros(n + m, dtype=np.int64)  # gap = apart / under / scale
    for i in range(n):
        if alive[i]:
            fused[i], settled[i], stands[i], lowest[i] = True, True, i, i
            under[i] = 1 if scale > 0.0 else 0
    for k in range(m):
        node = n + k
        a, b = stands[left[k]], stands[right[k]]
        if a < 0 or b < 0:
            stands[node] = max(a, b)
            continue
        stands[node] = node
        above[a], above[b] = node, node
        lowest[node] = min(lowest[a], lowest[b])
        meet = c - height[k]
        back = meet - c  # c - height is exact where what was rounded off is 0
        plain = exact and (c - (meet - back)) - (height[k] + back) == 0.0
        whole = int(meet * scale)
        for side in (a, b):
            gap[side] = meet - value[side]
            sure[side] = abs(gap[side]) > error[side] + rounding
            if under[side] > 0 and abs(meet * scale) * under[side] < FITS:
                apart[side] = whole * under[side] - over[side]
                gap[side] = apart[side] / under[side] / scale
                sure[side] = True
            else:
                under[side] = 0
                if plain and value[side] == 0.0 and error[side] == 0.0:
                    sure[side] = True
        p, q = gap[a], gap[b]
        fused[node] = p > 0.0 and q > 0.0 and fused[a] and fused[b]
        settled[node] = sure[a] and sure[b] and settled[a] and settled[b]
        for side in (a, b):  # one reason is enough
            if (sure[side] and gap[side] <= 0.0) or (settled[side] and not fused[side]):
                settled[node] = True
        known = under[a] > 0 and under[b] > 0
        if fused[node]:
            value[node] = meet - p * (q / (p + q))
            if known:
                over[node], under[node] = _joined(whole, apart[a], under[a], apart[b], under[b])
            more_p, more_q = p + error[a] + rounding, q + error[b] + rounding
            less_p = max(p - error[a] - rounding, 0.0)
            less_q = max(q - error[b] - rounding, 0.0)
            s, t = more_q / (less_p + more_q), more_p / (less_q + more_p)
            carried = min(max(error[a], error[b]), s * s * error[a] + t * t * error[b])
            error[node] = rounding + carried
            if under[node] > 0:
                value[node], error[node] = over[node] / under[node] / scale, rounding
        else:
            best = a if p < q or (p == q and value[a] >= value[b]) else b
            value[node] = value[best]
            error[node] = max(error[a], error[b]) + (0.0 if settled[node] else rounding)
            if known and abs(float(over[a])) * under[b] < FITS and abs(float(over[b])) * under[a] < FITS:
                best = a if over[a] * under[b] >= over[b] * under[a] else b
                over[node], under[node], value[node] = over[best], under[best], value[best]
    return value, gap, sure, fused, settled, stands, above, lowest


@compiled
def _rival(gap: float) -> int:
    """How the other side of a merge compares with what it offers: below 0, equal 1, above 2."""
    return 2 if gap < 0.0 else (1 if gap == 0.0 else 0)


@compiled
def find_maxima(
    n: int, left: Ints, right: Ints, height: Floats, gap: Floats, sure: Flags, fused: Flags,
    settled: Flags, stands: Ints, above: Ints,
) -> tuple[NDArray[np.int8], Flags]:  # fmt: skip
    """Kind of maximum that each node is, 0 (none), STRICT or WEAK, and whether that is sure.

    A fused node directly below an unfused merge is a maximum where its value exceeds what the other side
    offers, or equals it while every other side at that height is itself worth less (equal: a flat
    segment, weak). A node that is worth less than what its merge offers is none, whatever else is so.
    """
    nodes = gap.size
    kind = np.zeros(nodes, dtype=np.int8)
    decided = np.ones(nodes, dtype=np.bool_)
    rivals = np.zeros(nodes, dtype=np.int64)  # the best other side above a merge, at the merge's height
    compared = np.ones(nodes, dtype=np.bool_)  # whether these are all sure
    for node in range(nodes - 1, -1, -1):
        if stands[node] != node:
            continue
        up = above[node]
        if up < 0:
            kind[node], decided[node] = STRICT if fused[node] else 0, settled[node]
            continue
        a, b = stands[left[up - n]], stands[right[up - n]]
        other = b if a == node else a
        rival, certain = max(_rival(gap[other]), rivals[up]), sure[other] and compared[up]
        if node >= n and height[node - n] == height[up - n]:
            rivals[node], compared[node] = rival, certain
        if fused[node] and gap[node] < 0.0:
            kind[node] = STRICT
        elif fused[node] and gap[node] == 0.0 and rival < 2:
            kind[node] = STRICT if rival == 0 else WEAK
        if sure[node] and gap[node] > 0.0:
            continue
        if fused[node] or not settled[node]:
            decided[node] = settled[node] and sure[node] and (gap[node] < 0.0 or certain)
    return kind, decided


@compiled
def spread(n: int, left: Ints, right: Ints, gap: Floats, stands: Ints, chosen: Flags) -> tuple[Floats, Ints]:
    """The downward pass: weights of the leaves below the chosen nodes, and which node each is below."""
    m = left.size
    weight = np.zeros(n + m)
    member = np.full(n + m, -1, dtype=np.int64)
    for node in range(n + m - 1, -1, -1):
        if stands[node] == node and chosen[node]:
            weight[node], member[node] = 1.0, node
        if node < n or member[node] < 0:
            continue
        a, b = stands[left[node - n]], stands[right[node - n]]
        p, q = gap[a], gap[b]
        weight[a] = weight[node] * (q / (p + q))
        weight[b] = weight[node] * (p / (p + q))
        member[a], member[b] = member[node], member[node]
    return weight[:n].copy(), member[:n].copy()


@compiled
def inner_payoffs(
    n: int, top: float, left: Ints, right: Ints, height: Floats, weight: Floats, member: Ints
) -> Floats:
    """Product of each maximum's weights with the similarity among its own members, all at once."""
    m = left.size
    mass = np.zeros(n + m)
    owner = np.full(n + m, -1, dtype=np.int64)
    for i in range(n):
        mass[i], owner[i] = weight[i], member[i]
    for k in range(m):
        a, b = left[k], right[k]
        mass[n + k] = mass[a] + mass[b]
        if mass[a] == 0.0 or mass[b] == 0.0:
            owner[n + k] = owner[b] if mass[a] == 0.0 else owner[a]
        elif owner[a] == owner[b]:
            owner[n + k] = owner[a]
        else:
            owner[n + k] = -2  # two maxima meet here: nothing of it is inside one
    out = np.zeros(n + m)
    for k in range(m - 1, -1, -1):
        a, b = left[k], right[k]
        if owner[n + k] >= 0 and mass[a] > 0.0 and mass[b] > 0.0:
            similarity = top - height[k]
            out[a] = out[n + k] + similarity * mass[b]
            out[b] = out[n + k] + similarity * mass[a]
        else:
            inherited = out[n + k] if owner[n + k] >= 0 else 0.0
            out[a] = inherited
            out[b] = inherited
    return out[:n]


@compiled
def postorder(n: int, left: Ints, right: Ints, parent: Ints) -> Ints:
    """The merges in an order in which every subtree's are consecutive, children first."""
    m = left.size
    out = np.empty(m, dtype=np.int64)
    stack = np.empty(m + 1, dtype=np.int64)
    place = m
    for root in range(n + m - 1, n - 1, -1):
        if parent[root] >= 0:
            continue
        size = 1
        stack[0] = root
        while size > 0:  # node, right, left; written from the back, it is left, right, node
            size -= 1
            node = stack[size]
            place -= 1
            out[place] = node - n
            for child in (left[node - n], right[node - n]):
                if child >= n:
                    stack[size] = child
                    size += 1
    return out


@compiled
def lifetimes(
    n: int, left: Ints, right: Ints, height: Floats, parent: Ints, size: Ints, sequence: Ints,
    first: int, last: int, lower: Floats, upper: Floats, u: Floats, du: Floats,
) -> None:  # fmt: skip
    """For merges first to last (in postorder), the c from which and up to which they are dominant sets.

    A node is one while u < height of its parent, where u(c) = c on leaves and h + pq/(p + q) with
    p = u_left - h, q = u_right - h on merges, which grows with c. Solved by Newton's method within a
    bracket. ``lower`` and ``upper`` hold the leaves' values and those of earlier merges already; u and
    du are working space.
    """
    for place in range(first, last):
        k = sequence[place]
        node = n + k
        lower[node] = max(upper[left[k]], upper[right[k]])
        if parent[node] < 0:
            upper[node] = np.inf
            continue
        target = height[parent[node] - n]
        if target <= height[k]:
            upper[node] = lower[node]
            continue
        lo, hi = lower[node], max(lower[node], size[node] * target)
        c = 0.5 * (lo + hi) if size[node] > 2 else 2.0 * target - height[k]
        for _ in range(200):
            for t in range(place - (size[node] - 2), place + 1):
                j = sequence[t]
                a, b = left[j], right[j]
                p = (u[a] if a >= n else c) - height[j]
                q = (u[b] if b >= n else c) - height[j]
                if p <= 0.0 or q <= 0.0:
                    u[n + j], du[n + j] = height[j], 1.0
                    continue
                s = q / (p + q)
                u[n + j] = height[j] + p * s
                du[n + j] = s * s * (du[a] if a >= n else 1.0) + (1.0 - s) * (1.0 - s) * (
                    du[b] if b >= n else 1.0
                )
            error = u[node] - target
            if error > 0.0:
                hi = c
            else:
                lo = c
            new = c - error / du[node]
            if not lo < new < hi:
                new = 0.5 * (lo + hi)
            if abs(new - c) <= 4e-16 * abs(c) or error == 0.0:
                break
            c = new
        upper[node] = c


@compiled
def closed_ends(
    n: int, left: Ints, right: Ints, height: Floats, parent: Ints, size: Ints, upper: Floats
) -> Flags:
    """Whether a node is still a strict maximum at its upper end: no other side there lasts as long.

    An end is off by the rounding of u over its slope, which is at least one over the number of leaves.
    """
    nodes = upper.size
    closed = np.zeros(nodes, dtype=np.bool_)
    longest = np.full(nodes, -np.inf)  # of the other sides above a merge, at the merge's height
    for node in range(nodes - 1, -1, -1):
        up = parent[node]
        if up < 0:
            continue
        other = right[up - n] if left[up - n] == node else left[up - n]
        rival = max(upper[other] * (1.0 + 16.0 * EPS * size[other]), longest[up])
        if node >= n and height[node - n] == height[up - n]:
            longest[node] = rival
        closed[node] = rival < upper[node] * (1.0 - 16.0 * EPS * size[node])
    return closed
