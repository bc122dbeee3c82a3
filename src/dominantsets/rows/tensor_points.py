"""Points of a sample on a device: the same questions as :class:`dominantsets.rows.points.Points`, in torch.

Everything is in float64: a sample has few points, and devices that matter multiply float64 fast.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import modes
from dominantsets.compiled.clouds import FAINT
from dominantsets.compiled.passes import EPS
from dominantsets.compiled.threads import N_THREADS
from dominantsets.rows import fused
from dominantsets.rows.base import not_finite
from dominantsets.rows.points import NORMAL, Points, Tail
from dominantsets.rows.tensor_block import BLOCK_NUMBERS, allowed, fast_products, to_numpy

NUMBERS = {"cuda": 2**28, "cpu": 2**22}  # float64 numbers of one temporary
LARGE = {"cuda": 2**24, "cpu": 2**28}  # products of one step from which it is made on the device
SPARE = 8  # nearest by products beyond those asked for, of which differences are taken
AGAIN = 64  # and so many where rounding may hide one
BEYOND = 1e8  # roundings of a squared distance from which a ball is large enough for products


class TensorPoints(Points):
    """Points on a device; what comes in and goes out is on the host."""

    def __init__(self, rows: Floats, extra: Floats, device: torch.device) -> None:
        super().__init__(rows, extra)
        self.device = device
        self._rows, self._lengths, self._extra = map(self._send, (rows, self.lengths, extra))

    def _send(self, x: Floats | Ints) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(x), device=self.device)

    def _height(self, columns: int) -> int:
        return max(1, NUMBERS[self.device.type] // max(1, columns))

    def _listed(self, centres: Floats, cut: Floats, most: int) -> tuple[Ints, Ints]:
        sent, limits, height = self._send(centres), self._send(cut), self._height(len(self.rows))
        counts, found = [], []
        for begin in range(0, len(centres), height):
            part = slice(begin, begin + height)
            below = torch.addmm(self._lengths, sent[part], self._rows.T, alpha=-2.0) < limits[part, None]
            here = below.sum(1)
            many = here > most
            below[many] = False
            counts.append(torch.where(many, -1, here))
            found.append(torch.nonzero(below)[:, 1])
        return torch.cat(counts).cpu().numpy(), torch.cat(found).cpu().numpy()

    def nearest(self, count: int) -> tuple[Floats, Ints]:
        rows, lengths, m = self._rows, self._lengths, len(self.rows)
        far, who = [], []
        height = self._height(3 * max(m, (count + 1) * rows.shape[1]))
        for begin in range(0, m, height):
            mine = torch.arange(begin, min(m, begin + height), device=self.device)
            squares = torch.addmm(lengths, rows[mine], rows.T, alpha=-2.0)
            squares[torch.arange(len(mine), device=self.device), mine] = -torch.inf
            chosen = squares.topk(count + 1, largest=False).indices
            # products lose digits of points that are close together: their order is that of differences
            exact = (rows[chosen] - rows[mine, None, :]).square_().sum(2)
            exact += self._extra[chosen] + self._extra[mine, None]
            exact[chosen == mine[:, None]] = -1.0
            exact, order = exact.sort(dim=1, stable=True)
            far.append(exact[:, 1:].sqrt())
            who.append(chosen.gather(1, order))
        return torch.cat(far).cpu().numpy(), torch.cat(who).cpu().numpy()

    def follow(
        self, centres: Floats, radii: Floats, kappa: Floats, steps: int, tolerance: float
    ) -> tuple[Floats, Floats]:
        """All of them side by side: the rule of ``modes.follow``, a row for each.

        Products leave a small ball far from 0 only rounding: such ones are followed on the host.
        """
        large = radii > BEYOND * self.rows.shape[1] * EPS * self._longest
        if max(len(centres), N_THREADS) * self.rows.size < LARGE[self.device.type]:  # host threads are faster
            large[:] = False
        centres, radii = centres.copy(), radii.copy()
        if not large.all():
            small = (centres[~large], radii[~large], kappa[~large])
            centres[~large], radii[~large] = super().follow(*small, steps, tolerance)
        c, r2, every = self._send(centres[large]), self._send(radii[large]), self._send(kappa[large])
        height = self._height(3 * len(self.rows))
        for begin in range(0, len(c), height):
            part = slice(begin, begin + height)
            self._follow(c[part], r2[part], every[part], steps, tolerance)
        centres[large], radii[large] = c.cpu().numpy(), r2.cpu().numpy()
        return centres, radii

    def _follow(self, c: Tensor, r2: Tensor, kappa: Tensor, steps: int, tolerance: float) -> None:
        """Move centres and squared radii, in place."""
        going, before = torch.arange(len(c), device=self.device), torch.zeros_like(c)
        for step in range(steps):
            here, size = c[going], kappa[going]
            t = self._squares(here)
            radius = _radius(t, size, r2[going])
            inner = torch.sub(radius[:, None], t, out=t).clamp_min_(0.0)
            new = (inner @ self._rows).div_(size[:, None])
            move = new - here
            moved, last = move.square().sum(1), before[going]
            along, length = (move * last).sum(1), last.square().sum(1)
            r2[going], before[going] = radius, move
            on = moved >= tolerance * radius
            if step % modes.STRIDE == modes.STRIDE - 1:
                # where density is nearly flat steps shrink slowly, by a constant ratio: their sum is known
                ratio = torch.where(length > 0.0, along / length.clamp_min(1e-300), 0.0)
                far = torch.where((ratio > 0.0) & (ratio < 1.0) & on, ratio / (1.0 - ratio), 0.0)
                new = new + far.clamp_max_(modes.LEAP)[:, None] * move
            c[going] = new
            going = going[on]
            if not len(going):
                break
        r2.copy_(_radius(self._squares(c), kappa, r2))

    def _table(self, centres: Floats) -> Floats:
        sent, height = self._send(centres), self._height(len(self.rows))
        found = [
            torch.addmm(self._lengths, sent[i : i + height], self._rows.T, alpha=-2.0).cpu()
            for i in range(0, len(centres), height)
        ]
        return np.asarray(torch.cat(found).numpy())

    def away(self, centres: Floats) -> Floats:
        c, height = self._send(centres), self._height(len(centres))
        squares = c.square().sum(1)
        found = [
            torch.addmm(squares, self._rows[i : i + height], c.T, alpha=-2.0).amin(1)
            for i in range(0, len(self.rows), height)
        ]
        return np.asarray(np.maximum(torch.cat(found).cpu().numpy() + self.lengths, 0.0))

    def parts(
        self,
        centres: Floats,
        rates: Floats,
        levels: Floats,
        outside: Floats,
        nearest: bool,
        tail: Tail = NORMAL,
    ) -> tuple[Ints, sp.csr_array]:
        c, r, level, out = map(self._send, (centres, rates, levels, outside))
        squares, height = c.square().sum(1), self._height(4 * len(centres))
        home, where, values = [], [], []
        for begin in range(0, len(self.rows), height):
            part = slice(begin, begin + height)
            t = torch.addmm(squares, self._rows[part], c.T, alpha=-2.0).add_(self._lengths[part, None])
            t.clamp_min_(0.0)
            parts = _parts(t, level - tail.fall(r * t, torch.log1p), nearest)
            places = torch.nonzero(parts)
            home.append(parts.argmax(1))
            values.append(parts[places[:, 0], places[:, 1]] * (1.0 - out[part])[places[:, 0]])
            places[:, 0] += begin
            where.append(places)
        rows, columns = torch.cat(where).T.cpu().numpy()
        table = sp.csr_array((torch.cat(values).cpu().numpy(), (rows, columns)), (len(self.rows), len(c)))
        return torch.cat(home).cpu().numpy(), table

    def _squares(self, c: Tensor) -> Tensor:
        """Squared distances of all points from some centres."""
        t = torch.addmm(self._lengths, c, self._rows.T, alpha=-2.0)
        return t.add_(c.square().sum(1)[:, None]).clamp_min_(0.0)

    def expected(
        self,
        centres: Floats,
        rates: Floats,
        levels: Floats,
        rest: Floats,
        behind: Floats,
        nearest: bool,
        tail: Tail = NORMAL,
    ) -> tuple[Floats, Floats, float]:
        count, d = centres.shape
        c, r, level, more, back = map(self._send, (centres, rates, levels, rest, behind))
        sums = torch.zeros((count, 5 + d), dtype=torch.float64, device=self.device)
        outside, total = torch.empty_like(back), torch.zeros((), dtype=torch.float64, device=self.device)
        squares, height = c.square().sum(1), self._height(6 * count)
        for begin in range(0, len(self.rows), height):
            part = slice(begin, begin + height)
            t = torch.addmm(squares, self._rows[part], c.T, alpha=-2.0).add_(self._lengths[part, None])
            t.clamp_min_(0.0)
            logs = level - tail.fall(r * t, torch.log1p)
            mixed = torch.logsumexp(logs + more, 1)
            both = torch.logaddexp(mixed, back[part])
            outside[part] = (back[part] - both).exp()
            inside = 1.0 - outside[part]
            total += both.sum()
            parts = _parts(t, logs, nearest)
            parts *= inside[:, None]
            sums[:, 0] += parts.sum(0)
            sums[:, 2] += (parts * t.square()).sum(0) * r.square()
            if np.isfinite(tail.half):
                w = tail.power / (tail.half + r * t)
                sums[:, 4 + d] += (parts * (w.log() - w)).sum(0)
                parts *= w
            sums[:, 3 + d] += parts.sum(0)
            sums[:, 3 : 3 + d] += parts.T @ self._rows[part]
            sums[:, 1] += parts.mul_(t).sum(0)
        return sums.cpu().numpy(), outside.cpu().numpy(), float(total)


class Landmarks:
    """Rows on a device, of which the nearest to other rows there are found, but for rounding of float64.

    Products in float32 find a few more than are asked for, and differences in float64 put these in order, of
    equal ones the first row first. Where rounding of the products may hide a nearer row they are made again
    in float64.

    Parameters
    ----------
    rows : ndarray of shape (m, d)
        The rows.
    k : int
        How many of them are sought.
    device : torch.device
        Where.
    """

    def __init__(self, rows: Floats, k: int, device: torch.device) -> None:
        self.device, self._k = device, min(k, len(rows))
        self._rows = torch.as_tensor(np.ascontiguousarray(rows), device=device)
        self._middle = self._rows.mean(0, dtype=torch.float64)  # products keep more digits near 0
        wide = self._rows.double() - self._middle
        self._narrow, self._lengths = wide.float(), wide.square().sum(1)

    def kneighbors(self, new: Tensor) -> tuple[Floats, Ints]:
        """Distances and numbers of the nearest of each row, the nearest first."""
        if not bool(torch.isfinite(new).all()):
            raise not_finite("features")
        m, d = self._rows.shape
        height = max(1, allowed(BLOCK_NUMBERS, self.device) // (m + 3 * (self._k + SPARE) * d))
        with fast_products("highest"):
            found = [self._nearest(new[i : i + height]) for i in range(0, len(new), height)]
        return to_numpy(torch.cat([one[0] for one in found])), to_numpy(torch.cat([one[1] for one in found]))

    def _nearest(self, new: Tensor) -> tuple[Tensor, Tensor]:
        k, (m, d) = self._k, self._rows.shape
        centred = new.double() - self._middle
        products = torch.addmm(self._lengths.float(), centred.float(), self._narrow.T, alpha=-2.0)
        near, who = products.topk(min(m, k + SPARE), largest=False)
        squares, who = self._in_order(new, who)
        if k + SPARE < m:
            length = centred.square().sum(1).sqrt()
            reach = length + squares[:, k - 1].sqrt()  # the norm of what is nearer is less
            rounding = (d + 8) * torch.finfo(torch.float32).eps * (reach.square() + 2.0 * length * reach)
            left = near.amax(1).double() + length.square()
            hidden = torch.nonzero(left <= squares[:, k - 1] + rounding)[:, 0]
            height = max(1, allowed(BLOCK_NUMBERS, self.device) // (2 * m + 3 * (k + AGAIN) * d))
            for begin in range(0, len(hidden), height):
                some = hidden[begin : begin + height]
                products = torch.addmm(self._lengths, centred[some], self._wide().T, alpha=-2.0)
                again = products.topk(min(m, k + AGAIN), largest=False).indices
                nearer, which = self._in_order(new[some], again)
                squares[some, :k], who[some, :k] = nearer[:, :k], which[:, :k]
        return squares[:, :k].sqrt(), who[:, :k]

    def _wide(self) -> Tensor:
        return self._rows.double() - self._middle

    def _in_order(self, new: Tensor, who: Tensor) -> tuple[Tensor, Tensor]:
        """Squared distances from these rows, the smallest first, and which these are."""
        who = who.sort(1).values
        apart = self._rows[who].double().sub_(new.double()[:, None, :])
        squares, order = apart.square_().sum(2).sort(dim=1, stable=True)
        return squares, who.gather(1, order)


def _parts(t: Tensor, logs: Tensor, nearest: bool) -> Tensor:
    """What each point has of every cluster, of what the background leaves; ``logs`` may be changed."""
    if nearest:
        return torch.zeros_like(t).scatter_(1, t.argmin(1, keepdim=True), 1.0)
    logs -= logs.amax(1, keepdim=True)
    parts = torch.where(logs > -FAINT, logs.exp(), 0.0)
    return parts.div_(parts.sum(1, keepdim=True))


def _radius(t: Tensor, kappa: Tensor, r2: Tensor) -> Tensor:
    """The squared radius of each row at which sum max(0, r2 - t) is kappa, sought from r2 on."""
    if not fused.usable(t.device):
        return _plain_radius(t, kappa, r2)
    return fused.with_fallback(
        lambda: fused.kernels().radius(t, kappa, r2, modes.PASSES), lambda: _plain_radius(t, kappa, r2)
    )


def _plain_radius(t: Tensor, kappa: Tensor, r2: Tensor) -> Tensor:
    r2 = torch.where(r2 > 0.0, r2, torch.inf)
    last = torch.full_like(r2, -1.0)
    least = t.amin(1) + kappa
    for _ in range(modes.PASSES):
        inside = t < r2[:, None]
        count = inside.sum(1).double()
        total = torch.where(inside, t, 0.0).sum(1)
        found = torch.where(count > 0, (kappa + total) / count.clamp_min(1.0), least)
        done = (count == last) & (count > 0)
        r2 = torch.where(done, r2, found)
        if bool(done.all()):
            break
        last = count
    return r2
