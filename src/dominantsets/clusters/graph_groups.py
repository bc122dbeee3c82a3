r"""The groups of a graph: communities, and in each a dominant set of the whole graph at its own shift.

Communities are the division of the nodes that describes the edges in the fewest nats
(:mod:`dominantsets.clusters.graph_partition`). The core of a community is a local maximum of
:math:`x^T (A - \alpha I) x` over all nodes of the graph. With weights d as the inner degrees of its nodes a
community has a positive value at shifts below :math:`d^T A d / d^T d`, which is the mean inner degree where
all are alike. High shifts let nodes in that have few edges to the others, low ones leave the densest part. So
the shift falls in steps, each ascent begins at the community, and of the sets that lie in it the one that
saves most nats is the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Ints
from dominantsets.clusters.balls import SAME
from dominantsets.clusters.graph_partition import FALSE, Communities
from dominantsets.compiled.graph import ascend, within
from dominantsets.similarity.graph import Graph
from dominantsets.solvers import DominantSet, Monitor, Point, SolverOptions, Status, make_problem
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.problem import Outcome

RATIO = 2.0**-0.25  # from one shift of a community to the next
SHIFTS = 16  # shifts that are tried, down to a sixteenth of the mean inner degree
INSIDE = 0.8  # of a core, that lies in the community that it stands for
MOST = 0.5  # of a core, where none lies in the community as far as that
STARTS = 32  # nodes at which a core is looked for, where the community as a whole leads elsewhere
TOL, WORK, LARGE = 1e-4, 200_000, 100  # relative gap; nodes looked at for a set, as often as it has 100 nodes


@dataclass(frozen=True, eq=False)
class GraphGroup:
    """A group of a graph, at its own shift.

    Attributes
    ----------
    core : DominantSet
        The dominant set of the whole graph, with its certificate.
    shift_from, shift_to : float
        The lowest and the highest shift looked at between which it stays the same: both sets hold at least
        0.7 of their union.
    evidence : float
        The logarithm of the chance that a graph without structure has such a group: the nats that are saved
        by naming it, negative.
    significant : bool
        Whether it counts by itself, and not only to make up the number asked for.
    """

    core: DominantSet
    shift_from: float
    shift_to: float
    evidence: float
    significant: bool

    @property
    def members(self) -> Ints:
        """The nodes."""
        return self.core.members

    @property
    def weights(self) -> Any:
        """Their degrees of membership."""
        return self.core.weights

    @property
    def shift(self) -> float:
        """The shift at which it is taken."""
        return self.core.shift

    @property
    def strength(self) -> float:
        """The logarithm of the range of shifts over which it stays the same."""
        return float(np.log(self.shift_to / self.shift_from))


def graph_groups(
    similarity: Graph, n_clusters: int | None, monitor: Monitor, has_rest: bool = True
) -> tuple[list[GraphGroup], Ints]:
    r"""The groups of a graph, each a dominant set of the whole graph at its own shift, and all nodes of each.

    Parameters
    ----------
    similarity : Graph
        The graph.
    n_clusters : int, optional
        How many groups. Without it, the groups that count; one that holds most of the graph where none does,
        or none.
    monitor : Monitor
        Its time limit and callback end the search; what has been found by then is used.
    has_rest : bool, default=True
        Whether nodes may be in no group. The search then begins again from the dense parts of groups.

    Returns
    -------
    groups : list of GraphGroup
        By falling evidence. Fewer than asked for only where the graph has no more.
    labels : ndarray of int
        The group of each node; -1 for none.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from dominantsets import as_similarity
    >>> from dominantsets.clusters.graph_groups import graph_groups
    >>> from dominantsets.solvers import Monitor
    >>> A = np.zeros((17, 17))
    >>> A[:6, :6] = A[6:, 6:] = 1.0
    >>> A[0, 6] = A[6, 0] = 1.0
    >>> S = as_similarity(sp.csr_array(A - np.eye(17)))
    >>> groups, labels = graph_groups(S, None, Monitor())
    >>> [len(group.members) for group in groups], np.bincount(labels)
    ([11, 6], array([11,  6]))
    """
    A = similarity.matrix
    if not A.data.all():
        A = A.copy()  # what the user gave stays as it is
        A.eliminate_zeros()
    linked = np.flatnonzero(np.diff(A.indptr))
    few = A if linked.size == A.shape[0] else A[linked][:, linked]
    search = Communities(few, monitor)
    cores = _Cores(similarity, A, search, MOST if n_clusters is None else 0.0, monitor)
    places = np.full(A.shape[0], -1)
    places[linked] = np.arange(linked.size)
    dense = (lambda nodes: places[cores.dense(linked[nodes])]) if has_rest else None
    found = search.find(n_clusters, dense)
    evidence = -search.evidence(found.labels)
    labels = np.full(A.shape[0], -1, dtype=np.int64)
    labels[linked] = found.labels
    nodes = np.argsort(labels, kind="stable")
    begin = np.searchsorted(labels[nodes], np.arange(evidence.size + 1))
    groups, old = list[GraphGroup](), list[int]()
    for k in np.argsort(evidence, kind="stable").tolist():
        significant = bool(evidence[k] <= np.log(FALSE))
        if (groups and monitor.out_of_time()) or (n_clusters is None and not significant):
            break  # those that follow are no more significant
        core = cores.of(nodes[begin[k] : begin[k + 1]])
        if core is not None:
            groups.append(GraphGroup(*core, evidence[k], significant))
            old.append(k)
    if n_clusters is None and not groups:
        groups = cores.most(linked)
    elif n_clusters is not None and len(groups) < n_clusters:
        groups += cores.others(linked, n_clusters - len(groups))
    names = np.full(evidence.size + 1, -1, dtype=np.int64)
    names[old] = np.arange(len(old))
    return groups, names[labels]


class _Cores:
    """Dominant sets of the whole graph, about communities."""

    def __init__(
        self, similarity: Graph, A: Any, search: Communities, least: float, monitor: Monitor
    ) -> None:
        self._similarity, self._A, self._search, self._monitor = similarity, A, search, monitor
        self._least, n = least, A.shape[0]
        self._room = np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool), np.empty(n, dtype=np.int64)
        self._inside = np.zeros(n, dtype=bool)
        self._taken = set[bytes]()
        self._known = dict[bytes, tuple[list[_Tried], int]]()
        self._ends = np.bincount(np.repeat(np.arange(n), np.diff(A.indptr)), search.counts, n)

    def of(self, nodes: Ints) -> tuple[DominantSet, float, float] | None:
        """The core of a community, with the shifts between which it stays the same; None where it has none.

        Most of a core lies in the community, unless the number of groups is given.
        """
        tried, best = self._tried(nodes)
        if best < 0 and tried:
            tried += self._about_nodes(nodes, tried[-1].shift)
            best = len(tried) - 1
        if best < 0 or tried[best].share <= self._least or not self._is_free(tried[best].x):
            return None
        core = self._certified(tried[best])
        if core.members.tobytes() in self._taken:
            return None
        self._taken.add(core.members.tobytes())
        low = high = best
        while low + 1 < len(tried) and _alike(tried[low + 1].x.support, tried[best].x.support):
            low += 1
        while high > 0 and _alike(tried[high - 1].x.support, tried[best].x.support):
            high -= 1
        return core, tried[low].shift, tried[high].shift

    def dense(self, nodes: Ints) -> Ints:
        """Those of the nodes of a community that its core holds; all where it has none."""
        tried, best = self._tried(nodes)
        return nodes if best < 0 else np.intersect1d(tried[best].x.support, nodes, assume_unique=True)

    def _tried(self, nodes: Ints) -> tuple[list[_Tried], int]:
        """Sets at falling shifts, and which of those in the community saves most nats; -1 for none."""
        key = nodes.tobytes()
        if key in self._known and all(self._is_free(one.x) for one in self._known[key][0]):
            return self._known[key]
        tried = list[_Tried]()
        best, high, worse = -1, -np.inf, 0
        begin, shifts = self._begin(nodes)
        for shift in shifts:
            x = self._climb(begin, shift)
            inner = np.intersect1d(x.support, nodes, assume_unique=True).size
            share = inner / max(1, x.support.size)
            tried.append(_Tried(x, shift, share))
            value = self._nats(x.support) if share >= INSIDE and self._is_free(x) else -np.inf
            if value > high:
                best, high, worse = len(tried) - 1, value, 0
            else:
                worse += best >= 0
            if worse == 2 or self._monitor.out_of_time():
                break
        self._known[key] = tried, best
        return tried, best

    def most(self, nodes: Ints) -> list[GraphGroup]:
        """One dominant set with more than half of the nodes, where there is one that is proved."""
        begin, shifts = self._begin(nodes)
        for shift in shifts:
            x = self._climb(begin, shift)
            if 2 * x.support.size <= self._similarity.n:
                break
            core = self._certified(_Tried(x, shift, 1.0))
            if 2 * len(core) > self._similarity.n and core.status is Status.CONVERGED:
                return [GraphGroup(core, shift, shift, 0.0, False)]
        return []

    def others(self, nodes: Ints, wanted: int) -> list[GraphGroup]:
        """Further sets, which make up a number: from the neighbors of each node, at half the least weight."""
        found, A, shift = list[GraphGroup](), self._A, 0.5 * float(self._A.data.min())
        for i in nodes[np.argsort(-self._ends[nodes], kind="stable")].tolist():
            if len(found) == wanted or self._monitor.out_of_time():
                break
            x = self._climb(_even(np.append(i, A.indices[A.indptr[i] : A.indptr[i + 1]])), shift)
            if self._is_free(x):
                core = self._certified(_Tried(x, shift, 0.0))
                if core.members.tobytes() not in self._taken:
                    self._taken |= {core.members.tobytes(), x.support.tobytes()}
                    found.append(GraphGroup(core, shift, shift, -self._nats(core.members), False))
        return found

    def _begin(self, nodes: Ints) -> tuple[Point, Any]:
        """A community with inner degrees as weights, and falling shifts, from where its value is positive."""
        inner = self._A[nodes][:, nodes]
        degrees = np.asarray(inner.sum(axis=1), dtype=np.float64).ravel()
        some = np.flatnonzero(degrees)
        if not some.size:
            return Point(nodes[:0], degrees[:0]), []
        degrees /= degrees.sum()
        top = float(degrees @ (inner @ degrees)) / float(degrees @ degrees)
        x = Point(nodes[some], degrees[some])
        return x, top * RATIO ** np.arange(1, SHIFTS + 1)

    def _within(self, nodes: Ints, data: Any) -> float:
        return within(self._A.indptr, self._A.indices, data, nodes, self._inside)

    def _about_nodes(self, nodes: Ints, shift: float) -> list[_Tried]:
        """Sets that begin at a node and its neighbors in the community; the last one lies most in it."""
        inner, found = self._A[nodes][:, nodes], list[_Tried]()
        for i in np.argsort(-inner.sum(axis=1), kind="stable")[:STARTS].tolist():
            near = inner.indices[inner.indptr[i] : inner.indptr[i + 1]]
            x = self._climb(_even(nodes[np.append(i, near)]), shift)
            share = np.intersect1d(x.support, nodes).size / max(1, x.support.size)
            if self._is_free(x):
                found.append(_Tried(x, shift, share))
            if found and found[-1].share > MOST:
                break
        return sorted(found, key=lambda one: one.share)

    def _is_free(self, x: Point) -> bool:
        """Whether it is a set, and that of no other community."""
        return x.support.size > 1 and x.support.tobytes() not in self._taken

    def _climb(self, begin: Point, shift: float) -> Point:
        """Where a point leads to, at a shift."""
        A, work = self._A, WORK * (1 + begin.support.size // LARGE)
        return Point(*ascend(A.indptr, A.indices, A.data, shift, *begin, *self._room, TOL, work)[:2])

    def _nats(self, nodes: Ints) -> float:
        """Nats that are saved if only these nodes are named as a group."""
        edges = self._within(nodes, self._search.counts)
        return self._search.of_one(edges, float(self._ends[nodes].sum()), nodes.size)

    def _certified(self, found: _Tried) -> DominantSet:
        """A set that was climbed to roughly, solved to the end on the whole graph."""
        problem = make_problem(self._similarity, found.shift)
        options = SolverOptions(cutoff=2e-12).chosen_for(self._similarity, found.shift)
        core = problem.solve_from(found.x, options, self._monitor)
        keep = core.weights > options.cutoff
        if keep.all():
            return core
        x = Point(core.members[keep], core.weights[keep])
        return certify(problem, Outcome(x, core.n_iter, core.status), options)


class _Tried(NamedTuple):
    """A set at a shift, and the share of it that lies in its community."""

    x: Point
    shift: float
    share: float


def _even(nodes: Ints) -> Point:
    return Point(nodes, np.full(nodes.size, 1.0 / nodes.size))


def _alike(a: Ints, b: Ints) -> bool:
    shared = np.intersect1d(a, b, assume_unique=True).size
    return bool(shared >= SAME * (a.size + b.size - shared))
