r"""The working set: few objects matter for one cluster.

A small set W of objects (the support and the best outsiders) is solved as a dense block by the compiled loop;
one product with the whole similarity then finds the objects that would gain by joining, the best of which
enter W. Objects that fell to zero leave, unless they have come back before. f never falls, and W loses
objects only while f grows, so the rounds cannot cycle.

Where W outgrows a block, coordinates are optimised a block at a time: the members that gain least and the
objects that gain most exchange weight, while the rest of x stays fixed and enters as a linear term.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import loop
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.faces import EPS
from dominantsets.solvers.certificate import tolerance
from dominantsets.solvers.frank_wolfe import ascend
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Outcome, Payoffs, Point, Problem
from dominantsets.solvers.result import HALTING, Log, Status, Step

GROW = 64  # objects that enter in the first round
BLOCK_LIMIT = 4_000  # objects of a block (128 MB); larger supports are optimised a block at a time
DIRECT_LIMIT = 1_500  # members up to which a settled support is finished by one linear system
DIRECT_ALWAYS = 150  # and up to which that is cheap enough to be tried in every round
INNER = 0.02  # inner tolerance, of the global gap
BEGIN = 64  # objects of a dense start that the first block holds
EXCHANGES = 20_000  # steps within a block of coordinates before Python checks again
REFRESH = 20  # rounds after which payoffs that are kept by their changes are recomputed
IDLE = 100  # rounds in which objects come and go, and neither f nor the gap gets better


class Block(Similarity):
    """A dense block of a similarity, taken as checked."""

    def __init__(self, array: Floats) -> None:
        array.flags.writeable = False
        self._array = array
        self.n = self.n_features = len(array)
        self._largest = float(array.max(initial=0.0))

    def largest(self) -> float:
        return self._largest

    @property
    def stored(self) -> NDArray[np.float64]:
        return self._array

    def block(self, rows: Ints, cols: Ints) -> Floats:
        return self._array[np.ix_(rows, cols)]

    def cross(self, new: Floats, cols: Ints) -> Floats:
        return np.asarray(new)[:, cols]

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        return np.asarray(weights @ self._array[support])


class Rounds:
    """Where a run stands: x, the payoffs of all objects (on a graph: of those nearby), the working set."""

    def __init__(self, problem: Problem, x: Point) -> None:
        self.problem = problem
        if x.support.size > BEGIN:  # a dense start: one product, then its best candidates
            nobody = np.empty(0, dtype=np.int64)
            best = np.sort(problem.payoffs(x).best(BEGIN, -np.inf, nobody)[0])
            x = Point(best, np.full(best.size, 1.0 / best.size))
        self.x = x
        self.payoffs = problem.payoffs(x)
        self.fresh = True
        self.working = x.support
        self.grow = GROW
        self.n_iter = 0
        self.rounds = Log()
        self._since_refresh = 0
        self._returns: Counter[int] = Counter()
        self._settled = np.empty(0, dtype=np.int64)

    @property
    def f(self) -> float:
        return self.payoffs.f

    @property
    def gap(self) -> float:
        return self.payoffs.largest() - self.payoffs.f

    @property
    def room(self) -> int:
        """How many more objects a block could hold."""
        return BLOCK_LIMIT - self.working.size

    def admit(self) -> int:
        """Take in the best outsiders that would gain by joining; how many there were."""
        limit = min(self.grow, self.room)
        candidates, _, more = self.payoffs.best(limit, self.f, self.working)
        if self.payoffs.others > self.f and candidates.size < limit:
            candidates = np.concatenate([candidates, self.strangers(limit - candidates.size)])
            self.grow *= 2
        elif more:
            self.grow *= 2  # many are waiting: doubling keeps the rounds few
        self._returns.update(candidates.tolist())
        self.working = np.union1d(self.working, candidates)
        return candidates.size

    def strangers(self, count: int) -> Ints:
        """Objects that no edge leads to from the support: once f < 0 they would gain too."""
        assert self.payoffs.objects is not None
        away = self.problem.alive.copy()
        away[self.payoffs.objects] = False
        away[self.working] = False
        others = np.flatnonzero(away)
        # all have the payoff 0 now; those of large degree gain most once some of them are in
        best = np.argsort(-self.problem.degrees[others], kind="stable")[:count]
        return np.sort(others[best])

    def improve(self, tol: float, max_iter: int, monitor: Monitor) -> Status:
        """Solve on the working set, and carry the change over to all objects."""
        W, problem = self.working, self.problem
        block = Problem(Block(problem.similarity.block(W, W)), problem.shift)
        block.extra = None if problem.extra is None else problem.extra[W]
        held = np.searchsorted(W, self.x.support)
        inner = SolverOptions("pairwise", tol=tol, max_iter=max_iter)
        found = ascend(block, Point(held, self.x.weights), inner, monitor)
        self.n_iter += found.n_iter
        y = found.x
        support = W[y.support]
        if support.size <= DIRECT_ALWAYS or np.array_equal(support, self._settled):
            y = _finish(block, y)
        self._settled = support
        change = y.dense(W.size)
        change[held] -= self.x.weights
        self.move(W, change, Point(support, y.weights))
        # what fell to zero leaves, unless it has come back before
        gone = np.setdiff1d(W, support, assume_unique=True)
        kept = [i for i in gone.tolist() if self._returns[i] > 1]
        self.working = np.union1d(support, np.array(kept, dtype=np.int64))
        return found.status

    def exchange(self, tol: float, budget: int) -> None:
        """Optimise one block of coordinates with the rest of x fixed."""
        problem, x = self.problem, self.x
        inside = self.payoffs.of(x.support)
        half = BLOCK_LIMIT // 2
        low = np.argpartition(inside, min(half, inside.size - 1))[:half]
        outside, r, _ = self.payoffs.best(half, float(inside.min()), x.support)
        objects = np.concatenate([x.support, outside])
        payoffs = np.concatenate([inside, r])
        weights = np.concatenate([x.weights, np.zeros(outside.size)])
        high = np.argpartition(-payoffs, min(half, payoffs.size - 1))[:half]
        chosen = np.union1d(low, high)
        chosen = chosen[np.argsort(objects[chosen])]
        W, y = objects[chosen], weights[chosen]
        B = problem.similarity.block(W, W)
        B[np.diag_indices_from(B)] = -problem.shift_of(W)
        self.n_iter += loop.exchange(B, y, payoffs[chosen], tol, budget)
        change = y - weights[chosen]
        weights[chosen] = y
        left = np.flatnonzero(weights)
        left = left[np.argsort(objects[left])]
        self.move(W, change, Point(objects[left], weights[left] / weights[left].sum()))
        self.working = self.x.support

    def move(self, W: Ints, change: Floats, x: Point) -> None:
        """x changed by ``change`` on W: the payoffs with it."""
        problem = self.problem
        self.x = x
        self._since_refresh += 1
        moved = np.flatnonzero(change)
        if (
            problem.similarity.is_sparse
            or 2 * moved.size > 3 * x.support.size
            or self._since_refresh > REFRESH
        ):
            self.recompute()
            return
        r = self.payoffs.r
        r += problem.similarity.gradient(W[moved], change[moved])
        r[W[moved]] -= problem.shift_of(W[moved]) * change[moved]
        f = float(x.weights @ r[x.support])
        self.payoffs = Payoffs(None, r, f, -np.inf)
        self.fresh = False

    def recompute(self) -> None:
        self.x = Point(self.x.support, self.x.weights / self.x.weights.sum())
        self.payoffs = self.problem.payoffs(self.x)
        self._since_refresh, self.fresh = 0, True


def _finish(block: Problem, y: Point) -> Point:
    r"""The stationary point of y's support by one linear system, where it is one and no worse.

    A constant added to every entry changes nothing on the simplex; with one above the largest entry,
    :math:`c 1 1^T - B` has a Cholesky factor wherever B is negative definite on the face and c large enough.
    """
    m = y.support.size
    if not 1 < m <= DIRECT_LIMIT:
        return y
    B = block.similarity.block(y.support, y.support)
    B[np.diag_indices(m)] = -block.shift_of(y.support)
    constant = max(float(B.max()), 0.0) + max(float(y.weights @ B @ y.weights), 0.0)
    _, z, failed = dposv(constant - B, np.ones(m), lower=1, overwrite_a=1)
    if failed or not np.isfinite(z).all() or z.min() <= 0.0:
        return y
    z = np.asarray(z) / z.sum()
    return Point(y.support, z) if z @ B @ z >= y.weights @ B @ y.weights else y


def solve_working_set(problem: Problem, x: Point, options: SolverOptions, monitor: Monitor) -> Outcome:
    """Rounds of a growing working set from x; iterations are those of the inner loop."""
    return climb_in_rounds(Rounds(problem, x), options, monitor)


def climb_in_rounds(run: Rounds, options: SolverOptions, monitor: Monitor) -> Outcome:
    """Rounds until the gap is within tolerance."""
    status = _climb(run, options.tol, options.max_iter, monitor)
    history = run.rounds.trace(run.problem.shift) if options.trace else None
    return Outcome(run.x, run.n_iter, status, history)


def _climb(run: Rounds, tol: float, max_iter: int, monitor: Monitor) -> Status:
    problem, stale, idle, least, highest = run.problem, 0, 0, np.inf, run.f
    while True:
        f, gap = run.f, run.gap
        size, unit = run.x.support.size, problem.unit_of(run.x)
        goal = tolerance(tol, unit, f, problem.shift)
        if gap <= goal:
            if run.fresh:
                return Status.CONVERGED
            run.recompute()
            continue
        if run.n_iter >= max_iter:
            return Status.MAX_ITER
        # over blocks of coordinates the gap is not monotone: every block is visited first
        if stale >= 3 + 8 * (run.x.support.size // max(1, BLOCK_LIMIT)) or idle >= IDLE:
            return Status.STALLED
        halt = monitor.report(run.n_iter, f + problem.shift, gap, size)
        if halt is not None:
            return halt
        run.rounds.append((f, gap, size, int(Step.ROUND)))
        entered = 0
        if run.room < BLOCK_LIMIT // 8:
            if f < 0.0 and problem.similarity.is_sparse:
                return Status.DISSOLVED  # objects without an edge to the cluster have r = 0 > f: all of them
            run.exchange(max(INNER * gap, 0.1 * goal), min(max_iter - run.n_iter, EXCHANGES))
        else:
            entered = run.admit()
            inner = max(INNER * gap / unit, 0.1 * tol) if unit > 0.0 else 0.1 * tol
            status = run.improve(inner, max_iter - run.n_iter, monitor)
            if status in HALTING:
                return status
        # near the end f no longer rises in floating point, the gap still falls
        rounding = 4 * EPS * max(abs(f), abs(problem.shift), abs(f + gap))
        stalled = entered == 0 and run.f <= f + rounding and run.gap >= 0.9 * least
        level = run.f <= highest + rounding and run.gap >= 0.9 * least
        least, highest = min(least, run.gap), max(highest, run.f)
        stale = stale + 1 if stalled else 0
        idle = idle + 1 if level else 0
        if stalled and not run.fresh:
            run.recompute()
