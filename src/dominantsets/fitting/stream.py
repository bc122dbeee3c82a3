r"""Dominant sets of rows that come in batches (docs/streams.md).

A cluster x with the threshold f is a KKT point of all rows seen. A batch whose objects all have a payoff
:math:`p_i \le f` leaves it one: it is not touched, and only its margin is another. Where some exceed f the
cluster takes them in with the weights :math:`(p_i - f) / \kappa'`, at
:math:`\kappa' = \kappa + \sum_i \max(0, p_i - f)`: the same ball, which now holds more. From there it is
climbed again, over all rows. Where rows are forgotten, :math:`\kappa' = \lambda \kappa + \sum_i m_i
\max(0, p_i - f)` with the weights m of the new rows: old ones are worth less, and the ball stays.

Rows that are copies are one ball at every small :math:`\kappa`. Forgotten again and again, :math:`\kappa`
would vanish beside the similarity of an object to its copy, and with it the dominant set: at 0 all weights of
copies have one value. So the squared radius is never less than what rounding leaves of a similarity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.balls import SAME
from dominantsets.clusters.scales import Scales, chosen, solved, starts_from
from dominantsets.fitting.one_shift import SAMPLED, SOME
from dominantsets.fitting.plan import Noise
from dominantsets.fitting.points import by_clouds
from dominantsets.labels.mixture import Labelling
from dominantsets.labels.partition import Partition
from dominantsets.similarity import Similarity
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.located import located
from dominantsets.similarity.solving import alike_to_copies
from dominantsets.solvers import DominantSet, Monitor, Point, SolverOptions, Status, make_problem
from dominantsets.solvers.certificate import beyond_rounding, tolerance
from dominantsets.solvers.result import HALTS

SURPRISE = 0.02  # probability of rows so unlike those before a look, below which clusters are looked for
GROWTH = 2  # times as many rows as at the last look: more can be told apart, up to the size of a sample
FORGOTTEN = 1e-3  # weight below which a row is dropped: all of them together are so much of all weights


class Earlier(NamedTuple):
    """The rule of labels that was made when clusters were last looked for, with the similarity of then."""

    rule: Labelling
    similarity: Similarity

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects."""
        return self.rule.of_new(self.similarity, new)

    def place(self, X: Any) -> tuple[Ints, Floats]:
        """Labels of new objects, and how typical they are."""
        return self.rule.place(self.similarity, X)

    def partition(self, labels: Ints, probabilities: Floats) -> Partition:
        """Labels of all rows, which it has placed as they came."""
        return Partition(labels, probabilities, self, self.rule.verdict.sentence)


@dataclass(frozen=True, eq=False)
class Seen:
    """The rows of a stream.

    Attributes
    ----------
    rows : array or CSR array
        Those that clusters know of.
    born : ndarray of int
        The number of the batch in which each of them came.
    labels, probabilities : ndarray
        Those of these rows.
    rule : Earlier or None
        The rule of labels, made when clusters were last looked for; None where it has to be made.
    looked : int
        How many of the rows were there when clusters were last looked for.
    counts : ndarray of shape (2, n_clusters + 1)
        In how many rows no cluster, and each of them, has members: before the last look, and after.
    left : ndarray of float
        The weight that is left to a row of each batch, those that wait included.
    waiting : tuple of arrays
        Batches of which clusters do not know yet.
    """

    rows: Any
    born: Ints
    labels: Ints
    probabilities: Floats
    rule: Earlier | None
    looked: int
    counts: Ints
    left: Floats = field(default_factory=lambda: np.ones(1))
    waiting: tuple[Any, ...] = ()

    @property
    def n(self) -> int:
        """Rows, those that wait included."""
        return int(self.rows.shape[0] + sum(X.shape[0] for X in self.waiting))

    @property
    def n_batches(self) -> int:
        """Batches that have come, those that wait included."""
        return self.left.size

    @property
    def decay(self) -> float:
        """The share of its weight that every row has kept since the first of the batches that wait came."""
        return float(self.left[-1 - len(self.waiting)])

    def with_batch(self, X: Any, forget: float, payoffs: Floats, thresholds: Floats) -> Seen:
        """The same with a batch that waits, for which earlier rows lose a share of their weight."""
        above = payoffs > thresholds
        first = (
            np.where(above.any(axis=1), above.argmax(axis=1), -1)
            if thresholds.size
            else np.full(X.shape[0], -1)
        )
        after = self.counts[1] + np.bincount(first + 1, minlength=thresholds.size + 1)
        return replace(
            self,
            counts=np.stack([self.counts[0], after]),
            left=np.append((1.0 - forget) * self.left, 1.0),
            waiting=(*self.waiting, X.copy()),  # the caller may fill the same array with the next batch
        )

    def calls_for_a_look(self) -> bool:
        """Whether clusters should be looked for among all rows.

        When there are so many more that more can be told apart, which a sample of many cannot; and where
        later rows are in other clusters than earlier ones were: they may be of others still. The k-th batch
        since a look is asked that at the level 1 / (k (k + 1)) of all: rows that are alike call for no look
        however many come.
        """
        more = self.looked < SAMPLED and self.n >= GROWTH * self.looked
        k = max(1, self.n_batches - 1 - int(self.born[self.looked - 1]))
        return more or is_surprising(self.counts, SURPRISE / (k * (k + 1)))

    def joined(self) -> tuple[Seen, Any]:
        """The same with nothing that waits, and the rows that waited."""
        if not self.waiting:
            return self, self.rows[:0]
        new = joined(self.waiting)
        sizes = [X.shape[0] for X in self.waiting]
        numbers = np.arange(self.n_batches - len(sizes), self.n_batches)
        born = np.concatenate([self.born, np.repeat(numbers, sizes)])
        return replace(self, rows=joined((self.rows, new)), born=born, waiting=()), new

    def weights(self) -> Floats | None:
        """What is left of the weight of each row; None where nothing is forgotten."""
        return None if (self.left == 1.0).all() else self.left[self.born]

    def kept(self, keep: Any) -> Seen:
        """The same without some rows, when nothing waits."""
        return replace(
            self,
            rows=self.rows[keep],
            born=self.born[keep],
            labels=self.labels[keep],
            probabilities=self.probabilities[keep],
            looked=max(1, int(np.count_nonzero(keep[: self.looked]))),
        )


def joined(parts: Sequence[Any]) -> Any:
    """Rows one after another; sparse where some are."""
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    return np.concatenate(parts)


def counted(clusters: Sequence[DominantSet], n: int, looked: int) -> Ints:
    """How many rows are in no cluster and in each of them, before the last look and after."""
    cores = cores_of(clusters, n) + 1
    return np.stack([np.bincount(part, minlength=len(clusters) + 1) for part in np.split(cores, [looked])])


def is_surprising(counts: Ints, level: float) -> bool:
    """Whether later objects are in other clusters, or in none, than chance would have it."""
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(1, counts.sum())
    if not expected.all():  # nobody came before, or after
        return False
    statistic = float((np.square(counts - expected) / expected).sum())
    return bool(chi2.sf(statistic, max(1, counts.shape[1] - 1)) < level)


@dataclass(frozen=True, eq=False)
class Arrival:
    """A cluster with a batch taken in: as it stays, or where it is to be climbed from (then ``start``)."""

    cluster: DominantSet
    start: Point | None

    @property
    def members(self) -> Ints:
        """Who is in it before it is climbed."""
        return self.cluster.members if self.start is None else self.start.support

    def without(self, keep: Any, kappa: float) -> Arrival | None:
        """The same when rows are gone: the same ball, without them; None where nobody is left of it.

        ``keep`` says which rows stay, ``kappa`` is the cluster's, which falls by the share that is lost.
        """
        numbers, cluster = np.cumsum(keep) - 1, self.cluster
        inside = keep[self.members]
        if not inside.any():
            return None
        members = numbers[self.members[inside]]
        if self.start is None and inside.all():
            undecided = numbers[cluster.undecided[keep[cluster.undecided]]]
            # what a row proved against it may be gone with the row
            strict = cluster.strict or None
            return Arrival(replace(cluster, members=members, undecided=undecided, strict=strict), None)
        weights = (cluster.weights if self.start is None else self.start.weights)[inside]
        share = float(weights.sum())
        lost = replace(cluster, shift=cluster.shift - kappa * (1.0 - share), status=Status.STOPPED)
        return Arrival(lost, Point(members, weights / share))


def take_in(
    cluster: DominantSet,
    payoffs: Floats,
    first: int,
    raised: float,
    kappa: float,
    tol: float,
    decay: float = 1.0,
    weights: Floats | None = None,
    rounding: float = 0.0,
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
        The solver's: a payoff above the threshold by no more than so many units touches no cluster.
    decay : float, default=1.0
        By what the weights of all rows before have been multiplied meanwhile.
    weights : ndarray, optional
        Those of the batch's rows; 1 where nothing is forgotten.
    rounding : float, default=0.0
        What rounding leaves of a similarity: a ball whose squared radius is below it is climbed again.

    Returns
    -------
    Arrival
        The cluster in terms of the offset that is now; with a start where it is touched.
    """
    f, shift = cluster.threshold, cluster.shift
    above = np.maximum(payoffs - f, 0.0)
    largest = float(payoffs.max(initial=-np.inf))
    margin, gap = f - largest, max(cluster.gap, largest - f)
    left = decay * kappa
    worth = max(left, len(cluster) * rounding)
    now = shift + (worth - kappa) - raised  # the shift of the same ball, and f is by so much more: raised
    allowed = tolerance(tol, cluster.unit, f, shift, len(cluster))
    if cluster.status is Status.CONVERGED and worth == left and gap <= allowed:
        margin = min(cluster.margin, margin)
        strict, undecided = cluster.strict, cluster.undecided
        if not beyond_rounding(margin, f, gap, shift):  # whether a strict maximum stays one is open
            strict = None if strict else strict
            close = [j for j, p in enumerate(payoffs) if not beyond_rounding(f - p, f, gap, shift)]
            undecided = np.append(undecided, first + np.array(close, dtype=np.int64))
        kept = replace(
            cluster,
            value=f + raised + now,
            margin=margin,
            gap=gap,
            strict=strict,
            shift=now,
            global_gap=None,
            undecided=undecided,
        )
        return Arrival(kept, None)
    more = np.flatnonzero(above)
    new = above[more] if weights is None else weights[more] * above[more]
    masses = np.concatenate([worth * cluster.weights, new])
    start = Point(np.concatenate([cluster.members, first + more]), masses / masses.sum())
    return Arrival(replace(cluster, shift=now + float(new.sum())), start)


def climbed(
    similarity: Similarity,
    arrivals: Sequence[Arrival],
    weights: Floats | None,
    options: SolverOptions,
    monitor: Monitor,
) -> list[DominantSet]:
    """The clusters of all rows: those not touched as they are, the others climbed again.

    After Ctrl-C, or at the time limit, what is left is certified where it stands: the next batch goes on.
    """
    found = Distinct(similarity.n)
    for arrival in arrivals:
        cluster = arrival.cluster
        if arrival.start is not None:
            assert similarity.self_similarity is not None
            least = len(arrival.members) * bounds_of(similarity).rounding - similarity.self_similarity
            shift = max(cluster.shift, least)
            problem = make_problem(similarity, shift, weights=_shared(similarity, shift, weights))
            chosen_for = options.chosen_for(similarity, shift, 0)
            cluster = problem.solve_from(arrival.start, chosen_for, monitor)
            if cluster.status in HALTS:
                monitor.hurry()
        found.add(cluster)  # two may have climbed to one
    return found.sets


def _shared(similarity: Similarity, shift: float, weights: Floats | None) -> Floats | None:
    """Weights, and 1 for objects with copies that would not share any: rows of length 0 under cosine."""
    if weights is None:
        return None
    sharing = alike_to_copies(similarity, np.arange(similarity.n)) + shift > 0.0
    return np.where(sharing | (weights == 0.0), weights, 1.0)


def weighed(cluster: DominantSet, weights: Floats, own: float) -> Arrival:
    """A cluster of rows that all count 1, to be climbed where they have weights: the same ball."""
    masses = cluster.weights * weights[cluster.members]
    share = float(masses.sum())
    kappa = own + cluster.shift
    return Arrival(replace(cluster, shift=kappa * share - own), Point(cluster.members, masses / share))


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
    arrivals: Sequence[Arrival],
    weights: Floats | None,
    n_clusters: int | None,
    least: int,
    options: SolverOptions,
    monitor: Monitor,
) -> list[DominantSet] | None:
    """The clusters that a fit of all rows would find, and known ones that lie elsewhere; None after Ctrl-C.

    Those that were not touched stay as they are where they are found again. The order is any. Weights
    count when clusters are climbed, not for what stands out.
    """
    scales = Scales(similarity, located(similarity).spread(), n_clusters, least, monitor)
    if monitor.interrupted:
        return None
    if scales.is_one and arrivals:
        return climbed(similarity, arrivals, weights, options, monitor)
    steady = [arrival.cluster for arrival in arrivals if arrival.start is None]
    found, before = Distinct(similarity.n), Distinct(similarity.n, steady)
    for ball in scales.balls:
        if found.sets and monitor.out_of_time():
            break
        cluster = solved(similarity, scales, ball, scales.shift(ball.kappa), options, monitor)
        if weights is not None:
            assert similarity.self_similarity is not None
            start = weighed(cluster, weights, similarity.self_similarity)
            cluster = climbed(similarity, [start], weights, options, monitor)[0]
        if len(cluster) >= least:
            found.add(before.twin(cluster) or cluster)
    inside = cores_of(found.sets, similarity.n) >= 0
    elsewhere = [arrival for arrival in arrivals if inside[arrival.members].mean() <= SAME]
    return found.sets + climbed(similarity, elsewhere, weights, options, monitor)


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
    sample = located(similarity).coordinates(objects)
    starts = starts_from(sample, objects, clusters)
    return by_clouds(similarity, objects, sample, starts, np.inf, noise, monitor)
