"""From cores to labels of objects that are no points: those of a tree or a graph.

Points have :mod:`dominantsets.labels.mixture`. Both give a :class:`Partition`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.members import put_memberships
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.labels.background import Background
from dominantsets.labels.noise import FAR, is_share, largest_of, share_beyond, without_noise
from dominantsets.labels.refinement import FitByMembers, refine
from dominantsets.labels.soft import alone, voted
from dominantsets.similarity import Similarity
from dominantsets.similarity.isolation import RowIsolation, isolation_of
from dominantsets.solvers import DominantSet, Monitor


class Placing(Protocol):
    """What gives new objects their labels."""

    def of_new(self, similarity: Any, new: Any) -> Ints:
        """Labels of new objects, -1 for noise."""


class Rule(Placing, Protocol):
    """What gives new objects the labels of a partition."""

    def within(self, times: float) -> Self:
        """The rule by which objects are noise from so many times the distance of the farthest object."""

    @property
    def limits(self) -> Floats | None:
        """The distance from which new objects of each cluster are noise; None if the rule has none."""

    def soft(self, similarity: Any, known: Ints, n_clusters: int, labels: Ints, new: Any) -> Floats:
        """How likely objects with these labels are in each cluster, and in none.

        They are ``new``, or if it is None the objects of the fit, whose labels are ``known``.
        """


class Voting:
    """A rule with votes of neighbors; without neighbors labels have all of them."""

    def soft(self, similarity: Any, known: Ints, n_clusters: int, labels: Ints, new: Any) -> Floats:
        """Votes of the objects and of their neighbors."""
        isolation = isolation_of(similarity)
        if not isinstance(isolation, RowIsolation):
            return alone(labels, n_clusters)
        return voted(labels, known[isolation.neighbors(new)], n_clusters)


@dataclass(frozen=True, eq=False)
class Unbounded(Voting):
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


@dataclass(frozen=True, eq=False)
class Renumbered:
    """A rule some of whose clusters are left out.

    Parameters
    ----------
    rule : Rule
        The rule.
    names : ndarray of shape (K + 1,)
        The number of each of its clusters, -1 for none; the last place is for noise.
    """

    rule: Rule
    names: Ints

    @property
    def limits(self) -> Floats | None:
        """The limits of the clusters that are there."""
        limits = self.rule.limits
        return None if limits is None else limits[self.names[:-1] >= 0]

    def within(self, times: float) -> Self:
        """The same with another distance."""
        return replace(self, rule=self.rule.within(times))

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects."""
        return self.names[self.rule.of_new(similarity, new)]

    def soft(self, similarity: Any, known: Ints, n_clusters: int, labels: Ints, new: Any) -> Floats:
        """What the clusters that are there have, of all that these have."""
        kept = np.append(np.flatnonzero(self.names[:-1] >= 0), -1)
        every = self.rule.soft(similarity, kept[known], self.names.size - 1, kept[labels], new)[:, kept]
        total = every.sum(axis=1)
        return np.where(total[:, None] > 0.0, every / total.clip(1e-300)[:, None], alone(labels, n_clusters))

    def place(self, similarity: Similarity, new: Any) -> tuple[Ints, Floats]:
        """Labels and probabilities of new objects, where the rule has them."""
        labels, probabilities = self.rule.place(similarity, new)  # type: ignore[attr-defined]
        return self.names[labels], probabilities


@dataclass(frozen=True, eq=False)
class ByFit(Unbounded):
    """The refined cluster that a new object fits best."""

    fits: FitByMembers

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects; -1 where they have nothing in common with any cluster."""
        fits = self.fits.of(similarity, new)
        top = fits.max(axis=1)  # 0: nothing in common with any cluster; -inf: another component
        return np.where((top == 0.0) | np.isneginf(top), -1, fits.argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Near(Voting):
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
        return replace(self, times=times)

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
        A number is the share of the objects that fit their cluster least, which are left out.
    monitor : Monitor
        Its time limit ends the refinement.

    Returns
    -------
    Partition
        Labels, and what ``predict`` needs.
    """
    found = refine(similarity, cores, len(clusters), monitor=monitor)
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
    return Partition(labels, np.where(labels < 0, 0.0, strength), ByFit(found.rule), sentence)


def memberships_of(clusters: list[DominantSet], cores: Ints) -> Floats:
    """The weight of each object in its dominant set, 1 for the exemplar; 0 outside all of them."""
    memberships = np.zeros(cores.size)

    def work(part: slice) -> None:
        for k in range(part.start, part.stop):
            # all of the members have this core, unless clusters overlap
            put_memberships(cores, clusters[k].members, clusters[k].weights, k, memberships)

    parallel_map(work, thread_slices(len(clusters), 8))
    return memberships
