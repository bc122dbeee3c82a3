r"""Which affinity: candidates are tried on a sample, and the best partition wins.

A candidate is an affinity with its parameters, and the groups that it finds. Three questions decide.

*Are the groups clouds?* Round and elliptic clouds, with a background where one was found, are fitted from the
groups of the candidates and compared with a density that has no shape
(:mod:`dominantsets.clusters.goodness`). Where the best of them explains unseen objects significantly better,
it is taken: balls, or ellipses. In more than 10 dimensions, where every density is poor, balls are taken where
they find a background by evidence.

*How well are they apart, and how stable are they?* Else groups are judged by c, the conductance of each on a
graph of neighbours (:mod:`dominantsets.clusters.separation`), and t, the mean agreement with the groups that
70 % of the sample have, by the adjusted Rand index. With a number of clusters K the lowest

.. math:: \sum_k v_k \log c_k - 4 t

wins, :math:`v_k` the share of the links that cluster k has; without one the highest
:math:`t^2 \sum_k \log(0.12 / c_k)`, in which one cluster counts 0: where no candidate has groups that are
apart and stable, nothing is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.find import Request, labels_of
from dominantsets.clusters.goodness import Cloud, best_cloud
from dominantsets.clusters.scales import chosen
from dominantsets.clusters.separation import LEAST, conductances, neighbour_graph
from dominantsets.similarity import as_similarity
from dominantsets.solvers import Monitor, SolverOptions

SAMPLE = 2_000  # objects on which candidates are tried, and SAMPLE_A_CLUSTER for each cluster asked for
SAMPLE_A_CLUSTER = 40
PART, PARTS = 0.7, 2  # of the sample that must give the same groups, and how many such parts
STABLE = 4.0  # what stability is worth, in logarithms of conductance
APART = 0.12  # conductance above which a group is not apart
MANY = 10  # dimensions above which an embedding in few is tried, and a spanning tree takes all pairs
TREES, WALKS, PLACES = 20_000, 20_000, 200_000  # objects up to which these take seconds
SURE = 0.98  # stability from which perfectly separate groups need no rival
SIGNIFICANT = 2.0  # standard errors by which clouds must explain unseen objects better


@dataclass(frozen=True)
class Candidate:
    """An affinity that was tried.

    Attributes
    ----------
    affinity : str
        Its name.
    params : dict
        Its parameters.
    n_clusters : int
        Clusters on the sample.
    separation : float
        The mean logarithm of their conductances, by their shares of the links.
    stability : float
        The mean agreement with the groups of parts of the sample.
    score : float
        The larger the better.
    explains : float
        By how much clouds of this shape explain unseen objects better than a density without a shape, as a
        mean logarithm; nan where it was not tried.
    noise : float
        Share of the sample that is called noise.
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
    note: str = ""


@dataclass(frozen=True, eq=False)
class Choice:
    """The affinity that was taken.

    Attributes
    ----------
    taken : Candidate
        The best one.
    candidates : list of Candidate
        All that were tried, in that order.
    n_objects : int
        Objects of the sample.
    reason : str
        Why, in a sentence.
    """

    taken: Candidate
    candidates: list[Candidate]
    n_objects: int
    reason: str

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
            lines.append(f"{c.affinity:>12} {c.note or numbers}")
        return "\n".join([*lines, self.reason])


@dataclass(frozen=True, eq=False)
class _Tried:
    """A candidate, its groups, and who is noise where it says so."""

    candidate: Candidate
    labels: Ints
    with_noise: Ints


def unseen(affinity: str, reason: str) -> Choice:
    """A choice without a look at the data."""
    taken = Candidate(affinity, note="not compared")
    return Choice(taken, [taken], 0, reason)


def candidates(n: int, d: int, n_clusters: int | None) -> list[tuple[str, dict[str, Any]]]:
    """What is tried for so many objects and dimensions: the cheapest first.

    Only what takes seconds for all objects; places of few dimensions only where there are many.
    """
    found: list[tuple[str, dict[str, Any]]] = [("sqeuclidean", {})]
    if n <= TREES or d <= MANY:
        found.insert(0, ("path", {"min_samples": 5}))
    if n <= WALKS:
        found.append(("diffusion", {} if n_clusters is None else {"n_components": n_clusters}))
    if d > MANY and n <= PLACES:
        found.append(("embedding", {}))
    return found


def choose_affinity(X: Any, n_clusters: int | None, monitor: Monitor) -> Choice:
    """Choose an affinity for rows of features in memory.

    Parameters
    ----------
    X : ndarray
        The rows.
    n_clusters : int, optional
        Clusters asked for.
    monitor : Monitor
        At its time limit the best so far is taken.

    Returns
    -------
    Choice
        The choice, and what it was made from.
    """
    size = max(SAMPLE, SAMPLE_A_CLUSTER * (n_clusters or 0))
    few = Candidate("sqeuclidean", note="too little to compare")
    if X.shape[0] < 8 or (n_clusters or 0) * 4 > X.shape[0]:
        return Choice(few, [few], X.shape[0], "There are too few objects to compare: balls.")
    rows = np.asarray(X[chosen(as_similarity(X, "sqeuclidean").degrees(), size)], dtype=np.float64)
    graph, tried, notes = neighbour_graph(rows), list[_Tried](), list[Candidate]()
    parts = _parts(rows)
    for name, params in candidates(X.shape[0], X.shape[1], n_clusters):
        if tried and monitor.out_of_time():
            break
        try:
            tried.append(_tried(rows, parts, graph, name, params, n_clusters, monitor))
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, ModuleNotFoundError) as error:
            notes.append(Candidate(name, params, note=f"dropped out: {error}"))
            continue
        last = tried[-1].candidate
        perfect = last.n_clusters > 1 and last.separation <= np.log(2.0 * LEAST)
        if perfect and last.stability >= SURE and n_clusters is not None:
            reason = f"{last.affinity} has as many groups as were asked for, with nothing between them."
            return Choice(last, [t.candidate for t in tried] + notes, len(rows), reason)
    found = [t.candidate for t in tried] + notes
    if not tried:
        return Choice(few, [*found, few], len(rows), "No candidate could be tried: balls.")
    cloud = _clouds(rows, parts, tried, monitor) if X.shape[1] <= MANY else None
    if cloud is not None:
        found, best = _with_cloud(found, cloud, graph, n_clusters)
        if cloud.lift > SIGNIFICANT * cloud.error:
            return Choice(best, found, len(rows), _explained(best, cloud))
    balls = next((c for c in found if c.affinity == "sqeuclidean" and not c.note), None)
    if X.shape[1] > MANY and balls is not None and balls.noise > 0.0:
        reason = f"A background was found about the balls ({balls.noise:.0%} of the objects): balls."
        return Choice(balls, found, len(rows), reason)
    best = max(found, key=lambda candidate: candidate.score)
    if not np.isfinite(best.score) or (n_clusters is None and best.score <= 0.0):
        best = balls or few
        reason = "No candidate has groups that are apart and stable: balls, which say so."
    else:
        reason = (
            f"{best.affinity} has the groups that are best apart (mean conductance "
            f"{np.exp(best.separation):.2g}) and stable ({best.stability:.2f} agreement with parts)."
        )
    return Choice(best, found, len(rows), reason)


def _explained(best: Candidate, cloud: Cloud) -> str:
    shape = "round clouds" if cloud.is_round else "clouds with covariances of their own"
    background = " and a background" if cloud.mixture.has_background else ""
    return (
        f"{best.n_clusters} {shape}{background} explain unseen objects better than a density without a shape "
        f"does ({cloud.lift:+.2f} of the logarithm, error {cloud.error:.2f}): {best.affinity}."
    )


def _clouds(rows: Floats, parts: list[Ints], tried: list[_Tried], monitor: Monitor) -> Cloud | None:
    """The clouds that explain most: round ones from balls, and any from all candidates."""
    starts = []
    for t in tried:
        name = t.candidate.affinity
        starts.append((name, t.labels, name == "sqeuclidean"))
        if (t.with_noise < 0).any():
            starts.append((name, t.with_noise, name == "sqeuclidean"))
    return best_cloud(rows, parts, starts, monitor)


def _with_cloud(
    found: list[Candidate], cloud: Cloud, graph: Any, n_clusters: int | None
) -> tuple[list[Candidate], Candidate]:
    """The candidates with what clouds explain, and the one that the clouds speak for."""
    if cloud.is_round:
        place = next(i for i, c in enumerate(found) if c.affinity == "sqeuclidean")
        best = replace(found[place], explains=cloud.lift)
        return [*found[:place], best, *found[place + 1 :]], best
    labels = cloud.labels
    count, separation = int(labels.max()) + 1, 0.0
    if count > 1:
        cut, shares = conductances(graph, labels)
        separation = float(shares @ np.log(cut))
    best = Candidate(
        "ellipses",
        {"start": cloud.start},
        count,
        separation,
        cloud.stability,
        explains=cloud.lift,
        noise=float((labels < 0).mean()),
    )
    return [*found, best], best


def _parts(rows: Floats) -> list[Ints]:
    """Parts of the sample, the same ones in whatever order the rows come."""
    n, order = len(rows), np.lexsort(rows.T[::-1])
    random = np.random.RandomState(0)
    return [np.sort(order[random.permutation(n)[: int(PART * n)]]) for _ in range(PARTS)]


def _tried(
    rows: Floats,
    parts: list[Ints],
    graph: Any,
    name: str,
    params: dict[str, Any],
    n_clusters: int | None,
    monitor: Monitor,
) -> _Tried:
    labels = _labels(rows, name, params, n_clusters, None, monitor)
    again = [_labels(rows[part], name, params, n_clusters, None, monitor) for part in parts]
    noisy = _labels(rows, name, params, n_clusters, "auto", monitor) if name == "sqeuclidean" else labels
    labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
    stability = float(
        np.mean([adjusted_rand_score(labels[p], other) for p, other in zip(parts, again, strict=True)])
    )
    count = int(labels.max()) + 1
    cut, shares = conductances(graph, labels)
    separation = float(shares @ np.log(cut)) if count > 1 else 0.0
    if n_clusters is not None:
        score = STABLE * stability - separation
    elif count < 2:
        score = 0.0
    else:
        score = max(stability, 0.0) ** 2 * float((np.log(APART) - np.log(cut)).sum())
    noise = float((noisy < 0).mean())
    return _Tried(
        Candidate(name, params, count, separation, stability, score, noise=noise), labels, noisy
    )


def _labels(
    rows: Floats,
    name: str,
    params: dict[str, Any],
    n_clusters: int | None,
    noise: str | None,
    monitor: Monitor,
) -> Ints:
    """The labels of all rows, by one candidate."""
    request = Request(n_clusters, "auto", SolverOptions().checked(), noise=noise)
    return labels_of(as_similarity(rows, name, **params), request, np.random.RandomState(0), monitor)
