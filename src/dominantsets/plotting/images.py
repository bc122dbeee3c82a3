"""Segmented images."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dominantsets.plotting._style import PALETTE, plt


class SegmentationDisplay:
    """An image with its segments: their borders over the picture, beside their mean colours.

    Parameters
    ----------
    image : ndarray of shape (h, w) or (h, w, 3 or 4)
        The picture.
    labels : ndarray of shape (h, w)
        The segment of each pixel.

    Attributes
    ----------
    axes_ : tuple of two matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Their figure.
    """

    def __init__(self, image: NDArray[Any], labels: NDArray[Any]) -> None:
        self.image = image
        self.labels = labels

    @classmethod
    def from_segmentation(cls, segmentation: Any, image: Any, *, axes: Any = None) -> Self:
        """Draw what ``segment`` found.

        Parameters
        ----------
        segmentation : Segmentation
            From ``segment(image, ...)``.
        image : array
            The picture that was segmented.
        axes : two matplotlib Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        SegmentationDisplay
            With ``axes_`` and ``figure_`` set.
        """
        image = np.asarray(image)
        if image.shape[:2] != segmentation.labels.shape:
            raise ValueError(
                f"the image has {image.shape[:2]} pixels, the segmentation {segmentation.labels.shape}."
            )
        return cls(image, segmentation.labels).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw, on ``axes`` or on a new figure.

        Parameters
        ----------
        axes : two matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        SegmentationDisplay
            Itself.
        """
        if axes is None:
            axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")[1]
        picture = self.image if self.image.ndim == 3 else np.repeat(self.image[..., None], 3, axis=2)
        picture = picture[..., :3].astype(np.float64)
        if self.image.dtype.kind in "bu":
            picture /= max(1, np.iinfo(self.image.dtype).max) if self.image.dtype.kind == "u" else 1
        axes[0].imshow(picture)
        levels = np.arange(self.labels.max() + 1) + 0.5
        axes[0].contour(self.labels, levels=levels, colors=[PALETTE[1]], linewidths=1.2)
        means = np.zeros((int(self.labels.max()) + 1, 3))
        for k in range(len(means)):
            means[k] = picture[self.labels == k].mean(axis=0) if (self.labels == k).any() else 0.0
        axes[1].imshow(means[self.labels])
        axes[0].set_title("borders of the segments", fontsize=10)
        axes[1].set_title(f"{np.unique(self.labels).size} segments in their mean colours", fontsize=10)
        for ax in axes:
            ax.set(xticks=[], yticks=[])
        self.axes_, self.figure_ = tuple(axes), axes[0].figure
        return self
