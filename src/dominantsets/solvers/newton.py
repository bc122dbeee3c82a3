"""Newton's method in the dual: steps in a trust region, with the safe step behind them.

An ascent proposes a w, is given x(w), and accepts it or not; it does not depend on where the features are,
or on how many ascents share the pass over them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import passes
from dominantsets.compiled.interrupts import Interrupted
from dominantsets.compiled.passes import PATIENCE
from dominantsets.similarity.faces import EPS
from dominantsets.solvers.dual import Dual, DualPoint, Iterate, Jacobian
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Outcome, Point, Problem
from dominantsets.solvers.result import Log, Status, Step, Trace

AHEAD = 32  # passes over small data between two checks of the clock
MEMORY = 6  # steps that the extrapolation remembers


class _Extrapolation:
    """Anderson's extrapolation of the safe steps, where Newton's matrix would be too large."""

    def __init__(self) -> None:
        self.images: list[Floats] = []
        self.residuals: list[Floats] = []

    def step(self, point: Iterate) -> Floats:
        self.images = [*self.images[-MEMORY:], point.image]
        self.residuals = [*self.residuals[-MEMORY:], point.residual]
        if len(self.residuals) < 2:
            return point.residual
        differences = np.column_stack([r - point.residual for r in self.residuals[:-1]])
        shares, *_ = np.linalg.lstsq(differences, -point.residual, rcond=1e-10)
        moves = np.column_stack([i - point.image for i in self.images[:-1]])
        return np.asarray(point.residual + moves @ shares)


_P = TypeVar("_P", bound=Iterate)
_Asked = TypeVar("_Asked", bound=Iterate, contravariant=True)


class Space(Protocol[_Asked]):
    """What an ascent asks of a dual problem, wherever its features are."""

    shift: float
    reach: float  # length of the longest row
    scatter: float  # an upper bound of J's largest eigenvalue on any objects

    def image(self, members: Ints, weights: Floats) -> Floats:
        """The product U'x."""

    def jacobian(self, point: _Asked) -> Jacobian | None:
        """The Jacobian of U'x(w) there; None where that matrix would be too large."""


class NewtonAscent(Generic[_P]):
    """A run: where it stands, how far its next step may go, and what it has recorded."""

    def __init__(self, dual: Space[_P], start: Point | Floats) -> None:
        self.dual = dual
        self.point: _P | None = None
        self.passes = 0
        self.radius = 0.0
        self.stretch = 1.0
        self.stale = 0
        self.record = np.array([-np.inf, np.inf])  # the highest f and the shortest residual
        self.rows = Log()
        # U'x of the start is all that is needed of it
        self._trial = dual.image(start.support, start.weights) if isinstance(start, Point) else start
        self.kind = Step.SAFE
        self._stride = 0.0
        self._extrapolation = _Extrapolation()

    def reached(self) -> _P:
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
        return 4 * EPS * max(abs(point.f), abs(self.dual.shift), size)

    def finished(self, tol: float, max_iter: int) -> Status | None:
        """Why there is nothing left to do, if there is not."""
        if self.point is None:
            return None
        rounding = self.rounding * (1.0 + self.point.size)  # as ``certificate.tolerance`` has it
        if self.bound <= max(tol * self.point.unit, rounding):
            return Status.CONVERGED
        if self.stale >= PATIENCE:
            return Status.STALLED
        return Status.MAX_ITER if self.passes >= max_iter else None

    def propose(self) -> Floats:
        """The w at which x(w) is wanted next: Newton's step, or the safe one where that was refused."""
        before = self.point
        if before is None or self.kind is Step.SAFE:
            return self._trial
        jacobian = self.dual.jacobian(before)
        if jacobian is not None:
            step, _ = jacobian.step(before.residual, max(self.radius, before.length))
        else:
            step = self._extrapolation.step(before)
        step *= self.stretch
        self._stride = math.sqrt(step @ step)
        return before.w + step

    def receive(self, after: _P) -> None:
        """Judge x(w) of the last proposal."""
        self.passes += 1
        before = self.point
        if before is None:
            self.point, self.radius, self.kind = after, 2.0 * after.length, Step.NEWTON
            self.record[:] = after.f, after.length
            return
        rounding, kind = self.rounding, self.kind
        if kind is Step.NEWTON:
            accepted, self.radius, self.stretch = passes.accept_step(
                before.f,
                before.length,
                after.f,
                after.length,
                rounding,
                self.dual.scatter,
                self._stride,
                self.radius,
                self.stretch,
            )
            if not accepted:
                self._trial, self.kind = before.image, Step.SAFE
                return
        better = passes.progress(self.record, after.f, after.length, rounding)
        self.stale = 0 if better else self.stale + 1
        self.rows.append((before.f, self.bound, before.size, int(kind)))
        self.point, self.kind = after, Step.NEWTON

    def room(self) -> float | None:
        """How far J is below 1 on the support that was reached, where that is known."""
        jacobian, size = self.dual.jacobian(self.reached()), self.reached().size
        return None if jacobian is None else jacobian.room(size)

    def trace(self) -> Trace:
        """The trace of all steps."""
        return self.rows.trace(self.dual.shift)

    def outcome(self, status: Status, trace: bool) -> Outcome:
        """What was reached, with the second-order test of the face."""
        point = self.reached()
        assert isinstance(point, DualPoint)
        history = self.trace() if trace else None
        return Outcome(Point(point.members, point.weights), self.passes, status, history, self.room())


def ascend_many(
    ascents: list[NewtonAscent[_P]],
    visit: Callable[[list[int], list[Floats]], list[_P]],
    options: SolverOptions,
    monitor: Monitor,
    run_ahead: Callable[[int], bool] = lambda budget: False,
) -> list[Status]:
    """Many ascents, a pass for all of them at a time; why each of them ended.

    ``visit`` gives x(w) for a w of each of the ascents it is given. Finished ones take no further part.
    ``run_ahead`` may make several steps at once, where it can, within a budget of passes.
    """
    ends: dict[int, Status] = {}
    halt: Status | None = None
    try:
        while halt is None:
            for k, ascent in enumerate(ascents):
                status = ascent.finished(options.tol, options.max_iter) if k not in ends else None
                if status is not None:
                    ends[k] = status
            active = [k for k in range(len(ascents)) if k not in ends]
            if not active:
                break
            first = ascents[active[0]]
            if first.point is not None:
                f, size = first.point.f + first.dual.shift, first.point.size
                halt = monitor.report(first.passes, f, first.bound, size)
                if halt is not None or run_ahead(options.max_iter - first.passes):
                    continue
            points = visit(active, [ascents[k].propose() for k in active])
            for k, point in zip(active, points, strict=True):
                ascents[k].receive(point)
    except Interrupted:  # within a pass on Dask workers: what each has accepted is whole
        halt = Status.INTERRUPTED
    return [ends.get(k, halt or Status.MAX_ITER) for k in range(len(ascents))]


def solve_dual(problem: Problem, x: Point, options: SolverOptions, monitor: Monitor) -> Outcome:
    """Newton's method with safe steps from x."""
    dual = Dual(problem)
    ascent = NewtonAscent(dual, x)
    ascent.receive(dual.at(ascent.propose()))
    ahead = 1 if monitor.callback else AHEAD
    status = ascend_many(
        [ascent], lambda _, W: [dual.at(W[0])], options, monitor,
        lambda budget: _run_ahead(ascent, dual, options.tol, budget, ahead),
    )[0]  # fmt: skip
    return ascent.outcome(status, options.trace)


def _run_ahead(ascent: NewtonAscent[DualPoint], dual: Dual, tol: float, budget: int, ahead: int) -> bool:
    """Several steps in one compiled call, where the data are small; whether there was one."""
    point = ascent.reached()
    if not dual.small or ascent.kind is Step.SAFE or point.size < dual.d:
        return False
    rows = np.empty((ahead, 4))
    made, done, ascent.radius, ascent.stretch, ascent.stale, reached = passes.small_climb(
        dual.rows.plain, dual.form, dual.center, dual.inv_kappa, dual.problem.alive,
        dual.offset, dual.shift, dual.reach, dual.scatter, tol, budget,
        ascent.radius, ascent.stretch, ascent.stale, ascent.record, point.parts, dual.keep, rows,
    )  # fmt: skip
    if done:
        w, tau, members, weights, image, f = reached
        ascent.point = DualPoint(w, tau, members, weights, image, f, dual.inv_kappa)
        ascent.passes += made
        ascent.rows.extend(
            [(f, bound, int(size), int(kind)) for f, bound, size, kind in rows[:done].tolist()]
        )
    return done > 0
