r"""Scores of all objects at the cores of clouds, on a device.

The score of object i at core k is :math:`c_k - r_k (a_{ii} - 2 p_{ik} + q_k) / 2`, with the payoff p and the
core's own q: one product of :math:`(u_i, b_i, a_{ii})` with a column for each core. On a card a rough product
says which core has the largest score wherever the second is farther below than rounding reaches; the few
others, and the largest score itself, are made in float64.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dominantsets.rows import fused
from dominantsets.rows.base import Cores
from dominantsets.rows.tensor_formulas import FormulaTensors

WORTH_A_KERNEL = 2**22  # scores from which one is used


class Scores:
    """The scores of all objects at some cores."""

    def __init__(self, here: FormulaTensors, cores: Cores) -> None:
        self.here, send = here, here.rows.send
        self.M = here.root * send(np.array([mixture.rows for mixture in cores.mixtures]))
        totals = send(np.array([mixture.total for mixture in cores.mixtures]))
        added = send(np.array([mixture.bias_sum for mixture in cores.mixtures]))
        inside, self.rates, constants = map(send, cores[1:4])
        self.of_bias, self.of_own = self.rates * totals, -0.5 * self.rates
        self.fixed = constants + self.rates * (added + here.formula.offset * totals - 0.5 * inside)
        self._columns = torch.cat(
            [self.rates[:, None] * self.M, self.of_bias[:, None], self.of_own[:, None]], 1
        )

    def best(self) -> tuple[Tensor, Tensor]:
        """The core with the highest score of each object, and the score; they stay on the device."""
        here = self.here
        large = here.rows.n * len(self.fixed) >= WORTH_A_KERNEL and here.features.stored is not None
        level = here.work == torch.float32 and (here.static is not None or here.scale is not None)
        if not (large and level and fused.usable(here.device)):
            return self.plainly()
        try:
            return fused.with_fallback(self._swept, self.plainly)
        except torch.OutOfMemoryError:  # it holds a few numbers of every object, the plain form of a block
            pass
        return self.plainly()  # outside the handler, which holds on to what did not fit

    def plainly(self) -> tuple[Tensor, Tensor]:
        """All scores in float64, block after block."""
        here = self.here
        top = torch.empty(here.rows.n, dtype=torch.float64, device=here.device)
        best = torch.empty(here.rows.n, dtype=torch.int64, device=here.device)
        for part, u, bias in here.lifted(4 * len(self.fixed)):
            top[part], best[part] = self._of(u, bias)
        return best, top

    def _of(self, u: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        """The highest scores of rows u, and of which cores they are."""
        own = self.here.own_of(u)
        pair = torch.stack([torch.zeros_like(own) if bias is None else bias, own], 1)
        found = torch.addmm(self.fixed, torch.cat([u, pair], 1), self._columns.T).max(1)
        return found.values, found.indices

    def _swept(self) -> tuple[Tensor, Tensor]:
        here, formula, stored = self.here, self.here.formula, self.here.features.stored
        W = self.rates[:, None] * self.M
        weights, constant = here.rough_weights(W)
        if here.static is not None:  # b differs from object to object, the diagonal does not
            numbers, slope = here.static, self.of_bias
            low = self.fixed - constant + self.of_own * formula.offset
        else:
            assert here.scale is not None
            numbers, slope = formula.own((here.scale > 0).float()), self.of_own
            low = self.fixed - constant
        center = here.center.float() if here.centred_first else None
        best, margin = fused.sweeps().best(
            stored, weights, low.float(), slope.float(), numbers, here.scale, center
        )
        sizes = slope.abs() * float(numbers.abs().max()) + low.abs() + constant.abs()
        error = float((here.rounding_of(W) + 2.0**-20 * sizes).max())
        doubtful = torch.nonzero(margin <= 2.1 * error).view(-1)
        height = here.height(4 * len(self.fixed) + 3 * here.d)
        for begin in range(0, len(doubtful), height):
            some = doubtful[begin : begin + height]
            u = here.at(some)
            best[some] = self._of(u, here.bias(u))[1]
        values, bias, own = here.from_products(*fused.sweeps().matched(stored, best, self.M, here.center))
        top = self.fixed[best] + self.rates[best] * values + self.of_own[best] * own
        if bias is not None:
            top += self.of_bias[best] * bias
        return best, top
