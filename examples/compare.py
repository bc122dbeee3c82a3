"""
Beside other methods
====================

Four data sets, four methods, with the adjusted Rand index (noise being a class) on each. The last set is
one where KMeans wins. HDBSCAN and dominant sets find the number themselves; KMeans and the Gaussian mixture
are told. Small pictures prove nothing: the benchmarks have hundreds of sets. Writes compare.png.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from dominantsets import DominantSets
from dominantsets.plotting import NOISE, color_of, plt

rng = np.random.default_rng(0)
blobs, y_blobs = make_blobs(
    [150, 150, 150], centers=[(0, 0), (5, 1), (1, 5)], cluster_std=0.7, random_state=0
)
uneven, y_uneven = make_blobs(
    [400, 60, 40], centers=[(0, 0), (6, 0), (6, 4)], cluster_std=[1.6, 0.4, 0.3], random_state=0
)
sets = {
    "blobs and noise": (
        np.vstack([blobs, rng.uniform((-4, -4), (9, 9), (220, 2))]),
        np.r_[y_blobs, np.full(220, -1)],
    ),
    "uneven": (uneven, y_uneven),
    "moons": make_moons(400, noise=0.07, random_state=0),
    "squares side by side": (
        np.vstack([rng.uniform((1.05 * k, 0), (1.05 * k + 1, 1), (200, 2)) for k in range(3)]),
        np.repeat([0, 1, 2], 200),
    ),
}
methods = {
    "DominantSets": lambda k: DominantSets(),
    "HDBSCAN": lambda k: HDBSCAN(min_cluster_size=15, copy=True),
    "KMeans, told": lambda k: KMeans(k, n_init=10, random_state=0),
    "mixture, told": lambda k: GaussianMixture(k, random_state=0),
}
figure, axes = plt.subplots(4, 4, figsize=(9, 9), layout="constrained")
for row, (name, (X, y)) in zip(axes, sets.items(), strict=True):
    row[0].set_ylabel(name)
    for ax, (title, make) in zip(row, methods.items(), strict=True):
        labels = make(len(set(y) - {-1})).fit_predict(X)
        ax.scatter(*X.T, s=3, c=[color_of(k) if k >= 0 else NOISE for k in labels])
        ax.set(title=f"{title}: {adjusted_rand_score(y, labels):.2f}", xticks=[], yticks=[])
figure.savefig("compare.png", dpi=80)
