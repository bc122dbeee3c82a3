r"""Many starts of the dual in one pass: a matrix product instead of as many products with a vector.

For s starts the pass is :math:`S = U W^T + b` (n × s), a threshold for each column, and
:math:`x = \max(0, S - \tau) / \kappa`. S is made in blocks of rows and never kept as a whole beyond a budget.
The thresholds need two sweeps over it: the first bounds each tau from below by g(C) of what lies above the
tau of the last pass (any set C bounds it), the second collects what lies above that bound, which is little
more than the support; the rest is sparse work.

``batch_pass`` is plain array code: what it calls exists under the same name in NumPy and in torch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dominantsets.similarity import LowRank
from dominantsets.similarity.base import Floats
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.climb import Climb
from dominantsets.solvers.dual import SMALL, Dual, DualPoint
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
        block = block - rows.center @ W.T
    block = block * rows.factor
    if rows.scale is not None:
        block = block * rows.scale[begin:end, None]
    if rows.bias is not None:
        block = block + rows.bias[begin:end, None]
    block[~rows.alive[begin:end]] = -np.inf
    return block


def applies(problem: Problem) -> bool:
    """Whether many starts are better solved together: dense low-rank features, and not a few."""
    rows = problem.similarity.rows if isinstance(problem.similarity, LowRank) else None
    return rows is not None and not rows.sparse and rows.n * rows.d > SMALL


def batch_pass(xp: Any, rows: Rows, W: Any, guess: Any) -> Found:
    """x(w) for every row w of W; ``guess`` holds a tau for each, good or bad (-inf where there is none)."""
    n, s = rows.X.shape[0], W.shape[0]
    height = max(1, BLOCK_VALUES // s)
    keep = n * s <= KEPT_VALUES
    kept = []
    total, mass = xp.zeros_like(guess) - 1.0, xp.zeros_like(guess)
    low = xp.zeros_like(guess) - np.inf
    for begin in range(0, n, height):
        block = values_of(rows, W, begin, begin + height)
        inverse = rows.inverse[begin : begin + height, None]
        low = xp.maximum(low, xp.amax(block - 1.0 / inverse, 0))
        above = block > guess
        mass = mass + (above * inverse).sum(0)
        total = total + (xp.where(above, block, xp.zeros_like(block)) * inverse).sum(0)
        if keep:
            kept.append(block)
    low = xp.where(mass > 0, xp.maximum(low, total / xp.where(mass > 0, mass, mass + 1.0)), low)
    objects: Any = []
    starts: Any = []
    values: Any = []
    for number, begin in enumerate(range(0, n, height)):
        block = kept[number] if keep else values_of(rows, W, begin, begin + height)
        place, start = xp.where(block > low)
        objects.append(place + begin)
        starts.append(start)
        values.append(block[place, start])
    objects, starts, values = (xp.concatenate(part) for part in (objects, starts, values))
    return _threshold(xp, objects, starts, values, rows.inverse, s)


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
