r"""Which affinity: candidates are tried on a sample, and the best partition wins.

A candidate is an affinity with its parameters. Its groups are judged by how well they are apart (c, the
conductance of each on a graph of neighbours, see :mod:`dominantsets.clusters.separation`) and by how stable
they are (t, the mean agreement with the groups that 70 % of the sample have, by the adjusted Rand index).
With a number of clusters K the lowest

.. math:: \sum_k v_k \log c_k - 4 t

wins, :math:`v_k` the share of the links that cluster k has; without one the highest
:math:`t^2 \sum_k \log(0.12 / c_k)`, in which one cluster counts 0: where no candidate has groups that are
apart and stable, nothing is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.find import Request, find
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
    note : str
        Why it dropped out, if it did.
    """

    affinity: str
    params: dict[str, Any] = field(default_factory=dict)
    n_clusters: int = 0
    separation: float = 0.0
    stability: float = 0.0
    score: float = -np.inf
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
        lines = [f"{'affinity':>12} {'clusters':>9} {'separation':>11} {'stability':>10} {'score':>8}"]
        for c in self.candidates:
            mark = "  <- taken" if c is self.taken else ""
            numbers = f"{c.n_clusters:9d} {c.separation:11.2f} {c.stability:10.2f} {c.score:8.2f}{mark}"
            lines.append(f"{c.affinity:>12} {c.note or numbers}")
        return "\n".join([*lines, self.reason])


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
    graph, found = neighbour_graph(rows), list[Candidate]()
    parts = _parts(rows)
    for name, params in candidates(X.shape[0], X.shape[1], n_clusters):
        if found and monitor.out_of_time():
            break
        found.append(_tried(rows, parts, graph, name, params, n_clusters, monitor))
        perfect = found[-1].n_clusters > 1 and found[-1].separation <= np.log(2.0 * LEAST)
        if perfect and found[-1].stability >= SURE and n_clusters is not None:
            break
    best = max(found, key=lambda candidate: candidate.score)
    if not np.isfinite(best.score) or (n_clusters is None and best.score <= 0.0):
        best = next((c for c in found if c.affinity == "sqeuclidean"), few)
        reason = "No candidate has groups that are apart and stable: balls, which say so."
    else:
        reason = (
            f"{best.affinity} has the groups that are best apart (mean conductance "
            f"{np.exp(best.separation):.2g}) and stable ({best.stability:.2f} agreement with parts)."
        )
    return Choice(best, found, len(rows), reason)


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
) -> Candidate:
    try:
        labels = _labels(rows, name, params, n_clusters, monitor)
        again = [_labels(rows[part], name, params, n_clusters, monitor) for part in parts]
    except (ValueError, ArithmeticError, np.linalg.LinAlgError, ModuleNotFoundError) as error:
        return Candidate(name, params, note=f"dropped out: {error}")
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
    return Candidate(name, params, count, separation, stability, score)


def _labels(
    rows: Floats, name: str, params: dict[str, Any], n_clusters: int | None, monitor: Monitor
) -> Ints:
    """The labels of all rows, by one candidate."""
    similarity = as_similarity(rows, name, **params)
    request = Request(n_clusters, "auto", SolverOptions().checked(), noise=None)
    found = find(similarity, request, np.random.RandomState(0), monitor)
    labels = found.partition().labels if found.clusters else found.cores
    return np.unique(labels, return_inverse=True)[1].reshape(-1)
