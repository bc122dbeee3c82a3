"""
Rows in batches: a stream
=========================

``partial_fit`` takes rows as they come. After each batch every cluster is a dominant set of all rows seen,
with its certificate. A group that comes up late gets a new label, and the others keep theirs. Writes
stream.png.
"""

from __future__ import annotations

import numpy as np

from dominantsets import DominantSets
from dominantsets.plotting import color_of, plt

rng = np.random.default_rng(0)
centers = np.array([(0, 0), (6, 0), (3, 5), (9, 5)])
model = DominantSets(affinity="sqeuclidean")
figure, axes = plt.subplots(2, 2, figsize=(7, 6), sharex=True, sharey=True, layout="constrained")
for step, ax in enumerate(axes.flat):
    known = centers[: 2 + step // 2 + step % 2]  # a third group from the second batch, a fourth in the last
    batch = known[rng.integers(len(known), size=400)] + 0.8 * rng.normal(size=(400, 2))
    model.partial_fit(batch)
    gap = max(cluster.relative_gap for cluster in model.clusters_)
    print(f"batch {step}: {model.n_clusters_} clusters of {400 * (step + 1)} rows, largest gap {gap:.0e}")
    ax.scatter(*batch.T, s=6, c=[color_of(k) if k >= 0 else "0.7" for k in model.labels_])
    ax.set(title=f"batch {step}: {model.n_clusters_} clusters", xticks=[], yticks=[])
figure.savefig("stream.png", dpi=90)
