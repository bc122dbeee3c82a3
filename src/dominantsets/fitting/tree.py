"""The plan for paths: the single-linkage tree, cut where the longest edges leave enough on both sides."""

from __future__ import annotations

from dominantsets.clusters.tree_cut import cut_tree
from dominantsets.fitting.nested import Nested
from dominantsets.fitting.nested_path import nested_path
from dominantsets.fitting.plan import Noise, Plan, named
from dominantsets.fitting.selection import Selection, of_pieces
from dominantsets.labels.partition import Partition, label_by_pieces
from dominantsets.solvers.result import End


class Tree(Plan):
    """The pieces of a tree, each with its dominant set at a shift of its own."""

    def _find(self) -> None:
        request, similarity = self.request, self.similarity
        self._cut = cut_tree(
            similarity,
            request.n_clusters,
            request.min_cluster_size,
            request.options,
            self.monitor,
            self.background.objects,
            self.background.level if self.background.is_found else 0.0,
        )
        self.clusters = [piece.core for piece in self._cut.pieces]
        self.cores = named(self.clusters, self.similarity.n)
        first = self.clusters[0].shift if self.clusters else 0.0
        self.options = request.options.chosen_for(similarity, first)
        if self.monitor.out_of_time():
            self.end = End.TIME_LIMIT

    def labels(self, noise: Noise) -> Partition:
        return label_by_pieces(self.similarity, self._cut.labels, self.background, noise)

    def explain(self) -> Selection:
        return of_pieces(self._cut, self.request.n_clusters)

    def nested(self) -> Nested:
        return nested_path(self.similarity, self._cut, self.options, self.monitor)
