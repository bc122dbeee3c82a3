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

from dominantsets.rows.tensors import allowed, fast_products
from dominantsets.similarity.tensor_low_rank import TensorLowRank
from dominantsets.solvers import fused
from dominantsets.solvers.tiles import Sums, Tiles

BLOCK_VALUES = {"cuda": 2**28, "cpu": 2**21}  # rough values that are there at once
CANDIDATES = {"cuda": 2**27, "cpu": 2**24}  # candidates of one sweep; with more the starts are split up
PART_NUMBERS = {"cuda": 2**27, "cpu": 2**20}  # float64 numbers of the candidates' rows that are there at once
SAMPLE_VALUES, SAMPLE = 2**26, 2**17  # of the first level
PACKED = 0.8  # members among candidates above which the others are summed too, with weight 0
FUSED = True  # whether Triton kernels are used where they can be
FEW_STARTS = (
    8  # up to which one of them finds the thresholds: for 64 it took three times the plain form's time
)
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


class Weighed(NamedTuple):
    """The weights of candidates, and what follows from them for every start."""

    tau: Tensor
    bound: Tensor  # g of all candidates
    mass: Tensor  # of the members: the sum of 1 / kappa
    spent: Tensor  # the sum of kappa x² - 2 b x
    weights: Tensor  # as the tiles are
    inside: Tensor  # 1 / kappa of the members, 0 elsewhere
    members: int  # of all starts together


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


def _fusible(similarity: TensorLowRank) -> bool:
    return FUSED and similarity.features.stored is not None and fused.usable(similarity.device)


def exact_products(similarity: TensorLowRank, tiles: Tiles, W: Tensor) -> tuple[Tensor, Tensor]:
    """(x - center)·w and |x - center|² in float64, as the tiles are (the centre is 0 but for sqeuclidean)."""

    def plain() -> tuple[Tensor, Tensor]:
        out = torch.empty((2, *tiles.valid.shape), dtype=torch.float64, device=similarity.device)
        numbers = allowed(PART_NUMBERS, similarity.device)
        for part, _, _ in tiles.parts(max(1, numbers // (similarity.n_features * tiles.width))):
            out[0, part], out[1, part] = similarity.products(tiles.objects[part], tiles.owner[part], W)
        return out[0], out[1]

    if not _fusible(similarity):
        return plain()
    stored, center = similarity.features.stored, similarity.subtracted
    return fused.tried(
        lambda: fused.products(stored, tiles.objects, tiles.owner, W.contiguous(), center), plain
    )


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
        self.fused = _fusible(similarity)
        self.newton = similarity.n_features <= DENSE_LIMIT
        self.reach = similarity.root * similarity.longest
        numbers = [similarity.root, similarity.offset, shift]
        self._numbers = torch.tensor(numbers, dtype=torch.float64).to(self.device)

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
        values, order = values.sort(1, descending=True)
        top = values[:, :1].clone()
        values -= top
        inverse = inverse[order]
        total, mass = (values * inverse).cumsum(1), inverse.cumsum(1)
        # tau is the largest g of the sets of highest values (docs/theory-dual.md)
        bounds = (total - 1.0 / each) / mass
        count = (values > bounds.amax(1, keepdim=True)).sum(1, keepdim=True).clamp_min_(1)
        wanted = 1.0 + 4.0 / count.to(values.dtype).sqrt()  # more mass than 1: a sample errs
        level = ((total - wanted / each) / mass).amax(1, keepdim=True)
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
        tiles = self._tiled(len(W), *found)
        weighed = self._weighed(W, tiles)
        self.clock.add("threshold")
        if not certain:
            bound = weighed.bound - weighed.bound.abs() * 1e-12
            if bool((bound < guess).any()):  # somebody between the two may have been left out
                return self.at(W, torch.minimum(bound, guess))
        image, mean, jacobian = self._moments(W, tiles, weighed)
        f = torch.linalg.vecdot(image, image) - weighed.spent + self.similarity.offset
        return Trial(weighed.tau, image, f, mean, jacobian, tiles, weighed.weights)

    def _split(self, W: Tensor, level: Tensor | None) -> Trial:
        """The same for two halves of the starts, one after the other."""
        half = len(W) // 2
        parts = [slice(None, half), slice(half, None)]
        one, other = (self.at(W[part], None if level is None else level[part]) for part in parts)
        members = [(trial, trial.tiles.valid & (trial.weights > 0)) for trial in (one, other)]
        lists = [trial.tiles.chosen(which) for trial, which in members]
        tiles = Tiles(torch.cat([o for o, _ in lists]), np.concatenate([c for _, c in lists]))
        weights = tiles.spread(torch.cat([trial.weights[which] for trial, which in members]))
        tau, image, f, mean = (torch.cat([a, b]) for a, b in zip(one[:4], other[:4], strict=True))
        jacobian = None
        if one.jacobian is not None and other.jacobian is not None:
            jacobian = torch.cat([one.jacobian, other.jacobian])
        return Trial(tau, image, f, mean, jacobian, tiles, weights)

    def _tiled(self, s: int, objects: Tensor, owner: Tensor) -> Tiles:
        counts = np.array([len(objects)])
        if s > 1:
            every = torch.arange(1, s + 1, device=self.device, dtype=owner.dtype)
            counts = np.diff(torch.searchsorted(owner, every).cpu().numpy(), prepend=0)
        self.clock.counts["candidates"] += len(objects)
        return Tiles(objects, counts)

    def _weighed(self, W: Tensor, tiles: Tiles) -> Weighed:
        """tau and the weights of candidates, exactly."""
        similarity = self.similarity
        products, squares = exact_products(similarity, tiles, W)
        self.clock.add("values of candidates")
        if not self.fused or tiles.s > FEW_STARTS:
            return self._narrowed(tiles, products, squares)
        return fused.tried(
            lambda: Weighed(*fused.weigh(tiles, products, squares, similarity.kind, self._numbers)),
            lambda: self._narrowed(tiles, products, squares),
        )

    def _narrowed(self, tiles: Tiles, products: Tensor, squares: Tensor) -> Weighed:
        """The plain form: narrow until no candidate lies below the tau of the rest of its start."""
        products, bias, own = self.similarity.from_products(products, squares)
        values = products if bias is None else products + bias
        inside, members = tiles.valid.double() / (own + self.shift), len(tiles.flat)
        owner = tiles.owner
        # sums of differences from each start's largest value: the values themselves may be large and alike
        peaks = torch.where(tiles.valid, values, -torch.inf).amax(1)
        top = torch.full((tiles.s,), -torch.inf, dtype=torch.float64, device=self.device)
        top = top.scatter_reduce(0, owner, peaks, "amax")
        below = torch.where(tiles.valid, values - top[owner, None], 0.0)
        bound = None
        while True:
            mass = tiles.total(inside)
            tau = (tiles.total(inside * below) - 1.0) / mass  # below 0, so that the largest value stays
            bound = tau + top if bound is None else bound
            above = below - tau[owner, None]
            kept = inside * (above > 0)
            before, members = members, int(kept.count_nonzero())
            if members == before:
                break
            inside = kept
        lifted = above.clamp_min_(0.0)
        weights = inside * lifted
        sums = tiles.total(weights)[owner, None]
        weights = weights / sums
        inner = lifted / sums  # kappa x
        spent = tiles.total(weights * (inner if bias is None else inner - 2.0 * bias))
        return Weighed(tau + top, bound, mass, spent, weights, inside, members)

    def _tiles_at_once(self, tiles: Tiles) -> int:
        numbers = allowed(PART_NUMBERS, self.device)
        d = self.similarity.n_features
        return max(1, numbers // (d * max(tiles.width, d if self.newton else 1)))

    def _moments(
        self, W: Tensor, tiles: Tiles, weighed: Weighed, exact: bool = False
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """U'x, the mean row of each support, and J about it (in float64 where it has to be exact)."""
        s, d = W.shape
        sums, second = Sums(s), Sums(s)
        kind = torch.float64 if exact else self.similarity.work
        packed, weights, inside, mass = tiles, weighed.weights, weighed.inside, weighed.mass
        if weighed.members < PACKED * len(tiles.flat):  # leave out what has no weight
            members = inside > 0
            packed = Tiles(*tiles.chosen(members))
            weights, inside = packed.spread(weights[members]), packed.spread(inside[members])
        pairs = torch.stack([weights, inside], 1)
        for part, starts, add in packed.parts(self._tiles_at_once(packed)):
            chosen, owner = packed.objects[part], packed.owner[part]
            u = self.similarity.rows(chosen.view(-1)).view(*chosen.shape, d)
            sums.add(starts, add(torch.bmm(pairs[part], u).view(len(owner), -1)))
            if self.newton:
                # about w, which is near the mean: what is summed is small then
                about = torch.empty(u.shape, dtype=kind, device=self.device)
                torch.sub(u, W[owner, None, :], out=about)
                about *= inside[part].sqrt().to(kind)[..., None]
                with fast_products():
                    piece = torch.bmm(about.transpose(1, 2), about)
                second.add(starts, add(piece.view(len(owner), -1).double()))
        image, mean = sums.all[:, :d], sums.all[:, d:] / mass[:, None]
        jacobian = None
        if self.newton:
            away = mean - W
            outer = (mass[:, None] * away)[:, :, None] * away[:, None, :]
            jacobian = second.all.view(s, d, d) - outer
        self.clock.add("sums of supports")
        return image, mean, jacobian

    def definite(self, W: Tensor, tiles: Tiles, weights: Tensor) -> Tensor:
        """Whether I - J is positive definite, beyond rounding, at supports of the starts: in float64."""
        inverse = tiles.spread(1.0 / (self.similarity.chosen_own(tiles.flat) + self.shift))
        mass = tiles.total(inverse)
        weighed = Weighed(mass, mass, mass, mass, weights, inverse, len(tiles.flat))
        _, _, jacobian = self._moments(W, tiles, weighed, exact=True)
        assert jacobian is not None
        d = jacobian.shape[1]
        eps = torch.finfo(torch.float64).eps
        slack = 4 * eps * d * jacobian.abs().amax((1, 2)).clamp_min(1.0)
        eye = torch.eye(d, dtype=torch.float64, device=self.device)
        failed: Tensor = torch.linalg.cholesky_ex((1.0 - slack)[:, None, None] * eye - jacobian).info
        return failed == 0
