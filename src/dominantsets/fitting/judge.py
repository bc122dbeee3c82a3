r"""Which affinity, and how many clusters: candidates are partitions of a sample, and one rule takes one.

A candidate is an affinity at a number of clusters k. Its *stability* t is the mean adjusted Rand index
between its labels and those that the affinity gives to two subsamples of 70 %, and :math:`\bar c` is the mean
logarithm of the conductances of its clusters on a graph of neighbors
(:mod:`dominantsets.fitting.separation`). The candidate with the highest

.. math:: t - 0.04\,\bar c + 0.1 \log k + 0.3\,b

is taken, where b is 1 if the affinity finds a background that the subsamples confirm (t of the labels with
noise is at least 0.8), and 0 otherwise. A finer candidate is taken instead if it is *clear*: t is at least
0.95, and another affinity has nearly the same clusters at this k (adjusted Rand index at least 0.95). Groups
of groups may be farther apart than the groups, while arcs of one curve are not found twice.

If k is given, there is one candidate per affinity. If k is unknown, every affinity is tried at the number of
clusters that it finds by itself, and at the number of components that a mixture of normal distributions has
(:mod:`dominantsets.fitting.mixtures`). All objects are one cluster if no affinity finds more than one by
itself, unless the components of the mixture are certain, and if the best candidate has t < 0.4.

``benchmarks/judge.py`` has the sets on which the numbers were chosen, and others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.scales import Scales, keep_scales
from dominantsets.compiled.interrupts import Interrupted, check
from dominantsets.fitting.agreement import Agreement, expected
from dominantsets.fitting.kinds import labels_of
from dominantsets.fitting.mixtures import Components, components
from dominantsets.fitting.plan import Noise, Request
from dominantsets.fitting.samples import Sample, Way, has_words, sample_of, scale_of
from dominantsets.fitting.separation import conductances
from dominantsets.labels.background import Background, find_background
from dominantsets.labels.ellipses import best_ellipses
from dominantsets.similarity import Similarity
from dominantsets.similarity.elliptic import STARTS
from dominantsets.similarity.isolation import isolation_of
from dominantsets.similarity.located import located
from dominantsets.solvers import Monitor, SolverOptions

FEWEST, FEWEST_A_CLUSTER = 8, 4  # objects, in all and per cluster, below which nothing is compared
MOST = 100  # clusters above which nothing is compared; half as many, where they are found in a sample
PART, PARTS = 0.7, 2  # share of the sample in a subsample, and number of subsamples
BELIEVED = 0.5  # agreement of subsamples about a background, from which objects are labelled noise
CONFIRMED = 0.8  # agreement from which a background counts for a candidate
APART, MANY, NOISE = 0.04, 0.1, 0.3  # weights of separation, log k and a background (benchmarks/judge.py)
STABLE = 0.4  # stability that an answer has at least, if k is unknown (benchmarks/judge.py)
CLEAR = 0.95  # least stability of clear clusters, and agreement with another affinity (benchmarks/judge.py)
DIGITS = 6  # of a score: candidates that differ by less are equal, and the first of them is taken
CERTAIN = 0.8  # certainty of a mixture from which it is an answer by itself (docs/decisions.md)
MISSING = 2.0  # taken off for each cluster that is missing: more than stability and separation can bring
HARDLY = 0.1  # of a score: what a fit of some objects must bring, which takes ten times as long
HURRIED = 0.3  # seconds for an answer after Ctrl-C


@dataclass(frozen=True)
class TriedAffinity:
    """A candidate of ``affinity="auto"``: an affinity at a number of clusters, see :class:`Choice`.

    Attributes
    ----------
    affinity : str
        Its name.
    params : dict
        Its parameters.
    n_clusters : int
        Clusters on the sample.
    separation : float
        Mean logarithm of their conductances: the lower, the farther apart.
    stability : float
        Mean adjusted Rand index with the labels of subsamples, without noise.
    score : float
        What candidates are compared by: the higher, the better.
    noise : float
        Share of the sample that is labelled noise.
    noise_stability : float
        Mean adjusted Rand index of the labels with noise; 1 if no object is noise.
    note : str
        Why the affinity was not compared, if it was not.
    """

    affinity: str
    params: dict[str, Any] = field(default_factory=dict)
    n_clusters: int = 0
    separation: float = 0.0
    stability: float = 0.0
    score: float = -np.inf
    noise: float = 0.0
    noise_stability: float = 1.0
    note: str = ""

    @property
    def reproduced(self) -> float:
        """Stability of the labels of a fit: with noise, unless subsamples find another background."""
        return self.noise_stability if self.noise and not self.is_noise_doubtful else self.stability

    @property
    def is_noise_doubtful(self) -> bool:
        """Whether subsamples find another background."""
        return self.noise_stability < BELIEVED

    @property
    def title(self) -> str:
        """Its name in the table."""
        return str(self.params.get("then", self.affinity))


@dataclass(frozen=True, eq=False)
class Choice:
    """The affinity and the number of clusters that ``affinity="auto"`` took, and why; print it.

    It is ``choice_`` of :class:`DominantSets`.

    Attributes
    ----------
    taken : TriedAffinity
        The best candidate.
    candidates : list of TriedAffinity
        All candidates, in the order in which they were tried.
    n_objects : int
        Objects of the sample.
    reason : str
        Why, in a sentence.
    n_clusters : int or None
        The number of clusters that the fit is asked for; None if the affinity finds its own.
    interrupted : bool
        Whether Ctrl-C ended it.
    scale : ndarray or None
        What the columns are divided by, if they have unlike units; else None.
    fitted : ndarray of int or None
        The objects of the fit, where ``predict`` places all others; else None.
    expected_agreement : Agreement or None
        The adjusted Rand index with the true groups that is to be expected, and an interval; None for one
        cluster, and where nothing was compared.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from dominantsets import DominantSets
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> choice = DominantSets().fit(X).choice_
    >>> choice.taken.affinity, choice.taken.n_clusters
    ('path', 2)
    """

    taken: TriedAffinity
    candidates: list[TriedAffinity]
    n_objects: int
    reason: str
    n_clusters: int | None = None
    interrupted: bool = False
    scale: Floats | None = None
    fitted: Ints | None = None

    @property
    def expected_agreement(self) -> Agreement | None:
        """What agreement with the true groups is to be expected."""
        taken = self.taken
        return expected(taken.reproduced) if taken.n_clusters > 1 and np.isfinite(taken.score) else None

    def asked(self, n_clusters: int | None) -> int | None:
        """The number of clusters that the fit is asked for, if this one was given."""
        return n_clusters or self.n_clusters

    def __repr__(self) -> str:
        return f"Choice({self.taken.title}, of {len(self.candidates)} tried; print it for the table)"

    def __str__(self) -> str:
        lines = [
            f"{'affinity':>12} {'clusters':>9} {'separation':>11} {'stability':>10} {'noise':>6} {'score':>8}"
        ]
        for c in self.candidates:
            mark = "  <- taken" if c is self.taken else ""
            score = f"{c.score:8.2f}" if np.isfinite(c.score) else f"{'-':>8}"
            numbers = (
                f"{c.n_clusters:9d} {c.separation:11.2f} {c.stability:10.2f} {c.noise:6.0%} {score}{mark}"
            )
            lines.append(f"{c.title:>12} {c.note or numbers}")
        agreement = self.expected_agreement
        return "\n".join([*lines, self.reason, *([] if agreement is None else [str(agreement)])])


def unseen(affinity: str, reason: str) -> Choice:
    """A choice without a look at the data."""
    taken = TriedAffinity(affinity, note="not compared")
    return Choice(taken, [taken], 0, reason)


def choose_for(X: Any, n_clusters: int | None, monitor: Monitor, *, distances: bool = False) -> Choice:
    """Choose an affinity for rows, wherever they are (:class:`Data`), or for a matrix of distances."""
    scale = None if distances or has_words(X) else scale_of(X)
    sample = sample_of(X if scale is None else X.divided(scale), n_clusters, distances)
    choice = choose(sample, n_clusters, monitor)
    taken, reason = choice.taken, choice.reason
    fitted = sample.fitted((taken.affinity, taken.params))
    if scale is not None:
        reason += " Columns have unlike units: they are divided by their standard deviations."
    if fitted is not None:
        some = f"{fitted.size:,} of {X.n:,} objects, spread evenly over them"
        reason += f" The fit is one of {some}; predict places all others."
    return replace(choice, scale=scale, reason=reason, fitted=fitted)


def choose(sample: Sample, n_clusters: int | None, monitor: Monitor) -> Choice:
    """Choose an affinity and, if it is unknown, the number of clusters.

    Parameters
    ----------
    sample : Sample
        Some of the objects, and the affinities that may suit them.
    n_clusters : int, optional
        Clusters asked for.
    monitor : Monitor
        At its time limit nothing more is compared.

    Returns
    -------
    Choice
        The choice, and what it was made from.
    """
    judge = _Judge(sample, n_clusters, monitor)
    if sample.n < max(FEWEST, FEWEST_A_CLUSTER * (n_clusters or 0)):
        return judge.usual("There are too few objects to compare: round clusters.")
    if (n_clusters or 0) > MOST:
        return judge.usual(f"More than {MOST} clusters: a sample has too few objects of each.")
    try:
        choice = judge.decide()
        check()
        return choice
    except Interrupted:
        monitor.hurry(HURRIED)
        return judge.usual("Ctrl-C: nothing was compared, round clusters.", interrupted=True)


@dataclass(frozen=True, eq=False)
class _Found:
    """The labels of the sample, then those of each subsample: without noise, and with it."""

    plain: list[Ints]
    noisy: list[Ints]

    def renumbered(self) -> Ints:
        """The labels of the sample without noise, from 0 on."""
        labels = self.plain[0].copy()
        some = labels >= 0
        labels[some] = np.unique(labels[some], return_inverse=True)[1].reshape(-1)
        return labels


class _Judge:
    """Candidates of a sample, and the rule that takes one of them."""

    def __init__(self, sample: Sample, n_clusters: int | None, monitor: Monitor) -> None:
        self._sample, self._wanted, self._monitor = sample, n_clusters, monitor
        self._tried: list[TriedAffinity] = []
        self._found: list[_Found] = []  # the labels of each that was tried
        self._dropped: list[TriedAffinity] = []
        self._own: dict[str, int] = {}  # number of clusters that each affinity finds by itself
        self._own_labels: dict[str, list[Ints]] = {}  # without noise and with it
        self._background: Background | None = None

    def usual(
        self, reason: str, number: int | None = None, *, found: int = 0, interrupted: bool = False
    ) -> Choice:
        """The choice of round clusters, where there is nothing to compare or nothing found."""
        taken = TriedAffinity(
            *self._sample.ways(self._wanted)[0], n_clusters=number or found, note="not compared"
        )
        candidates = [*self._tried, taken, *self._dropped]
        return Choice(taken, candidates, self._sample.n, reason, number, interrupted)

    def decide(self) -> Choice:
        """The choice."""
        order, random = self._sample.order(), np.random.RandomState(0)
        n, order = self._sample.n, order[random.permutation(self._sample.n)]
        starts = [part * n // PARTS for part in range(PARTS)]  # objects are left out equally often
        self._parts = [np.sort(np.roll(order, -start)[: int(PART * n)]) for start in starts]
        self._graph = self._sample.graph()
        if self._wanted is not None:
            self._try_all(self._wanted, self._sample.ways(self._wanted))
        else:
            self._find_numbers()
            many = max(self._own, key=lambda title: self._own[title], default="")
            if many and self._own[many] > MOST / 2:
                reason = f"{many} finds {self._own[many]} clusters, too many for a sample: round clusters."
                return self.usual(reason, found=self._own[many])
            self._try_numbers()
        if self._monitor.out_of_time():
            return self.usual("The time was up before all were tried: round clusters.")
        if not self._tried:
            return self._one()
        return self._best()

    def _find_numbers(self) -> None:
        """The number of clusters that each affinity finds by itself."""
        for way in self._sample.ways(None):
            if not self._monitor.out_of_time() and max(self._own.values(), default=0) <= MOST / 2:
                self._or_drop(way, self._find_number)

    def _find_number(self, way: Way) -> None:
        whole = self._sample.whole
        if whole is not None and way == self._sample.ways(None)[0]:  # small groups do not show in the sample
            spread = located(whole).spread(np.random.RandomState(0))
            scales = Scales(whole, spread, None, 1, self._monitor)
            keep_scales(whole, scales, self._monitor)  # the fit may need the same
            number = len(scales.balls)
        else:
            self._own_labels[_title(way)] = labels = self._labels(way, None, None, None, "auto")
            number = int(labels[0].max(initial=-1)) + 1
        self._own[_title(way)] = number

    def _try_numbers(self) -> None:
        """Each affinity at its own number of clusters, and all at that of a mixture."""
        numbers = {number for number in self._own.values() if number > 1}
        mixture = self._mixture()
        if mixture is not None and (numbers or self._is_certain(mixture)):
            numbers.add(mixture.number)
        for number in sorted(numbers - {1}):
            ways = self._sample.ways(number)
            if mixture is None or number != mixture.number:
                ways = [way for way in ways if self._own.get(_title(way)) == number]
            self._try_all(number, ways)

    def _is_certain(self, mixture: Components) -> bool:
        """Whether a mixture is an answer by itself; on a line flat data have components, too."""
        rows = self._sample.rows
        if rows is None or rows.shape[1] == 1 or not mixture.is_apart:
            return False
        return mixture.certainty(rows, self._parts) >= CERTAIN

    def _mixture(self) -> Components | None:
        """The mixture of the sample, where it has few dimensions."""
        rows = self._sample.rows
        if rows is None or (rows == rows[0]).all() or self._monitor.out_of_time():
            return None
        return components(rows, self._monitor)

    def _try_all(self, number: int, ways: list[Way]) -> None:
        """Some affinities at a number of clusters."""
        found: dict[str, _Found] = {}
        for way in ways:
            if not self._monitor.out_of_time():
                self._or_drop(way, lambda way: self._try(way, number, found))

    def _or_drop(self, way: Way, what: Callable[[Way], None]) -> None:
        """Do something with an affinity; where that fails, note why."""
        check()
        try:
            what(way)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, ModuleNotFoundError) as error:
            self._dropped.append(TriedAffinity(*way, note=f"dropped out: {error}"))

    def _try(self, way: Way, number: int, found: dict[str, _Found]) -> None:
        """One candidate."""
        here = self._ellipses(found) if way[0] == "ellipses" else self._clusters(way, number)
        found[way[0]] = here
        labels = here.renumbered()
        count, noise = int(labels.max(initial=-1)) + 1, float((here.noisy[0] < 0).mean())
        stability = self._agreement(here.plain)
        noisy = self._agreement(here.noisy) if noise else 1.0
        logs = np.log(conductances(self._graph, labels))
        separation = float(logs.mean()) if count > 1 else 0.0
        candidate = TriedAffinity(*way, count, separation, stability, 0.0, noise, noisy)
        score = candidate.reproduced - APART * separation + MANY * math.log(max(count, 1))
        score += NOISE if noise and noisy >= CONFIRMED else 0.0
        score -= MISSING * max(number - count, 0)
        self._tried.append(replace(candidate, score=score))
        self._found.append(here)

    def _clusters(self, way: Way, number: int) -> _Found:
        """The clusters of an affinity, in the sample and in subsamples."""
        own = self._own_labels.get(_title(way))
        if own is None or self._own[_title(way)] != number:
            own = self._labels(way, None, number, None, "auto")
        noises: tuple[Noise, ...] = (None, "auto") if (own[1] < 0).any() else (None,)
        every = [own, *(self._labels(way, part, number, *noises) for part in self._parts)]
        return _Found([labels[0] for labels in every], [labels[-1] for labels in every])

    def _ellipses(self, found: dict[str, _Found]) -> _Found:
        """Those of a mixture that begins at the clusters of the others, as a fit of ellipses does."""
        rows = self._sample.rows
        assert rows is not None
        plain, noisy = [], []
        for j, some in enumerate((np.arange(len(rows)), *self._parts)):
            here, starts = rows[some], [found[start].noisy[j] for start in STARTS if start in found]
            fit = best_ellipses(here, starts, monitor=self._monitor)
            if fit is None:
                raise ValueError("no cluster to begin at has two objects")
            noisy.append(fit.label(here)[0])
            if fit.has_background:
                starts = [found[start].plain[j] for start in STARTS if start in found]
                fit = best_ellipses(here, starts, monitor=self._monitor) or fit
            plain.append(fit.label(here)[0])
        return _Found(plain, noisy)

    def _agreement(self, labels: list[Ints]) -> float:
        """Mean adjusted Rand index between the labels of the sample and those of each subsample."""
        pairs = zip(self._parts, labels[1:], strict=True)
        return float(np.mean([adjusted_rand_score(labels[0][part], other) for part, other in pairs]))

    def _labels(self, way: Way, objects: Ints | None, n_clusters: int | None, *noises: Noise) -> list[Ints]:
        """The labels of the sample or a part of it, by one affinity."""
        similarity = self._sample.similarity(way, objects)
        behind = self._background_of(similarity, objects)
        request = Request(n_clusters, "auto", SolverOptions().checked(), background=behind)
        return labels_of(similarity, request, np.random.RandomState(0), self._monitor, *noises)

    def _background_of(self, similarity: Similarity, objects: Ints | None) -> Background | None:
        """The background of the sample, or its part in a subsample; round groups have one of their own."""
        if isolation_of(similarity) is None:
            return None
        if self._background is None:
            if objects is not None:
                return None
            self._background = find_background(similarity)
        return self._background if objects is None else self._background.part(objects)

    def _clear(self, coarse: TriedAffinity) -> tuple[TriedAffinity, str] | None:
        """The finest candidate that is clear and finer than another, and an affinity that agrees with it."""
        order = sorted(self._tried, key=lambda c: (-c.n_clusters, -round(c.score, DIGITS)))
        for candidate in order:
            if candidate.n_clusters > coarse.n_clusters and candidate.reproduced >= CLEAR:
                same = self._same(candidate)
                if same is not None:
                    return candidate, same
        return None

    def _same(self, candidate: TriedAffinity) -> str | None:
        """Another affinity that has nearly the same clusters at the same number of them."""
        number = candidate.n_clusters
        found = self._found[self._tried.index(candidate)].plain[0]
        tried = {
            other.title: labels.plain[0]
            for other, labels in zip(self._tried, self._found, strict=True)
            if other.n_clusters == number
        }
        for way in self._sample.ways(number):
            title = _title(way)
            if title == candidate.title or (title not in tried and way[0] == "ellipses"):
                continue
            try:
                labels = tried[title] if title in tried else self._labels(way, None, number, None)[0]
            except (ValueError, ArithmeticError, np.linalg.LinAlgError):
                continue  # it dropped out of the comparison, too
            if adjusted_rand_score(found, labels) >= CLEAR:
                return title
        return None

    def _of_all(self, best: TriedAffinity) -> TriedAffinity:
        """Where a fit of some objects is hardly better than one of all, with as many clusters, the latter."""
        if self._sample.fitted((best.affinity, best.params)) is None:
            return best
        others = [
            c for c in self._tried if c.n_clusters == best.n_clusters and c.score >= best.score - HARDLY
        ]
        others = [c for c in others if self._sample.fitted((c.affinity, c.params)) is None]
        return max(others, key=lambda c: round(c.score, DIGITS), default=best)

    def _best(self) -> Choice:
        """The candidate with the highest score (of equal ones the first), or a finer one that is clear."""
        coarse = max(self._tried, key=lambda candidate: round(candidate.score, DIGITS))
        clear = self._clear(coarse)
        first, same = clear or (coarse, "")
        best = self._of_all(first)
        if self._wanted is None and best.reproduced < STABLE:
            found = f"{best.title} with {best.n_clusters} clusters has the highest score"
            return self.usual(f"{found}, but is not stable ({best.reproduced:.2f}): one cluster.", 1)
        conductance = np.exp(best.separation)
        reason = f"{best.title} with {best.n_clusters} clusters has the highest score"
        if same:
            reason = (
                f"{best.title} with {best.n_clusters} clusters is clear ({same} has nearly the same), and "
            )
            reason += f"finer than {coarse.title} with {coarse.n_clusters}, which has the highest score"
        if best is not first:
            reason = (
                f"{best.title} with {best.n_clusters} clusters has hardly a lower score than {first.title}, "
            )
            reason += "of which a fit would be one of some objects"
        reason += f": its clusters are stable (adjusted Rand index with subsamples {best.stability:.2f}) "
        reason += f"and separate (mean conductance {conductance:.2g})"
        if best.noise and not best.is_noise_doubtful:
            reason += f", in a background of {best.noise:.0%} (with it {best.noise_stability:.2f})"
        tried = [*self._tried, *self._dropped]
        number: int | None = self._wanted or best.n_clusters
        if self._wanted is None:
            is_own = self._own.get(best.title) == number
            reason += f"; {number} is the number " + ("that it finds" if is_own else "of a normal mixture")
            if is_own and self._sample.is_part:  # among all objects it may find more
                own = next(way for way in self._sample.ways(None) if _title(way) == best.title)
                taken, number = replace(best, params=own[1]), None
                tried = [taken if one is best else one for one in tried]
                best = taken
        return Choice(best, tried, self._sample.n, f"{reason}.", number)

    def _one(self) -> Choice:
        """One cluster: no affinity finds more."""
        way, n = self._sample.ways(None)[0], self._sample.n
        if not self._own:
            return self.usual("No affinity could be tried: round clusters.")
        taken = TriedAffinity(*way, n_clusters=1, stability=1.0, score=0.0)
        others = [
            TriedAffinity(*w, n_clusters=1, stability=1.0, score=0.0) for w in self._sample.ways(None)[1:]
        ]
        reason = "No affinity finds more than one cluster."
        return Choice(taken, [taken, *others, *self._dropped], n, reason)


def _title(way: Way) -> str:
    return str(way[1].get("then", way[0]))
