r"""Communities of a graph: the division of its nodes that describes its edges in the fewest nats.

Without structure, each of the E edges joins nodes i and j with a probability proportional to
:math:`k_i k_j`, the product of their degrees. With K groups, an edge is first dealt to a group or to the
rest. In a group it joins two nodes in proportion to their degrees; in the rest, two nodes that share no
group, in proportion to the edge ends that lead out of groups: all those of nodes in no group, and of the
others the share c that they have together. Group k has :math:`E_k` edges, :math:`n_k` nodes and the share
:math:`v_k` of all edge ends; :math:`E_0` edges are in no group, m of the ends of the groups lead out, and
:math:`n_0` nodes are in none. The second description is shorter by

.. math:: \sum_k E_k \log\frac{1}{v_k^2} + m \log c + E_0 \log\frac{E^2}{E_0^2 - c^2 E^2 \sum_k v_k^2}
          - \log\frac{E!}{E_0! \prod_k E_k!} - \sum_k \log(1 + \min\{P_k, E v_k\})
          - \log\frac{n!}{n_0! \prod_k n_k!} - \log\binom{n}{K} + \log K! - \log (K + 1)(K + 2)

nats: the likelihood ratio, less the nats that name the number of edges in each group, at most
:math:`P_k = n_k (n_k - 1) / 2` and half of its edge ends, and the nodes of the groups, which have no order.
Two terms are added. The degrees are known, so both probabilities are divided by that of the degrees: with
:math:`D(x) = \log(x!\,e^x / x^x)` this adds
:math:`D(2E) - D(2 E_0) - \sum_k \{D(2 E v_k) - D(2 E v_k - 2 E_k)\}`. And a
pair has one edge at most, so that many edges in few pairs surprise more than a Poisson number would: with
:math:`q = E_k / P_k` and the expected share p, this adds
:math:`P_k \{(1 - q) \log\frac{1 - q}{1 - p} + q - p\}` for each group.

Probabilities add up to 1, so that a graph without structure saves s nats with a probability of about
:math:`e^{-s}` at most (Markov's inequality), however the division was searched for. No constant is tuned. An
edge of weight w counts as :math:`\min\{1, w \sum w / \sum w^2\}` edges: together they are their effective
number, and as none counts as more than one, sums of weights are no more surprising than numbers of edges.

The search maximizes modularity at resolutions 1, 4, 16, ... until one of them saves less, and then around the
best one: nodes move one at a time, and groups of moved nodes are the nodes of the next level (Blondel et
al., 2008), taken apart first where that gains (Traag et al., 2019). The best divisions are then moved by
their nats. Order decides between equal gains, and nothing is drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln, xlogy

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.communities import Goal, Groups, Level, move, tally, weigh
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.solvers import Monitor

FALSE = 0.05  # largest probability with which a graph without structure has a group
SMALLEST = 3  # nodes of a group that counts by itself: an edge is none
STEP = 4.0  # from one resolution of modularity to the next, until one saves less
FINER = (2.0, 0.5, 2.0**0.5, 2.0**-0.5)  # of the best resolution, tried after that
MOVED = 3  # divisions, of those that save most, that are moved by their nats
LARGEST = 100  # groups of which it is looked at how they fall apart, to make up a number
EDGES = 2_000_000  # edges that compiled code looks at before Python looks at the clock, about 50 ms


@dataclass(eq=False)
class Division:
    """Nodes in groups, or in none.

    Attributes
    ----------
    labels : ndarray of int
        Group of each node, -1 for none.
    nats : float
        How much shorter the description with the groups is.
    """

    labels: Ints
    nats: float


@dataclass(eq=False)
class Communities:
    """A search for communities.

    Parameters
    ----------
    A : CSR matrix
        The graph, symmetric, with at least an edge.
    monitor : Monitor
        Its time limit and callback end the search; what has been found by then is used.
    """

    A: Any
    monitor: Monitor
    _looks: list[int] = field(default_factory=list)
    _halted: bool = False
    _level: Level = field(init=False)
    _total: float = field(init=False)
    _factorials: Floats = field(init=False)

    def __post_init__(self) -> None:
        data = self.A.data.astype(np.float64) / float(self.A.data.max())
        data = np.minimum(data * (data.sum() / np.square(data).sum()), 1.0)
        n = self.A.shape[0]
        ends = np.asarray(sp.csr_array((data, self.A.indices, self.A.indptr), shape=self.A.shape).sum(axis=1))
        self._level = Level(
            self.A.indptr.astype(np.int64),
            self.A.indices.astype(np.int32),  # half the memory that moves read
            data,
            np.zeros(n),
            ends.ravel(),
            np.ones(n, dtype=np.int64),
        )
        self._total = 0.5 * float(data.sum())
        self._factorials = gammaln(np.arange(n + 1) + 1.0)

    def find(self, n_clusters: int | None, dense: Callable[[Ints], Ints] | None = None) -> Division:
        """The division that saves most nats, with so many groups if their number is given.

        ``dense`` returns those of the nodes of a group that are its dense part: where it is given, and the
        number is not, the search begins again from there as long as that saves more.

        Examples
        --------
        >>> import numpy as np
        >>> import scipy.sparse as sp
        >>> from dominantsets.clusters.graph_partition import Communities
        >>> from dominantsets.solvers import Monitor
        >>> A = sp.block_diag([np.ones((8, 8)) - np.eye(8)] * 3, format="csr")
        >>> Communities(A, Monitor()).find(None).labels
        array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2,
               2, 2])
        """
        found, best, resolution = dict[float, Division](), 1.0, 1.0
        alone = np.arange(self.A.shape[0])
        while resolution <= STEP * best and not self._halted:
            both = [resolution, STEP * resolution]
            found |= zip(both, self._all_moved([(alone, one) for one in both]), strict=True)
            best, resolution = max(found, key=lambda one: found[one].nats), STEP**2 * resolution
        if not self._halted:
            finer = [best * factor for factor in FINER]
            found |= zip(finer, self._all_moved([(alone, one) for one in finer]), strict=True)
        divisions = sorted(found.values(), key=lambda one: -one.nats)[: None if n_clusters else MOVED]
        divisions = self._all_moved([(one.labels, 0.0) for one in divisions])
        if n_clusters is not None:
            return self._of_number(divisions, n_clusters)
        division = self._that_count(max(divisions, key=lambda one: one.nats))
        while dense is not None and not self._halted:
            trimmed = self._trimmed(division.labels, dense)
            if trimmed.nats <= division.nats:
                break
            division = trimmed
        return division

    def _trimmed(self, labels: Ints, dense: Callable[[Ints], Ints]) -> Division:
        """Where the dense parts of groups lead to, if all other nodes begin as one group."""
        count = _count(labels)
        begin = np.full(labels.size, count)
        for k, nodes in enumerate(_nodes(labels)):
            begin[dense(nodes)] = k
        return self._that_count(self._moved(np.unique(begin, return_inverse=True)[1].astype(np.int64), 0.0))

    def _all_moved(self, starts: list[tuple[Ints, float]]) -> list[Division]:
        """Where several divisions lead to, each with its resolution, on as many threads as there may be."""
        parts = thread_slices(len(starts), 1)
        moved = parallel_map(lambda part: [self._moved(*start) for start in starts[part]], parts)
        self._halted = self.monitor.report(0, 0.0, 0.0, self.A.shape[0]) is not None
        return [division for several in moved for division in several]

    def _moved(self, labels: Ints, resolution: float) -> Division:
        """Where moves of nodes, and of groups of them, lead from a division of all nodes."""
        level, place = self._level, np.arange(labels.size)
        while True:
            labels = self._move(level, labels, np.zeros(labels.size, dtype=np.int64), resolution)
            parts = self._move(level, np.arange(labels.size), labels, resolution)
            count = int(parts.max()) + 1
            if count == labels.size or self._halted:
                return Division(labels[place], self.nats(labels[place]))
            level, place = _merged(level, parts), parts[place]
            coarse = np.empty(count, dtype=np.int64)
            coarse[parts] = labels
            labels = coarse

    def _move(self, level: Level, labels: Ints, within: Ints, resolution: float, fixed: bool = False) -> Ints:
        """Labels, 0, 1, ..., after all moves that gain."""
        n = labels.size
        labels, edges, tied = labels.copy(), np.zeros(n), np.zeros(n)
        tally(level, labels, edges)
        ends: Floats = np.bincount(labels, level.ends, n).astype(np.float64)
        sizes = np.bincount(labels, level.sizes, n).astype(np.int64)
        empty = np.flatnonzero(sizes == 0)[::-1]
        state = np.array([0, n, n - empty.size, empty.size, 0, 0])
        room = np.empty(n + 1, dtype=np.int64)
        room[: empty.size] = empty
        sums = np.array([edges.sum(), np.square(ends).sum()])
        waiting = np.arange(n), np.ones(n, dtype=bool)
        groups = Groups(labels, within, edges, ends, sizes, room, *waiting, state, sums, np.empty(n), tied)
        goal = Goal(resolution, self._total, self._factorials)
        weigh(groups, goal)
        while move(level, groups, goal, fixed, EDGES) and not self._halted:
            self._halted = self.monitor.out_of_time()
        self._looks.append(int(state[4]))
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)

    def nats(self, labels: Ints) -> float:
        """How much shorter the description with these groups is; -1 for nodes in none."""
        edges, ends, sizes = self._sums(labels)
        out = int((labels < 0).sum())
        rest = self._of_all(edges.sum(), np.square(ends).sum(), ends.sum(), edges.size, out)
        return float(rest) + float(_of_groups(edges, ends, sizes, self._total).sum())

    @property
    def passes(self) -> float:
        """How often the search has looked at each edge, in the mean."""
        return float(sum(self._looks) / (self.A.nnz + self.A.shape[0]))

    @property
    def counts(self) -> Floats:
        """What each stored entry of A counts as."""
        return self._level.data

    def of_one(self, edges: float, ends: float, size: int) -> float:
        """Nats saved by one group alone: its inner edges, edge ends and nodes."""
        rest = self._of_all(edges, ends**2, ends, 1, self.A.shape[0] - size)
        return float(rest) + float(_of_groups(edges, ends, size, self._total))

    def _of_all(self, inner: Any, squares: Any, bound: Any, count: Any, out: Any) -> Floats:
        """What groups add to the nats together.

        ``inner`` edges lie inside the groups, whose edge ends have this sum of ``squares`` and are ``bound``;
        there are ``count`` groups, and ``out`` nodes are in none.
        """
        total, n = self._total, self.A.shape[0]
        pairs, rest = 4.0 * total**2, np.maximum(total - inner, 0.0)
        leading = np.maximum(bound - 2.0 * inner, 0.0)
        share = np.minimum(leading / np.maximum(bound, 1e-300), 1.0)
        free = np.maximum(4.0 * np.square(rest) - np.square(share) * squares, 1e-12 * pairs)
        linked = rest * np.log(pairs / free) + xlogy(leading, share)
        shares = gammaln(rest + 1.0) - gammaln(total + 1.0)
        names = (
            gammaln(out + 1.0)
            + 2.0 * gammaln(count + 1.0)
            + gammaln(n - count + 1.0)
            - 2.0 * gammaln(n + 1.0)
        )
        degrees = _degrees(2.0 * total) - _degrees(2.0 * rest)
        return np.asarray(linked + shares + names + degrees - np.log((count + 1.0) * (count + 2.0)))

    def _sums(self, labels: Ints) -> tuple[Floats, Floats, Ints]:
        """Edges inside each group, edge ends of each, and its nodes."""
        count = _count(labels)
        named = np.where(labels < 0, count, labels)
        edges = np.zeros(count + 1)
        tally(self._level, named, edges)
        ends: Floats = np.bincount(named, self._level.ends, count + 1).astype(np.float64)
        return edges[:-1], ends[:-1], np.bincount(named, minlength=count + 1)[:-1].astype(np.int64)

    def evidence(self, labels: Ints) -> Floats:
        """Nats that the description grows by if a group is named no more: for each group, the others stay."""
        edges, ends, sizes = self._sums(labels)
        out, count = int((labels < 0).sum()), edges.size
        if count == 0:
            return edges
        inner, squares, bound = edges.sum(), np.square(ends).sum(), ends.sum()
        whole = self._of_all(inner, squares, bound, count, out) + _of_groups(edges, ends, sizes, self._total)
        rest = self._of_all(inner - edges, squares - np.square(ends), bound - ends, count - 1, out + sizes)
        return np.asarray(whole - rest, dtype=np.float64)

    def _that_count(self, found: Division) -> Division:
        """The groups that save nats; the others, weakest first, are none as long as that saves more.

        All together are to save log 20 nats, so that a graph without structure has one with a probability of
        no more than 0.05.
        """
        edges, ends, sizes = self._sums(found.labels)
        n, count = found.labels.size, edges.size
        rest = self._total - edges.sum() + edges  # edges outside all groups if a group is none
        gain = xlogy(edges, 4.0 * edges * rest / np.square(np.maximum(ends, 1e-300)))
        gain -= sizes * np.log(n / sizes)
        order = np.argsort(np.where(sizes < SMALLEST, -np.inf, gain), kind="stable")
        few = int((sizes < SMALLEST).sum())

        def left(values: Any) -> Floats:
            """Sums over the groups that are left when 0, 1, 2, ... have gone."""
            return np.asarray(values.sum() - np.concatenate([[0.0], np.cumsum(values[order])]))

        gone = np.concatenate([[0], np.cumsum(sizes[order])])
        kept = count - np.arange(count + 1)
        saved = self._of_all(left(edges), left(np.square(ends)), left(ends), kept, gone)
        saved = saved + left(_of_groups(edges, ends, sizes, self._total))
        first = few + int(saved[few:].argmax())
        if saved[first] < -np.log(FALSE):
            first = count
        names = np.full(count, -1, dtype=np.int64)
        names[np.sort(order[first:])] = np.arange(count - first)
        labels = names[found.labels]
        return Division(labels, self.nats(labels))

    def _of_number(self, divisions: list[Division], wanted: int) -> Division:
        """So many groups: pairs joined and groups left out, as costs least, of those with no fewer."""
        enough = [one for one in divisions if self._sets(one.labels) >= wanted]
        if not enough:
            return self._more(max(divisions, key=lambda one: one.nats), wanted)
        least = min(self._sets(one.labels) for one in enough)
        near = [one for one in enough if self._sets(one.labels) <= max(2 * wanted, least)]
        return max((self._fewer(one, wanted) for one in near), key=lambda one: one.nats)

    def _more(self, found: Division, wanted: int) -> Division:
        """Groups taken apart, one after another, as costs least; fewer than wanted where none can be."""
        labels, halves = found.labels.copy(), dict[int, tuple[float, Ints]]()
        while (count := _count(labels)) < wanted and not self._halted:
            before = self.nats(labels)
            for k in np.argsort(-np.bincount(labels), kind="stable")[: max(LARGEST, wanted)].tolist():
                if k not in halves:
                    second = self._second(np.flatnonzero(labels == k))
                    split = labels.copy()
                    split[second] = count
                    halves[k] = self.nats(split) - before if second.size else -np.inf, second
            best = max(halves, key=lambda k: halves[k][0])
            cost, second = halves.pop(best)
            if cost == -np.inf:
                break
            labels[second] = count
        return Division(labels, self.nats(labels))

    def _second(self, nodes: Ints) -> Ints:
        """The second of two groups that some nodes fall into; none where they do not."""
        A = self.A[nodes][:, nodes]
        if A.nnz:
            search, resolution = Communities(A, self.monitor), 1.0
            while resolution < 2.0 * A.nnz:
                found = search._moved(np.arange(nodes.size), resolution)
                if search._sets(found.labels) > 1:
                    return np.asarray(nodes[search._fewer(found, 2).labels != 0])
                resolution *= 2.0
        return nodes[:0]

    def _sets(self, labels: Ints) -> int:
        """The number of groups that have an edge."""
        return int((self._sums(labels)[0] > 0.0).sum())

    def _fewer(self, found: Division, wanted: int) -> Division:
        """Groups joined or left out, one after another, as costs least; then nodes move among them."""
        labels, out = found.labels, 0
        level = _merged(self._level, labels)
        while ((single := level.loops == 0.0).any() or single.size > wanted) and not self._halted:
            gain, a, b = self._joined(level, out)
            names = np.arange(single.size)
            if single.any():  # what has no edge inside joins the group that it fits best
                gain[~single[a]] = -np.inf
                order = np.lexsort((gain, a))
                last = order[np.searchsorted(a[order], np.flatnonzero(single), side="right") - 1]
                links = sp.coo_array((np.ones(last.size), (a[last], b[last])), shape=2 * single.shape)
                names = connected_components(links, directed=False)[1].astype(np.int64)
            else:
                gone = self._gone(level, out)
                if gain.max(initial=-np.inf) >= gone.max():
                    k = int(gain.argmax())
                    names[names == b[k]] = a[k]
                else:
                    k = int(gone.argmax())
                    names[k], out = -1, out + int(level.sizes[k])
                names = _renamed(names)
            level = _merged(level, names)
            labels = np.where(labels < 0, -1, names[labels])
        if out == 0:
            labels = self._move(self._level, labels, np.zeros_like(labels), 0.0, fixed=True)
        return Division(labels, self.nats(labels))

    def _joined(self, level: Level, out: int) -> tuple[Floats, Ints, Ints]:
        """The nats after two groups of a level are joined, for all pairs with an edge, but for a constant."""
        edges, ends, sizes, between = level.loops, level.ends, level.sizes, level.data
        a, b = np.repeat(np.arange(ends.size), np.diff(level.indptr)), level.indices.astype(np.int64)
        own = _of_groups(edges, ends, sizes, self._total)
        union = _of_groups(edges[a] + edges[b] + between, ends[a] + ends[b], sizes[a] + sizes[b], self._total)
        squares = np.square(ends).sum() + 2.0 * ends[a] * ends[b]
        rest = self._of_all(edges.sum() + between, squares, ends.sum(), ends.size - 1, out)
        return np.asarray(union - own[a] - own[b] + rest), a, b

    def _gone(self, level: Level, out: int) -> Floats:
        """The same after one is left out."""
        edges, ends, sizes = level.loops, level.ends, level.sizes
        squares = np.square(ends).sum() - np.square(ends)
        rest = self._of_all(edges.sum() - edges, squares, ends.sum() - ends, ends.size - 1, out + sizes)
        return np.asarray(rest - _of_groups(edges, ends, sizes, self._total))


def _count(labels: Ints) -> int:
    return int(labels.max(initial=-1)) + 1


def _nodes(labels: Ints) -> list[Ints]:
    """The nodes of each group."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(_count(labels) + 1)))[1:-1]


def _renamed(labels: Ints) -> Ints:
    """Groups as 0, 1, ..., with -1 for none."""
    names = np.unique(labels[labels >= 0])
    return np.where(labels < 0, -1, np.searchsorted(names, labels))


def _of_groups(edges: Any, ends: Any, sizes: Any, total: float) -> Floats:
    """What each group adds to the nats by itself."""
    linked = edges * np.log(4.0 * total**2 / np.square(np.maximum(ends, 1e-300)))
    known = np.log1p(np.minimum(0.5 * sizes * (sizes - 1.0), 0.5 * ends))
    out = np.maximum(ends - 2.0 * edges, 0.0)
    degrees = _degrees(ends) - _degrees(out)
    nodes = gammaln(sizes + 1.0)
    return np.asarray(
        gammaln(edges + 1.0) + linked + nodes - degrees - known + _once(edges, ends, sizes, total)
    )


def _once(edges: Any, ends: Any, sizes: Any, total: float) -> Floats:
    """What is saved because a pair has no more than one edge: see the formulas above."""
    pairs = 0.5 * sizes * (sizes - 1.0)
    q = np.minimum(edges / np.maximum(pairs, 1.0), 1.0)
    p = np.square(ends / np.maximum(sizes, 1.0)) / (2.0 * total)
    more = (pairs > 0.0) & (q > p)
    p = np.where(more, p, 0.0)
    return np.where(more, pairs * (xlogy(1.0 - q, (1.0 - q) / (1.0 - p)) + q - p), 0.0)


def _degrees(ends: Any) -> Floats:
    """Minus the logarithm of the probability that nodes have just their degrees, near log(2π ends) / 2."""
    return np.asarray(gammaln(ends + 1.0) - xlogy(ends, ends) + ends)


def _merged(level: Level, parts: Ints) -> Level:
    """The level whose nodes are the parts; nodes of part -1 are left out."""
    n, count = parts.size, int(parts.max()) + 1
    some = np.flatnonzero(parts >= 0)
    P = sp.csr_array((np.ones(some.size), (some, parts[some])), shape=(n, count))
    B = sp.coo_array(P.T @ sp.csr_array((level.data, level.indices, level.indptr), shape=(n, n)) @ P)
    apart = B.row != B.col
    parts = np.where(parts < 0, count, parts)
    loops, ends, sizes = (
        np.bincount(parts, values, count + 1)[:count].astype(np.float64)
        for values in (level.loops, level.ends, level.sizes)
    )
    np.add.at(loops, B.row[~apart], 0.5 * B.data[~apart])
    A = sp.csr_array((B.data[apart], (B.row[apart], B.col[apart])), shape=(count, count))
    return Level(
        A.indptr.astype(np.int64),
        A.indices.astype(np.int32),
        A.data,
        loops,
        ends,
        sizes.astype(np.int64),
    )
