"""
Deduplication: keep one of each
===============================

Near copies are small groups that are very much alike, and everything else stands alone. Dominant sets of a
graph that only links what is nearly the same are the copies; the exemplar of each is kept. Digits of which
120 come several times, a little changed. Writes deduplicate.png.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import radius_neighbors_graph

from dominantsets import DominantSets
from dominantsets.plotting import plt

rng = np.random.default_rng(0)
digits = load_digits().data
copied = rng.choice(len(digits), 120, replace=False)
origin = np.r_[np.arange(len(digits)), np.repeat(copied, rng.integers(1, 5, size=120))]
X = digits[origin]
X[len(digits) :] += 0.5 * rng.normal(size=(len(X) - len(digits), 64))  # pixels have values from 0 to 16

near = radius_neighbors_graph(X, radius=9.0, mode="distance")
near.data = np.exp(-np.square(near.data / 9.0))  # the nearer to 1, the more alike
model = DominantSets(affinity="precomputed", shift=0.0, min_cluster_size=2, assign=None).fit(near)
keep = np.ones(len(X), dtype=bool)
keep[model.labels_ >= 0] = False
keep[model.exemplars_] = True
extra = len(X) - len(digits)
print(f"{len(X)} pictures, {extra} of them copies; {model.n_clusters_} groups, {keep.sum()} kept")
lost = len(digits) - len(np.unique(origin[keep]))
left = keep.sum() - len(np.unique(origin[keep]))
print(f"pictures of which nothing was kept: {lost}; copies that are left: {left}")

# %%
# The four largest groups. Copies of one picture are together; where two people wrote nearly the same, they
# are, too.

largest = sorted(model.clusters_, key=len, reverse=True)[:4]
figure, axes = plt.subplots(4, 6, figsize=(6, 4.2), layout="constrained")
for row, cluster in zip(axes, largest, strict=True):
    for ax in row:
        ax.axis("off")
    for ax, i in zip(row, cluster.members, strict=False):
        ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
        ax.set_title(f"#{origin[i]}", fontsize=8)
figure.savefig("deduplicate.png", dpi=90)
