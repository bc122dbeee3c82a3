"""Clusters: in the plane, in the similarity matrix, and how strongly their members belong."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from dominantsets.plotting._style import NOISE, PALETTE, Rectangle, axes_or_new, color_of

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
        Objects marked with a cross.

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
    ) -> None:
        self.points = points
        self.labels = labels
        self.memberships = memberships
        self.exemplars = exemplars

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> Self:
        """Draw the clusters that a fitted ``DominantSets`` found in X (PCA to 2 where d > 2).

        Parameters
        ----------
        estimator : DominantSets
            Fitted on X.
        X : array of shape (n, d)
            The features it was fitted on.
        ax : matplotlib Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        ClusterDisplay
            With ``ax_`` and ``figure_`` set.
        """
        check_is_fitted(estimator)
        X = np.asarray(X, dtype=np.float64)
        if X.shape[0] != estimator.labels_.size:
            raise ValueError(
                f"X has {X.shape[0]} rows, the estimator was fitted on {estimator.labels_.size}."
            )
        points = PCA(2, random_state=0).fit_transform(X) if X.shape[1] > 2 else X
        if points.shape[1] == 1:
            points = np.column_stack([points[:, 0], np.zeros(len(points))])
        display = cls(points, estimator.labels_, estimator.probabilities_, estimator.exemplars_).plot(ax=ax)
        if X.shape[1] > 2:
            display.ax_.set(xlabel="first principal component", ylabel="second principal component")
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
        ax.scatter(*self.points[noise].T, s=7, color=NOISE, label="unassigned", linewidths=0, rasterized=many)
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
        ax.scatter(
            *self.points[self.exemplars].T,
            s=55,
            marker="x",
            color="black",
            linewidths=1.4,
            label="exemplar",
        )
        ax.set_xticks([])
        ax.set_yticks([])
        if self.exemplars.size <= len(PALETTE):
            ax.legend(fontsize=7, markerscale=1.2, framealpha=0.7)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


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
        labels, probabilities, objects = estimator.labels_, estimator.probabilities_, None
        if hasattr(estimator, "_copies"):  # an object by its first copy; those of weight 0 are not there
            objects, there = estimator._copies.firsts, estimator._copies.present
            labels, probabilities = labels[there], probabilities[there]
        rank = np.where(labels < 0, labels.max(initial=0) + 1, labels)
        order = np.lexsort((-probabilities, rank))
        if order.size > LARGEST_MATRIX:
            order = order[np.linspace(0, order.size - 1, LARGEST_MATRIX).astype(np.int64)]
        shown = order if objects is None else objects[order]
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
