r"""Many starts of the dual in one pass: a matrix product instead of as many products with a vector.

For s starts the pass is :math:`S = U W^T + b` (n × s), a threshold for each column, and
:math:`x = \max(0, S - \tau) / \kappa`. S is made in blocks of rows and never kept as a whole beyond a budget.
The thresholds need one or two sweeps over it: what lies above the tau of the last pass bounds the new one
from below by g(C) (any set C does); only where that bound is lower a second sweep collects the rest. What is
above is little more than the support, and the rest is sparse work.

On a CPU this is slower than the compiled passes of single starts (docs/decisions.md), which multi-start
therefore uses; it is the form for devices where a product is cheap. ``batch_pass`` is plain array code: what
it calls exists under the same name in NumPy and in torch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dominantsets.similarity.base import Floats
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.climb import Climb
from dominantsets.solvers.dual import Dual, DualPoint
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.problem import Point, Problem
from dominantsets.solvers.result import DominantSet, Status

BLOCK_VALUES = 2**21  # entries of S that are made at once (16 MB)
KEPT_VALUES = 2**24  # entries of S up to which all blocks are kept for the second sweep (128 MB)


class Rows(NamedTuple):
    """Features of a pass: u = factor scale (X - center), in blocks of rows; what is None is nothing."""

    X: Any
    center: Any
    scale: Any
    bias: Any
    inverse: Any  # 1 / kappa
    alive: Any
    factor: float


class Found(NamedTuple):
    """x(w) of every start, one after another: which object, which start, which weight."""

    tau: Any
    objects: Any
    starts: Any
    weights: Any


def values_of(rows: Rows, W: Any, begin: int, end: int) -> Any:
    """A block of S: rows begin to end, a column for each start; the dead have the value -inf."""
    block = rows.X[begin:end] @ W.T
    if rows.center is not None:
        block -= rows.center @ W.T
    block *= rows.factor
    if rows.scale is not None:
        block *= rows.scale[begin:end, None]
    if rows.bias is not None:
        block += rows.bias[begin:end, None]
    here = rows.alive[begin:end]
    if not bool(here.all()):
        block[~here] = -np.inf
    return block


def batch_pass(xp: Any, rows: Rows, W: Any, guess: Any) -> Found:
    """x(w) for every row w of W; ``guess`` holds a tau for each, good or bad (-inf where there is none)."""
    n, s = rows.X.shape[0], W.shape[0]
    height = max(1, BLOCK_VALUES // s)
    begins = range(0, n, height)
    kept = [values_of(rows, W, b, b + height) for b in begins] if n * s <= KEPT_VALUES else None

    def blocks() -> Any:
        for number, begin in enumerate(begins):
            yield begin, values_of(rows, W, begin, begin + height) if kept is None else kept[number]

    def lowest() -> Any:
        """tau is at least the largest value minus the largest kappa."""
        top = xp.zeros_like(guess) - np.inf
        for _, block in blocks():
            top = xp.maximum(top, xp.amax(block, 0))
        return top - 1.0 / rows.inverse.min()

    level = guess if bool(xp.isfinite(guess).all()) else xp.where(xp.isfinite(guess), guess, lowest())
    found = _above(xp, blocks(), level)
    bound = _bound(xp, *found, rows.inverse, s)
    if not bool(xp.isfinite(bound).all()):  # a level above everybody bounds nothing
        bound = xp.where(xp.isfinite(bound), bound, lowest())
    if bool((bound < level).any()):  # somebody between the two was left out
        found = _above(xp, blocks(), xp.minimum(level, bound))
    return _threshold(xp, *found, rows.inverse, s)


def _bound(xp: Any, objects: Any, starts: Any, values: Any, inverse: Any, s: int) -> Any:
    """g(C) of each start's objects, -inf where there are none."""
    share = inverse[objects]
    mass = xp.bincount(starts, share, s)
    some = mass > 0
    bound = (xp.bincount(starts, share * values, s) - 1.0) / xp.where(some, mass, mass + 1.0)
    return xp.where(some, bound, bound * 0.0 - np.inf)


def _above(xp: Any, blocks: Any, level: Any) -> tuple[Any, Any, Any]:
    """Objects, starts and values above each start's level."""
    objects, starts, values = [], [], []
    for begin, block in blocks:
        place, start = xp.where(block > level)
        objects.append(place + begin)
        starts.append(start)
        values.append(block[place, start])
    return xp.concatenate(objects), xp.concatenate(starts), xp.concatenate(values)


def _threshold(xp: Any, objects: Any, starts: Any, values: Any, inverse: Any, s: int) -> Found:
    """Narrow the candidates until none lies below the tau of the rest of its start."""
    while True:
        share = inverse[objects]
        mass = xp.bincount(starts, share, s)
        tau = (xp.bincount(starts, share * values, s) - 1.0) / mass
        above = values > tau[starts]
        # a candidate that equals tau has no weight; where rounding leaves none, that start's set stands
        none = xp.bincount(starts[above], share[above], s) <= 0
        above = above | none[starts]
        if bool(above.all()):
            break
        objects, starts, values = objects[above], starts[above], values[above]
    weights = xp.clip(values - tau[starts], 0.0, None) * inverse[objects]
    weights = weights / xp.bincount(starts, weights, s)[starts]
    return Found(tau, objects, starts, weights)


def rows_of(dual: Dual) -> Rows:
    """The features of a dual problem, for NumPy."""
    similarity = dual.similarity
    rows = similarity.rows
    return Rows(
        X=rows.plain,
        center=rows.pending,
        scale=rows.scale,
        bias=similarity.bias,
        inverse=dual.inverse,
        alive=dual.problem.alive,
        factor=dual.root,
    )


def points_of(dual: Dual, W: Floats, found: Found) -> list[DualPoint]:
    """What a climb wants to know of each start."""
    points = []
    order = np.argsort(found.starts, kind="stable")  # objects of a start stay in increasing order
    ends = np.searchsorted(found.starts[order], np.arange(len(W) + 1))
    bias, offset = dual.similarity.bias, dual.similarity.offset or 0.0
    for k, w in enumerate(W):
        chosen = order[ends[k] : ends[k + 1]]
        members, weights = found.objects[chosen], found.weights[chosen]
        image = dual.image(members, weights)
        f = float(image @ image) + offset - float(weights**2 @ (1.0 / dual.inverse[members]))
        if bias is not None:
            f += 2.0 * float(bias[members] @ weights)
        points.append(DualPoint(w, float(found.tau[k]), members, weights, image, f))
    return points


def solve_batch(
    problem: Problem,
    starts: list[Point],
    *,
    algorithm: str,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    trace: bool = False,
) -> list[DominantSet]:
    """All climbs together, a pass for all of them at a time; those that are done leave the batch."""
    dual = Dual(problem)
    climbs = [Climb(dual, start) for start in starts]
    ends: dict[int, Status] = {}
    halt: Status | None = None
    rows = rows_of(dual)
    try:
        while halt is None:
            for k, climb in enumerate(climbs):
                status = climb.finished(tol, max_iter) if k not in ends else None
                if status is not None:
                    ends[k] = status
            active = [k for k in range(len(climbs)) if k not in ends]
            if not active:
                break
            W = np.array([climbs[k].propose() for k in active])
            guess = np.array([-np.inf if (p := climbs[k].point) is None else p.tau for k in active])
            points = points_of(dual, W, batch_pass(np, rows, W, guess))
            for k, point in zip(active, points, strict=True):
                climbs[k].receive(point)
            first = climbs[active[0]]
            here = first.reached()
            halt = monitor.look_up(first.passes, here.f + problem.shift, first.bound, here.members.size)
    except KeyboardInterrupt:  # between two passes: what each has accepted is whole
        halt = Status.INTERRUPTED
    done = [k for k, climb in enumerate(climbs) if climb.point is not None]
    return [
        certify(
            problem,
            climbs[k].outcome(ends.get(k, halt or Status.MAX_ITER), trace),
            tol=tol,
            algorithm=algorithm,
        )
        for k in done
    ]
