r"""The passes of the dual and Newton's ascent, compiled.

x(w) has the weights :math:`\max(0, s_i - \tau) / \kappa_i`, with :math:`s_i = u_i \cdot w + b_i`. For any set
C of objects, :math:`g(C) = (\sum_C s_i / \kappa_i - 1) / \sum_C 1 / \kappa_i` is at most tau, and for the
support it is tau: so the support of the last pass gives a good lower bound at once, one sweep leaves little
more than the new support, and sweeps over parts of the objects can be made side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import compiled, reassociated

SAFE, NEWTON = 7, 8  # the values of Step
EPS = float(np.finfo(np.float64).eps)
STRETCH = 8.0  # how many times its length a step may be taken where it does not close in
PATIENCE = 3  # steps in a row without progress that mean a stall
# Tried distances of J's eigenvalues from 1: a distance between two of them is taken as the smaller one.
ROOMS = (0.5, 0.125, 2.0**-6, 2.0**-10, 2.0**-15, 2.0**-20, 2.0**-26, 2.0**-32)
BATCH = 32  # candidates after which the running bound of a sweep is renewed
PIECE = 128  # rows of one product when moments are summed: they stay in the cache, and BLAS on one thread


@compiled
def add_rows(
    A: NDArray[np.float64],
    rows: NDArray[np.int64],
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """out += sum of weights[k] A[rows[k]], four rows per sweep, in float64 whatever A is."""
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
def dot_rows(X: Any, w: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """out = X w with float64 products and sums, whatever X is stored in, and no copy of it."""
    i = 0
    while i + 4 <= out.size:  # four rows per sweep
        a, b, c, e = X[i], X[i + 1], X[i + 2], X[i + 3]
        s, t, u, v = 0.0, 0.0, 0.0, 0.0
        for f in range(w.size):
            s += np.float64(a[f]) * w[f]
            t += np.float64(b[f]) * w[f]
            u += np.float64(c[f]) * w[f]
            v += np.float64(e[f]) * w[f]
        out[i], out[i + 1], out[i + 2], out[i + 3] = s, t, u, v
        i += 4
    while i < out.size:
        row, s = X[i], 0.0
        for f in range(w.size):
            s += np.float64(row[f]) * w[f]
        out[i] = s
        i += 1


class Affine(NamedTuple):
    """What stands between a product with a feature row and s; arrays of length 0 stand for nothing.

    s = factor (product - constant) scale + times bias + added.
    """

    factor: float
    constant: float
    scale: NDArray[np.float64]
    bias: NDArray[np.float64]
    times: float = 1.0
    added: float = 0.0


@compiled
def _at(values: NDArray[np.float64], i: int) -> Any:
    """One number for each object, or a single one that all of them share."""
    return values[i] if values.size > 1 else values[0]


@compiled
def transform(s: NDArray[np.float64], form: Affine, alive: NDArray[np.bool_], start: int, stop: int) -> None:
    """From products to s, in place; -inf for removed objects, where ``alive`` is not empty."""
    values = s[start:stop]
    for k in range(values.size):
        values[k] = form.factor * (values[k] - form.constant)
    if form.scale.size:
        scale = form.scale[start:stop]
        for k in range(values.size):
            values[k] *= scale[k]
    if form.bias.size:
        bias = form.bias[start:stop]
        for k in range(values.size):
            values[k] += form.times * bias[k]
    if form.added != 0.0:
        for k in range(values.size):
            values[k] += form.added
    if alive.size:
        here = alive[start:stop]
        for k in range(values.size):
            values[k] = values[k] if here[k] else -np.inf


@compiled
def level(
    s: NDArray[np.float64], inverse: NDArray[np.float64], members: NDArray[np.int64], unit: float = 1.0
) -> float:
    """The bound g(C) of the tau at which weights sum to ``unit``; -inf if C is empty or one is removed."""
    total, mass = -unit, 0.0
    for k in range(members.size):
        share = _at(inverse, members[k])
        total += s[members[k]] * share
        mass += share
    return total / mass if mass > 0.0 else -np.inf


@compiled
def sweep(
    s: NDArray[np.float64], inverse: NDArray[np.float64], low: float, start: int, stop: int,
    keep: NDArray[np.int64], unit: float = 1.0,
) -> int:  # fmt: skip
    """Write the objects that may exceed tau into ``keep`` from ``start`` on, in order: how many."""
    count, fresh = 0, 0
    total, mass = -unit, 0.0
    for i in range(start, stop):
        if s[i] > low:
            keep[start + count] = i
            count += 1
            share = _at(inverse, i)
            total += s[i] * share
            mass += share
            fresh += 1
            if fresh == BATCH:
                fresh = 0
                low = max(low, total / mass)
    return count


@compiled
def narrow(
    s: NDArray[np.float64], inverse: NDArray[np.float64], keep: NDArray[np.int64], count: int,
    unit: float = 1.0,
) -> tuple[float, int]:  # fmt: skip
    """tau and the number of candidates that exceed it; those are left in ``keep``, in order.

    Where rounding leaves no candidate, the highest is one.
    """
    if count == 0 and s.size:
        keep[0], count = np.argmax(s), 1
    tau = level(s, inverse, keep[:count], unit)
    while True:
        left, total, mass = 0, -unit, 0.0
        for k in range(count):
            i = keep[k]
            if s[i] > tau:
                keep[left] = i
                left += 1
                share = _at(inverse, i)
                total += s[i] * share
                mass += share
        if left == 0:  # in floating point nobody exceeds tau: those that are level on top
            return tau, _highest(s, keep, count)
        if left == count:
            return tau, count
        count, tau = left, total / mass


@compiled
def _highest(s: NDArray[np.float64], keep: NDArray[np.int64], count: int) -> int:
    """Leave the highest of the candidates in ``keep``; how many they are."""
    top = s[keep[0]]
    for k in range(count):
        top = max(top, s[keep[k]])
    left = 0
    for k in range(count):
        if s[keep[k]] == top:
            keep[left] = keep[k]
            left += 1
    return left


@compiled
def locate(
    s: NDArray[np.float64], form: Affine, inverse: NDArray[np.float64], alive: NDArray[np.bool_],
    guess: NDArray[np.int64], keep: NDArray[np.int64],
) -> tuple[float, int]:  # fmt: skip
    """From products to tau in one call, and how many objects of ``keep`` exceed it."""
    transform(s, form, alive, 0, s.size)
    count = sweep(s, inverse, level(s, inverse, guess), 0, s.size, keep)
    return narrow(s, inverse, keep, count)


@compiled
def weigh(
    s: NDArray[np.float64], tau: float, form: Affine, inverse: NDArray[np.float64],
    members: NDArray[np.int64], weights: NDArray[np.float64], scaled: NDArray[np.float64],
) -> tuple[float, float, float, float]:  # fmt: skip
    """Weights before they are made to sum to 1, those times the rows' scales, and four sums.

    The sums of the weights, of kappa (one over ``inverse``) times their squares, of bias times them, and of
    the scaled ones.
    """
    total, square, lean, reach = 0.0, 0.0, 0.0, 0.0
    for k in range(members.size):
        i = members[k]
        weight = (s[i] - tau) * _at(inverse, i)
        weights[k] = weight
        total += weight
        square += (s[i] - tau) * weight
        if form.bias.size:
            lean += form.times * form.bias[i] * weight
        if form.scale.size:
            weight *= form.scale[i]
        scaled[k] = weight
        reach += weight
    return total, square, lean, reach


@reassociated
def small_pass(
    X: Any, w: NDArray[np.float64], form: Affine, center: NDArray[np.float64],
    inverse: NDArray[np.float64], alive: NDArray[np.bool_], guess: NDArray[np.int64],
    keep: NDArray[np.int64],
) -> tuple[float, NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], float]:  # fmt: skip
    """A whole pass in one call: tau, members, weights, U'x, and f without the similarity's offset.

    For data so small that calls and threads would cost more than the work.
    """
    d = w.size
    constant = 0.0
    for f in range(d):
        constant += center[f] * w[f]
    form = Affine(form.factor, constant, form.scale, form.bias, form.times, 0.0)
    s = np.empty(X.shape[0])
    dot_rows(X, w, s)
    tau, count = locate(s, form, inverse, alive, guess, keep)
    members = keep[:count].copy()
    weights, scaled = np.empty(count), np.empty(count)
    total, square, lean, reach = weigh(s, tau, form, inverse, members, weights, scaled)
    if not total > 0.0:
        # kappa is below the rounding of s: the members are level, and share the weight as one over kappa
        total, square, lean, reach = weigh(np.ones(s.size), 0.0, form, inverse, members, weights, scaled)
    image = np.empty(d)
    for f in range(d):
        image[f] = -reach * center[f]
    add_rows(X, members, scaled, image)
    length = 0.0
    for f in range(d):
        image[f] *= form.factor / total
        length += image[f] * image[f]
    for k in range(count):
        weights[k] /= total
    return tau, members, weights, image, length - square / total**2 + 2.0 * lean / total


@reassociated
def moments(
    X: Any, members: NDArray[np.int64], form: Affine, center: NDArray[np.float64],
    about: NDArray[np.float64], inverse: NDArray[np.float64],
    first: NDArray[np.float64], second: NDArray[np.float64],
) -> float:  # fmt: skip
    """Add up (u - about) / kappa and (u - about)(u - about)' / kappa over the members, and 1 / kappa.

    u = factor scale (X - center).
    """
    d = about.size
    mass = 0.0
    rows, product = np.empty((PIECE, d)), np.empty((d, d))
    for begin in range(0, members.size, PIECE):
        count = min(PIECE, members.size - begin)
        for t in range(count):
            i = members[begin + t]
            factor = form.factor * form.scale[i] if form.scale.size else form.factor
            share = _at(inverse, i)
            root = np.sqrt(share)
            row, source = rows[t], X[i]
            for f in range(d):
                row[f] = root * (factor * (np.float64(source[f]) - center[f]) - about[f])
                first[f] += root * row[f]
            mass += share
        piece = rows[:count]
        np.dot(piece.T, piece, product)
        for f in range(d):
            for g in range(d):
                second[f, g] += product[f, g]
    return mass


@compiled
def centred(mass: float, first: NDArray[np.float64], second: NDArray[np.float64]) -> None:
    """Turn moments about a point into those about the mean, in place."""
    for f in range(first.size):
        for g in range(first.size):
            second[f, g] -= first[f] * first[g] / mass


@compiled
def _factor(J: NDArray[np.float64], raised: float, L: NDArray[np.float64]) -> bool:
    """Cholesky factor of (1 + raised) I - J; False where there is none."""
    d = J.shape[0]
    for f in range(d):
        for g in range(f + 1):
            total = (1.0 + raised if f == g else 0.0) - J[f, g]
            a, b = L[f, :g], L[g, :g]
            for k in range(g):
                total -= a[k] * b[k]
            if g < f:
                L[f, g] = total / L[g, g]
            elif total > 0.0:
                L[f, f] = np.sqrt(total)
            else:
                return False
    return True


@compiled
def room(J: NDArray[np.float64], slack: float) -> float:
    """How far the eigenvalues of J are proved to lie below 1: one of ROOMS, 0 (open) or -1 (one is above).

    ``slack`` is what rounding may do to J and to a Cholesky factor, as a norm.
    """
    L = np.empty_like(J)
    for least in ROOMS:
        if _factor(J, -least - slack, L):
            return least
    return 0.0 if _factor(J, 2.0 * slack, L) else -1.0


@compiled
def _forward(L: NDArray[np.float64], v: NDArray[np.float64]) -> float:
    """Solve L v = v in place; the squared length of the result."""
    length = 0.0
    for f in range(v.size):
        total = v[f]
        for g in range(f):
            total -= L[f, g] * v[g]
        v[f] = total / L[f, f]
        length += v[f] * v[f]
    return length


@compiled
def bent(J: NDArray[np.float64], g: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Solve |I - J| step = g within a ball: eigenvalues by their size, so that the step points uphill."""
    values, vectors = np.linalg.eigh(J)
    along = np.dot(vectors.T, g)
    sizes = np.maximum(np.abs(1.0 - values), 1e-12)
    raised = 0.0
    for _ in range(100):
        length = np.sqrt(np.sum((along / (sizes + raised)) ** 2))
        if length <= radius:
            break
        raised = max(1.5 * raised, 1e-12, (length / radius - 1.0) * (raised + sizes.min()))
    step: NDArray[np.float64] = np.dot(vectors, along / (sizes + raised))
    return step


@compiled
def newton(J: NDArray[np.float64], g: NDArray[np.float64], radius: float) -> tuple[NDArray[np.float64], bool]:
    """Solve (I - J) step = g within a ball: (step, whether I - J is positive definite).

    Where the solution is longer than the radius, a multiple of I is added until it is not: Newton's method
    on one over its length, which closes in from above.
    """
    d = g.size
    L, step, turned = np.empty((d, d)), np.empty(d), np.empty(d)
    raised = 0.0
    for _ in range(50):
        if not _factor(J, raised, L):
            return bent(J, g, radius), False
        step[:] = g
        _forward(L, step)
        length = 0.0
        for f in range(d - 1, -1, -1):
            total = step[f]
            for k in range(f + 1, d):
                total -= L[k, f] * step[k]
            step[f] = total / L[f, f]
            length += step[f] * step[f]
        if length <= 1.02 * radius * radius:
            shrink = min(1.0, radius / np.sqrt(length)) if length > 0.0 else 1.0
            for f in range(d):
                step[f] *= shrink
            break
        turned[:] = step
        raised += length / _forward(L, turned) * (np.sqrt(length) / radius - 1.0)
    return step, True


@compiled
def accept_step(
    f: float, length: float, new_f: float, new_length: float, rounding: float, scatter: float, stride: float,
    radius: float, stretch: float,
) -> tuple[bool, float, float]:  # fmt: skip
    """Whether a step is accepted, and the next radius and stretch.

    It must gain what a safe step does for sure, the square of the new residual over the scatter: the rate of
    docs/theory-dual.md rests on it. Where that is lost in rounding, the residual must get shorter. An ascent
    along a nearly flat ridge goes on in one direction: steps are stretched more each time, up to a limit that
    keeps it in its basin; where Newton's method converges, its step is the right one.
    """
    gain = new_length * new_length / scatter
    if new_f > f + max(rounding, gain) or (
        new_f >= f - rounding and new_length < length and gain <= rounding
    ):
        if stride > 0.9 * radius:
            radius = 4.0 * stride
        return True, radius, 1.0 if new_length < 0.5 * length else min(STRETCH, 2.0 * stretch)
    return False, 0.25 * stride, 1.0


@compiled
def progress(record: NDArray[np.float64], f: float, length: float, rounding: float) -> bool:
    """Whether f is the highest so far beyond rounding, or the residual the shortest; both are recorded.

    At the limit of rounding both go up and down for ever, but records become rare.
    """
    better: bool = f > record[0] + rounding or length < record[1]
    record[0], record[1] = max(f, record[0]), min(length, record[1])
    return better


@compiled
def accept_steps(
    f: NDArray[np.float64], length: NDArray[np.float64], new_f: NDArray[np.float64],
    new_length: NDArray[np.float64], rounding: NDArray[np.float64], scatter: NDArray[np.float64],
    stride: NDArray[np.float64], radius: NDArray[np.float64], stretch: NDArray[np.float64],
    stale: NDArray[np.int64], records: NDArray[np.float64], refused: NDArray[np.bool_],
    moved: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Judge a step of each start; sets all from radius on (refused: the safe step is next)."""
    for k in range(f.size):
        accepted = True  # a safe step is always accepted
        if not refused[k]:
            accepted, radius[k], stretch[k] = accept_step(
                f[k],
                length[k],
                new_f[k],
                new_length[k],
                rounding[k],
                scatter[k],
                stride[k],
                radius[k],
                stretch[k],
            )
        moved[k], refused[k] = accepted, not accepted
        if accepted:
            better = progress(records[k], new_f[k], new_length[k], rounding[k])
            stale[k] = 0 if better else stale[k] + 1


@compiled
def mass_of(inverse: NDArray[np.float64], members: NDArray[np.int64]) -> float:
    """The sum of 1 / kappa over the members: one over it is at most the unit of any weights on them."""
    if inverse.size == 1:
        return float(inverse[0]) * members.size
    total = 0.0
    for k in range(members.size):
        total += inverse[members[k]]
    return total


@compiled
def small_climb(
    X: Any, form: Affine, center: NDArray[np.float64], inverse: NDArray[np.float64],
    alive: NDArray[np.bool_], offset: float, shift: float, reach: float, scatter: float, tol: float,
    budget: int, radius: float, stretch: float, stale: int, record: NDArray[np.float64],
    point: tuple[Any, ...], keep: NDArray[np.int64], rows: NDArray[np.float64],
) -> tuple[int, int, float, float, int, tuple[Any, ...]]:  # fmt: skip
    """Steps from a point, all in one call: passes, steps, radius, stretch, stale, point.

    A point is (w, tau, members, weights, U'x, f). Ends where the gap is within tolerance or at rounding,
    nothing moves, the budget of passes is used up, or a support has fewer members than features. f, bound of
    the gap, support before each step and its kind are written to ``rows``.
    """
    d = center.size
    w, tau, members, weights, image, f = point
    done, passes = 0, 0
    while passes < budget and done < len(rows) and stale < PATIENCE:
        g = image - w
        length = np.sqrt(np.sum(g * g))
        bound = 2.0 * reach * length
        unit = max(abs(f), abs(shift), reach * np.sqrt(np.sum(w * w)))
        level = 4.0 * EPS * unit * (1.0 + members.size)
        if bound <= max(tol / mass_of(inverse, members), level) or members.size < d:
            break
        first, second = np.zeros(d), np.zeros((d, d))
        mass = moments(X, members, form, center, w, inverse, first, second)
        centred(mass, first, second)
        step, _ = newton(second, g, max(radius, length))
        step *= stretch
        stride = np.sqrt(np.sum(step * step))
        rows[done, 0], rows[done, 1], rows[done, 2], rows[done, 3] = f, bound, members.size, NEWTON
        rounding = 4.0 * EPS * unit
        v = w + step
        new_tau, new_members, new_weights, new_image, new_f = small_pass(
            X, v, form, center, inverse, alive, members, keep
        )
        new_f += offset
        new_length = np.sqrt(np.sum((new_image - v) ** 2))
        accepted, radius, stretch = accept_step(
            f, length, new_f, new_length, rounding, scatter, stride, radius, stretch
        )
        passes += 1
        if not accepted:
            rows[done, 3] = SAFE
            v = image
            new_tau, new_members, new_weights, new_image, new_f = small_pass(
                X, v, form, center, inverse, alive, members, keep
            )
            new_f += offset
            new_length = np.sqrt(np.sum((new_image - v) ** 2))
            passes += 1
        w, tau, members, weights, image, f = v, new_tau, new_members, new_weights, new_image, new_f
        stale = 0 if progress(record, f, new_length, rounding) else stale + 1
        done += 1
    return passes, done, radius, stretch, stale, (w, tau, members, weights, image, f)
