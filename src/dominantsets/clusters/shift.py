r"""Which shift: resolutions that are tried, and how one is chosen without labels.

A cluster of features is a ball with :math:`\sum_i \max(0, \rho^2 - d_i^2) = \kappa`, where :math:`\kappa`
is the similarity p of an object to its copy plus the shift. More objects of one distribution fill the same
ball in proportion, so a resolution is a share c of :math:`n (p - q)`, with q the lower quartile of the
similarities of two objects (a mean would follow a single far one):

.. math:: \alpha = c\,n\,(p - q) - p.

It may be negative: a constant in the similarity is only a shift, and the constant of M - D² (which one far
object can blow up) thus does not matter. Four shares are tried, on a sample where there are many objects, and
each is given the score

.. math:: \frac1n \sum_k |C_k| \, \text{sharpness}_k

over its clusters that are not shells of others (:mod:`dominantsets.clusters.significance`): how much of the
data lies in groups that stand out. The smallest shift with nearly the highest score wins, among those that
give as many clusters as asked for; where no number is given, among those with the fewest clusters that nearly
reach the highest score of all, so that clusters are not split for little.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.peeling import Peeling, renumbered
from dominantsets.clusters.scales import chosen
from dominantsets.clusters.significance import Judgement
from dominantsets.similarity import Similarity
from dominantsets.similarity.base import evenly
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.located import located
from dominantsets.solvers import Monitor, SolverOptions
from dominantsets.solvers.result import HALTS, End

SHARES = tuple(0.0075 * 2.0**k for k in (1, 0, -1, -3))  # of n (p - q), the largest first
SHARES_OF_DEGREE = (0.9, 0.6, 0.3, 0.1, 0.0)  # of a graph's mean: above 1 all objects would gain
FEW = 1_000  # objects below which balls are made larger: gaps between few objects look like edges
SAMPLE = 2_000  # objects on which resolutions are compared, and SAMPLE_A_CLUSTER for each cluster asked for
SAMPLE_A_CLUSTER = 75
SAMPLE_OF_MATRIX = 2_000  # where a matrix of them has to be formed
SIDE = 64  # objects on either side of the pairs from which the quartile is taken
NEARLY = 0.85  # of the best score that is enough for fewer clusters, where their number is not given
EQUAL = 0.95  # of the best score that is as good, for a smaller shift and purer cores
ROUGH = 1e-5  # relative gap that is enough to compare resolutions


@dataclass(frozen=True)
class Candidate:
    """A resolution that was tried.

    Attributes
    ----------
    share : float
        The share c of n (p - q) that it is.
    shift : float
        The shift for all n objects.
    n_clusters : int
        Clusters that were found.
    coverage : float
        Share of the objects in them.
    score : float
        Share of the objects in clusters that stand out, weighted by their sharpness.
    """

    share: float
    shift: float
    n_clusters: int
    coverage: float
    score: float


@dataclass(frozen=True, eq=False)
class Resolution:
    """How the automatic shift was chosen.

    Attributes
    ----------
    shift : float
        The choice.
    reason : str
        Why, in a sentence.
    candidates : list of Candidate
        What was tried, by falling shift.
    n_objects : int
        Objects on which it was tried.
    halt : End or None
        What cut the comparison short, if anything did.
    """

    shift: float
    reason: str
    candidates: list[Candidate] = field(default_factory=list)
    n_objects: int = 0
    halt: End | None = None

    def __str__(self) -> str:
        lines = [f"{'shift':>12} {'share of n(p-q)':>16} {'clusters':>9} {'coverage':>9} {'score':>7}"]
        for c in self.candidates:
            mark = "  <- chosen" if c.shift == self.shift else ""
            lines.append(
                f"{c.shift:12.6g} {c.share:16.6g} {c.n_clusters:9d} {c.coverage:9.2f} {c.score:7.3f}{mark}"
            )
        return "\n".join([*(lines if self.candidates else []), self.reason])


class Scale:
    """What turns shares into shifts: n, p and p - q of a similarity that knows p."""

    def __init__(self, similarity: Similarity, degrees: Floats) -> None:
        assert similarity.self_similarity is not None
        self.n, self.self_similarity = similarity.n, similarity.self_similarity
        some = evenly(np.argsort(degrees, kind="stable"), 2 * SIDE)
        quartile = (
            float(np.quantile(similarity.block(some[::2], some[1::2]), 0.25))
            if self.n > 1
            else self.self_similarity
        )
        self.spread = self.self_similarity - quartile
        self.rounding = max(bounds_of(similarity).rounding, 1e-14 * abs(self.self_similarity))
        # objects differ in it only under "linear"; each alone must stay concave
        self.least = float(similarity.self_similarities(np.arange(self.n)).min())

    @property
    def alike(self) -> bool:
        """Whether all objects are alike, up to rounding."""
        return not self.spread > self.rounding

    def shift(self, share: float) -> float:
        """The shift of a resolution."""
        if self.alike:
            return 0.0
        kappa = share * max(1.0, float(np.sqrt(FEW / self.n))) * self.n * self.spread
        return max(kappa - self.self_similarity, -self.least + 0.1 * (self.self_similarity - self.least))


def choose_shift(
    similarity: Similarity,
    degrees: Floats,
    n_clusters: int | None,
    *,
    monitor: Monitor,
) -> Resolution:
    """Choose a shift without labels.

    Parameters
    ----------
    similarity : Similarity
        Of any kind.
    degrees : ndarray
        Its row sums.
    n_clusters : int, optional
        Clusters asked for.
    monitor : Monitor
        Knows the time limit, Ctrl-C and the callback.

    Returns
    -------
    Resolution
        The choice, and how it came about.
    """
    if similarity.self_similarity is None:
        return _resolve_graph(similarity, degrees, n_clusters, monitor)
    scale = Scale(similarity, degrees)
    if similarity.n < 4 or scale.alike:
        return Resolution(scale.shift(SHARES[1]), "too little to compare.")
    objects = _sample(similarity, degrees, n_clusters)
    sub, sub_degrees, sub_scale = similarity, degrees, scale
    if objects.size < similarity.n or not similarity.in_memory:
        sub = located(similarity).sample(objects)
        sub_degrees = sub.degrees()
        sub_scale = Scale(sub, sub_degrees)
    trials: list[Candidate] = []
    for share in SHARES:
        if trials and monitor.out_of_time():
            break
        shifts = scale.shift(share), sub_scale.shift(share)
        trial, halt = _try(sub, sub_degrees, share, *shifts, n_clusters, monitor)
        if halt in (End.INTERRUPTED, End.STOPPED):
            return Resolution(scale.shift(SHARES[1]), "ended early.", halt=halt)
        trials.append(trial)
    chosen, reason = _choose(trials, n_clusters)
    best = trials[chosen]
    return Resolution(
        shift=best.shift,
        reason=reason,
        candidates=trials,
        n_objects=int(objects.size),
    )


def _resolve_graph(
    similarity: Similarity, degrees: Floats, n_clusters: int | None, monitor: Monitor
) -> Resolution:
    """For a graph, the largest share of its mean degree at which there are as many clusters as asked for."""
    mean = float(degrees.mean())
    if n_clusters is None or similarity.n < 4:
        return Resolution(SHARES_OF_DEGREE[0] * mean, "a graph: 0.9 of its mean degree.")
    candidates: list[Candidate] = []
    for share in SHARES_OF_DEGREE:
        trial, halt = _try(similarity, degrees, share, share * mean, share * mean, n_clusters, monitor)
        if halt in (End.INTERRUPTED, End.STOPPED):
            return Resolution(share * mean, "ended early.", halt=halt)
        candidates.append(trial)
        if trial.n_clusters >= n_clusters or halt is not None:
            break
    best = max(candidates, key=lambda c: c.n_clusters)
    reason = f"a graph: the largest share of its mean degree with {best.n_clusters} clusters."
    return Resolution(best.shift, reason, candidates, similarity.n)


def _sample(similarity: Similarity, degrees: Floats, n_clusters: int | None) -> Ints:
    """The objects on which resolutions are compared: all, or a sample (never for single linkage)."""
    wanted = max(SAMPLE, SAMPLE_A_CLUSTER * (n_clusters or 0))
    limit = located(similarity).sample_limit(wanted, SAMPLE_OF_MATRIX)
    return chosen(degrees, limit)


def _try(
    sub: Similarity,
    degrees: Floats,
    share: float,
    shift: float,
    here: float,
    n_clusters: int | None,
    monitor: Monitor,
) -> tuple[Candidate, End | None]:
    """Peel a sample at a resolution, and score what is found; and what cut it short, if anything did.

    ``shift`` is the resolution's for all objects, ``here`` for those of the sample.
    """
    run = Peeling(
        sub,
        None if n_clusters is None else min(n_clusters, sub.n),
        shift=here,
        options=SolverOptions(tol=ROUGH, max_iter=10_000, cutoff=2e-12).chosen_for(sub, here),
        monitor=monitor,
        degrees=degrees.copy(),
        judged=True,
    )
    clusters = list(run)
    kept = [k for k, j in enumerate(run.judgements) if n_clusters is not None or j.significant]
    labels = renumbered(run.labels, kept, len(clusters))
    score = sum(_weight(run.judgements[k]) for k in kept) / sub.n
    candidate = Candidate(share, shift, len(kept), float((labels >= 0).mean()), score)
    return candidate, run.end if run.end in HALTS.values() else None


def _weight(judgement: Judgement) -> float:
    return 0.0 if np.isnan(judgement.sharpness) else max(0.0, judgement.weight)


def _choose(candidates: list[Candidate], n_clusters: int | None) -> tuple[int, str]:
    """The number of the chosen candidate, and the reason for the choice."""
    best = max(c.score for c in candidates)
    if n_clusters is not None:
        count = max(c.n_clusters for c in candidates)
    else:
        near = [c.n_clusters for c in candidates if c.score >= NEARLY * best and c.n_clusters]
        count = min(near, default=0)
    able = [k for k, c in enumerate(candidates) if c.n_clusters == count]
    top = max(candidates[k].score for k in able)
    chosen = max(k for k in able if candidates[k].score >= EQUAL * top)
    what = f"the smallest shift with nearly the highest score, {top:.3f}, of those with {count} clusters"
    if n_clusters is None:
        what += f"; more of them reach at most {best:.3f}"
    return chosen, f"{what}."
