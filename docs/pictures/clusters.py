"""Draws docs/clusters.png, the README's picture: ``python docs/pictures/clusters.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from dominantsets import DominantSets
from dominantsets.plotting import NOISE, PALETTE, ClusterDisplay, plt


def main() -> None:
    rng = np.random.RandomState(0)
    spreads = [0.6, 0.5, 0.4, 0.7, 0.5]
    centers = [(0, 0), (4.5, 1), (1.5, 4.5), (6, 5.5), (9, 2)]
    X, _ = make_blobs([160, 130, 100, 170, 120], centers=centers, cluster_std=spreads, random_state=1)
    X = np.r_[X, rng.uniform((-3, -3), (12, 8.5), (300, 2))]
    model = DominantSets(n_clusters=5).fit(X)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    labels = KMeans(5, n_init=10, random_state=0).fit_predict(X)
    # the same colours on both sides: match clusters by the objects they share
    shared = np.array([[np.sum((labels == a) & (model.labels_ == b)) for b in range(5)] for a in range(5)])
    labels = linear_sum_assignment(-shared)[1][labels]
    left.scatter(*X.T, s=7, c=np.array(PALETTE)[labels], linewidths=0)
    left.set(title="KMeans: every object must join", xticks=[], yticks=[])
    ClusterDisplay.from_estimator(model, X, ax=right)
    worst = max(c.relative_gap for c in model.clusters_)
    right.set_title(f"dominant sets: noise is left alone (gap ≤ {worst:.0e})")
    handles = [
        plt.Line2D([], [], marker="o", ls="", color=NOISE),
        plt.Line2D([], [], marker="x", ls="", color="k"),
    ]
    right.legend(handles, ["unassigned", "exemplar"], loc="lower right", fontsize=8, framealpha=0.9)
    figure.savefig(Path(__file__).parents[1] / "clusters.png", dpi=110)


if __name__ == "__main__":
    main()
