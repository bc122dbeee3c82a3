"""The plan for networks: groups that are followed over shifts, each a dominant set at its own."""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Ints
from dominantsets.clusters.graph_groups import GraphGroup, graph_groups
from dominantsets.fitting.nested import Nested
from dominantsets.fitting.nested_graph import nested_graph
from dominantsets.fitting.plan import Noise, Plan, named
from dominantsets.fitting.selection import Selection, of_groups
from dominantsets.labels.edges import label_by_edges
from dominantsets.labels.partition import Partition
from dominantsets.solvers.result import End


class Network(Plan):
    """The groups of a graph that are more than chance would have."""

    def _find(self) -> None:
        request, found = self.request, list[GraphGroup]()
        self._nodes = np.full(self.similarity.n, -1, dtype=np.int64)
        if self.similarity.matrix.data.any():
            has_rest = request.noise is not None
            found, self._nodes = graph_groups(self.similarity, request.n_clusters, self.monitor, has_rest)
        kept = [k for k, group in enumerate(found) if len(group.core) >= request.min_cluster_size]
        names = np.full(len(found) + 1, -1, dtype=np.int64)
        names[kept] = np.arange(len(kept))
        self._nodes, self._groups = names[self._nodes], [found[k] for k in kept]
        self.clusters = [group.core for group in self._groups]
        self.cores = named(self.clusters, self.similarity.n)  # of overlapping ones, the most certain
        first = self.clusters[0].shift if self.clusters else 0.0
        self.options = request.options.chosen_for(self.similarity, first, 0)
        if self.monitor.out_of_time():
            self.end = End.TIME_LIMIT

    def labels(self, noise: Noise) -> Partition:
        every = self.request.n_clusters is not None
        return label_by_edges(self.similarity, self.clusters, self._nodes, noise, every)

    def explain(self) -> Selection:
        return of_groups(self._groups)

    def nested(self) -> Nested:
        return nested_graph(self.similarity, self._groups, self.labels(None), self.monitor)

    def _reorder(self, order: Ints) -> None:
        super()._reorder(order)
        self._groups = [self._groups[k] for k in order]
        self._nodes = np.append(np.argsort(order), -1)[self._nodes]
