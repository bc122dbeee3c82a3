r"""Exponential replicator dynamics, with a safeguard that keeps f from falling.

.. math:: x_i \leftarrow x_i \exp(k r_i / F) / \sum_j x_j \exp(k r_j / F)

with F the value in the off-diagonal form, so that k has no unit and for small steps is the step of replicator
dynamics (:math:`e^{r/F - 1} \approx r/F`). It is mirror ascent with the step k: a small one cannot lower f, a
large one is nearly the best response, which may swing to and fro. So k is halved while f would fall, and
doubled again, up to the rate that was asked for, after each step that did not.
"""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Floats
from dominantsets.solvers.certificate import EPS
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Outcome, Point, Problem
from dominantsets.solvers.result import Log, Status, Step

UNDERFLOW = 1e-290  # weights below it are set to 0: denormal numbers would slow every later product down
LEAST = 2.0**-40  # of the rate: no step that is shorter makes a difference


def replicate_exponentially(problem: Problem, x: Point, options: SolverOptions, monitor: Monitor) -> Outcome:
    """Exponential replicator dynamics from x, until two iterates are no more than tol apart."""
    rate = float(options.parameter("rate"))
    shift, lift, k = problem.shift, max(problem.shift, 0.0), rate
    rows = Log()
    n_iter, status = 0, Status.MAX_ITER
    r, f = problem.every_payoff(x)
    while n_iter < options.max_iter:
        if f + lift <= 0.0:  # no similarity among the support: nothing to gain
            status = Status.STALLED
            break
        gap = float(r.max()) - f
        unit = max(abs(f), abs(shift))
        inside = r[x.support]
        while True:
            new = _multiplied(x, inside, k / (f + lift))
            r_new, f_new = problem.every_payoff(new)
            if f_new >= f - 4 * EPS * unit or k <= LEAST * rate:
                break
            k *= 0.5
        if f_new < f - 4 * EPS * unit:
            status = Status.STALLED
            break
        n_iter += 1
        if options.trace:
            rows.append((f, gap, x.support.size, int(Step.REPLICATE)))
        moved = _apart(x, new)
        x, r, f, k = new, r_new, f_new, min(rate, 2.0 * k)
        if moved <= options.tol:
            status = Status.STEADY
            break
        if monitor.due():
            halt = monitor.report(n_iter, f + shift, gap, x.support.size)
            if halt is not None:
                status = halt
                break
    return Outcome(x, n_iter, status, rows.trace(shift) if options.trace else None)


def _multiplied(x: Point, r: Floats, k: float) -> Point:
    weights = x.weights * np.exp(k * (r - float(r.max())))
    kept = weights > UNDERFLOW
    return Point(x.support[kept], weights[kept] / weights[kept].sum())


def _apart(x: Point, new: Point) -> float:
    """The distance of two points, the second on a part of the first's support."""
    change = -x.weights
    change[np.searchsorted(x.support, new.support)] += new.weights
    return float(np.linalg.norm(change))
