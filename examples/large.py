"""
Half a million objects
======================

Features never become a matrix: a dominant set of them is d + 1 numbers, and a step is one pass over the
rows. Every cluster has a certificate over all objects. Writes large.png.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets
from dominantsets.plotting import plt

rng = np.random.default_rng(0)
n, d, k = 500_000, 16, 12
centers = 4 * rng.normal(size=(k, d))
y = rng.integers(-k // 3, k, size=n).clip(-1)  # a quarter is noise
X = np.where((y >= 0)[:, None], centers[y] + rng.normal(size=(n, d)), 4.5 * rng.normal(size=(n, d)))

began = time.perf_counter()
model = DominantSets(affinity="sqeuclidean").fit(X)
print(f"{n:,} objects, {model.n_clusters_} clusters in {time.perf_counter() - began:.1f} s")
print(f"ARI {adjusted_rand_score(y, model.labels_):.3f}, {np.mean(model.labels_ < 0):.0%} noise")
gaps = np.array([cluster.relative_gap for cluster in model.clusters_])
margins = np.array([cluster.margin / cluster.value for cluster in model.clusters_])
print(f"largest gap {gaps.max():.0e}, smallest margin {margins.min():.1e} of the value")

# %%
# A dominant set here is a ball: who lies within its radius is in it. Distances from the centre of the first
# cluster:

ball = model.clusters_[0]
distances = np.linalg.norm(X - ball.center, axis=1)
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for label, title in (
    (model.labels_ == 0, "its label"),
    (model.labels_ > 0, "other labels"),
    (model.labels_ < 0, "noise"),
):
    ax.hist(distances[label], bins=np.linspace(0, 40, 160), histtype="step", label=title)
ax.axvline(ball.radius, color="k", lw=1)
ax.annotate("radius", (ball.radius, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom")
ax.set(xlabel="distance from the centre of cluster 0", ylabel="objects", yscale="log")
ax.legend()
figure.savefig("large.png", dpi=90)
