"""The plan for one shift: clusters are peeled off one after another, each among what the others left."""

from __future__ import annotations

import numpy as np

from dominantsets.clusters.minimum_size import guaranteed_shift, sufficient_shift
from dominantsets.clusters.peeling import Peeling, renumbered
from dominantsets.clusters.scales import chosen, starts_from
from dominantsets.clusters.shift import Resolution, choose_shift
from dominantsets.fitting.nested import Nested, alone
from dominantsets.fitting.plan import Noise, Plan
from dominantsets.fitting.points import by_clouds
from dominantsets.fitting.selection import Selection, of_shift
from dominantsets.labels.partition import Partition, label_by_fit, label_by_isolation
from dominantsets.similarity.isolation import isolation_of
from dominantsets.similarity.located import located
from dominantsets.solvers.result import HALTS

SAMPLED, SOME = 6_000, 40  # objects from which labels are made, and of each cluster


class OneShift(Plan):
    """Clusters that share one shift: a given one, or what suits similarities that have no tree of groups."""

    peels = True

    def _find(self) -> None:
        similarity, request = self.similarity, self.request
        self._degrees = similarity.degrees(self.random_state)
        self._resolution = resolution = self._resolved()
        self.options = request.options.chosen_for(similarity, resolution.shift)
        run = Peeling(
            similarity,
            request.n_clusters,
            shift=resolution.shift,
            options=self.options,
            min_cluster_size=request.min_cluster_size,
            monitor=self.monitor,
            degrees=self._degrees,
        )
        keep = None
        if resolution.halt is not None:
            run.end = resolution.halt
        else:
            depends = {"shift": resolution.shift}
            keep = request.keep(similarity, self.options.algorithm, depends, ["n_clusters"])
        found = self._collected(run, keep)
        self.end = run.end
        if run.end in HALTS.values():
            self.monitor.hurry()  # one round of refinement, so that Ctrl-C is answered at once
        kept = list(range(len(found)))
        if request.n_clusters is None:  # those that are significant; the others are left out
            kept = [k for k in kept if run.judgements[k].significant or len(run.labels) == 1]
        self.clusters, self.cores = [found[k] for k in kept], renumbered(run.labels, kept, len(found))

    def _resolved(self) -> Resolution:
        """The shift: given, chosen, or such that no cluster is small."""
        similarity, request, monitor = self.similarity, self.request, self.monitor
        size, cutoff = request.min_cluster_size, request.options.cutoff
        if request.shift == "guaranteed":
            shift = guaranteed_shift(similarity, size)
            return Resolution(shift, f"no cluster can have fewer than {size} members.")
        if request.shift == "sufficient":
            shift = sufficient_shift(
                similarity, size, request.n_clusters, degrees=self._degrees, monitor=monitor, cutoff=cutoff
            )
            return Resolution(shift, f"found by search: no cluster has fewer than {size} members.")
        if not isinstance(request.shift, str):
            return Resolution(float(request.shift), "given.")
        return choose_shift(similarity, self._degrees, request.n_clusters, monitor=monitor)

    def labels(self, noise: Noise) -> Partition:
        similarity, clusters = self.similarity, self.clusters
        if similarity.structure != "points":
            if isolation_of(similarity) is None:
                return label_by_fit(similarity, clusters, self.cores, noise, self.monitor)
            found = label_by_fit(similarity, clusters, self.cores, None, self.monitor)
            return label_by_isolation(similarity, found.labels, found.rule, self.background, noise)
        few = [cluster.members[:: max(1, len(cluster) // SOME)] for cluster in clusters]
        size = SAMPLED // 6 if self.monitor.interrupted else SAMPLED  # Ctrl-C is answered at once
        objects = np.unique(np.concatenate([chosen(self._degrees, size), *few]))
        sample = located(similarity).coordinates(objects)
        starts = starts_from(sample, objects, clusters)
        return by_clouds(self, objects, sample, starts, np.inf, noise)

    def explain(self) -> Selection:
        return of_shift(self._resolution, self.clusters)

    def nested(self) -> Nested:
        if self.similarity.n == 1:
            return alone(1, self.clusters[0] if self.clusters else None)
        return super().nested()
