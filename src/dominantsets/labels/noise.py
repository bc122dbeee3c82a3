"""Which objects are noise: those that lie far from every core."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.similarity import Similarity
from dominantsets.similarity.base import Support
from dominantsets.solvers import DominantSet

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


def self_similarities(similarity: Similarity) -> Floats:
    """What stands on the diagonal: an object's similarity to its copy, or the largest similarity."""
    if similarity.self_similarity is not None:
        return similarity.self_similarities(np.arange(similarity.n))
    return np.full(similarity.n, similarity.largest())
