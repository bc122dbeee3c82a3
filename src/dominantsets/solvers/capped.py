r"""Sets of at least m members: no weight above 1 / m.

Over the capped simplex the dual is as before, with :math:`x_i = \min(1/m, \max(0, s_i - \tau) / \kappa_i)`;
the step :math:`w \leftarrow U^T x(w)` never lowers f, and Newton's matrix is that of the members strictly
between 0 and the cap (docs/theory-size.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dominantsets._checks import check_int
from dominantsets._typing import Flags, Floats
from dominantsets.similarity import Similarity
from dominantsets.solvers.certificate import EPS, beyond_rounding, scale_of
from dominantsets.solvers.monitor import Monitor
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
    """max f over weights that sum to 1 and do not exceed a cap, all objects in memory."""

    def __init__(self, U: Floats, bias: Floats, kappa: Floats, offset: float, cap: float) -> None:
        self.U, self.bias, self.kappa, self.offset, self.cap = U, bias, kappa, offset, cap

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
        if free.any():  # what bisection left of the sum goes to those that can move
            x[free] += (1.0 - x.sum()) / free.sum()
        image = self.U.T @ x
        f = float(image @ image + 2.0 * self.bias @ x + self.offset - self.kappa @ np.square(x))
        return _At(w, x, image, f, free)

    def jacobian(self, point: _At) -> Floats:
        """The derivative of U'x(w): the scatter of the members that can move."""
        rows, scale = self.U[point.free], 1.0 / self.kappa[point.free]
        if len(rows) < 2:
            return np.zeros((self.U.shape[1],) * 2)
        off = rows - scale @ rows / scale.sum()
        return np.asarray((off * scale[:, None]).T @ off)

    def newton(self, point: _At) -> Floats:
        """Newton's step for U'x(w) = w; directions uphill where the matrix is not definite."""
        values, axes = np.linalg.eigh(self.jacobian(point))
        along = axes.T @ (point.image - point.w)
        return np.asarray(point.w + axes @ (along / np.maximum(np.abs(1.0 - values), 1e-3)))


def climb(
    dual: CappedDual, x: Floats, shift: float, options: SolverOptions, monitor: Monitor
) -> tuple[_At, int, Status]:
    """Newton's steps from x, safe ones where those do not gain: what was reached, passes, why it ended."""
    point = dual.at(dual.U.T @ x)
    passes, stale = 1, 0
    unit = max(abs(point.f), abs(shift), float(np.abs(dual.bias).max()), 1e-300)
    try:
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
    except KeyboardInterrupt:
        return point, passes, Status.INTERRUPTED
    return point, passes, Status.MAX_ITER


def solve_capped(
    similarity: Similarity, m: Any, shift: float, options: SolverOptions, monitor: Monitor
) -> DominantSet:
    """A local maximum of f among weights up to 1 / m, so that at least m objects have one."""
    n = similarity.n
    m = check_int("min_members", m, at_least=1)
    if m > n:
        raise ValueError(f"min_members={m} is more than the number of objects, which is {n}.")
    U, bias, own, offset, _ = similarity.expanded(np.arange(n), shift, "a set of at least m members")
    dual = CappedDual(U, bias, np.broadcast_to(own + shift, (n,)), offset, 1.0 / m)
    point, passes, status = climb(dual, _start(similarity, options.start, m), shift, options, monitor)
    return _certified(similarity, dual, point, m, shift, options, passes, status)


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


def _certified(
    similarity: Similarity, dual: CappedDual, point: _At, m: int, shift: float, options: SolverOptions,
    passes: int, status: Status,
) -> DominantSet:  # fmt: skip
    """The certificate of the capped problem, recomputed from the weights."""
    x = point.x / point.x.sum()
    members = np.flatnonzero(x)
    r = similarity.gradient(members, x[members])
    r[members] -= shift * x[members]
    f = float(x @ r)
    best = np.partition(r, len(r) - m)[len(r) - m :]  # the best point of the capped simplex is m of them
    gap = max(0.0, float(best.mean()) - f)
    capped, free = x >= dual.cap * (1.0 - 1e-9), point.free & (x < dual.cap * (1.0 - 1e-9))
    level = float(r[free].mean()) if free.any() else float(r[capped].min())
    outside = x == 0.0
    margin = level - float(r[outside].max(initial=-np.inf))
    over = float(r[capped].min(initial=np.inf)) - level
    scale = scale_of(f, shift)
    if status is Status.CONVERGED and gap > options.tol * scale:
        status = Status.STALLED
    strict: bool | None = None
    if gap <= 1e-6 * max(scale, 0.0):
        definite = bool(np.linalg.eigvalsh(dual.jacobian(point))[-1] < 1.0 - 1e-12) or int(free.sum()) < 2
        # without free members an exchange of one at the cap for one outside must lose
        clear = beyond_rounding(over, f, gap, shift) or not capped.any() or not free.any()
        strict = definite and clear and beyond_rounding(margin, f, gap, shift)
    return DominantSet(
        members=members,
        weights=x[members],
        value=f + shift,
        gap=gap,
        margin=margin,
        strict=strict,
        n_iter=passes,
        status=status,
        shift=shift,
        algorithm="capped",
    )
