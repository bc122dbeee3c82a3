"""Pictures. The only module that imports matplotlib."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from dominantsets._checks import missing_extra

try:
    import matplotlib.pyplot as plt
except ModuleNotFoundError as error:  # pragma: no cover - depends on the installation
    raise missing_extra("pictures need", "plot", "matplotlib") from error

# Okabe and Ito's palette: tells apart in print and for colour-blind readers.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
NOISE = "#BBBBBB"


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
        display = cls(points, estimator.labels_, estimator.memberships_, estimator.exemplars_)
        return display.plot(ax=ax)

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
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
        noise = self.labels < 0
        ax.scatter(*self.points[noise].T, s=7, color=NOISE, label="unassigned", linewidths=0)
        for k in range(int(self.labels.max(initial=-1)) + 1):
            inside = self.labels == k
            ax.scatter(
                *self.points[inside].T,
                s=4 + 26 * self.memberships[inside],
                color=PALETTE[k % len(PALETTE)],
                alpha=0.85,
                linewidths=0,
                label=f"cluster {k}",
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
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
