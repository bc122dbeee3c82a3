"""The door to the solvers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dominantsets._checks import check_choice, check_int, check_real
from dominantsets.similarity import Graph, Kernel, LowRank, Path, Sharded, Similarity, as_similarity
from dominantsets.solvers import chunk_problem as sharded
from dominantsets.solvers import dual, tree, working_set
from dominantsets.solvers import frank_wolfe as first_order
from dominantsets.solvers import newton as climb
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.monitor import Callback, Monitor
from dominantsets.solvers.problem import Outcome, Point, Problem
from dominantsets.solvers.result import DominantSet
from dominantsets.solvers.starts import check_start, starting_point

# Objects from which the working set is the faster one: benchmarks/crossover.py
LARGE_GRAPH, LARGE_KERNEL = 2_000, 20_000
DEVICE_KERNEL = "working-set"  # safe steps on blocks, for kernels on a device
_METHODS: dict[str, Callable[..., Outcome]] = {
    **{rule: partial(first_order.ascend, rule=rule) for rule in first_order.RULES},
    "replicator": first_order.replicate,
    "working-set": working_set.solve_working_set,
    "dual": climb.solve_dual,
}
ALGORITHMS = ("auto", *first_order.RULES, "replicator", "working-set", "dual", "exact")


def solve(
    S: Any,
    *,
    algorithm: str = "auto",
    start: Any = "vertex",
    shift: float = 0.0,
    tol: float = 1e-10,
    max_iter: int = 100_000,
    max_time: float | None = None,
    trace: bool = False,
    callback: Callback | None = None,
) -> DominantSet:
    r"""Find one dominant set: a local maximum of :math:`x^T (A - \alpha I) x` over the simplex.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A precomputed similarity A, or what :func:`as_similarity` returned (taken as checked).
    algorithm : str, default="auto"
        "fw", "pairwise" or "away" (Frank-Wolfe and its variants); "replicator" (replicator dynamics);
        "working-set" (small blocks of the matrix, by the pairwise variant); "dual" (Newton's method in
        d + 1 unknowns, for features under sqeuclidean, cosine or linear); "exact" (the dominant set of
        highest value of a path-based similarity, in one pass over its tree). "auto" is "dual" or "exact"
        where the similarity has that structure, "working-set" for graphs of 2,000 objects and more and for
        kernels of features from 20,000, else "pairwise".
    start : {"vertex", "barycenter"}, int or array, default="vertex"
        All mass on the object with the largest row sum, equal weights, all mass on one object, or
        weights. Replicator dynamics cannot start at a vertex, which is a fixed point of it.
    shift : float, default=0.0
        The shift :math:`\alpha`: the larger, the larger the cluster. The same as adding
        :math:`\alpha` to every similarity of two different objects.
    tol : float, default=1e-10
        Converged means a gap of at most tol × max(f, f + shift). With 0 the solver goes on until
        nothing moves. Replicator dynamics stops when an iteration moves x by at most tol, as in the
        paper: its status is then "steady", or "converged" where the gap says so too.
    max_iter : int, default=100_000
        Largest number of iterations.
    max_time : float, optional
        Seconds after which the solver stops, with what it has reached.
    trace : bool, default=False
        Whether to record every iteration.
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop. "exact" is one pass,
        which calls it once and has no trace.

    Returns
    -------
    DominantSet
        Members, weights and the recomputed certificate. Ctrl-C does not raise: it returns what has
        been reached, with ``Status.INTERRUPTED``.

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
    check_options(algorithm, shift, tol, max_iter, max_time)
    problem = make_problem(as_similarity(S), float(shift))
    algorithm = choose(algorithm, problem.similarity, problem.shift, start)
    check_start(start, algorithm, problem.n)
    monitor = Monitor(max_time, callback)
    monitor.n_left = problem.n
    return solve_problem(
        problem,
        algorithm=algorithm,
        start=start,
        tol=float(tol),
        max_iter=int(max_iter),
        monitor=monitor,
        trace=trace,
    )


def check_options(algorithm: Any, shift: Any, tol: Any, max_iter: Any, max_time: Any) -> None:
    """Refuse what no solver can use, before any long work."""
    check_choice("algorithm", algorithm, ALGORITHMS)
    check_real("shift", shift)
    check_real("tol", tol, at_least=0.0)
    check_int("max_iter", max_iter, at_least=1)
    if max_time is not None:
        check_real("max_time", max_time, at_least=0.0)


def choose(algorithm: str, similarity: Similarity, shift: float, start: Any) -> str:
    """The solver that "auto" means for a similarity's structure; other names stay as they are."""
    if isinstance(similarity, Sharded):
        return sharded.solver_of(algorithm, similarity, start)
    if algorithm != "auto":
        if similarity.on_device and algorithm != (there := choose("auto", similarity, shift, start)):
            raise ValueError(
                f"algorithm={algorithm!r} does not run on a device, where this affinity has {there!r}; "
                "leave it out, or pass a NumPy array without device=."
            )
        return algorithm
    if similarity.on_device:
        return DEVICE_KERNEL if similarity.offset is None else "dual"
    if isinstance(similarity, Path):  # the exact solver takes no start: one that is given is honoured
        return "exact" if isinstance(start, str) else "pairwise"
    if isinstance(similarity, LowRank) and dual.applies(similarity, shift):
        return "dual"
    large = {Graph: LARGE_GRAPH, Kernel: LARGE_KERNEL}
    if any(isinstance(similarity, kind) and similarity.n >= size for kind, size in large.items()):
        return "working-set"
    return "pairwise"


def solve_problem(
    problem: Problem,
    *,
    algorithm: str,
    start: Any,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    trace: bool = False,
) -> DominantSet:
    """Solve for the objects that are still alive; options are taken as checked, "auto" as chosen."""
    if isinstance(problem, sharded.LowRankShards):
        options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "monitor": monitor, "trace": trace}
        return sharded.solve_far(problem, [problem.image(start)], **options)[0]
    if algorithm == "exact":
        return tree.solve_exactly(problem, tol=tol, monitor=monitor)
    return solve_from(
        problem, starting_point(problem, start), algorithm=algorithm, tol=tol, max_iter=max_iter,
        monitor=monitor, trace=trace,
    )  # fmt: skip


def make_problem(similarity: Similarity, shift: float, degrees: Any = None, cutoff: float = 0.0) -> Problem:
    """The problem of a similarity, where its objects are: here, in pieces, or on a device.

    Weights up to ``cutoff`` are left out at once where that saves a round; else whoever asks does it.
    """
    if similarity.on_device:
        from dominantsets.solvers.tensor_problem import DeviceProblem  # imports torch

        return DeviceProblem(similarity, shift, degrees)  # type: ignore[arg-type]
    return sharded.pose(similarity, shift, degrees, cutoff)


def solve_many(problem: Problem, starts: list[Point], **options: Any) -> list[DominantSet]:
    """From many starts at once, on a device."""
    from dominantsets.solvers.tensor_problem import solve_starts  # imports torch

    return solve_starts(problem, starts, **options)  # type: ignore[arg-type]


def solve_from(
    problem: Problem,
    x0: Point,
    *,
    algorithm: str,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    trace: bool = False,
) -> DominantSet:
    """The same from a point, by a method that takes one."""
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "monitor": monitor, "trace": trace}
    if problem.similarity.on_device:
        return solve_many(problem, [x0], algorithm=algorithm, **options)[0]
    if isinstance(problem, sharded.LowRankShards):
        return sharded.solve_far(problem, [problem.at(x0)], **options)[0]
    problem = problem.in_component_of(x0)
    if problem.similarity.components is not None:  # what x0 has of other components stays out
        inside = problem.alive[x0.support]
        weights = x0.weights[inside]
        x0 = Point(x0.support[inside], weights / weights.sum())
    outcome = _METHODS[algorithm](problem, x0, **options)
    return certify(problem, outcome, tol=tol, algorithm=algorithm)
