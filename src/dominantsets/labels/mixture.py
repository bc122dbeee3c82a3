r"""Labels of objects that are points: clusters as clouds about their centres, with or without a background.

Clouds (:mod:`dominantsets.labels.clouds`) are fitted to a sample, from where the dominant sets stand, and an
object belongs to the cloud that most likely made it.

Widths of their own suit clusters that are apart, or in few dimensions. In many dimensions, where
clusters touch and are no clouds (documents, images), a wide one would swallow the others. So they are
believed only where they change few labels or there are at most four dimensions, and where the dominant sets
keep their objects; else all clusters have one width, and objects belong to the nearest centre.

The background is one more cloud; in up to four dimensions also a constant density over the convex hull of the
objects, whichever explains more. It is believed where

- there are 30 objects or more: fewer do not show how wide a cluster is,
- it explains the sample better than the clusters alone do, by more than the Bayesian information criterion
  asks of its parameters, and by 0.25 nats for each of its objects,
- it has no more than 85 % of the objects: beyond that a few dense places of one group look like clusters,
- the dominant sets keep their objects, most of them,
- it is broader than every cluster,
- widths of their own are believed (see above),
- it knows nothing of the clusters: its objects lie no nearer to them, and no farther from them, than as many
  drawn from its own distribution (the flanks of clusters that are no clouds, and rings about them, do),
- and it is one cloud: two do not explain its objects better. (A cluster that was not found, or a class of
  documents that no group stands for, is not noise.)

Where one of these fails no object is labelled noise (but for what lies farther out than one object in 10¹² of
its cluster would), and the table says which. New objects are noise as well if they lie more than twice as far
out, in widths of their cluster, as any object of the sample.

All of this is judged on the significant groups, whatever number of clusters was asked for: where fewer
are wanted the others are clusters all the same, not noise. Where some only fill up the number, it is enough
that a background is believed beside all clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaincc, gammainccinv

from dominantsets._typing import Floats, Ints
from dominantsets.labels.clouds import (
    FEW_DIMENSIONS,
    Clouds,
    Fit,
    Start,
    constant_density,
    fit_clouds,
    gain_of_two,
    limit,
    within_hull,
)
from dominantsets.labels.noise import FAR, UNLIKE, is_share, larger, noise_level, sentence_of
from dominantsets.labels.soft import posteriors
from dominantsets.rows.base import Cores, Tails
from dominantsets.rows.rule import Rule
from dominantsets.similarity import Similarity
from dominantsets.similarity.located import Coordinates, located
from dominantsets.solvers import Monitor

GAIN = 0.25  # nats for each object of the background
MOST = 0.85  # of the objects that may be noise: more was never tried
KEPT = 0.6  # of the dominant sets' objects that stay with their cluster
AGREE = 0.9  # of the labels that widths must leave alone, in more than four dimensions
SLACK = 0.02  # of the dominant sets' objects that may be lost to widths
ONE_CLOUD = 0.1  # nats for each object by which two clouds may explain the background better
DRAWN, FEW_DRAWN = 1_000, 20  # objects that are drawn from the background to see what it knows; at least
MODERATE = 15.0  # half of the degrees of freedom, above which tails are taken as normal
FEW_OBJECTS = 30  # of a cluster in the sample, for one to be too far to be of it; of all, to tell noise
COPIES = 1e-9  # of the data's spread: the variance of copies of one object, as far as rounding goes
FARTHEST = 1e-12  # probability below which an object is noise where noise is by evidence


def kept(starts: list[Start], labels: Ints) -> float:
    """Which share of the dominant sets' objects has the label of its set, on average."""
    return float(np.mean([(labels[start.members] == k).mean() for k, start in enumerate(starts)]))


def are_clouds(sample: Coordinates, fit: Fit, same: Fit) -> bool:
    """Whether widths are believed: in few dimensions, or where they change few labels of what is no noise."""
    if sample.rows.shape[1] <= FEW_DIMENSIONS:
        return True
    inside = fit.outside <= 0.5
    alike = fit.home == same.home
    return bool(inside.any()) and float(alike[inside].mean()) >= AGREE


class Verdict(NamedTuple):
    """Whether there is noise: the decision, its evidence in nats for each object, and a sentence."""

    noisy: bool
    gain: float
    sentence: str


def judge_noise(sample: Coordinates, starts: list[Start], with_it: Fit, without: Fit, same: Fit) -> Verdict:
    """Whether the background is believed; ``same`` is the fit with one width for all clusters."""
    n, clouds = len(sample.rows), with_it.clouds
    share = float((with_it.outside > 0.5).mean())
    price = 0.5 * (clouds.dimension + 2.0) * np.log(n)
    gain = (with_it.likelihood - without.likelihood - price) / n
    home = np.where(with_it.outside > 0.5, -1, with_it.home)
    stayed = kept(starts, home)

    def no(reason: str) -> Verdict:
        return Verdict(False, gain, f"no object is labelled noise: {reason}.")

    if n < FEW_OBJECTS:
        return no(f"{n} objects are too few to tell")
    if share == 0.0 or gain <= GAIN * clouds.noise:
        return no(f"a background explains the data no better ({gain:+.2f} nats per object)")
    if share > MOST:
        return no(f"{share:.0%} would be, more than is believed (curves need affinity='auto')")
    if stayed < KEPT:
        return no(f"a background would take {1.0 - stayed:.0%} of the dominant sets' own objects")
    if not are_clouds(sample, with_it, same):
        return no("the clusters touch, and are no clouds with a background around them")
    if clouds.width <= float(clouds.variances.max()):
        return no("what lies outside the clusters is no broader than the widest of them")
    near, error = _nearness(sample, with_it)
    if abs(near - 0.5) > UNLIKE + 2.0 * error:
        where = "keeps to the clusters" if near > 0.5 else "keeps away from the clusters"
        return no(f"what lies outside the clusters ({share:.0%}) {where}, so that it may be parts of groups")
    two = gain_of_two(sample, with_it.outside > 0.5, clouds.dimension)
    if two > ONE_CLOUD:
        return no(
            f"what lies outside the clusters ({share:.0%}) is not one cloud (two explain it better by "
            f"{two:.2f} nats per object), so that it may be clusters that were not found"
        )
    return Verdict(
        True, gain, f"{share:.0%} are background: it explains the data better by {gain:.2f} nats per object."
    )


def _nearness(sample: Coordinates, fit: Fit) -> tuple[float, float]:
    """How often an object of the background lies nearer to a cluster than one drawn from its distribution.

    1/2 where the background knows nothing of the clusters; and the standard error.
    """
    clouds, rows = fit.clouds, sample.rows
    behind = np.flatnonzero(fit.outside > 0.5)
    some = behind[:: max(1, behind.size // DRAWN)]
    random = np.random.RandomState(0)
    if clouds.flat is None:  # sums of objects with normal weights are normal, with the objects' covariance
        middle = rows[some].mean(axis=0)
        drawn = middle + random.normal(size=(DRAWN, some.size)) @ (rows[some] - middle) / np.sqrt(some.size)
    else:
        drawn = within_hull(rows, random.uniform(size=(2 * DRAWN, rows.shape[1])))
    extra = np.full(len(drawn), float(sample.extra[some].mean()))
    mine, theirs = (
        _away_from_clusters(clouds, Coordinates(points, left, sample.own))
        for points, left in ((rows[some], sample.extra[some]), (drawn, extra))
    )
    if min(mine.size, theirs.size) < FEW_DRAWN:
        return 0.5, np.inf
    farther, error = larger(mine, theirs)
    return 1.0 - farther, error


def _away_from_clusters(clouds: Clouds, points: Coordinates) -> Floats:
    """Squared distances from the nearest cluster, in its variances, of points that are background."""
    t = clouds.squares(points)
    scores = (clouds.levels() + clouds.rest() - clouds.falls(t)).max(axis=1)
    behind = clouds.behind(clouds.away(points)) > scores
    return np.asarray((t / clouds.variances).min(axis=1)[behind])


def _decided(
    sample: Coordinates, starts: list[Start], normal: Fit, tailed: Fit | None, same: Fit, monitor: Monitor
) -> tuple[Fit, Verdict]:
    """The fit with a background or that without, which are compared in one space, and why."""
    with_it, has_tails = tailed or normal, tailed is not None
    own = fit_clouds(sample, starts, dimension=with_it.clouds.dimension, tails=has_tails, monitor=monitor)
    verdict = judge_noise(sample, starts, with_it, own, same)
    if verdict.noisy:
        return with_it, verdict
    if has_tails:  # they matter to noise only
        own = fit_clouds(sample, starts, dimension=normal.clouds.dimension, monitor=monitor)
    return _widths(sample, starts, own, same), verdict


def _widths(sample: Coordinates, starts: list[Start], own: Fit, same: Fit) -> Fit:
    """Clusters with widths of their own, or with one for all where those are not believed."""
    mine, theirs = kept(starts, own.home), kept(starts, same.home)
    return own if are_clouds(sample, own, same) and mine >= theirs - SLACK else same


@dataclass(frozen=True, eq=False)
class Labelling:
    """The rule that gives labels: clouds about mixtures of objects, and the verdict on noise.

    Attributes
    ----------
    rule : Rule
        The clusters, and the background where there is one; the score of an object is the logarithm of its
        density.
    verdict : Verdict
        Whether there is noise.
    """

    rule: Rule
    verdict: Verdict

    def of(self, similarity: Similarity) -> tuple[Ints, Floats]:
        """Labels and probabilities of all objects: a pass, and one for the background."""
        return located(similarity).label(self.rule)

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """Labels of new objects."""
        return self.place(similarity, new)[0]

    def soft(self, similarity: Any, known: Ints, n_clusters: int, labels: Ints, new: Any) -> Floats:
        """Posteriors of the mixture; between clusters densities decide, as for labels."""
        rule, nearest = self.rule, located(similarity).scores_of(new)
        cores, columns = rule.cores, []
        for k in range(n_clusters):
            columns.append(np.minimum(nearest(cores.one(k))[1], cores.constants[k]))  # but for rounding
        logs = cores.logs(np.column_stack(columns), np.log)
        before = (logs + rule.rest)[np.arange(len(logs)), logs.argmax(axis=1)]
        if rule.background is None:
            return posteriors(logs, np.full(len(logs), -np.inf), before)
        if rule.judges is not None:
            best, score = nearest(rule.judges)
            before = rule.judges.logs(np.minimum(score, rule.judges.constants[best]), np.log)
        return posteriors(logs, nearest(rule.background)[1], before)

    @property
    def limits(self) -> Floats:
        """The distance from the center of each cluster, from which new objects are noise."""
        return np.sqrt(self.rule.falls / self.rule.cores.rates)

    def within(self, times: float) -> Labelling:
        """The rule by which objects are noise from so many times the distance of the farthest object."""
        rule, ratio = self.rule, (times / FAR) ** 2
        unlikely = gammaincc(
            0.5 * rule.dimension, ratio * float(gammainccinv(0.5 * rule.dimension, FARTHEST))
        )
        least = np.where(rule.least == FARTHEST, unlikely, rule.least)
        return replace(self, rule=rule._replace(far=ratio * rule.far, least=least))

    def place(self, similarity: Similarity, new: Any) -> tuple[Ints, Floats]:
        """Labels and probabilities of new objects."""
        return located(similarity).label_new(new, self.rule)


def label_by_clouds(
    similarity: Similarity,
    objects: Ints,
    sample: Coordinates,
    starts: list[Start],
    dimension: float,
    noise: str | float | None,
    monitor: Monitor,
    significant: list[Start] | None = None,
    *,
    may_be_far: bool = False,
) -> Labelling:
    """Fit clusters to a sample, and decide on noise.

    Parameters
    ----------
    similarity : Similarity
        That of all objects.
    objects : ndarray of int
        The sample.
    sample : Coordinates
        The sample's objects as points.
    starts : list of Start
        Where the clusters begin.
    dimension : float
        That of the data, to begin with.
    noise : "auto", None or float
        Noise by evidence, none, or the share of the objects that the user expects.
    monitor : Monitor
        Its time limit ends the fits early.
    significant : list of Start, optional
        The significant groups, on which widths and noise are judged; without them, all clusters.
    may_be_far : bool, default=False
        Whether what is far from all clusters is noise.

    Returns
    -------
    Labelling
        The rule.
    """
    if not np.isfinite(dimension):
        dimension = float(max(1, sample.rows.shape[1]))
    dimension = min(max(dimension, 1.0), limit(sample))
    clouds = located(similarity).has_clouds
    # as many as there are clusters are these, perhaps in another order: labels go by the clusters'
    significant = None if significant is None or len(significant) == len(starts) else significant
    auto, some = noise == "auto", significant != []  # groups that only fill up look like tails
    judged = _judged(sample, significant or starts, dimension, auto, clouds, monitor, tails=some)
    fit, verdict, judges = judged.fit, judged.verdict, None
    noisy, background = verdict.noisy, None
    if noisy:
        background = _background(similarity, objects, sample, fit)
    if significant and len(significant) < len(starts):
        # the others fill up: what is believed of those holds for all
        again = None if noisy else _judged(sample, starts, dimension, auto, clouds, monitor, tails=False)
        if again is not None and again.verdict.noisy:
            fit, verdict = again.fit, again.verdict
        else:
            how: dict[str, Any] = {"dimension": fit.clouds.dimension, "monitor": monitor}
            how |= {"common": judged.common, "flat": fit.clouds.flat, "noise": noisy}
            how |= {"tails": np.isfinite(fit.clouds.half)}
            # a few that fill up must not halve a large cluster; many are all there is to know of the data
            fit = fit_clouds(sample, starts, counted=4 * len(significant) >= 3 * len(starts), **how)
        if verdict.noisy:
            background = _background(similarity, objects, sample, fit)
    elif significant and len(significant) > len(starts):
        if noisy:
            judges = _cores(similarity, objects, sample, fit, fit.clouds.rest())
        fit = _judged(sample, starts, dimension, False, clouds, monitor).fit
    cores = _cores(similarity, objects, sample, fit)
    # how wide a cluster of few objects is, is known too badly to say that one is not of it
    sure = fit.parts.sum(axis=0) >= FEW_OBJECTS
    sure &= cores.tails is None  # with tails there is no such distance
    farthest = np.where(sure & (noise == "auto" and clouds), FARTHEST, 0.0)
    rest = fit.clouds.rest()
    far = _far(sample, fit) if may_be_far else np.full(len(starts), np.inf)
    rule = Rule(cores, fit.clouds.dimension, rest, farthest, far, background, judges)
    if not is_share(noise):
        return Labelling(rule, verdict)
    _, probabilities = located(similarity).label(rule)
    typical = np.asarray(probabilities)
    level = noise_level(typical, noise)
    rule = rule._replace(least=np.full(len(starts), level), background=None, judges=None)
    return Labelling(rule, Verdict(noise > 0.0, 0.0, sentence_of(typical < level, noise)))


def _far(sample: Coordinates, fit: Fit) -> Floats:
    """The fall of a score that twice the distance of the farthest object has, and one in 10¹² at least.

    From copies of one object everything else is far, and their own distances are rounding: inf.
    """
    clouds, inside = fit.clouds, fit.outside <= 0.5
    home = fit.home[inside]
    t = np.square(sample.rows[inside] - clouds.centres[home]).sum(axis=1) + sample.extra[inside]
    largest = float((t / (2.0 * clouds.variances[home])).max(initial=0.0))
    far = max(FAR**2 * largest, float(gammainccinv(0.5 * clouds.dimension, FARTHEST)))
    spread = float((np.square(sample.rows).sum(axis=1) + sample.extra).mean())
    least = COPIES * max(spread, abs(sample.own)) / clouds.dimension
    return np.where(clouds.variances > least, far, np.inf)


class _Judged(NamedTuple):
    """What is believed of some clusters: the fit, whether all have one width, and the verdict on noise."""

    fit: Fit
    common: bool
    verdict: Verdict


def _judged(
    sample: Coordinates,
    starts: list[Start],
    dimension: float,
    auto: bool,
    clouds: bool,
    monitor: Monitor,
    *,
    tails: bool = True,
) -> _Judged:
    """Fit clouds, with a background where that is to be judged, and see what is to be believed."""
    some: dict[str, Any] = {"dimension": dimension, "free": True, "monitor": monitor}
    same = fit_clouds(sample, starts, common=True, **some)
    if not clouds:
        return _Judged(
            same, True, Verdict(False, 0.0, "no object is labelled noise: between groups is a border.")
        )
    if not auto:
        own = fit_clouds(sample, starts, **some)
        fit = _widths(sample, starts, own, same)
        return _Judged(fit, fit is same, Verdict(False, 0.0, "no object is labelled noise, as asked."))
    with_it = fit_clouds(sample, starts, noise=True, **some)
    tailed = _tailed(sample, starts, some | {"free": False, "noise": True}) if tails else None
    fit, verdict = _decided(sample, starts, with_it, tailed, same, monitor)
    flat = constant_density(sample)
    if flat is not None:
        some |= {"flat": flat, "free": False, "dimension": float(sample.rows.shape[1])}
        some["noise"] = True
        other = fit_clouds(sample, starts, **some)
        tailed = _tailed(sample, starts, some, other) if tails else None
        other_fit, other_verdict = _decided(sample, starts, other, tailed, same, monitor)
        if (other_verdict.noisy, other_verdict.gain) > (verdict.noisy, verdict.gain):
            fit, verdict = (other_fit if other_verdict.noisy else fit), other_verdict
    return _Judged(fit, fit is same, verdict)


def _tailed(
    sample: Coordinates, starts: list[Start], some: dict[str, Any], normal: Fit | None = None
) -> Fit | None:
    """The fit with the tails of Student's t, where these explain the sample better than normal ones."""
    tailed = fit_clouds(sample, starts, tails=True, **some)
    if tailed.clouds.half > MODERATE:
        return None
    normal = normal or fit_clouds(sample, starts, **some)
    price = 0.5 * np.log(len(sample.rows))  # of one more number, as Bayes' information criterion has it
    return tailed if tailed.likelihood - normal.likelihood > price else None


def _background(similarity: Similarity, objects: Ints, sample: Coordinates, fit: Fit) -> Cores:
    """The background of a fit, as a mixture of objects with its density as score."""
    clouds = fit.clouds
    width, level = np.array([clouds.width]), float(clouds.behind(np.zeros(1))[0])
    assert clouds.middle is not None
    mixtures, inside = _mixtures(
        similarity, objects, sample, sp.csr_array(fit.outside[:, None]), clouds.middle[None]
    )
    rates = 0.5 / width if clouds.flat is None else np.zeros(1)
    return Cores(mixtures, inside, rates, np.array([level]))


def _cores(
    similarity: Similarity, objects: Ints, sample: Coordinates, fit: Fit, rest: Floats | float = 0.0
) -> Cores:
    """The clusters of a fit, as mixtures of objects with their densities and shares as scores.

    ``rest`` is added to the logarithms. With tails, scores are explained in ``dominantsets.rows.rule``.
    """
    clouds = fit.clouds
    mixtures, inside = _mixtures(similarity, objects, sample, fit.parts, clouds.centres)
    levels, rates = clouds.levels() + rest, 0.5 / clouds.variances
    if np.isinf(clouds.half):
        return Cores(mixtures, inside, rates, levels)
    half, power = clouds.tail
    level = float(levels.mean())
    heights = np.exp((level - levels) / power)
    tails = Tails(half, power, level, half / heights)
    return Cores(mixtures, inside, heights * rates / half, -heights, tails)


def _mixtures(
    similarity: Similarity, objects: Ints, sample: Coordinates, parts: sp.csr_array, centres: Floats
) -> tuple[list[Any], Floats]:
    """Centres of clouds as mixtures of objects, and their similarities to themselves."""
    columns, members, shares = sp.csc_array(parts), [], []
    for k, part in enumerate(slice(*ends) for ends in pairwise(columns.indptr.tolist())):
        some, share = columns.indices[part], columns.data[part]
        if share.sum() <= 1e-6:  # a cluster without objects is where the nearest is
            t = np.square(sample.rows - centres[k]).sum(axis=1) + sample.extra
            some, share = np.array([t.argmin()]), np.ones(1)
        large = share > 1e-9 * share.max()
        members.append(some[large])
        shares.append(share[large] / share[large].sum())
    begins = np.cumsum([0, *(some.size for some in members)])
    where = (np.concatenate(shares), np.concatenate(members), begins)
    weights = sp.csr_array(where, shape=(len(members), len(sample.rows)))
    own = similarity.self_similarities(objects)
    # the mean squared distance from the centre is half the mean of own lengths less the centre's
    lengths = np.square(sample.rows).sum(axis=1) + sample.extra
    squares = weights @ lengths - 2.0 * np.einsum("kj,kj->k", weights @ sample.rows, centres)
    inside = weights @ own - 2.0 * (squares + np.square(centres).sum(axis=1))
    return located(similarity).centres(objects, weights), inside
