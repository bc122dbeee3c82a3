"""Which cluster an object that is in none belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.similarity import Similarity
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.solvers import DominantSet

ROUNDING = 1e-6  # how far members' payoffs may lie below f where the gap is small


def assign_by_average(similarity: Similarity, clusters: Sequence[DominantSet], labels: Ints) -> Ints:
    r"""The paper's post-assignment of objects labelled -1.

    Object j joins the cluster :math:`\arg\max_\ell |C_\ell|^{-1} \sum_{p \in C_\ell} a_{jp}`, ties to
    the cluster found first. One gradient per cluster, no n × n matrix.
    """
    labels = labels.copy()
    left = np.flatnonzero(labels < 0)
    if left.size and len(clusters):
        best = np.full(left.size, -np.inf)
        for k, cluster in enumerate(clusters):
            average = similarity.for_cluster(k).gradient(cluster.members, _equal(cluster))[left]
            if similarity.components is not None:  # nothing leads from one component to another
                home = similarity.components[cluster.members[0]]
                average[similarity.components[left] != home] = -np.inf
            better = average > best
            best[better] = average[better]
            labels[left[better]] = k
    return labels


class Core(NamedTuple):
    """What new objects need of a cluster: a summary of its weights, and the payoff to exceed."""

    summary: Any
    level: float

    @classmethod
    def of(cls, similarity: Similarity, cluster: DominantSet) -> Core:
        # As new objects members have f plus weight times (self-similarity + shift): less than f where there
        # is no self-similarity and the shift is negative, else f give or take the gap. No outsider of the
        # training data comes nearer than the margin.
        own: Any = 0.0
        if similarity.self_similarity is not None:
            own = similarity.self_similarities(cluster.members)
        below = -float(np.min((own + cluster.shift) * cluster.weights))
        unit = max(cluster.value, cluster.threshold, 0.0)
        slack = min(0.5 * max(cluster.margin, 0.0), max(below, 0.0) + ROUNDING * unit)
        summary = arrivals_of(similarity).summarise(cluster.members, cluster.weights)
        return cls(summary, cluster.threshold - slack)


def predict_by_payoff(similarity: Similarity, cores: Sequence[Core], new: Any) -> Ints:
    r"""The first cluster found that a new object would gain by joining, or -1.

    Object j joins where :math:`\sum_i x_i a_{ij} > x^T A x - \alpha |x|^2`, up to rounding, or where it has
    as much as the members have but for what their own weight takes (negative shifts). By the KKT
    conditions an object of the training data outside every cluster passes no test, and a member of a
    cluster none of the clusters found before its own, so that training objects get their labels.
    """
    labels = np.full(new.shape[0], -1, dtype=np.int64)
    for k, core in enumerate(cores):
        payoffs = arrivals_of(similarity.for_cluster(k)).payoff_of(new, core.summary)
        labels[(labels < 0) & (payoffs > core.level)] = k
    return labels


def of_own(similarity: Similarity, cores: Sequence[Core], labels: Ints, new: Any) -> Ints:
    """Labels of the new objects that would gain by joining the cluster of their label, -1 for the others."""
    labels = labels.copy()
    for k, core in enumerate(cores):
        payoffs = arrivals_of(similarity.for_cluster(k)).payoff_of(new, core.summary)
        labels[(labels == k) & ~(payoffs > core.level)] = -1
    return labels


def predict_by_average(
    similarity: Similarity, cores: Sequence[Core], averages: Sequence[Any], new: Any
) -> Ints:
    """The cluster that a new object would gain by joining, else that of the highest average similarity.

    So the training objects were labelled: those in a dominant set by it, the others by averages.
    """
    labels = predict_by_payoff(similarity, cores, new)
    if not len(averages):
        return labels
    each = [arrivals_of(similarity.for_cluster(k)) for k in range(len(averages))]
    values = np.array([here.payoff_of(new, s) for here, s in zip(each, averages, strict=True)])
    far = np.isneginf(values.max(axis=0))
    return np.where(labels >= 0, labels, np.where(far, -1, values.argmax(axis=0)))


def average_of(similarity: Similarity, cluster: DominantSet) -> Any:
    """A summary of equal weights on a cluster's members."""
    return arrivals_of(similarity).summarise(cluster.members, _equal(cluster))


def _equal(cluster: DominantSet) -> Floats:
    return np.full(len(cluster), 1.0 / len(cluster))
