"""Many climbs in the dual at once: the rules of climb.py, a row for each start.

Every start has its own point, trust region and stretch; they share the passes. Those that are done leave.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dominantsets import _rows
from dominantsets._threads import each, split
from dominantsets.similarity.base import Floats
from dominantsets.similarity.tiles import Tiles
from dominantsets.solvers.batch import Batch, Trial
from dominantsets.solvers.certificate import EPS
from dominantsets.solvers.climb import PATIENCE
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.result import Status

RAISES = 50  # trials of a multiple of I that shortens a step


class Reached(NamedTuple):
    """Where climbs ended, start after start."""

    starts: list[int]  # whose they are
    W: Tensor
    tiles: Tiles
    weights: Tensor
    passes: list[int]
    statuses: list[Status]


class _Points(NamedTuple):
    """The accepted points of the climbs that are still going on, and how far each dares to step."""

    number: Tensor  # of the start
    w: Tensor
    tau: Tensor
    image: Tensor
    f: Tensor
    mean: Tensor
    length: Tensor  # of the residual
    radius: Tensor
    stretch: Tensor
    stale: Tensor
    passes: Tensor
    refused: Tensor  # whether Newton's step was: the safe one is next
    jacobian: Tensor | None

    def only(self, which: Tensor) -> _Points:
        kept: dict[str, Tensor] = {
            name: part[which] for name, part in self._asdict().items() if part is not None
        }
        return self._replace(**kept)


def climb_together(batch: Batch, W: Tensor, *, tol: float, max_iter: int, monitor: Monitor) -> list[Reached]:
    """Climb from every row of W until each is done; Ctrl-C and the clock are seen between passes."""
    shift, done = batch.shift, []
    trial = batch.at(W)
    points = _first(W, trial)
    newest = torch.ones(len(W), dtype=torch.bool, device=W.device)  # whose accepted point is in `trial`
    halt: Status | None = None
    while True:
        try:
            scale = torch.maximum(points.f, points.f + shift)
            bound = 2.0 * batch.reach * points.length
            rounding = _rounding(batch, points)
            settled = bound <= torch.maximum(tol * scale, rounding)
            stalled = points.stale >= PATIENCE
            spent = points.passes >= max_iter
            over = settled | stalled | spent
            if bool(over.any()):
                statuses = [
                    Status.CONVERGED if a else Status.STALLED if b else Status.MAX_ITER
                    for a, b in zip(settled[over].tolist(), stalled[over].tolist(), strict=True)
                ]
                done += _harvest(batch, points, trial, newest, over, statuses)
                if bool(over.all()):
                    break
                points = points.only(~over)
                rounding = rounding[~over]
            best = int(points.f.argmax())
            halt = monitor.look_up(
                int(points.passes[best]), float(points.f[best]) + shift,
                2.0 * batch.reach * float(points.length[best]), 0,
            )  # fmt: skip
            if halt is not None:
                break
            step, stride = _steps(batch, points)
            target = torch.where(points.refused[:, None], points.image, points.w + step)
            level = points.tau + torch.linalg.vecdot(points.mean, target - points.w)
            level = level - 1e-12 * (level.abs() + points.tau.abs())
            batch.clock.add("newton")
            trial = batch.at(target, level)
            points, newest = _judge(points, target, trial, stride, rounding)
            batch.clock.add("newton")
        except KeyboardInterrupt:  # what each has accepted is whole
            halt = Status.INTERRUPTED
            break
    if halt is not None:
        every = torch.ones(len(points.number), dtype=torch.bool, device=W.device)
        done += _harvest(batch, points, None, every, every, [halt] * len(points.number))
    return done


def _first(W: Tensor, trial: Trial) -> _Points:
    length = (trial.image - W).norm(dim=1)
    s, device = len(W), W.device
    return _Points(
        number=torch.arange(s, device=device),
        w=W,
        tau=trial.tau,
        image=trial.image,
        f=trial.f,
        mean=trial.mean,
        length=length,
        radius=2.0 * length,
        stretch=torch.ones_like(length),
        stale=torch.zeros(s, dtype=torch.int64, device=device),
        passes=torch.ones(s, dtype=torch.int64, device=device),
        refused=torch.zeros(s, dtype=torch.bool, device=device),
        jacobian=trial.jacobian,
    )


def _rounding(batch: Batch, points: _Points) -> Tensor:
    """What f may lose by rounding alone."""
    size = batch.reach * points.w.norm(dim=1)
    return 4 * EPS * torch.maximum(points.f.abs(), size).clamp_min(abs(batch.shift))


def _judge(
    points: _Points, target: Tensor, trial: Trial, stride: Tensor, rounding: Tensor
) -> tuple[_Points, Tensor]:
    """The rule of ``_rows.judge`` for every start, and which of them have moved."""
    length = (trial.image - target).norm(dim=1)
    risen = trial.f > points.f + rounding
    accepted = risen | ((trial.f >= points.f - rounding) & (length < points.length))
    newton = ~points.refused
    moved = accepted | points.refused  # a safe step is always taken
    radius = torch.where(newton & accepted & (stride > 0.9 * points.radius), 4.0 * stride, points.radius)
    radius = torch.where(newton & ~accepted, 0.25 * stride, radius)
    stretch = torch.where(length < 0.5 * points.length, 1.0, (2.0 * points.stretch).clamp_max(_rows.STRETCH))
    stretch = torch.where(accepted, stretch, 1.0)
    stretch = torch.where(newton, stretch, points.stretch)
    progress = risen | (length < points.length)
    stale = torch.where(moved, torch.where(progress, 0, points.stale + 1), points.stale)

    def now(new: Tensor, old: Tensor) -> Tensor:
        return torch.where(moved.view(-1, *[1] * (new.ndim - 1)), new, old)

    jacobian = None
    if trial.jacobian is not None and points.jacobian is not None:
        jacobian = trial.jacobian if bool(moved.all()) else now(trial.jacobian, points.jacobian)
    judged = _Points(
        number=points.number,
        w=now(target, points.w),
        tau=now(trial.tau, points.tau),
        image=now(trial.image, points.image),
        f=now(trial.f, points.f),
        mean=now(trial.mean, points.mean),
        length=now(length, points.length),
        radius=radius,
        stretch=stretch,
        stale=stale,
        passes=points.passes + 1,
        refused=newton & ~accepted,
        jacobian=jacobian,
    )
    return judged, moved


def _harvest(
    batch: Batch,
    points: _Points,
    trial: Trial | None,
    newest: Tensor,
    over: Tensor,
    statuses: list[Status],
) -> list[Reached]:
    """Supports and weights of climbs that are over: those of the last trial, or made once more."""
    out = []
    status = dict(zip(torch.nonzero(over).view(-1).tolist(), statuses, strict=True))
    for which, known in ((over & newest, trial), (over & ~newest, None)):
        rows = torch.nonzero(which).view(-1)
        if not len(rows):
            continue
        W = points.w[rows]
        if known is None:
            mean_level = points.tau[rows] - 1e-9 * points.tau[rows].abs()
            known = batch.at(W, mean_level)
            members = known.weights > 0
        else:
            members = (known.weights > 0) & which[known.tiles.owner][:, None]
        objects, counts = known.tiles.chosen(members)
        tiles = Tiles(objects, counts if len(counts) == len(rows) else counts[which.cpu().numpy()])
        weights = torch.zeros(tiles.valid.shape, dtype=torch.float64, device=W.device)
        weights[tiles.valid] = known.weights[members]
        numbers = rows.tolist()
        out.append(
            Reached(
                points.number[rows].tolist(),
                W,
                tiles,
                weights,
                points.passes[rows].tolist(),
                [status[k] for k in numbers],
            )
        )
    return out


def _steps(batch: Batch, points: _Points) -> tuple[Tensor, Tensor]:
    """Newton's steps, stretched, and their lengths."""
    residual = points.image - points.w
    step = residual
    if points.jacobian is not None:
        step = newton_steps(points.jacobian, residual, torch.maximum(points.radius, points.length))
    step = step * points.stretch[:, None]
    return step, step.norm(dim=1)


def newton_steps(J: Tensor, g: Tensor, radius: Tensor) -> Tensor:
    """Solve (I - J) step = g within a ball, for every start: as ``_rows.newton`` does for one.

    Where the solution is longer than the radius a multiple of I is added until it is not; where I - J is
    indefinite its eigenvalues are taken by their size.
    """
    d = J.shape[1]
    eye = torch.eye(d, dtype=J.dtype, device=J.device)
    factor, info = torch.linalg.cholesky_ex(eye - J)
    definite = info == 0
    step = torch.cholesky_solve(g[..., None], factor)[..., 0]
    length = step.norm(dim=1)
    long = definite & ~(length <= 1.01 * radius)  # also where the solution is not finite
    if bool(long.any()):
        raised = torch.zeros_like(radius)
        rows = torch.nonzero(long).view(-1)
        for _ in range(RAISES):
            short = length[rows]
            turned = torch.linalg.solve_triangular(factor[rows], step[rows][..., None], upper=False)
            raised[rows] += short**2 / turned.square().sum((1, 2)) * (short / radius[rows] - 1.0)
            factor[rows] = torch.linalg.cholesky_ex((1.0 + raised[rows])[:, None, None] * eye - J[rows]).L
            step[rows] = torch.cholesky_solve(g[rows][..., None], factor[rows])[..., 0]
            length[rows] = step[rows].norm(dim=1)
            rows = rows[~(length[rows] <= 1.01 * radius[rows])]
            if not len(rows):
                break
    shrink = torch.where(length > radius, radius / length.clamp_min(1e-300), 1.0)
    step = step * shrink[:, None]
    failed = ~definite | ~torch.isfinite(step).all(1)
    if bool(failed.any()):
        bent = torch.nonzero(failed).view(-1)
        bows = _bent(J[bent].cpu().numpy(), g[bent].cpu().numpy(), radius[bent].cpu().numpy())
        step[bent] = torch.from_numpy(bows).to(J.device)
    return step


def _bent(J: Floats, g: Floats, radius: Floats) -> Floats:
    """Steps by eigenvalues, on the host: devices are slow at many small eigenproblems."""
    out = np.empty_like(g)

    def work(part: slice) -> None:
        for k in range(part.start, part.stop):
            out[k] = _rows.bent(J[k], g[k], float(radius[k]))

    each(work, split(len(g), 1))
    return out
