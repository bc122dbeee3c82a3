"""From cores to labels of all objects: which are noise, where the others go, where new ones would."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dominantsets._typing import Floats, Ints
from dominantsets.labels.average import predict_by_payoff
from dominantsets.labels.refinement import Refined, refine, self_similarities
from dominantsets.similarity import Similarity
from dominantsets.solvers import DominantSet, Monitor

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
    outside = cores < 0
    if similarity.on_device and similarity.offset is not None:
        from dominantsets.labels.device_refinement import near_objects  # imports torch

        far, close = (
            ~near_objects(similarity, clusters, balls.inside, radii**2 * balls.squares)  # type: ignore[arg-type]
            for radii in (FAR, 1.0)
        )
    else:
        squares = _squared_radii(similarity, clusters, balls)
        far, close = squares > FAR**2, squares > 1.0
    far &= outside
    if np.count_nonzero(far) > max(5.0, NOISY * np.count_nonzero(outside)):
        return close & outside, 1.0
    return far, FAR


def _squared_radii(similarity: Similarity, clusters: list[DominantSet], balls: Balls) -> Floats:
    """The squared distance of each object from the nearest core's centre, in radii of that core."""
    own, out = self_similarities(similarity), np.full(similarity.n, np.inf)
    for k, cluster in enumerate(clusters):
        payoffs = similarity.gradient(cluster.members, cluster.weights)
        payoffs[cluster.members] += own[cluster.members] * cluster.weights
        np.minimum(out, (own - 2.0 * payoffs + balls.inside[k]) / balls.squares[k], out=out)
    return out


class Balls(NamedTuple):
    """x'Sx of each core, and the square of its radius, which is no smaller than the median one."""

    inside: Floats
    squares: Floats

    @classmethod
    def of(cls, similarity: Similarity, clusters: list[DominantSet]) -> Balls | None:
        """None where there is no distance, or all cores are points."""
        if similarity.self_similarity is None or not clusters:
            return None
        own = self_similarities(similarity)
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
        # a part in 10⁹ more, lest rounding puts the farthest member outside
        return cls(inside, (1.0 + 1e-9) * np.maximum(squares, max(float(np.median(squares)), level)))


class Partition(NamedTuple):
    """The labels of all objects, and what it takes to place new ones: the refined clusters before noise was
    left out, their W_k, and the radii of a core beyond which there is noise."""

    labels: Ints
    refined: Ints
    weights: Floats
    radii: float
    levels: Floats | None = None  # of fit in each cluster, below which there is noise
    cores_only: bool = False


def partition(
    similarity: Similarity,
    clusters: list[DominantSet],
    cores: Ints,
    keep_noise: float | str | None,
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
    keep_noise : float, str or None
        "auto" leaves out noise as told by :func:`noise_of`, before refinement; "payoff" all that is in no
        core, a quantile q what fits less well than the q-quantile of its cluster's core, both afterwards.
    seeds : ndarray of int, optional
        Another place to begin; the result with the higher objective is taken, with the numbers of the cores
        that it shares most objects with.
    monitor : Monitor, optional
        Whose time limit ends the refinement.

    Returns
    -------
    Partition
        Labels, and what ``predict`` needs.
    """
    count = len(clusters)
    outside, radii = None, np.inf
    if keep_noise == "auto":
        outside, radii = noise_of(similarity, clusters, cores)
    best = refine(similarity, cores, count, outside=outside, monitor=monitor)
    if seeds is not None and np.unique(seeds[seeds >= 0]).size == count:
        other = refine(similarity, seeds, count, outside=outside, monitor=monitor)
        if other.objective[-1] > best.objective[-1] * (1.0 + 1e-12):
            best = _numbered(other, cores, count)
    if keep_noise == "payoff":  # the cores are the objects that pass the test of payoffs
        labels = np.where(cores >= 0, best.labels, -1)
        return Partition(labels, best.labels, best.weights, radii, cores_only=True)
    if keep_noise is None or isinstance(keep_noise, str):
        return Partition(best.labels, best.labels, best.weights, radii)
    levels = _levels(best, cores, keep_noise)
    inside = best.fit >= np.append(levels, np.inf)[best.labels]
    return Partition(np.where(inside, best.labels, -1), best.labels, best.weights, radii, levels)


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


def _levels(refined: Refined, cores: Ints, quantile: float) -> Floats:
    """The q-quantile of each core's fit, where the core is still in its cluster; nothing elsewhere."""
    levels = np.full(refined.weights.size, -np.inf)
    for k in range(levels.size):
        core = (cores == k) & (refined.labels == k)
        if core.any():
            levels[k] = np.quantile(refined.fit[core], quantile) * (1.0 - 1e-12)
    return levels


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
    if partition.levels is not None:
        labels = np.where(top >= np.append(partition.levels, np.inf)[labels], labels, -1)
    if partition.cores_only:
        labels = np.where(predict_by_payoff(similarity, clusters, new) >= 0, labels, -1)
    balls = Balls.of(similarity, clusters) if np.isfinite(partition.radii) else None
    if balls is not None:
        own = similarity.self_similarities_of_new(new)
        near = np.zeros(new.shape[0], dtype=bool)
        for k, cluster in enumerate(clusters):
            payoffs = similarity.payoff(new, cluster.members, cluster.weights)
            near |= own - 2.0 * payoffs + balls.inside[k] <= partition.radii**2 * balls.squares[k]
        labels = np.where(near, labels, -1)
    return labels
