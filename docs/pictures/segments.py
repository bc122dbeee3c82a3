"""Draws docs/segments.png from pictures that ship with scikit-image: ``python docs/pictures/segments.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from skimage import data
from skimage.segmentation import felzenszwalb, slic

from dominantsets.plotting import plt
from dominantsets.segmentation import segment


def averaged(image: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Each segment in its mean colour."""
    means = np.array([image[labels == k].mean(axis=0) for k in np.unique(labels)]) / 255.0
    _, dense = np.unique(labels, return_inverse=True)
    return means[dense.reshape(labels.shape)]


def main() -> None:
    images = {"coffee": data.coffee(), "astronaut": data.astronaut(), "rocket": data.rocket()}
    columns = ("image", "dominant sets, exact", "slic", "felzenszwalb")
    figure, axes = plt.subplots(3, 4, figsize=(10, 6.6), layout="constrained")
    for row, image in zip(axes, images.values(), strict=True):
        pictures = [
            image,
            averaged(image, segment(image, 6, smooth=2.0, position=0.2).labels),
            averaged(image, slic(image, n_segments=6)),
            averaged(image, felzenszwalb(image, scale=1000, sigma=1.0, min_size=2000)),
        ]
        for ax, picture in zip(row, pictures, strict=True):
            ax.imshow(picture)
            ax.set(xticks=[], yticks=[])
    for ax, name in zip(axes[0], columns, strict=True):
        ax.set_title(name, fontsize=10)
    figure.savefig(Path(__file__).parents[1] / "segments.png", dpi=68)


if __name__ == "__main__":
    main()
