r"""A pass of the dual for many starts at once, in torch: on a device, or on a CPU for tests.

For s starts x(w) needs the values :math:`u_i \cdot w + b_i` of n objects, s thresholds tau, and sums over the
supports. Any set C bounds tau from below by g(C) (docs/theory-dual.md), and for a fixed set that bound is
linear in w: the support of the last accepted point gives

.. math:: \tau(w') \ge \tau(w) + \bar u \cdot (w' - w)

without a look at the objects. So one sweep is enough: products in low precision, block after block, compared
with the bound less what rounding may do; who is above is a candidate, and candidates are little more than the
support. Everything after that (values, tau, weights, sums, Newton's matrix) is made of the candidates' rows
in float64. The first pass has no bound yet; it takes a level from a sample of the objects, and where that
turns out too high, g of what was found bounds tau for a second sweep. The n × s values exist a block at a
time.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear

from dominantsets.similarity.tensor_low_rank import TensorLowRank
from dominantsets.similarity.tensors import allowed, fast_products
from dominantsets.similarity.tiles import Tiles
from dominantsets.solvers import fused

BLOCK_VALUES = {"cuda": 2**28, "cpu": 2**21}  # rough values that are there at once
CANDIDATES = {"cuda": 2**27, "cpu": 2**24}  # candidates of one sweep; with more the starts are split up
PART_NUMBERS = {"cuda": 2**27, "cpu": 2**20}  # float64 numbers of the candidates' rows that are there at once
SAMPLE_VALUES, SAMPLE = 2**26, 2**17  # of the first level
SAMPLE_ROUNDS = 24
FUSED = True  # whether Triton kernels are used where they can be
DENSE_LIMIT = 2_000  # features up to which Newton's matrix is made


class Trial(NamedTuple):
    """x(w) of every start and what follows from it."""

    tau: Tensor
    image: Tensor  # U'x
    f: Tensor
    mean: Tensor  # the support's rows, weighted by 1 / kappa: the derivative of tau
    jacobian: Tensor | None
    tiles: Tiles
    weights: Tensor  # as the tiles are


class Clock:
    """Seconds by what they were spent on, where somebody wants to know."""

    def __init__(self, device: torch.device, wanted: bool = False) -> None:
        self.seconds: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        self.wanted = wanted
        self._cuda = device.type == "cuda"
        self._last = 0.0

    def begin(self) -> None:
        self.add("other")

    def add(self, name: str) -> None:
        """What has passed since the last call was spent on ``name``."""
        if not self.wanted:
            return
        if self._cuda:
            torch.cuda.synchronize()
        now = time.perf_counter()
        if self._last:
            self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now


class Batch:
    """The dual of the objects that are alive, for many w at once."""

    def __init__(
        self, similarity: TensorLowRank, shift: float, alive: Tensor, n_alive: int, clock: Clock | None = None
    ) -> None:
        self.similarity, self.shift, self.alive, self.n_alive = similarity, shift, alive, n_alive
        least = similarity.least_own + shift
        if least <= 0.0:
            raise ValueError(
                f"algorithm='dual' needs a shift above {shift - least:.6g} here, got {shift:.6g}: below it "
                "the problem is not concave along any single object."
            )
        self.device = similarity.device
        self.clock = clock or Clock(self.device)
        bias = similarity.static
        nothing = torch.zeros(similarity.n, dtype=similarity.work, device=self.device)
        self._bias = torch.where(
            alive, nothing if bias is None else bias, -torch.inf
        )  # the dead are far below
        self._sample: tuple[Tensor, Tensor, Tensor, float] | None = None
        self.fused = FUSED and similarity.features.stored is not None and fused.usable(self.device)
        self.newton = similarity.n_features <= DENSE_LIMIT
        self.reach = similarity.root * similarity.longest

    # a sweep over all objects ---------------------------------------------------------------------------

    def above(self, W: Tensor, level: Tensor, limit: int) -> tuple[Tensor, Tensor] | None:
        """Objects whose value may exceed their start's level: (objects, starts), by start then number.

        None where there are more than ``limit``.
        """
        similarity = self.similarity
        weights, constant = similarity.rough_weights(W)
        cut = level + constant - similarity.rounding_of(W)
        cut = (cut - cut.abs() * (2.0**-22)).to(similarity.work)
        self.clock.counts["sweeps"] += 1
        if not self.fused or similarity.work != torch.float32:
            return self._above(weights, cut[:, None], limit)
        center = similarity.center.float() if similarity.centred_first else None
        stored = similarity.features.stored
        return fused.tried(
            lambda: fused.above(
                stored, weights.contiguous(), cut.contiguous(), self._bias, similarity.scale, center, limit
            ),
            lambda: self._above(weights, cut[:, None], limit),
        )

    def _above(self, weights: Tensor, cut: Tensor, limit: int) -> tuple[Tensor, Tensor] | None:
        """The plain form: the values of a block, a comparison, the places."""
        similarity = self.similarity
        s, n = len(weights), similarity.n
        height = max(1, min(n, allowed(BLOCK_VALUES, self.device) // s))
        objects, starts, count = [], [], 0
        with fast_products():
            for begin, block in similarity.features.blocks(height):
                rows = similarity.rough(begin, block)
                # as a layer of a network: one product with the bias of the rows added on the way
                values = linear(weights, rows, self._bias[begin : begin + len(block)])
                flat = torch.nonzero((values > cut).view(-1)).view(-1)
                count += len(flat)
                if count > limit:
                    return None
                start = torch.div(flat, len(block), rounding_mode="floor")
                objects.append(flat - start * len(block) + begin)
                starts.append(start.to(torch.int32))
        found, owner = torch.cat(objects), torch.cat(starts)
        if len(objects) > 1 and s > 1:
            owner, order = torch.sort(owner, stable=True)
            found = found[order]
        return found, owner

    def first_level(self, W: Tensor) -> Tensor:
        """A level that is probably a little below tau, from a sample of the objects."""
        rows, bias, inverse, each = self._drawn(len(W))
        weights, constant = self.similarity.rough_weights(W)
        with fast_products():
            values = linear(weights, rows, bias)
        top = values.amax(1, keepdim=True)
        values = values - top
        level = torch.full_like(top, -torch.inf)
        for _ in range(SAMPLE_ROUNDS):  # rising, each bound of what is above the last one
            inside = (values > level) * inverse
            mass = inside.sum(1, keepdim=True).clamp_min_(torch.finfo(values.dtype).tiny)
            level = ((inside * values).sum(1, keepdim=True) * each - 1.0) / (mass * each)
        inside = values > level
        count = inside.sum(1, keepdim=True).clamp_min_(1)
        share = inside * inverse
        wanted = 1.0 + 4.0 / count.to(values.dtype).sqrt()  # more mass than 1: a sample errs
        level = ((share * values).sum(1, keepdim=True) * each - wanted) / (share.sum(1, keepdim=True) * each)
        return (level + top)[:, 0].double() - constant

    def _drawn(self, s: int) -> tuple[Tensor, Tensor, Tensor, float]:
        """Rough rows of a sample of the living, their b and 1/kappa, and how many objects each stands for."""
        if self._sample is None:
            similarity = self.similarity
            wanted = min(SAMPLE, max(4096, SAMPLE_VALUES // s))
            if self.n_alive <= 2 * wanted:
                objects = torch.nonzero(self.alive).view(-1)
            else:
                rng = np.random.RandomState(0)
                draws = torch.from_numpy(rng.randint(similarity.n, size=2 * wanted)).to(self.device)
                objects = draws[self.alive[draws]][:wanted]
                if len(objects) < wanted // 4:  # most are gone
                    left = torch.nonzero(self.alive).view(-1)
                    objects = left[torch.from_numpy(rng.randint(len(left), size=wanted)).to(self.device)]
            objects = objects.sort().values
            raw = similarity.features.take(objects)
            exact = similarity.exact(raw)
            work = similarity.work
            rows = exact.u / similarity.root
            if similarity.kind == "sqeuclidean" and not similarity.centred_first:
                rows = rows + similarity.center
            inverse = (1.0 / (exact.own + self.shift)).to(work)
            self._sample = (rows.to(work), exact.bias.to(work), inverse, self.n_alive / len(objects))
        return self._sample

    # x(w) -----------------------------------------------------------------------------------------------

    def at(self, W: Tensor, level: Tensor | None = None) -> Trial:
        """x(w) for every row w; ``level`` holds lower bounds of tau, where they are known."""
        self.clock.begin()
        certain = level is not None
        guess = self.first_level(W) if level is None else level
        self.clock.add("first level")
        found = self.above(W, guess, allowed(CANDIDATES, self.device))
        self.clock.add("sweep")
        if found is None and len(W) > 1:
            return self._split(W, level)
        if found is None:
            found = self.above(W, guess, 2**62)
            assert found is not None
        tiles, values, inverse, bias = self._candidates(W, *found)
        self.clock.add("values of candidates")
        if not certain:
            bound = self._bound(tiles, values, inverse)
            slack = bound.abs() * 1e-12
            if bool((bound - slack < guess).any()):  # somebody between the two may have been left out
                return self.at(W, torch.minimum(bound - slack, guess))
        return self._threshold(W, tiles, values, inverse, bias)

    def _split(self, W: Tensor, level: Tensor | None) -> Trial:
        """The same for two halves of the starts, one after the other."""
        half = len(W) // 2
        parts = [slice(None, half), slice(half, None)]
        one, other = (self.at(W[part], None if level is None else level[part]) for part in parts)
        members = [(trial, trial.tiles.valid & (trial.weights > 0)) for trial in (one, other)]
        lists = [trial.tiles.chosen(which) for trial, which in members]
        tiles = Tiles(torch.cat([o for o, _ in lists]), np.concatenate([c for _, c in lists]))
        weights = torch.zeros_like(tiles.valid, dtype=torch.float64)
        weights[tiles.valid] = torch.cat([trial.weights[which] for trial, which in members])
        tau, image, f, mean = (torch.cat([a, b]) for a, b in zip(one[:4], other[:4], strict=True))
        jacobian = None
        if one.jacobian is not None and other.jacobian is not None:
            jacobian = torch.cat([one.jacobian, other.jacobian])
        return Trial(tau, image, f, mean, jacobian, tiles, weights)

    def _candidates(self, W: Tensor, objects: Tensor, owner: Tensor) -> tuple[Tiles, Tensor, Tensor, Tensor]:
        """Values, 1/kappa and b of candidates, exactly; what only fills up has 1/kappa = 0 and value 0."""
        ends = torch.searchsorted(owner, torch.arange(1, len(W) + 1, device=self.device, dtype=owner.dtype))
        counts = np.diff(ends.cpu().numpy(), prepend=0)
        tiles = Tiles(objects, counts)
        values = torch.zeros(tiles.valid.shape, dtype=torch.float64, device=self.device)
        inverse, bias = torch.zeros_like(values), torch.zeros_like(values)
        for part, _, _ in tiles.parts(self._tiles_at_once(tiles)):
            products, bias[part], own = self.similarity.from_products(*self._products(tiles, part, W))
            values[part] = products + bias[part]
            inverse[part] = 1.0 / (own + self.shift)
        inverse *= tiles.valid
        values *= tiles.valid
        self.clock.counts["candidates"] += len(objects)
        return tiles, values, inverse, bias

    def _products(self, tiles: Tiles, part: slice, W: Tensor) -> tuple[Tensor, Tensor]:
        similarity, objects, owner = self.similarity, tiles.objects[part], tiles.owner[part]
        if not self.fused:
            return similarity.products(objects, owner, W)
        center = similarity.center * (similarity.kind == "sqeuclidean")
        stored = similarity.features.stored
        return fused.tried(
            lambda: fused.products(stored, objects, owner, W.contiguous(), center),
            lambda: similarity.products(objects, owner, W),
        )

    def _tiles_at_once(self, tiles: Tiles) -> int:
        numbers = allowed(PART_NUMBERS, self.device)
        d = self.similarity.n_features
        return max(1, numbers // (d * max(tiles.width, d if self.newton else 1)))

    @staticmethod
    def _bound(tiles: Tiles, values: Tensor, inverse: Tensor) -> Tensor:
        """g(C) of each start's candidates; -inf where there are none."""
        mass = tiles.total(inverse)
        bound = (tiles.total(inverse * values) - 1.0) / mass
        return torch.where(mass > 0, bound, -torch.inf)

    def _threshold(self, W: Tensor, tiles: Tiles, values: Tensor, inverse: Tensor, bias: Tensor) -> Trial:
        """Narrow the candidates until none lies below the tau of the rest of its start; then weigh them."""
        inside = inverse
        owner = tiles.owner
        # sums of differences from each start's largest value: the values themselves may be large and alike
        peaks = torch.where(tiles.valid, values, -torch.inf).amax(1)
        top = torch.full((len(W),), -torch.inf, dtype=torch.float64, device=self.device)
        top = top.scatter_reduce(0, owner, peaks, "amax")
        below = values - top[owner, None]
        tau = torch.zeros_like(top)
        for _ in range(200):
            mass = tiles.total(inside)
            tau = (tiles.total(inside * below) - 1.0) / mass
            kept = inside * (below > tau[owner, None])
            # a candidate that equals tau has no weight; where rounding leaves none, that start's set stands
            kept = torch.where((tiles.total(kept) > 0)[owner, None], kept, inside)
            if torch.equal(kept, inside):
                break
            inside = kept
        weights = inside * (below - tau[owner, None]).clamp_min_(0.0)
        weights = weights / tiles.total(weights)[owner, None]
        self.clock.add("threshold")
        trial = self._moments(W, tiles, weights, inside)
        square = torch.where(weights > 0, weights**2 / inverse.clamp_min(1e-300), 0.0)
        f = torch.linalg.vecdot(trial[0], trial[0]) + self.similarity.offset - tiles.total(square)
        f = f + 2.0 * tiles.total(bias * weights)
        return Trial(tau + top, trial[0], f, trial[1], trial[2], tiles, weights)

    def _moments(
        self, W: Tensor, tiles: Tiles, weights: Tensor, inside: Tensor, exact: bool = False
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """U'x, the mean row of each support, and J about it (in float64 where it has to be exact)."""
        s, d = W.shape
        mass = tiles.total(inside)
        sums = torch.zeros((s, 2, d), dtype=torch.float64, device=self.device)
        second = torch.zeros((s, d * d), dtype=torch.float64, device=self.device) if self.newton else None
        kind = torch.float64 if exact else self.similarity.work
        members = inside > 0
        if not bool(tiles.valid.all()) or not bool(members.all()):  # leave out what has no weight
            objects, counts = tiles.chosen(members)
            packed = Tiles(objects, counts)
            pairs = torch.zeros((*packed.valid.shape, 2), dtype=torch.float64, device=self.device)
            pairs[packed.valid] = torch.stack([weights[members], inside[members]], 1)
        else:
            packed, pairs = tiles, torch.stack([weights, inside], 2)
        for part, starts, adding in packed.parts(self._tiles_at_once(packed)):
            chosen, owner = packed.objects[part], packed.owner[part]
            u = self.similarity.chosen(chosen.view(-1)).u.view(*chosen.shape, d)
            first = torch.bmm(pairs[part].transpose(1, 2), u)
            sums[starts] += (adding @ first.view(len(owner), -1)).view(-1, 2, d)
            if second is not None:
                # about w, which is near the mean: what is summed is small then
                about = torch.empty(u.shape, dtype=kind, device=self.device)
                torch.sub(u, W[owner, None, :], out=about)
                about *= pairs[part][..., 1:].sqrt().to(kind)
                with fast_products():
                    piece = torch.bmm(about.transpose(1, 2), about)
                second[starts] += adding @ piece.view(len(owner), -1).double()
        image, mean = sums[:, 0], sums[:, 1] / mass[:, None]
        jacobian = None
        if second is not None:
            away = mean - W
            jacobian = second.view(s, d, d) - mass[:, None, None] * away[:, :, None] * away[:, None, :]
        self.clock.add("sums of supports")
        return image, mean, jacobian

    def definite(self, W: Tensor, tiles: Tiles, weights: Tensor) -> Tensor | None:
        """Whether I - J is positive definite, beyond rounding, at supports of the starts: in float64."""
        if not self.newton:
            return None
        inverse = torch.zeros_like(weights)
        for part, _, _ in tiles.parts(self._tiles_at_once(tiles)):
            own = self.similarity.chosen(tiles.objects[part].view(-1)).own
            inverse[part] = (1.0 / (own + self.shift)).view(inverse[part].shape)
        _, _, jacobian = self._moments(W, tiles, weights, inverse * tiles.valid, exact=True)
        assert jacobian is not None
        d = jacobian.shape[1]
        eps = torch.finfo(torch.float64).eps
        slack = 4 * eps * d * jacobian.abs().amax((1, 2)).clamp_min(1.0)
        eye = torch.eye(d, dtype=torch.float64, device=self.device)
        failed: Tensor = torch.linalg.cholesky_ex((1.0 - slack)[:, None, None] * eye - jacobian).info
        return failed == 0
