"""The tree of dominant sets over all shifts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.cluster.hierarchy import dendrogram
from sklearn.utils.validation import check_is_fitted

from dominantsets.hierarchy import DominantSetHierarchy, Group
from dominantsets.plotting._style import axes_or_new, color_of
from dominantsets.similarity.bounds import bounds_of


class HierarchyDisplay:
    """A dendrogram of a hierarchy's groups.

    Parameters
    ----------
    model : DominantSetHierarchy
        A fitted hierarchy.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of ``ax_``.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import DominantSetHierarchy
    >>> from dominantsets.plotting import HierarchyDisplay
    >>> X = np.concatenate([c + np.random.default_rng(0).normal(size=(40, 1)) for c in (0.0, 9.0, 60.0)])
    >>> display = HierarchyDisplay.from_estimator(DominantSetHierarchy().fit(X))
    >>> display.ax_.get_ylabel()
    'shift + similarity of an object to its copy'
    """

    def __init__(self, model: DominantSetHierarchy) -> None:
        self.model = model

    @classmethod
    def from_estimator(
        cls,
        estimator: DominantSetHierarchy,
        *,
        n_clusters: int | None = None,
        n_leaves: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the tree of a fitted hierarchy.

        Parameters
        ----------
        estimator : DominantSetHierarchy
            Fitted.
        n_clusters : int, optional
            Colours the groups of ``cut(n_clusters)``; without it those of ``labels_``.
        n_leaves : int, optional
            How many groups are drawn, those of ``cut(n_leaves)``; without it the significant ones, and as
            many as have a colour.
        ax : matplotlib Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        HierarchyDisplay
            With ``ax_`` and ``figure_`` set.
        """
        check_is_fitted(estimator)
        return cls(estimator).plot(ax, n_clusters=n_clusters, n_leaves=n_leaves)

    def plot(self, ax: Any = None, *, n_clusters: int | None = None, n_leaves: int | None = None) -> Self:
        """Draw the tree, each of its finest groups with the number of its objects.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure without it.
        n_clusters : int, optional
            Colours the groups of ``cut(n_clusters)``; without it those of ``labels_``.
        n_leaves : int, optional
            How many groups are drawn, those of ``cut(n_leaves)``; without it the significant ones, and as
            many as have a colour.

        Returns
        -------
        HierarchyDisplay
            Itself.
        """
        ax = axes_or_new(ax, (7.0, 4.0))
        model = self.model
        labels = np.asarray(model.labels_ if n_clusters is None else model.cut(n_clusters))
        if n_leaves is None:
            n_leaves = max(model.n_groups_, int(labels.max()) + 1)
        leaves = model.groups(n_leaves)
        ax.set(ylabel="shift + similarity of an object to its copy", xlabel="objects of each group")
        self.ax_, self.figure_ = ax, ax.figure
        if len(leaves) == 1:
            ax.text(0.5, 0.5, "one group", ha="center", transform=ax.transAxes)
            return self
        linkage, nodes = _of_leaves(model, leaves)
        colors = [_color(np.unique(labels[group.objects])) for group in nodes]
        drawn = dendrogram(linkage, ax=ax, link_color_func=lambda node: colors[node], no_labels=True)
        sizes = [f"{nodes[k].objects.size:,}" for k in drawn["leaves"]]
        ax.set_xticks(10.0 * np.arange(len(leaves)) + 5.0, sizes, rotation=90 if len(leaves) > 12 else 0)
        low = max(float(linkage[:, 2].min()), 1e-300)
        ax.set_yscale("log", nonpositive="clip")  # leaves hang down to where the axis ends
        ax.set_ylim(0.5 * low, 1.5 * float(linkage[:, 2].max()))
        # a leaf has no line of its own: a dot at its foot says which group it is
        feet = ax.get_xticks()
        ax.scatter(
            feet, np.full(len(feet), 0.5 * low), s=60, c=[colors[k] for k in drawn["leaves"]], clip_on=False,
            zorder=3,
        )  # fmt: skip
        return self


def _of_leaves(model: DominantSetHierarchy, leaves: list[Group]) -> tuple[Any, list[Group]]:
    """The linkage of some groups, with kappa for heights, and the group of each of its nodes."""
    base, count = bounds_of(model.similarity_).level, dict.fromkeys(leaves, 1)
    places = {group: k for k, group in enumerate(leaves)}
    stack, inner = [model.root_], list[Group]()
    while stack:
        group = stack.pop()
        if group not in places:
            inner.insert(0, group)
            stack += group.children
    rows = []
    # of those that merge at one shift the lower ones come first
    for group in sorted(inner, key=lambda group: group.birth):
        one, two = group.children
        places[group], count[group] = len(places), count[one] + count[two]
        rows.append([places[one], places[two], group.birth + base, count[group]])
    return np.array(rows, dtype=float), list(places)


def _color(labels: Any) -> str:
    """The colour of a group whose objects have these labels."""
    return color_of(int(labels[0])) if labels.size == 1 and labels[0] >= 0 else "0.4"
