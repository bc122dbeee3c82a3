r"""Adaptive trajectories of replicator dynamics (Haghir Chehreghani, 2016), reconstructed from its opening.

Long before replicator dynamics converges, x splits into a part that rises and one that vanishes. Such a cut
is seen while it runs:

- *Regularisation.* The least similarity of the active objects is taken off all of them, which is
  :math:`\lambda |x|^2` added to the objective and again a replicator equation; it makes transitions
  come sooner. It is chosen anew when the active set changes.
- *Cut.* Sort :math:`\log x`; the cut is the largest gap between neighbours. It is accepted where the gap
  is wider than all that lies above it and than a factor of two, at least two objects are above it, and
  they have been the same for ``patience`` steps.
- *Pruning.* A solver on the upper part, from x there: what does not belong leaves, and the same solver then
  lets in who would gain among all objects, so that the answer has the certificate of every other.

An object's *phase time* is the step of the cut that left it out. Where all row sums are equal, equal weights
are a fixed point, and there is no transition to be seen.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import row_blocks
from dominantsets.similarity import Similarity
from dominantsets.solvers.frank_wolfe import ascend
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Outcome, Point, Problem
from dominantsets.solvers.result import HALTING, Log, Status, Step

UNDERFLOW = 1e-290  # weights below it are set to 0, as replicator dynamics does
VISIBLE = float(np.log(2.0))  # width of a gap from which on objects below weigh half of those above, or less


@dataclass(frozen=True, eq=False)
class Cut:
    """A transition of replicator dynamics: the objects above the gap, and those that it left behind.

    Attributes
    ----------
    step : int
        The iteration at which it was accepted.
    members, left : ndarray of int
        The objects above the gap and those below, in increasing order.
    gap : float
        The width of the gap in log x.
    """

    step: int
    members: Ints = field(repr=False)
    left: Ints = field(repr=False)
    gap: float


Look = Callable[[int, Ints, Floats], None]


class Dynamics:
    """Regularised replicator dynamics that looks for cuts, and goes on above them."""

    def __init__(self, problem: Problem, x: Point, options: SolverOptions, look: Look | None = None) -> None:
        self.problem = problem
        self.objects, self.weights = x
        self.cuts: list[Cut] = []
        self.n_iter = 0
        self.rows = Log()
        self._share = float(options.parameter("regularization"))
        self._patience = int(options.parameter("patience"))
        self._tol, self._max_iter = options.tol, options.max_iter
        self._look = look
        self._seen: tuple[bytes, int] = (b"", 0)
        self._regularise()

    def _regularise(self) -> None:
        """What is subtracted from the diagonal, and added to all payoffs."""
        shift = self.problem.shift
        least = least_similarity(self.problem.similarity, self.objects) + shift
        lowered = shift - self._share * least
        # a negative shift of a graph cannot be taken off its absent edges: it stays on the diagonal
        self.diagonal, self.lift = (lowered, lowered) if least >= 0.0 else (shift, 0.0)

    def run(self, n_cuts: int | None, monitor: Monitor) -> Status:
        """Until so many cuts are accepted, or it moves by no more than tol."""
        while self.n_iter < self._max_iter:
            moved = self._step()
            if moved is None:
                return Status.STALLED
            if self._look is not None:
                self._look(self.n_iter, self.objects, self.weights)
            if self._accepted() and len(self.cuts) == n_cuts:
                return Status.CONVERGED
            if moved <= self._tol:
                return Status.STEADY
            if monitor.due():
                f, gap, size, _ = self.rows.last
                halt = monitor.report(self.n_iter, f + self.problem.shift, gap, size)
                if halt is not None:
                    return halt
        return Status.MAX_ITER

    def _step(self) -> float | None:
        """One step; how far it moved, or None where there is no similarity to follow."""
        problem, x = self.problem, self.weights
        r, f = problem.every_payoff(Point(self.objects, x))
        here = r[self.objects] + (problem.shift - self.diagonal) * x + self.lift
        value = float(x @ here)
        if value <= 0.0:
            return None
        self.rows.append((f, float(r.max()) - f, x.size, int(Step.REPLICATE)))
        new = x * (here / value)
        new /= new.sum()
        self.n_iter += 1
        moved = float(np.linalg.norm(new - x))
        kept = new > UNDERFLOW
        self.objects, self.weights = self.objects[kept], new[kept] / new[kept].sum()
        return moved

    def _accepted(self) -> bool:
        """Whether a cut has been there long enough; then the dynamics goes on above it."""
        above, gap = largest_gap(self.weights)
        name = self.objects[above].tobytes() if above is not None else b""
        count = self._seen[1] + 1 if name and name == self._seen[0] else 1
        self._seen = (name, count)
        if above is None or count < self._patience:
            return False
        below = np.setdiff1d(np.arange(self.objects.size), above)
        self.cuts.append(Cut(self.n_iter, self.objects[above], self.objects[below], gap))
        self.objects, weights = self.objects[above], self.weights[above]
        self.weights = weights / weights.sum()
        self._seen = (b"", 0)
        self._regularise()
        return True

    def pruned(self, options: SolverOptions, monitor: Monitor, status: Status) -> Outcome:
        """The dominant set to which the active objects lead: theirs first, then among all."""
        x, trace = Point(self.objects, self.weights), None
        n_iter = self.n_iter
        if options.trace:
            trace = self.rows.trace(self.problem.shift)
        if status in HALTING or status is Status.MAX_ITER:
            return Outcome(x, n_iter, status, trace)
        upper = copy.copy(self.problem)
        upper.alive = np.zeros_like(self.problem.alive)
        upper.alive[self.objects] = True
        upper.n_alive = self.objects.size
        for problem in (upper, self.problem):
            inner = replace(options, algorithm="pairwise", max_iter=max(1, options.max_iter - n_iter))
            found = ascend(problem, x, inner, monitor)
            x, n_iter, status = found.x, n_iter + found.n_iter, found.status
            if trace is not None:
                trace = trace.followed_by(found.trace)
            if status in HALTING:
                break
        return Outcome(x, n_iter, status, trace)


def solve_trajectory(problem: Problem, x: Point, options: SolverOptions, monitor: Monitor) -> Outcome:
    """The first cut of replicator dynamics from x, pruned."""
    run = Dynamics(problem, x, options)
    status = run.run(1, monitor)
    return run.pruned(options, monitor, status)


def largest_gap(weights: Floats) -> tuple[Ints | None, float]:
    """Places of the weights above the largest gap of log x, in increasing order, and its width.

    None where fewer than two are above it, they spread as far as it is wide, or it is no factor of two.
    """
    if weights.size < 3:
        return None, 0.0
    order = np.argsort(-weights, kind="stable")
    logs = np.log(weights[order])
    gaps = logs[:-1] - logs[1:]
    k = int(gaps.argmax())
    if k < 1 or gaps[k] <= max(VISIBLE, logs[0] - logs[k]):
        return None, 0.0
    return np.sort(order[: k + 1]), float(gaps[k])


def least_similarity(similarity: Similarity, objects: Ints) -> float:
    """The least similarity of two different objects; 0 for a graph, which has absent edges."""
    if similarity.is_sparse or objects.size < 2:
        return 0.0
    least = np.inf
    for rows in row_blocks(objects.size, 8 * objects.size):
        block = similarity.block(objects[rows], objects)
        block[np.arange(len(block)), np.arange(objects.size)[rows]] = np.inf
        least = min(least, float(block.min()))
    return least
