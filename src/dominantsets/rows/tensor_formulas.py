r"""Rows on a device as a formula sees them.

Rows stay as they are stored. What is exact is made of a few of them in float64; what looks at all of them for
many starts makes products in float32 (TF32 where the device has it), and knows how wrong they may be. As in
the dual (docs/theory-dual.md) rows are here :math:`u = \sqrt c\,v`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dominantsets.rows.base import LARGEST, Recipe
from dominantsets.rows.tensor_block import DeviceBlock
from dominantsets.rows.tensor_features import Features
from dominantsets.rows.tiles import Sums as TileSums
from dominantsets.rows.tiles import Tiles

FAR = 4.0  # lengths of the mean, in lengths of the longest centred row, beyond which rows are centred first


class Exact(NamedTuple):
    """Rows u in float64, their b, and what the formula has on the diagonal."""

    u: Tensor
    bias: Tensor
    own: Tensor


class FormulaTensors:
    """Rows on a device as a low-rank formula sees them."""

    def __init__(self, rows: DeviceBlock, recipe: Recipe) -> None:
        self.rows, self.formula = rows, recipe.formula
        formula = self.formula
        self.root, self.d, self.device = float(formula.root), rows.d, rows.device
        self.work = torch.float64 if self.features.dtype == torch.float64 else torch.float32
        center = np.zeros(rows.d) if recipe.center is None else recipe.center
        self.center = rows.send(center)
        self._turned = -self.root * self.center
        norms, stored = self._norms()
        self.static: Tensor | None = None  # b of all objects, rounded
        self.scale: Tensor | None = None  # one over each row's length, rounded
        if formula.unit:
            self.scale = torch.where(norms > 0, norms.rsqrt(), 0.0).to(self.work)
            norms = (norms > 0).double()
        elif formula.has_bias:
            self.static = -norms.to(self.work)
        told = torch.stack([norms.sum(), *torch.aminmax(norms)]).tolist()
        self.squares, self.shortest_square, self.longest_square = told
        self.longest = float(np.sqrt(self.longest_square))
        # the centre is a correction of the products, unless it would leave them only rounding
        self.centred_first = formula.centred and stored > FAR * self.longest
        self._stored_length = stored if formula.centred and not self.centred_first else self.longest

    @property
    def features(self) -> Features:
        """The rows as they are stored."""
        return self.rows.features

    def _norms(self) -> tuple[Tensor, float]:
        """Squared lengths of the (centred) rows, and the length of the longest stored row."""
        out = torch.empty(self.rows.n, dtype=torch.float64, device=self.device)
        longest = 0.0
        for begin, raw in self.features.blocks(self.height(3 * self.d)):
            block = raw.double()
            if self.formula.centred:
                longest = max(longest, float(torch.linalg.vector_norm(block, dim=1).max()))
                block = block - self.center
            out[begin : begin + len(raw)] = torch.linalg.vector_norm(block, dim=1).square_()
        return out, longest

    def height(self, columns: int) -> int:
        """Rows of a block with so many float64 numbers each."""
        return self.rows.height(columns)

    # what a sweep over all objects asks -----------------------------------------------------------------

    def rough(self, begin: int, block: Tensor) -> Tensor:
        """Stored rows as a sweep multiplies them."""
        if self.scale is not None:
            return block * self.scale[begin : begin + len(block), None]
        block = block.to(self.work)
        return block - self.center.to(self.work) if self.centred_first else block

    def rough_weights(self, W: Tensor) -> tuple[Tensor, Tensor]:
        """What rough rows are multiplied with, and what is to be subtracted then."""
        scaled = self.root * W
        constant = torch.zeros(len(W), dtype=torch.float64, device=W.device)
        if self.formula.centred and not self.centred_first:
            constant = scaled @ self.center
        return scaled.to(self.work), constant

    def rough_of(self, exact: Exact) -> Tensor:
        """Exact rows as a sweep multiplies them."""
        rows: Tensor = exact.u / self.root
        if self.formula.centred and not self.centred_first:
            rows = rows + self.center
        return rows.to(self.work)

    def rounding_of(self, W: Tensor) -> Tensor:
        """How far a rough value u·w + b may be off, for each row of W."""
        relative = self.d * 2.0**-50 if self.work == torch.float64 else 2.0**-9 + self.d * 2.0**-22
        bias = self.longest**2 if self.static is not None else 0.0
        ulp = 2.0**-50 if self.work == torch.float64 else 2.0**-21
        sizes: Tensor = W.norm(dim=1) * ((relative + ulp) * self.root * self._stored_length)
        return sizes + ulp * bias

    # what is exact --------------------------------------------------------------------------------------

    def lift(self, raw: Tensor) -> Tensor:
        """u of stored rows, in float64."""
        if self.formula.centred:
            whole = not raw.is_floating_point()
            # one sweep over the rows: root (x - mean)
            return torch.add(self._turned, raw.to(self.work) if whole else raw, alpha=self.root)
        rows = raw.double()
        if self.formula.unit:
            rows = rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True).clamp_min_(1.0 / LARGEST)
        return rows

    def bias(self, u: Tensor) -> Tensor | None:
        """b of rows u, where it is not 0."""
        if not self.formula.has_bias:
            return None
        out: Tensor = torch.linalg.vector_norm(u, dim=-1).square_().mul_(-1.0 / self.formula.factor)
        return out

    def own_of(self, u: Tensor) -> Tensor:
        """What the formula has on the diagonal, for rows u."""
        if self.formula.has_bias:
            return torch.full((len(u),), self.formula.offset, dtype=torch.float64, device=self.device)
        own: Tensor = self.formula.own(self.square_lengths(u))
        return own

    def square_lengths(self, u: Tensor) -> Tensor:
        """|v|² of rows u."""
        squares: Tensor = torch.linalg.vector_norm(u, dim=1).square_()
        return (squares > 0).double() if self.formula.unit else squares.div_(self.formula.factor)

    def exact(self, raw: Tensor) -> Exact:
        """u, b and the diagonal of stored rows, in float64."""
        u = self.lift(raw)
        bias, own = self.bias(u), self.own_of(u)
        return Exact(u, torch.zeros_like(own) if bias is None else bias, own)

    def products(self, objects: Tensor, owner: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
        """(x - center)·w and |x - center|² in float64 (of x where rows are not centred), for tiles."""
        raw = self.features.take(objects.view(-1))
        rows = (raw - self.center if self.formula.centred else raw.double()).view(*objects.shape, -1)
        return torch.bmm(rows, W[owner, :, None])[..., 0], torch.linalg.vector_norm(rows, dim=2).square_()

    def from_products(self, products: Tensor, squares: Tensor) -> tuple[Tensor, Tensor | None, Any]:
        """u·w of what ``products`` gives; b, where it is not 0; and what is on the diagonal."""
        values = products * self.root
        if self.formula.unit:
            there = squares > 0
            values, squares = torch.where(there, values * squares.rsqrt(), 0.0), there.double()
        own = self.formula.offset if self.formula.has_bias else self.formula.own(squares)
        return values, self.formula.bias(squares), own

    def lifted(self, columns: int) -> Iterator[tuple[slice, Tensor, Tensor | None]]:
        """Rows u and their b, in blocks for which so many float64 numbers a row fit besides."""
        for begin, raw in self.features.blocks(self.height(columns + 3 * self.d)):
            u = self.lift(raw)
            yield slice(begin, begin + len(raw)), u, self.bias(u)

    def at(self, objects: Tensor) -> Tensor:
        """u of these objects, in float64."""
        return self.lift(self.features.take(objects))

    def chosen(self, objects: Tensor) -> Exact:
        """u, b and the diagonal of these objects, in float64."""
        return self.exact(self.features.take(objects))

    def own_at(self, objects: Tensor) -> Tensor:
        """What the formula has on the diagonal, for these objects."""
        if self.formula.has_bias:
            return torch.full((len(objects),), self.formula.offset, dtype=torch.float64, device=self.device)
        height = self.height(3 * self.d)
        return torch.cat(
            [self.own_of(self.at(objects[b : b + height])) for b in range(0, max(1, len(objects)), height)]
        )

    def own(self) -> Tensor:
        """What the formula has on the diagonal, for all objects."""
        if self.formula.has_bias:
            return torch.full_like(self.center[:1], self.formula.offset).expand(self.rows.n)
        blocks = self.features.blocks(self.height(3 * self.d))
        return torch.cat([self.own_of(self.lift(raw)) for _, raw in blocks])

    def mixture(self, objects: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The sums of weights times u, and of weights times b."""
        mixed = torch.zeros(self.d, dtype=torch.float64, device=self.device)
        bias_sum = torch.zeros((), dtype=torch.float64, device=self.device)
        height = self.height(3 * self.d)
        for begin in range(0, len(objects), height):
            part = slice(begin, begin + height)
            u = self.at(objects[part])
            bias = self.bias(u)
            mixed += weights[part] @ u
            if bias is not None:
                bias_sum += weights[part] @ bias
        return mixed, bias_sum

    def swept(self, mixed: Tensor, bias_sum: Any, total: float) -> Tensor:
        """Sums of weights times similarity of all objects, with what the formula has on the diagonal."""
        out = torch.empty(self.rows.n, dtype=torch.float64, device=self.device)
        for begin, raw in self.features.blocks(self.height(3 * self.d)):
            u = self.lift(raw)
            bias, here = self.bias(u), out[begin : begin + len(raw)]
            torch.mv(u, mixed, out=here)
            if bias is not None:
                here.add_(bias, alpha=total)
        return out.add_(self.formula.offset * total + bias_sum)

    def degrees_of(self, alive: Tensor | None = None) -> Tensor:
        """Sums of similarity to the objects that are alive."""
        mixed = torch.zeros(self.d, dtype=torch.float64, device=self.device)
        bias_sum, count = torch.zeros_like(mixed[0]), self.rows.n if alive is None else int(alive.sum())
        for begin, raw in self.features.blocks(self.height(3 * self.d)):
            u = self.lift(raw)
            bias = self.bias(u)
            here = None if alive is None else alive[begin : begin + len(raw)].double()
            mixed += u.sum(0) if here is None else here @ u
            if bias is not None:
                bias_sum += bias.sum() if here is None else here @ bias
        out, own = self.swept(mixed, bias_sum, float(count)), self.own()
        return out.sub_(own if alive is None else own * alive)

    def summed(self, objects: Tensor) -> Tensor:
        """Sums of similarity to these objects, with what the formula has on the diagonal."""
        ones = torch.ones(len(objects), dtype=torch.float64, device=self.device)
        return self.swept(*self.mixture(objects, ones), float(len(objects)))

    # payoffs of many points ------------------------------------------------------------------------------

    def mixtures(self, tiles: Tiles, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The sums of weights times u (starts × features), and of weights times b, of every start."""
        mixed, bias_sum = TileSums(tiles.s), TileSums(tiles.s)
        for part, starts, add in tiles.parts(self.height(3 * self.d * tiles.width)):
            chosen, shares = tiles.objects[part], weights[part]
            u = self.at(chosen.view(-1)).view(*chosen.shape, self.d)
            mixed.add(starts, add(torch.bmm(shares[:, None, :], u)[:, 0]))
            bias = self.bias(u)
            if bias is not None:
                bias_sum.add(starts, add((shares * bias).sum(1, keepdim=True)))
        if self.formula.has_bias:
            return mixed.all, bias_sum.all[:, 0]
        return mixed.all, torch.zeros(tiles.s, dtype=torch.float64, device=self.device)

    def inside(
        self, tiles: Tiles, weights: Tensor, shift: Any, bias_sum: Tensor, products: tuple[Tensor, Tensor]
    ) -> Tensor:
        """r of the members, as the tiles are, from what ``products`` gives for the mixtures."""
        values, bias, own = self.from_products(*products)
        out: Tensor = values - (own + shift) * weights
        if bias is not None:
            out += bias
        return out.add_((bias_sum + self.formula.offset)[tiles.owner, None])

    def all_values(
        self, mixtures: tuple[Tensor, Tensor], alive: Tensor, height: int
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """r of all objects as if none had a weight, removed ones at -inf, in blocks.

        Each is the number of its first object, starts × rows, and what is to be added for each start.
        """
        mixed, bias_sum = mixtures
        constant = bias_sum + self.formula.offset
        for begin, raw in self.features.blocks(height):
            u = self.lift(raw)
            bias, there = self.bias(u), alive[begin : begin + len(raw)]
            below = torch.where(there, 0.0 if bias is None else bias, -torch.inf)
            yield begin, (mixed @ u.T).add_(below), constant


class KernelTensors:
    r"""Rows on a device as a kernel sees them: positive semidefinite, with ones on the diagonal."""

    def __init__(self, rows: DeviceBlock, recipe: Recipe) -> None:
        self.rows, self.formula = rows, recipe.formula
        self.center = rows.send(np.zeros(rows.d) if recipe.center is None else recipe.center)

    def at(self, objects: Tensor) -> Tensor:
        """Centred rows in float64."""
        return self.rows.features.take(objects).double() - self.center

    def between(self, P: Tensor, Q: Tensor) -> Tensor:
        """Similarities of the rows of P to those of Q."""
        return self.distances(P, Q).mul_(-self.formula.gamma).exp_()

    def distances(self, P: Tensor, Q: Tensor) -> Tensor:
        """The distances that gamma multiplies."""
        if not self.formula.of_inner_products:
            return torch.cdist(P, Q, p=1.0)
        squares: Tensor = torch.linalg.vecdot(P, P)[:, None] + torch.linalg.vecdot(Q, Q)[None, :]
        return squares.sub_(P @ Q.T, alpha=2.0).clamp_min_(0.0)

    def blocks(self, width: int) -> Iterator[tuple[int, Tensor]]:
        """All centred rows, so many that a block of that width fits."""
        for begin, raw in self.rows.features.blocks(self.rows.height(width + 3 * self.rows.d)):
            yield begin, raw.double() - self.center

    def summed(self, columns: Tensor, weights: Tensor, squares: bool = False) -> Tensor:
        """Weighted sums of similarities to given rows (and, in a second row, of their squares)."""
        out = torch.zeros((1 + squares, self.rows.n), dtype=torch.float64, device=self.rows.device)
        step = 4096
        for first in range(0, len(columns), step):
            chosen, shares = columns[first : first + step], weights[first : first + step]
            for begin, rows in self.blocks(2 * len(chosen)):
                table = self.between(rows, chosen)
                out[0, begin : begin + len(rows)] += table @ shares
                if squares:
                    out[1, begin : begin + len(rows)] += table.square_().sum(1)
        return out


def local(rows: DeviceBlock, recipe: Recipe) -> FormulaTensors:
    """The rows under a low-rank formula; what was measured of them is kept."""
    found: FormulaTensors = rows.measured(recipe.name, lambda: FormulaTensors(rows, recipe))
    found.formula = recipe.formula  # which may differ by its offset
    return found


def kernel(rows: DeviceBlock, recipe: Recipe) -> KernelTensors:
    """The rows under a kernel."""
    found: KernelTensors = rows.measured(recipe.name, lambda: KernelTensors(rows, recipe))
    found.formula = recipe.formula
    return found
