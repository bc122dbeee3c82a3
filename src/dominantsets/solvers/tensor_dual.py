r"""A pass of the dual for many starts at once, in torch: on a device, or on a CPU for tests.

For s starts x(w) needs the values :math:`u_i \cdot w + b_i` of n objects, s thresholds tau, and sums over the
supports. Any set C bounds tau from below by g(C) (docs/theory-dual.md), and for a fixed set that bound is
linear in w: the support of the last accepted point gives

.. math:: \tau(w') \ge \tau(w) + \bar u \cdot (w' - w)

without a look at the objects. After a long step that is far below; a sample of the objects gives a level that
is close and probably lower than tau, too. So one sweep is enough: products in low precision, block after
block, compared with the higher of the two less what rounding may do; objects above it are candidates, little
more than the support. Everything after that (values, tau, weights, sums, Newton's matrix) is made of the
candidates' rows in float64. Where the sample's level turns out too high, g of what was found bounds tau for
a second sweep. The n × s values exist a block at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import linear

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import passes
from dominantsets.compiled.threads import blas, parallel_map, thread_slices
from dominantsets.rows import fused
from dominantsets.rows.tensor_block import allowed, fast_products, to_numpy
from dominantsets.rows.tensor_formulas import FormulaTensors
from dominantsets.rows.tiles import Sums, Tiles
from dominantsets.similarity.faces import EPS
from dominantsets.similarity.low_rank import require_concave
from dominantsets.solvers.monitor import Stopwatch

RAISES = 50  # trials of a multiple of I that shortens a step
SIGNS = 40  # products for the sign of a matrix: enough for eigenvalues of a millionth of the largest
ON_HOST = 2**15  # numbers of Newton's matrices up to which the host solves the systems
BLOCK_VALUES = {"cuda": 2**28, "cpu": 2**21}  # rough values that are held at once
CANDIDATES = {"cuda": 2**27, "cpu": 2**24}  # candidates of one sweep; with more the starts are split up
PART_NUMBERS = {"cuda": 2**27, "cpu": 2**20}  # float64 numbers of the candidates' rows that are held at once
SAMPLE_VALUES, SAMPLE = 2**26, 2**17  # of the first level
PACKED = 0.8  # members among candidates above which the others are summed too, with weight 0
DENSE_LIMIT = 2_000  # features up to which Newton's matrix is made
FUSED_LIMIT = 128  # features up to which a kernel holds it


class Trial(NamedTuple):
    """x(w) of every start and what follows from it."""

    tau: Tensor
    image: Tensor  # U'x
    f: Tensor
    mean: Tensor  # the support's rows, weighted by 1 / kappa: the derivative of tau
    mass: Tensor  # the sum of 1 / kappa of the support
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


def _fusible(local: FormulaTensors) -> bool:
    return local.features.stored is not None and fused.usable(local.device)


def exact_products(local: FormulaTensors, tiles: Tiles, W: Tensor) -> tuple[Tensor, Tensor]:
    """(x - center)·w and |x - center|² in float64, as the tiles are (not centred where rows are not)."""

    def plain() -> tuple[Tensor, Tensor]:
        out = torch.empty((2, *tiles.valid.shape), dtype=torch.float64, device=local.device)
        numbers = allowed(PART_NUMBERS, local.device)
        for part, _, _ in tiles.parts(max(1, numbers // (local.d * tiles.width))):
            out[0, part], out[1, part] = local.products(tiles.objects[part], tiles.owner[part], W)
        return out[0], out[1]

    if not _fusible(local):
        return plain()
    stored, center = local.features.stored, local.center
    return fused.with_fallback(
        lambda: fused.kernels().products(stored, tiles.objects, tiles.owner, W.contiguous(), center), plain
    )


class TensorDual:
    """The dual of the objects that are alive, for many w at once."""

    def __init__(
        self,
        local: FormulaTensors,
        least: float,
        alive: Tensor,
        n_alive: int,
        clock: Stopwatch | None = None,
        extra: Tensor | None = None,
    ) -> None:
        self.local, self.alive, self.n_alive = local, alive, n_alive
        formula = local.formula
        require_concave(float(formula.own(local.shortest_square)) + least, least)
        self.device = local.device
        self._extra = extra
        self.clock = clock or Stopwatch()
        nothing = torch.zeros(local.rows.n, dtype=local.work, device=self.device)
        bias = nothing if local.static is None else local.static
        self._bias = torch.where(alive, bias, -torch.inf)  # removed objects are far below
        self._sample: tuple[Tensor, Tensor, Tensor, float] | None = None  # rows, b, diagonal, how many each
        self.fused = _fusible(local)
        self.newton = local.d <= DENSE_LIMIT
        self._summable = self.fused and local.work == torch.float32 and local.d <= FUSED_LIMIT
        self.reach = local.root * local.longest
        self.trace, self.least = bounds_of_scatter(local, extra)
        self._root = torch.tensor([local.root], dtype=torch.float64).to(self.device)

    def _shift_of(self, tiles: Tiles, shift: Tensor) -> Tensor:
        """What is subtracted on the diagonal for the objects of tiles, as wide as they are or one wide."""
        shifts = shift[tiles.owner, None]
        return shifts if self._extra is None else shifts + self._extra[tiles.objects]

    # a sweep over all objects ---------------------------------------------------------------------------

    def above(self, W: Tensor, level: Tensor, limit: int) -> tuple[Tensor, Tensor] | None:
        """Objects with values that may exceed their start's level: (objects, starts), by start then number.

        None where there are more than ``limit``.
        """
        local = self.local
        weights, constant = local.rough_weights(W)
        cut = level + constant - local.rounding_of(W)
        cut = (cut - cut.abs() * (2.0**-22)).to(local.work)
        self.clock.counts["sweeps"] += 1
        if not self.fused or local.work != torch.float32:
            return self._above(weights, cut[:, None], limit)
        center = local.center.float() if local.centred_first else None
        sent = (weights, cut.contiguous(), self._bias, local.scale, center, limit)
        return fused.with_fallback(
            lambda: fused.sweeps().above(local.features.stored, *sent),
            lambda: self._above(weights, cut[:, None], limit),
        )

    def _above(self, weights: Tensor, cut: Tensor, limit: int) -> tuple[Tensor, Tensor] | None:
        """The plain form: the values of a block, a comparison, the places."""
        local = self.local
        s, n = len(weights), local.rows.n
        height = max(1, min(n, allowed(BLOCK_VALUES, self.device) // s))
        objects, starts, count = [], [], 0
        with fast_products():
            for begin, block in local.features.blocks(height):
                rows = local.rough(begin, block)
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

    def first_level(self, W: Tensor, shift: Tensor) -> Tensor:
        """A level that is probably a little below tau, from a sample of the objects."""
        rows, bias, own, each = self._drawn(len(W))
        weights, constant = self.local.rough_weights(W)
        with fast_products():
            values = linear(weights, rows, bias)
        values, order = values.sort(1, descending=True)
        top = values[:, :1].clone()
        values -= top
        inverse = own[order].add_(shift[:, None]).reciprocal_().to(values.dtype)
        total, mass = (values * inverse).cumsum(1), inverse.cumsum(1)
        # tau is the largest g of the sets of highest values (docs/theory-dual.md)
        bounds = (total - 1.0 / each) / mass
        count = (values > bounds.amax(1, keepdim=True)).sum(1, keepdim=True).clamp_min_(1)
        wanted = 1.0 + 4.0 / count.to(values.dtype).sqrt()  # more mass than 1: a sample errs
        level = ((total - wanted / each) / mass).amax(1, keepdim=True)
        return (level + top)[:, 0].double() - constant

    def _drawn(self, s: int) -> tuple[Tensor, Tensor, Tensor, float]:
        """Rough rows of a sample of alive objects, b, what is on their diagonal, how many each stands for."""
        if self._sample is None:
            local = self.local
            wanted = min(SAMPLE, max(4096, SAMPLE_VALUES // s))
            if self.n_alive <= 2 * wanted:
                objects = torch.nonzero(self.alive).view(-1)
            else:
                rng = np.random.RandomState(0)
                draws = torch.from_numpy(rng.randint(local.rows.n, size=2 * wanted)).to(self.device)
                objects = draws[self.alive[draws]][:wanted]
                if len(objects) < wanted // 4:  # most are removed
                    left = torch.nonzero(self.alive).view(-1)
                    objects = left[torch.from_numpy(rng.randint(len(left), size=wanted)).to(self.device)]
            objects = objects.sort().values
            raw = local.features.take(objects)
            exact = local.exact(raw)
            work = local.work
            own = exact.own if self._extra is None else exact.own + self._extra[objects]
            self._sample = (local.rough_of(exact), exact.bias.to(work), own, self.n_alive / len(objects))
        return self._sample

    # x(w) -----------------------------------------------------------------------------------------------

    def at(self, W: Tensor, shift: Tensor, level: Tensor | None = None, known: bool = False) -> Trial:
        """x(w) for every row w at its shift; ``level`` holds lower bounds of tau, where they are known.

        A sample says how low these are, unless they are ``known`` to be close: what it says is not certain.
        """
        self.clock.begin()
        guess = level if known and level is not None else self.first_level(W, shift)
        guess = guess if level is None else torch.maximum(guess, level)
        self.clock.add("first level")
        found = self.above(W, guess, allowed(CANDIDATES, self.device))
        self.clock.add("sweep")
        if found is None and len(W) > 1:
            return self._split(W, shift, level, known)
        if found is None:
            found = self.above(W, guess, 2**62)
            assert found is not None
        tiles = self.tiled(len(W), *found)
        weighed = self._weighed(W, shift, tiles)
        self.clock.add("threshold")
        if not known:
            bound = weighed.bound - weighed.bound.abs() * 1e-12
            bound = bound if level is None else torch.maximum(bound, level)
            if bool((bound < guess).any()):  # an object between the two may have been left out
                return self.at(W, shift, torch.minimum(bound, guess), known=True)
        image, mean, jacobian = self._moments(W, tiles, weighed)
        f = torch.linalg.vecdot(image, image) - weighed.spent + self.local.formula.offset
        return Trial(weighed.tau, image, f, mean, weighed.mass, jacobian, tiles, weighed.weights)

    def _split(self, W: Tensor, shift: Tensor, level: Tensor | None, known: bool) -> Trial:
        """x(w) for the two halves of the starts, one after the other."""
        half = len(W) // 2
        parts = [slice(None, half), slice(half, None)]
        one, other = (self.at(W[p], shift[p], None if level is None else level[p], known) for p in parts)
        members = [(trial, trial.tiles.valid & (trial.weights > 0)) for trial in (one, other)]
        lists = [trial.tiles.chosen(which) for trial, which in members]
        tiles = Tiles(torch.cat([o for o, _ in lists]), np.concatenate([c for _, c in lists]))
        weights = tiles.spread(torch.cat([trial.weights[which] for trial, which in members]))
        tau, image, f, mean, mass = (torch.cat([a, b]) for a, b in zip(one[:5], other[:5], strict=True))
        jacobian = None
        if one.jacobian is not None and other.jacobian is not None:
            jacobian = torch.cat([one.jacobian, other.jacobian])
        return Trial(tau, image, f, mean, mass, jacobian, tiles, weights)

    def tiled(self, s: int, objects: Tensor, owner: Tensor) -> Tiles:
        """What ``above`` has found, start after start."""
        counts = np.array([len(objects)])
        if s > 1:
            every = torch.arange(1, s + 1, device=self.device, dtype=owner.dtype)
            counts = np.diff(torch.searchsorted(owner, every).cpu().numpy(), prepend=0)
        self.clock.counts["candidates"] += len(objects)
        return Tiles(objects, counts)

    def _weighed(self, W: Tensor, shift: Tensor, tiles: Tiles) -> Weighed:
        """Exactly: narrow until no candidate lies below the tau of the rest of its start."""
        products, bias, own = self.local.from_products(*exact_products(self.local, tiles, W))
        self.clock.add("values of candidates")
        values = products if bias is None else products + bias
        inside, members = tiles.valid.double() / (own + self._shift_of(tiles, shift)), len(tiles.flat)
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
        d = self.local.d
        return max(1, numbers // (d * max(tiles.width, d if self.newton else 1)))

    def _moments(
        self, W: Tensor, tiles: Tiles, weighed: Weighed, exact: bool = False
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """U'x, the mean row of each support, and J about it (in float64 where it has to be exact)."""
        s, d = W.shape
        local, mass = self.local, weighed.mass

        def plain() -> tuple[Tensor, Tensor | None]:
            return self._summed(W, tiles, weighed, torch.float64 if exact else local.work)

        sums, second = plain() if exact or not self._summable else fused.with_fallback(
            lambda: fused.kernels().moments(
                local.features.stored, tiles, weighed.weights, weighed.inside, W, local.center, self._root,
                local.formula.unit, allowed(PART_NUMBERS, self.device),
            ), plain,
        )  # fmt: skip
        image, mean = sums[:, :d], sums[:, d:] / mass[:, None]
        jacobian = None
        if second is not None:
            away = mean - W
            outer = (mass[:, None] * away)[:, :, None] * away[:, None, :]
            jacobian = second.view(s, d, d).double() - outer
        self.clock.add("sums of supports")
        return image, mean, jacobian

    def _summed(
        self, W: Tensor, tiles: Tiles, weighed: Weighed, kind: torch.dtype
    ) -> tuple[Tensor, Tensor | None]:
        """Sums of x u and of u / kappa over the members, and of (u - w)(u - w)' / kappa."""
        s, d = W.shape
        sums, second = Sums(s), Sums(s)
        packed, weights, inside = tiles, weighed.weights, weighed.inside
        if weighed.members < PACKED * len(tiles.flat):  # leave out what has no weight
            members = inside > 0
            packed = Tiles(*tiles.chosen(members))
            weights, inside = packed.spread(weights[members]), packed.spread(inside[members])
        pairs = torch.stack([weights, inside], 1)
        for part, starts, add in packed.parts(self._tiles_at_once(packed)):
            chosen, owner = packed.objects[part], packed.owner[part]
            u = self.local.at(chosen.view(-1)).view(*chosen.shape, d)
            sums.add(starts, add(torch.bmm(pairs[part], u).view(len(owner), -1)))
            if self.newton:
                # about w, which is near the mean: what is summed is small then
                about = torch.empty(u.shape, dtype=kind, device=self.device)
                torch.sub(u, W[owner, None, :], out=about)
                about *= inside[part].sqrt().to(kind)[..., None]
                with fast_products():
                    piece = torch.bmm(about.transpose(1, 2), about)
                second.add(starts, add(piece.view(len(owner), -1).double()))
        return sums.all, second.all if self.newton else None

    def rooms(self, W: Tensor, shift: Tensor, tiles: Tiles, weights: Tensor, counts: Tensor) -> Tensor:
        """How far J is below 1 at supports of the starts, in float64: as ``passes.room``."""
        kappa = tiles.spread(self.local.own_at(tiles.flat)) + self._shift_of(tiles, shift)
        inverse = torch.where(tiles.valid, 1.0 / kappa, 0.0)
        mass = tiles.total(inverse)
        weighed = Weighed(mass, mass, mass, mass, weights, inverse, len(tiles.flat))
        _, _, jacobian = self._moments(W, tiles, weighed, exact=True)
        assert jacobian is not None
        d = jacobian.shape[1]
        trace = jacobian.diagonal(dim1=1, dim2=2).sum(1)
        slack = 4.0 * EPS * (counts + d + 16.0) * trace.clamp_min(1.0)
        eye = torch.eye(d, dtype=torch.float64, device=self.device)

        def below(level: Tensor, some: Tensor) -> Tensor:
            matrices = level[:, None, None] * eye - jacobian[some]
            info: Tensor = torch.linalg.cholesky_ex(matrices).info
            return info == 0

        rooms = torch.zeros_like(slack)
        left = torch.arange(len(slack), device=self.device)
        for least in passes.ROOMS:
            found = below(1.0 - least - slack[left], left)
            rooms[left[found]] = least
            left = left[~found]
            if not len(left):
                return rooms
        rooms[left[~below(1.0 + 2.0 * slack[left], left)]] = -1.0
        return rooms

    # Newton's steps ---------------------------------------------------------------------------------------

    def steps(self, J: Tensor, g: Floats, radius: Floats) -> Floats:
        """Solve (I - J) step = g within a ball, for every start: as ``passes.newton`` does for one.

        Where the solution is longer than the radius a multiple of I is added until it is not; where I - J is
        indefinite its eigenvalues are taken by their size. Small systems are solved on the host.
        """
        if J.numel() > ON_HOST:
            sent = torch.from_numpy(np.column_stack([g, radius])).to(J.device)
            step: Floats = to_numpy(_steps(J, sent[:, :-1], sent[:, -1]))
            left = np.flatnonzero(~np.isfinite(step).all(axis=1))
            if left.size:
                step[left] = on_host(to_numpy(self.chosen(J, left)), g[left], radius[left])
            return step
        return on_host(to_numpy(J), g, radius)

    def chosen(self, J: Tensor, which: Ints) -> Tensor:
        """Newton's matrices of some starts."""
        return J[torch.from_numpy(which).to(J.device)]

    def put_back(self, J: Tensor, before: Tensor, which: Ints) -> None:
        """Restore Newton's matrices of some starts to what they were before."""
        places = torch.from_numpy(which).to(J.device)
        J[places] = before[places]

    def told(self, trial: Trial) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """tau, f, U'x, the mean row and the sum of 1 / kappa of every start, on the host: one copy."""
        d, numbers = trial.image.shape[1], torch.stack([trial.tau, trial.f, trial.mass], 1)
        table = to_numpy(torch.cat([numbers, trial.image, trial.mean], 1))
        return table[:, 0], table[:, 1], table[:, 3 : 3 + d], table[:, 3 + d :], table[:, 2]

    def at_host(self, W: Floats, shift: Floats, level: Floats | None) -> Trial:
        """x(w) for rows w on the host."""
        sent = torch.from_numpy(np.column_stack([W, shift, shift if level is None else level])).to(
            self.device
        )
        return self.at(
            sent[:, :-2].contiguous(), sent[:, -2].contiguous(), None if level is None else sent[:, -1]
        )

    def supports(self, trial: Trial, which: NDArray[np.bool_]) -> tuple[Tensor, Ints, Tensor, Floats | None]:
        """Members of some starts of a trial, how many each has, and their weights; J is not exact."""
        members = trial.weights > 0
        if not which.all():
            members &= torch.from_numpy(which).to(self.device)[trial.tiles.owner][:, None]
        objects, counts = trial.tiles.chosen(members)
        return objects, counts[which], trial.weights[members], None


def bounds_of_scatter(local: FormulaTensors, extra: Tensor | None) -> tuple[float, float]:
    """An upper bound of the trace of the rows' scatter, and the least of what kappa adds to the shift."""
    more = 0.0 if extra is None else float(extra.min())
    own = float(local.formula.own(local.shortest_square)) + more
    return local.formula.factor * float(local.squares), own


def _steps(J: Tensor, g: Tensor, radius: Tensor) -> Tensor:
    """The steps by Cholesky factors of I - J, of its size where it has none."""
    eye = torch.eye(J.shape[1], dtype=J.dtype, device=J.device)
    A = eye - J
    factor, info = torch.linalg.cholesky_ex(A)
    bent = torch.nonzero(info).view(-1)
    if len(bent):
        A[bent] = _size(A[bent])
        factor[bent] = torch.linalg.cholesky_ex(A[bent]).L
    step = torch.cholesky_solve(g[..., None], factor)[..., 0]
    length = step.norm(dim=1)
    rows = torch.nonzero(~(length <= 1.01 * radius)).view(-1)  # also what is not finite
    raised = torch.zeros_like(radius)
    for _ in range(RAISES):
        if not len(rows):
            break
        short = length[rows]
        turned = torch.linalg.solve_triangular(factor[rows], step[rows][..., None], upper=False)
        raised[rows] += short**2 / turned.square().sum((1, 2)) * (short / radius[rows] - 1.0)
        factor[rows] = torch.linalg.cholesky_ex(A[rows] + raised[rows][:, None, None] * eye).L
        step[rows] = torch.cholesky_solve(g[rows][..., None], factor[rows])[..., 0]
        length[rows] = step[rows].norm(dim=1)
        rows = rows[~(length[rows] <= 1.01 * radius[rows])]
    shrink = torch.where(length > radius, radius / length.clamp_min(1e-300), 1.0)
    return step * shrink[:, None]


def _size(A: Tensor) -> Tensor:
    """Symmetric matrices with their eigenvalues by size: A sign(A), by products alone.

    The sign is where X <- (3 X - X³) / 2 goes, which takes every eigenvalue in (0, 1] to 1, the small ones
    last: a step is limited by its radius before those matter.
    """
    scale = torch.linalg.matrix_norm(A).clamp_min_(1e-300)[:, None, None]
    X = A / scale
    for _ in range(SIGNS):
        X = torch.baddbmm(X, X, torch.bmm(X, X), beta=1.5, alpha=-0.5)
    out = torch.bmm(A, X)
    least = torch.diag_embed((1e-12 * scale[:, :, 0]).expand(-1, A.shape[1]))
    return 0.5 * (out + out.transpose(1, 2)) + least


def on_host(J: Floats, g: Floats, radius: Floats) -> Floats:
    """Compiled steps, one start after another on a thread, with one BLAS thread each."""
    out = np.empty_like(g)

    def work(part: slice) -> None:
        for k in range(part.start, part.stop):
            out[k] = passes.newton(J[k], g[k], float(radius[k]))[0]

    parts = thread_slices(len(g), 1)
    if len(parts) == 1:
        work(parts[0])
        return out
    with blas().limit(limits=1, user_api="blas"):
        parallel_map(work, parts)
    return out
