r"""Dominant sets of a hypergraph: groups in which many hyperedges lie (Rota Bulò and Pelillo, 2009, 2013).

A hyperedge e joins k objects with a weight :math:`\omega_e \ge 0`. Clusters are the strict local maxima of

.. math:: f(x) = \sum_e \omega_e \prod_{j \in e} x_j

over the simplex; with k = 2 this is half of :math:`x^T A x`. Let
:math:`\delta_j = \partial f / \partial x_j`; as f is homogeneous, :math:`\sum_j x_j \delta_j = k f`, and x is
stationary iff :math:`\delta_j = k f` on the support and :math:`\delta_j \le k f` outside.

f is linear in every single weight. So along :math:`e_i - e_j` it is *exactly* quadratic,

.. math:: f(x + \gamma (e_i - e_j)) = f + \gamma (\delta_i - \delta_j) - \gamma^2 \delta_{ij},

with :math:`\delta_{ij}` the second derivative, and the pairwise Frank-Wolfe step has a closed form:
:math:`\gamma = \min(x_j, (\delta_i - \delta_j) / 2 \delta_{ij})`. Only edges of i and j have to be looked at.
Baum and Eagon's step is :math:`x_j \leftarrow x_j \delta_j / k f`, replicator dynamics of higher order.
Neither lowers f.

``strict`` is proved by ``dominantsets.solvers.nearby``, which needs a Lipschitz constant K of the
Hessian. The third derivatives :math:`t_{abc}` are sums over the edges with a, b and c of :math:`\omega_e`
times the product of the other weights; none is negative, and on the simplex no weight exceeds 1. Along a
vector w the Hessian changes by the matrix of the :math:`\sum_c t_{abc} w_c`. The norm of a symmetric matrix
is at most its largest row sum,

.. math:: \sum_{b,c} t_{abc} |w_c| \le \sum_c (k - 2) \, \omega_{ac} |w_c|
   \le (k - 2) \, |\omega_{a \cdot}| \, |w|, \quad \omega_{ac} = \sum_{e \ni a, c} \omega_e,

as an edge with a and c has k - 2 other objects b. So K is k - 2 times the largest norm of a row of
:math:`(\omega_{ac})`, over the edges within R; k = 2 has K = 0.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from dominantsets._checks import check_choice, require_memory
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.interrupts import listening
from dominantsets.solvers.monitor import Callback, Monitor
from dominantsets.solvers.nearby import EPS, PROVABLE, curvature_on_face, strict_nearby
from dominantsets.solvers.options import SolverOptions, check_run, weights_of
from dominantsets.solvers.problem import Outcome, Point
from dominantsets.solvers.result import DominantSet, Log, Status, Step
from dominantsets.studies import hyperedges as compiled

METHODS = ("pairwise", "baum-eagon")
REFRESH = 1_000  # steps after which payoffs are recomputed: they drift by rounding
PATIENCE = 3  # recomputations in a row without progress that mean a stall
UNDERFLOW = 1e-290  # weights below are 0, because denormal numbers would slow every later product down


class Hypergraph:
    """Hyperedges with weights, as solvers ask them; payoffs are the derivatives of f."""

    def __init__(self, members: Ints, weights: Floats, n: int) -> None:
        self.n = n
        order = np.argsort(members.ravel(), kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(members.ravel(), minlength=n))])
        self.edges = compiled.Edges(members, weights, indptr, order // members.shape[1])

    def payoffs(self, x: Floats) -> Floats:
        """The derivative of f with respect to every object's weight."""
        return compiled.payoffs(self.edges, x)

    def second_derivatives(self, x: Floats, objects: Ints) -> Floats:
        """Those with respect to two of some objects."""
        numbered = np.full(self.n, -1)
        numbered[objects] = np.arange(objects.size)
        return compiled.second_derivatives(self.edges, x, numbered, objects.size)

    def rounding(self, size: int) -> float:
        """Relative error of a payoff or second derivative at weights on so many objects.

        It is a sum of products without a minus sign. Each edge is one rounding of the sum and k of its
        product; the weights themselves sum to 1 up to ``size`` roundings, which each of them has.
        """
        k, most = int(self.edges.members.shape[1]), int(np.diff(self.edges.indptr).max())
        return EPS * (k + most + k * size)


class _Near:
    """f near x, for the proof of strictness."""

    def __init__(self, problem: Hypergraph, x: Floats, r: Floats) -> None:
        self._problem, self._x, self._r = problem, x, r
        self._error = problem.rounding(int(np.count_nonzero(x)))
        self.kappa = np.ones(problem.n)

    def curvature(self, R: Ints) -> tuple[float, float]:
        if R.size > PROVABLE:
            return -np.inf, np.inf
        return curvature_on_face(self._problem.second_derivatives(self._x, R), self._error)

    def bend(self, R: Ints) -> float:
        ones = np.zeros(self._problem.n)
        ones[R] = 1.0
        shared = self._problem.second_derivatives(ones, R)
        k = int(self._problem.edges.members.shape[1])
        return (k - 2) * float(np.linalg.norm(shared, axis=1).max(initial=0.0))

    def reach(self, R: Ints, distance: float) -> Floats:
        farther = self._x.copy()  # payoffs rise with every weight, and less so below x than above
        farther[R] += distance
        return self._problem.payoffs(farther) - self._r


@listening()
def solve_hypergraph(
    edges: Any,
    weights: Any = None,
    *,
    n: int | None = None,
    algorithm: str = "pairwise",
    start: Any = "barycenter",
    tol: float = 1e-10,
    max_iter: int = 100_000,
    cutoff: float = 2e-12,
    max_time: float | None = None,
    trace: bool = False,
    callback: Callback | None = None,
) -> DominantSet:
    r"""Find one dominant set of a k-uniform hypergraph.

    A local maximum of :math:`f(x) = \sum_e \omega_e \prod_{j \in e} x_j` over the simplex: a group of objects
    in which any k are joined, rather than any two. After Rota Bulò and Pelillo (2009, 2013), reconstructed
    from their abstracts; the pairwise step is ours (:mod:`dominantsets.studies.hypergraph`).

    Parameters
    ----------
    edges : array of int of shape (m, k), or list of m sequences
        The objects of each hyperedge, k ≥ 2 different ones. An edge that is listed twice counts twice.
    weights : array of float of shape (m,), optional
        How strongly each hyperedge holds, at least 0; 1 for all where it is left out.
    n : int, optional
        Number of objects; the largest in an edge plus one where it is left out.
    algorithm : {"pairwise", "baum-eagon"}, default="pairwise"
        The pairwise Frank-Wolfe step in closed form, which costs the edges of two objects, or Baum and
        Eagon's, which costs all edges and only approaches 0 where an object leaves.
    start : "barycenter", int or array, default="barycenter"
        Equal weights on all objects that have an edge; equal weights on one object and those that share an
        edge with it; or weights. All mass on one object is no start: there f and its derivatives are 0.
    tol : float, default=1e-10
        Converged means a gap of at most tol × k f. Baum and Eagon's dynamics stops when it moves by no more
        than tol.
    max_iter : int, default=100_000
        Largest number of iterations.
    cutoff : float, default=2e-12
        Members have a weight above it.
    max_time : float, optional
        Seconds after which the solver stops, with what it has reached.
    trace : bool, default=False
        Whether to record every iteration.
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop.

    Returns
    -------
    DominantSet
        As :func:`solve` returns it, with :math:`\delta` for r: ``value`` is :math:`\sum x_j \delta_j = k f`
        (so that k = 2 gives the :math:`x^T A x` of :func:`solve`), ``gap`` is
        :math:`\max \delta - k f`, ``unit`` is k f. ``strict`` is True where a strict local maximum is proved
        to lie near x, with these members apart from ``undecided`` ones; False where f bends upward on their
        face around x, or an object outside gains at the maximum of the face; None where neither is proved,
        as where maxima form a segment, or for more than 500 members.

    Examples
    --------
    Four objects of which any three are joined, and a triple that shares one of them.

    >>> from dominantsets import solve_hypergraph
    >>> edges = [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3), (3, 4, 5)]
    >>> cluster = solve_hypergraph(edges)
    >>> cluster.members, cluster.weights
    (array([0, 1, 2, 3]), array([0.25, 0.25, 0.25, 0.25]))
    >>> round(cluster.value / 3, 12), cluster.status.value  # f: four edges of weight 1/4³
    (0.0625, 'converged')
    """
    check_choice("algorithm", algorithm, METHODS)
    check_run(0.0, max_time)
    # "auto" stands in, as the names are others here; ours is written below
    checked = SolverOptions(tol=tol, max_iter=max_iter, cutoff=cutoff, trace=trace).checked()
    options = SolverOptions(algorithm, start, checked.tol, checked.max_iter, checked.cutoff, trace)
    problem = _hypergraph(edges, weights, n)
    x = _start(problem, start)
    monitor = Monitor(max_time, callback)
    monitor.n_left = problem.n
    run = _exchange if algorithm == "pairwise" else _grow
    outcome = run(problem, x, options, monitor)
    kept = outcome.x.weights > options.cutoff
    left = Point(outcome.x.support[kept], outcome.x.weights[kept] / outcome.x.weights[kept].sum())
    return _certified(problem, outcome._replace(x=left), options)


def _certified(problem: Hypergraph, outcome: Outcome, options: SolverOptions) -> DominantSet:
    """What can be said of the weights that were reached, recomputed from them alone."""
    x = outcome.x.dense(problem.n)
    r = problem.payoffs(x)
    members = outcome.x.support
    level = float(outcome.x.weights @ r[members])
    outside = float(np.delete(r, members).max(initial=-np.inf))
    gap = max(0.0, float(r.max()) - level)
    error = problem.rounding(members.size) * r
    status = outcome.status
    if status in (Status.CONVERGED, Status.STEADY, Status.STALLED):
        unfinished = Status.STALLED if status is Status.CONVERGED else status
        status = Status.CONVERGED if gap <= max(options.tol * level, float(error.max())) else unfinished
    strict, undecided = strict_nearby(_Near(problem, x, r), x, r, error)
    return DominantSet(
        members=members,
        weights=outcome.x.weights,
        value=level,
        gap=gap,
        margin=level - outside,
        strict=strict,
        n_iter=outcome.n_iter,
        status=status,
        trace=outcome.trace,
        algorithm=options.algorithm,
        unit=level,
        undecided=undecided,
    )


def _exchange(problem: Hypergraph, x: Floats, options: SolverOptions, monitor: Monitor) -> Outcome:
    """Pairwise steps, until the recomputed gap is within tolerance or nothing gets better."""
    rows = Log()
    n_iter, stale, best, status = 0, 0, (-np.inf, np.inf), Status.MAX_ITER
    r = problem.payoffs(x)
    while n_iter < options.max_iter:
        budget = min(monitor.budget(), options.max_iter - n_iter, REFRESH)
        record = np.empty((budget if options.trace else 0, 4))
        code, steps = compiled.pairwise(problem.edges, x, r, options.tol, budget, record)
        if options.trace:
            rows.extend(record[:steps].tolist())
        n_iter += steps
        monitor.calibrate(steps)
        x /= x.sum()
        r = problem.payoffs(x)
        top, low, mean, size = compiled.survey(x, r)
        gap = float(r[top]) - mean
        if code == compiled.LOOK:
            better = mean > best[0] * (1.0 + 4 * EPS) or gap < 0.9 * best[1]
            stale = 0 if better else stale + 1
            best = (max(mean, best[0]), min(gap, best[1]))
            if gap <= options.tol * mean or top == low or stale >= PATIENCE:
                status = Status.CONVERGED  # the certificate looks again, and may say stalled
                break
        halt = monitor.report(n_iter, mean, gap, size)
        if halt is not None:
            status = halt
            break
    history = rows.trace(0.0) if options.trace else None
    return Outcome(Point.of(x), n_iter, status, history)


def _grow(problem: Hypergraph, x: Floats, options: SolverOptions, monitor: Monitor) -> Outcome:
    """Baum and Eagon's dynamics, until two iterates are no more than tol apart."""
    rows = Log()
    n_iter, status = 0, Status.MAX_ITER
    while n_iter < options.max_iter:
        r = problem.payoffs(x)
        mean = float(x @ r)
        if mean <= 0.0:  # no edge within the support: 0/0
            status = Status.STALLED
            break
        gap, size = float(r.max()) - mean, int(np.count_nonzero(x))
        new = x * (r / mean)
        new[new < UNDERFLOW] = 0.0
        new /= new.sum()
        moved, x = float(np.square(new - x).sum()), new
        n_iter += 1
        if options.trace:
            rows.append((mean, gap, size, int(Step.REPLICATE)))
        if moved <= options.tol**2:
            status = Status.STEADY
            break
        if monitor.due():
            halt = monitor.report(n_iter, mean, gap, size)
            if halt is not None:
                status = halt
                break
    return Outcome(Point.of(x), n_iter, status, rows.trace(0.0) if options.trace else None)


def _hypergraph(edges: Any, weights: Any, n: int | None) -> Hypergraph:
    """The hypergraph, if it is one."""
    members = _members(edges)
    m = len(members)
    most = int(members.max()) + 1
    if n is not None and (not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < most):
        raise ValueError(f"n={n!r} must be a whole number above the largest object in an edge, {most - 1}.")
    try:
        omega = np.ones(m) if weights is None else np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("the weights of the hyperedges do not hold numbers.") from None
    require_memory(
        64 * (most if n is None else int(n)),
        f"a hypergraph of {most if n is None else int(n):,} objects",
        "number the objects from 0 on, without gaps",
    )
    if omega.shape != (m,):
        raise ValueError(f"{m} hyperedges need {m} weights, got an array of shape {omega.shape}.")
    if not np.isfinite(omega).all() or (omega < 0).any():
        raise ValueError("the weights of the hyperedges must be finite and not negative.")
    if not omega.any():
        raise ValueError("all hyperedges have the weight 0, so there is nothing to cluster.")
    return Hypergraph(members, omega, most if n is None else int(n))


def _members(edges: Any) -> Ints:
    """Hyperedges as an array of shape (m, k)."""
    if not isinstance(edges, np.ndarray) or edges.dtype == object:
        try:
            edges = [np.atleast_1d(np.asarray(edge)) for edge in edges]
        except (TypeError, ValueError):
            raise ValueError(
                f"hyperedges must be an array or a list of groups of objects, got {type(edges).__name__}."
            ) from None
        sizes = sorted({edge.size for edge in edges})
        if sizes[:1] == [0]:
            empty = next(place for place, edge in enumerate(edges) if not edge.size)
            raise ValueError(f"hyperedge {empty} is empty; leave it out.")
        if len(sizes) > 1:
            raise ValueError(
                f"hyperedges have {sizes[0]} to {sizes[-1]} objects; all must have the same number of them, "
                "so solve each size by itself."
            )
    edges = np.asarray(edges)
    if edges.size == 0:
        raise ValueError("there are no hyperedges, so there is nothing to cluster.")
    if edges.ndim != 2 or edges.shape[1] < 2:
        raise ValueError(
            f"hyperedges must be an array of shape (m, k) with k of at least 2 objects, got {edges.shape}."
        )
    members = edges.astype(np.int64) if edges.dtype.kind in "iufb" else np.empty((0, 0), np.int64)
    if members.shape != edges.shape or (members != edges).any() or (members < 0).any():
        raise ValueError("hyperedges must hold the numbers of objects: whole numbers from 0 on.")
    ordered = np.sort(members, axis=1)
    twice = np.flatnonzero((np.diff(ordered, axis=1) == 0).any(axis=1))
    if twice.size:
        raise ValueError(
            f"hyperedge {twice[0]} ({', '.join(map(str, members[twice[0]]))}) has an object more than once."
        )
    return np.ascontiguousarray(members)


def _start(problem: Hypergraph, start: Any) -> Floats:
    """The weights that a start means."""
    edges = problem.edges
    if isinstance(start, str):
        check_choice("start", start, ("barycenter",))
        x = (np.diff(edges.indptr) > 0).astype(np.float64)
    elif isinstance(start, numbers.Integral) and not isinstance(start, bool):
        i = int(start)
        if not 0 <= i < problem.n or edges.indptr[i] == edges.indptr[i + 1]:
            raise ValueError(f"start={i} is no object of 0 to {problem.n - 1} that has a hyperedge.")
        mine = edges.owners[edges.indptr[i] : edges.indptr[i + 1]]
        x = np.zeros(problem.n)
        x[edges.members[mine]] = 1.0
    else:
        x = weights_of(start, problem.n).copy()
        if np.count_nonzero(x) < edges.members.shape[1] - 1:
            raise ValueError(
                f"a start of {np.count_nonzero(x)} objects has no payoff in hyperedges of "
                f"{edges.members.shape[1]}: f and its derivatives are 0 there; use start='barycenter', or "
                "an object's number for it and those that share an edge with it."
            )
    return np.asarray(x / x.sum())
