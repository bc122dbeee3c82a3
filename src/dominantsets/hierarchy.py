r"""The hierarchy: groups over all shifts, a view of the tree that ``DominantSets()`` reads its clusters from.

As the shift rises groups merge, until all objects are one (docs/theory-scales.md). Points have the tree of
modes, path-based similarity has it exactly in single linkage, networks have groups that are followed over
shifts; :mod:`dominantsets.fitting.nested` makes the same tree of each, which can be cut at every number. The
idea of the tree is that of Pavan and Pelillo (Dominant sets and hierarchical clustering, 2003).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from dominantsets._checks import NO_MEMORY, check_int, check_real, memory_explained, warn
from dominantsets._input import Chosen, is_given, new_objects, set_tags, similarity_of
from dominantsets._typing import Ints
from dominantsets.clusters.peeling import check_peeling
from dominantsets.compiled.interrupts import listening
from dominantsets.fitting.copies import Copies
from dominantsets.fitting.judge import Choice, choose_for, unseen
from dominantsets.fitting.kinds import plan_of
from dominantsets.fitting.nested import Group, Nested, linkage
from dominantsets.fitting.plan import Request
from dominantsets.similarity.source import as_given, device_of, release
from dominantsets.solvers import Monitor, SolverOptions
from dominantsets.solvers.options import check_run
from dominantsets.solvers.result import End

__all__ = ["DominantSetHierarchy", "Group"]


class DominantSetHierarchy(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    r"""The tree of dominant sets over all shifts.

    At a shift :math:`\alpha` groups are dominant sets of :math:`x^T (A - \alpha I) x`; as :math:`\alpha`
    rises they are absorbed by one another, which makes a tree. Its height is the shift.

    It is the tree from which ``DominantSets(shift="auto")`` reads its clusters. So ``n_clusters=None``, here
    and there, and ``shift="auto"`` are one choice: the significant groups.

    Parameters
    ----------
    n_clusters : int, optional
        Where to cut the tree for ``labels_``. Without it, at the significant groups: those that
        ``DominantSets()`` finds on the same data. Objects that it leaves out as noise are in a group here.
    affinity : str, callable or Similarity, default="auto"
        How similarity comes from X, see :class:`DominantSets`. "auto" takes what ``DominantSets()`` does.
    affinity_params : dict, optional
        Parameters of the affinity.
    min_cluster_size : int, default=1
        Smaller sets are not significant groups.
    max_time : float, optional
        Seconds after which the tree is left as it is: what has not merged merges at the top, and groups
        whose dominant set was not found have none.

    Attributes
    ----------
    root_ : Group
        The group of all objects.
    leaves_ : ndarray of shape (n,)
        The finest groups: the leaf of each object, the largest first.
    n_leaves_ : int
        How many there are. ``cut`` knows every number up to it.
    n_groups_ : int
        Number of significant groups.
    linkage_ : ndarray of shape (n - 1, 4)
        The tree in SciPy's form, its heights the shifts at which groups merge, less the lowest one. Objects
        of one leaf merge at the shift at which it comes up.
    labels_ : ndarray of shape (n,)
        The cut that was asked for.
    n_iter_ : int
        Iterations of all dominant sets together.
    end_ : End or None
        What ended it early; None for a whole tree.
    similarity_ : Similarity
        The similarity.
    affinity_, affinity_params_ : str and dict
        The affinity, and its parameters: with ``affinity="auto"`` what was taken.
    choice_ : Choice or None
        How it came about, to be printed; None where the affinity was given.
    scale_ : ndarray of shape (n_features,) or None
        What the columns were divided by, see :class:`DominantSets`.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import DominantSetHierarchy
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([c + rng.normal(size=(40, 2)) for c in ((0, 0), (8, 0), (40, 0))])
    >>> tree = DominantSetHierarchy(n_clusters=2).fit(X)
    >>> np.bincount(tree.labels_), np.bincount(tree.cut(3))
    (array([80, 40]), array([40, 40, 40]))
    >>> tree.predict([[1.0, 1.0], [9.0, 0.0], [40.0, 1.0]])
    array([0, 0, 1])
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        affinity: Any = "auto",
        affinity_params: dict[str, Any] | None = None,
        min_cluster_size: int = 1,
        max_time: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.affinity_params = affinity_params
        self.min_cluster_size = min_cluster_size
        self.max_time = max_time

    def __sklearn_tags__(self) -> Any:
        return set_tags(super().__sklearn_tags__(), self.affinity)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Build the tree of X.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, Dask array, tensor of shape (n, n_features), or Similarity
            Rows of features; an n × n similarity for ``affinity="precomputed"``.
        y : None
            Not used.
        sample_weight : array of shape (n,), optional
            How many objects each row stands for, see :meth:`DominantSets.fit`: the tree is that of rows which
            are repeated so often, each object once in it. A row of weight 0 is in the leaf where ``predict``
            puts it.

        Returns
        -------
        DominantSetHierarchy
            The fitted estimator. Ctrl-C keeps the tree as far as it has come, and warns.
        """
        self.__dict__.pop("_copies", None)
        copies = None if sample_weight is None else Copies.of(sample_weight, X, self.affinity)
        with memory_explained(NO_MEMORY), listening():
            if copies is None:
                return self._fit(X)
            self._fit(copies.rows(X, self.affinity))._fold(copies, X)
        return self

    def _fold(self, copies: Copies, X: Any) -> None:
        """The tree of copies as one of objects."""
        leaves = self._tree.leaves
        self._copies = copies
        if copies.pairwise:
            self.n_features_in_ = copies.counts.size
        for group in self.root_.walk():
            group.objects = copies.fold_objects(group.objects)
            group.core = group.core and copies.fold_cluster(group.core)
        if copies.absent.size:
            homes = self._leaf_of(new_objects(self, copies.without(X)))
            for leaf, group in enumerate(leaves):
                group.objects = np.union1d(group.objects, copies.absent[homes == leaf])
            for group in reversed(list(self.root_.walk())):  # children before their parents
                for child in group.children:
                    group.objects = np.union1d(group.objects, child.objects)
        self.leaves_ = self.cut(self.n_leaves_)
        self.linkage_ = linkage(self.root_, copies.counts.size)
        self.labels_ = self.cut(self._wanted)

    def _fit(self, X: Any) -> Self:
        check_run(0.0, self.max_time)
        self._monitor = monitor = Monitor(self.max_time)
        self.affinity_, self.affinity_params_ = self.affinity, dict(self.affinity_params or {})
        self.choice_: Choice | None = None
        self.similarity_ = similarity = similarity_of(self, X, self._choose, whole=True).similarity
        self._device = device_of(similarity)
        check_peeling(similarity.n, self.n_clusters, self.min_cluster_size)
        self._tree = tree = self._nested(similarity, monitor)
        del self._monitor
        self.root_, self.n_leaves_, self.n_groups_ = tree.root, len(tree.leaves), tree.n_groups
        self.n_iter_ = sum(group.core.n_iter for group in tree.root.walk() if group.core is not None)
        self.leaves_, self.linkage_ = self.cut(self.n_leaves_), linkage(tree.root, similarity.n)
        self.labels_ = self.cut(self._wanted)
        self.end_ = tree.halt = End.INTERRUPTED if monitor.interrupted else tree.halt
        self._warn()
        if not is_given(self, X):
            release(similarity)
        return self

    def _choose(self, X: Any, distances: bool) -> Chosen:
        """What ``DominantSets(n_clusters)`` takes; of rows elsewhere groups are round."""
        if not distances and (X.is_elsewhere or isinstance(X.X, np.memmap)):
            reason = "The rows are not all in this process's memory: the hierarchy is one of round groups."
            self.choice_ = unseen("sqeuclidean", reason)
        else:
            self.choice_ = choose_for(X, self.n_clusters, self._monitor, distances=distances)
        taken = self.choice_.taken
        self.affinity_, self.affinity_params_ = taken.affinity, dict(taken.params)
        return Chosen(self.affinity_, self.affinity_params_, self.choice_.scale, self.choice_.fitted)

    def _nested(self, similarity: Any, monitor: Monitor) -> Nested:
        wanted = self.n_clusters if self.choice_ is None else self.choice_.asked(self.n_clusters)
        request = Request(wanted, "auto", SolverOptions(cutoff=2e-12), int(self.min_cluster_size), None)
        plan = plan_of(similarity, request, np.random.RandomState(0), monitor)
        plan.groups()
        return plan.nested()

    def _warn(self) -> None:
        halt, few = self._tree.halt, self.n_leaves_
        if halt is not None:
            warn(
                f"the hierarchy ended early ({halt.value}): what had not merged merges at the top, and some "
                "groups have no dominant set."
            )
        elif self.n_clusters is None and self.n_groups_ == 1 and self.similarity_.n > 1:
            warn("no groups stand out of the data: they are one group.")
        if self.n_clusters is not None and self.n_clusters > few:
            warn(f"the hierarchy has {few} groups, fewer than n_clusters={self.n_clusters}.")

    def cut(self, n_clusters: int | None = None, *, shift: float | None = None) -> Ints:
        """The groups of the tree at one height.

        Parameters
        ----------
        n_clusters : int, optional
            How many groups: the significant ones split first, by falling shift, then doubtful ones come
            off, the least doubtful first.
        shift : float, optional
            Or: the groups at this shift.

        Returns
        -------
        ndarray of shape (n,)
            Labels, the largest group first; -1 for objects of groups that come up above the shift.
        """
        labels = self._labels(self.groups(n_clusters, shift=shift))
        if hasattr(self, "_copies"):
            return labels
        given: Ints = as_given(self.similarity_, labels)
        return given

    def groups(self, n_clusters: int | None = None, *, shift: float | None = None) -> list[Group]:
        """The groups of ``cut``, each with its dominant set.

        Parameters
        ----------
        n_clusters : int, optional
            How many groups.
        shift : float, optional
            Or: the groups at this shift.

        Returns
        -------
        list of Group
            In the order of the labels: the largest first.
        """
        check_is_fitted(self)
        if (n_clusters is None) == (shift is None):
            raise ValueError("cut takes either a number of clusters or a shift.")
        if n_clusters is None:
            height = check_real("shift", shift)
            found = [group for group in self.root_.walk() if group.birth <= height < group.death]
        else:
            check_int("n_clusters", n_clusters, at_least=1)
            if n_clusters > self.n_leaves_:
                raise ValueError(
                    f"n_clusters={n_clusters} is more than the {self.n_leaves_} groups of this hierarchy; "
                    f"DominantSets({n_clusters}) makes up the number."
                )
            split = self._tree.splits[: n_clusters - 1]
            parts = [self.root_, *(child for group in split for child in group.children)]
            found = [group for group in parts if group not in set(split)]
        return sorted(found, key=lambda group: (-self._size(group), group.objects[0]))

    def _size(self, group: Group) -> int:
        """How many objects a group has, each as often as its weight says."""
        return (
            int(self._copies.counts[group.objects].sum()) if hasattr(self, "_copies") else group.objects.size
        )

    def _labels(self, groups: list[Group]) -> Ints:
        n = self._copies.counts.size if hasattr(self, "_copies") else self.similarity_.n
        labels = np.full(n, -1, dtype=np.int64)
        for k, group in enumerate(groups):
            labels[group.objects] = k
        return labels

    @property
    def _wanted(self) -> int:
        return min(self.n_clusters or self.n_groups_, self.n_leaves_)

    def predict(self, X: Any, *, n_clusters: int | None = None) -> Ints:
        """The groups of new objects, by the rule that gave the objects of ``fit`` theirs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_new, n_features)
            Rows of features; for ``affinity="precomputed"`` the similarities of the new objects to the n
            objects of ``fit``.
        n_clusters : int, optional
            The labels of ``cut(n_clusters)``; without it those of ``labels_``.

        Returns
        -------
        ndarray of shape (n_new,)
            Labels; -1 for objects that have nothing in common with any group.
        """
        check_is_fitted(self)
        homes = self._leaf_of(new_objects(self, X))
        labels = self._labels(self.groups(n_clusters or self._wanted))
        of_leaves = np.array([labels[leaf.objects[0]] for leaf in self._tree.leaves])
        return np.where(homes < 0, -1, of_leaves[homes])

    def _leaf_of(self, X: Any) -> Ints:
        """The leaves of new objects, -1 for those that have nothing in common with any."""
        tree = self._tree
        found = tree.rule.of_new(self.similarity_, X)
        return np.array([tree.names.get(leaf, -1) for leaf in found.tolist()], dtype=np.int64)
