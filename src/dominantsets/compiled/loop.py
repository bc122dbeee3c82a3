"""The compiled loop of the first-order methods: the step, the passes over r, the loop, replicator dynamics.

Conventions: a compiled function takes plain arrays (or a named tuple of them), allocates nothing that grows
with n, releases the GIL, and returns after a bounded number of steps so that Python can check Ctrl-C, the
clock and the callback in between.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import compiled, larger, smaller

FW, PAIRWISE, AWAY = 0, 1, 2  # rules, the values of solvers.frank_wolfe.RULES
TOWARD, RETREAT, EXCHANGE, DROP, SWAP, JUMP = 0, 1, 2, 3, 4, 5  # kinds, the values of Step
PAUSED, LOOK, WANT_COLUMN = 0, 1, 2  # why `ascend` came back
TOP, LOW, SIZE, WANTED = 0, 1, 2, 3  # places in Walk.counters: i, j and two more
BLOCK = 256  # objects of a block: of each, the largest and smallest r are kept
FEW = 6  # a support of less than one object in so many is searched as a list
STRIDE = 32  # objects compared at once when the place of such a number is sought


class Walk(NamedTuple):
    """Where a first-order method stands: x and everything derived from it.

    ``x = scale * y``: a Frank-Wolfe step multiplies all of x, here that is one number.
    ``fence`` is -inf inside the support and +inf outside, so that ``max(r, fence)`` has the smallest
    payoff of the support as its minimum. Removed objects have ``r = -inf`` and never win a maximum.
    """

    y: NDArray[np.float64]
    fence: NDArray[np.float32]
    r: NDArray[np.float64]
    block_max: NDArray[np.float64]
    block_min: NDArray[np.float64]
    members: NDArray[np.int64]  # the support as a list, in no order
    place: NDArray[np.int64]  # where an object stands in it
    numbers: NDArray[np.float64]  # f, scale
    counters: NDArray[np.int64]  # i, j, size of the support, column wanted


class Record(NamedTuple):
    """Arrays for the trace of a chunk; arrays of length 0 switch it off."""

    f: NDArray[np.float64]
    gap: NDArray[np.float64]
    size: NDArray[np.int64]
    kind: NDArray[np.int8]


@compiled
def _at(values: NDArray[np.float64], i: int) -> Any:
    return values[i] if values.size > 1 else values[0]


@compiled
def step(
    rule: int, alpha_i: float, alpha_j: float, f: float, r_i: float, r_j: float, x_i: float, x_j: float,
    a_ij: float,
) -> tuple[float, float, float, int]:  # fmt: skip
    """One step ``x <- c x + p e_i - q e_j`` of the exact line search: (c, p, q, kind).

    Written for B = A - diag(alpha), so that f and r here are the paper's minus alpha. Where the curvature
    along the direction is not negative the whole step is taken.
    """
    if rule == PAIRWISE:
        gamma = x_j
        curvature = 2.0 * a_ij + alpha_i + alpha_j
        if curvature > 0.0 and (r_i - r_j) < gamma * curvature:
            return 1.0, (r_i - r_j) / curvature, (r_i - r_j) / curvature, EXCHANGE
        return 1.0, gamma, gamma, (DROP if x_i > 0.0 else SWAP)
    if rule == AWAY and r_i - f < f - r_j:
        gamma = x_j / (1.0 - x_j)
        curvature = 2.0 * r_j - f + alpha_j
        if curvature > 0.0 and (f - r_j) < gamma * curvature:
            gamma = (f - r_j) / curvature
            return 1.0 + gamma, 0.0, gamma, RETREAT
        return 1.0 + gamma, 0.0, gamma, DROP
    curvature = 2.0 * r_i - f + alpha_i
    if curvature > 0.0 and (r_i - f) < curvature:
        gamma = (r_i - f) / curvature
        return 1.0 - gamma, gamma, 0.0, TOWARD
    return 0.0, 1.0, 0.0, JUMP


@compiled
def _top(r: NDArray[np.float64], value: float) -> int:
    """First place of the maximum ``value`` of r, by strides that are reduced in vector code."""
    start = 0
    while start + STRIDE < r.size:
        part = r[start : start + STRIDE]
        top = -np.inf
        for k in range(part.size):
            top = larger(top, part[k])
        if top == value:
            break
        start += STRIDE
    part = r[start:]
    for k in range(part.size):
        if part[k] == value:
            return start + k
    return 0


@compiled
def _bottom(r: NDArray[np.float64], fence: NDArray[np.float32], value: float) -> int:
    """First place in the support of its minimum ``value``."""
    start = 0
    while start + STRIDE < r.size:
        part, wall = r[start : start + STRIDE], fence[start : start + STRIDE]
        bottom = np.inf
        for k in range(part.size):
            bottom = smaller(bottom, larger(part[k], np.float64(wall[k])))
        if bottom == value:
            break
        start += STRIDE
    part, wall = r[start:], fence[start:]
    for k in range(part.size):
        if larger(part[k], np.float64(wall[k])) == value:
            return start + k
    return 0


@compiled
def _look(walk: Walk, with_minimum: bool) -> None:
    """Turn the block extremes into the indices i and j, ties to the lowest index."""
    n = walk.r.size
    top, top_block = -np.inf, 0
    for b in range(walk.block_max.size):
        if walk.block_max[b] > top:
            top, top_block = walk.block_max[b], b
    s = top_block * BLOCK
    walk.counters[TOP] = s + _top(walk.r[s : min(n, s + BLOCK)], top)
    if not with_minimum:
        return
    bottom, bottom_block = np.inf, 0
    for b in range(walk.block_min.size):
        if walk.block_min[b] < bottom:
            bottom, bottom_block = walk.block_min[b], b
    s = bottom_block * BLOCK
    e = min(n, s + BLOCK)
    walk.counters[LOW] = s + _bottom(walk.r[s:e], walk.fence[s:e], bottom)


@compiled
def _low_of_members(walk: Walk) -> None:
    """j from the list of members: cheaper than the fence where they are few."""
    low, where = np.inf, 0
    for t in range(walk.counters[SIZE]):
        k = walk.members[t]
        v = walk.r[k]
        if v < low or (v == low and k < where):
            low, where = v, k
    walk.counters[LOW] = where


@compiled
def survey(walk: Walk) -> None:
    """Find i and j from scratch."""
    n = walk.r.size
    for b in range(walk.block_max.size):
        s = b * BLOCK
        e = min(n, s + BLOCK)
        r, fence = walk.r[s:e], walk.fence[s:e]
        top, bottom = -np.inf, np.inf
        for k in range(r.size):
            top = larger(top, r[k])
            bottom = smaller(bottom, larger(r[k], np.float64(fence[k])))
        walk.block_max[b], walk.block_min[b] = top, bottom
    _look(walk, True)


@compiled
def _advance_one(walk: Walk, c: float, p: float, a: NDArray[np.float64], with_minimum: bool) -> None:
    """r <- c r + p a for one column, noting the extremes of every block on the way."""
    n = walk.r.size
    for b in range(walk.block_max.size):
        s = b * BLOCK
        e = min(n, s + BLOCK)
        r, fence, column = walk.r[s:e], walk.fence[s:e], a[s:e]
        top, bottom = -np.inf, np.inf
        if with_minimum:
            for k in range(r.size):
                v = c * r[k] + p * column[k]
                r[k] = v
                top = larger(top, v)
                bottom = smaller(bottom, larger(v, np.float64(fence[k])))
        else:
            for k in range(r.size):
                v = c * r[k] + p * column[k]
                r[k] = v
                top = larger(top, v)
        walk.block_max[b] = top
        walk.block_min[b] = bottom


@compiled
def _advance_two(
    walk: Walk, p: float, a: NDArray[np.float64], o: NDArray[np.float64], with_minimum: bool
) -> None:
    """r <- r + p (a - o) for two columns, noting the extremes of every block on the way."""
    n = walk.r.size
    for b in range(walk.block_max.size):
        s = b * BLOCK
        e = min(n, s + BLOCK)
        r, fence, column, other = walk.r[s:e], walk.fence[s:e], a[s:e], o[s:e]
        top, bottom = -np.inf, np.inf
        if with_minimum:
            for k in range(r.size):
                v = r[k] + p * (np.float64(column[k]) - np.float64(other[k]))
                r[k] = v
                top = larger(top, v)
                bottom = smaller(bottom, larger(v, np.float64(fence[k])))
        else:
            for k in range(r.size):
                v = r[k] + p * (np.float64(column[k]) - np.float64(other[k]))
                r[k] = v
                top = larger(top, v)
        walk.block_max[b] = top
        walk.block_min[b] = bottom


@compiled
def _settle(walk: Walk) -> None:
    """Make y the weights themselves again (scale 1)."""
    scale = walk.numbers[1]
    if scale != 1.0:
        for k in range(walk.y.size):
            walk.y[k] *= scale
        walk.numbers[1] = 1.0


@compiled
def _jump(walk: Walk, i: int, alpha: float, column: NDArray[np.float64]) -> None:
    """All mass to object i: the whole Frank-Wolfe step, where multiplying -inf by c = 0 won't do."""
    for k in range(walk.r.size):
        walk.y[k] = 0.0
        walk.fence[k] = np.inf
        if walk.r[k] > -np.inf:
            walk.r[k] = column[k]
    walk.y[i] = 1.0
    walk.fence[i] = -np.inf
    walk.r[i] = -alpha
    walk.numbers[0] = -alpha
    walk.numbers[1] = 1.0
    walk.counters[SIZE] = 1
    walk.members[0], walk.place[i] = i, 0
    survey(walk)


@compiled
def _move(walk: Walk, k: int, weight: float) -> None:
    """Set the weight of object k and keep fence and size in step."""
    was, now = walk.fence[k] < 0.0, weight > 0.0
    walk.y[k] = weight / walk.numbers[1]
    if now and not was:
        size = walk.counters[SIZE]
        walk.fence[k] = -np.inf
        walk.members[size], walk.place[k] = k, size
        walk.counters[SIZE] = size + 1
    elif was and not now:
        last = walk.members[walk.counters[SIZE] - 1]
        walk.fence[k] = np.inf
        walk.members[walk.place[k]], walk.place[last] = last, walk.place[k]
        walk.counters[SIZE] -= 1


@compiled
def ascend(
    rule: int,
    alphas: NDArray[np.float64],
    floor: float,
    budget: int,
    columns: NDArray[np.float64],
    slot: NDArray[np.int64],
    stamp: NDArray[np.int64],
    clock: int,
    walk: Walk,
    record: Record,
) -> tuple[int, int]:
    """Up to ``budget`` steps of one rule; returns (why it came back, steps done).

    Row ``slot[i]`` of ``columns`` is column i of the similarity (off the diagonal; what stands on the
    diagonal is never used); ``alphas`` are what is subtracted there, one number where all share it.
    ``stamp[slot]`` is set to the time of its last use. Comes back with LOOK where the running gap is at most
    ``floor`` or nothing moves: the caller recomputes, and decides.
    """
    tracing = record.f.size > 0
    done = 0
    code = PAUSED
    while done < budget:
        i = walk.counters[TOP]
        j = i if rule == FW else walk.counters[LOW]
        f, scale = walk.numbers[0], walk.numbers[1]
        r_i, r_j = walk.r[i], walk.r[j]
        gap = r_i - f
        if gap <= max(floor, 0.0) or (i == j and rule != FW):
            code = LOOK
            break
        x_i, x_j = walk.y[i] * scale, walk.y[j] * scale
        if rule == PAIRWISE and slot[i] < 0:
            walk.counters[WANTED] = i
            code = WANT_COLUMN
            break
        a_ij = np.float64(columns[slot[i], j]) if rule == PAIRWISE else 0.0
        alpha_i, alpha_j = _at(alphas, i), _at(alphas, j)
        c, p, q, kind = step(rule, alpha_i, alpha_j, f, r_i, r_j, x_i, x_j, a_ij)
        if p > 0.0 and slot[i] < 0:
            walk.counters[WANTED] = i
            code = WANT_COLUMN
            break
        if q > 0.0 and slot[j] < 0:
            walk.counters[WANTED] = j
            code = WANT_COLUMN
            break
        if c == 1.0 and x_i + p == x_i and x_j - q == x_j:
            code = LOOK
            break

        if tracing:
            record.f[done] = f
            record.gap[done] = gap
            record.size[done] = walk.counters[SIZE]
            record.kind[done] = kind
        now = clock + done
        done += 1
        if kind == JUMP:
            stamp[slot[i]] = now
            _jump(walk, i, alpha_i, columns[slot[i]])
            continue
        walk.numbers[0] = (
            c * c * f + 2.0 * c * (p * r_i - q * r_j) - alpha_i * p * p - alpha_j * q * q - 2.0 * p * q * a_ij
        )
        walk.numbers[1] = scale * c
        if walk.numbers[1] < 1e-100 or walk.numbers[1] > 1e100:
            _settle(walk)
        # What stands on the diagonal of a column is not the similarity's: the entry of r that the pass
        # would get wrong is set beforehand so that it comes out right.
        if p > 0.0:
            stamp[slot[i]] = now
            _move(walk, i, c * x_i + p)
            walk.r[i] -= p * (alpha_i + np.float64(columns[slot[i], i])) / c
        if q > 0.0:
            stamp[slot[j]] = now
            _move(walk, j, 0.0 if kind in (DROP, SWAP) else c * x_j - q)
            walk.r[j] += q * (alpha_j + np.float64(columns[slot[j], j])) / c
        few = FEW * walk.counters[SIZE] < walk.r.size
        by_fence = rule != FW and not few
        if rule == PAIRWISE:
            _advance_two(walk, p, columns[slot[i]], columns[slot[j]], by_fence)
        elif q > 0.0:
            _advance_one(walk, c, -q, columns[slot[j]], by_fence)
        else:
            _advance_one(walk, c, p, columns[slot[i]], by_fence)
        _look(walk, by_fence)
        if rule != FW and few:
            _low_of_members(walk)
    _settle(walk)
    return code, done


@compiled
def exchange(
    B: NDArray[np.float64], y: NDArray[np.float64], r: NDArray[np.float64], tol: float, budget: int
) -> int:
    """Pairwise steps within a block of coordinates, in place, the others fixed: how many.

    B has minus the shifts on its diagonal; y keeps its sum, which need not be 1; r are the payoffs of the
    block in the whole problem, so that what is fixed enters through them. Ends where no exchange gains
    ``tol``.
    """
    for done in range(budget):
        i, j = 0, -1
        for k in range(y.size):
            if r[k] > r[i]:
                i = k
            if y[k] > 0.0 and (j < 0 or r[k] < r[j]):
                j = k
        if j < 0 or r[i] - r[j] <= tol:
            return done
        _, gamma, _, kind = step(PAIRWISE, -B[i, i], -B[j, j], 0.0, r[i], r[j], y[i], y[j], B[i, j])
        if y[i] + gamma == y[i] and y[j] - gamma == y[j]:
            return done
        y[i] += gamma
        y[j] = 0.0 if kind in (DROP, SWAP) else y[j] - gamma
        gains, losses = B[i], B[j]
        for k in range(y.size):
            r[k] += gamma * (gains[k] - losses[k])
    return budget


@compiled
def replicate(x: NDArray[np.float64], r: NDArray[np.float64], f: float, lift: float) -> tuple[int, float]:
    """One step x_i <- x_i (r_i + lift) / (f + lift) in place: (support before, squared movement).

    ``lift`` is the largest shift where it is positive (the off-diagonal form), else 0. Weights that underflow
    are set to 0, because denormal numbers would slow every later product down.
    """
    total = 0.0
    moved = 0.0
    size = 0
    for k in range(x.size):
        weight = x[k] * ((r[k] + lift) / (f + lift))
        weight = weight if weight > 1e-290 else 0.0
        size += int(x[k] > 0.0)
        difference = weight - x[k]
        moved += difference * difference
        total += weight
        x[k] = weight
    for k in range(x.size):
        x[k] /= total
    return size, moved
