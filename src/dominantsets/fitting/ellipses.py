r"""The plan for ellipses: a mixture of normal clouds, each cluster a dominant set in a metric of its own.

In the hierarchy, two clusters merge at the smaller of two shifts. In the metric of its own cluster a set x is
no equilibrium any more where the mixture y of another cluster gains against it: above the shift
:math:`(x^T A x - y^T A x) / |x|^2`, as for the groups of a network
(:mod:`dominantsets.fitting.nested_graph`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.balls import Ball
from dominantsets.clusters.elliptic import cores, fitted, label_by_ellipses, metrics
from dominantsets.clusters.scales import SAMPLE, SAMPLE_A_CLUSTER, Scales, chosen
from dominantsets.fitting.nested import NONE, Merge, Nested, Place, alone, elders
from dominantsets.fitting.nested_points import Sets, grown
from dominantsets.fitting.plan import Noise, Request
from dominantsets.fitting.points import Points
from dominantsets.fitting.selection import Selection, of_ellipses
from dominantsets.labels.partition import Partition
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.similarity.located import located
from dominantsets.similarity.single_linkage import tree_of_graph
from dominantsets.solvers import Monitor
from dominantsets.solvers.result import End

LabelsOf = Callable[..., list[Ints]]


class _Labelled(NamedTuple):
    """The labels of a partition, in the form that the tree of points asks for."""

    part: Partition

    def of(self, similarity: Similarity) -> tuple[Ints, Floats]:
        """Labels of all objects, and their probabilities."""
        return self.part.labels, self.part.probabilities

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects."""
        return self.part.rule.of_new(similarity, new)


class EllipticPlan(Points):
    """Clusters that each have their own metric, from the groups of other affinities.

    Where there are too few objects for a metric, it is the plan for points.
    """

    def __init__(
        self,
        labels_of: LabelsOf,
        similarity: Any,
        request: Request,
        random_state: np.random.RandomState,
        monitor: Monitor,
    ) -> None:
        super().__init__(similarity, request, random_state, monitor)
        self._labels_of = labels_of

    def _groups(self, rows: Floats, affinity: str) -> Ints:
        """The groups of some rows under another affinity, from which a mixture begins."""
        params: dict[str, dict[str, Any]] = {
            "path": {"min_samples": min(5, len(rows))},
            "diffusion": {"n_components": self.request.n_clusters},
        }
        some: Similarity = as_similarity(rows, affinity, **params.get(affinity, {}))
        quiet = replace(self.request, keep=lambda *_: None, say=lambda *_: None)
        noise = "auto" if self.request.noise in ("auto", "cores") else None
        return self._labels_of(some, quiet, self.random_state, self.monitor, noise)[0]

    def _find(self) -> None:
        similarity, request = self.similarity, self.request
        size = max(SAMPLE, SAMPLE_A_CLUSTER * (request.n_clusters or 0))
        self._mixture = fitted(similarity, chosen(similarity.degrees(), size), self._groups, self.monitor)
        if self._mixture is None:
            super()._find()
            return
        similarity.settle(metrics(self._mixture))
        labels, _ = self._mixture.label(np.asarray(similarity.features, dtype=np.float64))
        self.clusters = cores(similarity, self._mixture, labels, request.options, self.monitor)
        for k, cluster in enumerate(self.clusters):
            request.say(k + 1, cluster)
            self.cores[cluster.members[labels[cluster.members] == k]] = k
        first = self.clusters[0].shift if self.clusters else 0.0
        self.options = request.options.chosen_for(similarity, first, 0)
        if self.monitor.out_of_time():
            self.end = End.TIME_LIMIT

    def labels(self, noise: Noise) -> Partition:
        if self._mixture is None:
            return super().labels(noise)
        return label_by_ellipses(self.similarity, self._mixture, noise, len(self.clusters))

    def explain(self) -> Selection:
        if self._mixture is None:
            return super().explain()
        return of_ellipses(self._mixture, self.clusters, self.similarity.start)

    def nested(self) -> Nested:
        if self._mixture is None:
            return super().nested()
        clusters = self.clusters
        if len(clusters) < 2:
            return alone(self.similarity.n, clusters[0] if clusters else None)
        part = self.labels(None)
        finer = self._with_finer(part)
        if finer is not None:
            return finer
        levels = self._levels()
        links = tree_of_graph(sp.csr_array(levels))
        some = links.order[links.start]
        merges = [
            Merge(float(height), int(some[one]), int(some[two]), NONE)
            for height, one, two in zip(links.height, links.left, links.right, strict=True)
        ]
        top = float(max(levels.max(), max(cluster.shift for cluster in clusters)))
        root, splits = elders(np.full(len(clusters), -np.inf), merges, top)
        places = {k: Place(cluster.shift, k) for k, cluster in enumerate(clusters)}
        out = Nested(root, splits, places, dict(enumerate(clusters)), part.labels, top)
        out.settle(lambda level: level, lambda *_: None)
        out.rule = part.rule
        return out

    def _with_finer(self, part: Partition) -> Nested | None:
        """The tree of points, in which the least doubtful ball of each cluster stands for it.

        None where a cluster has no ball of its own, or objects are outside all clusters.
        """
        scales = Scales(self.similarity, located(self.similarity).spread(), None, 1, self.monitor)
        if scales.tree is None or (part.labels < 0).any():
            return None
        lives, sampled = scales.tree.lives(), part.labels[scales.objects]
        stand: dict[int, int] = {}
        for life in sorted((life for life in lives if life.level >= 0), key=lambda life: life.chance):
            ball = Ball(*scales.tree.ball(life))
            stand.setdefault(int(np.bincount(sampled[ball.members], ball.weights).argmax()), life.chain)
        if len(stand) < len(self.clusters):
            return None
        certain = {stand[k]: cluster for k, cluster in enumerate(self.clusters)}
        sets = Sets(self.similarity, scales, self.request.options, self.monitor)
        return grown(scales, scales.tree, lives, certain, _Labelled(part), sets)

    def _levels(self) -> Floats:
        """The shifts at which pairs of clusters merge; 0 on the diagonal."""
        levels = np.zeros((len(self.clusters), len(self.clusters)))
        for i, one in enumerate(self.clusters):
            payoffs = self.similarity.for_cluster(i).gradient(one.members, one.weights)
            value = float(one.weights @ payoffs[one.members])
            square = float(one.weights @ one.weights)
            mutual = np.array([float(two.weights @ payoffs[two.members]) for two in self.clusters])
            levels[i] = (value - mutual) / square
        np.fill_diagonal(levels, 0.0)
        return np.minimum(levels, levels.T)
