"""Problems with features on a device: what is alive, payoffs in float64, many starts at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.rows.tensor_block import allowed, in_smaller_blocks, to_numpy, to_numpy_pinned
from dominantsets.rows.tensor_formulas import FormulaTensors, local
from dominantsets.rows.tiles import Tiles
from dominantsets.similarity.low_rank import require_concave
from dominantsets.solvers.api import HostProblem
from dominantsets.solvers.certificate import STATIONARY, certify
from dominantsets.solvers.dual import Jacobian
from dominantsets.solvers.monitor import Monitor, Stopwatch
from dominantsets.solvers.options import SolverOptions, starting_point
from dominantsets.solvers.problem import Outcome, Point, Recomputed
from dominantsets.solvers.result import HALTING, DominantSet
from dominantsets.solvers.tensor_dual import CANDIDATES, DENSE_LIMIT, TensorDual, exact_products
from dominantsets.solvers.tensor_few import Extremes, FewDual, fits
from dominantsets.solvers.tensor_newton import AscentResult, ascend_together

PAYOFF_VALUES = {"cuda": 2**28, "cpu": 2**20}  # float64 payoffs that are held at once
SWEPT = {"cuda": 2**28, "cpu": 2**62}  # payoffs from which a rough sweep says which of them are made
LOOKED_AT = 2**14  # objects that are looked at before it
GROUP_BYTES = {"cuda": 2**33, "cpu": 2**30}  # of Newton's matrices: with more the starts come in groups


class TensorProblem(HostProblem):
    """A :class:`Problem` of low-rank features on a device, with masks and degrees there too."""

    def __init__(self, similarity: Any, shift: float, degrees: Floats | None = None) -> None:
        self.rows, self.device = similarity.rows, similarity.rows.device
        sent = None if degrees is None else self.rows.send(degrees)
        super().__init__(similarity, shift, sent)
        self._dense: FewDual | None = None
        self._top: tuple[float, float] | None = None  # the largest degree's object, and that degree
        on_card = self.device.type == "cuda"
        self.clock = Stopwatch(wait=torch.cuda.synchronize) if on_card else Stopwatch()

    @property
    def local(self) -> FormulaTensors:
        """The rows as the formula sees them."""
        return local(self.rows.block, self.similarity.recipe)

    def _everybody(self) -> Any:
        return torch.ones(self.n, dtype=torch.bool, device=self.device)

    @property
    def degrees(self) -> Any:
        """Sums of similarity to the objects that are alive; -inf for those that are not."""
        if self._degrees is None:
            self.recompute_degrees()
        return self._degrees

    def vertex(self) -> int:
        return int(self._peak()[0])

    def largest_degree(self) -> float:
        return self._peak()[1]

    def _peak(self) -> tuple[float, float]:
        """The object with the largest degree, ties to the lowest number, and the degree."""
        if self._top is None:
            degree, best = torch.max(self.degrees, 0)  # the first of equal ones
            self._top = tuple(torch.stack([best.double(), degree]).tolist())
        return self._top

    def remove(self, members: Ints) -> None:
        gone, self._top = self.rows.send(members), None
        self.alive.index_fill_(0, gone, False)
        self.n_alive -= len(members)
        if self._degrees is not None:
            # what the formula has on the diagonal concerns the removed objects alone
            self._degrees -= self.local.summed(gone)
            self._degrees.index_fill_(0, gone, -torch.inf)

    def recompute_degrees(self) -> None:
        degrees = self.local.degrees_of(None if self.n_alive == self.n else self.alive)
        self._degrees, self._top = degrees.masked_fill_(~self.alive, -torch.inf), None

    def in_component_of(self, x: Point) -> TensorProblem:
        return self

    def living(self) -> Ints:
        return np.asarray(to_numpy(torch.nonzero(self.alive).view(-1)))

    def numbered(self, ranks: Ints) -> Ints:
        if self.n_alive == self.n:
            return ranks
        return np.asarray(to_numpy(torch.searchsorted(self.alive.cumsum(0), self.rows.send(ranks + 1))))

    def is_alive(self, objects: Ints) -> Flags:
        return np.asarray(to_numpy(self.alive[self.rows.send(objects)]))

    def joiners(self, x: Point, level: float) -> Ints:
        if self.n_alive == self.n:
            return np.empty(0, dtype=np.int64)
        found = self._removed_above(self.rows.send(x.support), self.rows.send(x.weights), level)
        return np.asarray(to_numpy(found))

    def recomputed(self, x: Point) -> Recomputed:
        objects, weights, counts = *map(self.rows.send, (x.support, x.weights)), np.array([len(x.support)])
        return self._recomputed(objects, counts, weights, np.array([self.shift]))[0]

    # solving -----------------------------------------------------------------------------------------------

    def _solve(self, options: SolverOptions, monitor: Monitor, start: Any) -> DominantSet:
        return self.solve_from(starting_point(self, start), options, monitor)

    def solve_from(self, x: Point, options: SolverOptions, monitor: Monitor) -> DominantSet:
        return self.solve_starts([x], options, monitor)[0]

    def solve_many(
        self, objects: Ints, options: SolverOptions, monitor: Monitor, n_jobs: int | None = None
    ) -> list[DominantSet]:
        """Solve from many objects, in passes that all of them share."""
        half = options.start == "barycenter"
        points = [self.point_at(int(i), half) for i in objects]
        return self.solve_starts(points, options, monitor)

    def solve_each(
        self, starts: Sequence[Point], shifts: Floats, options: SolverOptions, monitor: Monitor
    ) -> Iterator[list[DominantSet]]:
        if self.similarity.least_own + float(np.min(shifts)) <= 0.0:  # one of them is no problem of the dual
            return super().solve_each(starts, shifts, options, monitor)
        options = options.chosen_for(self.similarity, float(np.min(shifts)), 0)
        return iter([self.solve_starts(starts, options, monitor, shifts)])

    def solve_starts(
        self,
        starts: Sequence[Point],
        options: SolverOptions,
        monitor: Monitor,
        shifts: Floats | None = None,
    ) -> list[DominantSet]:
        """Solve from every start, each at its shift, all of them together; in the order of the starts."""
        if options.trace:
            raise ValueError("trace=True is not there on a device, where many starts share their steps.")
        found: dict[int, DominantSet] = {}
        d, shifts = self.rows.d, np.full(len(starts), self.shift) if shifts is None else shifts
        size = max(1, allowed(GROUP_BYTES, self.device) // (64 * d * d)) if d <= DENSE_LIMIT else len(starts)
        purpose = f"{len(starts)} starts over {self.n:,} objects"
        for begin in range(0, len(starts), size):
            part = slice(begin, begin + size)

            def work(part: slice = part) -> tuple[AscentResult, list[DominantSet]]:
                ends = self._ascend(starts[part], shifts[part], options, monitor)
                return ends, self._certified(ends, options)

            ends, clusters = in_smaller_blocks(work, self.device, purpose)
            found |= {begin + int(k): one for k, one in zip(ends.starts, clusters, strict=True)}
            if any(status in HALTING for status in ends.statuses):
                break
        return [found[k] for k in sorted(found)]

    def _recomputed(self, objects: Tensor, counts: Ints, weights: Tensor, shifts: Floats) -> list[Recomputed]:
        """What certificates say of many points, from their weights alone."""
        few = self._few(len(counts))
        ask = self._extremes if few is None else few.extremes
        found = ask(objects, counts, weights, shifts)
        rows = zip(*(column.tolist() for column in found[:4]), self._balls(found), strict=True)
        # units follow from the weights, once these are on the host
        return [Recomputed(f, low, high, outside, np.nan, ball) for f, low, high, outside, ball in rows]

    def near(self, x: Point, level: float) -> Ints | None:
        return None

    def room_of(self, objects: Ints) -> float | None:
        return None

    def _extremes(self, objects: Tensor, counts: Ints, weights: Tensor, shifts: Floats) -> Extremes:
        """In float64: of the members, and of all objects in blocks."""
        local, tiles = self.local, Tiles(objects, counts)
        weights = tiles.spread(weights)
        mixtures = local.mixtures(tiles, weights)
        products = exact_products(local, tiles, mixtures[0])
        inside = local.inside(tiles, weights, self._shift_at(tiles, shifts), mixtures[1], products)
        f = tiles.total(weights * inside)
        nothing = self._nothing(tiles.s)
        most = torch.where(tiles.valid, inside, -torch.inf).amax(1)
        least = torch.where(tiles.valid, inside, torch.inf).amin(1)
        most = nothing.scatter_reduce(0, tiles.owner, most, "amax")
        least = (-nothing).scatter_reduce(0, tiles.owner, least, "amin")
        outside = None
        if self.n * tiles.s >= SWEPT[self.device.type]:
            outside = self._after_a_sweep(tiles, mixtures, float(shifts.min()))
        if outside is None:
            outside = nothing
            height = max(1, allowed(PAYOFF_VALUES, self.device) // max(tiles.s, self.rows.d))
            for values, constant in tiles.outsiders(local.all_values(mixtures, self.alive, height), self.n):
                outside = torch.maximum(outside, values.amax(1) + constant)
        table = to_numpy(torch.stack([f, least, most, outside]))
        return Extremes(*table, *map(to_numpy, mixtures))

    def _nothing(self, s: int) -> Tensor:
        return torch.full((s,), -torch.inf, dtype=torch.float64, device=self.device)

    def _after_a_sweep(self, tiles: Tiles, mixtures: tuple[Tensor, Tensor], least: float) -> Tensor | None:
        """The largest payoff of those outside each start, in float64 of those that a rough sweep leaves.

        The best of a few objects is a level that the largest is not below. None where that leaves too many.
        """
        local, (mixed, bias_sum) = self.local, mixtures
        members = torch.sort(tiles.whose() * self.n + tiles.flat).values
        few = torch.arange(0, self.n, max(1, self.n // LOOKED_AT), device=self.device)
        few = few[self.alive[few]]
        exact = local.chosen(few)
        values = torch.addmm(exact.bias, mixed, exact.u.T)
        starts = torch.arange(tiles.s, device=self.device)[:, None]
        values[_among(starts * self.n + few, members)] = -torch.inf
        level = values.amax(1) if len(few) else self._nothing(tiles.s)
        if not bool(torch.isfinite(level).all()):
            return None
        dual = TensorDual(local, least, self.alive, self.n_alive)
        found = dual.above(mixed, level, allowed(CANDIDATES, self.device))
        if found is None:
            return None
        left = dual.tiled(tiles.s, *found)
        values, bias, _ = local.from_products(*exact_products(local, left, mixed))
        values = values if bias is None else values + bias
        values[~left.valid | _among(left.owner[:, None] * self.n + left.objects, members)] = -torch.inf
        best = self._nothing(tiles.s).scatter_reduce(0, left.owner, values.amax(1), "amax")
        largest: Tensor = torch.maximum(best, level) + (bias_sum + local.formula.offset)
        return largest

    def _certified(self, ends: AscentResult, options: SolverOptions) -> list[DominantSet]:
        """The clusters with their certificates; one sweep over all objects for all of them."""
        self.clock.begin()
        known = self._recomputed(ends.objects, ends.counts, ends.weights, ends.shifts)
        self.clock.add("certificate")
        asked = [k for k, one in enumerate(known) if one.high - one.low <= STATIONARY * abs(one.f)]
        rooms = self._rooms(ends, asked) if asked else {}
        self.clock.add("second order")
        members, shares = to_numpy_pinned(ends.objects), to_numpy_pinned(ends.weights)
        edges = np.concatenate([[0], np.cumsum(ends.counts)])

        def work(part: slice) -> list[DominantSet]:
            out = []
            for k in range(part.start, part.stop):
                mine = slice(int(edges[k]), int(edges[k + 1]))
                x = Point(members[mine].copy(), shares[mine])
                outcome = Outcome(x, int(ends.passes[k]), ends.statuses[k], None, rooms.get(k))
                problem = self._at(float(ends.shifts[k]))
                seen = known[k]._replace(unit=problem.unit_of(x))
                out.append(certify(problem, outcome, options, seen))
            return out

        parts = parallel_map(work, thread_slices(len(known), 1))
        self.clock.add("results to the host")
        return [cluster for part in parts for cluster in part]

    def _at(self, shift: float) -> TensorProblem:
        """The same problem at another shift."""
        if shift == self.shift:
            return self
        other = copy(self)
        other.shift = shift
        return other

    def _removed_above(self, objects: Tensor, weights: Tensor, level: float) -> Tensor:
        """Removed objects above a level: a rough sweep, then exactly what it finds (or all, if too many)."""
        local = self.local
        mixed, bias_sum = local.mixture(objects, weights)
        w, offset = mixed[None, :], local.formula.offset
        removed = TensorDual(local, self.shift, ~self.alive, self.n - self.n_alive)
        least = (level - offset) - bias_sum.view(1)
        found = removed.above(w, least, allowed(CANDIDATES, self.device))
        if found is None:
            payoffs = local.swept(mixed, bias_sum, float(weights.sum()))
            payoffs[objects] -= local.own_at(objects) * weights
            return torch.nonzero((payoffs > level) & ~self.alive).view(-1)
        if not len(found[0]):
            return found[0]
        tiles = Tiles(found[0], np.array([len(found[0])]))
        values, bias, _ = local.from_products(*exact_products(local, tiles, w))
        values = values if bias is None else values + bias
        return tiles.objects[tiles.valid & (values > least)]

    def _balls(self, found: Extremes) -> list[tuple[Floats, float] | None]:
        formula, center = self.similarity.formula, self.similarity.recipe.center
        if not formula.has_bias or center is None:
            return [None] * len(found.f)
        means = found.image / formula.root
        radii = map(formula.ball, means, found.bias_sum.tolist(), found.f.tolist())
        return [(mean + center, radius) for mean, radius in zip(means, radii, strict=True)]

    def _dual(self, shifts: Floats) -> TensorDual | FewDual:
        local, least = self.local, float(np.min(shifts))
        few = self._few(len(shifts))
        if few is None:
            return TensorDual(local, least, self.alive, self.n_alive, self.clock, self._sent_extra())
        require_concave(float(local.formula.own(local.shortest_square)) + least, least)
        return few

    def _few(self, s: int) -> FewDual | None:
        """What holds all values of a few starts, where there is room; kept for the next cluster."""
        if not fits(self.local, s):
            self._dense = None
        elif self._dense is None or self._dense.s != s:
            self._dense = None  # before there is another
            self._dense = FewDual(self.local, s, self.alive, self.clock, self._sent_extra())
        return self._dense

    def _sent_extra(self) -> Tensor | None:
        return None if self.extra is None else self.rows.send(self.extra)

    def _shift_at(self, tiles: Tiles, shifts: Floats) -> Tensor:
        extra = self._sent_extra()
        here: Tensor = self.rows.send(shifts)[tiles.owner, None]
        return here if extra is None else here + extra[tiles.objects]

    def _ascend(
        self, starts: Sequence[Point], shifts: Floats, options: SolverOptions, monitor: Monitor
    ) -> AscentResult:
        if all(len(start.support) == 1 for start in starts):
            objects = np.array([int(start.support[0]) for start in starts])
            images = self.local.at(self.rows.send(objects))
        else:
            counts = np.array([len(start.support) for start in starts])
            tiles = Tiles(self.rows.send(np.concatenate([start.support for start in starts])), counts)
            weights = self.rows.send(np.concatenate([start.weights for start in starts]))
            images = self.local.mixtures(tiles, tiles.spread(weights))[0]
        dual = self._dual(shifts)
        ends = ascend_together(dual, to_numpy(images), shifts, options, monitor)
        return ends[0] if len(ends) == 1 else _joined(ends)

    def _rooms(self, ends: AscentResult, asked: list[int]) -> dict[int, float]:
        """How far J is below 1 on the supports of some ascents, where that is known."""
        if ends.jacobian is not None:
            return {k: Jacobian(ends.jacobian[k]).room(int(ends.counts[k])) for k in asked}
        least = float(np.min(ends.shifts))
        dual = TensorDual(self.local, least, self.alive, self.n_alive, self.clock, self._sent_extra())
        if not dual.newton:
            return {}
        objects, weights, W = ends.objects, ends.weights, self.rows.send(ends.W[asked])
        if len(asked) < len(ends.counts):
            here = torch.zeros(len(ends.counts), dtype=torch.bool)
            here[asked] = True
            which = torch.repeat_interleave(here, torch.from_numpy(ends.counts)).to(self.device)
            objects, weights = objects[which], weights[which]
        tiles = Tiles(objects, ends.counts[asked])
        sizes = self.rows.send(ends.counts[asked].astype(np.float64))
        found = dual.rooms(W, self.rows.send(ends.shifts[asked]), tiles, tiles.spread(weights), sizes)
        return dict(zip(asked, found.tolist(), strict=True))


def _joined(ends: list[AscentResult]) -> AscentResult:
    """Ascents that ended one after another, as one list."""
    starts, W, shifts, objects, counts, weights, jacobians, passes, statuses = zip(*ends, strict=True)
    return AscentResult(
        np.concatenate(starts),
        np.concatenate(W),
        np.concatenate(shifts),
        torch.cat(objects),
        np.concatenate(counts),
        torch.cat(weights),
        None if jacobians[0] is None else np.concatenate(jacobians),
        np.concatenate(passes),
        [status for part in statuses for status in part],
    )


def _among(keys: Tensor, some: Tensor) -> Tensor:
    """Which of the keys are among some others, which are in order."""
    return some[torch.searchsorted(some, keys).clamp_max_(len(some) - 1)] == keys
