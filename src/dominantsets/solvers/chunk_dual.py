r"""The dual over objects in pieces: a pass is a round or two that bring back sums.

x(w) has the weights :math:`\max(0, s_i - \tau) / \kappa_i`, and tau is set by their sum, 1, over all pieces.
Everything else that a climb asks (U'x, f, Newton's matrix) are sums over the support, linear or quadratic in
tau. So a piece that is told a narrow band in which tau must lie sends back the sums over what lies above it,
and the few rows within it as they are; whoever asks then finds tau exactly and adds the rest up.

The band is a guess from the last pass: while the support stays, tau moves by :math:`\bar u \cdot dw`. Where
nothing is known yet, each piece finds the tau at which its own weights sum to its share of the objects; tau
lies between the smallest and the largest of these (at the smallest all pieces have at least their share, at
the largest at most). A histogram comes back with every answer: where the guess was wrong, it tells in which
bin tau lies, and that bin is the next band.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.rows.base import Mask
from dominantsets.similarity.sharded import ShardedLowRank
from dominantsets.solvers.certificate import EPS
from dominantsets.solvers.chunk_pass import (
    NOWHERE,
    Above,
    Band,
    Described,
    Facts,
    Gathered,
    Look,
    Sight,
    extremes,
    gather,
    look,
)
from dominantsets.solvers.dual import Response, Visited

BAND = 2_000  # objects that the band of a guess should hold
BAND_LIMIT = 16_384  # objects up to which the rows of a band are sent
BELOW, ABOVE = 10, 24  # doublings of the band that the histogram of a guess covers on either side
BINS = 64  # of a histogram within known bounds


class FarPoint(Visited):
    """x(w) as sums: no members, which are asked for at the end only."""

    def __init__(
        self, w: Floats, tau: float, sums: Above, f: float, total: float, *, width: float, miss: float,
        stride: float,
    ) -> None:  # fmt: skip
        super().__init__(w, tau, int(sums.objects), sums.image / total, f)
        self.total = total
        self.mean = w + sums.first / sums.mass  # tau moves by this times dw while the support stays
        self.width = width  # about this far on either side of tau a band should reach
        self.miss, self.stride = miss, stride  # how far off the guess of tau was, for a step of which length
        self._sums = sums

    def jacobian(self) -> Floats | None:
        """Newton's matrix J, where the pieces sent it."""
        d = self.w.size
        if not self._sums.second.size:
            return None
        matrix = np.zeros((d, d))
        matrix[np.tril_indices(d)] = self._sums.second
        matrix += np.tril(matrix, -1).T
        first = np.ascontiguousarray(self._sums.first)
        _rows.centred(self._sums.mass, first, matrix)
        return matrix


class _Search:
    """The tau of one w, round by round."""

    def __init__(self, w: Floats, before: FarPoint | None, offset: float, n_pieces: int) -> None:
        self._w, self._offset = w, offset
        self._limit = max(64, 2 * BAND_LIMIT // n_pieces)  # of a piece, where nobody knows how many there are
        self._guess, self._stride = np.nan, np.nan
        self.found: FarPoint | None = None
        self.look = Look(w, NOWHERE)
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
                self.look = Look(w, edges, guess - before.width, guess + before.width, self._limit)
            else:
                self.look = Look(w, edges)

    def receive(self, sights: list[Sight]) -> None:
        """Either tau is found, or the next look is set."""
        largest = max(sight.largest for sight in sights)
        asked = self.look
        if not asked.edges.size:
            low, high = min(sight.lower for sight in sights), max(sight.upper for sight in sights)
            self._within(low, high, self._limit)
            return
        above = [sight.above for sight in sights if sight.above is not None]
        bands = [sight.band for sight in sights if sight.band is not None]
        if len(above) == len(sights) and self._settle(
            reduce(Above.__add__, above), Band.joined(bands), largest
        ):
            return
        counts, mass, lift = reduce(np.add, [sight.bins for sight in sights])
        mass, lift = mass[::-1].cumsum()[::-1], lift[::-1].cumsum()[::-1]
        edges = asked.edges
        weight = lift - (edges - edges[0]) * mass  # of everybody, if tau were at the edge
        k = int(np.count_nonzero(weight >= 1.0)) - 1
        if k < 0 and mass[0] <= 0.0:
            self.look = Look(self._w, NOWHERE)  # nobody is above the lowest edge
        elif k < 0:
            self._within(edges[0] - (1.0 - weight[0]) / mass[0], edges[0], self._limit)
        elif k == edges.size - 1:
            self._within(edges[k], largest, self._limit)
        else:
            self._within(edges[k], edges[k + 1], np.inf if counts[k] <= BAND_LIMIT else None)

    def _within(self, low: float, high: float, limit: float | None) -> None:
        """Look within bounds next; at the rows too, where they may be few (a limit for each piece)."""
        slack = 8 * EPS * max(abs(low), abs(high))
        if high - low <= 4 * slack:  # equal values in their thousands: all of them are in, to rounding
            low -= slack
            self.look = Look(self._w, np.array([low, high]), low, low)
            return
        edges = np.linspace(low - slack, high + slack, BINS + 1)
        if limit is None:
            self.look = Look(self._w, edges)
        else:
            self.look = Look(self._w, edges, edges[0], edges[-1], limit)

    def _settle(self, above: Above, band: Band, largest: float) -> bool:
        """Find tau within the band, if it is there; everything then follows."""
        high, low = self.look.high, self.look.low
        y, everybody = band.s - high, low == high
        over = above.lift + (high - low) * above.mass + float((band.s - low) @ band.shares)
        if not everybody and not (above.lift <= 1.0 + 1e-12 and over >= 1.0 - 1e-12):
            return False
        keep = np.ones(y.size, dtype=bool)
        while True:  # g of the rest rises until nobody is below it
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

    def _point(self, above: Above, band: Band, keep: Any, depth: float, largest: float) -> FarPoint:
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
        return FarPoint(w, tau, sums, f, total, width=width, miss=miss, stride=self._stride)


class FarDual:
    """The dual problem of objects in pieces: what a climb asks, in rounds."""

    def __init__(self, similarity: ShardedLowRank, shift: float, mask: Mask, n_alive: int) -> None:
        self.similarity, self.shift = similarity, shift
        self.root = float(np.sqrt(similarity.factor))
        self.reach = self.root * similarity.longest
        self._mask = mask
        self._facts = Facts(similarity.recipe, shift, n_alive)

    def image(self, members: Ints, weights: Floats) -> Floats:
        """U'x."""
        return self.root * self.similarity.mix(members, weights)[0]

    def response(self, point: FarPoint) -> Response | None:
        """How x(w) answers to w there; None where that matrix would be too large to send."""
        matrix = point.jacobian()
        return None if matrix is None else Response(matrix)

    def at(self, W: list[Floats], before: Sequence[FarPoint | None]) -> list[FarPoint]:
        """x(w) of several w: rounds that all of them share."""
        searches = [
            _Search(w, last, self.similarity.recipe.offset, len(self.similarity.pieces))
            for w, last in zip(W, before, strict=True)
        ]
        while pending := [search for search in searches if search.found is None]:
            looks = [search.look for search in pending]
            sights = self.similarity.pieces.ask(look, self._facts, looks, mask=self._mask)
            for search, mine in zip(pending, zip(*sights, strict=True), strict=True):
                search.receive(list(mine))
        return [search.found for search in searches if search.found is not None]

    def members(self, points: list[Described]) -> list[Gathered]:
        """Members and weights of points, in one round; in increasing order, weights as they come."""
        parts = self.similarity.pieces.ask(gather, self._facts, points, mask=self._mask)
        return [
            Gathered(
                np.concatenate([part.members for part in mine]),
                np.concatenate([part.weights for part in mine]),
                reduce(np.add, [part.mixed for part in mine]),
                sum(part.lean for part in mine),
            )
            for mine in zip(*parts, strict=True)
        ]

    def extremes(
        self, points: list[tuple[Described, float, Floats, float]]
    ) -> list[tuple[float, float, float, float]]:
        """Smallest and largest payoff inside, largest outside, and f: recomputed, in one round."""
        parts = self.similarity.pieces.ask(extremes, self._facts, points, mask=self._mask)
        return [
            (
                min(part[0] for part in mine),
                max(part[1] for part in mine),
                max(part[2] for part in mine),
                sum(part[3] for part in mine),
            )
            for mine in zip(*parts, strict=True)
        ]
