r"""The groups of a graph, every one at its own shift.

The shift at which a group of a graph shows is its own affair. A group of m nodes with p of its edges is a
dominant set of :math:`x^T (A - \alpha I) x` between the second and the first eigenvalue of its part of A,
about :math:`2\sqrt{mp}` and :math:`mp`: four nodes that are all linked live below 3, fifty nodes with half of
their edges about 10 to 25. So dominant sets of the whole graph are followed up a ladder of shifts, each from
where it stood; where no set holds a node, one is started at its neighbours.

**Evidence.** In a random graph with the same degrees k two nodes are linked with probability
:math:`k_i k_j / 2E`. A set of m nodes with v edge ends has p of its M = m (m - 1) / 2 pairs linked on average;
at least a share q of them is linked with a probability of at most :math:`e^{-M\,\mathrm{KL}(q, p)}`, and with
weights dealt out at random they sum to at least w with one of at most
:math:`e^{-\sup_t (t w - M \log(1 + p (\mathbb{E} e^{t a} - 1)))}` (Chernoff). There are at most

.. math:: N(m, v) = \min\Bigl\{\tbinom{n}{m},\; \inf_{s \ge 0} \tfrac{1}{m!} e^{s v} Z(s)^m\Bigr\},
   \qquad Z(s) = \sum_i e^{-s k_i},

sets of m nodes with no more edge ends. The product bounds the number of sets of this kind that structureless
graphs are expected to have, over all sets, so that searching for the best ones is paid for; its logarithm is
the evidence. Groups count up to the largest number j for which the j-th best evidence is at most
log(j / 20): at most one in twenty is false. A graph without structure has none.

**Nested sets.** The evidence is also the number of nats by which a group shortens the description of the
graph. A set is preferred to sets inside it unless these, which may not overlap, save more nats together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled.graph import ascend
from dominantsets.similarity import Similarity
from dominantsets.solvers import DominantSet, Monitor, Point, SolverOptions, make_problem
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.problem import Outcome
from dominantsets.solvers.result import HALTING

RATIO = 2.0**0.5  # from one shift of the ladder to the next
LOWEST = 0.5, 0.1  # the first shift: of this quantile of the nodes' largest weights, where sets are cliques
STRONGEST = 32  # edges of a node that a set is started at
SAME = 0.7  # of the union of two sets that both hold, for a group that has stayed the same
FALSE = 0.05  # share of the groups that may be false
SMALLEST = 3  # nodes of a group that counts by itself: an edge is no group
HELD = 0.5  # of a set that others hold, above which it is not one more group
INSIDE = 0.8  # of a set that lies in a larger one, for it to be a part of that
ROWS = 4_096  # rows of a product that are made at a time
TOL, MAX_ITER = 1e-5, 20_000  # of sets that are followed: rough
FINE = SolverOptions(cutoff=2e-12)


@dataclass(frozen=True, eq=False)
class GraphGroup:
    """A group of a graph, at its own shift.

    Attributes
    ----------
    core : DominantSet
        The dominant set of the whole graph at ``core.shift``, certified.
    shift_from, shift_to : float
        The lowest and the highest shift looked at between which it stays the same: at least 0.7 of the
        union of both sets lies in both.
    strength : float
        log(shift_to / shift_from).
    evidence : float
        The logarithm of the number of such sets that structureless graphs are expected to have.
    significant : bool
        Whether it counts by itself; False for a group that fills up the number asked for.
    parent : int
        The number of the smallest group of the list that holds it, -1 for none.
    """

    core: DominantSet
    shift_from: float
    shift_to: float
    strength: float
    evidence: float
    significant: bool
    parent: int = -1

    @property
    def members(self) -> Ints:
        """The nodes."""
        return self.core.members

    @property
    def weights(self) -> Floats:
        """Their degrees of membership."""
        return self.core.weights

    @property
    def shift(self) -> float:
        """The shift at which it is taken."""
        return self.core.shift


class _Set:
    """A dominant set on one rung of the ladder, and the sets on the next rungs that it comes from and goes to."""

    __slots__ = ("above", "below", "members", "shift", "weights")

    def __init__(self, x: Point, shift: float, below: _Set | None) -> None:
        self.members, self.weights = x
        self.shift, self.below, self.above = shift, below, None
        self.above: _Set | None


class _Ladder:
    """Dominant sets of the whole graph at rising shifts."""

    def __init__(self, similarity: Similarity, A: sp.csr_array, monitor: Monitor) -> None:
        self._similarity, self._A, self._monitor = similarity, A, monitor
        self._room = np.zeros(A.shape[0]), np.zeros(A.shape[0]), np.zeros(A.shape[0], dtype=bool)
        self._near = np.empty(A.shape[0], dtype=np.int64)
        self._strong = _strongest(A)
        self._reach = _reach(A, self._strong)
        self.halted = False

    def climb(self) -> list[_Set]:
        """All sets of all rungs, the lowest first."""
        A, found = self._A, list[_Set]()
        largest = np.maximum.reduceat(A.data, A.indptr[:-1][np.diff(A.indptr) > 0])
        share, quantile = LOWEST
        shift, rung = share * float(np.quantile(largest, quantile)), list[_Set]()
        while (rung or shift < float(self._reach.max())) and not self.halted:
            rung = self._rung(shift, rung)
            found += rung
            shift *= RATIO
        return found

    def _rung(self, shift: float, lower: list[_Set]) -> list[_Set]:
        """The sets at a shift: those of the rung below, followed; then starts at nodes that none holds."""
        sets: dict[bytes, _Set] = {}
        free = np.ones(self._reach.size, dtype=bool)

        def solve(x: Point, below: _Set | None) -> None:
            members, weights = self._ascend(x, shift)
            if members.size == 0:
                return
            key = members.tobytes()
            if key not in sets:
                sets[key] = _Set(Point(members, weights), shift, below)
                free[members] = False
            if below is not None:
                below.above = sets[key]

        for old in lower:
            solve(Point(old.members, old.weights), old)
        able = np.flatnonzero(free & (self._reach > shift))
        for i in able[np.argsort(-self._reach[able], kind="stable")].tolist():
            if free[i]:
                solve(_about(self._strong, i), None)
                free[i] = False
        return list(sets.values())

    def _ascend(self, x: Point, shift: float) -> Any:
        A = self._A
        return ascend(A.indptr, A.indices, A.data, shift, *x, *self._room, self._near, TOL, MAX_ITER)


def _strongest(A: sp.csr_array) -> sp.csr_array:
    """The graph with no more than the 32 strongest edges of every node."""
    sizes = np.diff(A.indptr)
    if sizes.max() <= STRONGEST:
        return A
    rows = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((-A.data, rows))
    rank = np.arange(order.size) - A.indptr[rows]
    keep = np.sort(order[rank < STRONGEST])
    indptr = np.concatenate([[0], np.cumsum(np.minimum(sizes, STRONGEST))])
    return sp.csr_array((A.data[keep], A.indices[keep], indptr), shape=A.shape)


def _about(strong: sp.csr_array, i: int) -> Point:
    """The start at node i: half of the mass there, the other half on its neighbours by weight."""
    edges = slice(strong.indptr[i], strong.indptr[i + 1])
    ends, data = strong.indices[edges].astype(np.int64), strong.data[edges].astype(np.float64)
    at = int(np.searchsorted(ends, i))
    return Point(np.insert(ends, at, i), np.insert(0.5 * data / data.sum(), at, 0.5))


def _reach(A: sp.csr_array, strong: sp.csr_array) -> Floats:
    """The shift up to which the start at a node has a positive value: x'Ax / |x|²; 0 without an edge."""
    sums = np.asarray(strong.sum(axis=1), dtype=np.float64)
    squares = np.asarray(strong.power(2).sum(axis=1), dtype=np.float64)
    triangles = np.zeros(sums.size)
    for begin in range(0, sums.size, ROWS):
        part = strong[begin : begin + ROWS]
        triangles[begin : begin + ROWS] = np.asarray((part @ A).multiply(part).sum(axis=1)).ravel()
    linked = sums > 0.0
    sums = np.where(linked, sums, 1.0)
    value = 0.5 * squares / sums + 0.25 * triangles / sums**2
    return np.where(linked, value / (0.25 + 0.25 * squares / sums**2), 0.0)


class _Null:
    """Random graphs with the same degrees, and with the same weights dealt out at random."""

    def __init__(self, A: sp.csr_array) -> None:
        self._A = A
        self._degrees = np.diff(A.indptr).astype(np.float64)
        self._ends = float(self._degrees.sum())
        self._inside = np.zeros(A.shape[0], dtype=bool)
        counts, places = np.unique(self._degrees, return_counts=True)[::-1], np.geomspace(1e-3, 8.0, 60)
        self._s = np.concatenate([[0.0], places])
        self._log_z = np.array([_log_sum(counts[0], -s * counts[1]) for s in self._s])
        weights = np.sort(A.data.astype(np.float64))
        self._flat = bool(weights[0] >= 0.999 * weights[-1])
        some = weights[np.linspace(0, weights.size - 1, min(512, weights.size)).astype(np.int64)]
        # beyond e^500 the moments overflow; such t are of use for sums of the largest weights only
        self._t = np.geomspace(1e-3, 500.0, 80) / weights[-1]
        self._moments = np.expm1(np.outer(self._t, some)).mean(axis=1)

    def evidence(self, members: Ints) -> float:
        """The logarithm of the expected number of sets like this one, at most."""
        n, m = self._A.shape[0], members.size
        k = self._degrees[members]
        ends, pairs = float(k.sum()), m * (m - 1) / 2.0
        linked = min(1.0, (ends**2 - float(k @ k)) / (2.0 * self._ends * pairs)) if m > 1 else 0.0
        if linked <= 0.0:
            return 0.0
        count, total = self._within(members)
        rarity = pairs * _divergence(count / pairs, linked)
        if not self._flat:  # two tests instead of one
            tilted = self._t * total - pairs * np.log1p(linked * self._moments)
            rarity = max(rarity, float(tilted.max())) - np.log(2.0)
        sets = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)
        few = float((self._s * ends + m * self._log_z).min()) - gammaln(m + 1) + np.log(2.0 + np.log(ends))
        # sizes 2, 3, ... and classes of ends share one budget: the terms m (m - 1) and log(ends)
        return float(min(sets, few) + np.log(m * (m - 1.0)) - max(0.0, rarity))

    def _within(self, members: Ints) -> tuple[float, float]:
        """The number of edges inside a set, and the sum of their weights."""
        rows = self._A[members]
        self._inside[members] = True
        hit = self._inside[rows.indices]
        self._inside[members] = False
        return np.count_nonzero(hit) / 2.0, float(rows.data[hit].sum(dtype=np.float64)) / 2.0


def _log_sum(counts: Ints, logs: Floats) -> float:
    top = float(logs.max())
    return top + float(np.log(counts @ np.exp(logs - top)))


def _divergence(q: float, p: float) -> float:
    """KL of a share q from p < q, 0 for a smaller share."""
    if q <= p:
        return 0.0
    return q * np.log(q / p) + ((1.0 - q) * np.log((1.0 - q) / (1.0 - p)) if q < 1.0 else 0.0)


class _Choice:
    """Which of many sets, that overlap and hold one another, are the groups."""

    def __init__(self, sets: list[_Set], evidence: Floats, n: int) -> None:
        order = np.argsort(evidence, kind="stable")  # the best first: a number is a rank
        self.sets, self.evidence = [sets[k] for k in order], evidence[order]
        self.sizes = np.array([s.members.size for s in self.sets])
        held = np.concatenate([s.members for s in self.sets])
        indptr = np.concatenate([[0], np.cumsum(self.sizes)])
        ones = np.ones(held.size, dtype=np.int32)
        self._holders = sp.csr_array((ones, held, indptr), shape=(len(sets), n)).T.tocsr()
        self._taken = np.zeros(n, dtype=bool)

    def family(self) -> list[int]:
        """Groups by falling evidence, none of them held by better ones for more than half."""
        self._taken[:] = False
        return self._pick(np.flatnonzero(self.sizes >= SMALLEST))

    def fill(self, family: list[int], wanted: int) -> list[int]:
        """More groups: the best of the other sets, then parts in the place of groups that lose least."""
        self._take(family)
        others = [k for k in range(len(self.sets)) if self.sizes[k] > 1 and k not in set(family)]
        for k in others:
            if len(family) < wanted and self._is_free(k):
                family = [*family, k]
                self._taken[self.sets[k].members] = True
        while len(family) < wanted:
            splits = [(self.evidence[parts].sum() - self.evidence[k], k, parts)
                      for k in family if 1 < len(parts := self._parts(k)) <= wanted - len(family) + 1]
            if not splits:
                break
            _, k, parts = min(splits, key=lambda s: s[:2])
            family = [*(g for g in family if g != k), *parts]
        return family

    def reduce(self, family: list[int], wanted: int) -> list[int]:
        """Fewer groups: a larger set in the place of its parts, or the weakest left out, as loses least."""
        while len(family) > wanted:
            weakest = max(family, key=lambda k: self.evidence[k])
            best = (-float(self.evidence[weakest]), -1, [weakest])
            for k, parts in self._unions(family).items():
                if 1 < len(parts) <= len(family) - wanted + 1:
                    loss = float(self.evidence[k] - self.evidence[parts].sum()) / (len(parts) - 1)
                    best = min(best, (loss, k, parts), key=lambda b: b[0])
            _, union, gone = best
            family = [k for k in family if k not in gone] + [union] * (union >= 0)
        return family

    def _pick(self, candidates: Ints) -> list[int]:
        """The best sets first, each or the parts of it that save more; what is taken stays marked."""
        chosen: list[int] = []
        for k in candidates.tolist():
            if not self._is_free(k):
                continue
            before = self._taken.copy()
            parts = self._pick(self._inner(k, candidates))
            if not parts or self.evidence[parts].sum() >= self.evidence[k]:
                self._taken[:] = before
                parts = [k]
                self._taken[self.sets[k].members] = True
            chosen += parts
        return chosen

    def _inner(self, k: int, candidates: Ints) -> Ints:
        """Sets that lie in set k, are smaller by more than a hair, and save nats."""
        shared = np.bincount(self._holders[self.sets[k].members].indices, minlength=self.sizes.size)
        inner = (shared >= INSIDE * self.sizes) & (self.sizes < INSIDE * self.sizes[k]) & (self.evidence < 0.0)
        return candidates[inner[candidates]]

    def _parts(self, k: int) -> list[int]:
        self._taken[:] = False
        return self._pick(self._inner(k, np.arange(self.sizes.size)))

    def _unions(self, family: list[int]) -> dict[int, list[int]]:
        """For each larger set, the groups of the family that lie in it."""
        unions: dict[int, list[int]] = {}
        for g in family:
            shared = np.bincount(self._holders[self.sets[g].members].indices, minlength=self.sizes.size)
            for k in np.flatnonzero((shared >= INSIDE * self.sizes[g]) & (self.sizes > self.sizes[g])).tolist():
                unions.setdefault(k, []).append(g)
        return unions

    def _is_free(self, k: int) -> bool:
        return float(self._taken[self.sets[k].members].mean()) <= HELD

    def _take(self, family: list[int]) -> None:
        self._taken[:] = False
        for k in family:
            self._taken[self.sets[k].members] = True


def graph_groups(
    similarity: Any, degrees: Floats, n_clusters: int | None, monitor: Monitor
) -> list[GraphGroup]:
    """The groups of a graph, each a dominant set of the whole graph at its own shift."""
    A = similarity.matrix
    null = _Null(A)
    sets = _distinct(_Ladder(similarity, A, monitor).climb())
    choice = _Choice(sets, np.array([null.evidence(s.members) for s in sets]), similarity.n)
    family = choice.family()
    alone = _significant(choice.evidence[family])
    chosen = [k for k in family if choice.evidence[k] <= alone]
    real = set(chosen)
    if n_clusters is not None:
        chosen = choice.fill(chosen, n_clusters) if len(chosen) < n_clusters else choice.reduce(chosen, n_clusters)
    groups = []
    for k in chosen:
        groups.append(_group(similarity, choice.sets[k], float(choice.evidence[k]), k in real, monitor))
    return groups


def _significant(evidence: Floats) -> float:
    ranked = np.sort(evidence)
    passed = np.flatnonzero(ranked <= np.log(FALSE * np.arange(1, ranked.size + 1)))
    return float(ranked[passed[-1]]) if passed.size else -np.inf


def _distinct(sets: list[_Set]) -> list[_Set]:
    alike: dict[bytes, list[_Set]] = {}
    for s in sets:
        alike.setdefault(s.members.tobytes(), []).append(s)
    return [same[len(same) // 2] for same in alike.values()]


def _jaccard(a: Ints, b: Ints) -> float:
    shared = np.intersect1d(a, b, assume_unique=True).size
    return shared / (a.size + b.size - shared)


def _group(similarity: Any, found: _Set, evidence: float, significant: bool, monitor: Monitor) -> GraphGroup:
    low = high = found
    while low.below is not None and _jaccard(low.below.members, found.members) >= SAME:
        low = low.below
    while high.above is not None and _jaccard(high.above.members, found.members) >= SAME:
        high = high.above
    problem = make_problem(similarity, found.shift)
    options = FINE.chosen_for(similarity, found.shift)
    core = problem.solve_from(Point(found.members, found.weights), options, monitor)
    keep = core.weights > options.cutoff
    if not keep.all():
        core = certify(problem, Outcome(Point(core.members[keep], core.weights[keep]), core.n_iter, core.status), options)
    return GraphGroup(core, low.shift, high.shift, float(np.log(high.shift / low.shift)), evidence, significant)


def graph_labels(similarity: Any, groups: list[GraphGroup]) -> Ints:
    labels, best = np.full(similarity.n, -1, dtype=np.int64), np.zeros(similarity.n)
    for k, group in enumerate(groups):
        objects, payoffs = similarity.sparse_gradient(group.members, group.weights)
        fits = payoffs / group.core.threshold
        better = objects[fits > best[objects]]
        best[objects] = np.maximum(best[objects], fits)
        labels[better] = k
    return labels
