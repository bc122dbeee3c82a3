"""A whole trajectory of replicator dynamics: all its cuts, phase times, and the way the weights took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.interrupts import listening
from dominantsets.similarity import as_similarity
from dominantsets.solvers.api import make_problem
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.monitor import Callback, Monitor
from dominantsets.solvers.options import SolverOptions, check_run, starting_point
from dominantsets.solvers.result import DominantSet, Status
from dominantsets.studies.trajectory import Cut, Dynamics

APART = 1.03  # how much later than the last steps with weights that are kept are: 310 of 100,000


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Replicator dynamics from its start to its end, with the cuts that were seen on the way.

    Attributes
    ----------
    cuts : list of Cut
        Each within the one before: the objects above the gap, and those that were left behind.
    phase_times : ndarray of int
        The step at which each object was left behind; -1 for those that never were.
    cluster : DominantSet
        What is left at the end, pruned, with its certificate.
    n_iter : int
        Steps of the dynamics, without the pruning.
    status : Status
        Why the dynamics stopped.
    steps : ndarray of int
        Steps whose weights were kept.
    weights : ndarray of shape (steps, n)
        Those weights; 0 for objects that have been left behind.
    """

    cuts: list[Cut]
    phase_times: Ints = field(repr=False)
    cluster: DominantSet
    n_iter: int
    status: Status
    steps: Ints = field(repr=False)
    weights: Floats = field(repr=False)


class _Film:
    """Weights at steps that are ever farther apart, and when objects were last seen."""

    def __init__(self, n: int) -> None:
        self._n, self._next = n, 1
        self._frames: list[tuple[int, Floats]] = []
        self.last_seen = np.zeros(n, dtype=np.int64)

    def look(self, step: int, objects: Ints, weights: Floats) -> None:
        self.last_seen[objects] = step
        if step < self._next:
            return
        x = np.zeros(self._n)
        x[objects] = weights
        self._frames.append((step, x))
        self._next = max(step + 1, int(APART * step))

    def reel(self) -> tuple[Ints, Floats]:
        steps = np.array([step for step, _ in self._frames], dtype=np.int64)
        return steps, np.array([x for _, x in self._frames]).reshape(steps.size, self._n)


@listening()
def trajectory(
    S: Any,
    *,
    shift: float = 0.0,
    start: Any = "barycenter",
    patience: int = 5,
    regularization: float = 1.0,
    tol: float = 1e-10,
    max_iter: int = 100_000,
    max_time: float | None = None,
    callback: Callback | None = None,
) -> Trajectory:
    r"""Follow replicator dynamics to its end, and note the cuts that it shows.

    :math:`x_i \leftarrow x_i (A_\lambda x)_i / x^T A_\lambda x`, where :math:`A_\lambda` are the similarities
    less :math:`\lambda`, a share of the least of them. Where :math:`\log x` has a gap that is wider than all
    that lies above it, and the same objects are above it for some steps, that is a cut: what is below is
    left behind, and the dynamics goes on above. ``solve(S, algorithm="trajectory")`` stops at the first cut
    and prunes it; ``peel`` and ``DominantSets`` with that algorithm go on with the rest. A reconstruction of
    the method of Haghir Chehreghani (2016) from its opening, see docs/family.md.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A precomputed similarity A, or what :func:`as_similarity` returned (taken as checked).
    shift : float, default=0.0
        The shift of the dominant set at the end. Where all similarities are above 0 the dynamics itself does
        not depend on it once the least of them is taken off.
    start : {"barycenter"} or array, default="barycenter"
        Equal weights, or positive ones.
    patience : int, default=5
        Steps for which a cut must stay the same.
    regularization : float, default=1.0
        The share, from 0 to 1, of the least similarity that is taken off all of them.
    tol : float, default=1e-10
        The dynamics ends where a step moves x by no more than this.
    max_iter : int, default=100_000
        Largest number of steps, and of those of the pruning.
    max_time : float, optional
        Seconds after which it stops, with what it has seen.
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop.

    Returns
    -------
    Trajectory
        Cuts, phase times, and the dominant set at the end. Ctrl-C returns what has been seen.

    Examples
    --------
    Two groups in a background that is like no object; the cut that leaves the background behind comes first,
    then one between the groups.

    >>> import numpy as np
    >>> from dominantsets import trajectory
    >>> y = np.repeat([0, 1, 2], [10, 10, 20])
    >>> A = np.where((y[:, None] == y) & (y < 2), np.where(y == 0, 0.82, 0.8), 0.2) * (1 - np.eye(40))
    >>> run = trajectory(A, regularization=0.5)
    >>> [np.bincount(y[cut.members]).tolist() for cut in run.cuts]
    [[10, 10], [10]]
    >>> [cut.step for cut in run.cuts] == np.unique(run.phase_times)[1:].tolist()
    True
    """
    check_run(shift, max_time)
    params = {"patience": patience, "regularization": regularization}
    options = SolverOptions("trajectory", start, tol, max_iter, algorithm_params=params).checked()
    problem = make_problem(as_similarity(S), float(shift))
    options = options.chosen_for(problem.similarity, problem.shift)
    options.check_start(problem.n)
    monitor, film = Monitor(max_time, callback), _Film(problem.n)
    monitor.n_left = problem.n
    run = Dynamics(problem, starting_point(problem, options.begin(start)), options, film.look)
    status = run.run(None, monitor)
    times = film.last_seen + 1  # weights that vanished without a cut
    times[run.objects] = -1
    for cut in run.cuts:
        times[cut.left] = cut.step
    steps, weights = film.reel()
    outcome = run.pruned(options, monitor, status)
    cluster = certify(problem, outcome, options)
    return Trajectory(run.cuts, times, cluster, run.n_iter, status, steps, weights)
