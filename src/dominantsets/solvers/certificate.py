"""What can be proved of an answer, recomputed from the answer alone."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dominantsets._typing import Floats
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Outcome, Point, Recomputed
from dominantsets.solvers.result import DominantSet, Status

STRICT_LIMIT = 500  # members up to which the second-order test is made (it costs their cube)
EPS = float(np.finfo(np.float64).eps)
STATIONARY = 1e-6  # how far members' payoffs may lie from f, relative, for it to mean anything
LEVEL = 1e-12  # how far they may lie apart, relative, where a solver's word on the face is taken
HELD = 1e-9  # of the largest weight, that each member then has
# what a solver's claim becomes where the recomputed gap is above tolerance
_CLAIMS = {
    Status.CONVERGED: Status.STALLED,
    Status.STALLED: Status.STALLED,
    Status.STEADY: Status.STEADY,
}


def scale_of(f: float, shift: float) -> float:
    """The unit of a relative gap: max(f, f + shift), local to the cluster."""
    return max(f, f + shift)


class Certifiable(Protocol):
    """What a certificate asks: of a similarity's problem, or of a hypergraph."""

    shift: float

    def in_component_of(self, x: Point) -> Certifiable:
        """The same, kept to the component in which x has most of its mass."""

    def recomputed(self, x: Point) -> Recomputed:
        """f, and the payoffs inside and outside, from the weights alone."""

    def from_face_maximum(self, x: Point) -> float:
        """How far the maximum on the face of x is from it, in units of the weights; inf: there is none."""

    def is_everybody(self, x: Point) -> bool:
        """Whether all objects are members and f is quadratic: a strict maximum is then the only one."""


def certify(
    problem: Certifiable, outcome: Outcome, options: SolverOptions, recomputed: Recomputed | None = None
) -> DominantSet:
    """Turn what a solver reached into a cluster, with everything that can be said about it.

    A status that speaks of the gap is set anew from the recomputed one, so that none rests on a number
    that has drifted. What a solver knows of the face (``face``: the Hessian is negative definite there) is
    not tested again; whether the margin is positive always is.
    """
    members, weights = outcome.x
    weights = weights / weights.sum()
    x = Point(members, weights)
    problem = problem.in_component_of(x)
    status, face = outcome.status, outcome.face
    strict: bool | None = False if outcome.weak else None
    f, low, high, outside, unit, ball = problem.recomputed(x) if recomputed is None else recomputed
    gap = max(0.0, high - f, outside - f)
    margin = f - outside
    scale = scale_of(f, problem.shift)
    if status in _CLAIMS:
        status = Status.CONVERGED if gap <= options.tol * scale else _CLAIMS[status]
    if strict is None and stationary(f, low, high, outside, problem.shift):
        if face is False or not undecided(f, low, high, outside, problem.shift):
            strict = False
        elif face and settled(f, low, high, outside, problem.shift, weights):
            strict = True
        elif members.size <= STRICT_LIMIT:
            strict = proved(problem.from_face_maximum(x), f, gap, outside, problem.shift)
    # where f is concave its tangent bounds it: f(y) - f(x) <= 2 r'(y - x)
    whole = bool(strict) and problem.is_everybody(x)
    center, radius = ball or (None, None)
    return DominantSet(
        members=members,
        weights=weights,
        value=f + problem.shift,
        gap=gap,
        margin=margin,
        strict=strict,
        n_iter=outcome.n_iter,
        status=status,
        trace=outcome.trace,
        shift=problem.shift,
        algorithm=options.algorithm,
        center=center,
        radius=radius,
        global_gap=2.0 * gap if outcome.best or whole else None,
        unit=unit,
    )


def stationary(f: float, low: float, high: float, outside: float, shift: float) -> bool:
    """Whether payoffs are level on both sides: a member that is about to leave has one far below f."""
    gap = max(0.0, high - f, outside - f)
    return max(gap, f - low) <= max(0.0, STATIONARY * scale_of(f, shift))


def undecided(f: float, low: float, high: float, outside: float, shift: float) -> bool:
    """Whether only the second-order test can tell if the maximum is strict."""
    gap = max(0.0, high - f, outside - f)
    return stationary(f, low, high, outside, shift) and beyond_rounding(f - outside, f, gap, shift)


def settled(f: float, low: float, high: float, outside: float, shift: float, weights: Floats) -> bool:
    """Whether x is so near the maximum of its face that support and margin are those of the maximum."""
    scale = scale_of(f, shift)
    level, clear = high - low <= LEVEL * scale, f - outside > STATIONARY * scale
    return level and clear and bool(weights.min() > HELD * weights.max())


def proved(distance: float, f: float, gap: float, outside: float, shift: float) -> bool | None:
    r"""Whether the maximum on the face, at a distance, is a strict one of the simplex; None: that is open.

    No similarity is negative, so where no weight changes by more than a share :math:`\rho < 1/2` of itself,
    the members stay the same and an outsider's payoff grows by no more than that share; f does not fall.
    """
    if distance == np.inf:
        return False
    margin = f - outside - distance * max(outside, 0.0)
    return True if distance < 0.5 and beyond_rounding(margin, f, gap, shift) else None


def beyond_rounding(margin: float, f: float, gap: float, shift: float) -> bool:
    """Whether a margin is positive, however payoffs were rounded and whatever the gap leaves open."""
    return margin > max(gap, 8 * EPS * max(abs(scale_of(f, shift)), abs(shift)))
