r"""Labels of objects that are points: clusters as clouds about their centres, with or without a background.

In feature space cluster k is a cloud about :math:`c_k` whose squared distances :math:`t` have the density of
D normal coordinates of variance :math:`\sigma_k^2`:

.. math:: \log p_k(t) = -\tfrac D2 \log(2 \pi \sigma_k^2) - t / (2 \sigma_k^2).

D, the same for all clusters, is what their squared distances say: :math:`2 / \mathrm{cv}^2`, with cv their
relative spread. Between clusters the densities alone decide, not how large a cluster is. Centres and
variances are found by expectation and maximisation on a sample, from where the dominant sets stand.

Widths of their own suit clusters that are apart, or in few dimensions. In many dimensions, where clusters
touch and are no clouds (documents, images), a wide one would swallow the others. So they are believed only
where they change few labels or there are at most four dimensions, and where the dominant sets keep their
objects; else all clusters have one width, and objects belong to the nearest centre.

The background is one more cloud, which may lie anywhere and be as wide as it likes, and has a share of the
objects; in up to four dimensions also a constant density over the convex hull of the objects, whichever
explains more. It is believed where

- it explains the sample better than the clusters alone do, by more than the Bayesian information criterion
  asks of its parameters, and by 0.25 nats for each of its objects,
- the dominant sets keep their objects, most of them,
- it is broader than every cluster,
- widths of their own are believed (see above),
- and it is one cloud: two do not explain its objects better. (A cluster that was not found, or a class of
  documents that no group stands for, is not noise.)

Where one of these fails nobody is called noise (but for what lies farther out than one object in 10¹² of its
cluster would), and the table says which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from scipy.special import gammaincc

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.rows.base import Cores
from dominantsets.similarity import Similarity
from dominantsets.similarity.base import Coordinates
from dominantsets.solvers import Monitor

ROUNDS, STEADY = 40, 1e-4  # of each fit, and the gain in nats for each object below which it is done
HELD = 8  # rounds in which the dimension is held: clusters that start too wide would lower it
GAIN = 0.25  # nats for each object of the background
KEPT = 0.6  # of the dominant sets' objects that stay with their cluster
AGREE = 0.9  # of the labels that widths must leave alone, in more than four dimensions
SLACK = 0.02  # of the dominant sets' objects that may be lost to widths
ONE_CLOUD = 0.1  # nats for each object by which two clouds may explain the background better
GOLDEN = 0.6180339887498949
MANY = 1e4  # no more dimensions than that
FLAT = 4  # dimensions up to which the volume of the convex hull is found
FARTHEST = 1e-12  # probability below which an object is noise where noise is by evidence


def _logsumexp(logs: Floats) -> Floats:
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))


class Start(NamedTuple):
    """Where a cluster begins: its centre, its mean squared distance, and its objects of the sample."""

    centre: Floats
    square: float
    members: Flags


@dataclass
class _Clouds:
    """Clusters, and perhaps a background, as clouds; each fit changes a copy of its own."""

    centres: Floats
    variances: Floats
    shares: Floats
    dimension: float
    noise: float = 0.0
    middle: Floats | None = None
    width: float = np.inf
    flat: float | None = None  # the logarithm of a constant density

    def squares(self, sample: Coordinates) -> Floats:
        """Squared distances of all objects from all centres."""
        rows = sample.rows
        t = (np.square(rows).sum(axis=1) + sample.extra)[:, None] - 2.0 * rows @ self.centres.T
        return np.asarray(np.maximum(t + np.square(self.centres).sum(axis=1), 0.0))

    def logs(self, t: Floats) -> Floats:
        """The densities of all clusters, as logarithms."""
        return -0.5 * self.dimension * np.log(2.0 * np.pi * self.variances) - t / (2.0 * self.variances)

    def background(self, sample: Coordinates) -> tuple[Floats, Floats]:
        """Squared distances from the middle of the background, and its density with its share."""
        assert self.middle is not None
        t = np.square(sample.rows - self.middle).sum(axis=1) + sample.extra
        if self.flat is not None:
            return t, np.full(len(t), np.log(self.noise) + self.flat)
        level = np.log(self.noise) - 0.5 * self.dimension * np.log(2.0 * np.pi * self.width)
        return t, level - t / (2.0 * self.width)


class Fit(NamedTuple):
    """Clouds that were fitted: what each object has of every cluster and of the background."""

    clouds: _Clouds
    parts: Floats
    outside: Floats
    likelihood: float


def fit_clouds(
    sample: Coordinates,
    starts: list[Start],
    *,
    noise: bool,
    dimension: float,
    free: bool,
    monitor: Monitor,
    flat: float | None = None,
    common: bool = False,
) -> Fit:
    """Fit clouds to a sample.

    ``free``: whether the dimension may change; ``flat``: a constant background; ``common``: one width for all
    clusters, and every object with the nearest centre.
    """
    n, rows = len(sample.rows), sample.rows
    sizes = np.array([max(1.0, float(start.members.sum())) for start in starts])
    clouds = _Clouds(
        np.array([start.centre for start in starts]),
        np.array([max(start.square, 1e-300) for start in starts]) / dimension,
        sizes / sizes.sum(),
        dimension,
        flat=flat,
    )
    spread = float((np.square(rows).sum(axis=1) + sample.extra).mean())
    floor = 1e-12 * max(spread, 1e-12 * abs(sample.own), 1e-200) / dimension
    clouds.variances = np.maximum(clouds.variances, floor)
    if noise:
        covered = np.any([start.members for start in starts], axis=0).mean()
        clouds.noise, clouds.middle = float(np.clip(1.0 - covered, 0.05, 0.95)), rows.mean(axis=0)
        clouds.width = max(spread / dimension, floor)
    last, calm = -np.inf, 0
    for round_ in range(ROUNDS):
        t = clouds.squares(sample)
        logs = clouds.logs(t)
        mixed = _logsumexp(logs + np.log(clouds.shares)) + np.log1p(-clouds.noise)
        outside, total = np.zeros(n), mixed
        if noise:
            away, behind = clouds.background(sample)
            total = np.logaddexp(mixed, behind)
            outside = np.exp(behind - total)
        if common:
            parts = (t.argmin(axis=1)[:, None] == np.arange(len(starts))).astype(np.float64)
        else:
            parts = np.exp(logs - logs.max(axis=1)[:, None])
        parts *= ((1.0 - outside) / parts.sum(axis=1))[:, None]
        likelihood = float(total.sum())
        calm = calm + 1 if abs(likelihood - last) < STEADY * n else 0
        if calm > free or monitor.out_of_time():
            break
        last = likelihood
        weights = parts.sum(axis=0) + 1e-9
        means = np.maximum((parts * t).sum(axis=0) / weights, floor)
        if free and (round_ >= HELD or calm):
            relative = float((parts * np.square(t / means - 1.0)).sum() / weights.sum())
            clouds.dimension = float(np.clip(2.0 / max(relative, 1e-12), 1.0, min(MANY, _limit(sample))))
        full = weights > 0.5  # a cluster without objects stays where it is
        clouds.centres = np.where(full[:, None], parts.T @ rows / weights[:, None], clouds.centres)
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
    return Fit(clouds, parts, outside, likelihood)


def _limit(sample: Coordinates) -> float:
    """A cloud has no more dimensions than the points; where axes are left out, nobody knows how many."""
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
    here = Coordinates(rows, extra, 0.0)
    lengths = np.square(rows).sum(axis=1) + extra
    one = max(float(lengths.mean()) / dimension, 1e-300)
    single = float((-0.5 * dimension * np.log(2.0 * np.pi * one) - lengths / (2.0 * one)).mean())
    clouds = _Clouds(
        np.array([rows[side].mean(axis=0) for side in (left, ~left)]),
        np.full(2, one),
        np.full(2, 0.5),
        dimension,
    )
    double = -np.inf
    for _ in range(15):
        t = clouds.squares(here)
        logs = clouds.logs(t) + np.log(clouds.shares)
        total = _logsumexp(logs)
        double = float(total.mean())
        parts = np.exp(logs - total[:, None])
        weights = parts.sum(axis=0) + 1e-9
        clouds.centres = parts.T @ rows / weights[:, None]
        clouds.variances = np.maximum((parts * t).sum(axis=0) / weights / dimension, 1e-9 * one)
        clouds.shares = weights / weights.sum()
    return double - single


def kept(starts: list[Start], labels: Ints) -> float:
    """Which share of the dominant sets' objects has the label of its set, on average."""
    return float(np.mean([(labels[start.members] == k).mean() for k, start in enumerate(starts)]))


def are_clouds(sample: Coordinates, fit: Fit, same: Fit) -> bool:
    """Whether widths are believed: in few dimensions, or where they change few labels of what is no noise."""
    if sample.rows.shape[1] <= FLAT:
        return True
    inside = fit.outside <= 0.5
    alike = fit.parts.argmax(axis=1) == same.parts.argmax(axis=1)
    return bool(inside.any()) and float(alike[inside].mean()) >= AGREE


class Verdict(NamedTuple):
    """Whether there is noise: the decision, its evidence in nats for each object, and a sentence."""

    noisy: bool
    gain: float
    sentence: str


def judge_noise(sample: Coordinates, starts: list[Start], with_it: Fit, without: Fit, same: Fit) -> Verdict:
    """Whether the background is believed; ``same`` is the fit with one width for all clusters."""
    n, clouds = len(sample.rows), with_it.clouds
    share = float((with_it.outside > 0.5).mean())
    price = 0.5 * (clouds.dimension + 2.0) * np.log(n)
    gain = (with_it.likelihood - without.likelihood - price) / n
    home = np.where(with_it.outside > 0.5, -1, with_it.parts.argmax(axis=1))
    stayed = kept(starts, home)

    def no(reason: str) -> Verdict:
        return Verdict(False, gain, f"nobody is called noise: {reason}.")

    if share == 0.0 or gain <= GAIN * clouds.noise:
        return no(f"a background explains the data no better ({gain:+.2f} nats an object)")
    if stayed < KEPT:
        return no(f"a background would take {1.0 - stayed:.0%} of the dominant sets' own objects")
    if not are_clouds(sample, with_it, same):
        return no("the clusters touch, and are no clouds with a background around them")
    if clouds.width <= float(clouds.variances.max()):
        return no("what lies outside the clusters is no broader than the widest of them")
    two = gain_of_two(sample, with_it.outside > 0.5, clouds.dimension)
    if two > ONE_CLOUD:
        return no(
            f"what lies outside the clusters ({share:.0%}) is not one cloud (two explain it better by "
            f"{two:.2f} nats an object), so that it may be clusters that were not found"
        )
    return Verdict(
        True, gain, f"{share:.0%} are background: it explains the data better by {gain:.2f} nats an object."
    )


def _decided(
    sample: Coordinates, starts: list[Start], with_it: Fit, same: Fit, monitor: Monitor
) -> tuple[Fit, Verdict]:
    """The fit with a background or that without, which are compared in one space, and why."""
    space = with_it.clouds.dimension
    own = fit_clouds(sample, starts, noise=False, dimension=space, free=False, monitor=monitor)
    verdict = judge_noise(sample, starts, with_it, own, same)
    return (with_it if verdict.noisy else _widths(sample, starts, own, same)), verdict


def _widths(sample: Coordinates, starts: list[Start], own: Fit, same: Fit) -> Fit:
    """Clusters with widths of their own, or with one for all where those are not believed."""
    mine, theirs = kept(starts, own.parts.argmax(axis=1)), kept(starts, same.parts.argmax(axis=1))
    return own if are_clouds(sample, own, same) and mine >= theirs - SLACK else same


def _constant_density(sample: Coordinates) -> float | None:
    """The logarithm of the density of one object in the convex hull; None where that is not known."""
    rows = sample.rows
    n, d = rows.shape
    if d > FLAT or n <= d + 1 or sample.extra.any():
        return None
    unit = float(np.abs(rows).max(initial=0.0))
    if unit <= 0.0:
        return None
    try:
        volume = float(np.ptp(rows / unit)) if d == 1 else ConvexHull(rows / unit).volume
    except QhullError:  # the points lie in a plane
        return None
    return -float(np.log(volume) + d * np.log(unit))


@dataclass(frozen=True, eq=False)
class Labelling:
    """The rule that gives labels: clouds about mixtures of objects, and the verdict on noise.

    Attributes
    ----------
    cores : Cores
        The clusters: the score of an object is the logarithm of its density.
    dimension : float
        That of the clouds.
    levels : ndarray
        What is added to a score before it is compared with the background: the cluster's share.
    background : Cores or None
        The background, where there is one.
    least : float
        Probabilities below which an object is noise.
    verdict : Verdict
        Whether there is noise.
    """

    cores: Cores
    dimension: float
    levels: Floats
    background: Cores | None
    least: float
    verdict: Verdict

    def labels(self, best: Ints, score: Floats, behind: Floats | None) -> tuple[Ints, Floats]:
        """Labels and probabilities, from the best clusters, their scores, and those of the background.

        The probability is the share of the cluster that lies farther out.
        """
        t = (self.cores.constants[best] - score) / self.cores.rates[best]
        variances = 0.5 / self.cores.rates[best]
        probabilities = np.asarray(gammaincc(0.5 * self.dimension, np.maximum(t, 0.0) / (2.0 * variances)))
        noise = probabilities < self.least
        if behind is not None:
            noise |= behind > score + self.levels[best]
        return np.where(noise, -1, best), np.where(noise, 0.0, probabilities)

    def of(self, similarity: Similarity) -> tuple[Ints, Floats]:
        """Labels and probabilities of all objects: a pass, and one for the background."""
        best, score = similarity.nearest(self.cores)
        behind = None if self.background is None else similarity.nearest(self.background)[1]
        return self.labels(best, score, behind)

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects."""
        scores = _scores(similarity, new, self.cores)
        best = scores.argmax(axis=1)
        score = scores[np.arange(len(best)), best]
        behind = None if self.background is None else _scores(similarity, new, self.background)[:, 0]
        return self.labels(best, score, behind)[0]


def _scores(similarity: Similarity, new: Any, cores: Cores) -> Floats:
    own, out = similarity.self_similarities_of_new(new), np.empty((new.shape[0], len(cores.mixtures)))
    for k, mixture in enumerate(cores.mixtures):
        away = 0.5 * (own - 2.0 * similarity.payoff_of(new, mixture) + cores.inside[k])
        out[:, k] = cores.constants[k] - cores.rates[k] * away
    return out


def label_by_clouds(
    similarity: Similarity,
    objects: Ints,
    sample: Coordinates,
    starts: list[Start],
    dimension: float,
    noise: str | float | None,
    monitor: Monitor,
) -> Labelling:
    """Fit clusters to a sample, and decide on noise.

    Parameters
    ----------
    similarity : Similarity
        That of all objects.
    objects : ndarray of int
        The sample.
    sample : Coordinates
        The sample's objects as points.
    starts : list of Start
        Where the clusters begin.
    dimension : float
        That of the data, to begin with.
    noise : "auto", None or float
        Noise by evidence, none, or the share of the objects that the user expects.
    monitor : Monitor
        Its time limit ends the fits early.

    Returns
    -------
    Labelling
        The rule.
    """
    if not np.isfinite(dimension):
        dimension = float(max(1, sample.rows.shape[1]))
    dimension = min(max(dimension, 1.0), _limit(sample))
    same = fit_clouds(
        sample, starts, noise=False, dimension=dimension, free=True, monitor=monitor, common=True
    )
    common: dict[str, Any] = {"monitor": monitor}
    if not similarity.has_clouds:
        fit, verdict = (
            same,
            Verdict(False, 0.0, "nobody is called noise: what lies between groups is on a border."),
        )
        noise = None if noise == "auto" else noise
    elif noise == "auto":
        with_it = fit_clouds(sample, starts, noise=True, dimension=dimension, free=True, **common)
        fit, verdict = _decided(sample, starts, with_it, same, monitor)
        flat = _constant_density(sample)
        if flat is not None:
            common |= {"flat": flat, "free": False, "dimension": float(sample.rows.shape[1])}
            other = fit_clouds(sample, starts, noise=True, **common)
            other_fit, other_verdict = _decided(sample, starts, other, same, monitor)
            if (other_verdict.noisy, other_verdict.gain) > (verdict.noisy, verdict.gain):
                fit, verdict = (other_fit if other_verdict.noisy else fit), other_verdict
    else:
        own = fit_clouds(sample, starts, noise=False, dimension=dimension, free=True, **common)
        fit = _widths(sample, starts, own, same)
        verdict = Verdict(False, 0.0, "nobody is called noise, as asked.")
    clouds = fit.clouds
    cores = _cores(similarity, objects, sample, fit.parts, clouds.variances, clouds.squares(sample), clouds)
    background = None
    if verdict.noisy:
        away, _ = clouds.background(sample)
        background = _cores(
            similarity, objects, sample, fit.outside[:, None], np.array([clouds.width]), away[:, None], clouds
        )
        constants = background.constants if clouds.flat is None else np.array([clouds.flat])
        rates = background.rates if clouds.flat is None else np.zeros(1)
        background = background._replace(constants=constants + np.log(clouds.noise), rates=rates)
    levels = np.log(clouds.shares) + np.log1p(-clouds.noise)
    farthest = FARTHEST if noise == "auto" else 0.0
    rule = Labelling(cores, clouds.dimension, levels, background, farthest, verdict)
    if isinstance(noise, str) or noise is None:
        return rule
    _, probabilities = rule.of(similarity)
    least = float(np.quantile(probabilities, noise)) if noise > 0.0 else 0.0
    sentence = f"{noise:.0%} are called noise, as asked: those farthest out in their clusters."
    return Labelling(cores, clouds.dimension, levels, None, least, Verdict(noise > 0.0, 0.0, sentence))


def _cores(
    similarity: Similarity,
    objects: Ints,
    sample: Coordinates,
    parts: Floats,
    variances: Floats,
    squares: Floats,
    clouds: _Clouds,
) -> Cores:
    """Clouds as mixtures of objects, with their densities as scores."""
    mixtures, inside = [], np.empty(parts.shape[1])
    own = similarity.self_similarities(objects)
    for k in range(parts.shape[1]):
        total = float(parts[:, k].sum())
        weights = (
            parts[:, k] / total if total > 1e-6 else np.eye(1, len(parts), int(squares[:, k].argmin()))[0]
        )
        some = np.flatnonzero(weights > 1e-9 * weights.max())
        w = weights[some] / weights[some].sum()
        mixtures.append(similarity.centre(objects[some], w))
        # the mean squared distance from the centre is half the mean of own lengths less the centre's
        inside[k] = float(w @ own[some]) - 2.0 * float(w @ squares[some, k])
    constants = -0.5 * clouds.dimension * np.log(2.0 * np.pi * variances)
    return Cores(mixtures, inside, 0.5 / variances, constants)
