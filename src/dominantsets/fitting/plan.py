"""What a plan is: how the clusters of one kind of data are found, labelled, nested and explained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from dominantsets._typing import Ints
from dominantsets.clusters.checkpoint import Checkpoint
from dominantsets.compiled.interrupts import Interrupted
from dominantsets.fitting.nested import Nested
from dominantsets.fitting.selection import Selection
from dominantsets.labels.background import Background, find_background
from dominantsets.labels.partition import Partition
from dominantsets.similarity import Similarity
from dominantsets.solvers import DominantSet, Monitor, SolverOptions
from dominantsets.solvers.result import HALTS, End

Noise = float | str | None
Keep = Callable[[Similarity, str, dict[str, Any], list[str]], Checkpoint | None]


@dataclass(frozen=True)
class Request:
    """What is asked for, see :class:`DominantSets`.

    Attributes
    ----------
    n_clusters, shift, min_cluster_size, noise
        As the estimator has them.
    options : SolverOptions
        The solver's.
    keep : callable
        Makes the checkpoint for a similarity, an algorithm, what else the run depends on, and which of the
        estimator's parameters; None for none.
    say : callable
        Called with the number of each cluster and the cluster.
    before : ndarray of int, optional
        Earlier labels of the objects, -1 for none: clusters that are found again keep their numbers.
    background : Background, optional
        What is around groups of any shape, where that is known already.
    """

    n_clusters: int | None
    shift: float | str
    options: SolverOptions
    min_cluster_size: int = 1
    noise: Noise = "auto"
    keep: Keep = lambda *_: None
    say: Callable[[int, DominantSet], None] = lambda *_: None
    before: Ints | None = None
    background: Background | None = None


class Plan(ABC):
    """How a fit goes for one kind of data: find groups, then label, nest or explain them.

    Parameters
    ----------
    similarity : Similarity
        Of the kind that the plan is for.
    request : Request
        What is asked for.
    random_state : RandomState
        For row sums that are estimated.
    monitor : Monitor
        Has the time limit, Ctrl-C and the callback.

    Attributes
    ----------
    clusters : list of DominantSet
        The dominant sets; after Ctrl-C or at the time limit, those that were found until then.
    cores : ndarray of int
        Their labels, -1 outside them.
    options : SolverOptions
        The solver's options, with the algorithm that "auto" meant.
    end : End or None
        Why there are no more clusters.
    peels : bool
        Whether a cluster is a dominant set among the objects that earlier ones left, not among all.
    """

    peels = False

    def __init__(
        self, similarity: Any, request: Request, random_state: np.random.RandomState, monitor: Monitor
    ) -> None:
        self.similarity, self.request = similarity, request
        self.random_state, self.monitor = random_state, monitor
        self.clusters: list[DominantSet] = []
        self.cores = np.full(similarity.n, -1, dtype=np.int64)
        self.options: SolverOptions = request.options
        self.end: End | None = End.N_CLUSTERS

    @cached_property
    def background(self) -> Background:
        """What is around the groups, whatever their shape."""
        known = self.request.background
        return find_background(self.similarity) if known is None else known

    def groups(self) -> None:
        """Find the clusters."""
        self._find()
        if self.monitor.interrupted:
            self.monitor.hurry()
            self.end = End.INTERRUPTED
        if self.request.before is not None:
            self._reorder(order_of(self.cores, len(self.clusters), self.request.before))

    def _reorder(self, order: Ints) -> None:
        """Number the clusters anew: ``order[k]`` becomes cluster k."""
        names = np.append(np.argsort(order), -1)  # -1 stays
        self.clusters, self.cores = [self.clusters[k] for k in order], names[self.cores]

    @abstractmethod
    def _find(self) -> None:
        """Set clusters, cores, options and end."""

    @abstractmethod
    def labels(self, noise: Noise) -> Partition:
        """Labels of all objects, with a decision about noise."""

    @abstractmethod
    def explain(self) -> Selection:
        """How the clusters were chosen."""

    def nested(self) -> Nested:
        """The groups within groups, of which the clusters come first."""
        raise ValueError(
            f"{type(self.similarity).__name__} has no hierarchy: for neighbors of points use "
            "affinity='diffusion', and pass a graph in pieces as one CSR matrix."
        )

    def _collected(self, run: Any, keep: Checkpoint | None) -> list[DominantSet]:
        """What a run finds, kept after each cluster where that is asked for."""
        clusters: list[DominantSet] = []
        before = keep.load() if keep is not None else None
        if before is not None:
            clusters += before.clusters
            run.restore(clusters)
            run.end = End(before.end) if before.end is not None else None
        try:
            for cluster in run:
                clusters.append(cluster)
                self.request.say(len(clusters), cluster)
                if keep is not None and run.end not in HALTS.values():  # a halted cluster is not whole
                    keep.save(clusters, run.end.value if run.end else None)
        except Interrupted:  # before a solve on Dask workers had made its first pass
            run.end = End.INTERRUPTED
        return clusters


def named(clusters: list[DominantSet], n: int) -> Ints:
    """The number of each object's dominant set: of several the first, -1 outside all."""
    cores = np.full(n, -1, dtype=np.int64)
    for k in range(len(clusters) - 1, -1, -1):
        cores[clusters[k].members] = k
    return cores


def order_of(cores: Ints, n_clusters: int, before: Ints) -> Ints:
    """The cluster that gets each number: that which shares most objects with the earlier label, or any."""
    both = (cores >= 0) & (before >= 0)
    shared = np.zeros((max(n_clusters, int(before.max(initial=-1)) + 1), n_clusters), dtype=np.int64)
    np.add.at(shared, (before[both], cores[both]), 1)
    old, new = linear_sum_assignment(shared, maximize=True)
    kept = (shared[old, new] > 0) & (old < n_clusters)  # numbers have no gaps
    order = np.full(n_clusters, -1, dtype=np.int64)
    order[old[kept]] = new[kept]
    order[order < 0] = np.setdiff1d(np.arange(n_clusters), new[kept])
    return order
