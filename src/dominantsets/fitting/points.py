"""The plan for points: every cluster at its own scale, labels by clouds about the clusters.

It is also that of kernels, matrices and places in an embedding: of all similarities that have distances.
"""

from __future__ import annotations

from dominantsets._typing import Ints
from dominantsets.clusters.scales import OwnScales, Scales, kept_scales, starts_of
from dominantsets.fitting.nested import Nested
from dominantsets.fitting.nested_points import nested_points
from dominantsets.fitting.plan import Noise, Plan
from dominantsets.fitting.selection import Selection, of_scales
from dominantsets.labels.clouds import Start
from dominantsets.labels.mixture import label_by_clouds
from dominantsets.labels.partition import Partition, label_by_isolation
from dominantsets.similarity.isolation import isolation_of
from dominantsets.similarity.located import Coordinates, located
from dominantsets.solvers.result import HALTS


class Points(Plan):
    """The groups of a tree of modes, each a dominant set of all objects at a shift of its own."""

    def _find(self) -> None:
        similarity, request = self.similarity, self.request
        points = located(similarity)
        wanted = points.n_groups if request.n_clusters is None else request.n_clusters
        spread = points.spread(self.random_state)
        self._scales = scales = kept_scales(similarity, wanted, request.min_cluster_size) or Scales(
            similarity, spread, wanted, request.min_cluster_size, self.monitor
        )
        self._run = run = OwnScales(
            similarity, scales, request.options, self.monitor, request.min_cluster_size
        )
        keep = request.keep(similarity, request.options.algorithm, {"shift": "auto"}, ["n_clusters"])
        self.clusters = self._collected(run, keep)
        self.cores = run.labels
        self.end = run.end
        self.options = request.options.chosen_for(similarity, scales.shift(scales.balls[0].kappa), 0)
        if self.end in HALTS.values():
            self.monitor.hurry()

    def _reorder(self, order: Ints) -> None:
        super()._reorder(order)
        self._run.balls = [self._run.balls[k] for k in order]

    def labels(self, noise: Noise) -> Partition:
        scales, balls = self._scales, self._run.balls
        # directions have no noise to be judged
        judged = noise == "auto" and located(self.similarity).has_clouds
        why = scales.hidden(len(balls)) if judged else ""
        starts = starts_of(scales, balls)
        sure = None if scales.all_significant else starts_of(scales, scales.significant)
        dimension = 1.0 if scales.tree is None else scales.tree.dimension
        return by_clouds(self, scales.objects, scales.sample, starts, dimension, noise, why, sure)

    def explain(self) -> Selection:
        return of_scales(self._scales, self._run.balls, self.clusters, self.request.n_clusters)

    def nested(self) -> Nested:
        found = self._scales, self._run.balls, self.clusters, self.end
        return nested_points(self.similarity, *found, self.options, self.monitor)


def by_clouds(
    plan: Plan,
    objects: Ints,
    sample: Coordinates,
    starts: list[Start],
    dimension: float,
    noise: Noise,
    hidden: str = "",
    significant: list[Start] | None = None,
) -> Partition:
    """Labels by clouds; ``hidden`` says why no object can be noise.

    Where objects stand for rows that are places elsewhere, noise is what is isolated among the rows.
    """
    similarity, any_shape = plan.similarity, isolation_of(plan.similarity) is not None
    decided, far = None if noise == "cores" or hidden or any_shape else noise, noise is not None
    rule = label_by_clouds(
        similarity, objects, sample, starts, dimension, decided, plan.monitor, significant, may_be_far=far
    )
    if any_shape:
        return label_by_isolation(similarity, rule.of(similarity)[0], rule, plan.background, noise)
    sentence = f"no object is labelled noise: {hidden}." if hidden else rule.verdict.sentence
    return Partition(*rule.of(similarity), rule, sentence)
