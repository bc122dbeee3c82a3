r"""Enumeration by destabilising (Torsello, Rota Bulò and Pelillo, 2008; Rota Bulò et al., 2009).

Once an equilibrium is found, a strategy is added that beats it and no other: then the dynamics ends
elsewhere. For a graph of n nodes with payoffs A + I/2 (A is 0 or 1) the stable equilibria are the maximal
cliques, with equal weights and :math:`f = 1 - 1/(2|S|)`. For a clique S that was found, z has the payoff
:math:`\beta` against members of S and 0 against others, where :math:`1 - 1/(2|S|) < \beta < 1`; outsiders
of S have :math:`\gamma > 1` against z, members 0.

- S is no equilibrium any more: z has :math:`\beta > f` against it.
- Every other maximal clique T still is one: at most |T| - 1 of its members are in S, so that z has at most
  :math:`\beta (1 - 1/|T|) < 1 - 1/(2|T|)`.
- Who plays z is beaten by the outsiders of S.

The extended payoffs are not symmetric, so the dynamics is infection and immunisation, from a point that
contains every z. For weighted graphs the second condition fails: another set T may have as little weight
outside S as one likes, and a z that beats S then beats T too.

A reconstruction: the papers' abstracts were at hand, the conditions are derived anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dominantsets._checks import check_int
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.interrupts import listening
from dominantsets.similarity import as_similarity
from dominantsets.solvers.api import make_problem
from dominantsets.solvers.asymmetric import infect
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.monitor import Callback, Monitor
from dominantsets.solvers.options import SolverOptions, check_run
from dominantsets.solvers.problem import Outcome, Point
from dominantsets.solvers.result import HALTING, DominantSet, Status

HALF = 0.5  # on the diagonal: only with it are all maximal cliques stable, and nothing else (Bomze, 1997)
ABOVE = 1.05  # gamma
SHARE = 0.05  # of all z together in a start
TOL, STEPS = 1e-9, 3_000  # of one run of the dynamics
HELD = 1e-6  # weights below it are on their way to 0


@listening()
def destabilise(
    S: Any,
    max_sets: int | None = None,
    *,
    max_time: float | None = None,
    callback: Callback | None = None,
) -> list[DominantSet]:
    r"""Find the maximal cliques of a graph one after another, each by destabilising those before it.

    The dynamics is that of infection and immunisation, in a game to which a strategy was added for each
    clique found: it beats that clique and no other. It starts near all nodes, near each of them, and near
    each edge; where none of these leads to a new clique, the search is over. That is no proof that there
    is none: on 60 random graphs of 3 to 13 nodes all of their 488 cliques were found.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A graph: similarities that are 0, or all the same.
    max_sets : int, optional
        Largest number of cliques; without it, until no start leads to a new one.
    max_time : float, optional
        Seconds after which the search stops, with what it has found.
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop.

    Returns
    -------
    list of DominantSet
        The cliques in the order found, each a strict maximum of :math:`x^T A x + |x|^2/2` (that is, with the
        shift -1/2 in units of the similarity) with its certificate on the graph itself. After Ctrl-C, those
        found until then.

    Examples
    --------
    Two triangles that share an edge.

    >>> import numpy as np
    >>> from dominantsets import destabilise
    >>> A = np.ones((4, 4)) - np.eye(4)
    >>> A[0, 3] = A[3, 0] = 0.0
    >>> sorted(clique.members.tolist() for clique in destabilise(A))
    [[0, 1, 2], [1, 2, 3]]
    """
    check_run(0.0, max_time)
    if max_sets is not None:
        check_int("max_sets", max_sets, at_least=1)
    similarity = as_similarity(S)
    weighted = similarity.toarray()
    unit = float(weighted.max(initial=0.0)) or 1.0
    A = weighted / unit
    between = np.count_nonzero((A > 0.0) & (A < 1.0))
    if between:
        raise ValueError(
            f"destabilising needs a graph without weights, and {between // 2} edges weigh less than the "
            "heaviest: with weights an added strategy that beats one set may beat others too; use "
            "dominant_sets, which finds those of a weighted graph, and certifies each of them."
        )
    problem = make_problem(similarity, -HALF * unit)
    options, monitor = SolverOptions("inimdyn", tol=TOL), Monitor(max_time, callback)
    found: list[DominantSet] = []
    search = _Search(A)
    while max_sets is None or len(found) < max_sets:
        monitor.n_clusters = len(found)
        clique, n_iter = search.next_clique(monitor)
        if clique is None:
            break
        x = Point(clique, np.full(clique.size, 1.0 / clique.size))
        found.append(certify(problem, Outcome(x, n_iter, Status.CONVERGED), options))
    return found


class _Search:
    """Cliques of one graph, and the game in which those found are beaten."""

    def __init__(self, A: Floats) -> None:
        self.A, self.n = A, len(A)
        self.payoffs = A + HALF * np.eye(self.n)
        self.found: set[bytes] = set()
        self.starts = [np.arange(self.n), *np.arange(self.n)[:, None], *np.argwhere(np.triu(A))]
        self._first = 0  # starts are taken in turn: those that have just failed come last

    def next_clique(self, monitor: Monitor) -> tuple[Ints | None, int]:
        """A maximal clique that is new, and the steps that it took; None where no start leads to one."""
        steps = 0
        for t in range(len(self.starts)):
            place = (self._first + t) % len(self.starts)
            run = infect(
                self.payoffs, self._start(self.starts[place]), tol=TOL, max_iter=STEPS, monitor=monitor
            )
            steps += run.n_iter
            if run.status in HALTING:
                return None, steps
            clique = np.flatnonzero(run.x > HELD)
            if self._is_new(clique):
                self._first = place
                self._beat(clique)
                return clique, steps
        return None, steps

    def _start(self, nodes: Ints) -> Floats:
        """Equal weights of some nodes, and a little of every strategy that was added."""
        x = np.zeros(len(self.payoffs))
        x[self.n :] = SHARE / max(1, x.size - self.n)
        x[nodes] = 1.0 / nodes.size
        return np.asarray(x / x.sum())

    def _is_new(self, clique: Ints) -> bool:
        """Whether these are a maximal clique that was not found before, no added strategy among them."""
        if clique[-1] >= self.n or clique.tobytes() in self.found:
            return False
        neighbours = self.A[clique].sum(axis=0)
        inside = neighbours[clique] == clique.size - 1
        return bool(inside.all()) and not (neighbours == clique.size).any()

    def _beat(self, clique: Ints) -> None:
        """Add the strategy that beats a clique and no other."""
        self.found.add(clique.tobytes())
        m = len(self.payoffs)
        payoffs = np.zeros((m + 1, m + 1))
        payoffs[:m, :m] = self.payoffs
        payoffs[m, clique] = 1.0 - 1.0 / (4.0 * self.n)
        payoffs[: self.n, m] = ABOVE
        payoffs[clique, m] = 0.0
        self.payoffs = payoffs
