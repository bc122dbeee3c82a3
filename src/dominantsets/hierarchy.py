r"""The hierarchy: groups over all shifts.

As the shift falls from :math:`(n - 2) \max(a)`, where all objects are one cluster (docs/theory-size.md),
clusters split; the tree of these splits is built from its leaves. At the lowest shift, and at each higher
one among the objects that no group covers, sets that stand alone
(:mod:`dominantsets.clusters.significance`) become groups. The dominant set of each group is then followed as
the shift rises, from where it stood: the solution moves continuously, so that this takes a few steps. Where
the sets of two groups come to lie on one another, the groups merge. Following a set upwards is unambiguous,
while on the way down a large set may stay between the clusters that it should split into. The idea of the
tree is that of Pavan and Pelillo (Dominant sets and hierarchical clustering, 2003).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from dominantsets._checks import check_int, check_real, warn
from dominantsets._input import is_given, set_tags, similarity_of
from dominantsets._typing import Floats, Ints
from dominantsets.clusters.minimum_size import guaranteed_shift
from dominantsets.clusters.peeling import PATIENCE, check_peeling
from dominantsets.clusters.shift import Scale, choose_shift
from dominantsets.clusters.significance import judge
from dominantsets.similarity import Similarity
from dominantsets.solvers import DominantSet, Monitor, Point, SolverOptions, Status, make_problem
from dominantsets.solvers.options import check_run
from dominantsets.solvers.result import HALTS, End

FINEST = 1e-4  # the lowest resolution by default, as a share of n (p - q): groups within groups
CLEAN = 0.5  # objects of other groups, for each of its own, that may gain by joining a new group
SAME = 0.5  # of the smaller of two sets that lies in the other, when their groups merge
_NOBODY = np.empty(0, dtype=np.int64)


@dataclass(eq=False)
class Group:
    """A node of the hierarchy.

    Attributes
    ----------
    objects : ndarray of int
        All objects of the group.
    core : DominantSet or None
        Its dominant set at the highest shift at which it is a group of its own; None where no set stands
        alone.
    birth, death : float
        The shifts at which it comes up, and at which it merges into a larger one.
    children : list of Group
        The groups that it was merged from; none for a leaf.
    """

    objects: Ints
    core: DominantSet | None
    birth: float
    death: float = np.inf
    children: list[Group] = field(default_factory=list)


class DominantSetHierarchy(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    r"""The tree of dominant sets over all shifts.

    At a shift :math:`\alpha` the groups are the dominant sets of :math:`x^T (A - \alpha I) x` that stand
    alone; as :math:`\alpha` falls they split, which makes a tree. Its height is the shift.

    Parameters
    ----------
    n_clusters : int, optional
        Where to cut the tree for ``labels_``; without it, at the automatic shift.
    affinity : str, callable or Similarity, default="sqeuclidean"
        How similarity comes from X, see :class:`DominantSets`.
    affinity_params : dict, optional
        Parameters of the affinity.
    n_levels : int, default=60
        Shifts at which the tree is looked at, evenly spaced on a logarithmic scale.
    min_shift : float, optional
        The lowest of them. Without it 0, or a fine resolution (:mod:`dominantsets.clusters.shift`) where that
        is lower: a constant in the similarity, such as M of M - D², can be so large that nothing splits at 0.
    min_cluster_size : int, default=5
        Smaller sets are no groups.
    tol : float, default=1e-8
        Relative gap at which a dominant set counts as converged.
    max_iter : int, default=100_000
        Largest number of iterations for one.
    max_time : float, optional
        Seconds after which the tree is left as it is.

    Attributes
    ----------
    root_ : Group
        The group of all objects.
    leaves_ : ndarray of shape (n,)
        The finest groups: the leaf of each object. One that no dominant set covered before its group merged
        is in the leaf with the nearest centre.
    n_leaves_ : int
        How many there are.
    linkage_ : ndarray of shape (n - 1, 4)
        The tree in SciPy's form, its heights the shifts at which groups merge, less the lowest one. Objects
        of one leaf merge at the shift at which it comes up.
    levels_ : ndarray of float
        The shifts looked at, falling.
    labels_ : ndarray of shape (n,)
        The cut that was asked for.
    n_solves_, n_iter_ : int
        Dominant sets solved for, and their iterations.
    similarity_ : Similarity
        The similarity.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import DominantSetHierarchy
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([c + rng.normal(size=(40, 2)) for c in ((0, 0), (8, 0), (40, 0))])
    >>> tree = DominantSetHierarchy(n_clusters=2).fit(X)
    >>> np.bincount(tree.labels_), np.bincount(tree.cut(3))
    (array([80, 40]), array([40, 40, 40]))
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        affinity: Any = "sqeuclidean",
        affinity_params: dict[str, Any] | None = None,
        n_levels: int = 60,
        min_shift: float | None = None,
        min_cluster_size: int = 5,
        tol: float = 1e-8,
        max_iter: int = 100_000,
        max_time: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.affinity_params = affinity_params
        self.n_levels = n_levels
        self.min_shift = min_shift
        self.min_cluster_size = min_cluster_size
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time

    def __sklearn_tags__(self) -> Any:
        return set_tags(super().__sklearn_tags__(), self.affinity)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Build the tree of X.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame of shape (n, n_features), or Similarity
            Rows of features; an n × n similarity for ``affinity="precomputed"``.
        y : None
            Not used.

        Returns
        -------
        DominantSetHierarchy
            The fitted estimator. Ctrl-C keeps the tree as far as it has come, and warns.
        """
        options = SolverOptions(tol=self.tol, max_iter=self.max_iter).checked()
        check_run(0.0 if self.min_shift is None else self.min_shift, self.max_time)
        check_int("n_levels", self.n_levels, at_least=2)
        self.similarity_ = similarity = similarity_of(self, X)
        check_peeling(similarity.n, self.n_clusters, self.min_cluster_size)
        monitor = Monitor(self.max_time)
        degrees = similarity.degrees()
        finest = Scale(similarity, degrees).shift(FINEST) if similarity.self_similarity is not None else 0.0
        lowest = min(0.0, finest) if self.min_shift is None else float(self.min_shift)
        self.levels_ = _levels(similarity, lowest, int(self.n_levels))
        builder = _Builder(similarity, options, int(self.min_cluster_size), monitor)
        self.root_ = builder.build(self.levels_)
        self.n_solves_, self.n_iter_ = builder.n_solves, builder.n_iter
        if builder.halt is not None:
            warn(f"the hierarchy ended early ({builder.halt.value}): what had not merged merges at the top.")
        self.leaves_, self.n_leaves_ = similarity.as_given(builder.home), len(builder.leaves)
        self.linkage_ = _linkage(self.root_, builder.home, builder.leaves, float(self.levels_[-1]))
        if self.n_clusters is not None:
            if self.n_clusters > self.n_leaves_:
                warn(f"the hierarchy has {self.n_leaves_} groups, fewer than n_clusters={self.n_clusters}.")
            self.labels_ = self.cut(min(int(self.n_clusters), self.n_leaves_))
        else:
            found = choose_shift(similarity, degrees, None, monitor=monitor)
            self.labels_ = self.cut(shift=max(found.shift, float(self.levels_[-1])))
        if not is_given(self, X):
            similarity.release()
        return self

    def cut(self, n_clusters: int | None = None, *, shift: float | None = None) -> Ints:
        """The groups of the tree at one height.

        Parameters
        ----------
        n_clusters : int, optional
            How many groups.
        shift : float, optional
            Or: the groups at this shift.

        Returns
        -------
        ndarray of shape (n,)
            Labels, the largest group first; -1 for objects of groups that come up above the shift.
        """
        check_is_fitted(self)
        if (n_clusters is None) == (shift is None):
            raise ValueError("cut takes either a number of clusters or a shift.")
        groups = [self.root_]
        if n_clusters is not None:
            check_int("n_clusters", n_clusters, at_least=1)
            if n_clusters > self.n_leaves_:
                raise ValueError(
                    f"n_clusters={n_clusters} is more than the {self.n_leaves_} groups of this hierarchy; "
                    f"lower min_shift={self.levels_[-1]:.6g} or min_cluster_size={self.min_cluster_size}."
                )
            while len(groups) < n_clusters:
                last = max(groups, key=lambda g: g.birth if g.children else -np.inf)
                groups.remove(last)
                groups += last.children
        else:
            height = check_real("shift", shift)
            while any(g.children and g.birth > height for g in groups):
                groups = [c for g in groups for c in (g.children if g.birth > height else [g])]
            groups = [g for g in groups if g.birth <= height]
        labels = np.full(self.similarity_.n, -1, dtype=np.int64)
        for k, group in enumerate(sorted(groups, key=lambda g: -g.objects.size)):
            labels[group.objects] = k
        given: Ints = self.similarity_.as_given(labels)
        return given


def _levels(similarity: Similarity, lowest: float, count: int) -> Floats:
    """Shifts from where all objects are one cluster down to the lowest, by equal ratios of kappa."""
    highest = guaranteed_shift(similarity, max(2, similarity.n))
    base = max(similarity.level, 1e-300)
    floor = max(lowest + base, 1e-9 * base)
    return np.geomspace(max(highest + base, floor * 1.001), floor, count) - base


class _Builder:
    """Goes up the levels: follows the sets of all groups, merges those that meet, looks for new ones."""

    def __init__(self, similarity: Similarity, options: SolverOptions, least: int, monitor: Monitor) -> None:
        self.similarity, self.least, self.monitor = similarity, least, monitor
        self._options = options
        self.halt: End | None = None
        self.n_solves = self.n_iter = 0
        self.home: Ints = np.full(similarity.n, -1, dtype=np.int64)  # the leaf of each object
        self.leaves: list[Group] = []
        self._groups: list[Group] = []

    def build(self, levels: Floats) -> Group:
        for shift in levels[::-1]:
            self._follow(float(shift))
            self._merge(float(shift))
            self._look_for_new(float(shift))
            if self.halt is not None:
                break
        top = float(levels[0])
        if len(self._groups) < 2 and len(self.leaves) < 2:  # nothing stands alone but the whole
            if self.similarity.n > 1 and self.halt is None:
                warn("no groups stand out of the data at any shift: they are one group.")
            self.leaves = self._groups = [Group(_NOBODY, None, float(levels[-1]))]
            self.home[:] = -1
        while len(self._groups) > 1:
            self._join(self._groups[0], self._groups[1], top)
        root = self._groups[0]
        self._settle(root)
        return root

    def _follow(self, shift: float) -> None:
        """Each group's dominant set at the next shift, from where it stood."""
        for group in self._groups:
            found = self._solve(make_problem(self.similarity, shift), group.core)
            if found is None:
                return
            group.core = found

    def _merge(self, shift: float) -> None:
        """Groups of which one's set has come to lie in the other's."""
        owner = np.full(self.similarity.n, -1, dtype=np.int64)
        met_first: list[Group] = []
        for group in sorted(self._groups, key=lambda g: -len(g.core or ())):
            assert group.core is not None
            names = owner[group.core.members]
            shared = np.bincount(names[names >= 0], minlength=1)
            other = int(shared.argmax())
            if shared[other] > SAME * len(group.core):
                met_first[other] = self._join(met_first[other], group, shift)
            else:
                owner[group.core.members] = len(met_first)
                met_first.append(group)

    def _join(self, first: Group, second: Group, shift: float) -> Group:
        first.death = second.death = shift
        group = Group(_NOBODY, first.core, shift, children=[first, second])
        self._groups = [g for g in self._groups if g is not first and g is not second] + [group]
        return group

    def _look_for_new(self, shift: float) -> None:
        """Sets that stand alone among the objects that no group's set covers."""
        problem = make_problem(self.similarity, shift)
        covered = np.zeros(problem.n, dtype=bool)
        for group in self._groups:
            assert group.core is not None
            covered[group.core.members] = True
            self._take(group, group.core.members)
        problem.remove(np.flatnonzero(covered))
        refused = 0
        while problem.n_alive >= self.least and refused < PATIENCE and self.halt is None:
            found = self._solve(problem, None)
            if found is None:
                return
            said = judge(problem, found)
            new = int((self.home[found.members] < 0).sum())
            if new >= max(self.least, SAME * len(found)) and said.alone and said.joiners <= CLEAN * said.size:
                self._begin(found, shift)
                refused = 0
            else:
                refused += 1
            if len(found) == problem.n_alive:
                return
            problem.remove(found.members)

    def _begin(self, found: DominantSet, shift: float) -> None:
        group = Group(_NOBODY, found, shift)
        self.leaves.append(group)
        self._groups.append(group)
        self._take(group, found.members)

    def _take(self, group: Group, members: Ints) -> None:
        """Objects that are covered for the first time; where the group has merged, by its nearest leaf."""
        new = members[self.home[members] < 0]
        if not new.size:
            return
        leaves = _leaves_of(group)
        nearest = np.argmax([self._closeness(leaf.core, new) for leaf in leaves], axis=0)
        for k, leaf in enumerate(leaves):
            self.home[new[nearest == k]] = self.leaves.index(leaf)

    def _settle(self, root: Group) -> None:
        """Every object into a leaf, and the objects of every group."""
        self._take(root, np.flatnonzero(self.home < 0))
        for k, leaf in enumerate(self.leaves):
            leaf.objects = np.flatnonzero(self.home == k)
        order, stack = [], [root]
        while stack:
            group = stack.pop()
            order.append(group)
            stack += group.children
        for group in reversed(order):
            if group.children:
                group.objects = np.sort(np.concatenate([c.objects for c in group.children]))

    def _closeness(self, core: DominantSet | None, objects: Ints) -> Floats:
        """Minus half the squared distance from a core's centre in feature space, but for one term."""
        if core is None:
            return np.zeros(objects.size)
        payoffs = self.similarity.gradient(core.members, core.weights)
        own = (
            0.0
            if self.similarity.self_similarity is None
            else self.similarity.self_similarities(core.members)
        )
        inside = core.threshold + float(core.weights**2 @ (core.shift + own + np.zeros(len(core))))
        return np.asarray(payoffs[objects] - 0.5 * inside)

    def _solve(self, problem: Any, core: DominantSet | None) -> DominantSet | None:
        options = self._options.chosen_for(self.similarity, problem.shift, "vertex" if core is None else 0)
        if core is None:
            found = problem.solve(options, self.monitor, "vertex")
        else:
            found = problem.solve_from(Point(core.members, core.weights), options, self.monitor)
        self.n_solves += 1
        self.n_iter += found.n_iter
        self.halt = HALTS.get(found.status)
        return None if self.halt is not None or found.status is Status.DISSOLVED else found


def _leaves_of(group: Group) -> list[Group]:
    found, stack = [], [group]
    while stack:
        here = stack.pop()
        if here.children:
            stack += here.children
        else:
            found.append(here)
    return found


def _linkage(root: Group, home: Ints, leaves: list[Group], lowest: float) -> Floats:
    """The tree as SciPy writes it."""
    n = home.size
    merges: list[tuple[float, int, int]] = []  # height, and an object of either side
    for leaf in leaves:
        first = int(leaf.objects[0])
        merges += [(leaf.birth - lowest, first, int(other)) for other in leaf.objects[1:]]
    stack = [root]
    while stack:
        group = stack.pop()
        if group.children:
            one, two = group.children
            merges.append((group.birth - lowest, int(one.objects[0]), int(two.objects[0])))
            stack += group.children
    # objects of a leaf before its merging: a leaf comes up no later than it merges
    order = sorted(range(len(merges)), key=lambda k: merges[k][0])
    parent, name, size = np.arange(n), np.arange(n), np.ones(n, dtype=np.int64)
    rows = np.empty((max(0, n - 1), 4))

    def top(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = int(parent[i])
        return i

    for step, k in enumerate(order):
        height, a, b = merges[k]
        a, b = top(a), top(b)
        low, high = sorted((int(name[a]), int(name[b])))
        parent[b] = a
        size[a] += size[b]
        rows[step] = low, high, height, size[a]
        name[a] = n + step
    return rows
