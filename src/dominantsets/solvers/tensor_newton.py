"""Many climbs in the dual at once: the rules of climb.py, a row for each start.

Every start has its own point, trust region and stretch; they share the passes. Those that are done leave. The
device makes the passes and, where they are large, Newton's systems; everything else is a few numbers a start,
which one copy a pass brings to the host: asking a device about each of them takes longer than the work.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # comes with scikit-learn
from torch import Tensor

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.rows.tensors import host
from dominantsets.solvers.certificate import EPS
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.newton import PATIENCE
from dominantsets.solvers.result import Status
from dominantsets.solvers.tensor_dual import Batch, Trial

RAISES = 50  # trials of a multiple of I that shortens a step
ON_HOST = 2**15  # numbers of Newton's matrices up to which the host solves the systems


class Reached(NamedTuple):
    """Where climbs ended, start after start."""

    starts: list[int]  # whose they are
    W: Tensor
    objects: Tensor  # the support of the first, then that of the second, ...
    counts: Ints
    weights: Tensor  # as the objects are
    passes: list[int]
    statuses: list[Status]

    @classmethod
    def joined(cls, parts: list[Reached]) -> Reached:
        """One list of all."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            [k for part in parts for k in part.starts],
            torch.cat([part.W for part in parts]),
            torch.cat([part.objects for part in parts]),
            np.concatenate([part.counts for part in parts]),
            torch.cat([part.weights for part in parts]),
            [k for part in parts for k in part.passes],
            [status for part in parts for status in part.statuses],
        )


class _Points(NamedTuple):
    """The accepted points of the climbs that are still going on, and how far each dares to step."""

    number: Ints  # of the start
    w: Floats
    tau: Floats
    image: Floats
    f: Floats
    mean: Floats
    length: Floats  # of the residual
    radius: Floats
    stretch: Floats
    stale: Ints
    passes: Ints
    refused: NDArray[np.bool_]  # whether Newton's step was: the safe one is next
    jacobian: Tensor | None  # on the device

    def only(self, which: NDArray[np.bool_]) -> _Points:
        kept: dict[str, Any] = {
            name: part[which] for name, part in self._asdict().items() if name != "jacobian"
        }
        if self.jacobian is not None:
            kept["jacobian"] = self.jacobian[torch.from_numpy(np.flatnonzero(which)).to(self.jacobian.device)]
        return self._replace(**kept)


class _Told(NamedTuple):
    """What the host knows of a trial."""

    tau: Floats
    f: Floats
    image: Floats
    mean: Floats
    jacobian: Tensor | None


def _told(trial: Trial) -> _Told:
    d = trial.image.shape[1]
    table = host(torch.cat([trial.tau[:, None], trial.f[:, None], trial.image, trial.mean], 1))
    return _Told(table[:, 0], table[:, 1], table[:, 2 : 2 + d], table[:, 2 + d :], trial.jacobian)


def climb_together(batch: Batch, W: Tensor, *, tol: float, max_iter: int, monitor: Monitor) -> Reached:
    """Climb from every row of W until each is done; Ctrl-C and the clock are seen between passes."""
    shift, done = batch.shift, []
    trial = batch.at(W)
    points = _first(host(W), _told(trial))
    newest = np.ones(len(W), dtype=bool)  # whose accepted point is in `trial`
    halt: Status | None = None
    while True:
        try:
            scale = np.maximum(points.f, points.f + shift)
            bound = 2.0 * batch.reach * points.length
            rounding = _rounding(batch, points)
            settled = bound <= np.maximum(tol * scale, rounding)
            stalled = points.stale >= PATIENCE
            over = settled | stalled | (points.passes >= max_iter)
            batch.clock.add("newton")
            if over.any():
                statuses = [
                    Status.CONVERGED if a else Status.STALLED if b else Status.MAX_ITER
                    for a, b in zip(settled, stalled, strict=True)
                ]
                done += _harvest(batch, points, trial, newest, over, statuses)
                batch.clock.add("supports kept")
                if over.all():
                    break
                points, rounding = points.only(~over), rounding[~over]
            best = int(points.f.argmax())
            halt = monitor.report(
                int(points.passes[best]), float(points.f[best]) + shift,
                2.0 * batch.reach * float(points.length[best]), 0,
            )  # fmt: skip
            if halt is not None:
                break
            step, stride = _steps(points)
            target = np.where(points.refused[:, None], points.image, points.w + step)
            level = points.tau + np.einsum("kf,kf->k", points.mean, target - points.w)
            level -= 1e-12 * (np.abs(level) + np.abs(points.tau))
            sent = torch.from_numpy(np.column_stack([target, level])).to(W.device)
            batch.clock.add("newton")
            trial = batch.at(sent[:, :-1].contiguous(), sent[:, -1])
            points, newest = _judge(points, target, _told(trial), stride, rounding)
        except KeyboardInterrupt:  # what each has accepted is whole
            halt = Status.INTERRUPTED
            break
    if halt is not None:
        every = np.ones(len(points.number), dtype=bool)
        done += _harvest(batch, points, None, every, every, [halt] * len(every))
    return Reached.joined(done)


def _first(W: Floats, told: _Told) -> _Points:
    length, s = np.linalg.norm(told.image - W, axis=1), len(W)
    return _Points(
        number=np.arange(s),
        w=W,
        tau=told.tau,
        image=told.image,
        f=told.f,
        mean=told.mean,
        length=length,
        radius=2.0 * length,
        stretch=np.ones(s),
        stale=np.zeros(s, dtype=np.int64),
        passes=np.ones(s, dtype=np.int64),
        refused=np.zeros(s, dtype=bool),
        jacobian=told.jacobian,
    )


def _rounding(batch: Batch, points: _Points) -> Floats:
    """What f may lose by rounding alone."""
    size = batch.reach * np.linalg.norm(points.w, axis=1)
    out: Floats = 4 * EPS * np.maximum(np.maximum(np.abs(points.f), size), abs(batch.shift))
    return out


def _judge(
    points: _Points, target: Floats, told: _Told, stride: Floats, rounding: Floats
) -> tuple[_Points, NDArray[np.bool_]]:
    """The rule of ``_rows.judge`` for every start, and which of them have moved."""
    length = np.linalg.norm(told.image - target, axis=1)
    risen = told.f > points.f + rounding
    accepted = risen | ((told.f >= points.f - rounding) & (length < points.length))
    newton = ~points.refused
    moved = accepted | points.refused  # a safe step is always taken
    radius = np.where(newton & accepted & (stride > 0.9 * points.radius), 4.0 * stride, points.radius)
    radius = np.where(newton & ~accepted, 0.25 * stride, radius)
    stretch = np.where(length < 0.5 * points.length, 1.0, np.minimum(2.0 * points.stretch, _rows.STRETCH))
    stretch = np.where(accepted, stretch, 1.0)
    stretch = np.where(newton, stretch, points.stretch)
    progress = risen | (length < points.length)
    stale = np.where(moved, np.where(progress, 0, points.stale + 1), points.stale)

    def now(new: Floats, old: Floats) -> Floats:
        return np.where(moved.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    jacobian = told.jacobian
    if jacobian is not None and points.jacobian is not None and not moved.all():
        stayed = torch.from_numpy(np.flatnonzero(~moved)).to(jacobian.device)
        jacobian[stayed] = points.jacobian[stayed]
    judged = _Points(
        number=points.number,
        w=now(target, points.w),
        tau=now(told.tau, points.tau),
        image=now(told.image, points.image),
        f=now(told.f, points.f),
        mean=now(told.mean, points.mean),
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
    newest: NDArray[np.bool_],
    over: NDArray[np.bool_],
    statuses: list[Status],
) -> list[Reached]:
    """Supports and weights of climbs that are over: those of the last trial, or made once more."""
    out = []
    for which, known in ((over & newest, trial), (over & ~newest, None)):
        rows = np.flatnonzero(which)
        if not rows.size:
            continue
        W = torch.from_numpy(points.w[rows]).to(batch.device)
        if known is None:
            level = points.tau[rows] - 1e-9 * np.abs(points.tau[rows])
            known = batch.at(W, torch.from_numpy(level).to(batch.device))
        members = known.weights > 0
        if known.tiles.s > rows.size:
            members &= torch.from_numpy(which).to(batch.device)[known.tiles.owner][:, None]
        objects, counts = known.tiles.chosen(members)
        if counts.size > rows.size:
            counts = counts[rows]
        passes = points.passes[rows].tolist()
        ends = [statuses[k] for k in rows]
        out.append(
            Reached(points.number[rows].tolist(), W, objects, counts, known.weights[members], passes, ends)
        )
    return out


def _steps(points: _Points) -> tuple[Floats, Floats]:
    """Newton's steps, stretched, and their lengths."""
    step = points.image - points.w
    if points.jacobian is not None:
        step = newton_steps(points.jacobian, step, np.maximum(points.radius, points.length))
    step = step * points.stretch[:, None]
    return step, np.linalg.norm(step, axis=1)


def newton_steps(J: Tensor, g: Floats, radius: Floats) -> Floats:
    """Solve (I - J) step = g within a ball, for every start: as ``_rows.newton`` does for one.

    Where the solution is longer than the radius a multiple of I is added until it is not; where I - J is
    indefinite its eigenvalues are taken by their size. Small systems are solved on the host, and those that
    need eigenvalues: devices are slow at a few small eigenproblems.
    """
    if J.numel() <= ON_HOST:
        return _on_host(_rows.newton, host(J), g, radius)
    sent = torch.from_numpy(np.column_stack([g, radius])).to(J.device)
    table = host(_definite_steps(J, sent[:, :-1], sent[:, -1]))
    step: Floats = table[:, :-1]
    definite = table[:, -1] > 0
    bent = np.flatnonzero(~definite | ~np.isfinite(step).all(axis=1))
    if bent.size:
        chosen = host(J[torch.from_numpy(bent).to(J.device)])
        step[bent] = _on_host(_rows.bent, chosen, g[bent], radius[bent])
    return step


def _definite_steps(J: Tensor, g: Tensor, radius: Tensor) -> Tensor:
    """The steps where I - J has a Cholesky factor, with a last column that says whether it has."""
    eye = torch.eye(J.shape[1], dtype=J.dtype, device=J.device)
    factor, info = torch.linalg.cholesky_ex(eye - J)
    definite = info == 0
    step = torch.cholesky_solve(g[..., None], factor)[..., 0]
    length = step.norm(dim=1)
    rows = torch.nonzero(definite & ~(length <= 1.01 * radius)).view(-1)  # also what is not finite
    raised = torch.zeros_like(radius)
    for _ in range(RAISES):
        if not len(rows):
            break
        short = length[rows]
        turned = torch.linalg.solve_triangular(factor[rows], step[rows][..., None], upper=False)
        raised[rows] += short**2 / turned.square().sum((1, 2)) * (short / radius[rows] - 1.0)
        factor[rows] = torch.linalg.cholesky_ex((1.0 + raised[rows])[:, None, None] * eye - J[rows]).L
        step[rows] = torch.cholesky_solve(g[rows][..., None], factor[rows])[..., 0]
        length[rows] = step[rows].norm(dim=1)
        rows = rows[~(length[rows] <= 1.01 * radius[rows])]
    shrink = torch.where(length > radius, radius / length.clamp_min(1e-300), 1.0)
    return torch.cat([step * shrink[:, None], definite.double()[:, None]], 1)


def _on_host(solve: Any, J: Floats, g: Floats, radius: Floats) -> Floats:
    """Compiled steps, one start after another on a thread, with one BLAS thread each."""
    out = np.empty_like(g)

    def work(part: slice) -> None:
        for k in range(part.start, part.stop):
            found = solve(J[k], g[k], float(radius[k]))
            out[k] = found[0] if isinstance(found, tuple) else found

    parts = thread_slices(len(g), 1)
    if len(parts) == 1:
        work(parts[0])
        return out
    with _pools().limit(limits=1, user_api="blas"):
        parallel_map(work, parts)
    return out


@cache
def _pools() -> ThreadpoolController:
    """Looks for the libraries that have threads, once."""
    return ThreadpoolController()
