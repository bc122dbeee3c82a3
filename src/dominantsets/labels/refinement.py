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
from numpy.typing import NDArray

from dominantsets._checks import warn
from dominantsets._typing import Floats, Ints
from dominantsets.compiled import dual as _rows
from dominantsets.compiled.threads import GRAIN, parallel_map, thread_slices
from dominantsets.similarity import LowRank, Path, Similarity
from dominantsets.solvers import Monitor

_NOTHING = np.empty(0)
ROUNDS = 200  # rounds after which it is given up; a few dozen are usual
EVERYBODY = 20_000  # objects up to which a round may cost their square
SAMPLED, SAMPLED_ROUNDS = 200, 10  # above: objects that stand for a cluster, and rounds
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
    if similarity.self_similarity is not None:
        return similarity.self_similarities(np.arange(similarity.n))
    return np.full(similarity.n, similarity.largest())


class _Table:
    """S as a table: for any similarity, one product with it for each cluster and round."""

    def __init__(
        self, similarity: Similarity, labels: Ints, n_clusters: int, outside: NDArray[np.bool_] | None
    ) -> None:
        self.similarity, self.n_clusters = similarity, n_clusters
        self.outside = outside
        # where a round would ask for every similarity of many objects, some of each cluster stand for it
        quick = similarity.is_sparse or isinstance(similarity, LowRank | Path)
        self.sampled = similarity.n > EVERYBODY and not quick
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
            size = members.size
            if self.sampled and size > SAMPLED:
                members = members[np.linspace(0, size - 1, SAMPLED).astype(np.int64)]
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
        """How well each object fits where it is."""
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
        if self.outside is not None:
            best[self.outside] = -1
        while (gone := np.setdiff1d(labels[inside], best)).size:  # one that is sent home may leave another
            for k in gone:
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


class _Sums:
    r"""The same for dense features of low rank, from d + 3 numbers a cluster.

    With :math:`m_k` the sum of a cluster's rows, :math:`n_k` their number and :math:`\beta_k` the sum of
    their biases, :math:`S_{ik} = c\,u_i \cdot m_k + n_k (b_i + m) + \beta_k`; so a round is one compiled pass
    that places the objects and sums their new clusters, and nothing of size n × K is made.
    """

    def __init__(
        self, similarity: LowRank, labels: Ints, n_clusters: int, outside: NDArray[np.bool_] | None
    ) -> None:
        self.similarity, self.n_clusters = similarity, n_clusters
        rows = similarity.rows
        self._scale = _NOTHING if rows.scale is None else rows.scale
        # b = -|u|² where there is one: the lengths are there already, and a sign costs no array
        self._lengths = similarity.square_norms if similarity.kind == "sqeuclidean" else _NOTHING
        self._outside = np.empty(0, dtype=bool) if outside is None else outside
        self._center = np.zeros(rows.d) if rows.pending is None else rows.pending
        self._next: tuple[Ints, Floats] | None = None
        self._fit = np.empty(similarity.n)
        self.count(labels)

    def count(self, labels: Ints) -> None:
        """The sums of a partition; those that ``best`` has made on the way are not made again."""
        self.labels = labels
        if self._next is not None and self._next[0] is labels:
            self._read(self._next[1])
            return
        d, rows = self.similarity.rows.d, self.similarity.rows
        sums = np.zeros((self.n_clusters, d + 3))
        for k in range(self.n_clusters):
            members = np.flatnonzero(labels == k)
            share = self._scale[members] if self._scale.size else np.ones(members.size)
            sums[k, :d] = rows.plain_mix(members, share)
            sums[k, d], sums[k, d + 2] = share.sum(), members.size
            sums[k, d + 1] = self._lengths[members].sum() if self._lengths.size else 0.0
        self._read(sums)

    def _read(self, sums: Floats) -> None:
        d, similarity = self.similarity.rows.d, self.similarity
        mixed = sums[:, :d] - np.multiply.outer(sums[:, d], self._center)
        leans, sizes, offset = -sums[:, d + 1], sums[:, d + 2], similarity.offset or 0.0
        square = np.einsum("kf,kf->k", mixed, mixed)
        self.W = similarity.factor * square + offset * sizes**2 + 2.0 * sizes * leans
        roots = np.sqrt(np.maximum(self.W, 1e-300))
        V = similarity.factor * mixed / roots[:, None]
        self._V = np.column_stack([V, V @ self._center])
        self._slopes, self._constants = sizes / roots, (offset * sizes + leans) / roots

    @property
    def objective(self) -> float:
        return float(np.sqrt(np.maximum(self.W, 0.0)).sum())

    def best(self) -> Ints:
        """The best cluster of every object, as in the table; notes the sums of what it finds."""
        labels, rows, K = self.labels, self.similarity.rows, self.n_clusters
        best = np.empty_like(labels)

        def work(part: slice) -> Floats:
            sums = np.zeros((K, rows.d + 3))
            _rows.place(
                rows.plain[part], self._V, self._constants, -self._slopes, self._scale[part],
                self._lengths[part], labels[part], self._outside[part], best[part], self._fit[part], sums,
            )  # fmt: skip
            return sums

        sums = np.sum(
            parallel_map(work, thread_slices(labels.size, max(1, 8 * GRAIN // (rows.d * K)))), axis=0
        )
        self._next = best, sums
        while (empty := np.setdiff1d(labels[labels >= 0], best)).size:  # no cluster loses its last one
            for k in empty:
                mine = np.flatnonzero(labels == k)
                fits = rows.take(mine) @ self._V[k, :-1]
                if self._lengths.size:
                    fits -= self._slopes[k] * self._lengths[mine]
                best[mine[np.argmax(fits)]] = k
            self._next = None
        return best

    def fit_here(self) -> Floats:
        """How well each object fits where it is: known from the last round, which moved nothing."""
        self.best()
        return self._fit


def refine(
    similarity: Similarity,
    labels: Ints,
    n_clusters: int,
    *,
    outside: NDArray[np.bool_] | None = None,
    rounds: int = ROUNDS,
    monitor: Monitor | None = None,
) -> Refined:
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
    outside : ndarray of bool, optional
        Objects that take no part and keep the label -1.
    rounds : int, default=200
        Rounds after which it is given up.
    monitor : Monitor, optional
        Whose time limit ends it between two rounds.

    Returns
    -------
    Refined
        Labels, how well each object fits, and the objective of every round.
    """
    outside = outside if outside is not None and outside.any() else None
    state: Any
    if similarity.on_device and similarity.offset is not None:
        from dominantsets.labels.device_refinement import DeviceSums  # imports torch

        state = DeviceSums(similarity, labels.copy(), n_clusters, outside)  # type: ignore[arg-type]
    elif isinstance(similarity, LowRank) and not similarity.rows.sparse:
        state = _Sums(similarity, labels.copy(), n_clusters, outside)
    else:
        state = _Table(similarity, labels.copy(), n_clusters, outside)
        rounds = min(rounds, SAMPLED_ROUNDS) if state.sampled else rounds
    state.count(state.best())  # objects in no cluster have to go somewhere first
    objective = [state.objective]
    for _ in range(rounds):
        best, before = state.best(), state.labels
        if np.array_equal(best, before) or (monitor is not None and monitor.out_of_time()):
            break
        state.count(best)
        # Only where s is not positive semidefinite can a round lose, or gain nothing and cycle. Of low rank
        # it may gain nothing by rounding alone, and then that is the end.
        if state.objective <= objective[-1] * (1.0 + 1e-15):
            lost = state.objective < objective[-1] * (1.0 - 1e-12)
            moves = lost or isinstance(state, _Table)
            if not moves:
                state.count(before)
                break
            state = _Table(similarity, before, n_clusters, outside)
            if not state.single_moves():
                break
        objective.append(state.objective)
    else:
        if rounds == ROUNDS:
            warn(f"refinement was stopped after {ROUNDS} rounds; the objective had not settled.")
    return Refined(state.labels, state.fit_here(), state.W, objective)
