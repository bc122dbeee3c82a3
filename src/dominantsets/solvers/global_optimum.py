"""The global optimum: the public function."""

from __future__ import annotations

from typing import Any

from dominantsets._checks import warn
from dominantsets.compiled.interrupts import listening
from dominantsets.similarity import as_similarity
from dominantsets.solvers.api import make_problem
from dominantsets.solvers.branch_and_bound import GlobalOptimum, Search, optimise
from dominantsets.solvers.monitor import Callback, Monitor
from dominantsets.solvers.options import SolverOptions, check_run
from dominantsets.solvers.result import Status


@listening()
def global_optimum(
    S: Any,
    *,
    shift: float = 0.0,
    tol: float = 1e-9,
    max_nodes: int = 300_000,
    max_time: float | None = None,
    callback: Callback | None = None,
) -> GlobalOptimum:
    r"""Find the dominant set of highest value, with a proof that there is none better.

    The global maximum of :math:`f(x) = x^T A x - \alpha |x|^2` over the simplex. For features under
    sqeuclidean, cosine or linear similarity
    :math:`f = |U^T x|^2 + 2 b^T x + m - \sum \kappa_i x_i^2`, and all that is not concave is in the d numbers
    :math:`U^T x`: boxes of these are bounded by one pass over the objects, and divided
    (docs/theory-global.md). Directions along which f is concave are not divided, so that with a large shift
    many features do no harm. Before, the columns of the similarity bound f in any dimension, and leave few
    places where something better may be. Path-based similarity is solved exactly in any case. Matrices,
    kernels and graphs have the bound by columns, for any number of objects; up to 300 objects boxes are
    divided too, by the eigenvectors of their matrix, which proves about ten.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A precomputed similarity A, or what :func:`as_similarity` returned. Rows that are elsewhere (Dask,
        a device) are brought to memory, 32 bytes a number.
    shift : float, default=0.0
        The shift :math:`\alpha`, as in :func:`solve`.
    tol : float, default=1e-9
        Proven means a ``global_gap`` of at most tol × ``cluster.unit``, or of what rounding allows.
    max_nodes : int, default=300_000
        Looks at boxes after which the search ends with what it has.
    max_time : float, optional
        Seconds after which it does. All columns of n objects take time that grows with n²: where it is
        too short for them, the bound may be no better than the trivial one.
    callback : callable, optional
        Called between batches of boxes with a :class:`Progress`, where ``n_iter`` are nodes and ``gap`` is
        the global one; return True to stop.

    Returns
    -------
    GlobalOptimum
        The best cluster, ``bound``, ``global_gap`` and ``proven``. The bound holds whatever ended the search,
        Ctrl-C too: it is made with what rounding may do added.

    Examples
    --------
    Objects on a line. From the object with the largest sum of similarities the solver goes to those on the
    left, and those on the right are the better set.

    >>> import numpy as np
    >>> from dominantsets import as_similarity, global_optimum, solve
    >>> X = np.array([[2.0], [3.0], [7.0], [8.0], [13.0], [14.0], [15.0]])
    >>> S = as_similarity(X, affinity="sqeuclidean")
    >>> solve(S).members, global_optimum(S).cluster.members
    (array([0, 1, 2, 3]), array([2, 3, 4, 5, 6]))
    >>> global_optimum(S).proven
    True
    """
    check_run(shift, max_time)
    search = Search(tol, max_nodes).checked()
    problem = make_problem(as_similarity(S), float(shift))
    options = SolverOptions().chosen_for(problem.similarity, problem.shift)
    monitor = Monitor(max_time, callback)
    monitor.n_left = problem.n
    found = optimise(problem, options, monitor, search)
    if found.status is Status.MAX_ITER:
        warn(
            f"max_nodes={max_nodes} are used up: the value {found.cluster.value:.9g} is at most "
            f"{found.global_gap:.3g} below the best; raise max_nodes or tol, or the shift, with which fewer "
            "directions have to be divided."
        )
    return found
