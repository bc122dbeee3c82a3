r"""Dominant sets of rows that come in batches (docs/streams.md).

A cluster x with the threshold f is a KKT point of all rows seen. A batch whose objects all have a payoff
:math:`p_i \le f` leaves it one: it is not touched, and only its margin is another. Where some exceed f the
cluster takes them in with the weights :math:`(p_i - f) / \kappa'`, at
:math:`\kappa' = \kappa + \sum_i \max(0, p_i - f)`: the same ball, which now holds more. From there it is
climbed again, over all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.find import SAMPLED, SOME, Noise, by_clouds
from dominantsets.clusters.scales import SAME, Scales, chosen, solved, starts_from
from dominantsets.labels.mixture import Labelling
from dominantsets.labels.partition import Partition
from dominantsets.similarity import Similarity
from dominantsets.solvers import DominantSet, Monitor, Point, SolverOptions, Status, make_problem
from dominantsets.solvers.certificate import beyond_rounding, scale_of
from dominantsets.solvers.result import HALTS

SURPRISE = 0.02  # probability of a batch so unlike those before it, below which clusters are looked for


class Earlier(NamedTuple):
    """The rule of labels that was made when clusters were last looked for, with the similarity of then."""

    rule: Labelling
    similarity: Similarity

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects."""
        return self.rule.of_new(self.similarity, new)

    def partition(self, labels: Ints, probabilities: Floats, X: Any) -> Partition:
        """Labels of all rows, from those of the rows before X."""
        more, likely = self.rule.place(self.similarity, X)
        sentence = self.rule.verdict.sentence
        return Partition(
            np.concatenate([labels, more]), np.concatenate([probabilities, likely]), self, sentence
        )


@dataclass(frozen=True, eq=False)
class Seen:
    """The rows of a stream.

    Attributes
    ----------
    rows : array or CSR array
        All of them.
    looked : int
        How many there were when clusters were last looked for.
    labels, probabilities : ndarray
        Those of all rows.
    rule : Earlier or None
        The rule of labels, made when clusters were last looked for; None where it has to be made.
    """

    rows: Any
    looked: int
    labels: Ints
    probabilities: Floats
    rule: Earlier | None

    def with_batch(self, X: Any) -> Seen:
        """The same with more rows."""
        if sp.issparse(self.rows) or sp.issparse(X):
            return replace(self, rows=sp.vstack([sp.csr_array(self.rows), sp.csr_array(X)], format="csr"))
        return replace(self, rows=np.concatenate([self.rows, X]))

    def calls_for_a_look(self, clusters: Sequence[DominantSet]) -> bool:
        """Whether clusters should be looked for among all rows.

        While no two stand out there is nothing to hold on to; when the rows have doubled more can be told
        apart; and where later rows are in other clusters than earlier ones were, they may be of others
        still.
        """
        n = self.rows.shape[0]
        return len(clusters) < 2 or n >= 2 * self.looked or is_surprising(cores_of(clusters, n), self.looked)


def is_surprising(cores: Ints, first: int) -> bool:
    """Whether objects from ``first`` on are in other clusters, or in none, than chance would have it."""
    counts = np.array([np.bincount(part + 1, minlength=cores.max() + 2) for part in np.split(cores, [first])])
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / cores.size
    statistic = float((np.square(counts - expected) / expected).sum())
    return bool(chi2.sf(statistic, max(1, counts.shape[1] - 1)) < SURPRISE)


@dataclass(frozen=True, eq=False)
class Arrival:
    """A cluster with a batch taken in: as it stays, or where it is to be climbed from (then ``start``)."""

    cluster: DominantSet
    start: Point | None


def take_in(
    cluster: DominantSet, payoffs: Floats, first: int, raised: float, kappa: float, tol: float
) -> Arrival:
    """A cluster among all rows, when a batch has come.

    Parameters
    ----------
    cluster : DominantSet
        As it was before.
    payoffs : ndarray
        Those of the batch.
    first : int
        The number of the batch's first object.
    raised : float
        By how much the offset of all similarities has grown meanwhile.
    kappa : float
        The cluster's κ: the similarity of an object to its copy, plus the shift.
    tol : float
        The solver's: a payoff above the threshold by no more than this (relative) touches nobody.

    Returns
    -------
    Arrival
        The cluster in terms of the offset that is now; with a start where it is touched.
    """
    f, shift = cluster.threshold, cluster.shift
    above = np.maximum(payoffs - f, 0.0)
    margin, gap = f - float(payoffs.max()), max(cluster.gap, float(above.max()))
    certain = cluster.status is Status.CONVERGED
    if certain and gap <= tol * scale_of(f, shift):
        margin = min(cluster.margin, margin)
        proven = beyond_rounding(margin, f, gap, shift)
        strict = cluster.strict if proven or cluster.strict is None else False
        kept = replace(cluster, margin=margin, gap=gap, strict=strict, shift=shift - raised, global_gap=None)
        return Arrival(kept, None)
    more = np.flatnonzero(above)
    weights = np.concatenate([kappa * cluster.weights, above[more]])
    start = Point(np.concatenate([cluster.members, first + more]), weights / weights.sum())
    return Arrival(replace(cluster, shift=shift + float(above.sum()) - raised), start)


def climbed(
    similarity: Similarity, arrivals: Sequence[Arrival], options: SolverOptions, monitor: Monitor
) -> list[DominantSet]:
    """The clusters of all rows: those not touched as they are, the others climbed again.

    After Ctrl-C, or at the time limit, what is left is certified where it stands: the next batch goes on.
    """
    found = Distinct(similarity.n)
    for arrival in arrivals:
        cluster = arrival.cluster
        if arrival.start is not None:
            problem = make_problem(similarity, cluster.shift)
            chosen_for = options.chosen_for(similarity, cluster.shift, 0)
            try:
                cluster = problem.solve_from(arrival.start, chosen_for, monitor)
            except KeyboardInterrupt:  # outside the solver's own steps
                monitor.hurry()
                cluster = replace(
                    problem.solve_from(arrival.start, chosen_for, monitor), status=Status.INTERRUPTED
                )
            if cluster.status in HALTS:
                monitor.hurry()
        found.add(cluster)  # two may have climbed to one
    return found.sets


class Distinct:
    """Sets of which no two are nearly the same, in the order in which they came."""

    def __init__(self, n: int, sets: Sequence[DominantSet] = ()) -> None:
        self.sets: list[DominantSet] = []
        self._cores = np.full(n, -1, dtype=np.int64)
        for cluster in sets:
            self.add(cluster)

    def twin(self, cluster: DominantSet) -> DominantSet | None:
        """The set that shares more than half of the members of the larger of the two."""
        names = self._cores[cluster.members]
        shared = np.bincount(names[names >= 0], minlength=1)
        k = int(shared.argmax())
        if shared[k] == 0 or shared[k] <= SAME * max(len(cluster), len(self.sets[k])):
            return None
        return self.sets[k]

    def add(self, cluster: DominantSet) -> None:
        """One more, unless it has a twin."""
        if self.twin(cluster) is None:
            self._cores[cluster.members[self._cores[cluster.members] < 0]] = len(self.sets)
            self.sets.append(cluster)


def look(
    similarity: Similarity,
    known: Sequence[DominantSet],
    steady: Sequence[DominantSet],
    n_clusters: int | None,
    least: int,
    options: SolverOptions,
    monitor: Monitor,
) -> list[DominantSet]:
    """The clusters that a fit of all rows would find, and known ones that lie elsewhere.

    Those that were not touched (``steady``) stay as they are where they are found again. The order is any.
    """
    scales = Scales(similarity, similarity.spread(), n_clusters, least, monitor)
    if scales.interrupted:
        raise KeyboardInterrupt
    if scales.is_one and known:
        return list(known)
    found, before = Distinct(similarity.n), Distinct(similarity.n, steady)
    for ball in scales.balls:
        if found.sets and monitor.out_of_time():
            break
        cluster = solved(similarity, scales, ball, scales.shift(ball.kappa), options, monitor)
        if len(cluster) >= least:
            found.add(before.twin(cluster) or cluster)
    inside = cores_of(found.sets, similarity.n) >= 0
    return found.sets + [c for c in known if inside[c.members].mean() <= SAME]


def in_order(
    before: Sequence[DominantSet], now: Sequence[DominantSet], n_clusters: int | None
) -> list[DominantSet]:
    """Clusters in the order of those before of which they have most members, then those of which none has.

    Where more are there than were asked for, the last are left out.
    """
    n = 1 + max((int(cluster.members[-1]) for cluster in [*before, *now]), default=0)
    names = cores_of(before, n)
    places: dict[int, int] = {}
    placed: set[int] = set()
    shared = np.array([np.bincount(names[c.members] + 1, minlength=len(before) + 1)[1:] for c in now])
    for flat in np.argsort(-shared, axis=None, kind="stable"):
        j, k = divmod(int(flat), len(before))
        if shared[j, k] == 0:
            break
        if k not in places and j not in placed:
            places[k] = j
            placed.add(j)
    first = [places[k] for k in sorted(places)]
    rest = [j for j in range(len(now)) if j not in placed]
    return [now[j] for j in first + rest][:n_clusters]


def cores_of(clusters: Sequence[DominantSet], n: int) -> Ints:
    """The number of each object's dominant set: of several the first, -1 outside all."""
    cores = np.full(n, -1, dtype=np.int64)
    for k in range(len(clusters) - 1, -1, -1):
        cores[clusters[k].members] = k
    return cores


def partition(
    similarity: Similarity, clusters: list[DominantSet], noise: Noise, monitor: Monitor
) -> Partition:
    """Labels of all rows, by clouds about the dominant sets."""
    few = [cluster.members[:: max(1, len(cluster) // SOME)] for cluster in clusters]
    objects = np.unique(np.concatenate([chosen(similarity.degrees(), SAMPLED), *few]))
    sample = similarity.coordinates(objects)
    starts = starts_from(sample, objects, clusters)
    return by_clouds(similarity, objects, sample, starts, np.inf, noise, monitor)
