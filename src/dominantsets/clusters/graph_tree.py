r"""The groups of a graph, every one at its own shift.

The shift at which a group of a graph shows is its own affair. A group of m nodes with a share p of its edges
is a dominant set of :math:`x^T (A - \alpha I) x` between the second and the first eigenvalue of its part of
A, about :math:`2\sqrt{mp}` and :math:`mp`: four nodes that are all linked live below 3, fifty nodes with half
of their edges about 10 to 25. So dominant sets of the whole graph are followed up a ladder of shifts, each
from where it stood, and where no set holds a node one is started at its neighbours.

Which of all these sets are groups is decided by their evidence, the logarithm of the number of such sets that
structureless graphs are expected to have (:mod:`dominantsets.clusters.graph_null`). The best set comes first,
then the best one of which no more than half is held by better ones, and so on, as long as no more than one in
twenty is expected to be false: a graph without structure has no groups. A set gives way to sets inside it
where these, which may not overlap either, save more nats together, or where two of them or more stand out
among its own nodes and edges: then it is no structureless group itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.balls import SAME
from dominantsets.clusters.evidence import least_significant
from dominantsets.clusters.graph_ladder import FollowedSet, Ladder, distinct
from dominantsets.clusters.graph_null import Null
from dominantsets.similarity.graph import Graph
from dominantsets.solvers import DominantSet, Monitor, Point, SolverOptions, Status, make_problem
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.problem import Outcome

FALSE = 0.05  # false discovery rate: at that of points (0.02) groups of ten nodes are missed
SMALLEST = 3  # nodes of a group that counts by itself: an edge is none
INSIDE = 0.8  # of a set that lies in a larger one, for it to be a part of that


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
        The logarithm of the number of such sets that structureless graphs are expected to have.
    significant : bool
        Whether it counts by itself, and not only to make up the number asked for.
    parent : int
        The place of the smallest larger group in the list that holds it; -1 for none.
    """

    core: DominantSet
    shift_from: float
    shift_to: float
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

    @property
    def strength(self) -> float:
        """The logarithm of the range of shifts over which it stays the same."""
        return float(np.log(self.shift_to / self.shift_from))


def graph_groups(similarity: Graph, n_clusters: int | None, monitor: Monitor) -> list[GraphGroup]:
    r"""The groups of a graph, each a dominant set of the whole graph at its own shift.

    Parameters
    ----------
    similarity : Graph
        The graph.
    n_clusters : int, optional
        How many groups. Those that count by themselves come first; more of them are made up by the best
        other sets and by splitting, fewer by joining and leaving out, as loses least evidence.
        Without it, the groups that count; one that holds most of the graph where none does, or nobody.
    monitor : Monitor
        Its time limit and callback end the search; what has been found by then is used.

    Returns
    -------
    list of GraphGroup
        By falling evidence. Fewer than asked for only where the graph has no more sets.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from dominantsets import as_similarity
    >>> from dominantsets.clusters.graph_tree import graph_groups
    >>> from dominantsets.solvers import Monitor
    >>> A = np.zeros((17, 17))
    >>> A[:6, :6] = A[6:, 6:] = 1.0
    >>> A[0, 6] = A[6, 0] = 1.0
    >>> S = as_similarity(sp.csr_array(A - np.eye(17)))
    >>> groups = graph_groups(S, None, Monitor())
    >>> [len(group.members) for group in groups]
    [6, 11]
    """
    A = _edges(similarity)
    null = Null(A)
    sets = distinct(Ladder(A, monitor).climb())
    choice = _Choice(A, sets, np.array([null.evidence(s.members) for s in sets]))
    family = choice.family()
    level = least_significant(choice.evidence[family], FALSE)
    chosen = [k for k in family if choice.evidence[k] <= level]
    if n_clusters is None:
        chosen = chosen or choice.most_of_it()
    elif len(chosen) < n_clusters:
        chosen = choice.more(chosen, n_clusters)
    else:
        chosen = choice.fewer(chosen, n_clusters)
    groups: dict[bytes, GraphGroup] = {}
    for k in chosen:
        if groups and monitor.out_of_time():
            break
        core = _certified(similarity, choice.sets[k], monitor)
        evidence = null.evidence(core.members)
        low, high = choice.sets[k].range()
        groups.setdefault(
            core.members.tobytes(), GraphGroup(core, low, high, evidence, significant=evidence <= level)
        )
    found = sorted(groups.values(), key=lambda group: group.evidence)
    if n_clusters is None and not all(group.significant for group in found):
        found = [group for group in found if group.significant or _is_whole(group, similarity.n)]
    return _nested(found, similarity.n)


class _Choice:
    """Which of many sets, that overlap and hold one another, are the groups; numbered by evidence."""

    def __init__(self, A: Any, sets: list[FollowedSet], evidence: Floats) -> None:
        order = np.argsort(evidence, kind="stable")
        self._A, self.sets, self.evidence = A, [sets[k] for k in order], evidence[order]
        self._sizes = np.array([s.members.size for s in self.sets])
        self._holders = _holders([s.members for s in self.sets], A.shape[0])
        self._taken = np.zeros(A.shape[0], dtype=bool)

    def family(self) -> list[int]:
        """Groups, the best first, of which no more than half is held by better ones."""
        return self._pick(np.flatnonzero(self._sizes >= SMALLEST))

    def most_of_it(self) -> list[int]:
        """The best set with more than half of the nodes, where there is one."""
        return [int(k) for k in np.flatnonzero(2 * self._sizes > self._A.shape[0])[:1]]

    def more(self, family: list[int], wanted: int) -> list[int]:
        """More groups: the best of the other sets, then parts in the place of the groups that lose least."""
        self._taken[:] = False
        self._take(family)
        for k in np.flatnonzero(self._sizes > 1).tolist():
            if len(family) < wanted and k not in family and self._is_free(k):
                family = [*family, k]
                self._take([k])
        while len(family) < wanted:
            parts = {k: self._parts(k)[: wanted - len(family) + 1] for k in family}
            able = [k for k in family if len(parts[k]) > 1]
            if not able:
                break
            split = min(able, key=lambda k: float(self.evidence[parts[k]].sum() - self.evidence[k]))
            family = [*(k for k in family if k != split), *parts[split]]
        return family

    def fewer(self, family: list[int], wanted: int) -> list[int]:
        """Fewer groups: a larger set in the place of its parts, or one left out, as loses least evidence."""
        homes = {k: self._homes(k) for k in family}
        while len(family) > wanted:
            places = np.concatenate([homes[k] for k in family])
            owners = np.repeat(family, [homes[k].size for k in family])
            parts = np.bincount(places, minlength=self._sizes.size)
            loss = self.evidence - np.bincount(places, self.evidence[owners], self._sizes.size)
            able = (parts > 1) & (parts <= len(family) - wanted + 1)
            loss = np.where(able, loss / np.maximum(1, parts - 1), np.inf)
            union, weakest = int(loss.argmin()), max(family)
            if loss[union] < -self.evidence[weakest]:
                gone = set(owners[places == union].tolist())
                family = [*(k for k in family if k not in gone), union]
                homes[union] = self._homes(union)
            else:
                family = [k for k in family if k != weakest]
        return family

    def _pick(self, candidates: Ints) -> list[int]:
        """The best sets first, each of them or parts of it; what is taken stays marked."""
        chosen: list[int] = []
        for k in candidates.tolist():
            if self._is_free(k):
                before = self._taken.copy()
                parts = self._instead(k, self._pick(candidates[self._within(k)[candidates]]))
                self._taken = before
                self._take(parts)
                chosen += parts
        return chosen

    def _instead(self, k: int, parts: list[int]) -> list[int]:
        """What stands for set k: the parts, if they save more, those that stand out in it, or itself."""
        if parts and self.evidence[parts].sum() < self.evidence[k]:
            return parts
        if len(parts) > 1:
            members = self.sets[k].members
            null = Null(self._A[members][:, members])
            here = [np.flatnonzero(np.isin(members, self.sets[j].members)) for j in parts]
            out = [j for j, nodes in zip(parts, here, strict=True) if null.evidence(nodes) <= np.log(FALSE)]
            if len(out) > 1:
                return out
        return [k]

    def _shared(self, k: int) -> Ints:
        """How many nodes each set has in common with set k."""
        return np.bincount(self._holders[self.sets[k].members].indices, minlength=self._sizes.size)

    def _within(self, k: int) -> Any:
        """Which sets lie in set k, are smaller by more than a hair, and save nats."""
        smaller = (self._sizes < INSIDE * self._sizes[k]) & (self.evidence < 0.0)
        return smaller & (self._shared(k) >= INSIDE * self._sizes)

    def _homes(self, k: int) -> Ints:
        """The larger sets that set k lies in."""
        return np.flatnonzero((self._sizes > self._sizes[k]) & (self._shared(k) >= INSIDE * self._sizes[k]))

    def _parts(self, k: int) -> list[int]:
        self._taken[:] = False
        inner = (self._sizes < INSIDE * self._sizes[k]) & (self._sizes > 1)
        return self._pick(np.flatnonzero(inner & (self._shared(k) >= INSIDE * self._sizes)))

    def _is_free(self, k: int) -> bool:
        return float(self._taken[self.sets[k].members].mean()) <= SAME

    def _take(self, family: list[int]) -> None:
        for k in family:
            self._taken[self.sets[k].members] = True


def _is_whole(group: GraphGroup, n: int) -> bool:
    """Whether a group is most of the graph, proved to be a dominant set."""
    return 2 * group.members.size > n and group.core.status is Status.CONVERGED


def _edges(similarity: Graph) -> Any:
    """The matrix without stored zeros, which are no edges."""
    A = similarity.matrix
    if not A.data.all():
        A = A.copy()  # what the user gave stays as it is
        A.eliminate_zeros()
    return A


def _certified(similarity: Graph, found: FollowedSet, monitor: Monitor) -> DominantSet:
    """A set that was followed roughly, solved to the end on the whole graph."""
    problem = make_problem(similarity, found.shift)
    options = SolverOptions(cutoff=2e-12).chosen_for(similarity, found.shift)
    core = problem.solve_from(Point(found.members, found.weights), options, monitor)
    keep = core.weights > options.cutoff
    if keep.all():
        return core
    x = Point(core.members[keep], core.weights[keep])
    return certify(problem, Outcome(x, core.n_iter, core.status), options)


def _nested(groups: list[GraphGroup], n: int) -> list[GraphGroup]:
    """The groups with their parents."""
    holders = _holders([group.members for group in groups], n)
    sizes = np.array([group.members.size for group in groups])
    for k, group in enumerate(groups):
        shared = np.bincount(holders[group.members].indices, minlength=sizes.size)
        homes = np.flatnonzero((shared >= INSIDE * sizes[k]) & (sizes > sizes[k]))
        if homes.size:
            groups[k] = replace(group, parent=int(homes[sizes[homes].argmin()]))
    return groups


def _holders(sets: list[Ints], n: int) -> Any:
    """A table with a row for each of n nodes: the sets that hold it."""
    indptr = np.concatenate([[0], np.cumsum([members.size for members in sets])])
    nodes = np.concatenate([*sets, np.empty(0, dtype=np.int64)])
    return sp.csr_array((np.ones(nodes.size), nodes, indptr), shape=(len(sets), n)).T.tocsr()
