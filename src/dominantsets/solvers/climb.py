"""Climbing in the dual: Newton's steps in a trust region, with the safe step behind them.

A climb proposes a w, is given x(w), and judges it; who makes the pass over the features (one climb alone, or
many together) is no concern of its.
"""

from __future__ import annotations

import math

import numpy as np

from dominantsets import _rows
from dominantsets.similarity.base import Floats
from dominantsets.solvers.certificate import EPS, scale_of
from dominantsets.solvers.dual import DENSE_LIMIT, Dual, DualPoint
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.problem import Outcome, Point, Problem
from dominantsets.solvers.result import Status, Step, Trace

AHEAD = 32  # passes over small data between two looks at the clock
MEMORY = 6  # steps that the extrapolation remembers
PATIENCE = 3  # steps in a row without progress that mean a stall


class _Extrapolation:
    """Anderson's extrapolation of the safe steps, where Newton's matrix would be too large."""

    def __init__(self) -> None:
        self.images: list[Floats] = []
        self.residuals: list[Floats] = []

    def step(self, point: DualPoint) -> Floats:
        self.images = [*self.images[-MEMORY:], point.image]
        self.residuals = [*self.residuals[-MEMORY:], point.residual]
        if len(self.residuals) < 2:
            return point.residual
        differences = np.column_stack([r - point.residual for r in self.residuals[:-1]])
        shares, *_ = np.linalg.lstsq(differences, -point.residual, rcond=1e-10)
        moves = np.column_stack([i - point.image for i in self.images[:-1]])
        return np.asarray(point.residual + moves @ shares)


class Climb:
    """A run: where it stands, how far it dares to step, and what it has recorded."""

    def __init__(self, dual: Dual, start: Point) -> None:
        self.dual = dual
        self.point: DualPoint | None = None
        self.passes = 0
        self.radius = 0.0
        self.stretch = 1.0
        self.stale = 0
        self.rows: list[tuple[float, float, int, int]] = []
        self._trial = dual.image(start.support, start.weights)
        self._kind = Step.SAFE
        self._stride = 0.0
        self._extrapolation = _Extrapolation()

    def reached(self) -> DualPoint:
        """The last accepted point; there is one after the first pass."""
        assert self.point is not None
        return self.point

    @property
    def bound(self) -> float:
        """A bound of the gap: r_i differs from what x(w) would make it by u_i · residual."""
        return 2.0 * self.dual.reach * self.reached().length

    @property
    def rounding(self) -> float:
        """What f may lose by rounding alone."""
        point = self.reached()
        size = self.dual.reach * math.sqrt(point.w @ point.w)
        return 4 * EPS * max(abs(point.f), abs(self.dual.problem.shift), size)

    def finished(self, tol: float, max_iter: int) -> Status | None:
        """Why there is nothing left to do, if there is not."""
        if self.point is None:
            return None
        if self.bound <= max(tol * scale_of(self.point.f, self.dual.problem.shift), self.rounding):
            return Status.CONVERGED
        if self.stale >= PATIENCE:
            return Status.STALLED
        return Status.MAX_ITER if self.passes >= max_iter else None

    def propose(self) -> Floats:
        """The w whose x(w) is wanted next: Newton's step, or the safe one where that was refused."""
        before = self.point
        if before is None or self._kind is Step.SAFE:
            return self._trial
        if min(before.members.size, self.dual.similarity.rows.d) <= DENSE_LIMIT:
            spread = self.dual.spread(before.members, before.w)
            step, _ = spread.step(before.residual, max(self.radius, before.length))
        else:
            step = self._extrapolation.step(before)
        step *= self.stretch
        self._stride = math.sqrt(step @ step)
        return before.w + step

    def receive(self, after: DualPoint) -> None:
        """Judge x(w) of the last proposal."""
        self.passes += 1
        before = self.point
        if before is None:
            self.point, self.radius, self._kind = after, 2.0 * after.length, Step.NEWTON
            return
        rounding, kind = self.rounding, self._kind
        if kind is Step.NEWTON:
            accepted, self.radius, self.stretch = _rows.judge(
                before.f,
                before.length,
                after.f,
                after.length,
                rounding,
                self._stride,
                self.radius,
                self.stretch,
            )
            if not accepted:
                self._trial, self._kind = before.image, Step.SAFE
                return
        risen = after.f > before.f + rounding or after.length < before.length
        self.stale = 0 if risen else self.stale + 1
        self.rows.append((before.f, self.bound, before.members.size, int(kind)))
        self.point, self._kind = after, Step.NEWTON

    def run_ahead(self, tol: float, budget: int, ahead: int) -> bool:
        """Several steps in one compiled call, where the data are small; whether there was one."""
        dual, point = self.dual, self.point
        if point is None or not dual.small or self._kind is Step.SAFE:
            return False
        if point.members.size < dual.similarity.rows.d:
            return False
        rows = np.empty((ahead, 4))
        passes, done, self.radius, self.stretch, self.stale, reached = _rows.small_climb(
            dual.similarity.rows.plain, dual.form, dual.center, dual.inverse, dual.problem.alive,
            dual.similarity.offset or 0.0, dual.problem.shift, dual.reach, tol, budget,
            self.radius, self.stretch, self.stale, point.parts, dual.keep, rows,
        )  # fmt: skip
        if done:
            self.point = DualPoint(*reached)
            self.passes += passes
            self.rows += [(f, bound, int(size), int(kind)) for f, bound, size, kind in rows[:done].tolist()]
        return done > 0

    def outcome(self, status: Status, trace: bool) -> Outcome:
        """What was reached, with the second-order test of the face."""
        point = self.reached()
        smaller = min(point.members.size, self.dual.similarity.rows.d)
        face = self.dual.spread(point.members, point.w).definite() if smaller <= DENSE_LIMIT else None
        history = Trace.from_rows(self.rows, self.dual.problem.shift) if trace else None
        return Outcome(Point(point.members, point.weights), self.passes, status, history, face)


def solve_dual(
    problem: Problem,
    x: Point,
    *,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    trace: bool = False,
) -> Outcome:
    """Newton's method with safe steps from x."""
    climb = Climb(Dual(problem), x)
    climb.receive(climb.dual.at(climb.propose()))
    try:
        status = _until(climb, tol, max_iter, monitor)
    except KeyboardInterrupt:  # between two passes: the last accepted point is whole
        status = Status.INTERRUPTED
    return climb.outcome(status, trace)


def _until(climb: Climb, tol: float, max_iter: int, monitor: Monitor) -> Status:
    shift, ahead = climb.dual.problem.shift, 1 if monitor.callback else AHEAD
    while True:
        status = climb.finished(tol, max_iter)
        if status is not None:
            return status
        point = climb.reached()
        halt = monitor.look_up(climb.passes, point.f + shift, climb.bound, point.members.size)
        if halt is not None:
            return halt
        if not climb.run_ahead(tol, max_iter - climb.passes, ahead):
            climb.receive(climb.dual.at(climb.propose()))
