"""Many starts at once: sample objects, solve from each, keep what does not overlap, remove it, repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from dominantsets._checks import check_choice, check_int, check_real
from dominantsets._typing import Flags, Ints
from dominantsets.clusters.peeling import Extraction, check_peeling
from dominantsets.clusters.sampling import SAMPLINGS, sample_starts
from dominantsets.compiled.interrupts import listening
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.solvers import Callback, DominantSet, Monitor, SolverOptions, Status
from dominantsets.solvers.options import STARTLESS, STARTS, check_run
from dominantsets.solvers.result import HALTS, End


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
        **run: Any,
    ) -> None:
        super().__init__(similarity, n_clusters, **run)
        self.n_passes = 0
        self._n_starts = n_starts
        self._sampling = sampling
        self._max_overlap = max_overlap
        self._n_jobs = n_jobs
        self._random = check_random_state(random_state)

    @listening()
    def __next__(self) -> Pass:
        while True:
            if self.end is None:
                self.end = self._nothing_left()
            if self.end is not None:
                raise StopIteration
            starts, solutions = self._solutions()
            accepted, taken, small, incoherent = self._accept(solutions)
            if accepted or not small.size or self.end is not None:
                break
            self._skip(small)
        if not accepted:
            self.end = self.end or (End.NOT_COHERENT if incoherent else None)
            raise StopIteration
        self.n_passes += 1
        for cluster in accepted:
            self._label(cluster)
        if self.end is None and self.n_clusters == self._wanted:
            self.end = End.N_CLUSTERS
        elif self.end is None:
            self._problem.remove(np.flatnonzero(taken))
        return Pass(accepted, starts, solutions)

    def _solutions(self) -> tuple[Ints, list[DominantSet]]:
        """Sampled objects, and what was reached from each of them."""
        problem, monitor = self._problem, self._monitor
        monitor.n_clusters, monitor.n_left = self.n_clusters, problem.n_alive
        starts = sample_starts(problem, self._n_starts, self._sampling, self._random)
        found = problem.solve_many(starts, self._options, monitor, self._n_jobs)
        solutions = [self._cut(solution) for solution in found]
        halts = [HALTS[s.status] for s in solutions if s.status in HALTS]
        self.end = End.INTERRUPTED if monitor.interrupted else next(iter(halts), None)
        return starts, solutions

    def _accept(self, solutions: list[DominantSet]) -> tuple[list[DominantSet], Flags, Ints, bool]:
        """The solutions, by falling value, that overlap the accepted ones by no more than the limit.

        Also their objects, the objects of sets smaller than asked for, and whether one was not coherent.
        A dissolved solution is a cluster only where there is no other.
        """
        taken, small = np.zeros(self._problem.n, dtype=bool), np.zeros(self._problem.n, dtype=bool)
        accepted: list[DominantSet] = []
        incoherent = False
        for solution in sorted(solutions, key=lambda s: (s.status is Status.DISSOLVED, -s.value)):
            if solution.status is Status.DISSOLVED and accepted:
                break
            if self._wanted is not None and self.n_clusters + len(accepted) == self._wanted:
                break
            shared = np.count_nonzero(taken[solution.members])
            if shared > self._max_overlap * len(solution) or shared == len(solution):
                continue
            if len(solution) < self._min_size:
                small[solution.members] = True
            elif self._incoherent(solution, self.n_clusters + len(accepted)):
                incoherent = True
            else:
                accepted.append(solution)
                taken[solution.members] = True
        return accepted, taken, np.flatnonzero(small), incoherent


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
    algorithm_params: dict[str, Any] | None = None,
    trace: bool = False,
    callback: Callback | None = None,
) -> MultiStart:
    r"""Find dominant sets from many starts at once, in passes.

    A pass samples objects among those still there, solves from each of them, sorts the solutions by
    falling value :math:`x^T A x - \alpha |x|^2` and drops those that overlap the accepted ones by
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
        The solver, as in :func:`solve`. "exact" and "path-following" have no starts; "auto" is then
        "pairwise".
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
    algorithm_params : dict, optional
        Parameters of the algorithm, as in :func:`solve`.
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
    check_run(shift, max_time)
    options = SolverOptions(algorithm, start, tol, max_iter, cutoff, trace, algorithm_params).checked()
    check_multistart(n_starts, sampling, max_overlap, start)
    similarity = as_similarity(S)
    check_peeling(similarity.n, n_clusters, min_cluster_size)
    options = options.chosen_for(similarity, float(shift), start=0)  # 0: a start is given
    options.check_start(similarity.n, sampled_start(options))
    return MultiStart(
        similarity,
        n_clusters,
        n_starts=int(n_starts),
        sampling=sampling,
        max_overlap=float(max_overlap),
        n_jobs=n_jobs,
        random_state=random_state,
        shift=float(shift),
        options=options,
        min_cluster_size=int(min_cluster_size),
        monitor=Monitor(max_time, callback),
    )


def sampled_start(options: SolverOptions) -> Any:
    """What a sampled start is like: an object (the number 0 stands for it), or half of the mass there."""
    return 0 if options.start == "vertex" or options.algorithm in STARTLESS else options.start


def check_multistart(n_starts: Any, sampling: Any, max_overlap: Any, start: Any) -> None:
    """Refuse what multi-start cannot use, before any long work."""
    check_int("n_starts", n_starts, at_least=1)
    check_choice("sampling", sampling, SAMPLINGS)
    if not 0.0 <= check_real("max_overlap", max_overlap) <= 1.0:
        raise ValueError(f"max_overlap must lie between 0 and 1, got {max_overlap!r}.")
    if not isinstance(start, str):
        raise ValueError("multi-start samples its starts; start must be 'vertex' or 'barycenter'.")
    check_choice("start", start, STARTS)
