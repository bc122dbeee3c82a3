r"""Correlation clustering and the shifted min cut, by local search that ends with a certificate.

Similarities s of both signs, made from a by a shift: :math:`s_{ij} = a_{ij} - c_i - c_j`. A partition is
worth what it puts together,

.. math:: R = \sum_k \sum_{i < j \in C_k} s_{ij}.

With :math:`c_i = \theta / 2` its maximum is the least cut plus :math:`\theta \sum_k |C_k|(|C_k| - 1)/2`: the
shifted min cut (Haghir Chehreghani 2017, 2023). "adaptive" centres rows and columns off the diagonal, so that
:math:`\sum_{j \ne i} s_{ij} = 0` for every object: no object is drawn to a cluster for its size alone. It is
our reconstruction of their adaptive shift, of which the abstract was read.

As a maximum of :math:`\mathrm{tr}(X^T S X)` over a product of simplices (a row of X is an object's shares of
the clusters) block-coordinate Frank-Wolfe is local search (Thiel, Haghir Chehreghani and Dubhashi 2019):
object i goes to the cluster with the largest :math:`\sum_{j \in C_k, j \ne i} s_{ij}`, and by itself where
all of them are negative. R rises with every move, so it ends, where **no single move gains**. That is
recomputed from the labels alone, and is the certificate.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from dominantsets._checks import check_int, check_real, require_memory
from dominantsets._typing import Floats, Ints
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.solvers import Monitor

ALONE = -1
ROUNDS = 50  # of all objects at once, before single moves
ROUNDING = 1e-11  # gains below this share of the largest sum are none


@dataclass(frozen=True, eq=False)
class Correlation:
    """A partition that no single move makes better.

    Attributes
    ----------
    labels : ndarray of int
        The cluster of each object; -1 for those by themselves, where they have no number of their own.
    value : float
        R, the sum of the shifted similarities within clusters.
    gain : float
        The certificate: what the best single move would add to R, recomputed from the labels. At most 0, up
        to rounding, unless the search was stopped; -inf where there is no other place.
    values : list of float
        R after every round or sweep.
    n_moves : int
        Moves of single objects.
    levels : ndarray of float
        The c of every object.
    """

    labels: Ints = field(repr=False)
    value: float
    gain: float
    values: list[float] = field(repr=False)
    n_moves: int
    levels: Floats = field(repr=False)


def shift_levels(degrees: Floats, shift: float | str) -> Floats:
    """The c of every object, from row sums: half of the shift, or such that rows add up to 0."""
    n = degrees.size
    if shift != "adaptive":
        return np.full(n, 0.5 * check_real("shift", shift))
    if n < 3:
        return np.full(n, 0.5 * float(degrees.mean()) if n == 2 else 0.0)
    half = float(degrees.sum()) / (2 * (n - 1))
    return np.asarray((degrees - half) / (n - 2))


class _Search:
    """The sums of every object with every cluster, kept up to date as objects move."""

    def __init__(self, similarity: Similarity, levels: Floats, labels: Ints, n_clusters: int) -> None:
        self.similarity, self.c = similarity, levels
        self.n_moves = 0
        self.count(labels, n_clusters)

    def count(self, labels: Ints, n_clusters: int) -> None:
        """The sums of a partition: one product with the similarity for each cluster."""
        self.labels, self.n_clusters = labels.copy(), n_clusters
        n = labels.size
        self.P = np.zeros((n, max(1, n_clusters)))
        self.sizes, self.Q = np.zeros(self.P.shape[1]), np.zeros(self.P.shape[1])
        self.homes = np.full(self.P.shape[1], -1)
        for k in range(n_clusters):
            members = np.flatnonzero(labels == k)
            if members.size:
                self.P[:, k] = self.similarity.gradient(members, np.ones(members.size))
                self.sizes[k], self.Q[k] = members.size, self.c[members].sum()
                if self.similarity.components is not None:
                    self.homes[k] = self.similarity.components[members[0]]
        self.rounding = ROUNDING * max(float(np.abs(self.P).max()), float(np.abs(self.c).max()), 1e-300)

    def sums(self, rows: Any = slice(None)) -> Floats:
        """What each cluster is to these objects, themselves left out."""
        labels, c, K = self.labels[rows], self.c[rows], self.n_clusters
        out: Floats = self.P[rows, :K] - np.multiply.outer(c, self.sizes[:K]) - self.Q[:K]
        inside = np.flatnonzero(labels >= 0)
        out[inside, labels[inside]] += 2.0 * c[inside]
        if self.similarity.components is not None:  # nothing leads from one component to another
            home = self.similarity.components[rows]
            out[(self.homes[:K] >= 0) & (self.homes[:K] != home[:, None])] = -np.inf
        return out

    def here(self, sums: Floats, labels: Ints) -> Floats:
        """What objects have where they are: 0 by themselves."""
        safe = np.maximum(labels, 0)
        return np.where(labels >= 0, sums[np.arange(len(sums)), safe], 0.0)

    @property
    def value(self) -> float:
        return 0.5 * float(self.here(self.sums(), self.labels).sum()) if self.n_clusters else 0.0

    def gains(self, may_leave: bool) -> Floats:
        """What the best move of each object would gain; negative where it would lose."""
        n = self.labels.size
        if not self.n_clusters:
            return np.full(n, -np.inf)
        sums, inside = self.sums(), np.flatnonzero(self.labels >= 0)
        here = self.here(sums, self.labels)
        alone = np.ones(n, dtype=bool)
        alone[inside] = self.sizes[self.labels[inside]] == 1
        sums[inside, self.labels[inside]] = -np.inf
        sums[np.ix_(alone, self.sizes[: self.n_clusters] == 0)] = -np.inf  # nobody there either: no move
        leaving = np.where(alone | (not may_leave), -np.inf, 0.0)
        return np.asarray(np.maximum(sums.max(axis=1), leaving) - here)

    def at_once(self, may_leave: bool) -> bool:
        """Every object to its best cluster, if that is worth more; else nothing changes."""
        sums, before, value = self.sums(), self.labels, self.value
        best = sums.argmax(axis=1)
        top = sums[np.arange(len(sums)), best]
        stay = (top <= self.here(sums, before) + self.rounding) & ((before >= 0) | may_leave)
        wanted = np.where(stay, before, best)
        if may_leave:
            wanted = np.where(np.maximum(top, self.here(sums, before)) < -self.rounding, ALONE, wanted)
        if np.array_equal(wanted, before):
            return False
        forced = not may_leave and bool((before < 0).any())  # whoever has to go somewhere
        self.count(wanted, self.n_clusters)
        if not forced and self.value <= value + self.rounding:
            self.count(before, self.n_clusters)
            return False
        return True

    def move(self, i: int, target: int) -> None:
        """One object into another cluster, or by itself."""
        column, c = self.similarity.column(i), float(self.c[i])
        for k, sign in ((int(self.labels[i]), -1.0), (target, 1.0)):
            if k >= 0:
                self.P[:, k] += sign * column
                self.sizes[k] += sign
                self.Q[k] += sign * c
        if target >= 0 and self.similarity.components is not None:
            self.homes[target] = self.similarity.components[i]
        self.labels[i] = target
        self.n_moves += 1

    def opened(self) -> int:
        """An empty cluster: one that was left, or a new one."""
        empty = np.flatnonzero(self.sizes[: self.n_clusters] == 0)
        if empty.size:
            return int(empty[0])
        if self.n_clusters == self.P.shape[1]:
            room = min(self.labels.size, 2 * self.n_clusters) - self.n_clusters
            self.P = np.hstack([self.P, np.zeros((self.labels.size, room))])
            self.sizes, self.Q = np.append(self.sizes, np.zeros(room)), np.append(self.Q, np.zeros(room))
            self.homes = np.append(self.homes, np.full(room, -1))
        self.n_clusters += 1
        return self.n_clusters - 1

    def visit(self, i: int, may_leave: bool, limit: int) -> bool:
        """Object i to its best place, if it gains there; up to ``limit`` clusters may be opened."""
        own = int(self.labels[i])
        used = int(np.count_nonzero(self.sizes))
        sums = self.sums(np.array([i]))[0] if self.n_clusters else np.empty(0)
        best = int(sums.argmax()) if sums.size else ALONE
        top = float(sums[best]) if sums.size else -np.inf
        here = float(sums[own]) if own >= 0 else (0.0 if may_leave else -np.inf)
        single = own >= 0 and self.sizes[own] == 1
        may_open = used < limit and not single
        if (may_leave or may_open) and top < -self.rounding and here < -self.rounding:
            self.move(i, self.opened() if may_open else ALONE)
        elif sums.size and best != own and top > here + self.rounding:
            self.move(i, best)
        else:
            return False
        return True


def improve(
    similarity: Similarity,
    levels: Floats,
    labels: Ints,
    n_clusters: int,
    *,
    may_leave: bool = True,
    limit: int = 0,
    order: Ints | None = None,
    monitor: Monitor | None = None,
) -> Correlation:
    """Local search from a partition, until no single move gains.

    Parameters
    ----------
    similarity : Similarity
        Of any kind.
    levels : ndarray of float
        The c of every object.
    labels : ndarray of int
        Where to begin; -1 for objects in no cluster.
    n_clusters : int
        How many clusters the labels have.
    may_leave : bool, default=True
        Whether objects may be by themselves (-1).
    limit : int, default=0
        Clusters up to which new ones may be opened by objects that fit nowhere.
    order : ndarray of int, optional
        The order in which objects that are in no cluster come, one after another; all at once where it is
        left out.
    monitor : Monitor, optional
        Its time limit ends it, with what has been reached.

    Returns
    -------
    Correlation
        The partition, and what a single move would still gain.
    """
    search, monitor = _Search(similarity, levels, labels, n_clusters), monitor or Monitor()
    values = []
    if order is None:
        for _ in range(ROUNDS):
            values.append(search.value)
            if monitor.out_of_time() or not search.at_once(may_leave):
                break
    else:
        for i in order:
            search.visit(int(i), may_leave, limit)
    values.append(search.value)
    while not monitor.out_of_time():
        wanting = np.flatnonzero(search.gains(may_leave or limit > 0) > search.rounding)
        moved = [i for i in wanting if search.visit(int(i), may_leave, limit)]
        if not moved:
            break
        values.append(search.value)
    certain = _Search(similarity, levels, search.labels, search.n_clusters)
    can_open = may_leave or int(np.count_nonzero(certain.sizes)) < limit
    gain = float(certain.gains(can_open).max(initial=-np.inf))
    return Correlation(search.labels, certain.value, gain, values, search.n_moves, levels)


def correlation_clusters(
    S: Any,
    n_clusters: int | None = None,
    *,
    shift: float | str = "adaptive",
    start: Any = None,
    n_init: int = 10,
    random_state: Any = 0,
    max_time: float | None = None,
) -> Correlation:
    r"""Correlation clustering: the partition with the largest sum of shifted similarities, by local search.

    :math:`\sum_k \sum_{i<j \in C_k} (a_{ij} - c_i - c_j)`, which is also the shifted min cut, see
    :mod:`dominantsets.studies.correlation`. Objects come one after another, each to the cluster that it gains
    most from, or to a new one; then single objects move until none gains. The number of clusters falls out.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A precomputed similarity, or what :func:`as_similarity` returned.
    n_clusters : int, optional
        The largest number of clusters.
    shift : float or "adaptive", default="adaptive"
        What a similarity must exceed to speak for being together; "adaptive" centres rows and columns.
    start : array of int of shape (n,), optional
        Labels to begin with, such as ``core_labels_`` of :class:`DominantSets`; -1 for objects in no cluster.
        Objects then move between these clusters, and one that would lose in each of them is by itself (-1).
        It takes the place of ``n_clusters`` and ``n_init``.
    n_init : int, default=10
        Orders in which objects come, of which the best partition is taken; the first is that of the data.
    random_state : int, RandomState or None, default=0
        For the other orders.
    max_time : float, optional
        Seconds after which it stops, with what it has reached.

    Returns
    -------
    Correlation
        Labels, the value, and the certificate ``gain``: what the best single move would add.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import correlation_clusters
    >>> A = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    >>> found = correlation_clusters(A, shift=0.5)
    >>> found.labels, found.value, found.gain <= 0
    (array([0, 0, 0, 1, 1, 1]), 3.0, True)
    """
    similarity = as_similarity(S)
    n = similarity.n
    if start is not None:
        labels, levels = _checked_labels(start, n), shift_levels(similarity.degrees(), shift)
        return improve(similarity, levels, labels, int(labels.max()) + 1, monitor=Monitor(max_time))
    limit = n if n_clusters is None else check_int("n_clusters", n_clusters, at_least=1)
    check_int("n_init", n_init, at_least=1)
    require_memory(8 * n * min(limit, n), f"sums of {n:,} objects with as many clusters", "tell n_clusters")
    levels = shift_levels(similarity.degrees(), shift)
    rng, monitor = check_random_state(random_state), Monitor(max_time)
    nobody, best = np.full(n, ALONE, dtype=np.int64), None
    for attempt in range(n_init):
        order = np.arange(n) if attempt == 0 else rng.permutation(n)
        found = improve(
            similarity, levels, nobody, 0, may_leave=False, limit=limit, order=order, monitor=monitor
        )
        if best is None or found.value > best.value:
            best = found
        if monitor.out_of_time():
            break
    assert best is not None
    _, first, which = np.unique(best.labels, return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first))  # clusters by their first object
    return replace(best, labels=numbers[which].astype(np.int64))


def _checked_labels(start: Any, n: int) -> Ints:
    """Labels to begin with: whole numbers from -1, and one that is not -1."""
    labels = np.array(start)
    if labels.shape != (n,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"start must hold a whole number for each of {n} objects, got {start!r}.")
    if labels.min() < ALONE or labels.max() == ALONE or labels.max() >= n:
        raise ValueError(f"start must hold labels from -1 to {n - 1}, and a cluster among them.")
    return labels.astype(np.int64)
