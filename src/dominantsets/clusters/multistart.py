"""Many starts at once: sample objects, solve from each, keep what does not overlap, remove it, repeat."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from dominantsets._checks import check_choice, check_int, check_real
from dominantsets._typing import Ints
from dominantsets.clusters.peeling import HALTS, End, Extraction, check_peeling
from dominantsets.clusters.sampling import SAMPLINGS, sample_starts
from dominantsets.similarity import Sharded, Similarity, as_similarity
from dominantsets.solvers import Callback, DominantSet, Monitor, Point, Status, solve_from
from dominantsets.solvers.api import check_options, choose, solve_many
from dominantsets.solvers.chunk_problem import LowRankShards, solve_far
from dominantsets.solvers.starts import STARTS, check_start

HALF = 0.5  # of the mass on the sampled object, where the rest is spread


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass of multi-start.

    Attributes
    ----------
    clusters : list of DominantSet
        The clusters accepted in this pass, by falling value.
    starts : ndarray of int
        The objects that were sampled.
    solutions : list of DominantSet
        What was reached from each of them, in the same order.
    """

    clusters: list[DominantSet]
    starts: Ints
    solutions: list[DominantSet] = field(repr=False)


class MultiStart(Extraction, Iterator[Pass]):
    """Passes over one similarity, made as they are asked for.

    Attributes
    ----------
    end : End or None
        Why there are no more passes; None while there may be.
    n_passes : int
        Passes made so far.
    n_clusters : int
        Clusters found so far.
    labels : ndarray of int
        The number of each object's cluster, in the order accepted; -1 for objects not in a cluster. An
        object of two clusters that overlap a little belongs to the one of higher value.
    """

    def __init__(
        self,
        similarity: Similarity,
        n_clusters: int | None,
        *,
        n_starts: int,
        sampling: str,
        max_overlap: float,
        n_jobs: int | None,
        random_state: Any,
        **options: Any,
    ) -> None:
        super().__init__(similarity, n_clusters, **options)
        self.n_passes = 0
        self._n_starts = n_starts
        self._sampling = sampling
        self._max_overlap = max_overlap
        self._n_jobs = n_jobs
        self._random = check_random_state(random_state)

    def __next__(self) -> Pass:
        if self.end is None:
            self.end = self._nothing_left()
        if self.end is not None:
            raise StopIteration
        problem, monitor = self._problem, self._monitor
        monitor.n_clusters, monitor.n_left = self.n_clusters, problem.n_alive
        starts, found = self._solve_together() if problem.similarity.on_device else self._solve_side_by_side()
        solutions = [self._cut(solution) for solution in found]
        halt = self.end or next((HALTS[s.status] for s in solutions if s.status in HALTS), None)
        accepted, taken, refused = self._accept(solutions)
        self.end = halt or (None if accepted else refused)
        if not accepted:
            raise StopIteration
        self.n_passes += 1
        for cluster in accepted:
            self._label(cluster)
        if self.end is None and self.n_clusters == self._wanted:
            self.end = End.N_CLUSTERS
        elif self.end is None:
            problem.remove(np.flatnonzero(taken))
        return Pass(accepted, starts, solutions)

    def _solve_side_by_side(self) -> tuple[Ints, list[DominantSet]]:
        """From sampled objects, on threads: those objects, and what was reached from them."""
        problem = self._problem
        there = problem.alive
        starts = sample_starts(problem.similarity, there, self._n_starts, self._sampling, self._random)
        return starts, self._solve(starts)

    def _solve_together(self) -> tuple[Ints, list[DominantSet]]:
        """The same on a device, in passes that all starts share."""
        from dominantsets.clusters.device_sampling import sample_on_device  # imports torch

        starts = sample_on_device(self._problem, self._n_starts, self._sampling, self._random)
        points = [self._point(int(i)) for i in starts]
        try:
            return starts, solve_many(self._problem, points, monitor=self._monitor, **self._options)
        except KeyboardInterrupt:  # before the first pass was whole
            self.end = End.INTERRUPTED
            return starts, []

    def _point(self, i: int) -> Point:
        """All mass on the object, or half of it, the rest spread over the others."""
        if self._start == "vertex" or self._problem.n_alive == 1:
            return Point(np.array([i]), np.ones(1))
        alive = self._problem.living()
        weights = np.full(alive.size, HALF / (alive.size - 1))
        weights[np.searchsorted(alive, i)] = HALF
        return Point(alive, weights)

    def _solve(self, starts: Ints) -> list[DominantSet]:
        problem, monitor, options = self._problem, self._monitor, self._options
        if isinstance(problem, LowRankShards):  # all starts share the rounds
            half = self._start == "barycenter" and problem.n_alive > 1
            images = problem.half_on(starts) if half else problem.on(starts)
            return solve_far(problem, images, monitor=monitor, **options)
        n_jobs = 1 if isinstance(problem.similarity, Sharded) else self._n_jobs
        guarded = _Guarded(monitor)
        work = Parallel(n_jobs, backend="threading", return_as="generator")(
            # columns are kept by one solver at a time, everything else is shared
            delayed(solve_from)(problem.thread_copy(), self._point(int(i)), monitor=guarded, **options)
            for i in starts
        )
        found: list[DominantSet] = []
        try:
            for solution in work:
                found.append(solution)
        except KeyboardInterrupt:  # what has been reached counts; the others end at their next look
            guarded.halt = Status.INTERRUPTED
            self.end = End.INTERRUPTED
        return found

    def _accept(
        self, solutions: list[DominantSet]
    ) -> tuple[list[DominantSet], NDArray[np.bool_], End | None]:
        """By falling value, those that overlap what is accepted by no more than the limit.

        With their objects, and why the best one was refused, where it was. What dissolved is no cluster,
        unless nothing else is.
        """
        taken = np.zeros(self._problem.n, dtype=bool)
        accepted: list[DominantSet] = []
        refused: End | None = None
        for solution in sorted(solutions, key=lambda s: (s.status is Status.DISSOLVED, -s.value)):
            if solution.status is Status.DISSOLVED and accepted:
                break
            if self._wanted is not None and self.n_clusters + len(accepted) == self._wanted:
                break
            shared = np.count_nonzero(taken[solution.members])
            if shared > self._max_overlap * len(solution) or shared == len(solution):
                continue
            unwanted = self._unwanted(solution, self.n_clusters + len(accepted))
            if unwanted is not None:
                refused = refused or unwanted
                continue
            accepted.append(solution)
            taken[solution.members] = True
        return accepted, taken, refused


class _Guarded(Monitor):
    """A monitor for several threads: one at a time tells the callback, and all end when told to."""

    def __init__(self, monitor: Monitor) -> None:
        super().__init__(None, None)
        self._monitor = monitor
        self._lock = threading.Lock()
        self.halt: Status | None = None
        self.deadline, self.began = monitor.deadline, monitor.began
        self.callback = monitor.callback

    def report(self, n_iter: int, value: float, gap: float, support_size: int) -> Status | None:
        with self._lock:
            if self.halt is None:
                self.halt = self._monitor.report(n_iter, value, gap, support_size)
            return self.halt


def multistart(
    S: Any,
    n_clusters: int | None = None,
    *,
    n_starts: int = 8,
    sampling: str = "uniform",
    max_overlap: float = 0.1,
    shift: float = 0.0,
    algorithm: str = "auto",
    start: str = "vertex",
    tol: float = 1e-10,
    max_iter: int = 100_000,
    max_time: float | None = None,
    cutoff: float = 2e-12,
    min_cluster_size: int = 1,
    n_jobs: int | None = None,
    random_state: Any = None,
    trace: bool = False,
    callback: Callback | None = None,
) -> MultiStart:
    r"""Find dominant sets from many starts at once, in passes.

    A pass samples objects among those still there, solves from each of them, sorts the solutions by
    falling value :math:`x^T A x - \alpha |x|^2` and drops those whose support overlaps the accepted ones by
    more than ``max_overlap``; what is accepted is removed, and the next pass begins. Peeling needs as many
    solves in a row as there are clusters, this needs about two passes.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A precomputed similarity A, or what :func:`as_similarity` returned (taken as checked).
    n_clusters : int, optional
        Largest number of clusters; without it, until nothing coherent is left, as in :func:`peel`.
    n_starts : int, default=8
        Objects sampled in a pass.
    sampling : {"uniform", "dpp"}, default="uniform"
        How they are sampled: all alike, or by a k-DPP, which avoids objects that are alike.
    max_overlap : float, default=0.1
        Largest share of a cluster's members that may be in clusters of higher value of the same pass.
    shift : float, default=0.0
        The resolution, as in :func:`solve`.
    algorithm : str, default="auto"
        "auto", "fw", "pairwise", "away", "replicator", "working-set" or "dual".
        The solver, as in :func:`solve`. "exact" has no starts; "auto" is then "pairwise".
    start : {"vertex", "barycenter"}, default="vertex"
        All mass on the sampled object, or half of it, the rest spread over the others.
    tol : float, default=1e-10
        Relative gap at which a cluster counts as converged.
    max_iter : int, default=100_000
        Largest number of iterations for a start.
    max_time : float, optional
        Seconds for all passes together.
    cutoff : float, default=2e-12
        Members have a weight above it.
    min_cluster_size : int, default=1
        Smaller clusters are not accepted.
    n_jobs : int, optional
        Threads, as joblib counts them. The result is the same for every number.
    random_state : int, RandomState or None, default=None
        For the sampling.
    trace : bool, default=False
        Whether to record every iteration.
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop.

    Returns
    -------
    MultiStart
        An iterator of :class:`Pass`. Its ``end`` says why it ended, ``labels`` holds the number of
        each object's cluster, ``n_passes`` how many passes it took.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity, multistart
    >>> X = np.repeat([[0.0], [10.0], [20.0]], 20, axis=0) + np.tile(np.arange(20.0) / 40, 3)[:, None]
    >>> passes = multistart(as_similarity(X, "rbf"), 3, n_starts=12, shift=1.0, random_state=0)
    >>> sorted(len(c) for p in passes for c in p.clusters), passes.n_passes
    ([20, 20, 20], 1)
    """
    check_options(algorithm, shift, tol, max_iter, max_time)
    check_multistart(n_starts, sampling, max_overlap, start)
    similarity = as_similarity(S)
    check_peeling(similarity.n, n_clusters, cutoff, min_cluster_size)
    algorithm = choose(algorithm, similarity, float(shift), 0)  # 0: a start is given
    check_start(0 if start == "vertex" or algorithm == "exact" else start, algorithm, similarity.n)
    return MultiStart(
        similarity,
        n_clusters,
        n_starts=int(n_starts),
        sampling=sampling,
        max_overlap=float(max_overlap),
        n_jobs=n_jobs,
        random_state=random_state,
        shift=float(shift),
        algorithm=algorithm,
        start=start,
        tol=float(tol),
        max_iter=int(max_iter),
        cutoff=float(cutoff),
        min_cluster_size=int(min_cluster_size),
        monitor=Monitor(max_time, callback),
        trace=trace,
    )


def check_multistart(n_starts: Any, sampling: Any, max_overlap: Any, start: Any) -> None:
    """Refuse what multi-start cannot use, before any long work."""
    check_int("n_starts", n_starts, at_least=1)
    check_choice("sampling", sampling, SAMPLINGS)
    if not 0.0 <= check_real("max_overlap", max_overlap) <= 1.0:
        raise ValueError(f"max_overlap must lie between 0 and 1, got {max_overlap!r}.")
    if not isinstance(start, str):
        raise ValueError("multi-start samples its starts; start must be 'vertex' or 'barycenter'.")
    check_choice("start", start, STARTS)
