r"""The hierarchy: as the shift falls, clusters split.

Above a shift of :math:`(n - 2) \max(a)` every object is in one cluster (docs/theory-size.md). Going down from there,
each group is solved again at the next lower shift, from where it stood; the solution moves continuously, so
that this takes a few steps. A group splits where two or more sets inside it are clusters of the data's own,
not shells of one another (:mod:`dominantsets.coherence`); every other object of the group goes with the
set whose centre is nearest. The idea is that of Pavan and Pelillo (Dominant sets and hierarchical clustering, 2003).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.cluster.hierarchy import fcluster
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dominantsets._checks import one_of, real, warn, whole
from dominantsets.coherence import judge
from dominantsets.peeling import HALTS, End
from dominantsets.resolution import SHARES, resolve, shift_of
from dominantsets.similarity import AFFINITIES, Path, Similarity, as_similarity
from dominantsets.similarity.base import Floats, Ints
from dominantsets.sizes import guaranteed_shift
from dominantsets.solvers import DominantSet, Monitor, Point, Problem, Status, solve_from, solve_problem
from dominantsets.solvers.api import choose

CLEAN = 0.1  # objects of other sets, for each of its own, that may want to join a set when a group splits
PATIENCE = 4  # sets in a row that are no clusters of their own, after which a group is not searched further


@dataclass(eq=False)
class Group:
    """A node of the hierarchy.

    Attributes
    ----------
    objects : ndarray of int
        All objects of the group.
    core : DominantSet or None
        The dominant set that it grew around, as it was at the shift at which the group came up; None
        where several components lie side by side.
    shift : float
        The shift below which it is split; the lowest shift tried where it is not.
    children : list of Group
        What it splits into.
    """

    objects: Ints
    core: DominantSet | None
    shift: float
    children: list[Group] = field(default_factory=list)


class DominantSetHierarchy(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    r"""The tree of dominant sets over all shifts.

    At a shift :math:`\alpha` the groups are grown around the dominant sets of
    :math:`x^T (A - \alpha I) x`; as :math:`\alpha` falls they split, which makes a tree. Its height is
    the shift.

    Parameters
    ----------
    n_clusters : int, optional
        Where to cut the tree for ``labels_``; without it, at the automatic shift.
    affinity : str, callable or Similarity, default="sqeuclidean"
        How similarity comes from X, see :class:`DominantSets`.
    affinity_params : dict, optional
        Parameters of the affinity.
    n_levels : int, default=40
        Shifts at which the tree is looked at, evenly spaced on a logarithmic scale.
    min_shift : float, optional
        The lowest of them. Without it 0, or the finest automatic shift where that is lower: a constant in the
        similarity, such as M of M - D², can be so large that nothing has split at 0 yet.
    min_cluster_size : int, default=5
        Groups do not split into smaller sets.
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
    linkage_ : ndarray of shape (n - 1, 4)
        The tree in SciPy's form, its heights the shifts at which groups split, less the lowest one. Objects of a
        group that never splits merge at 0; several groups that split at once merge the most similar first.
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
        n_levels: int = 40,
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
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not callable(self.affinity)
        tags.input_tags.pairwise = tags.input_tags.positive_only = (
            isinstance(self.affinity, str) and self.affinity == "precomputed"
        )
        return tags

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
        whole("n_levels", self.n_levels, at_least=2)
        whole("min_cluster_size", self.min_cluster_size, at_least=1)
        if self.min_shift is not None:
            real("min_shift", self.min_shift)
        self.similarity_ = similarity = self._similarity(X)
        if self.n_clusters is not None and whole("n_clusters", self.n_clusters, at_least=1) > similarity.n:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the {similarity.n} objects there are.")
        monitor = Monitor(self.max_time)
        builder = _Builder(similarity, float(self.tol), int(self.max_iter), int(self.min_cluster_size), monitor)
        degrees = similarity.degrees()
        finest = shift_of(similarity, degrees, SHARES[-1]) if similarity.peak is not None else 0.0
        lowest = min(0.0, finest) if self.min_shift is None else float(self.min_shift)
        self.levels_ = _levels(similarity, lowest, int(self.n_levels))
        self.root_ = builder.build(self.levels_)
        self.n_solves_, self.n_iter_ = builder.n_solves, builder.n_iter
        if builder.halt is not None:
            warn(f"the hierarchy ended early ({builder.halt.value}): groups below the last level are not split.")
        self.linkage_ = _linkage(similarity, self.root_, float(self.levels_[-1]))
        if self.n_clusters is not None:
            self.labels_ = self.cut(int(self.n_clusters))
        else:
            found = resolve(similarity, degrees, None, refined=False, monitor=monitor)
            self.labels_ = self.cut(shift=max(found.shift, float(self.levels_[-1])))
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
            Labels, the largest group first.
        """
        check_is_fitted(self)
        n = self.similarity_.n
        if (n_clusters is None) == (shift is None):
            raise ValueError("cut takes either a number of clusters or a shift.")
        if n == 1:
            return np.zeros(1, dtype=np.int64)
        if n_clusters is not None:
            if not 1 <= whole("n_clusters", n_clusters, at_least=1) <= n:
                raise ValueError(f"n_clusters={n_clusters} is more than the {n} objects there are.")
            heights = self.linkage_.copy()
            heights[:, 2] = np.arange(1, n)  # the order of merging decides, where heights are equal
            found = fcluster(heights, n - n_clusters + 0.5, criterion="distance")
        else:
            assert shift is not None
            height = real("shift", shift) - float(self.levels_[-1])
            found = fcluster(self.linkage_, max(0.0, height), criterion="distance")
        sizes = np.bincount(found)
        order = np.argsort(-sizes, kind="stable")
        names = np.empty_like(order)
        names[order] = np.arange(order.size)
        return np.asarray(names[found], dtype=np.int64)

    def _similarity(self, X: Any) -> Similarity:
        if isinstance(X, Similarity):
            self.n_features_in_ = X.n_features
            return X
        if isinstance(self.affinity, str):
            one_of("affinity", self.affinity, AFFINITIES)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=1)
        return as_similarity(X, self.affinity, **(self.affinity_params or {}))


def _levels(similarity: Similarity, lowest: float, count: int) -> Floats:
    """Shifts from where all objects are one cluster down to the lowest, by equal ratios of kappa."""
    peak = similarity.largest() if similarity.peak is None else similarity.peak
    highest = guaranteed_shift(similarity, max(2, similarity.n))
    base = max(peak, 1e-300)
    floor = max(lowest + base, 1e-9 * base)
    return np.geomspace(max(highest + base, floor * 1.001), floor, count) - base


class _Builder:
    """Goes down the levels, and splits what falls apart."""

    def __init__(self, similarity: Similarity, tol: float, max_iter: int, least: int, monitor: Monitor) -> None:
        self.similarity, self.least, self.monitor = similarity, least, monitor
        self._limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
        self.halt: End | None = None
        self.n_solves = self.n_iter = 0

    def build(self, levels: Floats) -> Group:
        n = self.similarity.n
        root = Group(np.arange(n), None, float(levels[0]))
        leaves = self._components(root)
        for shift in levels:
            reached: list[Group] = []
            for group in leaves:
                if self.halt is None:
                    self._descend(group, float(shift))
                group.shift = float(shift) if not group.children else group.shift
                reached += group.children or [group]
            leaves = reached
            if self.halt is not None:
                break
        return root

    def _components(self, root: Group) -> list[Group]:
        """Components that nothing joins are groups from the beginning."""
        components = self.similarity.components
        if components is None:
            return [root]
        parts = [np.flatnonzero(components == k) for k in range(int(components.max()) + 1)]
        root.children = [Group(part, None, root.shift) for part in parts]
        return root.children

    def _descend(self, group: Group, shift: float) -> None:
        """Solve a group at the next shift; where it holds several clusters, split it there."""
        if group.objects.size < 2 * self.least:
            return
        problem = Problem(self.similarity, shift)
        problem.alive[:] = False
        problem.alive[group.objects] = True
        problem.n_alive = group.objects.size
        found = self._solve(problem, group.core)
        own: list[DominantSet] = []
        refused = 0
        while found is not None and self.halt is None:
            said = judge(problem, found)
            fits = len(found) >= self.least and said.alone and said.joiners <= CLEAN * said.size
            if fits:
                own.append(found)
            refused = 0 if fits else refused + 1
            if len(found) == problem.n_alive or refused == PATIENCE:
                break
            problem.remove(found.members)
            if problem.n_alive < self.least:
                break
            found = self._solve(problem, None)
        if self.halt is not None:
            return
        if own:
            group.core = own[0] if group.core is None or len(own) == 1 else group.core
        if len(own) > 1:
            nearest = np.argmax([self._closeness(c, group.objects) for c in own], axis=0)
            label = np.full(self.similarity.n, -1)
            label[group.objects] = nearest
            for k, cluster in enumerate(own):
                label[cluster.members] = k
            places = label[group.objects]
            group.children = [Group(group.objects[places == k], c, shift) for k, c in enumerate(own)]

    def _closeness(self, core: DominantSet, objects: Ints) -> Floats:
        """Minus half the squared distance from a core's centre in feature space, up to the object's own part."""
        payoffs = self.similarity.gradient(core.members, core.weights)
        own = 0.0 if self.similarity.peak is None else float(self.similarity.own(core.members[:1])[0])
        inside = core.threshold + (core.shift + own) * float(core.weights @ core.weights)
        return payoffs[objects] - 0.5 * inside

    def _solve(self, problem: Problem, core: DominantSet | None) -> DominantSet | None:
        similarity = self.similarity
        warm = core is not None and not isinstance(similarity, Path)
        algorithm = choose("auto", similarity, problem.shift, 0 if warm else "vertex")
        if warm:
            assert core is not None
            start = Point(core.members, core.weights)
            found = solve_from(problem, start, algorithm=algorithm, monitor=self.monitor, **self._limits)
        else:
            found = solve_problem(
                problem, algorithm=algorithm, start="vertex", monitor=self.monitor, **self._limits
            )
        self.n_solves += 1
        self.n_iter += found.n_iter
        self.halt = HALTS.get(found.status)
        return None if self.halt is not None or found.status is Status.DISSOLVED else found


def _linkage(similarity: Similarity, root: Group, lowest: float) -> Floats:
    """The tree as SciPy writes it."""
    n = similarity.n
    merges: list[tuple[float, int, int]] = []  # height, and an object of either side
    stack = [root]
    while stack:
        group = stack.pop()
        stack += group.children
        if not group.children:
            first = int(group.objects[0])
            merges += [(0.0, first, int(other)) for other in group.objects[1:]]
            continue
        merges += [(group.shift - lowest, a, b) for a, b in _by_likeness(similarity, group.children)]
    order = sorted(range(len(merges)), key=lambda k: merges[k][0])  # stable: the most similar first
    parent, name, size = np.arange(n), np.arange(n), np.ones(n, dtype=np.int64)
    rows = np.empty((n - 1, 4)) if n > 1 else np.empty((0, 4))

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


def _by_likeness(similarity: Similarity, children: list[Group]) -> list[tuple[int, int]]:
    """Which of several groups merge first: the two with the highest average similarity, and so on."""
    count = len(children)
    sums, sizes = np.empty((count, count)), np.array([c.objects.size for c in children], dtype=float)
    for k, child in enumerate(children):
        payoffs = similarity.gradient(child.objects, np.ones(child.objects.size))
        sums[k] = [payoffs[other.objects].sum() for other in children]
    at, left, pairs = [int(c.objects[0]) for c in children], list(range(count)), []
    while len(left) > 1:
        averages = sums[np.ix_(left, left)] / np.multiply.outer(sizes[left], sizes[left])
        np.fill_diagonal(averages, -np.inf)
        i, j = (left[int(p)] for p in np.unravel_index(int(np.argmax(averages)), averages.shape))
        pairs.append((at[i], at[j]))
        sums[i] += sums[j]
        sums[:, i] += sums[:, j]
        sizes[i] += sizes[j]
        left.remove(j)
    return pairs
