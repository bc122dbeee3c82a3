"""What can be proved of an answer, recomputed from the answer alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.similarity.faces import EPS as EPS
from dominantsets.solvers.ess import equilibrium_in_rationals
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Outcome, Point, Problem, Recomputed
from dominantsets.solvers.result import DominantSet, Status

STATIONARY = 1e-3  # largest gap, in units of the cluster, from which a proof is tried
NOTHING = np.empty(0, dtype=np.int64)
# what a solver's claim becomes where the recomputed gap is above tolerance
_CLAIMS = {
    Status.CONVERGED: Status.STALLED,
    Status.STALLED: Status.STALLED,
    Status.STEADY: Status.STEADY,
}


class Verdict(NamedTuple):
    """Whether a point stands for a strict maximum, and the objects that rounding leaves open.

    ``size`` is the number of objects on which f was shown to be concave.
    """

    strict: bool | None
    undecided: Ints = NOTHING
    size: int = 0


def tolerance(tol: float, unit: float, f: float, shift: float, m: int = 0) -> float:
    """The gap at which a solver stops, and up to which a point of m members counts as converged.

    That is tol units, or what rounding may leave of a gap: a difference of sums of m terms, of the size of f
    or the shift.
    """
    return max(tol * unit, 4.0 * EPS * (1.0 + m) * max(abs(f), abs(f + shift), abs(shift)))


def certify(
    problem: Problem, outcome: Outcome, options: SolverOptions, recomputed: Recomputed | None = None
) -> DominantSet:
    """Turn what a solver reached into a cluster, with everything that can be said about it.

    Nothing is taken over from the solver but the weights, a bound of J's eigenvalues on their support (which
    is a function of the support), and what the theorem of a tree says. A status about the gap is set anew.
    """
    members, weights = outcome.x
    weights = weights / weights.sum()
    x = Point(members, weights)
    problem = problem.in_component_of(x)
    status = outcome.status
    seen = problem.recomputed(x) if recomputed is None else recomputed
    gap = max(0.0, seen.high - seen.f, seen.outside - seen.f)
    if status in _CLAIMS:
        allowed = tolerance(options.tol, seen.unit, seen.f, problem.shift, members.size)
        status = Status.CONVERGED if gap <= allowed else _CLAIMS[status]
    verdict = judge(problem, x, outcome, seen)
    # where f is concave its tangent bounds it: f(y) - f(x) <= 2 r'(y - x)
    whole = bool(verdict.strict) and problem.is_everything(verdict.size)
    center, radius = seen.ball or (None, None)
    return DominantSet(
        members=members,
        weights=weights,
        value=seen.f + problem.shift,
        gap=gap,
        margin=seen.f - seen.outside,
        strict=verdict.strict,
        n_iter=outcome.n_iter,
        status=status,
        trace=outcome.trace,
        shift=problem.shift,
        algorithm=options.algorithm,
        center=center,
        radius=radius,
        global_gap=2.0 * (gap + problem.payoff_error(x)) if outcome.best or whole else None,
        unit=seen.unit,
        undecided=verdict.undecided,
        rounding=problem.enclosure(x),
    )


def judge(problem: Problem, x: Point, outcome: Outcome, seen: Recomputed) -> Verdict:
    """Whether x stands for a strict maximum: Proposition 4 of docs/theory-dual.md.

    First of its members alone. Where an outsider is so close that it may belong to the maximum, it and others
    like it are taken in, and the maximum on all of them is looked at.
    """
    f, low, high, outside, unit, ball = seen
    members = x.support
    error = problem.payoff_error(x)
    if outcome.weak:
        return Verdict(False)
    if outcome.face:  # of a tree, whose outsiders have the same payoff wherever x is on the face
        return Verdict(True if f - outside > 2.0 * error else None)
    if max(high - f, outside - f, f - low) > STATIONARY * unit:
        return Verdict(None)
    spread = high - low + 2.0 * error
    radius = None if ball is None else float(np.sqrt(ball[1] ** 2 + spread))
    room = problem.room_of(members) if outcome.room is None else outcome.room
    face = problem.face_of(members, room, radius, f - outside)
    if not face.concave:
        return Verdict(face.concave)
    needed = spread + spread * face.outside
    if f - outside > needed:
        return _verdict(x, members, spread * face.weights)
    if f - outside < -needed and np.all(x.weights > spread * face.weights):
        return Verdict(False)  # the face has its maximum here, and an outsider gains there
    ties = problem.near(x, f - 2.0 * needed)
    if ties is None or not 0 < ties.size <= members.size:  # 0: the bound is infinite
        return Verdict(None)
    return _with_ties(problem, x, seen, ties, error)


def _with_ties(problem: Problem, x: Point, seen: Recomputed, ties: Ints, error: float) -> Verdict:
    """As ``judge``, of members and some outsiders that may be members too."""
    f, low, high, outside, _, ball = seen
    among = np.union1d(x.support, ties)
    payoffs = problem.payoffs(x)
    beyond = payoffs.largest_outside(among)
    spread = max(high, outside) - low + 2.0 * error
    lowest = float(payoffs.of(ties).min())
    radius = None if ball is None else float(np.sqrt(ball[1] ** 2 + spread + max(0.0, f - lowest)))
    face = problem.face_of(among, problem.room_of(among), radius, f - beyond)
    if face.concave and f - beyond > spread + spread * face.outside:
        return _verdict(x, among, spread * face.weights)
    return _in_rationals(problem, x, among, f - beyond - 2.0 * error)


def _in_rationals(problem: Problem, x: Point, among: Ints, clear: float) -> Verdict:
    """Where similarities are given, so that a tie is a tie: strictly copositive or not, in rationals.

    ``clear`` is how far the payoffs of all other objects are below f, beyond rounding.
    """
    similarity = problem.similarity
    if problem.extra is not None or (similarity.stored is None and not similarity.is_sparse):
        return Verdict(None)
    B: Floats = similarity.block(among, among)
    B[np.diag_indices_from(B)] = -problem.shift
    places = np.searchsorted(among, x.support)
    exact = equilibrium_in_rationals(B, places)
    if exact is None or exact.stable is None:
        return Verdict(None)
    if not exact.stable:
        return Verdict(False if np.array_equal(exact.support, places) else None)
    off = np.zeros(among.size)
    off[places] = x.weights
    off[exact.support] -= exact.weights
    moved = float(np.abs(off).sum())
    if moved >= 0.5 or moved * problem.bounds.magnitude >= clear:
        return Verdict(None)
    return Verdict(True, among[np.setdiff1d(places, exact.support)])


def _verdict(x: Point, among: Ints, moved: Floats) -> Verdict:
    """A strict maximum, with those undecided for which 0 is within reach.

    None where these have half of the weight: such a maximum is proved, but it may be far from x.
    """
    weights = x.weights
    if among.size > weights.size:
        weights = np.zeros(among.size)
        weights[np.searchsorted(among, x.support)] = x.weights
    doubtful = weights <= moved
    if float(weights[doubtful].sum()) >= 0.5:
        return Verdict(None)
    return Verdict(True, among[doubtful], among.size)


def beyond_rounding(margin: float, f: float, gap: float, shift: float) -> bool:
    """Whether a margin is positive, however payoffs were rounded and whatever the gap leaves open."""
    return margin > max(gap, 8 * EPS * max(abs(f), abs(f + shift), abs(shift)))
