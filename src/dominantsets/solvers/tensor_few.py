r"""A pass of the dual for few starts: all values at once, without looking for candidates.

A card computes the values :math:`u_i \cdot w + b_i` of a million objects sooner than a host can ask it for
ten operations. So where rows, and a few arrays of n numbers for each start, fit: lifted rows u stay there in
float64, every array has a fixed shape, and nothing waits before the one copy that brings all numbers of a
pass. tau is found by the rule of docs/theory-dual.md: from any level,

.. math:: \tau \leftarrow g(\{i : s_i > \tau\})

is a lower bound, and from a lower bound on it only rises, to the root after finitely many rounds. Some rounds
are made; the reply says whether the last one still changed the set, and then more are. Work of fixed shapes
can be recorded and played again (rows/graphs.py): a pass is three launches then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dominantsets._typing import Floats, Ints
from dominantsets.rows.graphs import Replays
from dominantsets.rows.tensor_block import allowed
from dominantsets.rows.tensor_formulas import FormulaTensors
from dominantsets.solvers.monitor import Stopwatch
from dominantsets.solvers.tensor_dual import ON_HOST, bounds_of_scatter, on_host

FEW_STARTS = 8  # up to which each start has arrays of n numbers
NUMBERS = {"cuda": 2**28, "cpu": 2**25}  # float64 numbers of all arrays
HEIGHT = 1024  # rows of a block that is summed on its own
ROUNDS, AT_FIRST = 3, 3  # rounds before it is asked whether they were enough; as many times in a first pass
FAR = -1e300  # value of removed objects: below all, and 0 times it is 0


class FewTrial(NamedTuple):
    """x(w) of every start, as far as the host needs it; the weights are on the device until the next pass."""

    tau: Floats
    f: Floats
    image: Floats
    mean: Floats
    mass: Floats
    jacobian: Floats


class Extremes(NamedTuple):
    """f, the least and the largest payoff of members, the largest of others; U'x and b'x. By start."""

    f: Floats
    least: Floats
    most: Floats
    outside: Floats
    image: Floats
    bias_sum: Floats


def fits(local: FormulaTensors, s: int) -> bool:
    """Whether rows and starts are few enough."""
    there = local.features.stored is not None and s <= FEW_STARTS and s * local.d**2 <= ON_HOST
    return there and local.rows.n * (2 * local.d + 5 * s + 3) <= allowed(NUMBERS, local.device)


class FewDual:
    """The dual of the objects that are alive, for up to s values of w at once; ``alive`` may change in place.

    Fewer than s are filled up with copies of the first.
    """

    newton = True

    def __init__(
        self, local: FormulaTensors, s: int, alive: Tensor, clock: Stopwatch, extra: Tensor | None = None
    ) -> None:
        self.s, self.alive, self.clock = s, alive, clock
        self.reach, self._offset = local.root * local.longest, local.formula.offset
        self.trace, self.least = bounds_of_scatter(local, extra)
        self._n, self._d, device = local.rows.n, local.d, local.device
        height = min(self._n, HEIGHT)
        blocks = -(-self._n // height)
        size, d = blocks * height, self._d  # rows of 0 fill the last block

        def empty(*shape: int) -> Tensor:
            return torch.empty(shape, dtype=torch.float64, device=device)

        self._u, self._own = empty(size, d), empty(size)
        self._u[self._n :], self._own[self._n :] = 0.0, 1.0
        self._bias = empty(size).zero_()
        for begin, raw in local.features.blocks(local.height(3 * d)):
            part = slice(begin, begin + len(raw))
            self._u[part], self._bias[part], self._own[part] = local.exact(raw)
        if extra is not None:
            self._own[: self._n] += extra
        self._has_bias = local.formula.has_bias
        self._in_blocks = self._u.view(blocks, height, d)
        self._scratch = empty(size, d)
        self._seconds = empty(blocks, d, d)
        self._zero, self._far, self._high = torch.tensor([0.0, FAR, -FAR], dtype=torch.float64).to(device)
        self._floor = torch.full((size,), FAR, dtype=torch.float64, device=device)
        self._below, self._lifted, self._inverse = empty(s, size), empty(s, size), empty(s, size)
        self._pair = empty(2, s, size)  # weights (or what becomes of them), and 1 / kappa of members
        self._top, self._tau, self._sums = empty(s, 1), empty(s, 1), empty(2, s)
        self._table = empty(s, 4 + 2 * d + d * d)
        self._sent = empty(s, d + 2)  # w, shift, level
        card = device.type == "cuda"
        self._from_host = torch.empty((s, d + 2), dtype=torch.float64, pin_memory=card)
        self._to_host = torch.empty_like(self._table, device="cpu", pin_memory=card)
        self.replays = Replays(device)

    # the stages, which ask for nothing whose shape depends on numbers -------------------------------------

    def _evaluated(self) -> None:
        """Values less the largest one of each start, 1 / kappa, and a first lower bound of tau."""
        below, inverse, tau = self._below, self._inverse, self._tau
        W, shift, level = self._sent[:, :-2], self._sent[:, -2:-1], self._sent[:, -1:]
        torch.where(self.alive, self._bias[: self._n], self._far, out=self._floor[: self._n])
        torch.addmm(self._floor, W, self._u.T, out=below)
        torch.amax(below, 1, keepdim=True, out=self._top)
        # sums of differences from the largest value: the values themselves may be large and alike
        below -= self._top
        torch.add(self._own, shift, out=inverse)
        torch.sub(below, inverse, out=self._lifted)
        alone = self._lifted.amax(1, keepdim=True)  # g of each object alone, below 0
        inverse.reciprocal_()
        known = level - self._top
        torch.where(known < 0.0, torch.maximum(known, alone), alone, out=tau)
        tau.copy_(self._bound())  # from here on it is a lower bound, whatever was known

    def _bound(self) -> Tensor:
        """g of the objects above tau: below 0, so that the largest value stays above."""
        self._among()
        torch.mul(self._pair[1], self._below, out=self._pair[0])
        torch.sum(self._pair, 2, out=self._sums)
        return ((self._sums[0] - 1.0) / self._sums[1])[:, None]

    def _among(self) -> None:
        """1 / kappa of objects above tau, 0 elsewhere."""
        torch.gt(self._below, self._tau, out=self._pair[1])
        self._pair[1].mul_(self._inverse)

    def _narrowed(self) -> None:
        """Some rounds; tau never falls, so that the sets are nested and this ends."""
        for _ in range(ROUNDS):
            torch.maximum(self._tau, self._bound(), out=self._tau)

    def _summed(self) -> None:
        """Weights, and what the host gets."""
        W, (weights, inside), lifted = self._sent[:, :-2], self._pair, self._lifted
        s, d, before = self.s, self._d, self._sums[1].clone()
        self._among()
        torch.sub(self._below, self._tau, out=lifted)
        torch.mul(inside, lifted, out=weights)
        torch.sum(self._pair, 2, out=self._sums)
        total, mass = self._sums
        changed = ((mass - before).abs() > 0.0).double()  # what is not a number ends here, too
        weights /= total[:, None]
        image, mean = self._mixed(self._pair)
        mean /= mass[:, None]
        lifted *= weights
        spent = lifted.sum(1) / total
        if self._has_bias:
            torch.mul(weights, self._bias, out=lifted)
            spent = spent - 2.0 * lifted.sum(1)
        f = torch.linalg.vecdot(image, image) - spent + self._offset
        inside.sqrt_()
        squares = self._scratch.view_as(self._in_blocks)
        away = mean - W
        second = torch.empty((s, d, d), dtype=torch.float64, device=W.device)
        for k in range(s):  # about w, which is near the mean: what is summed is small then
            torch.sub(self._u, W[k], out=self._scratch)
            self._scratch.mul_(inside[k, :, None])
            torch.bmm(squares.transpose(1, 2), squares, out=self._seconds)
            torch.sum(self._seconds, 0, out=second[k])
        second -= (mass[:, None] * away)[:, :, None] * away[:, None, :]
        numbers = torch.stack([(self._tau + self._top)[:, 0], f, changed, mass], 1)
        torch.cat([numbers, image, mean, second.view(s, -1)], 1, out=self._table)

    def _mixed(self, shares: Tensor) -> Tensor:
        """Sums of shares (several × s × objects) times rows u, block after block."""
        flat = shares.view(-1, *self._in_blocks.shape[:2]).transpose(0, 1)
        return torch.bmm(flat, self._in_blocks).sum(0).view(*shares.shape[:-1], self._d)

    def _judged(self) -> None:
        """Payoffs of all objects, from the weights alone."""
        shift, weights, r, kappa = self._sent[:, -2:-1], self._pair[0], self._below, self._inverse
        torch.where(self.alive, self._zero, self._far, out=self._floor[: self._n])
        image = self._mixed(weights)
        torch.mul(weights, self._bias, out=self._lifted)
        bias_sum = self._lifted.sum(1, keepdim=True)
        torch.addmm(self._bias, image, self._u.T, out=r)
        r += bias_sum + self._offset
        torch.add(self._own, shift, out=kappa)
        r.addcmul_(weights, kappa, value=-1.0)
        torch.mul(weights, r, out=self._lifted)
        f, inside = self._lifted.sum(1, keepdim=True), weights > 0
        least = torch.where(inside, r, self._high, out=self._lifted).amin(1, keepdim=True)
        most = torch.where(inside, r, self._far, out=self._lifted).amax(1, keepdim=True)
        outside = r.add_(self._floor).masked_fill_(inside, FAR).amax(1, keepdim=True)
        self._table[:, : 5 + self._d] = torch.cat([f, least, most, outside, bias_sum, image], 1)

    # what an ascent asks ------------------------------------------------------------------------------------

    def _tell(self, W: Any, shift: Floats, level: Any) -> None:
        sent, s, d = self._from_host.numpy(), len(shift), self._d
        sent[:s, :d], sent[:s, d], sent[:s, d + 1] = W, shift, level
        sent[s:] = sent[0]
        self._sent.copy_(self._from_host, non_blocking=True)

    def _ask(self, s: int) -> Floats:
        """What the last stage left, on the host; everything before is done then."""
        out: Floats = self._to_host.copy_(self._table).numpy()[:s].copy()
        return out

    def at_host(self, W: Floats, shift: Floats, level: Floats | None) -> FewTrial:
        """x(w) for rows w on the host; ``level`` holds guesses of tau, where there are any."""
        s, d = W.shape
        self.clock.begin()
        self._tell(W, shift, -np.inf if level is None else level)
        self.replays(self._evaluated)
        self.clock.add("values")
        for _ in range(1 if level is not None else AT_FIRST):
            self.replays(self._narrowed)
        self.clock.add("threshold")
        while True:
            self.replays(self._summed)
            table = self._ask(s)
            self.clock.add("sums of supports")
            if not table[:, 2].any():
                break
            self.clock.counts["more rounds"] += 1
            self.replays(self._narrowed)
        image, mean, jacobian = np.split(table[:, 4:], [d, 2 * d], axis=1)
        return FewTrial(table[:, 0], table[:, 1], image, mean, table[:, 3], jacobian.reshape(s, d, d))

    def told(self, trial: FewTrial) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """tau, f, U'x, the mean row and the sum of 1 / kappa of every start."""
        return trial[:5]

    def steps(self, J: Floats, g: Floats, radius: Floats) -> Floats:
        """Solve (I - J) step = g within a ball, for every start."""
        return on_host(J, g, radius)

    def chosen(self, J: Floats, which: Ints) -> Floats:
        """Newton's matrices of some starts."""
        return J[which]

    def put_back(self, J: Floats, before: Floats, which: Ints) -> None:
        """Restore Newton's matrices of some starts to what they were before."""
        J[which] = before[which]

    def supports(
        self, trial: FewTrial, which: NDArray[np.bool_]
    ) -> tuple[Tensor, Ints, Tensor, Floats | None]:
        """Members of some starts of the last pass, how many each has, their weights; and J."""
        weights = self._pair[0][: len(which)]
        if len(which) == 1:
            objects = torch.nonzero(weights[0] > 0).view(-1)
            return objects, np.array([len(objects)]), weights[0][objects], trial.jacobian
        weights = weights[torch.from_numpy(which).to(weights.device)]
        owner, objects = torch.nonzero(weights > 0, as_tuple=True)
        counts = torch.bincount(owner, minlength=len(weights)).cpu().numpy()
        return objects, counts, weights[owner, objects], trial.jacobian[which]

    # certificates -------------------------------------------------------------------------------------------

    def extremes(self, objects: Tensor, counts: Ints, weights: Tensor, shifts: Floats) -> Extremes:
        """What certificates say of points, from their weights alone."""
        x = self._pair[0].zero_().view(-1)
        if len(counts) > 1:
            firsts = torch.arange(len(counts), device=x.device) * self._below.shape[1]
            objects = objects + torch.repeat_interleave(firsts, torch.from_numpy(counts).to(x.device))
        x.index_copy_(0, objects, weights)
        self._tell(0.0, shifts, 0.0)
        self._judged()  # once a solve: recording it would cost more than it saves
        table = self._ask(len(counts))
        outside = np.where(table[:, 3] > 0.5 * FAR, table[:, 3], -np.inf)
        return Extremes(
            table[:, 0], table[:, 1], table[:, 2], outside, table[:, 5 : 5 + self._d], table[:, 4]
        )
