r"""The paper's four methods: Frank-Wolfe, pairwise, away-steps, and replicator dynamics.

The first three are one update, :math:`x \leftarrow c x + p e_i - q e_j` with i the largest payoff and j
the smallest of the support; only the rule that picks (c, p, q) differs, and one compiled loop serves
them. This file drives that loop: it supplies columns, recomputes what has drifted, and decides when
to stop.
"""

from __future__ import annotations

import numpy as np

from dominantsets.compiled import loop
from dominantsets.similarity.faces import EPS
from dominantsets.solvers.certificate import tolerance
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Outcome, Point, Problem
from dominantsets.solvers.result import Log, Status, Step, Trace

# Infection and immunisation walks the iterates of away-steps (the paper's Proposition 1).
RULES = {"fw": loop.FW, "pairwise": loop.PAIRWISE, "away": loop.AWAY, "inimdyn": loop.AWAY}

# r and f drift by rounding. They are recomputed every so many steps; where the gap is small enough for
# the drift to matter, each time it has fallen to a tenth, and more often.
REFRESH = 10_000
REFRESH_NEAR = 500
NEAR = 1e-10  # gap, relative to the size of the numbers, from which on drift matters
PATIENCE = 3  # recomputations in a row without progress that mean a stall


def ascend(problem: Problem, x: Point, options: SolverOptions, monitor: Monitor) -> Outcome:
    """Run one of the three rules from x."""
    run = _Ascent(problem, x, RULES[options.algorithm], options.tol, options.trace)
    status = run.until(options.max_iter, monitor)
    return Outcome(Point.of(run.walk.y), run.n_iter, status, run.history())


class _Ascent:
    """The state of one run of the compiled loop."""

    def __init__(self, problem: Problem, x: Point, rule: int, tol: float, trace: bool) -> None:
        self.problem = problem
        self.rule = rule
        self.tol = tol
        self.n_iter = 0
        self.since_refresh = 0
        self.refresh_after = REFRESH
        self.floor = 0.0
        self.stale = 0
        self.best = (-np.inf, np.inf)
        n = problem.n
        blocks = -(-n // loop.BLOCK)
        self.walk = loop.Walk(
            y=x.dense(n),
            fence=np.empty(n, dtype=np.float32),
            r=np.empty(n),
            block_max=np.empty(blocks),
            block_min=np.empty(blocks),
            members=np.zeros(n, dtype=np.int64),
            place=np.zeros(n, dtype=np.int64),
            numbers=np.zeros(2),
            counters=np.zeros(4, dtype=np.int64),
        )
        self._trace = trace
        self._log = Log()
        self.refresh()
        self.floor = NEAR * self.unit

    def refresh(self) -> None:
        """Recompute r and f from the weights: they drift."""
        walk = self.walk
        x = Point.of(walk.y)
        members = x.support
        walk.y[members] = x.weights
        walk.r[:], walk.numbers[0] = self.problem.every_payoff(x)
        walk.numbers[1] = 1.0
        walk.fence[:] = np.inf
        walk.fence[members] = -np.inf
        walk.counters[loop.SIZE] = members.size
        walk.members[: members.size] = members
        walk.place[members] = np.arange(members.size)
        loop.survey(walk)
        self.since_refresh = 0
        unit = self.problem.unit_of(Point(members, walk.y[members]))
        self.goal = tolerance(self.tol, unit, self.f, self.problem.shift)

    @property
    def f(self) -> float:
        return float(self.walk.numbers[0])

    @property
    def unit(self) -> float:
        """The size of the numbers that f and r are sums and differences of."""
        top = abs(float(self.walk.r[self.walk.counters[loop.TOP]]))
        return max(top, abs(self.f), abs(self.problem.shift))

    @property
    def gap(self) -> float:
        return float(self.walk.r[self.walk.counters[loop.TOP]]) - self.f

    def until(self, max_iter: int, monitor: Monitor) -> Status:
        shifts, columns = self.problem.shifts, self.problem.columns
        while True:
            if self.n_iter >= max_iter:
                return Status.MAX_ITER
            budget = min(monitor.budget(), max_iter - self.n_iter, self.refresh_after - self.since_refresh)
            record = self._room(budget)
            code, steps = loop.ascend(
                self.rule, shifts, max(self.floor, self.goal), budget, columns.array, columns.slot,
                columns.stamp, columns.clock, self.walk, record,
            )  # fmt: skip
            if self._trace and steps:
                self._log.extend(np.column_stack([part[:steps] for part in record]).tolist())
            self.n_iter += steps
            self.since_refresh += steps
            columns.clock += steps + 1
            if code == loop.WANT_COLUMN:
                i, j, wanted = self.walk.counters[[loop.TOP, loop.LOW, loop.WANTED]]
                columns.load(int(wanted), keep=int(j if wanted == i else i))
                if not monitor.due():
                    continue
            elif code == loop.LOOK or self.since_refresh >= self.refresh_after:
                status = self.believe()
                if status is not None:
                    return status
            monitor.calibrate(steps)
            size = int(self.walk.counters[loop.SIZE])
            halt = monitor.report(self.n_iter, self.f + self.problem.shift, self.gap, size)
            if halt is not None:
                return halt

    def believe(self) -> Status | None:
        """Recompute, and see whether the run is done or gets nowhere."""
        self.refresh()
        f, gap, unit = self.f, self.gap, self.unit
        same = self.rule != loop.FW and (self.walk.counters[loop.TOP] == self.walk.counters[loop.LOW])
        if gap <= max(self.goal, 0.0):
            return Status.CONVERGED
        if same:
            return Status.STALLED
        better = f > self.best[0] + 4 * EPS * unit or gap < 0.9 * self.best[1]
        self.stale = 0 if better else self.stale + 1
        self.best = (max(f, self.best[0]), min(gap, self.best[1]))
        if gap <= max(self.floor, NEAR * unit):
            self.floor = 0.1 * gap
            self.refresh_after = REFRESH_NEAR + 4 * int(self.walk.counters[loop.SIZE])
        return Status.STALLED if self.stale >= PATIENCE else None

    def _room(self, budget: int) -> loop.Record:
        size = budget if self._trace else 0
        return loop.Record(np.empty(size), np.empty(size), np.empty(size, np.int64), np.empty(size, np.int8))

    def history(self) -> Trace | None:
        if not self._trace:
            return None
        return self._log.trace(self.problem.shift)


def replicate(problem: Problem, x: Point, options: SolverOptions, monitor: Monitor) -> Outcome:
    """Replicator dynamics from x, until two iterates are no more than tol apart."""
    y = x.dense(problem.n)
    shift = problem.shift
    lift = max(float(problem.shifts.max()), 0.0)
    rows = Log()
    n_iter, status = 0, Status.MAX_ITER
    while n_iter < options.max_iter:
        r, f = problem.every_payoff(Point.of(y))
        if f + lift <= 0.0:  # no similarity among the support: 0/0, and nothing to gain
            status = Status.STALLED
            break
        gap = float(r.max()) - f
        r[~problem.alive] = 0.0
        size, moved = loop.replicate(y, r, f, lift)
        n_iter += 1
        if options.trace:
            rows.append((f, gap, size, int(Step.REPLICATE)))
        if moved <= options.tol**2:
            status = Status.STEADY
            break
        if monitor.due():
            halt = monitor.report(n_iter, f + shift, gap, size)
            if halt is not None:
                status = halt
                break
    return Outcome(Point.of(y), n_iter, status, rows.trace(shift) if options.trace else None)
