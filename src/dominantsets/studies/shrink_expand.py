r"""Shrink and expand (Liu, Latecki and Yan, 2013), reconstructed from its abstract.

*Shrink* solves on the face of the support: a local maximum there, some objects leave. *Expand* lets in
every neighbour Z of the support that would gain, in one closed step. With :math:`v_i = r_i - f` on Z,
:math:`s = \sum v`, :math:`\zeta = \sum v^2` and :math:`\omega = v^T (A - \alpha I) v`, along
:math:`b = v - s x`

.. math:: f(x + t b) = f + 2 \zeta t - \lambda t^2, \qquad \lambda = s^2 f + 2 s \zeta - \omega,

so that :math:`t = \zeta / \lambda`, or :math:`1/s`, where x is used up, if that is less or
:math:`\lambda \le 0`. f rises strictly. Where Z is empty x is a KKT point. From a vertex without a shift the
first expansion gives all neighbours weights in proportion to their similarities: the start of the paper.

This is the working set with another way in: the shrinking is its block. On a graph a round costs the edges of
the support and its neighbours, whatever n.
"""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Outcome, Point, Problem
from dominantsets.solvers.working_set import Rounds, climb_in_rounds


class _Expansions(Rounds):
    """Rounds in which x itself moves to all the objects that would gain."""

    def admit(self) -> int:
        """Expand; how many objects entered."""
        x, f = self.x, self.f
        Z, r, _ = self.payoffs.best(self.room, max(f, 0.0), x.support)
        if Z.size == 0 and f < 0.0:  # then objects that are like nobody in the support gain too
            Z = self._unrelated(min(self.grow, self.room))
            r, self.grow = np.zeros(Z.size), 2 * self.grow
        if Z.size == 0:
            return 0
        order = np.argsort(Z)
        Z, gain = Z[order], r[order] - f
        v = gain / gain.max()  # of any length: products of gains themselves may leave the range of floats
        B = self.problem.similarity.block(Z, Z)
        B[np.diag_indices_from(B)] = -self.problem.shift
        t = expansion_step(f, v, float(v @ gain), float(v @ B @ v))
        W, s = np.union1d(x.support, Z), float(v.sum())
        held, weights = np.searchsorted(W, x.support), np.zeros(W.size)
        weights[held] = x.weights * (1.0 - t * s) if t * s < 1.0 else 0.0
        weights[np.searchsorted(W, Z)] += t * v
        change = weights.copy()
        change[held] -= x.weights
        kept = weights > 0.0
        self.move(W, change, Point(W[kept], weights[kept] / weights.sum()))
        self.working = self.x.support
        return int(Z.size) if change.any() else 0

    def _unrelated(self, count: int) -> Ints:
        """Objects without a similarity to the support, those of largest degree."""
        if self.payoffs.objects is not None:
            return self.strangers(count)
        others = np.setdiff1d(self.payoffs.above(self.f)[0], self.x.support)
        return others[np.argsort(-self.problem.degrees[others], kind="stable")[:count]]


def expansion_step(f: float, v: Floats, zeta: float, omega: float) -> float:
    r"""The step t that maximises f along the expansion, at most :math:`1/s`.

    ``zeta`` is the sum of v times the gains r - f, ``omega`` that of v'Bv.
    """
    s = float(v.sum())
    bend = s * s * f + 2.0 * s * zeta - omega
    return 1.0 / s if bend <= 0.0 else min(1.0 / s, zeta / bend)


def shrink_and_expand(problem: Problem, x: Point, options: SolverOptions, monitor: Monitor) -> Outcome:
    """Rounds of expanding and shrinking from x; iterations are those of the shrinking."""
    return climb_in_rounds(_Expansions(problem, x), options, monitor)
