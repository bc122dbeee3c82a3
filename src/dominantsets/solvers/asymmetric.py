r"""Asymmetric similarities (Torsello, Rota Bulò and Pelillo, 2006): infection and immunisation, the ESS test.

Where :math:`a_{ij} \ne a_{ji}` there is no objective: :math:`x^T A x` may fall on the way to an equilibrium.
What remains is the game: a cluster is an evolutionarily stable strategy, and dynamics look for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import check_choice, check_int, check_real, require_memory, warn
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.interrupts import listening
from dominantsets.solvers.ess import equilibrium_in_rationals
from dominantsets.solvers.monitor import Callback, Monitor
from dominantsets.solvers.nearby import EPS, curvature_on_face, strict_nearby
from dominantsets.solvers.options import check_run, check_start, weights_of
from dominantsets.solvers.result import HALTING, Status

REFRESH = 1_000  # steps after which payoffs that are kept by their changes are recomputed
PATIENCE = 100  # steps, and two for each object, without progress after which shares are halved
CIRCLES = 10_000  # steps of replicator dynamics without a smaller gap that mean it goes in circles
LEAST = 2.0**-12  # of the shares: no smaller ones are tried
SMALLER = 0.99  # what a gap must be of the smallest before it to count as smaller
UNDERFLOW = 1e-290  # weights below it are set to 0, as replicator dynamics does


@dataclass(frozen=True, eq=False)
class Equilibrium:
    r"""A cluster of an asymmetric similarity: a Nash equilibrium, and whether it is stable.

    With :math:`r = A x - \alpha x` and :math:`f = x^T r`, recomputed from x:

    Attributes
    ----------
    members, weights : ndarray
        The support of x, in increasing order, and its weights.
    value : float
        :math:`f + \alpha`.
    gap : float
        :math:`\max_i r_i - f`; a Nash equilibrium has gap 0.
    margin : float
        f minus the largest r of an object outside; +inf where no object is outside.
    extended : ndarray of int
        The extended support: members, and all objects with a payoff that is f or cannot be told from it.
    stable : bool or None
        True: proved that there is an evolutionarily stable strategy with these members, apart from
        ``undecided`` ones. False: proved that there is none. None: neither is proved, or x is no
        equilibrium within tolerance. Up to 12 members are tested in rational arithmetic on the numbers
        given. Payoffs of more members are compared up to their rounding, a few units in the last place per
        member.
    n_iter : int
        Iterations made.
    status : Status
        Why the dynamics stopped.
    shift : float
        The shift :math:`\alpha` that was used.
    algorithm : str
        The dynamics.
    unit : float
        :math:`\kappa |x|^2` with :math:`\kappa` the largest similarity plus the shift: the unit of ``tol``.
    undecided : ndarray of int
        Objects for which rounding cannot tell whether they are members of the stable strategy.
    """

    members: Ints = field(repr=False)
    weights: Floats = field(repr=False)
    value: float
    gap: float
    margin: float
    extended: Ints = field(repr=False)
    stable: bool | None
    n_iter: int
    status: Status
    shift: float = 0.0
    algorithm: str = "inimdyn"
    unit: float = 0.0
    undecided: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)

    def __len__(self) -> int:
        return len(self.members)


class Run(NamedTuple):
    """Where a dynamics ended: weights of all objects, iterations, why."""

    x: Floats
    n_iter: int
    status: Status


def infect(B: Floats, x: Floats, *, tol: float, max_iter: int, monitor: Monitor, shift: float = 0.0) -> Run:
    r"""Infection and immunisation with pure strategies, for any payoffs B.

    The object of largest :math:`|r_i - f|`, among those that gain and the members that lose, is i. Along
    :math:`x + \mu (e_i - x)` the newcomer's advantage is :math:`r_i - f + \mu c` with
    :math:`c = (e_i - x)^T B (e_i - x)`, so that it lasts up to :math:`\mu = -(r_i - f)/c` where c < 0: the
    share that is taken, at most all of x, or of object i.

    Where B is symmetric f rises with every step. Where it is not, whole shares may go in circles, also
    around a stable point: where neither the gap gets smaller nor f higher for a while, shares are halved.
    """
    columns = np.ascontiguousarray(B.T)
    r, best, highest, stale, damping = B @ x, np.inf, -np.inf, 0, 1.0
    size, kappa = max(float(np.abs(B).max()), 1e-300), max(0.0, float(B.max()) + shift)
    n_iter = 0
    for n_iter in range(max_iter):
        if n_iter % REFRESH == REFRESH - 1:
            x = x / x.sum()
            r = B @ x
        f = float(x @ r)
        i = int(r.argmax())
        gap = float(r[i]) - f
        allowed = tol * kappa * float(x @ x)
        if gap <= allowed:
            r = B @ x  # it has drifted: recomputed before it is believed
            f, i = float(x @ r), int(r.argmax())
            gap = float(r[i]) - f
            if gap <= allowed:
                return Run(x, n_iter, Status.CONVERGED)
        # with a symmetric B a step gains this many times over, unless it drops an object
        progress = gap < SMALLER * best or f > highest + 0.01 * gap * gap / size
        stale = 0 if progress else stale + 1
        best, highest = min(best, gap), max(highest, f)
        if stale > PATIENCE + 2 * len(x):
            damping, stale, best, highest = 0.5 * damping, 0, gap, f
            if damping < LEAST:
                return Run(x, n_iter, Status.STALLED)
        j = int(np.where(x > 0.0, r, np.inf).argmin())
        k = i if gap >= f - float(r[j]) else j
        column = columns[k]
        bend = float(column[k]) - float(r[k]) - float(x @ column) + f
        whole = 1.0 if k == i else x[k] / (x[k] - 1.0)
        share = whole if bend >= 0.0 else -(float(r[k]) - f) / bend
        share = min(whole, share) if k == i else max(whole, share)
        gone = k != i and share == whole and x[k] <= damping  # all of object k, unless that is a leap
        share = share if gone else damping * share
        moved = (1.0 - share) * x
        moved[k] = 0.0 if gone else moved[k] + share
        x, r = moved, r + share * (column - r)
        if monitor.due():
            halt = monitor.report(n_iter + 1, f + shift, gap, int(np.count_nonzero(x)))
            if halt is not None:
                return Run(x, n_iter + 1, halt)
    return Run(x, max_iter, Status.MAX_ITER)


def replicate(
    B: Floats, x: Floats, *, tol: float, max_iter: int, monitor: Monitor, shift: float = 0.0
) -> Run:
    """Replicator dynamics for any payoffs B, which may go in circles; a constant makes them nonnegative."""
    best, stale = np.inf, 0
    lift, kappa = max(0.0, -float(B.min())), max(0.0, float(B.max()) + shift)
    n_iter = 0
    for n_iter in range(max_iter):
        r = B @ x
        f = float(x @ r)
        gap = float(r.max()) - f
        if f + lift <= 0.0:
            return Run(x, n_iter, Status.STALLED)
        stale = 0 if gap < SMALLER * best else stale + 1
        best = min(best, gap)
        if gap <= tol * kappa * float(x @ x):
            return Run(x, n_iter, Status.CONVERGED)
        if stale > CIRCLES:
            return Run(x, n_iter, Status.STALLED)
        moved = x * ((r + lift) / (f + lift))
        moved[moved < UNDERFLOW] = 0.0
        x = moved / moved.sum()
        if monitor.due():
            halt = monitor.report(n_iter + 1, f + shift, gap, int(np.count_nonzero(x)))
            if halt is not None:
                return Run(x, n_iter + 1, halt)
    return Run(x, max_iter, Status.MAX_ITER)


DYNAMICS: dict[str, Callable[..., Run]] = {"inimdyn": infect, "replicator": replicate}


@listening()
def solve_asymmetric(
    A: Any,
    *,
    algorithm: str = "inimdyn",
    start: Any = "vertex",
    shift: float = 0.0,
    tol: float = 1e-10,
    max_iter: int = 100_000,
    max_time: float | None = None,
    callback: Callback | None = None,
) -> Equilibrium:
    r"""Find one cluster of a similarity that need not be symmetric: an evolutionarily stable strategy.

    :math:`a_{ij}` is what object i gains beside object j. x is a Nash equilibrium where no object has a
    payoff :math:`r_i = (A x - \alpha x)_i` above :math:`f = x^T r`, and stable where every other y that
    does as well as x loses against x once there is some of it; for symmetric similarities these are the
    dominant sets. Infection and immunisation ends at equilibria only. Replicator dynamics may go in circles
    (rock, paper, scissors), which is seen and said; there may be no stable equilibrium at all.

    Parameters
    ----------
    A : array or sparse matrix of shape (n, n)
        The similarity, without negative entries. Its diagonal is taken as zero.
    algorithm : {"inimdyn", "replicator"}, default="inimdyn"
        Infection and immunisation, or replicator dynamics.
    start : {"vertex", "barycenter"}, int or array, default="vertex"
        All mass on the object with the largest row sum, equal weights, all mass on one object, or weights.
        Replicator dynamics cannot start at a vertex, which is a fixed point of it.
    shift : float, default=0.0
        The shift :math:`\alpha`, subtracted on the diagonal.
    tol : float, default=1e-10
        Converged means a gap of at most tol × ``unit``, or as small as rounding.
        The weights are then computed anew from the members, by a linear system.
    max_iter : int, default=100_000
        Largest number of iterations.
    max_time : float, optional
        Seconds after which the dynamics stops, with what it has reached.
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop.

    Returns
    -------
    Equilibrium
        Members, weights and the recomputed certificate. Ctrl-C returns what has been reached.

    Examples
    --------
    Object 2 follows the pair 0 and 1, which gain nothing from it. Alone it is an equilibrium, but not stable.

    >>> import numpy as np
    >>> from dominantsets import solve_asymmetric
    >>> A = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.4, 0.4, 0.0]])
    >>> cluster = solve_asymmetric(A)
    >>> cluster.members, cluster.stable
    (array([0, 1]), True)
    >>> solve_asymmetric(A, start=2).stable
    False
    """
    check_run(shift, max_time)
    check_choice("algorithm", algorithm, DYNAMICS)
    tol, max_iter = check_real("tol", tol, at_least=0.0), check_int("max_iter", max_iter, at_least=1)
    B = payoffs_of(A)
    n = len(B)
    check_start(start, algorithm, n)
    x, kappa = _start(start, B), float(B.max()) + float(shift)
    B[np.diag_indices(n)] = -float(shift)
    monitor = Monitor(max_time, callback)
    monitor.n_left = n
    run = DYNAMICS[algorithm](B, x, tol=tol, max_iter=max_iter, monitor=monitor, shift=float(shift))
    found = certify_equilibrium(B, run, tol, float(shift), kappa, algorithm)
    if found.status is not Status.CONVERGED and found.status not in HALTING:
        try_this = "algorithm='inimdyn'" if algorithm == "replicator" else "another start"
        warn(
            f"{algorithm} did not settle in {run.n_iter:,} iterations (gap {found.gap:.2g}): on asymmetric "
            f"similarities it may go in circles, and there may be nothing stable; try {try_this}."
        )
    return found


class _At:
    """What can be computed from the weights of a point; the form of the proof that it stands for an ESS."""

    def __init__(self, B: Floats, x: Floats, kappa: float) -> None:
        self.B, self.x, self.scale, self.kappa = B, x / x.sum(), kappa, np.ones(len(x))
        self.members = np.flatnonzero(x)
        weights = self.x[self.members]
        self.r = B[:, self.members] @ weights
        self.f = float(weights @ self.r[self.members])
        self.error = EPS * (2 * self.members.size + 4) * (np.abs(B[:, self.members]) @ weights)
        self.gap = max(0.0, float(self.r.max()) - self.f)
        self.unit = max(0.0, kappa * float(weights @ weights))

    def settled(self, tol: float) -> bool:
        """Whether it is an equilibrium within tolerance."""
        return self.gap <= max(tol * self.unit, float(self.error.max()))

    def curvature(self, R: Ints) -> tuple[float, float]:
        C = self.B[np.ix_(R, R)]
        return curvature_on_face(0.5 * (C + C.T), EPS)

    def bend(self, R: Ints) -> float:
        return 0.0

    def reach(self, R: Ints, distance: float) -> Floats:
        rows = self.B[:, R]  # the sum of z is 0, so that means do not count
        return np.asarray(distance * np.linalg.norm(rows - rows.mean(axis=1, keepdims=True), axis=1))


def certify_equilibrium(
    B: Floats, run: Run, tol: float, shift: float, kappa: float, algorithm: str
) -> Equilibrium:
    """What can be said of a point, recomputed from its weights alone; of an equilibrium they are refined."""
    at, status = _At(B, run.x, kappa), run.status
    stable: bool | None = None
    undecided = ties = np.empty(0, dtype=np.int64)
    settled = at.settled(tol)
    if status not in HALTING and settled:
        status = Status.CONVERGED
    elif status is Status.CONVERGED:
        status = Status.STALLED
    for candidate in _candidates(at, tol) if settled else ():
        at, ties = candidate, np.empty(0, dtype=np.int64)
        exact = equilibrium_in_rationals(B, at.members)
        if exact is not None and exact.stable:
            x = np.zeros(len(B))
            x[exact.support] = exact.weights
            at, stable, ties = _At(B, x, kappa), True, exact.ties
            break
        stable, undecided = strict_nearby(at, at.x, at.r, at.error)
        if stable:
            break
        if exact is not None and exact.support.size == at.members.size:
            stable, ties = exact.stable, exact.ties
    level = np.flatnonzero(np.abs(at.r - at.f) <= 2.0 * at.gap + at.error)
    extended = np.union1d(np.union1d(at.members, level), np.union1d(ties, undecided))
    margin = at.f - float(np.delete(at.r, at.members).max(initial=-np.inf))
    return Equilibrium(
        at.members, at.x[at.members], at.f + shift, at.gap, margin, extended, stable, run.n_iter, status,
        shift, algorithm, at.unit, undecided,
    )  # fmt: skip


def _candidates(at: _At, tol: float) -> Iterator[_At]:
    """Equilibria near a point, with refined weights; the point itself where there is none.

    First without members of very small weight, then with all of them, then with objects that still gain: the
    dynamics ends before they join where they gain less than the tolerance.
    """
    last = at
    for support in (np.flatnonzero(at.x > np.sqrt(tol) * at.x.max()), at.members, None):
        if support is None:
            support = np.union1d(last.members, np.flatnonzero(last.r > last.f + last.error))
        x = _refined(at.B, support, at.x)
        if x is not None and (one := _At(at.B, x, at.scale)).settled(tol):
            last = one
            yield one
    if last is at:
        yield at


def _refined(B: Floats, support: Ints, x: Floats) -> Floats | None:
    """Weights with level payoffs on a support near x, without the objects that would have none.

    On the way from x to the solution these come to 0. Objects that are about to leave do so at once: all up
    to the square root of the share of the way at which the first does.
    """
    while support.size:
        size = support.size
        system = np.zeros((size + 1, size + 1))
        system[:size, :size] = B[np.ix_(support, support)]
        system[:size, size], system[size, :size] = -1.0, 1.0
        try:
            y = np.linalg.solve(system, np.eye(size + 1)[size])[:size]
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(y).all():
            return None
        leaving = y <= size * EPS
        if not leaving.any():
            out = np.zeros(len(B))
            out[support] = y
            return out
        before = x[support]
        way = np.maximum(before - y, np.maximum(EPS * before, UNDERFLOW))
        share = np.where(leaving, before / way, np.inf)
        first = float(share.min())
        support = support[share > max(first, first**0.5)]
    return None


def payoffs_of(A: Any) -> Floats:
    """A new dense array of similarities with a zero diagonal, refused where they are none."""
    if sp.issparse(A):
        n = A.shape[0]
        require_memory(8 * n * n, f"a dense {n:,} × {n:,} similarity", "take fewer objects")
        A = A.toarray()
    B = np.array(A, dtype=np.float64)
    if B.ndim != 2 or B.shape[0] != B.shape[1] or B.shape[0] == 0:
        raise ValueError(f"a similarity must be square and not empty, got shape {B.shape}.")
    if not np.isfinite(B).all():
        raise ValueError("the similarity has NaN or infinite entries; use 0 for pairs that are not known.")
    if B.min() < 0:
        raise ValueError(
            f"the similarity has negative entries, down to {B.min():.6g}; add a constant to the off-diagonal "
            "entries, or pass a distance D as max(D) - D."
        )
    n_self = np.count_nonzero(B.diagonal())
    if n_self:
        warn(
            f"{n_self} of {len(B)} diagonal entries of the similarity are not zero; they are taken as zero "
            "(an object is not its own neighbour)."
        )
    B[np.diag_indices_from(B)] = 0.0
    return B


def _start(start: Any, B: Floats) -> Floats:
    """The weights that a start means."""
    n = len(B)
    if isinstance(start, str):
        if start == "barycenter":
            return np.full(n, 1.0 / n)
        start = int(B.sum(axis=1).argmax())
    if np.ndim(start) == 0:
        x = np.zeros(n)
        x[int(start)] = 1.0
        return x
    weights = weights_of(start, n)
    return np.asarray(weights / weights.sum())
