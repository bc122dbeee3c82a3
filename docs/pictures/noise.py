"""Draws docs/noise.png, cores beside labels: ``python docs/pictures/noise.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from dominantsets import DominantSets
from dominantsets.plotting import NOISE, color_of, plt


def main():
    X, _ = make_blobs(400, centers=[(0, 0), (5, 1), (1, 5)], cluster_std=0.7, random_state=0)
    X = np.vstack([X, np.random.default_rng(0).uniform((-4, -4), (9, 9), (200, 2))])
    model = DominantSets(3, affinity="sqeuclidean").fit(X)
    figure, axes = plt.subplots(1, 3, figsize=(8.4, 3.1), layout="constrained")
    everybody = DominantSets(3, affinity="sqeuclidean", noise=None).fit(X).labels_
    shown = {
        "core_labels_": model.core_labels_,
        "labels_": model.labels_,
        "labels_ with noise=None": everybody,
    }
    for ax, (title, labels) in zip(axes, shown.items(), strict=True):
        ax.scatter(*X.T, s=5, c=[color_of(k) if k >= 0 else NOISE for k in labels])
        ax.set(title=title, xticks=[], yticks=[])
    figure.savefig(Path(__file__).parents[1] / "noise.png", dpi=100)


if __name__ == "__main__":
    main()
