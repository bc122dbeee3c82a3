"""
New objects, and how much they belong
=====================================

``predict`` places objects that were not fitted, ``transform`` gives the payoff of each against every
cluster, and a payoff above a cluster's threshold means that the object would gain by joining it. Writes
new_objects.png.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dominantsets import DominantSets
from dominantsets.plotting import plt

X, _ = make_blobs(300, centers=[(0, 0), (4, 1), (1, 4)], cluster_std=0.7, random_state=0)
model = DominantSets(3, affinity="sqeuclidean").fit(X)

new = np.array([(0.2, 0.1), (2.0, 0.5), (20.0, 20.0)])
thresholds = [cluster.threshold for cluster in model.clusters_]
for point, label, payoffs in zip(new, model.predict(new), model.transform(new), strict=True):
    print(f"{point} -> {label}; gains by joining: {np.flatnonzero(payoffs > thresholds)}")

# %%
# The best cluster of every place in the plane, and where somebody would join a dominant set (lines).

x, y = np.meshgrid(np.linspace(-3, 7, 200), np.linspace(-3, 7, 200))
grid = np.column_stack([x.ravel(), y.ravel()])
payoffs = model.transform(grid)
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
ax.contourf(x, y, payoffs.argmax(axis=1).reshape(x.shape), levels=[-0.5, 0.5, 1.5, 2.5], alpha=0.25)
for k, threshold in enumerate(thresholds):
    ax.contour(x, y, payoffs[:, k].reshape(x.shape), levels=[threshold], colors="k", linewidths=1)
ax.scatter(*X.T, s=6, color="0.3")
ax.set(title="the cluster of highest payoff, and the dominant sets", xticks=[], yticks=[])
figure.savefig("new_objects.png", dpi=90)

# %%
# Payoffs are features like any others: clusters in front of a classifier, in a pipeline.

halves = X[:, 0] + X[:, 1] > 2.5
pipe = make_pipeline(DominantSets(3, affinity="sqeuclidean"), StandardScaler(), LogisticRegression())
print(f"accuracy from three payoffs: {pipe.fit(X, halves).score(X, halves):.2f}")
