r"""Which affinity: candidates are tried on a sample, and the best partition wins.

A candidate is an affinity with its parameters, and the groups that it finds. Its *stability* t is the mean
agreement (adjusted Rand index) of its labels with those that it gives two parts of the sample, 70 % each.

*With a number of clusters* K the candidate with K clusters and the highest :math:`t - 0.04\, \bar c` is
taken, where :math:`\bar c` is the mean logarithm of its groups' conductances on a graph of neighbors
(:mod:`dominantsets.fitting.separation`). Where some find a background about their groups, and parts confirm
it, only these compete.

*Without one* three questions decide. Are the groups clouds? Round and elliptic clouds, with a background
where one was found, are fitted from the groups of the candidates and compared with a density that has no
shape (:mod:`dominantsets.fitting.goodness`). Where the best of them explains unseen objects significantly
better, it is taken: balls, or ellipses. In more than 10 dimensions, where every density is poor, balls are
taken where they find a background by evidence, and parts of the sample find the same one; where parts do
not, no object is called noise. Else, how well are groups apart, and how stable? The candidate with the
highest

.. math:: t^2 \sum_k \log(a / c_k)

wins, with :math:`c_k` the conductance of each group. One cluster counts 0: where no candidate has groups that
are apart and stable, nothing is there. a is 0.12, and 0.35 in more than 10 dimensions: groups of data without
structure have more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dominantsets._typing import Ints
from dominantsets.clusters.scales import Scales
from dominantsets.compiled.interrupts import Interrupted, check
from dominantsets.fitting.goodness import Cloud, best_cloud
from dominantsets.fitting.kinds import labels_of
from dominantsets.fitting.plan import Noise, Request
from dominantsets.fitting.samples import Sample, Way, sample_of
from dominantsets.fitting.separation import LEAST, conductances
from dominantsets.similarity.located import located
from dominantsets.solvers import Monitor, SolverOptions

FEWEST, FEWEST_A_CLUSTER = 8, 4  # objects below which nothing is compared
MOST = 100  # clusters above which nothing is compared; half as many, where they are found in a sample
PART, PARTS = 0.7, 2  # of the sample that must give the same groups, and how many such parts
CLOUDS = 1e7  # products in a round of fitting clouds, up to which they are asked
BELIEVED = 0.5  # agreement of parts about a background from which it is one
CONFIRMED = 0.8  # and from which affinities without one are out (benchmarks/judge.py)
APART = 0.04  # what a logarithm of conductance is worth beside stability, if K is given (benchmarks/judge.py)
DIGITS = 2  # of that sum: what differs by less is equal, and balls come first
HIGHEST = round(1.0 - APART * math.log(LEAST), DIGITS)  # no candidate has more: others are not tried
MISSING = 2.0  # what a cluster that was asked for is worth: more than stability and separation can bring
HURRIED = 0.3  # seconds for an answer after Ctrl-C


@dataclass(frozen=True)
class TriedAffinity:
    """An affinity that ``affinity="auto"`` tried, see :class:`Choice`.

    Attributes
    ----------
    affinity : str
        Its name.
    params : dict
        Its parameters.
    n_clusters : int
        Clusters on the sample.
    separation : float
        The mean logarithm of their conductances.
    stability : float
        The mean agreement with the groups of parts of the sample.
    score : float
        The larger the better.
    explains : float
        By how much clouds of this shape explain unseen objects better than a density without a shape, as a
        mean logarithm; nan where it was not tried.
    noise : float
        Share of the sample that is called noise.
    noise_stability : float
        The mean agreement of the labels with noise with those of parts; 1 where nobody is noise.
    note : str
        Why it dropped out, if it did.
    """

    affinity: str
    params: dict[str, Any] = field(default_factory=dict)
    n_clusters: int = 0
    separation: float = 0.0
    stability: float = 0.0
    score: float = -np.inf
    explains: float = np.nan
    noise: float = 0.0
    noise_stability: float = 1.0
    note: str = ""

    @property
    def is_noise_doubtful(self) -> bool:
        """Whether other parts of the data find another background."""
        return self.noise_stability < BELIEVED

    @property
    def title(self) -> str:
        """What it is called in the table."""
        return str(self.params.get("then", self.affinity))


@dataclass(frozen=True, eq=False)
class Choice:
    """Which affinity ``affinity="auto"`` took, and why; ``choice_`` of :class:`DominantSets`. Print it.

    Attributes
    ----------
    taken : TriedAffinity
        The best one.
    candidates : list of TriedAffinity
        All that were tried, in that order.
    n_objects : int
        Objects of the sample.
    reason : str
        Why, in a sentence.
    interrupted : bool
        Whether Ctrl-C ended it.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from dominantsets import DominantSets
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> choice = DominantSets(2).fit(X).choice_
    >>> choice.taken.affinity, choice.taken.n_clusters
    ('path', 2)
    """

    taken: TriedAffinity
    candidates: list[TriedAffinity]
    n_objects: int
    reason: str
    interrupted: bool = False

    def __repr__(self) -> str:
        return f"Choice({self.taken.title}, of {len(self.candidates)} tried; print it for the table)"

    def __str__(self) -> str:
        lines = [
            f"{'affinity':>12} {'clusters':>9} {'separation':>11} {'stability':>10} {'score':>8} "
            f"{'explains':>9} {'noise':>6}"
        ]
        for c in self.candidates:
            mark = "  <- taken" if c is self.taken else ""
            score = f"{c.score:8.2f}" if np.isfinite(c.score) else f"{'-':>8}"
            explains = f"{c.explains:+9.2f}" if np.isfinite(c.explains) else f"{'-':>9}"
            numbers = (
                f"{c.n_clusters:9d} {c.separation:11.2f} {c.stability:10.2f} {score} {explains} "
                f"{c.noise:6.0%}{mark}"
            )
            lines.append(f"{c.title:>12} {c.note or numbers}")
        return "\n".join([*lines, self.reason])


@dataclass(frozen=True, eq=False)
class _Tried:
    """A candidate, its groups, and who is noise where it says so."""

    candidate: TriedAffinity
    labels: Ints
    with_noise: Ints


def unseen(affinity: str, reason: str) -> Choice:
    """A choice without a look at the data."""
    taken = TriedAffinity(affinity, note="not compared")
    return Choice(taken, [taken], 0, reason)


def choose_for(
    X: Any, n_clusters: int | None, monitor: Monitor, *, seen: bool = True, distances: bool = False
) -> Choice:
    """Choose an affinity for what ``fit`` was given; rows that are not ``seen`` are taken as round groups."""
    if not seen:
        return unseen("sqeuclidean", "The rows are not all in this process's memory: balls.")
    return choose(sample_of(X, n_clusters, distances), n_clusters, monitor)


def choose(sample: Sample, n_clusters: int | None, monitor: Monitor) -> Choice:
    """Choose an affinity.

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
    if sample.n < max(FEWEST, FEWEST_A_CLUSTER * (n_clusters or 0)):
        taken = TriedAffinity(*_balls(sample), note="too little to compare")
        return Choice(taken, [taken], sample.n, "There are too few objects to compare: balls.")
    if (n_clusters or 0) > MOST:
        taken = TriedAffinity(*_balls(sample), note="not compared")
        return Choice(
            taken, [taken], sample.n, f"More than {MOST} clusters: a sample has too little of each."
        )
    if n_clusters is None and sample.whole is not None:  # many small groups do not show in a sample
        count = len(Scales(sample.whole, located(sample.whole).spread(_random()), None, 1, monitor).balls)
        if count > MOST / 2:
            taken = TriedAffinity(*_balls(sample), n_clusters=count, note="of a larger sample")
            reason = f"Balls have {count} groups, too many for a sample to compare."
            return Choice(taken, [taken], sample.n, reason)
    try:
        choice = _Contest(sample, n_clusters, monitor).decide()
        check()
        return choice
    except Interrupted:
        monitor.hurry(HURRIED)
        taken = TriedAffinity(*_balls(sample), note="not compared")
        return Choice(taken, [taken], sample.n, "Ctrl-C: nothing was compared, balls.", interrupted=True)


def _random() -> np.random.RandomState:
    return np.random.RandomState(0)


def _balls(sample: Sample) -> Way:
    """The way that is taken where nothing speaks for another one."""
    return next(way for way in sample.ways if way[0] == sample.balls and way[1].get("then") != "path")


class _Contest:
    """Candidates, tried one after another on a sample until the choice is clear."""

    def __init__(self, sample: Sample, n_clusters: int | None, monitor: Monitor) -> None:
        self._sample, self._wanted, self._monitor = sample, n_clusters, monitor
        self._graph, self._tried = sample.graph(), list[_Tried]()
        self._dropped: list[TriedAffinity] = []
        order, random = sample.order(), np.random.RandomState(0)
        size = int(PART * sample.n)
        self._parts = [np.sort(order[random.permutation(sample.n)[:size]]) for _ in range(PARTS)]

    def decide(self) -> Choice:
        """The choice."""
        for way in self._sample.ways:
            check()
            if self._monitor.out_of_time():
                taken = TriedAffinity(*_balls(self._sample), note="not compared")
                return self._choice(taken, "The time was up before all were tried: balls.")
            try:
                self._tried.append(self._try(way))
            except (ValueError, ArithmeticError, np.linalg.LinAlgError, ModuleNotFoundError) as error:
                self._dropped.append(TriedAffinity(*way, note=f"dropped out: {error}"))
                continue
            last = self._tried[-1].candidate
            if self._wanted is not None and round(last.score, DIGITS) >= HIGHEST:
                break
            choice = self._early(last) if self._wanted is None else None
            if choice is not None:
                return choice
        if not self._tried:
            taken = TriedAffinity(*_balls(self._sample), note="nothing could be tried")
            return self._choice(taken, "No candidate could be tried: balls.")
        return self._of_unknown_number() if self._wanted is None else self._of_given_number()

    def _of_given_number(self) -> Choice:
        found = [tried.candidate for tried in self._tried]
        confirmed = [c for c in found if c.noise > 0.0 and c.noise_stability >= CONFIRMED]
        best = max(confirmed or found, key=lambda candidate: round(candidate.score, DIGITS))
        within = f" in a background of {best.noise:.0%}" if confirmed else ""
        reason = (
            f"{best.title} has the most stable and separate groups{within} (mean adjusted Rand index with "
            f"the labels of parts {best.noise_stability if confirmed else best.stability:.2f}, "
            f"mean conductance {np.exp(best.separation):.2g})."
        )
        return self._choice(best, reason)

    def _of_unknown_number(self) -> Choice:
        cloud = self._clouds()
        if cloud is not None:
            best = self._with_cloud(cloud)
            if cloud.is_significant:
                return self._choice(best, _explained(best, cloud))
        found = [tried.candidate for tried in self._tried]
        best = max(found, key=lambda candidate: candidate.score)
        if best.score <= 0.0:
            balls = _balls(self._sample)
            best = next((c for c in found if (c.affinity, c.params) == balls), best)
            return self._choice(
                best, "No candidate has groups that are apart and stable: balls, which say so."
            )
        reason = (
            f"{best.title} has the groups that are best apart (mean conductance "
            f"{np.exp(best.separation):.2g}) and stable ({best.stability:.2f} agreement with parts)."
        )
        return self._choice(best, reason)

    def _choice(self, best: TriedAffinity, reason: str) -> Choice:
        found = [tried.candidate for tried in self._tried]
        found += [] if any(best is c for c in found) else [best]
        return Choice(best, found + self._dropped, self._sample.n, reason)

    def _early(self, last: TriedAffinity) -> Choice | None:
        """The choice, where the last candidate needs no rival."""
        if last.n_clusters > MOST / 2:
            taken = TriedAffinity(*_balls(self._sample), note="of all objects")
            reason = f"{last.title} has {last.n_clusters} groups, too many for a sample to compare: balls."
            return self._choice(taken, reason)
        if last.affinity != self._sample.balls or last.noise == 0.0 or last.is_noise_doubtful:
            return None
        if not self._asks_clouds:
            reason = f"A background was found about the balls ({last.noise:.0%} of the objects): balls."
            return self._choice(last, reason)
        cloud = self._clouds()
        if cloud is not None and cloud.is_round and cloud.is_significant:
            best = self._with_cloud(cloud)
            return self._choice(best, _explained(best, cloud))
        return None

    @property
    def _asks_clouds(self) -> bool:
        """Whether clouds can be fitted in seconds to all groups that were found."""
        rows = self._sample.rows
        if rows is None:
            return False
        numbers = rows.shape[0] * (rows.shape[1] + 1) * (rows.shape[1] + 2) // 2
        return bool(numbers * max(tried.candidate.n_clusters for tried in self._tried) <= CLOUDS)

    def _clouds(self) -> Cloud | None:
        """The clouds that explain most: round ones from balls, and any from all candidates."""
        rows = self._sample.rows
        if rows is None or not self._asks_clouds:
            return None
        starts = []
        for tried in self._tried:
            name = tried.candidate.affinity
            starts.append((name, tried.labels, name == self._sample.balls))
            if (tried.with_noise < 0).any():
                starts.append((name, tried.with_noise, name == self._sample.balls))
        return best_cloud(rows, self._parts, starts, self._monitor)

    def _with_cloud(self, cloud: Cloud) -> TriedAffinity:
        """The candidate that clouds speak for; it stands in the table from now on."""
        if cloud.is_round:
            for place, tried in enumerate(self._tried):
                if tried.candidate.affinity == self._sample.balls:
                    best = replace(tried.candidate, explains=cloud.lift)
                    self._tried[place] = replace(tried, candidate=best)
                    return best
        separation, _ = self._separation(cloud.labels)
        count, noise = int(cloud.labels.max()) + 1, float((cloud.labels < 0).mean())
        best = TriedAffinity("ellipses", {"start": cloud.start}, count, separation, cloud.stability)
        best = replace(best, explains=cloud.lift, noise=noise)
        self._tried.append(_Tried(best, cloud.labels, cloud.labels))
        return best

    def _separation(self, labels: Ints) -> tuple[float, Any]:
        """The mean logarithm of the groups' conductances, and all of them."""
        logs = np.log(conductances(self._graph, labels))
        return (float(logs.mean()) if logs.size > 1 else 0.0), logs

    def _try(self, way: Way) -> _Tried:
        labels, noisy = self._labels(way, None, self._wanted, None, "auto")
        some = labels >= 0  # a mixture that was fitted with a background has it without noise, too
        labels = labels.copy()
        labels[some] = np.unique(labels[some], return_inverse=True)[1].reshape(-1)
        count = int(labels.max(initial=-1)) + 1
        # parts are asked for as many groups: with fewer objects there is less evidence for a number
        number = count if self._wanted is None else self._wanted
        wanted: tuple[Noise, ...] = (None, "auto") if (noisy < 0).any() else (None,)
        again = [self._labels(way, part, number, *wanted) for part in self._parts]
        stability = self._agreement(labels, [each[0] for each in again])
        noise_stability = self._agreement(noisy, [each[-1] for each in again]) if len(wanted) > 1 else 1.0
        separation, logs = self._separation(labels)
        if self._wanted is not None:  # by what a fit returns
            certain = len(wanted) > 1 and noise_stability >= BELIEVED
            score = (noise_stability if certain else stability) - APART * separation
            score -= MISSING * max(self._wanted - count, 0)
        elif count < 2:
            score = 0.0
        else:
            score = max(stability, 0.0) ** 2 * float((np.log(self._sample.apart) - logs).sum())
        noise = float((noisy < 0).mean())
        found = TriedAffinity(*way, count, separation, stability, score, np.nan, noise, noise_stability)
        return _Tried(found, labels, noisy)

    def _agreement(self, labels: Ints, again: list[Ints]) -> float:
        """Of labels with those of the parts."""
        pairs = zip(self._parts, again, strict=True)
        return float(np.mean([adjusted_rand_score(labels[part], other) for part, other in pairs]))

    def _labels(self, way: Way, objects: Ints | None, n_clusters: int | None, *noises: Noise) -> list[Ints]:
        """The labels of the sample or a part of it, by one candidate."""
        request = Request(n_clusters, "auto", SolverOptions().checked())
        similarity = self._sample.similarity(way, objects)
        return labels_of(similarity, request, _random(), self._monitor, *noises)


def _explained(best: TriedAffinity, cloud: Cloud) -> str:
    shape = "round clouds" if cloud.is_round else "clouds with covariances of their own"
    background = " and a background" if cloud.mixture.has_background else ""
    return (
        f"{best.n_clusters} {shape}{background} explain unseen objects better than a density without a shape "
        f"does ({cloud.lift:+.2f} of the logarithm, error {cloud.error:.2f}): {best.affinity}."
    )
