"""The tree of dominant sets over all shifts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram

from dominantsets.hierarchy import DominantSetHierarchy, Group
from dominantsets.plotting._style import axes_or_new, color_of


class HierarchyDisplay:
    """A dendrogram of a hierarchy's groups.

    Parameters
    ----------
    model : DominantSetHierarchy
        A fitted hierarchy.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import DominantSetHierarchy
    >>> from dominantsets.plotting import HierarchyDisplay
    >>> X = np.concatenate([c + np.random.default_rng(0).normal(size=(40, 1)) for c in (0.0, 9.0, 60.0)])
    >>> display = HierarchyDisplay(DominantSetHierarchy().fit(X)).plot()
    >>> display.ax_.get_ylabel()
    'shift + similarity of an object to its copy'
    """

    def __init__(self, model: DominantSetHierarchy) -> None:
        self.model = model

    def plot(self, ax: Any = None, *, n_clusters: int | None = None) -> HierarchyDisplay:
        """Draw the tree of the leaves, each with the number of its objects.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure otherwise.
        n_clusters : int, optional
            Colours the groups of ``cut(n_clusters)``.

        Returns
        -------
        HierarchyDisplay
            Itself.
        """
        ax = axes_or_new(ax, (7.0, 4.0))
        model = self.model
        count = model.n_leaves_
        base = _base(model)
        ax.set(ylabel="shift + similarity of an object to its copy", xlabel="objects of each group")
        if count == 1:
            ax.text(0.5, 0.5, "one group", ha="center", transform=ax.transAxes)
            self.ax_ = ax
            return self
        linkage, groups = _of_leaves(model, base)
        colors = _colors(model, n_clusters, groups)
        drawn = dendrogram(linkage, ax=ax, link_color_func=lambda node: colors[node], no_labels=True)
        sizes = np.bincount(model.leaves_, minlength=count)
        ax.set_xticks(10.0 * np.arange(count) + 5.0, [f"{sizes[k]:,}" for k in drawn["leaves"]], rotation=90)
        low = max(float(linkage[:, 2].min()), 1e-300)
        ax.set_yscale("log", nonpositive="clip")  # leaves hang down to where the axis ends
        ax.set_ylim(0.5 * low, 1.5 * float(linkage[:, 2].max()))
        self.ax_ = ax
        return self


def _base(model: DominantSetHierarchy) -> float:
    similarity = model.similarity_
    return similarity.largest() if similarity.self_similarity is None else similarity.self_similarity


def _of_leaves(model: DominantSetHierarchy, base: float) -> tuple[Any, dict[int, Group]]:
    """The linkage of the leaves alone, with kappa for heights, and the group of each node."""
    count, names, groups = model.n_leaves_, {}, {}
    inner, stack = [], [model.root_]
    while stack:
        group = stack.pop()
        if group.children:
            inner.append(group)
            stack += group.children
        else:
            names[id(group)] = int(model.leaves_[group.objects[0]])
            groups[names[id(group)]] = group
    rows = []
    for step, group in enumerate(sorted(inner, key=lambda g: (g.birth, _depth(g)))):
        one, two = sorted(names[id(child)] for child in group.children)
        names[id(group)] = count + step
        groups[count + step] = group
        rows.append([one, two, group.birth + base, np.unique(model.leaves_[group.objects]).size])
    return np.array(rows, dtype=float), groups


def _depth(group: Group) -> int:
    """Levels below a group: of those that merge at one shift the lower ones come first."""
    return 1 + max((_depth(child) for child in group.children), default=0)


def _colors(model: DominantSetHierarchy, n_clusters: int | None, groups: dict[int, Group]) -> dict[int, str]:
    labels = model.labels_ if n_clusters is None else model.cut(n_clusters)
    colors = {}
    for node, group in groups.items():
        inside = np.unique(labels[group.objects])
        colors[node] = color_of(int(inside[0])) if inside.size == 1 and inside[0] >= 0 else "0.4"
    return colors
