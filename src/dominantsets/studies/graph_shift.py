r"""Graph shift: an object belongs where its own climb ends (Liu and Yan, 2010).

A run of a solver from every object, all mass on it, ends in some local maximum of
:math:`f(x) = x^T A x - \alpha |x|^2`, its mode; objects with the same mode are a cluster. The labels are then
a property of f and of the way a solver climbs, without an order in which clusters are removed, and clusters
may share members. n climbs are the price.

Two climbs have the same mode where their members and values agree: a weight of nearly 0 more or less, on
which rounding decides, must not make two of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dominantsets._checks import check_choice
from dominantsets._typing import Ints
from dominantsets.clusters.multistart import sampled_start
from dominantsets.compiled.interrupts import listening
from dominantsets.similarity import as_similarity
from dominantsets.solvers import Callback, DominantSet, Monitor, SolverOptions, make_problem
from dominantsets.solvers.options import STARTS, check_run
from dominantsets.solvers.result import HALTS, End

BATCH = 256  # climbs between which equal modes are put together
TINY = 1e-6  # of the largest weight: members below it do not tell modes apart
SAME_VALUE, SAME_WEIGHTS = 1e-6, 0.99  # how alike two modes are that are one


@dataclass(frozen=True, eq=False)
class GraphShift:
    """The modes of a similarity, and the mode that the climb from each object ends in.

    Attributes
    ----------
    modes : list of DominantSet
        Those that most objects lead to first, then by falling value. They may share members.
    labels : ndarray of int
        The number of each object's mode; -1 for objects from which no climb ended.
    end : End
        ``ALL_ASSIGNED`` where every object has its mode; else what ended the climbs.
    """

    modes: list[DominantSet]
    labels: Ints
    end: End

    def __repr__(self) -> str:
        return f"GraphShift({len(self.modes)} modes of {self.labels.size:,} objects)"


@listening()
def graph_shift(
    S: Any,
    *,
    shift: float = 0.0,
    algorithm: str = "auto",
    start: str = "vertex",
    tol: float = 1e-10,
    max_iter: int = 100_000,
    max_time: float | None = None,
    n_jobs: int | None = None,
    algorithm_params: dict[str, Any] | None = None,
    callback: Callback | None = None,
) -> GraphShift:
    r"""Climb from every object, and put objects together whose climbs end in the same dominant set.

    Every climb ends in a local maximum of :math:`x^T A x - \alpha |x|^2` over all objects, its mode. The
    labels do not depend on an order in which clusters are removed. It takes n solves.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A precomputed similarity A, or what :func:`as_similarity` returned.
    shift : float, default=0.0
        The resolution :math:`\alpha` of all climbs, as in :func:`solve`.
    algorithm : str, default="auto"
        The solver, as in :func:`solve`. "exact" and "path-following" have no starts.
    start : {"vertex", "barycenter"}, default="vertex"
        All mass on the object, or half of it, the rest spread over the others.
    tol : float, default=1e-10
        Relative gap at which a climb counts as converged.
    max_iter : int, default=100_000
        Largest number of iterations for a climb.
    max_time : float, optional
        Seconds after which the climbs end; objects that none was made from have the label -1.
    n_jobs : int, optional
        Threads, as joblib counts them. The result is the same for every number.
    algorithm_params : dict, optional
        Parameters of the algorithm, as in :func:`solve`.
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop.

    Returns
    -------
    GraphShift
        The modes and the labels; after Ctrl-C, those of the climbs that were made until then.

    Examples
    --------
    Two groups, and a bridge that is closer to the first:

    >>> import numpy as np
    >>> from dominantsets import graph_shift
    >>> A = np.zeros((7, 7))
    >>> A[:3, :3] = A[4:, 4:] = 1.0
    >>> A[3, :3] = A[:3, 3] = 0.5
    >>> A[3, 4:] = A[4:, 3] = 0.1
    >>> np.fill_diagonal(A, 0.0)
    >>> found = graph_shift(A)
    >>> found.labels, [mode.members.tolist() for mode in found.modes]
    (array([0, 0, 0, 0, 1, 1, 1]), [[0, 1, 2], [4, 5, 6]])
    """
    check_run(shift, max_time)
    check_choice("start", start, STARTS)
    options = SolverOptions(algorithm, start, tol, max_iter, algorithm_params=algorithm_params).checked()
    similarity, monitor = as_similarity(S), Monitor(max_time, callback)
    n = similarity.n
    options = options.chosen_for(similarity, float(shift), start=0)  # 0: a start is given
    options.check_start(n, sampled_start(options))
    problem = make_problem(similarity, float(shift))
    labels, register, end = np.full(n, -1, dtype=np.int64), _Register(), End.ALL_ASSIGNED
    for first in range(0, n, BATCH):
        objects = np.arange(first, min(n, first + BATCH))
        monitor.n_clusters, monitor.n_left = len(register.modes), n - first
        found = problem.solve_many(objects, options, monitor, n_jobs)
        for i, mode in zip(objects.tolist(), found, strict=False):
            if mode.status in HALTS:
                end = HALTS[mode.status]
                break
            labels[i] = register.number(mode)
        if monitor.interrupted:
            end = End.INTERRUPTED
        if end is not End.ALL_ASSIGNED:
            break
    counts = np.bincount(labels[labels >= 0], minlength=len(register.modes))
    order = np.lexsort((-np.array([mode.value for mode in register.modes]), -counts))
    ranks = np.empty(order.size + 1, dtype=np.int64)  # the last place is for the label -1
    ranks[order], ranks[-1] = np.arange(order.size), -1
    return GraphShift([register.modes[k] for k in order], ranks[labels], end)


class _Register:
    """Modes by their members, and by their weights where members that hardly count differ."""

    def __init__(self) -> None:
        self.modes: list[DominantSet] = []
        self._numbers: dict[bytes, int] = {}
        self._by_exemplar: dict[int, list[int]] = {}

    def number(self, mode: DominantSet) -> int:
        """The number of a mode, a new one where it is new."""
        name = mode.members[mode.weights > TINY * mode.weights.max()].tobytes()
        if name not in self._numbers:
            self._numbers[name] = self._alike(mode)
        return self._numbers[name]

    def _alike(self, mode: DominantSet) -> int:
        for i in mode.members.tolist():
            for k in self._by_exemplar.get(i, ()):
                if same_mode(mode, self.modes[k]):
                    return k
        self.modes.append(mode)
        self._by_exemplar.setdefault(mode.exemplar, []).append(len(self.modes) - 1)
        return len(self.modes) - 1


def same_mode(one: DominantSet, other: DominantSet) -> bool:
    """Whether values agree, and weights but for little."""
    unit = max(abs(one.value), abs(other.value), abs(one.shift))
    if abs(one.value - other.value) > SAME_VALUE * unit:
        return False
    _, a, b = np.intersect1d(one.members, other.members, assume_unique=True, return_indices=True)
    return float(np.minimum(one.weights[a], other.weights[b]).sum()) >= SAME_WEIGHTS
