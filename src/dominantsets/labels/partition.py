"""From cores to labels of objects that are no points: those of a tree or a graph.

Points have :mod:`dominantsets.labels.mixture`. Both give a :class:`Partition`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled.members import put_memberships
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.labels.background import Background
from dominantsets.labels.noise import FAR, is_share, largest_of, share_beyond, without_noise
from dominantsets.labels.refinement import FitByMembers, diagonal_of, refine
from dominantsets.rows.base import Cores
from dominantsets.similarity import Similarity
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.isolation import isolation_of
from dominantsets.similarity.located import located
from dominantsets.solvers import DominantSet, Monitor

BEYOND = 1.75  # radii of a core beyond which objects of clean data hardly lie: docs/decisions.md
NOISY = 0.15  # of the objects in no core that do, from which the data are taken to have noise


class Rule(Protocol):
    """What gives new objects their labels."""

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects, -1 for noise."""

    def within(self, times: float) -> Self:
        """The rule by which objects are noise from so many times the distance of the farthest object."""

    @property
    def limits(self) -> Floats | None:
        """The distance from which new objects of each cluster are noise; None if the rule has none."""


@dataclass(frozen=True, eq=False)
class Unbounded:
    """A rule by which no new object is far."""

    @property
    def limits(self) -> None:
        """None: it has no limits."""

    def within(self, times: float) -> Self:
        """The rule itself."""
        return self


class Partition(NamedTuple):
    """The labels of all objects, how strongly they hold (0 to 1), the rule for new ones, and a sentence."""

    labels: Ints
    probabilities: Floats
    rule: Rule
    sentence: str


class Balls(NamedTuple):
    """Cores as balls: scores are minus the squared distance from a centre, in radii of the core.

    A radius is no smaller than the median one.
    """

    cores: Cores

    @classmethod
    def of(cls, similarity: Similarity, clusters: list[DominantSet]) -> Balls | None:
        """None where there is no distance, or all cores are points."""
        if similarity.self_similarity is None or not clusters:
            return None
        own = diagonal_of(similarity)
        inside, squares = np.empty(len(clusters)), np.empty(len(clusters))
        for k, cluster in enumerate(clusters):
            members, weights = cluster.members, cluster.weights
            # a member's payoff with itself is f plus what the shift takes: exact for a stationary point
            payoffs = cluster.threshold + (cluster.shift + own[members]) * weights
            inside[k] = weights @ payoffs
            squares[k] = float((own[members] - 2.0 * payoffs).max()) + inside[k]
        level = max(10.0 * bounds_of(similarity).rounding, 1e-13 * float(np.abs(own).max()))
        if float(squares.max()) <= level:
            return None
        # a part in 10⁹ more: rounding must not put the farthest member outside
        squares = (1.0 + 1e-9) * np.maximum(squares, max(float(np.median(squares)), level))
        mixtures = [arrivals_of(similarity).summarise(c.members, c.weights) for c in clusters]
        return cls(Cores(mixtures, inside, 2.0 / squares, np.zeros(len(clusters))))

    def near(self, similarity: Similarity, new: Any, radii: float) -> Flags:
        """Which new objects lie within so many radii of some core."""
        arrivals, near = arrivals_of(similarity), np.zeros(new.shape[0], dtype=bool)
        own = arrivals.self_similarities(new)
        for mixture, inside, rate in zip(*self.cores[:3], strict=True):
            near |= 0.5 * rate * (own - 2.0 * arrivals.payoff_of(new, mixture) + inside) <= radii**2
        return near


@dataclass(frozen=True, eq=False)
class ByFit(Unbounded):
    """The refined cluster that a new object fits best, unless it lies outside the cores' balls."""

    fits: FitByMembers
    balls: Balls | None = None
    radii: float = np.inf

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects; -1 where they have nothing in common with any cluster, or are far."""
        fits = self.fits.of(similarity, new)
        top = fits.max(axis=1)  # 0: nothing in common with any cluster; -inf: another component
        labels = np.where((top == 0.0) | np.isneginf(top), -1, fits.argmax(axis=1))
        if self.balls is not None and np.isfinite(self.radii):
            labels = np.where(self.balls.near(similarity, new, self.radii), labels, -1)
        return labels


@dataclass(frozen=True, eq=False)
class ByPayoff(Unbounded):
    """The group of a graph with the largest payoff over the root of its own, where there is any."""

    summaries: list[Any]
    roots: Floats

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects; -1 where they have nothing in common with any group."""
        payoff_of = arrivals_of(similarity).payoff_of
        fits = np.column_stack([payoff_of(new, summary) for summary in self.summaries]) / self.roots
        return np.where(fits.max(axis=1) > 0.0, fits.argmax(axis=1), -1)


class Near(NamedTuple):
    """Another rule, for objects that are not isolated; those that are have the label -1.

    Parameters
    ----------
    rule : Rule
        The labels of the others.
    levels : ndarray of shape (K,)
        The isolation above which an object of each cluster is noise; inf for none.
    largest : ndarray of shape (K,)
        The largest isolation in each cluster.
    times : float
        An object is far if it is this many times as isolated as the most isolated one of its cluster.
    """

    rule: Rule
    levels: Floats
    largest: Floats
    times: float = FAR

    @property
    def limits(self) -> Floats:
        """The isolation above which a new object of each cluster is noise."""
        far = np.full(self.largest.size, np.inf) if np.isinf(self.times) else self.times * self.largest
        return np.minimum(self.levels, far)

    def within(self, times: float) -> Self:
        """The rule with another number of times."""
        return self._replace(times=times)

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects; -1 for those that are isolated."""
        labels, isolation = self.rule.of_new(similarity, new), isolation_of(similarity)
        assert isolation is not None
        # a part in 10⁹ more: rounding must not put the most isolated object outside
        far = isolation.of_new(new) > np.append((1.0 + 1e-9) * self.limits, np.inf)[labels]
        return np.where(far, -1, labels)


@dataclass(frozen=True, eq=False)
class ByNearest(Unbounded):
    """A new object is reached through the object nearest to it, and belongs where that one does."""

    leaves: Ints

    def of_new(self, similarity: Any, new: Any) -> Ints:
        """The leaves of new objects; -1 where there is no way to any."""
        reach, nearest = similarity.nearest_object(new)
        return np.where(np.isfinite(reach), self.leaves[nearest], -1)


def label_by_isolation(
    similarity: Similarity, pieces: Ints, rule: Rule, background: Background, noise: float | str | None
) -> Partition:
    """Labels of groups of any shape, without their noise.

    An object is the more typical of its group the less isolated it is: its probability is the share of the
    group that is at least as isolated.

    Parameters
    ----------
    similarity : Similarity
        One with an isolation of its objects (:mod:`dominantsets.similarity.isolation`).
    pieces : ndarray of int
        The group of each object, -1 for none.
    rule : Rule
        The group of new objects.
    background : Background
        What is noise with "auto".
    noise : float, "auto", "cores" or None
        A number is the share of the objects that is noise, the least typical ones.

    Returns
    -------
    Partition
        With a rule by which new objects are noise, too.
    """
    labels = np.where(background.objects & (noise == "auto"), -1, pieces)
    probabilities, sentence = share_beyond(background.isolation, labels), background.sentence
    if noise is None:
        return Partition(labels, probabilities, rule, "no object is labelled noise, as asked.")
    if is_share(noise):
        labels, probabilities, sentence = without_noise(labels, probabilities, noise)
    if isolation_of(similarity) is None or not (labels >= 0).any():
        return Partition(labels, probabilities, rule, sentence)
    largest, every = (largest_of(background.isolation, some) for some in (labels, pieces))
    largest = np.append(largest, np.zeros(every.size - largest.size))
    levels = np.where(largest < every, largest, np.inf)  # with a share, those that were left out are beyond
    if noise == "auto":
        levels = np.full(largest.size, background.level)
    return Partition(labels, probabilities, Near(rule, levels, largest), sentence)


def label_by_pieces(
    similarity: Any, pieces: Ints, background: Background, noise: float | str | None
) -> Partition:
    """Labels by the pieces of a tree."""
    found = label_by_isolation(similarity, pieces, ByNearest(pieces), background, noise)
    if noise is None or is_share(noise) or (pieces >= 0).all():
        return found
    sentence = f"{(pieces < 0).mean():.0%} are in trees of their own; {found.sentence}"
    return found._replace(sentence=sentence)


def label_by_fit(
    similarity: Similarity,
    clusters: list[DominantSet],
    cores: Ints,
    noise: float | str | None,
    monitor: Monitor,
) -> Partition:
    """Refine the cores of a tree or a graph into a partition.

    Parameters
    ----------
    similarity : Similarity
        Of any kind.
    clusters : list of DominantSet
        The clusters.
    cores : ndarray of int
        Labels of their members, -1 elsewhere.
    noise : float, "auto" or None
        "auto" leaves out what lies far outside every core, before refinement; a number is the share of the
        objects that fit their cluster least, left out afterwards.
    monitor : Monitor
        Its time limit ends the refinement.

    Returns
    -------
    Partition
        Labels, and what ``predict`` needs.
    """
    outside, radii, balls = _noise(similarity, clusters, cores) if noise == "auto" else (None, np.inf, None)
    found = refine(similarity, cores, len(clusters), outside=outside, monitor=monitor)
    labels, fit = found.labels, found.fit
    tops = np.full(len(clusters), -np.inf)
    inside = labels >= 0
    np.maximum.at(tops, labels[inside], fit[inside])
    strength = np.zeros(labels.size)
    strength[inside] = np.clip(fit[inside] / np.maximum(tops[labels[inside]], 1e-300), 0.0, 1.0)
    sentence = "no object is labelled noise."
    if is_share(noise):
        labels, strength, sentence = without_noise(labels, strength, noise)
    elif (labels < 0).any():
        sentence = f"{(labels < 0).mean():.0%} lie outside every cluster."
    return Partition(labels, np.where(labels < 0, 0.0, strength), ByFit(found.rule, balls, radii), sentence)


def _noise(
    similarity: Similarity, clusters: list[DominantSet], cores: Ints
) -> tuple[Flags | None, float, Balls | None]:
    """Which objects are noise, and the radii of the cores' balls beyond which they are.

    Where many objects lie beyond 1.75 radii of every core there is noise, and then it is everything outside
    the cores' balls; else it is what little lies beyond 1.75 radii. Nothing is noise where no radius is
    known.
    """
    balls = Balls.of(similarity, clusters)
    if balls is None:
        return None, np.inf, None
    outside = cores < 0
    squares = -located(similarity).nearest(balls.cores)[1]
    far, close = (squares > BEYOND**2) & outside, (squares > 1.0) & outside
    if np.count_nonzero(far) > max(5.0, NOISY * np.count_nonzero(outside)):
        return close, 1.0, balls
    return far, BEYOND, balls


def memberships_of(clusters: list[DominantSet], cores: Ints) -> Floats:
    """The weight of each object in its dominant set, 1 for the exemplar; 0 outside all of them."""
    memberships = np.zeros(cores.size)

    def work(part: slice) -> None:
        for k in range(part.start, part.stop):
            # all of the members have this core, unless clusters overlap
            put_memberships(cores, clusters[k].members, clusters[k].weights, k, memberships)

    parallel_map(work, thread_slices(len(clusters), 8))
    return memberships
