r"""The hierarchy of ellipses: clusters with metrics of their own, and where they merge.

In the metric of its own cluster a set x is no equilibrium any more where the mixture y of another cluster
gains against it: above the shift :math:`(x^T A x - y^T A x) / |x|^2`, as for the groups of a network
(:mod:`dominantsets.clusters.nested_graph`). Two clusters merge at the smaller of their two such shifts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.balls import Ball
from dominantsets.clusters.find import Request, find
from dominantsets.clusters.nested import NONE, Merge, Nested, Place, alone, elders
from dominantsets.clusters.nested_points import Sets, grown, nested_points
from dominantsets.clusters.scales import Scales
from dominantsets.labels.partition import Partition
from dominantsets.similarity import Similarity
from dominantsets.similarity.elliptic import Elliptic
from dominantsets.similarity.single_linkage import tree_of_graph
from dominantsets.solvers import DominantSet, Monitor, SolverOptions


def nested_ellipses(
    similarity: Elliptic,
    n_clusters: int | None,
    min_cluster_size: int,
    options: SolverOptions,
    monitor: Monitor,
) -> Nested:
    """The hierarchy of clusters with metrics of their own.

    Parameters
    ----------
    similarity : Elliptic
        The similarity; its metrics are set.
    n_clusters : int, optional
        Clusters that ``DominantSets`` is asked for: the groups of the tree that come first.
    min_cluster_size : int
        Smaller sets are no groups.
    options : SolverOptions
        Those of the dominant sets.
    monitor : Monitor
        Its time limit ends the search; what has been found by then is used.

    Returns
    -------
    Nested
        The hierarchy. Within the clusters are groups of the tree of points, where that has one for each.
    """
    request = Request(n_clusters, "auto", options, min_cluster_size, None)
    found = find(similarity, request, np.random.RandomState(0), monitor)
    if not len(similarity.metrics):  # too few objects for metrics of their own
        return nested_points(similarity, n_clusters, min_cluster_size, options, monitor)
    if len(found.clusters) < 2:
        return alone(similarity.n, found.clusters[0] if found.clusters else None)
    part = found.partition(None)
    finer = _with_finer(similarity, found.clusters, part, options, monitor)
    if finer is not None:
        return finer
    levels = _levels(similarity, found.clusters)
    links = tree_of_graph(sp.csr_array(levels))
    some = links.order[links.start]
    merges = [
        Merge(float(height), int(some[one]), int(some[two]), NONE)
        for height, one, two in zip(links.height, links.left, links.right, strict=True)
    ]
    top = float(max(levels.max(), max(cluster.shift for cluster in found.clusters)))
    root, splits = elders(np.full(len(found.clusters), -np.inf), merges, top)
    places = {k: Place(cluster.shift, k) for k, cluster in enumerate(found.clusters)}
    out = Nested(root, splits, places, dict(enumerate(found.clusters)), part.labels, top)
    out.settle(lambda level: level, lambda *_: None)
    out.rule = part.rule
    return out


class _Labelled(NamedTuple):
    """The labels of a partition, in the form that the tree of points asks for."""

    part: Partition

    def of(self, similarity: Similarity) -> tuple[Ints, Floats]:
        """Labels of all objects, and their probabilities."""
        return self.part.labels, self.part.probabilities

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects."""
        return self.part.rule.of_new(similarity, new)


def _with_finer(
    similarity: Elliptic,
    clusters: list[DominantSet],
    part: Partition,
    options: SolverOptions,
    monitor: Monitor,
) -> Nested | None:
    """The tree of points, in which the least doubtful ball of each cluster stands for it.

    None where a cluster has no ball of its own, or objects are outside all clusters.
    """
    scales = Scales(similarity, similarity.spread(), None, 1, monitor)
    if scales.tree is None or (part.labels < 0).any():
        return None
    lives, sampled = scales.tree.lives(), part.labels[scales.objects]
    stand: dict[int, int] = {}
    for life in sorted((life for life in lives if life.level >= 0), key=lambda life: life.chance):
        ball = Ball(*scales.tree.ball(life))
        stand.setdefault(int(np.bincount(sampled[ball.members], ball.weights).argmax()), life.chain)
    if len(stand) < len(clusters):
        return None
    certain = {stand[k]: cluster for k, cluster in enumerate(clusters)}
    sets = Sets(similarity, scales, options, monitor)
    return grown(scales, scales.tree, lives, certain, _Labelled(part), sets)


def _levels(similarity: Elliptic, clusters: list[DominantSet]) -> Floats:
    """The shifts at which pairs of clusters merge; 0 on the diagonal."""
    levels = np.zeros((len(clusters), len(clusters)))
    for i, one in enumerate(clusters):
        payoffs = similarity.for_cluster(i).gradient(one.members, one.weights)
        value = float(one.weights @ payoffs[one.members])
        square = float(one.weights @ one.weights)
        levels[i] = [(value - float(two.weights @ payoffs[two.members])) / square for two in clusters]
    np.fill_diagonal(levels, 0.0)
    return np.minimum(levels, levels.T)
