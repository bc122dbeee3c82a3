"""From cores to labels of all objects: which are noise, where the others go, where new ones would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.labels.average import Core, predict_by_payoff
from dominantsets.labels.refinement import FitByMembers, FitBySums, Refinement, refine
from dominantsets.similarity import Similarity
from dominantsets.similarity.base import Support
from dominantsets.solvers import DominantSet, Monitor

FAR = 1.75  # radii of a core beyond which objects of clean data hardly lie: docs/decisions.md
NOISY = 0.15  # of the objects in no core that do, from which the data are taken to have noise


class Noise(NamedTuple):
    """Which objects are noise, and the radii of the cores' balls beyond which they are."""

    outside: Flags | None = None
    radii: float = np.inf
    balls: Balls | None = None


NO_NOISE = Noise()


def noise_of(similarity: Similarity, clusters: list[DominantSet], cores: Ints) -> Noise:
    r"""Which objects are noise.

    In feature space the squared distance to the centre of a core is :math:`s_{ii} - 2 \sum_j x_j s_{ij} +
    x^T S x`; the radius of a core is the distance of its farthest member. Where the cores hold only the
    middle of the clusters, the rest lies close around them. So where many objects lie beyond 1.75 radii of
    every core there is noise, and then it is everything outside the cores' balls; else it is what little
    lies beyond 1.75 radii. Nothing is noise where no radius is known (graphs, cores of copies).
    """
    balls = Balls.of(similarity, clusters)
    if balls is None:
        return NO_NOISE
    outside = cores < 0
    points = [Support(cluster.members, cluster.weights) for cluster in clusters]
    squares = similarity.squared_radii(points, *balls)
    far, close = (squares > FAR**2) & outside, (squares > 1.0) & outside
    if np.count_nonzero(far) > max(5.0, NOISY * np.count_nonzero(outside)):
        return Noise(close, 1.0, balls)
    return Noise(far, FAR, balls)


class Balls(NamedTuple):
    """Cores as balls: what is needed of their members, x'Sx, and the squares of their radii.

    A radius is no smaller than the median one.
    """

    summaries: list[Any]
    inside: Floats
    squares: Floats

    @classmethod
    def of(cls, similarity: Similarity, clusters: list[DominantSet]) -> Balls | None:
        """None where there is no distance, or all cores are points."""
        if similarity.self_similarity is None or not clusters:
            return None
        own = similarity.diagonal()
        inside, squares = np.empty(len(clusters)), np.empty(len(clusters))
        for k, cluster in enumerate(clusters):
            members, weights = cluster.members, cluster.weights
            # a member's payoff with itself is f plus what the shift takes: exact for a stationary point
            payoffs = cluster.threshold + (cluster.shift + own[members]) * weights
            inside[k] = weights @ payoffs
            squares[k] = float((own[members] - 2.0 * payoffs).max()) + inside[k]
        level = max(10.0 * similarity.rounding, 1e-13 * float(np.abs(own).max()))
        if float(squares.max()) <= level:
            return None
        # a part in 10⁹ more: rounding must not put the farthest member outside
        summaries = [similarity.summarise(c.members, c.weights) for c in clusters]
        return cls(
            summaries, inside, (1.0 + 1e-9) * np.maximum(squares, max(float(np.median(squares)), level))
        )

    def near(self, similarity: Similarity, new: Any, radii: float) -> Flags:
        """Which new objects lie within so many radii of some core."""
        own, near = similarity.self_similarities_of_new(new), np.zeros(new.shape[0], dtype=bool)
        for k, summary in enumerate(self.summaries):
            payoffs = similarity.payoff_of(new, summary)
            near |= own - 2.0 * payoffs + self.inside[k] <= radii**2 * self.squares[k]
        return near


class Partition(NamedTuple):
    """The labels of all objects, and what it takes to place new ones.

    ``rule`` finds the refined cluster that a new object fits best, before noise is left out: what lies beyond
    so many ``radii`` of the cores' ``balls``, or below the ``levels`` of fit of its cluster.
    """

    labels: Ints
    rule: FitBySums | FitByMembers
    balls: Balls | None = None
    radii: float = np.inf
    levels: Floats | None = None
    cores_only: bool = False


def partition(
    similarity: Similarity,
    clusters: list[DominantSet],
    cores: Ints,
    keep: float | str | None,
    seeds: Ints | None = None,
    monitor: Monitor | None = None,
) -> Partition:
    """Refine the cores into a partition.

    Parameters
    ----------
    similarity : Similarity
        Of any kind.
    clusters : list of DominantSet
        The clusters.
    cores : ndarray of int
        Labels of their members, -1 elsewhere.
    keep : float, str or None
        "auto" leaves out noise as told by :func:`noise_of`, before refinement; "payoff" all that is in no
        core, a quantile q what fits less well than the q-quantile of its cluster's core, both afterwards.
    seeds : ndarray of int, optional
        Another place to begin; the result with the higher objective is taken, with the numbers of the cores
        that it shares most objects with.
    monitor : Monitor, optional
        Its time limit ends the refinement.

    Returns
    -------
    Partition
        Labels, and what ``predict`` needs.
    """
    count, noise = len(clusters), noise_of(similarity, clusters, cores) if keep == "auto" else NO_NOISE
    best = refine(similarity, cores, count, outside=noise.outside, monitor=monitor)
    if seeds is not None and np.unique(seeds[seeds >= 0]).size == count:
        other = refine(similarity, seeds, count, outside=noise.outside, monitor=monitor)
        if other.objective[-1] > best.objective[-1] * (1.0 + 1e-12):
            best = _numbered(other, cores, count)
    if keep == "payoff":  # the cores are the objects that pass the test of payoffs
        return Partition(np.where(cores >= 0, best.labels, -1), best.rule, cores_only=True)
    if keep is None or isinstance(keep, str):
        return Partition(best.labels, best.rule, noise.balls, noise.radii)
    levels = _levels(best, cores, count, keep)
    inside = best.fit >= np.append(levels, np.inf)[best.labels]
    return Partition(np.where(inside, best.labels, -1), best.rule, levels=levels)


def _numbered(refined: Refinement, cores: Ints, count: int) -> Refinement:
    """The same partition, with each cluster numbered after the core that it shares most with."""
    both = (cores >= 0) & (refined.labels >= 0)
    shared = np.zeros((count, count))
    np.add.at(shared, (refined.labels[both], cores[both]), 1.0)
    mine, theirs = linear_sum_assignment(-shared)
    names = np.append(theirs[np.argsort(mine)], -1)
    order = np.argsort(names[:-1])
    return refined._replace(labels=names[refined.labels], rule=refined.rule.renumbered(order))


def _levels(refined: Refinement, cores: Ints, count: int, quantile: float) -> Floats:
    """The q-quantile of each core's fit, where the core is still in its cluster; -inf elsewhere."""
    levels = np.full(count, -np.inf)
    for k in range(count):
        core = (cores == k) & (refined.labels == k)
        if core.any():
            levels[k] = np.quantile(refined.fit[core], quantile) * (1.0 - 1e-12)
    return levels


def predict_by_fit(similarity: Similarity, cores: Sequence[Core], partition: Partition, new: Any) -> Ints:
    """The refined cluster that a new object fits best; -1 where noise is left out and it is far."""
    fits = partition.rule.of(similarity, new)
    top = fits.max(axis=1)  # 0: nothing in common with any cluster; -inf: another component
    labels = np.where((top == 0.0) | np.isneginf(top), -1, fits.argmax(axis=1))
    if partition.levels is not None:
        labels = np.where(top >= np.append(partition.levels, np.inf)[labels], labels, -1)
    if partition.cores_only:
        labels = np.where(predict_by_payoff(similarity, cores, new) >= 0, labels, -1)
    if partition.balls is not None and np.isfinite(partition.radii):
        labels = np.where(partition.balls.near(similarity, new, partition.radii), labels, -1)
    return labels
