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

from typing import Any, NamedTuple

import numpy as np

from dominantsets._checks import warn
from dominantsets.similarity import LowRank, Similarity
from dominantsets.similarity.base import Floats, Ints
from dominantsets.similarity.sharded import ShardedLowRank

ROUNDS = 200  # rounds after which it is given up; a few dozen are usual
MOVES = 100  # single moves after a round that would lower the objective


class Refined(NamedTuple):
    """Labels that no single round would change.

    ``fit`` is S_ik / root of W_k of each object in its cluster; ``objective`` its value before every round
    and at the end; ``weights`` are the W_k.
    """

    labels: Ints
    fit: Floats
    weights: Floats
    objective: list[float]


def self_similarities(similarity: Similarity) -> Floats:
    """What stands on the diagonal: an object's similarity to its copy, or the largest similarity."""
    if isinstance(similarity, (LowRank, ShardedLowRank)):
        return similarity.self_similarity
    if similarity.peak is not None:
        return np.full(similarity.n, similarity.peak)
    return np.full(similarity.n, float(max(similarity.column(i).max() for i in _some(similarity.n))))


def _some(n: int) -> Ints:
    return np.unique(np.linspace(0, n - 1, min(n, 200)).astype(np.int64))


class _State:
    def __init__(self, similarity: Similarity, labels: Ints, n_clusters: int) -> None:
        self.similarity, self.n_clusters = similarity, n_clusters
        self.own = self_similarities(similarity)
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
            self.S[:, k] = self.similarity.gradient(members, np.ones(members.size))
            self.S[members, k] += self.own[members]
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

    def best(self) -> Ints:
        """The best cluster of every object; ties leave it where it is, and no cluster loses its last one."""
        fit, labels = self.fit(), self.labels
        best = fit.argmax(axis=1)
        rows, inside = np.arange(labels.size), labels >= 0
        here = fit[rows, np.maximum(labels, 0)]
        stay = inside & (fit[rows, best] <= here * (1.0 + 1e-12))
        best = np.where(stay, labels, best)
        best = np.where(np.isneginf(fit.max(axis=1)), labels, best)
        for k in np.setdiff1d(labels[inside], best):
            mine = np.flatnonzero(labels == k)
            best[mine[np.argmax(fit[mine, k])]] = k
        return best

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


def refine(similarity: Similarity, labels: Ints, n_clusters: int) -> Refined:
    """Re-assign every object until nothing moves, from labels with -1 for objects in no cluster.

    Parameters
    ----------
    similarity : Similarity
        Of any kind; each round costs one product with it for each cluster, no n × n matrix.
    labels : ndarray of int
        Where to begin; every cluster must have a member.
    n_clusters : int
        Number of clusters.

    Returns
    -------
    Refined
        Labels, how well each object fits, and the objective of every round.
    """
    state = _State(similarity, labels.copy(), n_clusters)
    state.count(state.best())  # objects in no cluster have to go somewhere first
    objective = [state.objective]
    for _ in range(ROUNDS):
        best = state.best()
        if np.array_equal(best, state.labels):
            break
        before, kept = state.labels, (state.S, state.W)
        state.count(best)
        if state.objective < objective[-1]:  # possible only where s is not positive semidefinite
            state.labels, (state.S, state.W) = before, kept
            if not state.single_moves():
                break
        objective.append(state.objective)
    else:
        warn(f"refinement was stopped after {ROUNDS} rounds; the objective had not settled.")
    fit = state.fit()[np.arange(labels.size), np.maximum(state.labels, 0)]
    return Refined(state.labels, fit, state.W, objective)


def without_noise(refined: Refined, cores: Ints, keep_noise: float | str) -> Ints:
    """Labels with -1 for objects that do not belong.

    ``keep_noise`` is a quantile q: an object stays where it fits its cluster at least as well as the
    q-quantile of the cluster's core does. "payoff" keeps the cores only: the objects that pass the test of
    payoffs, and so would gain by joining.
    """
    labels = refined.labels.copy()
    if keep_noise == "payoff":
        labels[cores < 0] = -1
        return labels
    for k in range(refined.weights.size):
        core = (cores == k) & (labels == k)
        if core.any():
            level = np.quantile(refined.fit[core], float(keep_noise))
            labels[(labels == k) & (refined.fit < level * (1.0 - 1e-12))] = -1
    return labels


def predict_by_fit(similarity: Similarity, labels: Ints, weights: Floats, new: Any) -> Ints:
    """The refined cluster that a new object fits best."""
    fits = []
    for k, weight in enumerate(weights):
        members = np.flatnonzero(labels == k)
        if not members.size:
            fits.append(np.full(new.shape[0], -np.inf))
            continue
        fits.append(
            similarity.payoff(new, members, np.full(members.size, 1.0 / np.sqrt(max(weight, 1e-300))))
        )
    best = np.argmax(fits, axis=0)
    return np.where(np.isneginf(np.max(fits, axis=0)), -1, best)  # in a component without a cluster
