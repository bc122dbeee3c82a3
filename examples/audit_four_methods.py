"""
Audit the clusters of four methods
==================================

Which of four answers would you trust? ``audit`` asks the same questions of each: is every cluster a dominant
set at its own scale, which objects would move, which clusters are two, and which pairs are one?

The data are 4 round groups of different widths. k-means is asked for 3 and for 6 clusters, DBSCAN and Ward's
method get a parameter that does not suit all groups.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs

from dominantsets import audit

X, y = make_blobs(
    400, centers=[(0, 0), (7, 1), (1, 8), (9, 9)], cluster_std=[0.5, 1.0, 1.2, 0.8], random_state=0
)
methods = {
    "k-means, 3 clusters": KMeans(3, n_init=5, random_state=0),
    "k-means, 6 clusters": KMeans(6, n_init=5, random_state=0),
    "DBSCAN, radius 0.5": DBSCAN(eps=0.5),
    "Ward, 4 clusters": AgglomerativeClustering(4),
}
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), sharex=True, sharey=True)
for axis, (name, method) in zip(axes, methods.items(), strict=True):
    labels = method.fit(X).labels_
    found = audit(X, labels)
    print(f"{name}\n{found}\n")
    axis.scatter(*X.T, c=np.where(labels < 0, np.nan, labels), s=6, cmap="tab10", plotnonfinite=False)
    axis.scatter(*X[labels < 0].T, c="0.75", s=6)
    axis.scatter(*X[found.moves].T, facecolors="none", edgecolors="crimson", s=40, linewidths=0.8)
    axis.set_title(f"{name}\nscore {found.score:.2f}, {found.moves.size} would move", fontsize=9)
    axis.set_xticks([])
    axis.set_yticks([])
figure.tight_layout()
figure.savefig("audit_four_methods.png", dpi=120)
