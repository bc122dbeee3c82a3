"""What an estimator says of the clusters it has found: labels, and warnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dominantsets._checks import warn
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.interrupts import Interrupted
from dominantsets.compiled.members import silence, sizes_of
from dominantsets.fitting.belonging import belonging
from dominantsets.fitting.parameters import Parameters
from dominantsets.fitting.plan import named
from dominantsets.fitting.selection import Selection
from dominantsets.labels.average import (
    Core,
    assign_by_average,
    average_of,
)
from dominantsets.labels.partition import Partition, Renumbered, memberships_of
from dominantsets.similarity import Similarity
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.similarity.source import as_given
from dominantsets.solvers import DominantSet, Monitor, SolverOptions, Status
from dominantsets.solvers.certificate import beyond_rounding
from dominantsets.solvers.result import End

Labelled = tuple[Ints, Floats | None, Any, str]  # a Partition, perhaps without probabilities and a rule
WORTH_A_WARNING = 1e-6  # relative gap of an unconverged cluster


class Labels(Parameters):
    """Clusters, and the labels of all objects."""

    end_: End | None
    selection_: Selection
    similarity_: Similarity
    scale_: Floats | None
    clusters_: list[DominantSet]

    def _set_clusters(self, clusters: list[DominantSet], cores: Ints) -> None:
        """The dominant sets themselves."""
        self.clusters_, self._cores = clusters, cores
        self.n_clusters_ = len(clusters)
        self.exemplars_ = np.array([c.exemplar for c in clusters], dtype=np.int64)
        self.shifts_ = np.array([c.shift for c in clusters])
        self.n_iter_ = sum(c.n_iter for c in clusters)
        self._memberships = memberships_of(clusters, cores)
        self._set_soft(self.similarity_)

    def _set_labels(
        self, partition: Callable[[], Partition], options: SolverOptions, monitor: Monitor, peeled: bool
    ) -> None:
        """Labels of all objects, the dominant sets that belong to them, and what new ones need."""
        similarity, cores, clusters = self.similarity_, self._cores, self.clusters_
        sentence = "the labels are those of the dominant sets: all others are -1."
        made: Labelled = (cores, None, None, sentence)
        among = np.full(len(clusters), similarity.n)
        try:
            if self.assign == "average":
                sentence = "every object is in the cluster with the highest average similarity."
                made = (assign_by_average(similarity, clusters, cores), None, None, sentence)
            elif self.assign == "refine" and clusters:
                made = self._with_objects(partition())
                among = np.full(len(self.clusters_), similarity.n)
                args = similarity, self.clusters_, made[0], options, monitor, peeled
                clusters, among = belonging(*args)
                if (among < similarity.n).any():
                    self._set_clusters(clusters, named(clusters, similarity.n))
                made = self._as_asked(made)
        except Interrupted:  # the cores are there
            monitor.hurry()
        self._keep(made, among)
        if monitor.interrupted:
            self.end_ = End.INTERRUPTED

    def _with_objects(self, found: Partition) -> Partition:
        """Labels of the clusters that have objects; where all of its objects are in others, a set is none."""
        count = len(self.clusters_)
        kept = np.flatnonzero(sizes_of(found.labels, count))
        if kept.size == count:
            return found
        names = np.full(count + 1, -1, dtype=np.int64)  # the last place is for the label -1
        names[kept] = np.arange(kept.size)
        self.selection_ = self.selection_.only(kept)
        self._set_clusters([self.clusters_[k] for k in kept], names[self._cores])
        return found._replace(labels=names[found.labels], rule=Renumbered(found.rule, names))

    def _as_asked(self, found: Partition) -> Partition:
        """Labels after what was asked about noise."""
        if self.noise == "cores":
            sentence = "every object outside the dominant sets is -1, as asked."
            inside = self._cores >= 0
            labels = np.where(inside, found.labels, -1)
            return Partition(labels, np.where(inside, found.probabilities, 0.0), found.rule, sentence)
        if self._noise_asked != self.noise:
            sentence = "no object is labelled noise: other parts of the data find another background."
            return found._replace(sentence=sentence)
        return found

    def _keep(self, made: Labelled, among: Ints) -> None:
        """What has been made, and what ``predict`` needs."""
        similarity, cores, clusters = self.similarity_, self._cores, self.clusters_
        labels, probabilities, self._rule, sentence = made
        self._outlier_scores: Any = None  # made when they are asked for
        self._levels: list[Core] = []
        self._averages: list[Any] = []
        if self.assign == "average":
            self._averages = [average_of(similarity.for_cluster(k), c) for k, c in enumerate(clusters)]
        if self._rule is None or self.noise == "cores":
            self._levels = [Core.of(similarity.for_cluster(k), c) for k, c in enumerate(clusters)]
        self.selection_ = self.selection_.labelled(clusters, among, labels, sentence)
        # as the caller's own data are kept: Dask arrays in the same chunks
        self.labels_ = as_given(similarity, labels.copy() if labels is cores else labels)
        self.core_labels_ = as_given(similarity, cores)
        self.memberships_ = as_given(similarity, self._memberships)
        probabilities = self._memberships.copy() if probabilities is None else probabilities
        self.assignment_rate_ = 1.0 - silence(labels, probabilities) / labels.size
        self.probabilities_ = as_given(similarity, probabilities)
        del self._cores, self._memberships

    def _warn(self, found: int) -> None:
        """Say what the user may not expect; ``found`` clusters there were before labels."""
        if self.end_ in (End.INTERRUPTED, End.TIME_LIMIT, End.STOPPED):
            warn(
                f"fitting ended early ({self.end_.value}): {self.n_clusters_} clusters were found, "
                "the last of which may be incomplete.",
                ConvergenceWarning,
            )
            return
        loose = [c for c in self.clusters_ if c.status is not Status.CONVERGED]
        # copies are a set at every small kappa, which makes any rounding of payoffs a large relative gap
        loose = [c for c in loose if beyond_rounding(c.gap, c.threshold, 0.0, c.shift)]
        loose = [c for c in loose if c.relative_gap > WORTH_A_WARNING]
        dissolved = [c.shift for c in loose if c.status is Status.DISSOLVED]
        if dissolved:
            degree = float(self.similarity_.degrees().mean())
            warn(
                f"the shift of {max(dissolved):.6g} is too large for this graph, whose mean degree is "
                f"{degree:.6g}: every object would gain by joining; lower it.",
                ConvergenceWarning,
            )
        elif loose:
            worst = max(c.relative_gap for c in loose)
            warn(
                f"{len(loose)} of {self.n_clusters_} clusters did not converge (largest relative gap "
                f"{worst:.1g}); raise max_iter in solver_params, or pass algorithm='pairwise' there.",
                ConvergenceWarning,
            )
        if self.n_clusters is not None and found > self.n_clusters_:
            warn(
                f"{found - self.n_clusters_} of {found} clusters are left out: all objects of their dominant "
                "sets belong to other clusters or to noise."
            )
        elif self.n_clusters_ == 0 and self.end_ is End.NOT_COHERENT:
            warn(
                "no cluster was found: no group stands out of the data, which look like noise or like one "
                "group; pass n_clusters, or a shift, to get clusters anyway."
            )
        elif self.n_clusters_ == 0:
            warn("no cluster was found: no two objects have a positive similarity.")
        if 0 < found < (self.n_clusters or 0):
            warn(
                f"{found} of {self.n_clusters} clusters were found, then nothing was left to look "
                f"for{f' ({self.end_.value})' if self.end_ not in (None, End.N_CLUSTERS) else ''}."
            )

    def _set_soft(self, similarity: Similarity) -> None:
        """Keep of each cluster what payoffs need, without the rows: a saved model has none."""
        self._summaries = arrivals_of(similarity).summarise_each(
            [(cluster.members, cluster.weights) for cluster in self.clusters_]
        )

    @property
    def _n_objects(self) -> int:
        """Objects of which ``clusters_`` speak: those with weights are fitted as copies."""
        return self._copies.counts.size if hasattr(self, "_copies") else self.similarity_.n

    @property
    def membership_matrix_(self) -> sp.csr_array:
        """The weights of every dominant set, each 1 for its exemplar; see the attributes of the class."""
        check_is_fitted(self)
        shape = self._n_objects, len(self.clusters_)
        if not self.clusters_:
            return sp.csr_array(shape)
        members = np.concatenate([cluster.members for cluster in self.clusters_])
        weights = np.concatenate([cluster.weights / cluster.weights.max() for cluster in self.clusters_])
        columns = np.repeat(np.arange(shape[1]), [len(cluster) for cluster in self.clusters_])
        return sp.csr_array((weights, (members, columns)), shape=shape)
