"""Solving for one dominant set: the public function, and the problem that solves itself in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from dominantsets._checks import NO_MEMORY, memory_explained
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.interrupts import listening
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.similarity.solving import fold, solving_of
from dominantsets.solvers.branch_and_bound import optimise
from dominantsets.solvers.capped import solve_capped
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.dual import DENSE_LIMIT, Jacobian
from dominantsets.solvers.frank_wolfe import RULES, ascend, replicate
from dominantsets.solvers.monitor import Callback, Monitor
from dominantsets.solvers.newton import solve_dual
from dominantsets.solvers.options import SolverOptions, check_run, starting_point
from dominantsets.solvers.problem import Outcome, Point, Problem
from dominantsets.solvers.result import DominantSet, Status
from dominantsets.solvers.seeds import checked_seeds, extra_of_others, say_if_lost, solve_welded, started_at
from dominantsets.solvers.tree import solve_exactly
from dominantsets.solvers.weights import checked_weights, chosen_with_weights, extra_of_weights, unfolded
from dominantsets.solvers.working_set import solve_working_set

Method = Callable[[Problem, Point, SolverOptions, Monitor], Outcome]
METHODS: dict[str, Method] = {
    **dict.fromkeys(RULES, ascend),
    "replicator": replicate,
    "working-set": solve_working_set,
    "dual": solve_dual,
}
# Related methods, as module:function: loaded only when one of them is asked for.
RELATED = {
    "exponential-replicator": "dominantsets.studies.exponential:replicate_exponentially",
    "trajectory": "dominantsets.studies.trajectory:solve_trajectory",
    "shrink-expand": "dominantsets.studies.shrink_expand:shrink_and_expand",
    "path-following": "dominantsets.studies.path_following:follow_path",
}
# What a similarity is posed as, and where that problem is; NumPy users load none of the others.
PROBLEMS = {
    "memory": ("api", "HostProblem"),
    "chunks": ("chunk_problem", "ChunkProblem"),
    "tensors": ("tensor_problem", "TensorProblem"),
}
HALF = 0.5  # of the mass on the sampled object, where the rest is spread


def method_of(algorithm: str) -> Method:
    """Return the function that runs an algorithm."""
    if algorithm in METHODS:
        return METHODS[algorithm]
    module, _, function = RELATED[algorithm].partition(":")
    method: Method = getattr(import_module(module), function)
    return method


def make_problem(
    similarity: Similarity, shift: float, degrees: Any = None, extra: Any = None, weights: Any = None
) -> HostProblem:
    """The problem of a similarity, which can solve itself where its objects are.

    ``extra`` is what is subtracted on the diagonal for each object besides the shift; ``weights`` are the
    numbers of objects that each stands for, which divide both.
    """
    posed, similarity = solving_of(similarity).posed(shift)
    module, name = PROBLEMS[posed]
    problem: HostProblem = getattr(import_module(f"dominantsets.solvers.{module}"), name)(
        similarity, shift, degrees
    )
    problem.extra = extra
    if weights is not None:
        problem.extra, problem.copies = extra_of_weights(similarity, weights, shift, extra), weights
        problem.remove(np.flatnonzero(weights == 0.0))
    return problem


class HostProblem(Problem):
    """A problem that solves itself, in this process."""

    def solve(self, options: SolverOptions, monitor: Monitor, start: Any = None) -> DominantSet:
        """Solve from a start as users name it (that of the options, where none is given)."""
        start = options.start if start is None else start
        if isinstance(start, str) and start == "global":
            return optimise(self, options, monitor).cluster
        return self._solve(options, monitor, options.begin(start))

    def _solve(self, options: SolverOptions, monitor: Monitor, start: Any) -> DominantSet:
        if options.algorithm == "exact":
            return solve_exactly(self, options, monitor)
        return self.solve_from(starting_point(self, start), options, monitor)

    def solve_from(self, x: Point, options: SolverOptions, monitor: Monitor) -> DominantSet:
        """Solve from a point of the simplex."""
        problem = self.in_component_of(x)
        if self.similarity.components is not None:  # what x has of other components stays out
            inside = problem.alive[x.support]
            weights = x.weights[inside]
            x = Point(x.support[inside], weights / weights.sum())
        outcome = method_of(options.algorithm)(problem, x, options, monitor)
        return certify(problem, outcome, options)

    def room_of(self, objects: Ints) -> float | None:
        bounds = self.bounds
        kappa = bounds.kappa_of(objects, self.shift_of(objects))
        if bounds.extents(None, 0.0) is None or float(np.min(kappa)) <= 0.0:
            return None
        if min(objects.size, bounds.terms) > DENSE_LIMIT:
            return None
        return Jacobian(self.similarity.jacobian_of(objects, kappa)).room(objects.size)

    def solve_each(
        self, starts: Sequence[Point], shifts: Floats, options: SolverOptions, monitor: Monitor
    ) -> Iterator[list[DominantSet]]:
        """Solve from every start at its own shift, in their order, as they are asked for.

        Those that are solved together come together.
        """
        for start, shift in zip(starts, shifts.tolist(), strict=True):
            here = options.chosen_for(self.similarity, shift, 0)
            yield [make_problem(self.similarity, shift).solve_from(start, here, monitor)]

    def point_at(self, i: int, half: bool = False) -> Point:
        """A start with all mass on an object, or half of it, the rest spread over the others."""
        if not half or self.n_alive == 1:
            return Point(np.array([i]), np.ones(1))
        alive = self.living()
        weights = np.full(alive.size, HALF / (alive.size - 1))
        weights[np.searchsorted(alive, i)] = HALF
        return Point(alive, weights)

    def _beside(self) -> Any:
        return self.thread_copy()

    def solve_many(
        self, objects: Ints, options: SolverOptions, monitor: Monitor, n_jobs: int | None = None
    ) -> list[DominantSet]:
        """Solve from many objects, on threads: results in their order, fewer after Ctrl-C."""
        half, guarded = options.start == "barycenter", _Guarded(monitor)
        work = Parallel(n_jobs, backend="threading")(
            # columns are kept by one solver at a time, everything else is shared
            delayed(self._beside().solve_from)(self.point_at(int(i), half), options, guarded)
            for i in objects
            if guarded.halt is not Status.INTERRUPTED
        )
        return list(work)


class _Guarded(Monitor):
    """A monitor for several threads: one at a time calls the callback, and all end when it says so."""

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


@memory_explained(NO_MEMORY)
@listening()
def solve(
    S: Any,
    *,
    algorithm: str = "auto",
    start: Any = "vertex",
    shift: float = 0.0,
    tol: float = 1e-10,
    max_iter: int = 100_000,
    max_time: float | None = None,
    algorithm_params: dict[str, Any] | None = None,
    trace: bool = False,
    callback: Callback | None = None,
    seeds: Any = None,
    seed_shift: float | str = "auto",
    weld: bool = False,
    sample_weight: Any = None,
    min_members: int = 1,
) -> DominantSet:
    r"""Find one dominant set: a local maximum of :math:`x^T (A - \alpha I) x` over the simplex.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A precomputed similarity A, or what :func:`as_similarity` returned (taken as checked).
    algorithm : str, default="auto"
        "fw", "pairwise" or "away" (Frank-Wolfe and its variants); "inimdyn" (infection and immunisation: the
        iterates of "away"); "replicator" (replicator dynamics) and "exponential-replicator"; "trajectory"
        (the first cut that replicator dynamics shows, then pruned, see :func:`trajectory`); "shrink-expand"
        (Liu, Latecki and Yan); "path-following" (no weight above a cap, which rises from 1/n to 1);
        "working-set" (small blocks of the matrix, by the pairwise variant); "dual" (Newton's method in
        d + 1 unknowns, for features under sqeuclidean, cosine or linear); "exact" (the dominant set of
        highest value of a path-based similarity, in one pass over its tree). "auto" is "dual" or "exact"
        where the similarity has that structure, "working-set" for graphs of 2,000 objects and more and for
        kernels of features from 20,000, else "pairwise".
    start : {"vertex", "barycenter", "global"}, int or array, default="vertex"
        All mass on the object with the largest row sum, equal weights, all mass on one object, or
        weights. "global": wherever the best dominant set is, see :func:`global_optimum`. Replicator
        dynamics cannot start at a vertex, which is a fixed point of it; "trajectory" and "path-following"
        begin with equal weights.
    shift : float, default=0.0
        The shift :math:`\alpha`: the larger, the larger the cluster. The same as adding
        :math:`\alpha` to every similarity of two different objects.
    tol : float, default=1e-10
        Converged means a gap of at most tol × ``unit``, or of what rounding leaves. With 0 the solver goes on
        until nothing moves. Replicator dynamics stops when an iteration moves x by at most tol, as in the
        paper: its status is then "steady", or "converged" where the gap says so too.
    max_iter : int, default=100_000
        Largest number of iterations.
    max_time : float, optional
        Seconds after which the solver stops, with what it has reached.
    algorithm_params : dict, optional
        For "exponential-replicator" ``rate`` (1.0: a step multiplies weights by exp(rate r / f)); for
        "trajectory" ``patience`` (5: steps for which a cut must stay the same) and ``regularization`` (1.0:
        the share of the least similarity that is taken off all of them); for "path-following" ``growth``
        (2.0: the factor by which the cap rises).
    trace : bool, default=False
        Whether to record every iteration.
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop. "exact" is one pass,
        which calls it once and has no trace.
    seeds : int or array of int, optional
        Objects that the set is to be around (a constrained dominant set): the others have a shift of at
        least ``seed_shift``, and the solver starts at the seeds unless a start is given. One seed is a
        member of every answer; of several, at least one is.
    seed_shift : float or "auto", default="auto"
        The shift of objects that are no seeds, where it is above ``shift``. "auto": large enough that
        every dominant set meets the seeds (docs/theory-seeds.md), which makes large sets. With less the set
        is smaller and may lose the seeds: then there is a warning.
    weld : bool, default=False
        Whether seeds have equal weights, so that all of them are members. For sqeuclidean, cosine and
        linear features, and up to 300 objects of other similarities.
    sample_weight : array of shape (n,), optional
        For how many objects each one stands, whole or not: the answer is that of as many copies
        (docs/theory-weights.md), with their weights added up. Objects with weight 0 are left out. Copies in
        a graph have no edges between them, so that it needs a positive shift. With seeds, their copies are
        seeds too; not with ``weld``.
    min_members : int, default=1
        No weight may exceed 1 / min_members, so that at least so many objects have one
        (docs/theory-size.md). For sqeuclidean, cosine and linear features, and up to 300 objects of other
        similarities; the gap is that of the capped problem, the margin is taken from the level of members
        below the cap. Not together with seeds or weights.

    Returns
    -------
    DominantSet
        Members, weights and the recomputed certificate; with ``global_gap`` where f is concave, so that
        no other dominant set exists (:func:`global_optimum` looks for the best one elsewhere). Ctrl-C does
        not raise: it returns what has been reached, with ``Status.INTERRUPTED``.

    Examples
    --------
    Two tight pairs; the heavier one has the larger row sums.

    >>> import numpy as np
    >>> from dominantsets import solve
    >>> A = np.zeros((4, 4))
    >>> A[0, 1] = A[1, 0] = 1.0
    >>> A[2, 3] = A[3, 2] = 3.0
    >>> cluster = solve(A)
    >>> cluster.members, cluster.weights, cluster.value
    (array([2, 3]), array([0.5, 0.5]), 1.5)
    """
    check_run(shift, max_time)
    options = SolverOptions(algorithm, start, tol, max_iter, 0.0, trace, algorithm_params).checked()
    similarity, extra, weights, folded = as_similarity(S), None, None, None
    if min_members != 1:
        if sample_weight is not None or seeds is not None or options.algorithm != "auto":
            raise ValueError(
                "min_members goes with neither seeds, sample_weight nor an algorithm; leave them out."
            )
        options.check_start(similarity.n)
        return solve_capped(similarity, min_members, float(shift), options, Monitor(max_time, callback))
    if sample_weight is not None:
        weights = checked_weights(sample_weight, similarity.n)
        options = chosen_with_weights(options, similarity, float(shift))
    if seeds is not None:
        seeds = checked_seeds(seeds, similarity.n)
        extra = extra_of_others(similarity, seeds, float(shift), seed_shift, weights)
        if weld and weights is not None:
            raise ValueError(
                "weld=True gives seeds equal weights, which sample_weight would not; leave one out."
            )
        if weld:
            found = solve_welded(similarity, seeds, extra, float(shift), options, Monitor(max_time, callback))
            say_if_lost(found, seeds)
            return found
        options = started_at(options, seeds, similarity.n)
    if weights is None and seeds is None and options.starts_anywhere and algorithm == "auto" and not trace:
        folded = fold(similarity)
    if folded is not None:
        similarity, weights, _ = folded
    problem = make_problem(similarity, float(shift), extra=extra, weights=weights)
    options = options.chosen_for(problem.similarity, problem.shift)
    options.check_start(problem.n)
    monitor = Monitor(max_time, callback)
    monitor.n_left = problem.n
    found = problem.solve(options, monitor)
    if seeds is not None:
        say_if_lost(found, seeds)
    if folded is not None:
        return unfolded(found, folded)
    unproved = problem.extra is None and found.global_gap is None
    if unproved and solving_of(problem.similarity).concave(problem.shift):
        error = problem.payoff_error(Point(found.members, found.weights))
        return replace(found, global_gap=2.0 * (found.gap + error))
    return found
