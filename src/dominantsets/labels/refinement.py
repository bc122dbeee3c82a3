r"""Every object into the cluster it fits best, again and again until nothing moves.

With similarities s (self-similarity on the diagonal), :math:`S_{ik} = \sum_{j \in C_k} s_{ij}` and
:math:`W_k = \sum_{i \in C_k} S_{ik}`, an object goes to the cluster with the largest
:math:`S_{ik} / \sqrt{W_k}`: its average similarity to the cluster over the root of the cluster's own. The
objective is :math:`\sum_k \sqrt{W_k}`.

Where s is positive semidefinite, :math:`s_{ij} = \phi_i \cdot \phi_j`, this is spherical k-means in feature
space: with :math:`m_k = \sum_{C_k} \phi_i` and unit vectors :math:`c_k = m_k / |m_k|` the objective is
:math:`\sum_k |m_k| = \sum_i \phi_i \cdot c_{k(i)}`. Moving every object to its best :math:`c_k` does not
lower the right side, and then the new :math:`m_k / |m_k|` are the best unit vectors for the new clusters: it
never falls. There are finitely many partitions, and ties keep an object where it is, so it ends. Where s is
not positive semidefinite a round may lower the objective; then single best moves are made instead, each of
which raises it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dominantsets._checks import warn
from dominantsets._typing import Floats, Ints
from dominantsets.similarity import Similarity
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.similarity.base import evenly
from dominantsets.solvers import Monitor

ROUNDS = 200  # rounds after which it is given up; a few dozen are usual
EVERYBODY = 20_000  # objects up to which a round may cost their square
SAMPLED, SAMPLED_ROUNDS = 200, 10  # above: objects that stand for a cluster, and rounds
MOVES = 100  # single moves after a round that would lower the objective


class FitByMembers(NamedTuple):
    """The fit of new objects to clusters, from their similarities to the members."""

    summaries: list[Any]

    def of(self, similarity: Any, new: Any) -> Floats:
        """How well new objects fit each cluster; -inf where there is no way to it."""
        fits = np.full((new.shape[0], len(self.summaries)), -np.inf)
        for k, summary in enumerate(self.summaries):
            if summary is not None:
                fits[:, k] = arrivals_of(similarity).payoff_of(new, summary)
        return fits


class Refinement(NamedTuple):
    """Labels that no single round would change.

    ``fit`` is S_ik / root of W_k of each object in its cluster; ``objective`` its value before every round
    and at the end; ``rule`` places new objects.
    """

    labels: Ints
    fit: Floats
    rule: FitByMembers
    objective: list[float]


def diagonal_of(similarity: Similarity) -> Floats:
    """What may stand on the diagonal: self-similarities, or the largest similarity there is."""
    if similarity.self_similarity is None:
        return np.full(similarity.n, similarity.largest())
    return similarity.self_similarities(np.arange(similarity.n))


class _Table:
    """S as a table: for any similarity, one product with it for each cluster and round."""

    def __init__(self, similarity: Similarity, labels: Ints, n_clusters: int) -> None:
        self.similarity, self.n_clusters = similarity, n_clusters
        # where a round would ask for every similarity of many objects, some of each cluster stand for it
        self.sampled = similarity.n > EVERYBODY and similarity.costs_all_pairs
        self.own = diagonal_of(similarity)
        self.labels = labels
        self.S: Floats = np.empty((0, 0))
        self.W: Floats = np.empty(0)
        self.count(labels)

    def count(self, labels: Ints) -> None:
        """S and W of a partition: one product with the similarity for each cluster."""
        self.labels = labels
        self.S = np.empty((self.similarity.n, self.n_clusters))
        for k in range(self.n_clusters):
            members = np.flatnonzero(labels == k)
            size = members.size
            if self.sampled:
                members = evenly(members, SAMPLED)
            share = np.full(members.size, size / max(1, members.size))
            self.S[:, k] = self.similarity.gradient(members, share)
            self.S[members, k] += self.own[members] * share
            if self.similarity.components is not None and members.size:
                home = self.similarity.components[members[0]]
                self.S[self.similarity.components != home, k] = -np.inf
        inside = np.flatnonzero(labels >= 0)
        shares = self.S[inside, labels[inside]]
        self.W = np.bincount(labels[inside], shares, self.n_clusters).astype(np.float64)

    @property
    def objective(self) -> float:
        return float(np.sqrt(np.maximum(self.W, 0.0)).sum())

    def fit(self) -> Floats:
        return self.S / np.sqrt(np.maximum(self.W, 1e-300))

    def fit_here(self) -> Floats:
        """How well each object fits its present cluster."""
        return self.fit()[np.arange(self.labels.size), np.maximum(self.labels, 0)]

    def best(self) -> Ints:
        """The best cluster of every object; ties leave it where it is, and no cluster loses its last one."""
        fit, labels = self.fit(), self.labels
        best = fit.argmax(axis=1)
        rows, inside = np.arange(labels.size), labels >= 0
        here = fit[rows, np.maximum(labels, 0)]
        stay = inside & (fit[rows, best] <= here * (1.0 + 1e-12))
        best = np.where(stay, labels, best)
        # what has nothing in common with any cluster waits until one has grown towards it
        best = np.where(fit.max(axis=1) <= 0.0, labels, best)
        return _none_empty(labels, best, lambda members, k: fit[members, k])

    def rule(self) -> FitByMembers:
        """The rule that places new objects."""
        summaries: list[Any] = []
        for k, weight in enumerate(self.W):
            members = np.flatnonzero(self.labels == k)
            share = np.full(members.size, 1.0 / np.sqrt(max(weight, 1e-300)))
            summaries.append(arrivals_of(self.similarity).summarise(members, share) if members.size else None)
        return FitByMembers(summaries)

    def single_moves(self) -> bool:
        """Single moves that raise the objective most, one after another; whether there was one."""
        moved = False
        for _ in range(MOVES):
            labels, S, W = self.labels, self.S, self.W
            rows = np.flatnonzero(labels >= 0)
            home = labels[rows]
            sizes = np.bincount(home, minlength=self.n_clusters)
            roots = np.sqrt(np.maximum(W, 0.0))
            without = W[home] - 2.0 * S[rows, home] + self.own[rows]
            loss = roots[home] - np.sqrt(np.maximum(without, 0.0))
            gain = np.sqrt(np.maximum(W + 2.0 * S[rows] + self.own[rows, None], 0.0)) - roots - loss[:, None]
            gain[np.arange(rows.size), home] = -np.inf
            gain[sizes[home] == 1] = -np.inf
            at, k = np.unravel_index(int(np.argmax(gain)), gain.shape)
            if not gain[at, k] > 1e-12 * roots.sum():
                return moved
            changed = labels.copy()
            changed[rows[at]] = k
            self.count(changed)
            moved = True
        return moved


def _none_empty(labels: Ints, best: Ints, fits: Callable[[Ints, int], Floats]) -> Ints:
    """No cluster loses its last object: the one that fits best goes back; it may leave another one empty."""
    before = np.bincount(labels + 1)[1:] > 0

    def empty() -> Ints:
        after = np.bincount(best + 1, minlength=before.size + 1)[1 : before.size + 1]
        return np.flatnonzero(before & (after == 0))

    while (lost := empty()).size:
        for k in lost.tolist():
            members = np.flatnonzero(labels == k)
            best[members[np.argmax(fits(members, k))]] = k
    return best


def refine(
    similarity: Similarity,
    labels: Ints,
    n_clusters: int,
    *,
    rounds: int = ROUNDS,
    monitor: Monitor | None = None,
) -> Refinement:
    """Re-assign every object until nothing moves, from labels with -1 for objects in no cluster.

    Parameters
    ----------
    similarity : Similarity
        Of any kind; each round costs one product with it for each cluster, no n × n matrix. For kernels and
        matrices of more than 20,000 objects 200 objects stand for each cluster, for ten rounds.
    labels : ndarray of int
        Where to begin; every cluster must have a member.
    n_clusters : int
        Number of clusters.
    rounds : int, default=200
        Rounds after which it is given up.
    monitor : Monitor, optional
        Its time limit ends it between two rounds.

    Returns
    -------
    Refinement
        Labels, how well each object fits, and the objective of every round.
    """
    state = _Table(similarity, labels.copy(), n_clusters)
    rounds = min(rounds, SAMPLED_ROUNDS) if state.sampled else rounds
    state.count(state.best())  # objects in no cluster have to go somewhere first
    objective = [state.objective]
    for _ in range(rounds):
        best, before = state.best(), state.labels
        if np.array_equal(best, before) or (monitor is not None and monitor.out_of_time()):
            break
        state.count(best)
        # only where s is not positive semidefinite can a round lose, or gain nothing and cycle
        if state.objective <= objective[-1] * (1.0 + 1e-15):
            state.count(before)
            if not state.single_moves():
                break
        objective.append(state.objective)
    else:
        if rounds == ROUNDS:
            warn(f"refinement was stopped after {ROUNDS} rounds; the objective had not settled.")
    return Refinement(state.labels, state.fit_here(), state.rule(), objective)
