"""Clusters one after another: solve, take the support, remove it, go on."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dominantsets._checks import check_int
from dominantsets._typing import Floats, Ints
from dominantsets.clusters.claims import Claims
from dominantsets.clusters.significance import Judgement, judge
from dominantsets.compiled.interrupts import listening
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.solving import Folded, fold
from dominantsets.solvers import Callback, DominantSet, Monitor, SolverOptions, make_problem
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.options import MULTIPLY, check_run
from dominantsets.solvers.problem import Outcome, Point
from dominantsets.solvers.result import HALTS, End
from dominantsets.solvers.weights import checked_weights, chosen_with_weights, unfolded

_log = logging.getLogger(__name__)

# Degrees are kept by subtraction; below this share of the largest they are only rounding.
RESIDUE = 1e-9
# How far above the mean similarity, on the way to an object's similarity to its own copy, the payoff
# inside a cluster must lie where the number of clusters is not given (docs/decisions.md).
COHERENT = 0.1
PATIENCE = 4  # sets in a row that are not significant, after which no more are looked for then


class Extraction:
    """Clusters that are taken out of one similarity: what :class:`Peeling` and multi-start share."""

    def __init__(
        self,
        similarity: Similarity,
        n_clusters: int | None,
        *,
        shift: float,
        options: SolverOptions,
        monitor: Monitor,
        min_cluster_size: int = 1,
        degrees: Floats | None = None,
        judged: bool = False,
        warm: Sequence[DominantSet] = (),
        weights: Floats | None = None,
        folded: Folded | None = None,
    ) -> None:
        self.end: End | None = None
        if folded is not None:  # different objects only, each with the number of its copies
            similarity, weights, _ = folded
        self._folded = folded
        self.judgements: list[Judgement] = []
        self._judged = judged or n_clusters is None
        self._warm = warm  # where the clusters are expected, from a rough run
        self._refused = 0
        self.n_clusters = self.n_skipped = 0
        self._claims = Claims(similarity.n)
        self._wanted = n_clusters
        self._problem = problem = make_problem(similarity, shift, degrees, weights=weights)
        self._options, self._monitor = options, monitor
        self._min_size = min_cluster_size
        self._largest_degree = problem.largest_degree()
        objects = similarity.n if weights is None else float(weights.sum())
        pairs = objects * (objects - 1)
        mean = problem.total_degree() / pairs if pairs else 0.0
        own = mean if similarity.self_similarity is None else similarity.self_similarity
        self.coherence = mean + COHERENT * (own - mean)

    @property
    def labels(self) -> Ints:
        """The number of each object's cluster, -1 for objects in none."""
        labels = self._claims.labels
        return labels if self._folded is None else labels[self._folded.places]

    def _size(self, found: DominantSet) -> int:
        """How many objects are in a set."""
        return len(found) if self._folded is None else int(self._folded.counts[found.members].sum())

    def _label(self, found: DominantSet) -> None:
        """Give a cluster its number; an object that an earlier one has stays there."""
        if self._judged:
            self.judgements.append(judge(self._problem, found))
            self._refused = 0 if self.judgements[-1].significant else self._refused + 1
        self._claims.take(found.members, anyway=True)
        self.n_clusters += 1
        _log.debug("cluster %d: %r, %d left", self.n_clusters, found, self._problem.n_alive - len(found))

    def restore(self, clusters: list[DominantSet]) -> None:
        """Take up clusters that an earlier run of the same problem found."""
        for cluster in clusters:
            self._label(cluster)
            gone = cluster.members[self._problem.is_alive(cluster.members)]
            self._problem.remove(gone)

    def _nothing_left(self) -> End | None:
        problem = self._problem
        if self._wanted is None and self._refused >= PATIENCE:
            return End.NOT_COHERENT
        if self._monitor.out_of_time() and (self.n_clusters or self.n_skipped):
            return End.TIME_LIMIT
        if problem.n == 1 and problem.n_alive:  # a cluster of one, although it has no similarity
            return None
        end = self._no_similarity_left()
        return End.MIN_CLUSTER_SIZE if end is not None and self.n_skipped else end

    def _no_similarity_left(self) -> End | None:
        problem, similarity = self._problem, self._problem.similarity
        if problem.n_alive == 0:
            return End.ALL_ASSIGNED
        if problem.n_alive == 1 and problem.copies is None:
            return End.NO_SIMILARITY
        components = similarity.components
        if components is not None and np.bincount(components[problem.alive]).max() == 1:
            return End.NO_SIMILARITY
        if problem.shift > 0.0 and not similarity.zero_means_unrelated:
            return None
        if problem.largest_degree() <= RESIDUE * self._largest_degree:
            problem.recompute_degrees()
            if problem.largest_degree() <= bounds_of(similarity).rounding * problem.n_alive:
                return End.NO_SIMILARITY
        return None

    def _skip(self, objects: Ints) -> None:
        """Leave out sets with fewer members than asked for: their objects get no label."""
        self.n_skipped += 1
        self._refused += 1
        self._problem.remove(objects)

    def _incoherent(self, found: DominantSet, before: int) -> bool:
        """Whether a set is too little alike, where the number of clusters is open; ``before`` were found."""
        if self._wanted is not None or self._problem.n == 1 or not before:
            return False
        if len(found) == 1:
            return True
        # the mean of all pairs says nothing where objects of different components are no pairs
        return found.threshold <= self.coherence and self._problem.similarity.components is None

    def _cut(self, found: DominantSet) -> DominantSet:
        """Leave out weights up to the cutoff; the certificate is that of what is left."""
        keep = found.weights > self._options.cutoff
        if keep.all():
            return found
        if not keep.any():
            keep[np.argmax(found.weights)] = True
        x = Point(found.members[keep], found.weights[keep])
        outcome = Outcome(x, found.n_iter, found.status, found.trace)
        return certify(self._problem, outcome, self._options)


class Peeling(Extraction, Iterator[DominantSet]):
    """Clusters of one similarity, found one by one as they are asked for.

    Attributes
    ----------
    end : End or None
        Why there are no more clusters; None while there may be.
    n_clusters : int
        Clusters found so far.
    labels : ndarray of int
        The number of each object's cluster, in the order found; -1 for objects not in a cluster.
    coherence : float
        What a cluster's ``threshold`` must exceed where ``n_clusters`` is not given.
    """

    @listening()
    def __next__(self) -> DominantSet:
        while True:
            if self.end is None:
                self.end = self._nothing_left()
            if self.end is not None:
                raise StopIteration
            found = self._cut(self._next_set())
            self.end = HALTS.get(found.status)
            if self._size(found) >= self._min_size or self.end is not None:
                break
            self._skip(found.members)
        if self.end is None and self._incoherent(found, self.n_clusters):
            self.end = End.NOT_COHERENT
        if self.end is End.NOT_COHERENT or self._size(found) < self._min_size:
            raise StopIteration
        self._label(found)
        if self.end is None and self.n_clusters == self._wanted:
            self.end = End.N_CLUSTERS
        elif self.end is None:
            self._problem.remove(found.members)
        return found if self._folded is None else unfolded(found, self._folded)

    def _next_set(self) -> DominantSet:
        """A dominant set of what is left."""
        problem, monitor, options = self._problem, self._monitor, self._options
        monitor.n_clusters, monitor.n_left = self.n_clusters, problem.n_alive
        start = options.start
        if problem.n_alive < problem.n and not isinstance(start, str):  # an object or weights hold at first
            start = "barycenter" if options.algorithm in MULTIPLY else "vertex"
        warm = self._warm[self.n_clusters] if self.n_clusters < len(self._warm) else None
        if warm is not None and problem.is_alive(warm.members).all():
            return problem.solve_from(Point(warm.members, warm.weights), options, monitor)
        return problem.solve(options, monitor, start)


def peel(
    S: Any,
    n_clusters: int | None = None,
    *,
    shift: float = 0.0,
    algorithm: str = "auto",
    start: Any = "vertex",
    tol: float = 1e-10,
    max_iter: int = 100_000,
    max_time: float | None = None,
    cutoff: float = 2e-12,
    min_cluster_size: int = 1,
    algorithm_params: dict[str, Any] | None = None,
    trace: bool = False,
    callback: Callback | None = None,
    sample_weight: Any = None,
) -> Peeling:
    r"""Find dominant sets one after another, each among the objects that the earlier ones left.

    Every cluster is a local maximum of :math:`x^T (A - \alpha I) x` over the simplex of the objects
    still there; its objects are the members i with :math:`x_i > \delta`, which are then removed. The
    similarity is never copied.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A precomputed similarity A, or what :func:`as_similarity` returned (taken as checked).
    n_clusters : int, optional
        Largest number of clusters. Without it peeling goes on until nothing coherent is left: until
        a cluster is a single object, or its ``threshold`` f is below m + (p - m) / 10, with m the mean
        similarity of all pairs and p the similarity of an object to its copy (m itself for a graph).
    shift : float, default=0.0
        The resolution, as in :func:`solve`.
    algorithm : str, default="auto"
        The solver, as in :func:`solve`.
    start : {"vertex", "barycenter", "global"}, int or array, default="vertex"
        As in :func:`solve`; "global": each cluster is the best one of what is left. An object or
        weights hold for the first cluster; the later ones start at their vertex (those that multiply
        weights: at their barycenter).
    tol : float, default=1e-10
        Relative gap at which a cluster counts as converged.
    max_iter : int, default=100_000
        Largest number of iterations for a cluster.
    max_time : float, optional
        Seconds for all clusters together.
    cutoff : float, default=2e-12
        The paper's :math:`\delta`: members have a weight above it.
    min_cluster_size : int, default=1
        Sets with fewer members are skipped: their objects get no label, and peeling goes on.
    algorithm_params : dict, optional
        Parameters of the algorithm, as in :func:`solve`.
    trace : bool, default=False
        Whether to record every iteration.
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop.
    sample_weight : array of shape (n,), optional
        For how many objects each one stands, as in :func:`solve`.

    Returns
    -------
    Peeling
        An iterator of :class:`DominantSet`. Its ``end`` says why it ended, ``labels`` holds the
        number of each object's cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import peel
    >>> A = np.zeros((5, 5))
    >>> A[0, 1] = A[1, 0] = 1.0
    >>> A[2, 3] = A[3, 2] = 3.0
    >>> clusters = peel(A, n_clusters=5)
    >>> [c.members.tolist() for c in clusters], clusters.end.value
    ([[2, 3], [0, 1]], 'no_similarity')
    >>> clusters.labels
    array([ 1,  1,  0,  0, -1])
    """
    check_run(shift, max_time)
    options = SolverOptions(algorithm, start, tol, max_iter, cutoff, trace, algorithm_params).checked()
    similarity = as_similarity(S)
    check_peeling(similarity.n, n_clusters, min_cluster_size)
    weights = folded = None
    if sample_weight is not None:
        weights = checked_weights(sample_weight, similarity.n)
        options = chosen_with_weights(options, similarity, float(shift))
    elif n_clusters is not None and algorithm == "auto" and options.starts_anywhere and not trace:
        folded = fold(similarity)
    options = options.chosen_for(similarity if folded is None else folded.similarity, float(shift))
    options.check_start(similarity.n)
    return Peeling(
        similarity,
        n_clusters,
        shift=float(shift),
        options=options,
        min_cluster_size=int(min_cluster_size),
        monitor=Monitor(max_time, callback),
        weights=weights,
        folded=folded,
    )


def check_peeling(n: int, n_clusters: Any, min_cluster_size: Any) -> None:
    """Refuse what peeling cannot use, before any long work."""
    if n_clusters is not None and check_int("n_clusters", n_clusters, at_least=1) > n:
        raise ValueError(f"n_clusters={n_clusters} is more than the number of objects, which is {n}.")
    check_int("min_cluster_size", min_cluster_size, at_least=1)


def renumbered(labels: Ints, kept: Sequence[int], count: int) -> Ints:
    """Labels of those of ``count`` clusters that are kept, in their order; -1 for the others'."""
    numbers = np.full(count + 1, -1, dtype=np.int64)  # the last place is for the label -1
    numbers[list(kept)] = np.arange(len(kept))
    return numbers[labels]
