r"""Clusters with metrics of their own: a mixture of normal clouds, and the dominant set of each.

A mixture is fitted to a sample, from the groups of other affinities, and gives all objects their labels. In
the metric of its own covariance cluster k is round: its dominant set is a ball about its centre there, wide
enough to hold about half of it. The ball is climbed from the cluster's own objects; where it ends among
others, a smaller one is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.labels.ellipses import Ellipses, best_ellipses
from dominantsets.labels.noise import FAR, is_share, noise_level, without_noise
from dominantsets.labels.partition import Partition
from dominantsets.labels.soft import posteriors
from dominantsets.similarity import Similarity
from dominantsets.similarity.elliptic import Elliptic
from dominantsets.solvers import DominantSet, Monitor, Point, SolverOptions, make_problem

WIDE = 2.0  # squared radius of a ball, in medians of the squared distances of a cluster's objects
TRIES = 6  # of balls, each with half of the last one's kappa
OWN = 0.5  # of a dominant set's weight that must lie on its own cluster


class ByEllipses(NamedTuple):
    """The cloud that a new object is most likely of; -1 where that is the background, or is far.

    Far are distances above ``farthest``, in the metric of the object's cluster; objects with a probability
    below ``least`` are -1, too.
    """

    mixture: Ellipses
    farthest: float = np.inf
    least: float = 0.0

    @property
    def limits(self) -> Floats:
        """The distance from the center of each cluster, from which new objects are noise."""
        return np.full(self.mixture.n_clusters, self.farthest)

    def within(self, times: float) -> ByEllipses:
        """The rule by which objects are noise from so many times the distance of the farthest object."""
        return self._replace(farthest=times / FAR * self.farthest)

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects."""
        rows = np.asarray(new, dtype=np.float64)
        labels, typical = self.mixture.label(rows)
        far = self.mixture.squares(rows, labels) > self.farthest**2
        return np.where(far | (typical < self.least), -1, labels)

    def soft(self, similarity: Any, known: Ints, n_clusters: int, labels: Ints, new: Any) -> Floats:
        """Posteriors of the mixture."""
        if new is None and similarity.features is None:
            similarity.rows_of(np.arange(1))  # refused: a saved model has no rows
        logs = self.mixture.logs(np.asarray(similarity.features if new is None else new, dtype=np.float64))
        clusters, others = logs[:, : self.mixture.n_clusters], logs[:, self.mixture.n_clusters :]
        behind = np.logaddexp.reduce(others, axis=1) if others.size else np.full(len(logs), -np.inf)
        return posteriors(clusters, behind, np.asarray(np.logaddexp.reduce(clusters, axis=1)))


def fitted(
    similarity: Elliptic, objects: Ints, groups: Callable[[Floats, str], Ints], monitor: Monitor
) -> Ellipses | None:
    """The mixture of a sample: the best of those that begin at the groups of some affinities.

    Parameters
    ----------
    similarity : Elliptic
        Says which affinities.
    objects : ndarray of int
        The sample.
    groups : callable
        Gives rows their labels under an affinity, -1 for noise.
    monitor : Monitor
        Its time limit ends the fit.

    Returns
    -------
    Ellipses or None
        The mixture; None where no group has two objects.
    """
    rows = np.asarray(similarity.features[objects], dtype=np.float64)
    starts = [groups(rows, affinity) for affinity in similarity.starts]
    return best_ellipses(rows, starts, monitor=monitor)


def metrics(mixture: Ellipses) -> Floats:
    r"""The transforms T of the clusters: :math:`T T^T` is the inverse of the covariance, of determinant 1."""
    roots = np.linalg.cholesky(np.linalg.inv(mixture.covariances[: mixture.n_clusters]))
    logs = np.linalg.slogdet(roots)[1] / roots.shape[1]
    return np.asarray(roots * np.exp(-logs)[:, None, None])


def cores(
    similarity: Elliptic, mixture: Ellipses, labels: Ints, options: SolverOptions, monitor: Monitor
) -> list[DominantSet]:
    """The dominant set of each cluster in its own metric; at the time limit, those found until then."""
    found: list[DominantSet] = []
    for k, centre in enumerate(mixture.centres[: mixture.n_clusters]):
        if found and monitor.out_of_time():
            break
        monitor.n_clusters = len(found)
        here = similarity.for_cluster(k)
        t = np.square((similarity.features - centre) @ similarity.metrics[k]).sum(axis=1)
        found.append(_ball(here, t, labels == k, options, monitor))
    return found


def _ball(here: Similarity, t: Floats, mine: Any, options: SolverOptions, monitor: Monitor) -> DominantSet:
    """The dominant set about a centre, from the squared distances of all objects to it."""
    some = np.flatnonzero(mine) if mine.any() else t.argsort(kind="stable")[:1]
    square = WIDE * float(np.median(t[some])) or 1e-12 * max(float(t.max()), 1e-300)
    kappa = max(float(np.maximum(square - t, 0.0).sum()), 1e-300)
    assert here.self_similarity is not None
    for _ in range(TRIES):
        shift = kappa - here.self_similarity
        weights = np.maximum(square - t[some], 0.0)
        if not weights.any():
            weights = (t[some] == t[some].min()).astype(np.float64)
        start = Point(some[weights > 0.0], weights[weights > 0.0] / weights.sum())
        core = make_problem(here, shift).solve_from(start, options.chosen_for(here, shift, 0), monitor)
        if float(core.weights[mine[core.members]].sum()) >= OWN:
            break
        kappa, square = 0.5 * kappa, 0.7 * square
    return core


def label_by_ellipses(
    similarity: Elliptic, mixture: Ellipses, noise: float | str | None, kept: int
) -> Partition:
    """Labels by the mixture; -1 for its background, and beyond the clusters that are kept."""
    rows = np.asarray(similarity.features, dtype=np.float64)
    labels, typical = mixture.label(rows)
    far = np.inf if noise is None else FAR * float(np.sqrt(mixture.squares(rows, labels).max(initial=0.0)))
    labels = np.where(labels < kept, labels, -1)
    sentence, least = "no object is labelled noise: no background was found.", 0.0
    if noise is None:
        sentence = "no object is labelled noise, as asked."
    elif is_share(noise):
        least = noise_level(typical, noise)
        labels, typical, sentence = without_noise(labels, typical, noise)
    elif (labels < 0).any():
        sentence = (
            f"{(labels < 0).mean():.0%} of the objects are labelled noise: a background explains them better."
        )
    return Partition(labels, np.where(labels < 0, 0.0, typical), ByEllipses(mixture, far, least), sentence)
