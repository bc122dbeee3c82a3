r"""The working set: few objects matter for one cluster.

A small set W of objects (the support and the best outsiders) is solved as a dense block by the compiled loop;
one product with the whole similarity then finds the objects that would gain by joining, the best of which
enter W. Objects that fell to zero leave, unless they have come back before. f never falls, and W loses
objects only while f grows, so the rounds cannot cycle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, solve

from dominantsets.similarity import Graph
from dominantsets.similarity.base import Floats, Ints, Similarity
from dominantsets.solvers import first_order
from dominantsets.solvers.certificate import EPS, scale_of
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.problem import Problem
from dominantsets.solvers.result import Status, Step, Trace

GROW = 64  # objects that enter in the first round
BLOCK_LIMIT = 4_000  # objects of a block (128 MB); larger supports go on with the first-order loop
DIRECT_LIMIT = 1_500  # members up to which a settled support is finished by one linear system
DIRECT_ALWAYS = 150  # and up to which that is cheap enough to be tried in every round
INNER = 0.02  # inner tolerance, of the global gap
BEGIN = 64  # objects of a dense start that the first block holds


class Block(Similarity):
    """A dense piece of a similarity, taken as checked."""

    def __init__(self, array: Floats) -> None:
        array.flags.writeable = False
        self._array = array
        self.n = self.n_features = len(array)

    @property
    def stored(self) -> NDArray[np.float64]:
        return self._array

    def block(self, rows: Ints, cols: Ints) -> Floats:
        return self._array[np.ix_(rows, cols)]

    def cross(self, new: Floats, cols: Ints) -> Floats:
        return np.asarray(new)[:, cols]

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        return np.asarray(weights @ self._array[support])


class _Rounds:
    """Where a run stands: weights and payoffs of all objects, and the working set."""

    def __init__(self, problem: Problem, x: Floats) -> None:
        self.problem = problem
        members = np.flatnonzero(x)
        if members.size > BEGIN:  # a dense start: one product, then its best candidates
            r, _ = problem.payoffs(x)
            members = np.sort(np.argpartition(-r, BEGIN)[:BEGIN])
            x = np.zeros(problem.n)
            x[members] = 1.0 / members.size
        self.x = x.copy()
        self.r, self.f = problem.payoffs(self.x)
        self.working = members
        self.grow = GROW
        self.n_iter = 0
        self.rounds: list[tuple[float, float, int, int]] = []
        self._returns = np.zeros(problem.n, dtype=np.int8)
        self._settled = np.empty(0, dtype=np.int64)

    @property
    def gap(self) -> float:
        return float(self.r.max()) - self.f

    def admit(self) -> int:
        """Take in the best outsiders that would gain by joining; how many there were."""
        candidates = np.flatnonzero(self.r > self.f)
        candidates = np.setdiff1d(candidates, self.working, assume_unique=True)
        if candidates.size > self.grow:
            best = np.argpartition(-self.r[candidates], self.grow)[: self.grow]
            candidates = candidates[best]
            self.grow *= 2  # many are waiting: doubling keeps the rounds few
        self._returns[candidates] += 1
        self.working = np.sort(np.concatenate([self.working, candidates]))
        return candidates.size

    def improve(self, tol: float, max_iter: int, monitor: Monitor) -> Status:
        """Solve on the working set, and carry the change over to all objects."""
        W, problem = self.working, self.problem
        block = Problem(Block(problem.similarity.block(W, W)), problem.shift)
        y, steps, status, _ = first_order.ascend(
            block, self.x[W], "pairwise", tol=tol, max_iter=max_iter, monitor=monitor
        )
        self.n_iter += steps
        y /= y.sum()
        support = W[y > 0]
        if support.size <= DIRECT_ALWAYS or np.array_equal(support, self._settled):
            y = _finish(block, y)
        self._settled = support
        change = y - self.x[W]
        moved = np.flatnonzero(change)
        self.x[W] = y
        if moved.size:
            self.r += problem.similarity.gradient(W[moved], change[moved])
            self.r[W[moved]] -= problem.shift * change[moved]
            self.r[~problem.alive] = -np.inf
        support = np.flatnonzero(self.x)
        self.f = float(self.x[support] @ self.r[support])
        # what fell to zero leaves, unless it has come back before
        self.working = W[(y > 0) | (self._returns[W] > 1)]
        return status

    def recompute(self) -> None:
        self.x /= self.x.sum()
        self.r, self.f = self.problem.payoffs(self.x)


def _finish(block: Problem, y: Floats) -> Floats:
    """The stationary point of y's support by one linear system, where it is one and no worse."""
    S = np.flatnonzero(y)
    m = S.size
    if not 1 < m <= DIRECT_LIMIT:
        return y
    B = block.similarity.block(S, S)
    B[np.diag_indices(m)] = -block.shift
    system = np.ones((m + 1, m + 1))
    system[:m, :m], system[m, m] = B, 0.0
    right = np.zeros(m + 1)
    right[m] = 1.0
    try:
        z = solve(system, right, assume_a="sym", check_finite=False)[:m]
    except (LinAlgError, ValueError):
        return y
    if not np.isfinite(z).all() or z.min() <= 0.0 or z @ B @ z < y[S] @ B @ y[S]:
        return y
    out = np.zeros_like(y)
    out[S] = z / z.sum()
    return out


def solve_working_set(
    problem: Problem,
    x: Floats,
    *,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    trace: bool = False,
) -> tuple[Floats, int, Status, Trace | None]:
    """Rounds of a growing working set from x: (weights, inner iterations, status, trace)."""
    run = _Rounds(problem, x)
    try:
        status = _climb(run, tol, max_iter, monitor)
    except KeyboardInterrupt:  # weights are set at once, after a round
        status = Status.INTERRUPTED
    return run.x, run.n_iter, status, Trace.from_rows(run.rounds, problem.shift) if trace else None


def _climb(run: _Rounds, tol: float, max_iter: int, monitor: Monitor) -> Status:
    problem, stale = run.problem, 0
    fresh = True
    while True:
        f, gap = run.f, run.gap
        scale = scale_of(f, problem.shift)
        unit = max(abs(f), abs(problem.shift), abs(f + gap))
        if gap <= tol * scale or gap <= 4 * EPS * unit:
            if fresh:
                return Status.CONVERGED
            run.recompute()
            fresh = True
            continue
        if run.n_iter >= max_iter:
            return Status.MAX_ITER
        if stale >= 3:
            return Status.STALLED
        halt = monitor.look_up(run.n_iter, f + problem.shift, gap, int(np.count_nonzero(run.x)))
        if halt is not None:
            return halt
        run.rounds.append((f, gap, int(np.count_nonzero(run.x)), int(Step.ROUND)))
        entered = run.admit()
        if run.working.size > BLOCK_LIMIT and f < 0.0 and isinstance(problem.similarity, Graph):
            return Status.DISSOLVED  # objects without an edge to the cluster have r = 0 > f: all of them
        if run.working.size > BLOCK_LIMIT:  # too large for a block: the plain loop, column by column
            run.x, steps, status, _ = first_order.ascend(
                problem, run.x, "pairwise", tol=tol, max_iter=max_iter - run.n_iter, monitor=monitor
            )
            run.n_iter += steps
            return status
        inner = max(INNER * gap / scale, 0.1 * tol) if scale > 0 else 0.1 * tol
        status = run.improve(inner, max_iter - run.n_iter, monitor)
        fresh = False
        if status in (Status.TIME_LIMIT, Status.STOPPED, Status.INTERRUPTED):
            return status
        stalled = run.f <= f + 4 * EPS * unit and entered == 0
        stale = stale + 1 if stalled else 0
        if stalled:
            run.recompute()
            fresh = True
