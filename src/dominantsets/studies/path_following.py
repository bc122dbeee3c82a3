r"""Path-following with capped weights (Liu et al., arXiv 1303.2643), reconstructed from its abstract.

.. math:: \max_x x^T (A - \alpha I) x \quad \text{with} \quad 0 \le x_i \le \varepsilon, \; \sum x_i = 1

for a cap :math:`\varepsilon` that rises from 1/n, where equal weights are all there is, to 1, the problem
itself. A cap of 1/m means that at least m objects take part, so the way to a dominant set leads through
groups that are coarse first. Each level begins where the one before ended, which its larger cap allows: f
never falls.

The paper runs replicator dynamics within the cap; here a level is climbed by projected gradient steps, each
with the best step length along its direction (one product with the similarity, linear in the edges of a
graph). Where the cap binds no weight any more the problem itself is solved from there, by pairwise steps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dominantsets._typing import Floats
from dominantsets.solvers.frank_wolfe import ascend
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Outcome, Point, Problem
from dominantsets.solvers.result import Log, Status, Step

ROUGH = 1e-3  # gap within the cap, relative to the value, at which a level gives way to the next
STEPS = 200  # of one level at most
TINY = 1e-280  # no step is longer than its inverse
FAR = 1e6  # caps that a step may pass on the way to its projection
SLACK = 1e-9  # how far below the cap, relative, a weight is that it does not bind


def follow_path(problem: Problem, x: Point, options: SolverOptions, monitor: Monitor) -> Outcome:
    """Rise from equal weights of all objects that are alive; x is not used, see :class:`SolverOptions`."""
    path = _Path(problem)
    status = path.rise(float(options.parameter("growth")), options.max_iter, monitor)
    x = path.point()
    last = Outcome(x, 0, status, None)
    if status is Status.CONVERGED:
        left = max(1, options.max_iter - path.n_iter)
        last = ascend(problem, x, replace(options, algorithm="pairwise", max_iter=left), monitor)
    trace = None
    if options.trace:
        trace = path.rows.trace(problem.shift).followed_by(last.trace)
    return Outcome(last.x, path.n_iter + last.n_iter, last.status, trace)


class _Path:
    """Where the path stands: x and r of the objects that are alive, and f."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.objects = problem, problem.living()
        self.x = np.full(self.objects.size, 1.0 / self.objects.size)
        self.cap = 1.0 / self.objects.size
        self.n_iter = 0
        self.rows = Log()
        self.refresh()

    def point(self) -> Point:
        held = self.x > 0.0
        return Point(self.objects[held], self.x[held] / self.x.sum())

    def _product(self, z: Floats) -> Floats:
        """(A - shift I) z."""
        held = np.flatnonzero(z)
        every: Floats = self.problem.similarity.gradient(self.objects[held], z[held])
        return every[self.objects] - self.problem.shift * z

    def refresh(self) -> None:
        """Recompute r and f from the weights: they drift."""
        self.r = self._product(self.x)
        self.f = float(self.x @ self.r)

    def rise(self, growth: float, max_iter: int, monitor: Monitor) -> Status:
        """Level after level, until the cap binds no weight."""
        while self.cap < 1.0:
            self.cap = min(1.0, self.cap * growth)
            halt = self.climb(min(max_iter, self.n_iter + STEPS), monitor)
            if halt is not None:
                return halt
            if self.n_iter >= max_iter:
                return Status.MAX_ITER
            if self.x.max() < (1.0 - SLACK) * self.cap:
                break
            self.refresh()
        return Status.CONVERGED

    def climb(self, last: int, monitor: Monitor) -> Status | None:
        """Projected gradient steps of one level; a status if the run has to end here."""
        spread = float(self.r.max() - self.r.min())
        pace = self.cap / max(spread, TINY) if spread > 0.0 else 1.0
        while self.n_iter < last:
            gap = largest_within(self.r, self.cap) - self.f
            if gap <= ROUGH * max(self.f, self.f + self.problem.shift) or gap <= 0.0:
                return None
            d = project(self.x + pace * self.r, self.cap) - self.x
            Bd = self._product(d)
            gain, bend = float(d @ self.r), -float(d @ Bd)
            if gain <= 0.0:
                return None
            t = min(1.0, gain / bend) if bend > 0.0 else 1.0
            self.rows.append((self.f, gap, int(np.count_nonzero(self.x)), int(Step.CAPPED)))
            self.x = np.clip(self.x + t * d, 0.0, self.cap)
            self.r += t * Bd
            self.f = float(self.x @ self.r)
            self.n_iter += 1
            # the curvature that was met is that of the next step (Barzilai and Borwein)
            pace = float(d @ d) / bend if bend > 0.0 else 4.0 * pace
            # along a line f is nearly straight: a step so long that the cap is lost in rounding ends nowhere
            pace = min(pace, FAR * self.cap / max(float(self.r.max() - self.r.min()), TINY))
            if monitor.due():
                size = int(np.count_nonzero(self.x))
                halt = monitor.report(self.n_iter, self.f + self.problem.shift, gap, size)
                if halt is not None:
                    return halt
        return None


def largest_within(r: Floats, cap: float) -> float:
    """The largest v'r of weights v that are at most ``cap``: the best objects are filled first."""
    full = min(r.size, int(1.0 / cap * (1.0 + SLACK)))
    rest = max(0.0, 1.0 - full * cap)
    best = -np.partition(-r, min(full, r.size - 1))[: full + 1]
    best = -np.sort(-best)
    total = cap * float(best[:full].sum())
    return total + rest * float(best[full]) if best.size > full else total


def project(y: Floats, cap: float) -> Floats:
    r"""The nearest point with :math:`0 \le x_i \le \varepsilon` and :math:`\sum x_i = 1`.

    It is :math:`x_i = \min(\varepsilon, \max(0, y_i - \tau))`, whose sum falls from :math:`n \varepsilon` as
    :math:`\tau` rises, and bends at :math:`y_i - \varepsilon` and at :math:`y_i`.
    """
    m = min(y.size, int(np.ceil(1.0 / cap)))
    # the best m would fill up at a threshold this low: whoever lies below it has no weight
    held = np.flatnonzero(y >= np.partition(y, y.size - m)[y.size - m] - cap)
    high = y[held]
    bends = np.concatenate([high - cap, high])
    order = np.argsort(bends, kind="stable")
    bends = bends[order]
    slopes = np.cumsum(np.where(order < high.size, -1.0, 1.0))[:-1]
    sums = high.size * cap + np.concatenate([[0.0], np.cumsum(slopes * np.diff(bends))])
    k = int(np.argmax(sums <= 1.0)) if sums[-1] <= 1.0 else sums.size - 1
    tau = bends[0]  # every weight at the cap
    if k > 0:
        tau = bends[k - 1] + ((1.0 - sums[k - 1]) / slopes[k - 1] if slopes[k - 1] < 0.0 else 0.0)
    x = np.zeros(y.size)
    x[held] = np.clip(high - tau, 0.0, cap)
    return np.asarray(x / x.sum())
