"""Clusters: in the plane, in the similarity matrix, and how strongly their members belong."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from dominantsets.plotting._style import HALO, NOISE, PALETTE, Rectangle, axes_or_new, color_of

MANY = 20_000  # points from which they are drawn as one image
LARGEST_MATRIX = 2_000  # objects of a similarity matrix that are drawn; of more, an even sample


class ClusterDisplay:
    """Clusters in the plane: colour by cluster, size by membership, noise in grey.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Where the objects are drawn.
    labels : ndarray of shape (n,)
        Clusters; -1 is noise.
    memberships : ndarray of shape (n,)
        Between 0 and 1.
    exemplars : ndarray of shape (n_clusters,)
        Objects marked with a cross; with the number of their cluster where there are too many for a legend.
    names : tuple of two str, optional
        What the axes are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of ``ax_``.
    """

    def __init__(
        self,
        points: NDArray[Any],
        labels: NDArray[Any],
        memberships: NDArray[Any],
        exemplars: NDArray[Any],
        names: tuple[str, str] | None = None,
    ) -> None:
        self.points = points
        self.labels = labels
        self.memberships = memberships
        self.exemplars = exemplars
        self.names = names

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, names: Any = None, ax: Any = None) -> Self:
        """Draw the clusters that a fitted ``DominantSets`` found in X (PCA to 2 where d > 2).

        Parameters
        ----------
        estimator : DominantSets or Pipeline
            Fitted on X. The steps of a pipeline before the last one are applied to X.
        X : array or DataFrame of shape (n, d)
            The features it was fitted on.
        names : list of str, optional
            Names of the columns, where X is no data frame.
        ax : matplotlib Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        ClusterDisplay
            With ``ax_`` and ``figure_`` set.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> from dominantsets import DominantSets
        >>> from dominantsets.plotting import ClusterDisplay
        >>> X = load_iris(as_frame=True).data[["petal length (cm)", "petal width (cm)"]]
        >>> model = make_pipeline(StandardScaler(), DominantSets(3)).fit(X)
        >>> ClusterDisplay.from_estimator(model, X).ax_.get_xlabel()
        'petal length (cm)'
        """
        check_is_fitted(estimator)
        steps = getattr(estimator, "steps", [("", estimator)])
        names = list(X.columns) if names is None and hasattr(X, "columns") else names
        if len(steps) > 1:
            before = estimator[:-1]
            X, names = before.transform(X), _names_after(before, names)
        model = steps[-1][1]
        X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        if X.shape[0] != model.labels_.size:
            raise ValueError(f"X has {X.shape[0]} rows, the estimator was fitted on {model.labels_.size}.")
        points = PCA(2, random_state=0).fit_transform(X) if X.shape[1] > 2 else X
        if X.shape[1] > 2:
            names = ["first principal component", "second principal component"]
        elif X.shape[1] == 1:
            points = np.column_stack([X[:, 0], np.zeros(len(X))])
            names = None if names is None else [names[0], ""]
        axes = None if names is None else (str(names[0]), str(names[1]))
        display = cls(points, model.labels_, model.probabilities_, model.exemplars_, axes).plot(ax=ax)
        if X.shape[1] > 2:
            display.ax_.set(xticks=[], yticks=[])  # units that mean nothing
        elif X.shape[1] == 1:
            display.ax_.set(yticks=[])
        return display

    def plot(self, *, ax: Any = None) -> Self:
        """Draw, on ``ax`` or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        ClusterDisplay
            Itself.
        """
        ax = axes_or_new(ax)
        noise = self.labels < 0
        # many thousands of points are a picture inside the picture, or a PDF would hold each of them
        many = len(self.labels) > MANY
        if noise.any():
            ax.scatter(
                *self.points[noise].T, s=7, color=NOISE, label="noise (-1)", linewidths=0, rasterized=many
            )
        for k in range(int(self.labels.max(initial=-1)) + 1):
            inside = self.labels == k
            ax.scatter(
                *self.points[inside].T,
                s=4 + 26 * self.memberships[inside],
                color=color_of(k),
                alpha=0.85,
                linewidths=0,
                label=f"cluster {k}",
                rasterized=many,
            )
        if self.exemplars.size <= len(PALETTE):
            ax.scatter(
                *self.points[self.exemplars].T,
                s=55,
                marker="x",
                color="black",
                linewidths=1.4,
                label="exemplar",
            )
            ax.legend(fontsize=7, markerscale=1.2, framealpha=0.7)
        else:
            for k, place in enumerate(self.points[self.exemplars]):
                ax.text(*place, str(k), fontsize=8, ha="center", va="center", path_effects=HALO)
        if self.names is None:
            ax.set(xticks=[], yticks=[])
        else:
            ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _names_after(steps: Any, names: Any) -> Any:
    """What columns are called behind the steps of a pipeline, where they know it."""
    try:
        return list(steps.get_feature_names_out(names))
    except (AttributeError, ValueError):
        return None


class SimilarityDisplay:
    """The similarity matrix with the objects in the order of their clusters: blocks along the diagonal.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        Similarities of the objects drawn, in the order drawn.
    labels : ndarray of shape (m,)
        Their clusters, -1 (last) for noise.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of ``ax_``.
    """

    def __init__(self, matrix: NDArray[Any], labels: NDArray[Any]) -> None:
        self.matrix = matrix
        self.labels = labels

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the similarities that a fitted ``DominantSets`` saw.

        Clusters in the order found, the objects of a cluster by falling membership, noise last. Of more
        than 2,000 objects an even sample is drawn, so that the matrix is never formed as a whole.

        Parameters
        ----------
        estimator : DominantSets
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        SimilarityDisplay
            With ``ax_`` and ``figure_`` set.
        """
        check_is_fitted(estimator)
        counts = estimator.counts_
        there = np.flatnonzero(counts)  # objects of weight 0 are not in the similarity
        firsts = (np.cumsum(counts) - counts)[there]  # an object is drawn by its first copy
        labels, probabilities = estimator.labels_[there], estimator.probabilities_[there]
        rank = np.where(labels < 0, labels.max(initial=0) + 1, labels)
        order = np.lexsort((-probabilities, rank))
        if order.size > LARGEST_MATRIX:
            order = order[np.linspace(0, order.size - 1, LARGEST_MATRIX).astype(np.int64)]
        shown = firsts[order]
        return cls(estimator.similarity_.block(shown, shown), labels[order]).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw, on ``ax`` or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        SimilarityDisplay
            Itself.
        """
        ax = axes_or_new(ax, (5.6, 4.8))
        # the diagonal means nothing, and a few far pairs would take all the colours
        beside = self.matrix[~np.eye(len(self.matrix), dtype=bool)]
        low, high = np.percentile(beside, (2, 99.8)) if beside.size else (0.0, 1.0)
        image = ax.imshow(self.matrix, cmap="cividis", interpolation="nearest", vmin=low, vmax=high)
        ax.figure.colorbar(image, ax=ax, label="similarity")
        for k in range(int(self.labels.max(initial=-1)) + 1):
            places = np.flatnonzero(self.labels == k)
            if places.size:
                corner, side = places[0] - 0.5, places.size
                ax.add_patch(
                    Rectangle((corner, corner), side, side, fill=False, color=color_of(k), linewidth=1.6)
                )
        ax.set(xticks=[], yticks=[], xlabel="objects by cluster and membership, noise last")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class MembershipDisplay:
    """How strongly the members belong: the weights of each cluster, sorted, with the cutoff.

    A cluster that ends steeply has a clear edge. The legend gives size, exemplar and margin (how far the best
    outsider stays below what it takes to join).

    Parameters
    ----------
    clusters : list of DominantSet
        The clusters.
    cutoff : float or None
        The weight below which objects were left out, drawn where it lies in the picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of ``ax_``.
    """

    def __init__(self, clusters: list[Any], cutoff: float | None = None) -> None:
        self.clusters = clusters
        self.cutoff = cutoff

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the clusters of a fitted ``DominantSets``.

        Parameters
        ----------
        estimator : DominantSets
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        MembershipDisplay
            With ``ax_`` and ``figure_`` set.
        """
        check_is_fitted(estimator)
        return cls(list(estimator.clusters_), estimator.solver_options_.cutoff).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw, on ``ax`` or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        MembershipDisplay
            Itself.
        """
        ax = axes_or_new(ax)
        for k, cluster in enumerate(self.clusters):
            falling = np.sort(cluster.weights)[::-1]
            label = f"{k}: {len(cluster):,} members, margin {cluster.margin:.2g}"
            ax.step(np.arange(1, falling.size + 1), falling, where="mid", color=color_of(k), label=label)
        ax.set(yscale="log", xlabel="members, by falling weight", ylabel="weight")
        if self.cutoff is not None and self.cutoff > 0:
            bottom = ax.get_ylim()[0]
            if self.cutoff >= bottom / 1e3:
                ax.axhline(self.cutoff, color="black", linestyle=":", label=f"cutoff {self.cutoff:g}")
        if 0 < len(self.clusters) <= 12:
            ax.legend(fontsize=8)
        self.ax_, self.figure_ = ax, ax.figure
        return self
