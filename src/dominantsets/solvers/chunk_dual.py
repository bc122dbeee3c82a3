r"""The dual over objects in blocks: a pass is a round or two that bring back sums.

x(w) has the weights :math:`\max(0, s_i - \tau) / \kappa_i`, and tau is set by their sum, 1, over all blocks.
All else that an ascent needs (U'x, f, Newton's matrix) are sums over the support, linear or quadratic in
tau. So a block that gets a narrow band in which tau must lie sends back the sums over what lies above it,
and the few rows within it as they are; the caller then finds tau exactly and adds up the rest.

The band is a guess from the last pass: while the support stays, tau moves by :math:`\bar u \cdot dw`. Where
nothing is known yet, each block finds the tau at which its own weights sum to its share of the objects; tau
lies between the smallest and the largest of these (at the smallest all blocks have at least their share, at
the largest at most). A histogram comes back with every answer: where the guess was wrong, it tells in which
bin tau lies, and that bin is the next band.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import passes
from dominantsets.rows.base import Mask, Mixture
from dominantsets.similarity.faces import EPS
from dominantsets.similarity.low_rank import LowRank
from dominantsets.solvers.chunk_pass import (
    NOWHERE,
    Boundary,
    Members,
    PassReply,
    PassRequest,
    PointSpec,
    ProblemSpec,
    SupportSums,
    extremes,
    gather,
    look,
)
from dominantsets.solvers.dual import Iterate, Jacobian

BAND = 2_000  # objects that the band of a guess should hold
BAND_LIMIT = 16_384  # objects up to which the rows of a band are sent
BELOW, ABOVE = 10, 24  # doublings of the band that the histogram of a guess covers on either side
BINS = 64  # of a histogram within known bounds


class ChunkPoint(Iterate):
    """x(w) as sums: no members, which are asked for at the end only."""

    def __init__(
        self, w: Floats, tau: float, sums: SupportSums, f: float, total: float, *, width: float, miss: float,
        stride: float,
    ) -> None:  # fmt: skip
        super().__init__(w, tau, int(sums.objects), sums.image / total, f, 1.0 / sums.mass)
        self.total = total
        self.mean = w + sums.first / sums.mass  # tau moves by this times dw while the support stays
        self.width = width  # about this far on either side of tau a band should reach
        self.miss, self.stride = miss, stride  # how far off the guess of tau was, for a step of which length
        self._sums = sums

    def newton_matrix(self) -> Floats | None:
        """Newton's matrix J, where the blocks sent it."""
        d = self.w.size
        if not self._sums.second.size:
            return None
        matrix = np.zeros((d, d))
        matrix[np.tril_indices(d)] = self._sums.second
        matrix += np.tril(matrix, -1).T
        first = np.ascontiguousarray(self._sums.first)
        passes.centred(self._sums.mass, first, matrix)
        return matrix


class _Search:
    """The tau of one w, round by round."""

    def __init__(self, w: Floats, before: ChunkPoint | None, offset: float, n_pieces: int) -> None:
        self._w, self._offset = w, offset
        self._limit = max(64, 2 * BAND_LIMIT // n_pieces)  # of a block, where their number is unknown
        self._guess, self._stride = np.nan, np.nan
        self.found: ChunkPoint | None = None
        self.look = PassRequest(w, NOWHERE)
        if before is not None:
            move = w - before.w
            self._stride = float(np.sqrt(move @ move))
            self._guess = guess = before.tau + float(before.mean @ move)
            halves = before.width * 2.0 ** np.arange(ABOVE)
            edges = np.concatenate([guess - halves[:BELOW][::-1], guess + halves])
            # Newton's steps close in quadratically, and so does the guess: ask for rows where it will do
            likely = before.miss * (self._stride / before.stride) ** 2 if before.stride > 0.0 else np.inf
            hopeful = likely < before.width
            if hopeful:
                self.look = PassRequest(w, edges, guess - before.width, guess + before.width, self._limit)
            else:
                self.look = PassRequest(w, edges)

    def receive(self, replies: list[PassReply]) -> None:
        """Find tau in the replies, or set the next request."""
        largest = max(reply.largest for reply in replies)
        asked = self.look
        if not asked.edges.size:
            low, high = min(reply.lower for reply in replies), max(reply.upper for reply in replies)
            self._within(low, high, self._limit)
            return
        above = [reply.above for reply in replies if reply.above is not None]
        bands = [reply.band for reply in replies if reply.band is not None]
        if len(above) == len(replies) and self._settle(
            reduce(SupportSums.__add__, above), Boundary.joined(bands), largest
        ):
            return
        counts, mass, lift = reduce(np.add, [reply.bins for reply in replies])
        mass, lift = mass[::-1].cumsum()[::-1], lift[::-1].cumsum()[::-1]
        edges = asked.edges
        weight = lift - (edges - edges[0]) * mass  # the sum of all weights, if tau were at the edge
        k = int(np.count_nonzero(weight >= 1.0)) - 1
        if k < 0 and mass[0] <= 0.0:
            self.look = PassRequest(self._w, NOWHERE)  # no object is above the lowest edge
        elif k < 0:
            self._within(edges[0] - (1.0 - weight[0]) / mass[0], edges[0], self._limit)
        elif k == edges.size - 1:
            self._within(edges[k], largest, self._limit)
        else:
            self._within(edges[k], edges[k + 1], np.inf if counts[k] <= BAND_LIMIT else None)

    def _within(self, low: float, high: float, limit: float | None) -> None:
        """Ask for sums within bounds next, and for rows where they may be few (a limit for each block)."""
        slack = 8 * EPS * max(abs(low), abs(high))
        if high - low <= 4 * slack:  # thousands of equal values: all are in, to rounding
            low -= slack
            self.look = PassRequest(self._w, np.array([low, high]), low, low)
            return
        edges = np.linspace(low - slack, high + slack, BINS + 1)
        if limit is None:
            self.look = PassRequest(self._w, edges)
        else:
            self.look = PassRequest(self._w, edges, edges[0], edges[-1], limit)

    def _settle(self, above: SupportSums, band: Boundary, largest: float) -> bool:
        """Find tau within the band, if it is there; everything then follows."""
        high, low = self.look.high, self.look.low
        y, everybody = band.s - high, low == high
        over = above.lift + (high - low) * above.mass + float((band.s - low) @ band.shares)
        if not everybody and not (above.lift <= 1.0 + 1e-12 and over >= 1.0 - 1e-12):
            return False
        keep = np.ones(y.size, dtype=bool)
        while True:  # g of the rest rises until no object is below it
            mass = above.mass + float(band.shares[keep].sum())
            if mass <= 0.0:
                return False
            depth = (1.0 - above.lift - float(y[keep] @ band.shares[keep])) / mass
            still = keep & (y + depth > 0.0)
            if still.sum() == keep.sum() or (above.objects == 0 and not still.any()):
                break
            keep = still
        self.found = self._point(above, band, keep, depth, largest)
        return True

    def _point(
        self, above: SupportSums, band: Boundary, keep: Any, depth: float, largest: float
    ) -> ChunkPoint:
        """tau = high - depth: what is above it, summed with the level tau instead of high."""
        high, w = self.look.high, self._w
        y, shares, bias, rows = (
            band.s[keep] - high + depth,
            band.shares[keep],
            band.bias[keep],
            band.rows[keep],
        )
        x = y * shares
        plain = above.first + above.mass * w  # sum of u / kappa
        total = above.lift + depth * above.mass + float(x.sum())
        square = above.square + depth * (2.0 * above.lift + depth * above.mass) + float(y @ x)
        lean = above.lean + depth * above.tilt + float(bias @ x)
        image = above.image + depth * plain + x @ rows
        off = rows - w
        second = above.second
        if second.size:
            second = second + ((off * shares[:, None]).T @ off)[np.tril_indices(w.size)]
        sums = above._replace(
            objects=above.objects + x.size,
            mass=above.mass + float(shares.sum()),
            image=image,
            first=above.first + shares @ off,
            second=second,
        )
        f = float(image @ image) / total**2 + self._offset - square / total**2 + 2.0 * lean / total
        tau = high - depth
        span = max(largest - tau, 0.0)
        density = band.s.size / (high - self.look.low) if band.s.size > 16 else sums.objects / (span or 1.0)
        width = min(max(0.5 * BAND / density, 1e-9 * span), 0.5 * span) or 16 * EPS * max(abs(tau), 1e-300)
        miss = abs(tau - self._guess) if np.isfinite(self._guess) else np.inf
        return ChunkPoint(w, tau, sums, f, total, width=width, miss=miss, stride=self._stride)


class ChunkDual:
    """The dual problem of objects in blocks: what an ascent needs, in rounds."""

    def __init__(
        self, similarity: LowRank, shift: float, mask: Mask, n_alive: int, extra: Floats | None = None
    ) -> None:
        self.similarity, self.shift = similarity, shift
        self.root = similarity.formula.root
        self.reach = self.root * similarity.longest
        more = 0.0 if extra is None else float(extra.min())
        self.scatter = similarity.scatter_over(similarity.least_own + shift + more)
        self._mask = mask
        self._spec = ProblemSpec(similarity.recipe, shift, n_alive)
        self._extra = None if extra is None else similarity.rows.cut(extra)

    def image(self, members: Ints, weights: Floats) -> Floats:
        """The product U'x."""
        return np.asarray(self.root * self.similarity.mix(members, weights).rows)

    def jacobian(self, point: ChunkPoint) -> Jacobian | None:
        """The Jacobian of U'x(w) there; None where that matrix would be too large to send."""
        matrix = point.newton_matrix()
        return None if matrix is None else Jacobian(matrix)

    def at(self, W: list[Floats], before: Sequence[ChunkPoint | None]) -> list[ChunkPoint]:
        """x(w) of several w: rounds that all of them share."""
        searches = [
            _Search(w, last, self.similarity.formula.offset, len(self.similarity.rows))
            for w, last in zip(W, before, strict=True)
        ]
        while pending := [search for search in searches if search.found is None]:
            requests = [search.look for search in pending]
            replies = self.similarity.rows.ask(look, self._spec, requests, mask=self._mask, each=self._extra)
            for search, mine in zip(pending, zip(*replies, strict=True), strict=True):
                search.receive(list(mine))
        return [search.found for search in searches if search.found is not None]

    def members(self, points: list[PointSpec]) -> list[Members]:
        """Members and weights of points, in one round; in increasing order, weights as they come."""
        parts = self.similarity.rows.ask(gather, self._spec, points, mask=self._mask, each=self._extra)
        return [reduce(add, mine) for mine in zip(*parts, strict=True)]

    def extremes(self, points: list[tuple[PointSpec, Mixture]]) -> list[tuple[float, float, float, float]]:
        """Smallest and largest payoff inside, largest outside, and f: recomputed, in one round."""
        parts = self.similarity.rows.ask(extremes, self._spec, points, mask=self._mask, each=self._extra)
        return [
            (
                min(part[0] for part in mine),
                max(part[1] for part in mine),
                max(part[2] for part in mine),
                sum(part[3] for part in mine),
            )
            for mine in zip(*parts, strict=True)
        ]
