r"""Kernels on a device: safe steps from many starts on small blocks, checked against all objects.

A Gaussian or Laplacian kernel K is positive semidefinite with ones on its diagonal, so with
:math:`\kappa = 1 + \alpha` the objective is :math:`x^T K x - \kappa |x|^2`, convex less strictly convex, and
the step :math:`x \leftarrow \max(0, K x - \tau) / \kappa` (tau set by :math:`\sum x = 1`) never lowers it
(docs/theory-dual.md, Proposition 2). Each start keeps the objects that matter and their own block of K, on
which the steps are made, with an exact solve on the face where it helps; then one sweep over all objects
finds who gains by joining. That is for clusters of up to 2,000 members: the blocks are squares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dominantsets.rows.tensor_operations import KernelTensors
from dominantsets.rows.tensors import allowed
from dominantsets.rows.tiles import Tiles
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Point
from dominantsets.solvers.result import Status
from dominantsets.solvers.tensor_newton import AscentResult

LARGEST_SUPPORT = 2_000  # members of a cluster that a block may have
GROUP_NUMBERS = {"cuda": 2**29, "cpu": 2**26}  # numbers of the blocks of all starts together
INNER = 60  # safe steps on a block between two solves on a face
ROUNDS = 60  # sweeps over all objects
STARTING = 256  # objects that a start looks at first
STALE = 3  # sweeps in a row after which nothing has risen


class WorkingSets:
    """Ascents from some starts, each on its own working set; those that are done leave."""

    def __init__(
        self, local: KernelTensors, shift: float, alive: Tensor, starts: Sequence[Point], tol: float
    ) -> None:
        if shift <= -1.0:
            raise ValueError(f"a kernel on a device needs a shift above -1, got {shift:.6g}.")
        self.local, self.shift, self.alive, self.tol = local, shift, alive, tol
        self.device = local.rows.device
        self.kappa = 1.0 + shift
        self.objects: list[Tensor] = []
        self.x: list[Tensor] = []
        for start in starts:
            if len(start.support) > LARGEST_SUPPORT:
                raise ValueError(
                    f"a kernel on a device starts at up to {LARGEST_SUPPORT:,} objects, got "
                    f"{len(start.support):,}; use start='vertex'."
                )
            self.objects.append(torch.from_numpy(np.asarray(start.support, dtype=np.int64)).to(self.device))
            self.x.append(torch.from_numpy(np.asarray(start.weights, dtype=np.float64)).to(self.device))

    @staticmethod
    def group_size(device: torch.device) -> int:
        """Starts whose blocks fit the device at once."""
        return max(1, allowed(GROUP_NUMBERS, device) // (2 * LARGEST_SUPPORT) ** 2)

    def run(self, options: SolverOptions, monitor: Monitor) -> AscentResult:
        """Sweeps over all objects and climbs on blocks, in turns."""
        s = len(self.objects)
        passes, stale = [0] * s, [0] * s
        status: list[Status | None] = [None] * s
        best = [-np.inf] * s
        wanted = STARTING
        halt: Status | None = None
        try:
            while halt is None:
                going = [k for k in range(s) if status[k] is None]
                if not going:
                    break
                f, gap, scale, newcomers = self._sweep(going, wanted)
                for place, k in enumerate(going):
                    passes[k] += 1
                    risen = f[place] > best[k] + 1e-15 * abs(scale[place])
                    stale[k] = 0 if risen else stale[k] + 1
                    best[k] = max(best[k], f[place])
                    if gap[place] <= max(self.tol, 4e-16) * scale[place]:
                        status[k] = Status.CONVERGED
                    elif stale[k] >= STALE:
                        status[k] = Status.STALLED
                    elif passes[k] >= min(options.max_iter, ROUNDS):
                        status[k] = Status.MAX_ITER
                left = [(k, newcomers[place]) for place, k in enumerate(going) if status[k] is None]
                if left:
                    self._solve_blocks(left)
                wanted = min(2 * wanted, LARGEST_SUPPORT)
                top = int(np.argmax(best))
                halt = monitor.report(passes[top], best[top] + self.shift, float(max(gap)), len(self.x[top]))
        except KeyboardInterrupt:  # between two blocks: every x is whole
            halt = Status.INTERRUPTED
        return self._ends([st or halt or Status.MAX_ITER for st in status], passes)

    def _tiles(self, which: Sequence[int]) -> tuple[Tiles, Tensor]:
        objects = torch.cat([self.objects[k] for k in which])
        tiles = Tiles(objects, np.array([len(self.objects[k]) for k in which]))
        return tiles, tiles.spread(torch.cat([self.x[k] for k in which]))

    def _sweep(
        self, going: list[int], wanted: int
    ) -> tuple[list[float], list[float], list[float], list[Tensor]]:
        """Over all objects: f, gap and its unit of each start, and the objects that gain most by joining."""
        tiles, weights = self._tiles(going)
        r = self.local.inside(tiles, weights, self.shift)
        f = tiles.total(torch.where(tiles.valid, weights * r, 0.0))
        most = torch.full_like(f, -torch.inf).scatter_reduce(
            0, tiles.owner, torch.where(tiles.valid, r, -torch.inf).amax(1), "amax"
        )
        held, held_at = None, None
        for begin, values, _ in tiles.outsiders(
            self.local.all_values(tiles, weights, self.alive), self.local.rows.n
        ):
            top, at = values.topk(min(wanted, values.shape[1]), dim=1)
            at = at + begin
            if held is not None and held_at is not None:
                top, at = torch.cat([held, top], 1), torch.cat([held_at, at], 1)
                top, chosen = top.topk(min(wanted, top.shape[1]), dim=1)
                at = at.gather(1, chosen)
            held, held_at = top, at
        assert held is not None
        assert held_at is not None
        gap = (torch.maximum(most, held[:, 0]) - f).clamp_min(0.0)
        scale = torch.maximum(f, f + self.shift)
        gaining = held > f[:, None]
        newcomers = [held_at[k][gaining[k]] for k in range(len(going))]
        return f.tolist(), gap.tolist(), scale.tolist(), newcomers

    def _solve_blocks(self, left: list[tuple[int, Tensor]]) -> None:
        """Climb on the members and newcomers of each start: all blocks filled up to one size."""
        lists = [torch.cat([self.objects[k], new]) for k, new in left]
        m = max(len(objects) for objects in lists)
        s = len(left)
        K = torch.zeros((s, m, m), dtype=torch.float64, device=self.device)
        x = torch.zeros((s, m), dtype=torch.float64, device=self.device)
        valid = torch.zeros((s, m), dtype=torch.bool, device=self.device)
        for place, ((k, _), objects) in enumerate(zip(left, lists, strict=True)):
            rows = self.local.at(objects)
            K[place, : len(objects), : len(objects)] = self.local.between(rows, rows)
            x[place, : len(self.x[k])] = self.x[k]
            valid[place, : len(objects)] = True
        x = self._climb(K, x, valid)
        for place, (k, _) in enumerate(left):
            inside = x[place] > 0
            objects, order = torch.sort(lists[place][inside[: len(lists[place])]])
            if len(objects) > LARGEST_SUPPORT:
                raise ValueError(
                    f"a cluster under {self.local.formula.name} has more than {LARGEST_SUPPORT:,} members "
                    "here, which is too many for a device; lower the shift, raise gamma, or fit a NumPy "
                    "array without device=."
                )
            weights = x[place][inside][order]
            self.objects[k], self.x[k] = objects, weights / weights.sum()

    def _climb(self, K: Tensor, x: Tensor, valid: Tensor) -> Tensor:
        """Safe steps, and a solve on the face where that is better, until the blocks are stationary."""
        f = self._value(K, x)
        for _ in range(200):
            for _ in range(INNER):
                x = self._safe(K, x, valid)
            x, risen = self._face(K, x)
            new = self._value(K, x)
            r = torch.bmm(K, x[..., None])[..., 0] - self.kappa * x
            most = torch.where(valid, r, -torch.inf).amax(1)
            gap = most - new
            enough = gap <= 0.02 * self.tol * torch.maximum(new, new + self.shift)
            stuck = ~risen & (new <= f + 1e-15 * new.abs())
            f = new
            if bool((enough | stuck).all()):
                break
        return x

    def _value(self, K: Tensor, x: Tensor) -> Tensor:
        Kx = torch.bmm(K, x[..., None])[..., 0]
        value: Tensor = torch.linalg.vecdot(x, Kx) - self.kappa * torch.linalg.vecdot(x, x)
        return value

    def _safe(self, K: Tensor, x: Tensor, valid: Tensor) -> Tensor:
        """max(0, K x - tau) / kappa with tau from the sorted values."""
        values = torch.where(valid, torch.bmm(K, x[..., None])[..., 0], -torch.inf)
        ordered = values.sort(1, descending=True).values
        count = torch.arange(1, values.shape[1] + 1, device=self.device, dtype=torch.float64)
        levels = (torch.where(torch.isfinite(ordered), ordered, 0.0).cumsum(1) - self.kappa) / count
        above = (ordered > levels).sum(1, keepdim=True).clamp_min(1)
        tau = levels.gather(1, above - 1)
        out = (values - tau).clamp_min(0.0)
        return out / out.sum(1, keepdim=True)

    def _face(self, K: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """The stationary point of the support, where it lies inside and is not lower."""
        inside = x > 0
        both = inside[:, :, None] & inside[:, None, :]
        eye = torch.eye(x.shape[1], dtype=x.dtype, device=self.device)
        B = torch.where(both, K - self.kappa * eye, eye)
        y, info = torch.linalg.solve_ex(B, inside.double()[..., None])
        y = y[..., 0] * inside
        y = y / y.sum(1, keepdim=True)
        usable = (info == 0) & torch.isfinite(y).all(1) & ((y > 0) | ~inside).all(1)
        y = torch.where(usable[:, None], y, x)
        better = usable & (self._value(K, y) > self._value(K, x))
        return torch.where(better[:, None], y, x), better

    def _ends(self, statuses: list[Status], passes: list[int]) -> AscentResult:
        which = np.arange(len(self.objects))
        counts = np.array([len(objects) for objects in self.objects])
        objects, weights = torch.cat(self.objects), torch.cat(self.x)
        return AscentResult(
            which, np.empty((which.size, 0)), objects, counts, weights, np.array(passes), statuses
        )
