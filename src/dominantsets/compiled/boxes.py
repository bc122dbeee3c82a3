r"""One box of the search for the global optimum, compiled: its pass, its bound, what of it is left.

With rows y, biases beta and :math:`\kappa`, every x of the simplex with :math:`w = Y^T x` has, for any p and
any tau, with :math:`s_i = y_i \cdot p + \beta_i` and :math:`\hat x_i = \max(0, s_i - \tau) / \kappa_i`,

.. math:: f(x) \le 2 \tau + \sum \kappa_i \hat x_i^2 - |p|^2 + |w - p|^2 - (w - v)^T S^{-1} (w - v)

where S is the scatter of the objects that x may have, or anything above it, and v the image of
:math:`\hat x` made to sum to 1 by their mean (docs/theory-global.md). The right side is a quadratic in w, one
term for each coordinate where S is diagonal: its largest value over a box bounds the box.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import compiled, reassociated

EPS = float(np.finfo(np.float64).eps)
BLOCK = 512  # terms of one partial sum: errors grow with it and with the number of such sums
BATCH = 32  # candidates after which the running bound of tau is renewed
EMPTY, SINGLE, OPEN = 0, 1, 2  # what a survey says of a box
CROWD = 3.0  # times as many objects within reach as in the support: J is near 1 where density is even
PULLS = 12  # steps to the pull that bounds a box within a ball best: it is then known to 1 in 1,000
LEAST = 0.25  # a spread is taken as at least this: what is divided by it keeps its digits


@compiled
def relative_error(count: int, d: int) -> float:
    """Of sums of so many terms, of d products each, in blocks."""
    return 4.0 * (min(count, BLOCK) + count / BLOCK + d) * EPS


@compiled
def _at(values: NDArray[np.float64], i: int) -> Any:
    return values[i] if values.size > 1 else values[0]


@reassociated
def turn(
    U: NDArray[np.float64], centre: NDArray[np.float64], axes: NDArray[np.float64],
    bias: NDArray[np.float64], Y: NDArray[np.float64], beta: NDArray[np.float64],
) -> tuple[float, float]:  # fmt: skip
    """Rows moved and turned, their biases; the longest row's squared length, the largest bias in size."""
    d = centre.size
    off, longest, heaviest = np.empty(d), 0.0, 0.0
    for i in range(len(U)):
        lean, length = bias[i], 0.0
        for j in range(d):
            off[j] = U[i, j] - centre[j]
            lean += off[j] * centre[j]
        for j in range(d):
            total = 0.0
            for g in range(d):
                total += off[g] * axes[g, j]
            Y[i, j] = total
            length += total * total
        beta[i] = lean
        longest, heaviest = max(longest, length), max(heaviest, abs(lean))
    return longest, heaviest


@reassociated
def _values(
    Y: NDArray[np.float64], beta: NDArray[np.float64], objects: NDArray[np.int32],
    p: NDArray[np.float64], s: NDArray[np.float64],
) -> None:  # fmt: skip
    for k in range(objects.size):
        i = objects[k]
        row, total = Y[i], beta[i]
        for j in range(p.size):
            total += row[j] * p[j]
        s[k] = total


@compiled
def _tau(
    s: NDArray[np.float64], inverse: NDArray[np.float64], objects: NDArray[np.int32], low: float,
    keep: NDArray[np.int32],
) -> tuple[float, int]:  # fmt: skip
    """The level at which weights sum to 1, and how many places of ``keep`` exceed it; low is any bound."""
    count, fresh, total, mass = 0, 0, -1.0, 0.0
    for k in range(objects.size):
        if s[k] > low:
            keep[count] = k
            count += 1
            share = _at(inverse, objects[k])
            total += s[k] * share
            mass += share
            fresh += 1
            if fresh == BATCH:
                fresh = 0
                low = max(low, total / mass)
    level = total / mass
    while True:
        left, total, mass = 0, -1.0, 0.0
        for t in range(count):
            k = keep[t]
            if s[k] > level:
                keep[left] = k
                left += 1
                share = _at(inverse, objects[k])
                total += (s[k] - level) * share  # positive terms, and 1 in the end: no digits are lost
                mass += share
        if left == count or left == 0:
            return level, count
        count, level = left, level + total / mass


@reassociated
def _support(
    Y: NDArray[np.float64], inverse: NDArray[np.float64], objects: NDArray[np.int32],
    s: NDArray[np.float64], tau: float, keep: NDArray[np.int32], count: int,
    image: NDArray[np.float64], mean: NDArray[np.float64],
) -> tuple[float, float]:  # fmt: skip
    """Sum of the weights and of kappa times their squares; their image, and the mean of the rows."""
    d = image.size
    image[:], mean[:] = 0.0, 0.0
    part, centre = np.empty(d), np.empty(d)
    whole, squares, mass = 0.0, 0.0, 0.0
    for begin in range(0, count, BLOCK):
        part[:], centre[:] = 0.0, 0.0
        some, square, heavy = 0.0, 0.0, 0.0
        for t in range(begin, min(count, begin + BLOCK)):
            k = keep[t]
            i = objects[k]
            share, over, row = _at(inverse, i), s[k] - tau, Y[i]
            weight = over * share
            some += weight
            square += over * weight
            heavy += share
            for j in range(d):
                part[j] += weight * row[j]
                centre[j] += share * row[j]
        whole += some
        squares += square
        mass += heavy
        for j in range(d):
            image[j] += part[j]
            mean[j] += centre[j]
    for j in range(d):
        mean[j] /= mass
    return whole, squares


@reassociated
def _reached(
    Y: NDArray[np.float64], objects: NDArray[np.int32], s: NDArray[np.float64], level: float,
    mean: NDArray[np.float64], below: NDArray[np.float64], above: NDArray[np.float64],
    out: NDArray[np.int32], part: NDArray[np.float64], middle: NDArray[np.float64], radius: float,
) -> int:  # fmt: skip
    r"""Objects that exceed tau somewhere in the box from p + below to p + above: how many were written.

    Only the part of the box within a radius of p + middle counts.

    One with :math:`s_i = \tau - o` that exceeds tau by e at most has a weight up to :math:`e / \kappa`, and
    pays :math:`2 o x \ge 2 o \kappa x^2 / e` for it, as if its kappa were :math:`1 + 2 o / e` times as
    large: ``part`` is one over that, 1 for objects that exceed tau at p.
    """
    d, count = mean.size, 0
    for k in range(objects.size):
        i = objects[k]
        row, over = Y[i], s[k] - level
        most, along, square = over, over, 0.0
        for j in range(d):
            off = row[j] - mean[j]
            most += max(off * below[j], off * above[j])
            along += off * middle[j]
            square += off * off
        if radius < np.inf:
            most = min(most, along + radius * np.sqrt(square))
        if over > 0.0 or most > 0.0:  # p itself may have been cut off from the box
            out[count] = i
            part[count] = 1.0 if over > 0.0 else most / (most - 2.0 * over)
            count += 1
    return count


@reassociated
def scatter(
    Y: NDArray[np.float64], inverse: NDArray[np.float64], objects: NDArray[np.int32],
    part: NDArray[np.float64], about: NDArray[np.float64], full: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:  # fmt: skip
    """(y - mean)(y - mean)' / kappa summed over objects, and with a part of each; rounded up."""
    d = about.size
    first, other, off = np.zeros(d), np.zeros(d), np.empty(d)
    mass, weight = 0.0, 0.0
    full[:], out[:] = 0.0, 0.0
    for k in range(objects.size):
        i = objects[k]
        row, share = Y[i], _at(inverse, i)
        for j in range(d):
            off[j] = row[j] - about[j]
        less = share * part[k]
        weight += less
        for j in range(d):
            scaled = less * off[j]
            other[j] += scaled
            for g in range(j + 1):
                out[j, g] += scaled * off[g]
        if part[k] < 1.0:
            less = share - less
            mass += less
            for j in range(d):
                scaled = less * off[j]
                first[j] += scaled
                for g in range(j + 1):
                    full[j, g] += scaled * off[g]
    trace = 0.0
    for j in range(d):
        first[j] += other[j]
        for g in range(j + 1):
            full[j, g] += out[j, g]
        trace += full[j, j]
    mass += weight
    for j in range(d):
        for g in range(j + 1):
            full[j, g] -= first[j] * first[g] / mass
            out[j, g] -= other[j] * other[g] / weight
            full[g, j], out[g, j] = full[j, g], out[j, g]
        raised = 4.0 * (objects.size + 16.0) * EPS * trace
        full[j, j] += raised
        out[j, j] += raised


@compiled
def dominating(S: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """The diagonal of a matrix above S: its own, times the largest eigenvalue of its correlations."""
    d = S.shape[0]
    C = np.empty((d, d))
    for j in range(d):
        for g in range(d):
            C[j, g] = S[j, g] / np.sqrt(max(S[j, j], 1e-150) * max(S[g, g], 1e-150))
    most = np.linalg.eigvalsh(C)[-1] * (1.0 + 64.0 * d * EPS) if d > 1 else 1.0
    for j in range(d):
        out[j] = most * S[j, j]


@compiled
def peaks(
    p: NDArray[np.float64], v: NDArray[np.float64], spread: NDArray[np.float64],
    low: NDArray[np.float64], high: NDArray[np.float64], q: NDArray[np.float64], pull: float,
    where: NDArray[np.float64], top: NDArray[np.float64],
) -> float:  # fmt: skip
    r"""The largest :math:`(w - p)^2 - (w - v)^2 / spread - pull (w - q)^2` of each coordinate in the box.

    Writes them and where they are, returns their sum.
    """
    whole = 0.0
    for j in range(p.size):
        r = max(spread[j], LEAST)
        bend = 1.0 - 1.0 / r - pull
        a = (low[j] - p[j]) ** 2 - (low[j] - v[j]) ** 2 / r - pull * (low[j] - q[j]) ** 2
        b = (high[j] - p[j]) ** 2 - (high[j] - v[j]) ** 2 / r - pull * (high[j] - q[j]) ** 2
        best, at = (a, low[j]) if a > b else (b, high[j])
        if bend < 0.0:
            w = min(max((p[j] - v[j] / r - pull * q[j]) / bend, low[j]), high[j])
            c = (w - p[j]) ** 2 - (w - v[j]) ** 2 / r - pull * (w - q[j]) ** 2
            if c >= best:
                best, at = c, w
        where[j], top[j] = at, best
        whole += best
    return whole


@compiled
def pulled(
    p: NDArray[np.float64], v: NDArray[np.float64], spread: NDArray[np.float64],
    low: NDArray[np.float64], high: NDArray[np.float64], q: NDArray[np.float64], radius: float,
    where: NDArray[np.float64], top: NDArray[np.float64],
) -> tuple[float, float]:  # fmt: skip
    r"""A bound of the sum of :math:`(w - p)^2 - (w - v)^2 / spread` in a box near q, and the pull.

    Only w within a radius of q count. For every pull it is at most the sum of the peaks plus pull times the
    radius squared. The smallest of these is looked for: they are convex in the pull, and their slope is the
    radius squared less the squared distance of ``where`` from q.
    """
    d, square = p.size, radius * radius
    least, pull, below, above = peaks(p, v, spread, low, high, q, 0.0, where, top), 0.0, 0.0, 2.0
    if ((where - q) ** 2).sum() <= square:
        return least, 0.0
    for _ in range(PULLS):
        trial = 0.5 * (below + above)
        whole = peaks(p, v, spread, low, high, q, trial, where, top) + trial * square
        away = ((where - q) ** 2).sum()
        whole += 16.0 * d * EPS * trial * (square + away)  # its rounding
        if whole < least:
            least, pull = whole, trial
        if away <= square:
            above = trial
        else:
            below = trial
    peaks(p, v, spread, low, high, q, pull, where, top)
    return least, pull


@compiled
def shrink(
    p: NDArray[np.float64], v: NDArray[np.float64], spread: NDArray[np.float64], top: NDArray[np.float64],
    needed: float, q: NDArray[np.float64], pull: float, low: NDArray[np.float64], high: NDArray[np.float64],
    hole: NDArray[np.float64],
) -> bool:  # fmt: skip
    """Cut off what cannot reach ``needed``, coordinate by coordinate; False where nothing is left.

    ``top`` are the peaks for this pull. A coordinate that opens upwards may have a hole in the middle, which
    is noted.
    """
    whole = top.sum()
    for j in range(p.size):
        r = max(spread[j], LEAST)
        asked = needed - (whole - top[j])  # of this coordinate, the others at their best
        bend, half = 1.0 - 1.0 / r - pull, p[j] - v[j] / r - pull * q[j]
        rest = p[j] * p[j] - v[j] * v[j] / r - pull * q[j] * q[j] - asked
        hole[j, 0], hole[j, 1] = 1.0, -1.0  # none
        inside = half * half - bend * rest
        if inside <= 0.0 or abs(bend) < 1e-9:
            if bend < -1e-9 and inside < -1e-9 * half * half:
                return False
            continue
        root = np.sqrt(inside)
        first, second = (half - root) / bend, (half + root) / bend
        if first > second:
            first, second = second, first
        rounding = 1e-12 * (abs(first) + abs(second) + high[j] - low[j])
        if bend < 0.0:
            low[j], high[j] = max(low[j], first - rounding), min(high[j], second + rounding)
        else:
            first, second = first + rounding, second - rounding
            if first >= second:
                continue
            if low[j] > first:
                low[j] = max(low[j], second)
            if high[j] < second:
                high[j] = min(high[j], first)
            hole[j, 0], hole[j, 1] = first, second
        if low[j] > high[j]:
            return False
    return True


@compiled
def clip(
    low: NDArray[np.float64], high: NDArray[np.float64], q: NDArray[np.float64], radius: float
) -> bool:  # fmt: skip
    """Cut a box to what is within a radius of q, coordinate by coordinate; False where nothing is left."""
    if radius == np.inf:
        return True
    whole = 0.0
    for j in range(q.size):
        whole += max(0.0, low[j] - q[j], q[j] - high[j]) ** 2
    for j in range(q.size):
        away = max(0.0, low[j] - q[j], q[j] - high[j])
        left = radius * radius - (whole - away * away)
        if left < away * away:
            return False
        reach = np.sqrt(left) * (1.0 + 1e-12)
        low[j], high[j] = max(low[j], q[j] - reach), min(high[j], q[j] + reach)
    return True


@compiled
def turned(
    p: NDArray[np.float64], v: NDArray[np.float64], S: NDArray[np.float64],
    low: NDArray[np.float64], high: NDArray[np.float64], middle: NDArray[np.float64], radius: float,
) -> tuple[float, float]:  # fmt: skip
    """The bound of a box by the axes of S itself, around the box; and the largest spread along them."""
    d = p.size
    spread, axes = np.linalg.eigh(S)
    q, u, a, b, m = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    for j in range(d):
        reach = 0.0
        for g in range(d):
            turn = axes[g, j]
            q[j] += turn * p[g]
            u[j] += turn * v[g]
            m[j] += turn * middle[g]
            a[j] += turn * 0.5 * (low[g] + high[g])
            reach += abs(turn) * 0.5 * (high[g] - low[g])
        reach *= 1.0 + 1e-12
        a[j], b[j] = a[j] - reach, a[j] + reach
        spread[j] = spread[j] * (1.0 + 1e-12) + 64.0 * d * EPS * abs(spread[d - 1])
    return pulled(q, u, spread, a, b, m, radius, np.empty(d), np.empty(d))[0], spread[d - 1]


@compiled
def next_place(
    p: NDArray[np.float64], v: NDArray[np.float64], S: NDArray[np.float64], spread: NDArray[np.float64],
    concave: bool, low: NDArray[np.float64], high: NDArray[np.float64], out: NDArray[np.float64],
) -> None:  # fmt: skip
    """Where to look next: Newton's step to where v(p) = p along concave coordinates, the middle of others.

    Where all of it is concave the place may lie outside of the box: then that is where the maximum is.
    """
    some = np.flatnonzero(spread < 1.0) if not concave else np.arange(p.size)
    out[:] = 0.5 * (low + high)
    if not some.size:
        return
    M, g = np.empty((some.size, some.size)), np.empty(some.size)
    for a in range(some.size):
        g[a] = v[some[a]] - p[some[a]]
        for b in range(some.size):
            M[a, b] = (1.0 if a == b else 0.0) - S[some[a], some[b]]
    step = np.linalg.solve(M, g)
    for a in range(some.size):
        j = some[a]
        out[j] = p[j] + step[a]
        if not concave:
            out[j] = min(max(out[j], low[j]), high[j])


@compiled
def visit(
    Y: NDArray[np.float64], beta: NDArray[np.float64], inverse: NDArray[np.float64],
    objects: NDArray[np.int32], p: NDArray[np.float64], low: NDArray[np.float64],
    high: NDArray[np.float64], spread: NDArray[np.float64], guess: float, best: float,
    units: tuple[float, float, float, float], ball: tuple[NDArray[np.float64], float],
    s: NDArray[np.float64], keep: NDArray[np.int32], part: NDArray[np.float64],
) -> tuple[Any, ...]:  # fmt: skip
    """A pass over the objects of a box, and what follows; ``low``, ``high`` and ``spread`` are changed.

    ``units`` are the constant of f, the length of the longest row, the largest bias in size, and what the
    rows themselves may be off. Only the part of the box in a ball (center, radius) counts. Returns the bound,
    f of the point that was looked at, tau, the mean of its support, the objects that the box can reach, the
    next p, holes, and whether f is concave on the simplex of these objects. What rounding may do is added
    here, term by term as in docs/theory-global.md.
    """
    d = p.size
    constant, longest, heaviest, error = units
    middle, radius = ball
    where, top, hole = p.copy(), np.empty(d), np.empty((d, 2))
    nothing = keep[:0].copy()
    if not clip(low, high, middle, radius):
        return best, -np.inf, guess, p.copy(), nothing, where, hole, False, spread, p.copy(), spread
    _values(Y, beta, objects, p, s)
    tau, count = _tau(s, inverse, objects, guess, keep)
    if tau < guess:  # it was no bound, by rounding
        tau, count = _tau(s, inverse, objects, -np.inf, keep)
    image, mean = np.empty(d), np.empty(d)
    whole, squares = _support(Y, inverse, objects, s, tau, keep, count, image, mean)
    mass, inner = 0.0, np.zeros(d)
    for t in range(count):
        i = objects[keep[t]]
        share = _at(inverse, i)
        mass += share
        for j in range(d):
            inner[j] += share * (Y[i, j] - mean[j]) ** 2
    v, length, residual = np.empty(d), 0.0, 0.0
    for j in range(d):
        v[j] = image[j] + (1.0 - whole) * mean[j]
        length += p[j] * p[j]
        residual += (v[j] - p[j]) ** 2
    sums = relative_error(count, d)
    missing = abs(1.0 - whole) + sums * whole  # how far the weights are from a sum of 1
    values = (d + 4.0) * EPS * (longest * np.sqrt(length) + heaviest)  # error of each s
    value = constant + 2.0 * tau + squares - length
    base = value + 2.0 * values + sums * squares + error
    base += (d + 8.0) * EPS * (abs(constant) + 2.0 * abs(tau) + squares + length)
    value += residual
    base += 4.0 * EPS * max(0.0, longest * longest + 2.0 * heaviest + constant - max(best, value))  # of kappa
    off = sums * longest * whole + missing * 2.0 * longest  # error of v: of its sums, and of the mean
    slack = 0.0  # what that makes of the terms, and their own rounding
    for j in range(d):
        far = max(abs(low[j] - v[j]), abs(high[j] - v[j]))
        wide = max(abs(low[j] - p[j]), abs(high[j] - p[j]))
        slack += (2.0 * far + off) * off / LEAST + 64.0 * d * EPS * (wide * wide + far * far / LEAST)
    gain, pull = pulled(p, v, spread, low, high, middle, radius, where, top)
    bound = base + slack + gain
    needed = best - base - slack
    asked = needed - (gain - top.sum())  # of the peaks with this pull
    if (
        bound <= best
        or not shrink(p, v, spread, top, asked, middle, pull, low, high, hole)
        or not clip(low, high, middle, radius)
    ):
        return min(bound, best), value, tau, mean, nothing, where, hole, False, spread, v, inner
    level = tau - 4.0 * values - 2.0 * missing / mass - 8.0 * EPS * abs(tau)
    for j in range(d):
        level -= 2.0 * (d + 8.0) * EPS * longest * max(abs(low[j] - p[j]), abs(high[j] - p[j]))
    reached = _reached(
        Y, objects, s, level, mean, low - p, high - p, keep, part, middle - p, radius * (1.0 + 1e-12)
    )
    S, full, here, other = np.empty((d, d)), np.empty((d, d)), np.empty(d), np.empty(d)
    mine = keep[:reached].copy()
    if part[:reached].sum() > CROWD * count:  # their scatter is far above 1: it would tell nothing new
        for j in range(d):
            if spread[j] >= 1.0:
                where[j] = 0.5 * (low[j] + high[j])
            where[j] = min(max(where[j], low[j]), high[j])
        return bound, value, tau, mean, mine, where, hole, False, spread.copy(), v, inner
    scatter(Y, inverse, mine, part[:reached], mean, full, S)
    dominating(full, other)
    dominating(S, here)
    gain = pulled(p, v, spread, low, high, middle, radius, where, top)[0]
    if pulled(p, v, other, low, high, middle, radius, where, top)[0] < gain:
        spread[:] = other  # two diagonals above S: one or the other holds
    gain, pull = pulled(p, v, here, low, high, middle, radius, where, top)
    bound = min(bound, base + slack + gain)
    asked = needed - (gain - top.sum())
    if bound <= best or not shrink(p, v, here, top, asked, middle, pull, low, high, hole):
        return min(bound, best), value, tau, mean, nothing, where, hole, False, here, v, inner
    by_axes, most = turned(p, v, S, low, high, middle, radius)
    bound = min(bound, base + np.sqrt(d) * slack + by_axes)
    next_place(p, v, S, spread, most < 1.0, low, high, where)
    return bound, value, tau, mean, mine, where, hole, most < 1.0, here, v, inner


@compiled
def _no_fixed_point(
    p: NDArray[np.float64], v: NDArray[np.float64], spread: NDArray[np.float64],
    low: NDArray[np.float64], high: NDArray[np.float64], error: NDArray[np.float64],
) -> float:  # fmt: skip
    r"""The largest sum of :math:`(w - p)(w - v) - (w - v)^2 / spread` in the box: below 0, no v(w) is w.

    Each coordinate of v may be off by its error, so that the slope in v, times twice that, is added.
    """
    whole = 0.0
    for j in range(p.size):
        r = max(spread[j], LEAST)
        best, slope = -np.inf, 0.0
        for w in (low[j], high[j]):
            best = max(best, (w - p[j]) * (w - v[j]) - (w - v[j]) ** 2 / r)
            slope = max(slope, abs(w - p[j]) + 2.0 * (abs(w - v[j]) + error[j]) / r)
        bend = 1.0 - 1.0 / r
        if bend < 0.0:
            w = min(max((0.5 * (p[j] + v[j]) - v[j] / r) / bend, low[j]), high[j])
            best = max(best, (w - p[j]) * (w - v[j]) - (w - v[j]) ** 2 / r)
        whole += best + 2.0 * error[j] * slope
    return whole


@compiled
def survey(
    Y: NDArray[np.float64], beta: NDArray[np.float64], inverse: NDArray[np.float64],
    objects: NDArray[np.int32], p: NDArray[np.float64], low: NDArray[np.float64],
    high: NDArray[np.float64], units: tuple[float, float, float, float], s: NDArray[np.float64],
    keep: NDArray[np.int32], part: NDArray[np.float64],
) -> tuple[Any, ...]:  # fmt: skip
    """A pass over the objects of a box, p within it: can it have a strict maximum, and how many?

    Returns a verdict (EMPTY: none; SINGLE: at most one, f being concave; OPEN), tau, and the
    objects that the box can reach.
    """
    d = p.size
    _, longest, heaviest, error = units
    _values(Y, beta, objects, p, s)
    tau, count = _tau(s, inverse, objects, -np.inf, keep)
    image, mean = np.empty(d), np.empty(d)
    whole, _ = _support(Y, inverse, objects, s, tau, keep, count, image, mean)
    v = image + (1.0 - whole) * mean
    sums = relative_error(count, d)
    rounding = (d + 4.0) * EPS * (longest * np.sqrt((p * p).sum()) + heaviest)
    mass = 0.0
    for k in range(count):
        mass += _at(inverse, objects[keep[k]])
    slack = 4.0 * rounding + sums * (abs(tau) + longest * (high - low).sum()) + 2.0 * error
    slack += 2.0 * abs(1.0 - whole) / mass  # tau is off by as much as weights do not sum to 1; twice for sums
    below, above = low - p, high - p
    reached = _reached(Y, objects, s, tau - slack, mean, below, above, keep, part, 0.0 * p, np.inf)
    mine = keep[:reached].copy()
    ones, S, full, diagonal = np.ones(reached), np.empty((d, d)), np.empty((d, d)), np.empty(d)
    other = np.empty((d, d))
    scatter(Y, inverse, mine, ones, mean, full, S)
    dominating(S, diagonal)
    mass = 0.0
    for k in range(reached):
        mass += _at(inverse, mine[k])
    # similarities that are off by an error move v by error * sqrt(S * mass), and S by error * mass
    moved = np.empty(d)
    for j in range(d):
        moved[j] = longest * (sums + 2.0 * abs(1.0 - whole)) + (error + rounding) * np.sqrt(S[j, j] * mass)
    if _no_fixed_point(p, v, diagonal, low, high, moved) < 0.0:
        return EMPTY, tau, mine
    # who is in for every w of the box: tau there is at most the level at which all would be at their best
    surely, fixed = np.empty(reached), np.empty(reached)
    for k in range(reached):
        row = Y[mine[k]]
        value = beta[mine[k]]
        most, least = 0.0, 0.0
        for j in range(d):
            value += row[j] * p[j]
            off = row[j] - mean[j]
            most += max(off * below[j], off * above[j])
            least += min(off * below[j], off * above[j])
        surely[k], fixed[k] = value + most, value + least
    top, _ = _tau(surely, inverse, mine, -np.inf, keep)
    inside = 0
    for k in range(reached):
        if fixed[k] > top + slack:
            keep[inside] = mine[k]
            inside += 1
    if inside > 1:
        scatter(Y, inverse, keep[:inside], np.ones(inside), mean, full, other)
        lost = 8.0 * (inside + 16.0) * EPS * np.trace(full) + error * mass
        if np.linalg.eigvalsh(full)[d - 1] > 1.0 + lost:
            return EMPTY, tau, mine
    if np.linalg.eigvalsh(S)[d - 1] * (1.0 + 64.0 * d * EPS) + error * mass < 1.0:
        return SINGLE, tau, mine
    return OPEN, tau, mine
