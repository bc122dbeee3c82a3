"""From cores to labels of all objects: which are noise, where the others go, where new ones would."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dominantsets.refinement import Refined, refine, self_similarities
from dominantsets.similarity import Similarity
from dominantsets.similarity.base import Floats, Ints
from dominantsets.solvers import DominantSet

FAR = 1.75  # radii of a core beyond which objects of clean data hardly lie: docs/decisions.md
NOISY = 0.15  # of the objects in no core that do, from which the data are taken to have noise


def noise_of(
    similarity: Similarity, clusters: list[DominantSet], cores: Ints
) -> tuple[NDArray[np.bool_], float]:
    r"""Which objects are noise, and the radii of a core beyond which they are.

    In feature space the squared distance to the centre of a core is :math:`s_{ii} - 2 \sum_j x_j s_{ij} +
    x^T S x`; the radius of a core is the distance of its farthest member. Where the cores hold only the
    middle of the clusters, the rest lies close around them. So where many objects lie beyond 1.75 radii of
    every core there is noise, and then it is everything outside the cores' balls; else it is what little
    lies beyond 1.75 radii. Nothing is noise where no radius is known (graphs, cores of copies).
    """
    nobody = np.zeros(similarity.n, dtype=bool)
    balls = Balls.of(similarity, clusters)
    if balls is None:
        return nobody, np.inf
    own, outside = self_similarities(similarity), cores < 0
    far, close = nobody | True, nobody | True
    for k, cluster in enumerate(clusters):
        payoffs = similarity.gradient(cluster.members, cluster.weights)
        payoffs[cluster.members] += own[cluster.members] * cluster.weights
        squares = own - 2.0 * payoffs + balls.inside[k]
        far &= squares > FAR**2 * balls.squares[k]
        close &= squares > balls.squares[k]
    far &= outside
    if np.count_nonzero(far) > max(5.0, NOISY * np.count_nonzero(outside)):
        return close & outside, 1.0
    return far, FAR


class Balls(NamedTuple):
    """x'Sx of each core, and the square of its radius, which is no smaller than the median one."""

    inside: Floats
    squares: Floats

    @classmethod
    def of(cls, similarity: Similarity, clusters: list[DominantSet]) -> Balls | None:
        """None where there is no distance, or all cores are points."""
        if similarity.peak is None or not clusters:
            return None
        own = self_similarities(similarity)
        inside, squares = np.empty(len(clusters)), np.empty(len(clusters))
        for k, cluster in enumerate(clusters):
            members, weights = cluster.members, cluster.weights
            # a member's payoff with itself is f plus what the shift takes: exact for a stationary point
            payoffs = cluster.threshold + (cluster.shift + own[members]) * weights
            inside[k] = weights @ payoffs
            squares[k] = float((own[members] - 2.0 * payoffs).max()) + inside[k]
        level = 1e-9 * float(np.abs(own).max())
        if float(squares.max()) <= level:
            return None
        # a part in 10⁹ more, lest rounding puts the farthest member outside
        return cls(inside, (1.0 + 1e-9) * np.maximum(squares, max(float(np.median(squares)), level)))


class Partition(NamedTuple):
    """The labels of all objects, and what it takes to place new ones: the refined clusters before noise was
    left out, their W_k, and the radii of a core beyond which there is noise."""

    labels: Ints
    refined: Ints
    weights: Floats
    radii: float


def partition(
    similarity: Similarity,
    clusters: list[DominantSet],
    cores: Ints,
    keep_noise: float | str | None,
    seeds: Ints | None = None,
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
    keep_noise : float, str or None
        "auto" leaves out noise as told by :func:`noise_of`, before refinement; "payoff" all that is in no
        core, a quantile q what fits less well than the q-quantile of its cluster's core, both afterwards.
    seeds : ndarray of int, optional
        Another place to begin; the result with the higher objective is taken, with the numbers of the cores
        that it shares most objects with.

    Returns
    -------
    Partition
        Labels, and what ``predict`` needs.
    """
    count = len(clusters)
    outside, radii = None, np.inf
    if keep_noise == "auto":
        outside, radii = noise_of(similarity, clusters, cores)
    best = refine(similarity, cores, count, outside=outside)
    if seeds is not None and np.unique(seeds[seeds >= 0]).size == count:
        other = refine(similarity, seeds, count, outside=outside)
        if other.objective[-1] > best.objective[-1] * (1.0 + 1e-12):
            best = _numbered(other, cores, count)
    labels = best.labels
    if keep_noise is not None and keep_noise != "auto":
        labels = without_noise(best, cores, keep_noise)
    return Partition(labels, best.labels, best.weights, radii)


def _numbered(refined: Refined, cores: Ints, count: int) -> Refined:
    """The same partition, with each cluster numbered after the core that it shares most with."""
    both = (cores >= 0) & (refined.labels >= 0)
    shared = np.zeros((count, count))
    np.add.at(shared, (refined.labels[both], cores[both]), 1.0)
    mine, theirs = linear_sum_assignment(-shared)
    names = np.append(theirs[np.argsort(mine)], -1)
    weights = np.empty(count)
    weights[names[:-1]] = refined.weights
    return refined._replace(labels=names[refined.labels], weights=weights)


def without_noise(refined: Refined, cores: Ints, keep_noise: float | str) -> Ints:
    """Labels with -1 for objects that do not belong.

    ``keep_noise`` is a quantile q: an object stays where it fits its cluster at least as well as the
    q-quantile of the cluster's core does. "payoff" keeps the cores only: the objects that pass the test of
    payoffs, and so would gain by joining.
    """
    labels = refined.labels.copy()
    if keep_noise == "payoff":
        labels[cores < 0] = -1
        return labels
    for k in range(refined.weights.size):
        core = (cores == k) & (labels == k)
        if core.any():
            level = np.quantile(refined.fit[core], float(keep_noise))
            labels[(labels == k) & (refined.fit < level * (1.0 - 1e-12))] = -1
    return labels


def predict_by_fit(
    similarity: Similarity, clusters: list[DominantSet], partition: Partition, new: Any
) -> Ints:
    """The refined cluster that a new object fits best; -1 where noise is left out and it is far."""
    fits = np.full((len(clusters), new.shape[0]), -np.inf)
    for k, weight in enumerate(partition.weights):
        members = np.flatnonzero(partition.refined == k)
        if members.size:
            share = np.full(members.size, 1.0 / np.sqrt(max(weight, 1e-300)))
            fits[k] = similarity.payoff(new, members, share)
    top = fits.max(axis=0)  # 0: nothing in common with anybody; -inf: another component
    labels = np.where((top == 0.0) | np.isneginf(top), -1, fits.argmax(axis=0))
    balls = Balls.of(similarity, clusters) if np.isfinite(partition.radii) else None
    if balls is not None:
        own = similarity.own_of(new)
        near = np.zeros(new.shape[0], dtype=bool)
        for k, cluster in enumerate(clusters):
            payoffs = similarity.payoff(new, cluster.members, cluster.weights)
            near |= own - 2.0 * payoffs + balls.inside[k] <= partition.radii**2 * balls.squares[k]
        labels = np.where(near, labels, -1)
    return labels
