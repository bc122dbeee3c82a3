"""Newton's method for many starts on a device at once: the rule of newton.py, a row for each start.

Every start has its own point, trust region and stretch; they share the passes. Those that are done leave. The
device makes the passes and, where they are large, Newton's systems; everything else is a few numbers per
start, which one copy per pass brings to the host: asking a device about each of them takes longer than the
work.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled import passes
from dominantsets.similarity.faces import EPS
from dominantsets.solvers.monitor import Monitor, Stopwatch
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.result import Status


class Together(Protocol):
    """What ascents ask of a dual; its trials and Newton's matrices are where it likes to have them."""

    reach: float  # length of the longest row
    trace: float  # of the scatter of all rows
    least: float  # what the formula has on the diagonal at least
    clock: Stopwatch

    def at_host(self, W: Floats, shift: Floats, level: Floats | None) -> Any:
        """x(w) for every row w; ``level`` holds lower bounds of tau, where they are known."""

    def told(self, trial: Any) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """tau, f, U'x, the mean row and the sum of 1 / kappa of every start."""

    def steps(self, J: Any, g: Floats, radius: Floats) -> Floats:
        """Newton's steps within a ball."""

    def chosen(self, J: Any, which: Ints) -> Any:
        """Newton's matrices of some starts."""

    def put_back(self, J: Any, before: Any, which: Ints) -> None:
        """Restore Newton's matrices of some starts."""

    def supports(self, trial: Any, which: Flags) -> tuple[Any, Ints, Any, Floats | None]:
        """Members of some starts of the last trial, their number, weights, and J where it is exact."""


class AscentResult(NamedTuple):
    """Where ascents ended, start after start; objects and weights are on the device."""

    starts: Ints  # the start of each ascent
    W: Floats
    shifts: Floats
    objects: Any  # the support of the first, then that of the second, ...
    counts: Ints
    weights: Any  # as the objects are
    jacobian: Floats | None  # Newton's matrices there, where they are exact and on the host
    passes: Ints
    statuses: list[Status]


class _Points(NamedTuple):
    """The accepted points of the ascents that are still going on, and how far each may step."""

    number: Ints  # of the start
    shift: Floats
    w: Floats
    tau: Floats
    f: Floats
    image: Floats
    mean: Floats
    mass: Floats
    length: Floats  # of the residual
    radius: Floats
    stretch: Floats
    stale: Ints
    records: Floats  # the highest f and the shortest residual of each
    passes: Ints
    refused: Flags  # whether Newton's step was refused: the safe one is next

    def only(self, which: Flags) -> _Points:
        return _Points._make(part[which] for part in self)


def ascend_together(
    dual: Together, W: Floats, shifts: Floats, options: SolverOptions, monitor: Monitor
) -> list[AscentResult]:
    """Climb from every row of W until each is done; Ctrl-C and the clock are checked between passes."""
    done, s = [], len(W)
    trial = dual.at_host(W, shifts, None)
    tau, f, image, mean, mass = dual.told(trial)
    length = np.linalg.norm(image - W, axis=1)
    points = _Points(
        np.arange(s), shifts, W, tau, f, image, mean, mass, length, 2.0 * length, np.ones(s),
        np.zeros(s, dtype=np.int64), np.column_stack([f, length]), np.ones(s, dtype=np.int64),
        np.zeros(s, dtype=bool),
    )  # fmt: skip
    jacobian, newest = trial.jacobian, np.ones(s, dtype=bool)  # where the accepted point is in `trial`
    halt: Status | None = None
    while True:
        bound = 2.0 * dual.reach * points.length
        rounding = _rounding(dual, points)
        kappa = dual.least + points.shift
        sizes = np.maximum(points.mass * kappa, 1.0)  # of the supports, or less
        settled = bound <= np.maximum(options.tol / points.mass, rounding * (1.0 + sizes))
        stalled = points.stale >= passes.PATIENCE
        over = settled | stalled | (points.passes >= options.max_iter)
        dual.clock.add("newton")
        if over.any():
            ends = np.where(settled, 0, np.where(stalled, 1, 2))
            statuses = [(Status.CONVERGED, Status.STALLED, Status.MAX_ITER)[end] for end in ends]
            done += _harvest(dual, points, trial, newest, over, statuses)
            dual.clock.add("supports kept")
            if over.all():
                return done
            points, rounding = points.only(~over), rounding[~over]
            if jacobian is not None:
                jacobian = dual.chosen(jacobian, np.flatnonzero(~over))
        best = int(points.f.argmax())
        value = float(points.f[best] + points.shift[best])
        halt = monitor.report(int(points.passes[best]), value, float(bound[~over][best]), 0)
        if halt is not None:
            break
        target, stride, level = _proposed(dual, points, jacobian)
        dual.clock.add("newton")
        trial = dual.at_host(target, points.shift, level)
        kappa = dual.least + points.shift  # of those that go on
        scatter = np.where(kappa > 0.0, np.maximum(dual.trace / np.abs(kappa), 1e-300), np.inf)
        points, newest = _received(points, target, dual.told(trial), stride, rounding, scatter)
        if trial.jacobian is not None and jacobian is not None and not newest.all():
            dual.put_back(trial.jacobian, jacobian, np.flatnonzero(~newest))
        jacobian = trial.jacobian
    every = np.ones(len(points.number), dtype=bool)
    return done + _harvest(dual, points, None, every, every, [halt] * len(every))


def _rounding(dual: Together, points: _Points) -> Floats:
    """What f may lose by rounding alone."""
    size = dual.reach * np.linalg.norm(points.w, axis=1)
    out: Floats = 4 * EPS * np.maximum(np.maximum(np.abs(points.f), size), np.abs(points.shift))
    return out


def _proposed(dual: Together, points: _Points, jacobian: Any) -> tuple[Floats, Floats, Floats]:
    """The next w of every start, how far Newton's step would go, and a lower bound of tau there."""
    step = points.image - points.w
    if jacobian is not None:
        step = dual.steps(jacobian, step, np.maximum(points.radius, points.length))
    step = step * points.stretch[:, None]
    target = np.where(points.refused[:, None], points.image, points.w + step)
    level = points.tau + np.einsum("kf,kf->k", points.mean, target - points.w)
    level -= 1e-12 * (np.abs(level) + np.abs(points.tau))
    return target, np.linalg.norm(step, axis=1), level


def _received(
    points: _Points, target: Floats, told: tuple[Floats, ...], stride: Floats,
    rounding: Floats, scatter: Floats,
) -> tuple[_Points, Flags]:  # fmt: skip
    """The rule of ``passes.accept_step`` for every start, and which of them have moved."""
    tau, f, image, mean, mass = told
    length = np.linalg.norm(image - target, axis=1)
    radius, stretch, stale = points.radius.copy(), points.stretch.copy(), points.stale.copy()
    records = points.records.copy()
    refused, moved = points.refused.copy(), np.empty(f.size, dtype=bool)
    passes.accept_steps(
        points.f, points.length, np.ascontiguousarray(f), length, rounding, scatter, stride, radius, stretch,
        stale, records, refused, moved,
    )  # fmt: skip

    def now(new: Floats, old: Floats) -> Floats:
        return np.where(moved.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return _Points(
        points.number, points.shift, now(target, points.w), now(tau, points.tau), now(f, points.f),
        now(image, points.image), now(mean, points.mean), now(mass, points.mass),
        now(length, points.length), radius, stretch, stale, records, points.passes + 1, refused,
    ), moved  # fmt: skip


def _harvest(
    dual: Together,
    points: _Points,
    trial: Any,
    newest: Flags,
    over: Flags,
    statuses: list[Any],
) -> list[AscentResult]:
    """Supports and weights of ascents that are over: those of the last trial, or made once more."""
    out = []
    for which, known in ((over & newest, trial), (over & ~newest, None)):
        rows = np.flatnonzero(which)
        if not rows.size:
            continue
        chosen = which
        if known is None:
            level = points.tau[rows] - 1e-9 * np.abs(points.tau[rows])
            known = dual.at_host(points.w[rows], points.shift[rows], level)
            chosen = np.ones(rows.size, dtype=bool)
        objects, counts, weights, jacobian = dual.supports(known, chosen)
        out.append(
            AscentResult(
                points.number[rows],
                points.w[rows],
                points.shift[rows],
                objects,
                counts,
                weights,
                jacobian,
                points.passes[rows],
                [statuses[k] for k in rows],
            )
        )
    return out
