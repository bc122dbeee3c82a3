r"""Clouds: clusters of points as normal clouds, and perhaps a background, fitted to a sample.

Cluster k is a cloud about :math:`c_k` whose squared distances :math:`t` have the density of D normal
coordinates of variance :math:`\sigma_k^2`:

.. math:: \log p_k(t) = -\tfrac D2 \log(2 \pi \sigma_k^2) - t / (2 \sigma_k^2),

or that of Student's t with :math:`\nu` degrees of freedom, the same for all clusters and fitted as well.
D, the same for all clusters, is what the squared distances of normal ones say: :math:`2 / \mathrm{cv}^2`,
with cv their relative spread. Between clusters the densities alone decide, not how large a cluster is,
unless some of them only fill up a number: a part of a large one must not halve it. Centers, variances and
shares are found by expectation and maximization, from where the dominant sets stand. The background is one
more cloud, which may lie anywhere and be of any width, or a constant density. With one width for all clusters
it is k-means.

``climb`` is the loop of all mixtures, with covariances (:mod:`dominantsets.labels.ellipses`) or without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.spatial import ConvexHull, QhullError
from scipy.special import digamma, gammaln

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.rows.points import Tail
from dominantsets.similarity.located import Coordinates
from dominantsets.solvers import Monitor

ROUNDS, STEADY = 40, 1e-4  # of each fit, and the gain in nats for each object below which it is done
HELD = 8  # rounds in which the dimension is held: clusters that start too wide would lower it
FEW = 2**11  # objects that are not worth a thread
HEAVY, LIGHT = 2.0, 50.0  # half of the degrees of freedom at first, and at most: nearly normal
GOLDEN = 0.6180339887498949
MANY = 1e4  # no more dimensions than that
FEW_DIMENSIONS = 4  # up to which the volume of the convex hull is found, and widths and noise are well known

_Parts = TypeVar("_Parts")
_Sums = tuple[Floats, Floats, Floats, float]


class Start(NamedTuple):
    """Where a cluster begins: its centre, its mean squared distance, and its objects of the sample."""

    centre: Floats
    square: float
    members: Ints


@dataclass
class Clouds:
    """Clusters, and perhaps a background, as clouds; each fit changes a copy of its own."""

    centres: Floats
    variances: Floats
    shares: Floats
    dimension: float
    noise: float = 0.0
    middle: Floats | None = None
    width: float = np.inf
    flat: float | None = None  # the logarithm of a constant density
    counted: bool = False  # whether shares decide between clusters, too
    half: float = np.inf  # half of the degrees of freedom of the tails

    def squares(self, sample: Coordinates) -> Floats:
        """Squared distances of all objects from all centres."""
        rows = sample.rows
        t = (np.square(rows).sum(axis=1) + sample.extra)[:, None] - 2.0 * rows @ self.centres.T
        return np.asarray(np.maximum(t + np.square(self.centres).sum(axis=1), 0.0))

    @property
    def tail(self) -> Tail:
        """How densities fall."""
        return Tail.of(self.half, self.dimension)

    def falls(self, squares: Floats) -> Floats:
        """By how much the logarithms of densities are lower than at the centers."""
        return np.asarray(self.tail.fall(squares / (2.0 * self.variances)))

    def levels(self) -> Floats:
        """The logarithms of the clusters' densities at their centres, with their shares where these count."""
        levels = -0.5 * self.dimension * np.log(2.0 * np.pi * self.variances)
        if np.isfinite(self.half):
            tail = self.tail
            levels += gammaln(tail.power) - gammaln(self.half) - 0.5 * self.dimension * np.log(self.half)
        return np.asarray(levels + np.log(self.shares) if self.counted else levels)

    def rest(self) -> Floats:
        """What is added to these for the likelihood, and before they are compared with the background."""
        rest = np.full(len(self.shares), np.log1p(-self.noise))
        return np.asarray(rest if self.counted else rest + np.log(self.shares))

    def away(self, sample: Coordinates) -> Floats:
        """Squared distances from the middle of the background; nothing where there is none."""
        out, middle = np.zeros(len(sample.rows)), self.middle
        if middle is None:
            return out

        def work(part: slice) -> None:
            out[part] = np.square(sample.rows[part] - middle).sum(axis=1) + sample.extra[part]

        parallel_map(work, thread_slices(out.size, FEW))
        return out

    def behind(self, away: Floats) -> Floats:
        """The background's density with its share, as a logarithm, at some squared distances."""
        if self.middle is None:
            return np.full(away.size, -np.inf)
        if self.flat is not None:
            return np.full(away.size, np.log(self.noise) + self.flat)
        level = np.log(self.noise) - 0.5 * self.dimension * np.log(2.0 * np.pi * self.width)
        return np.asarray(level - away / (2.0 * self.width))


class Fit(NamedTuple):
    """Clouds that were fitted: what each object has of every cluster and of the background."""

    clouds: Clouds
    home: Ints  # the cluster of which it has most
    parts: sp.csr_array  # objects x clusters
    outside: Floats
    likelihood: float


def climb(
    step: Callable[[_Parts, int, bool], tuple[_Parts, float]],
    parts: _Parts,
    *,
    rounds: int,
    steady: float,
    patience: int = 0,
    may_fall: bool = False,
    monitor: Monitor | None = None,
) -> _Parts:
    """Expectation and maximisation, round after round: what objects have of every cluster at last.

    ``step`` is a round: from what they have, the number of the round and whether the last one gained less
    than ``steady``, to what they have then and the logarithm of the likelihood per object. The fit ends after
    ``rounds``, at the monitor's time limit, or where more than ``patience`` rounds in a row gain too little.
    A likelihood that falls gains too little, unless it ``may_fall`` on the way.
    """
    last, calm = -np.inf, 0
    for k in range(rounds):
        parts, now = step(parts, k, calm > 0)
        gain = abs(now - last) if may_fall else now - last
        calm = calm + 1 if gain < steady else 0
        if calm > patience or (monitor is not None and monitor.out_of_time()):
            break
        last = now
    return parts


def fit_clouds(
    sample: Coordinates,
    starts: list[Start],
    *,
    dimension: float,
    noise: bool = False,
    free: bool = False,
    monitor: Monitor | None = None,
    flat: float | None = None,
    common: bool = False,
    counted: bool = False,
    tails: bool = False,
    least: float = 0.0,
    rounds: int = ROUNDS,
    steady: float = STEADY,
) -> Fit:
    """Fit clouds to a sample.

    ``noise``: whether there is a background; ``free``: whether the dimension may change; ``flat``: a constant
    background; ``common``: one width for all clusters, and every object with the nearest centre; ``counted``:
    shares decide between clusters, too; ``tails``: those of Student's t; ``least``: the least variance;
    ``rounds``, ``steady``: see ``climb``.
    """
    n, rows, points = len(sample.rows), sample.rows, sample.points(sample.rows, sample.extra)
    sizes = np.array([max(1.0, float(start.members.size)) for start in starts])
    clouds = Clouds(
        np.array([start.centre for start in starts]),
        np.array([max(start.square, 1e-300) for start in starts]) / dimension,
        sizes / sizes.sum(),
        dimension,
        flat=flat,
        counted=counted,
        half=HEAVY if tails else np.inf,
    )
    spread = float((np.square(rows).sum(axis=1) + sample.extra).mean())
    unit = max(spread, 1e-12 * abs(sample.own), 1e-200)
    floor = max(1e-12 * unit / dimension, least)
    clouds.variances = np.maximum(clouds.variances, floor)
    if noise:
        covered = np.unique(np.concatenate([start.members for start in starts])).size / n
        clouds.noise, clouds.middle = float(np.clip(1.0 - covered, 0.05, 0.95)), rows.mean(axis=0)
        clouds.width = max(spread / dimension, floor)

    def step(found: _Sums | None, k: int, calm: bool) -> tuple[_Sums, float]:
        if found is not None:
            maximise(*found, free and (k > HELD or calm))
        away = clouds.away(sample)
        form = clouds.centres, 0.5 / clouds.variances, clouds.levels(), clouds.rest()
        sums, outside, likelihood = points.expected(*form, clouds.behind(away), common, clouds.tail)
        # where the dimension changes, densities are compared in a unit of length that is the data's own
        now = likelihood / n + 0.5 * clouds.dimension * float(np.log(unit))
        return (sums, outside, away, likelihood), now

    def maximise(sums: Floats, outside: Floats, away: Floats, _: float, free: bool) -> None:
        weights, d = sums[:, 0] + 1e-9, rows.shape[1]
        if tails:
            clouds.half = _half(float(sums[:, 4 + d].sum() / weights.sum()), clouds.dimension)
        means = np.maximum(sums[:, 1] / weights, floor)
        if free:
            squares = sums[:, 2] * (2.0 * clouds.variances / means) ** 2
            relative = float((squares - 2.0 * sums[:, 1] / means + sums[:, 0]).sum())
            relative = max(relative / float(weights.sum()), 1e-12)
            clouds.dimension = float(np.clip(2.0 / relative, 1.0, min(MANY, limit(sample))))
        full = weights > 0.5  # a cluster without objects stays where it is
        centres = sums[:, 3 : 3 + d] / (sums[:, 3 + d] + 1e-9)[:, None]
        clouds.centres = np.where(full[:, None], centres, clouds.centres)
        clouds.variances = np.maximum(means / clouds.dimension, floor)
        if common:
            clouds.variances[:] = float(clouds.variances @ weights) / float(weights.sum())
        clouds.shares = np.maximum(weights, 0.5) / np.maximum(weights, 0.5).sum()
        if noise:
            behind_all = float(outside.sum())
            clouds.noise = float(np.clip(behind_all / n, 1e-6, 1.0 - 1e-6))
            if behind_all > 1.0:
                clouds.middle = outside @ rows / behind_all
                clouds.width = max(float(outside @ away) / behind_all / clouds.dimension, floor)

    how = {"rounds": rounds + 1, "patience": int(free)}
    found = climb(step, None, steady=steady, may_fall=True, monitor=monitor, **how)
    assert found is not None
    _, outside, _, likelihood = found
    rates = 0.5 / clouds.variances
    home, parts = points.parts(clouds.centres, rates, clouds.levels(), outside, common, clouds.tail)
    return Fit(clouds, home, parts, outside, likelihood)


def _half(moment: float, dimension: float) -> float:
    """Half of the degrees of freedom that the mean of log w - w says, w the weights of the objects."""

    def slope(log_half: float) -> float:  # of the likelihood
        half = float(np.exp(log_half))
        power = half + 0.5 * dimension
        return float(np.log(half) - digamma(half) + 1.0 + moment + digamma(power) - np.log(power))

    low, high = np.log(0.5), np.log(LIGHT)
    if slope(high) >= 0.0:
        return LIGHT
    return float(np.exp(brentq(slope, low, high))) if slope(low) > 0.0 else 0.5


def limit(sample: Coordinates) -> float:
    """A cloud has no more dimensions than the points; where axes are left out, their number is unknown."""
    return np.inf if sample.extra.any() else float(max(1, sample.rows.shape[1]))


def gain_of_two(sample: Coordinates, objects: Flags, dimension: float) -> float:
    """By how many nats for each object two clouds explain them better than one, less what a long one gives.

    A long cloud is covered better by two round ones. So the same is done with objects whose places along the
    longest axis are spread evenly: what these gain is not evidence for two.
    """
    count = int(objects.sum())
    if count < 10:
        return 0.0
    rows, extra = sample.rows[objects], sample.extra[objects]
    rows = rows - rows.mean(axis=0)
    axis = rows[int((np.square(rows).sum(axis=1)).argmax())].copy()
    for _ in range(20):
        axis = rows.T @ (rows @ axis)
        axis /= max(float(np.linalg.norm(axis)), 1e-300)
    along = rows @ axis
    # evenly, and without regard to anything else: multiples of the golden ratio, by distance from the axis
    rank = np.argsort(
        np.argsort(np.square(rows).sum(axis=1) - np.square(along), kind="stable"), kind="stable"
    )
    even = np.sqrt(12.0 * np.square(along).mean()) * (np.mod(rank * GOLDEN, 1.0) - 0.5)
    flat = rows + np.multiply.outer(even - along, axis)
    return _gain(rows, extra, along > 0.0, dimension) - _gain(flat, extra, even > 0.0, dimension)


def _gain(rows: Floats, extra: Floats, left: Flags, dimension: float) -> float:
    """By how many nats for each object two clouds, begun on two sides, explain rows better than one does."""
    if not 0 < left.sum() < left.size:
        return 0.0
    lengths = np.square(rows).sum(axis=1) + extra
    one = max(float(lengths.mean()) / dimension, 1e-300)
    single = float((-0.5 * dimension * np.log(2.0 * np.pi * one) - lengths / (2.0 * one)).mean())
    starts = [Start(rows[side].mean(axis=0), one * dimension, np.arange(0)) for side in (left, ~left)]
    here, least = Coordinates(rows, extra, 0.0), 1e-9 * one
    two = fit_clouds(here, starts, dimension=dimension, counted=True, least=least, rounds=14, steady=0.0)
    return two.likelihood / len(rows) - single


def constant_density(sample: Coordinates) -> float | None:
    """The logarithm of the density of one object in the convex hull; None where that is not known."""
    rows = sample.rows
    n, d = rows.shape
    if d > FEW_DIMENSIONS or n <= d + 1 or sample.extra.any():
        return None
    unit = float(np.abs(rows).max(initial=0.0))
    if unit <= 0.0:
        return None
    try:
        volume = float(np.ptp(rows / unit)) if d == 1 else ConvexHull(rows / unit).volume
    except QhullError:  # the points lie in a plane
        return None
    return -float(np.log(volume) + d * np.log(unit))


def within_hull(rows: Floats, places: Floats) -> Floats:
    """The places, given from 0 to 1 along each axis of the rows' box, that lie in their convex hull."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    points = low + (high - low) * places
    if rows.shape[1] == 1:
        return np.asarray(points)
    planes = ConvexHull((rows - low) / (high - low)).equations
    return np.asarray(points[(places @ planes[:, :-1].T + planes[:, -1] <= 1e-9).all(axis=1)])
