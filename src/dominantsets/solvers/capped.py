r"""Sets of at least m members: no weight above 1 / m.

Over the capped simplex the dual is as before, with :math:`x_i = \min(1/m, \max(0, s_i - \tau) / \kappa_i)`;
the step :math:`w \leftarrow U^T x(w)` never lowers f, and Newton's matrix is that of the members strictly
between 0 and the cap (docs/theory-size.md). Welded seeds are one object of the same problem, with a cap of 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import check_int
from dominantsets._typing import Flags, Floats, Ints
from dominantsets.similarity import Similarity
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.expansion import expandable
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.nearby import EPS, strict_nearby
from dominantsets.solvers.options import SolverOptions, weights_of
from dominantsets.solvers.result import DominantSet, Status

PATIENCE = 5  # steps in a row that do not raise f, after which the gap decides
ROUNDS = 200  # halvings of the bracket of tau, which end long before at two equal numbers


class _At(NamedTuple):
    """x(w), its image, f, and the members strictly between 0 and the cap."""

    w: Floats
    x: Floats
    image: Floats
    f: float
    free: Flags


class CappedDual:
    """max f over weights that sum to 1 and do not exceed a cap, all objects in memory.

    ``size`` bounds the numbers of which kappa is the sum, and ``error`` what an entry of the low-rank form is
    off; with them it serves as the form of :func:`strict_nearby`.
    """

    def __init__(
        self, U: Floats, bias: Floats, kappa: Floats, size: Floats, offset: float, error: float, cap: float
    ) -> None:
        self.U, self.bias, self.kappa, self.size = U, bias, kappa, size
        self.offset, self.error, self.cap = offset, error, cap

    def at(self, w: Floats) -> _At:
        """x(w): weights rise by 1 / kappa as tau falls, from 0 to the cap."""
        s = self.U @ w + self.bias
        low, high = float((s - self.cap * self.kappa).min()), float(s.max())
        for _ in range(ROUNDS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            if np.clip((s - middle) / self.kappa, 0.0, self.cap).sum() >= 1.0:
                low = middle
            else:
                high = middle
        x = np.clip((s - low) / self.kappa, 0.0, self.cap)
        free = (x > 0.0) & (x < self.cap)
        if free.any():  # what bisection left of the sum goes to those that can move, in proportion
            x[free] = np.clip(x[free] * (1.0 + (1.0 - x.sum()) / x[free].sum()), 0.0, self.cap)
        image = self.U.T @ x
        f = float(image @ image + 2.0 * self.bias @ x + self.offset - self.kappa @ np.square(x))
        return _At(w, x, image, f, free)

    def scatter(self, R: Flags | Ints) -> Floats:
        """The matrix J of some objects."""
        rows, scale = self.U[R], 1.0 / self.kappa[R]
        if len(rows) < 2:
            return np.zeros((self.U.shape[1],) * 2)
        off = rows - scale @ rows / scale.sum()
        return np.asarray((off * scale[:, None]).T @ off)

    def curvature(self, R: Ints) -> tuple[float, float]:
        r"""1 less the largest eigenvalue of J, as :math:`-z^T B z = \sum \kappa z^2 - |U^T z|^2`.

        Errors of entries, :math:`e_{ij}`, change it by :math:`\sum e_{ij} |z_i| |z_j|`. For the relative
        errors of rows and of sums in J this is at most :math:`\sum |u_i|^2 / \kappa_i` times as much, for
        ``error`` :math:`\sum 1 / \kappa_i` times. kappa itself has a relative error.
        """
        if R.size < 2:
            return np.inf, np.inf
        least = 1.0 - float(np.linalg.eigvalsh(self.scatter(R))[-1])
        inverse, lengths = 1.0 / self.kappa[R], np.square(self.U[R]).sum(axis=1)
        rounding = EPS * (R.size + 8 * self.U.shape[1] + 8)
        slack = rounding * float(lengths @ inverse) + self.error * float(inverse.sum())
        slack += 4 * EPS * float((self.size[R] * inverse).max())
        return least - slack, least + slack

    def bend(self, R: Ints) -> float:
        """Nothing: f is quadratic."""
        return 0.0

    def reach(self, R: Ints, distance: float) -> Floats:
        r"""A payoff moves by :math:`(u_i - \bar u) \cdot U^T z - \kappa_i z_i`.

        Here :math:`|U^T z|^2 < \sum \kappa z^2`, as the curvature is positive.
        """
        inverse = 1.0 / self.kappa[R]
        center = inverse @ self.U[R] / inverse.sum() if R.size else 0.0
        moves = np.linalg.norm(self.U - center, axis=1) + self.error * float(np.sqrt(inverse.sum()))
        moves[R] += np.sqrt(self.kappa[R])
        return np.asarray(distance * moves)

    def rounding(self, x: Floats, r: Floats) -> Floats:
        """Bounds of what rounding does to payoffs: each is a sum over members, and products over columns."""
        lengths, bias = np.linalg.norm(self.U, axis=1), np.abs(self.bias)
        sizes = lengths * (lengths @ x) + bias + bias @ x + abs(self.offset) + self.size * x
        return np.asarray(EPS * (2 * np.count_nonzero(x) + self.U.shape[1] + 8) * sizes)

    def newton(self, point: _At) -> Floats:
        """Newton's step for U'x(w) = w; directions uphill where the matrix is not definite."""
        values, axes = np.linalg.eigh(self.scatter(point.free))
        along = axes.T @ (point.image - point.w)
        return np.asarray(point.w + axes @ (along / np.maximum(np.abs(1.0 - values), 1e-3)))


def climb(
    dual: CappedDual, x: Floats, shift: float, options: SolverOptions, monitor: Monitor
) -> tuple[_At, int, Status]:
    """Newton's steps from x, safe ones where those do not gain: what was reached, passes, why it ended."""
    point = dual.at(dual.U.T @ x)
    passes, stale = 1, 0
    unit = max(abs(point.f), abs(shift), float(np.abs(dual.bias).max()), 1e-300)
    while passes < options.max_iter:
        halt = monitor.report(passes, point.f + shift, float("nan"), int(np.count_nonzero(point.x)))
        if halt is not None:
            return point, passes, halt
        trial = dual.at(dual.newton(point))
        passes += 1
        near = np.abs(trial.image - trial.w).max() < np.abs(point.image - point.w).max()
        if trial.f < point.f - 4 * EPS * unit or not (near or trial.f > point.f + 4 * EPS * unit):
            trial = dual.at(point.image)  # the safe step
            passes += 1
        moved = float(np.abs(trial.image - point.image).max())
        stale = stale + 1 if trial.f <= point.f + 4 * EPS * unit else 0
        point = trial
        if moved <= 1e-15 * max(1.0, float(np.abs(point.image).max())) or stale >= PATIENCE:
            return point, passes, Status.CONVERGED
    return point, passes, Status.MAX_ITER


def solve_capped(
    similarity: Similarity, m: Any, shift: float, options: SolverOptions, monitor: Monitor
) -> DominantSet:
    """A local maximum of f among weights up to 1 / m, so that at least m objects have one."""
    n = similarity.n
    m = check_int("min_members", m, at_least=1)
    if m > n:
        raise ValueError(f"min_members={m} is more than the number of objects, which is {n}.")
    everybody = np.arange(n)
    dual = boxed(similarity, everybody, np.full(n, shift), 1.0 / m, "a set of at least m members")
    point, passes, status = climb(dual, _start(similarity, options.start, m), shift, options, monitor)
    found = certified(similarity, dual, everybody, point.x, np.full(n, shift), shift, m, options.tol)
    return replace(found, n_iter=passes, status=found.status if status is Status.CONVERGED else status)


def _start(similarity: Similarity, start: Any, m: int) -> Floats:
    """Weights to start from: an object and the m - 1 most like it, or what was given."""
    n = similarity.n
    if isinstance(start, str) and start == "barycenter":
        return np.full(n, 1.0 / n)
    if np.ndim(start) == 1:
        weights = weights_of(start, n)
        return np.asarray(weights / weights.sum())
    first = int(similarity.degrees().argmax()) if isinstance(start, str) else int(start)
    near = similarity.column(first)
    near[first] = np.inf
    out = np.zeros(n)
    out[np.argsort(-near, kind="stable")[:m]] = 1.0 / m
    return out


def boxed(similarity: Similarity, part: Ints, shifts: Floats, cap: float, purpose: str) -> CappedDual:
    """The capped problem of the parts that objects belong to: objects of one part have equal weights.

    With x of a part over its size on each object, sums of rows become means, and :math:`\\kappa x^2` its sum
    over the squared size.
    """
    U, bias, own, offset, error = expandable(similarity).expanded(np.arange(similarity.n), shifts, purpose)
    kappa, size = own + shifts, np.abs(own) + np.abs(shifts)
    count = np.bincount(part)
    if (part != np.arange(part.size)).any():
        mean = sp.csr_array((1.0 / count[part], (part, np.arange(part.size))))
        U, bias, kappa, size = mean @ U, mean @ bias, mean @ kappa / count, mean @ size / count
    return CappedDual(U, bias, kappa, size, offset, error, cap)


def certified(
    similarity: Similarity, dual: CappedDual, part: Ints, x: Floats, shifts: Floats, shift: float, m: int,
    tol: float,
) -> DominantSet:  # fmt: skip
    """The certificate of weights of parts, at most 1 / m, recomputed from them.

    Weights up to the rounding of their sum are taken as 0. So are those of undecided objects up to the
    rounding of payoffs, unless the gap is larger without them: what bisection has left makes no members.
    """
    x = np.where(x > x.size * EPS, x, 0.0)
    count = np.bincount(part)
    weights = x[part] / count[part]
    members = np.flatnonzero(weights)
    each = similarity.gradient(members, weights[members]) - shifts * weights
    r = np.bincount(part, each) / count
    f = float(x @ r)
    best = np.partition(r, len(r) - m)[len(r) - m :]  # the best point of the capped simplex is m of them
    gap = max(0.0, float(best.mean()) - f)
    free = (x > 0.0) & (x < dual.cap)
    level = float(r[free].mean()) if free.any() else float(r[x > 0.0].min())
    kappa = bounds_of(similarity).kappa_of(members, shifts[members])
    unit = max(0.0, float(np.sum(kappa * np.square(weights[members]))))
    error = dual.rounding(x, r)
    strict, undecided = strict_nearby(dual, x, r, error, dual.cap)
    if strict is False and dual.cap < 1.0:
        strict = None  # the same members, others of them at the cap, may be a strict maximum
    left = undecided[(x * dual.kappa <= error)[undecided] & (x[undecided] > 0.0)]
    if left.size:
        without = x.copy()
        without[left] = 0.0
        without = np.minimum(without / without.sum(), dual.cap)
        found = certified(similarity, dual, part, without, shifts, shift, m, tol)
        if found.strict and found.gap <= max(gap, float(error.max())):
            return found
    return DominantSet(
        members=members,
        weights=weights[members],
        value=f + shift,
        gap=gap,
        margin=level - float(r[x == 0.0].max(initial=-np.inf)),
        strict=strict,
        n_iter=0,
        status=Status.CONVERGED if gap <= max(tol * unit, float(error.max())) else Status.STALLED,
        shift=shift,
        algorithm="capped" if m > 1 else "welded",
        unit=unit,
        undecided=np.flatnonzero(np.isin(part, undecided)),
    )
