"""
Rows in batches: a stream
=========================

``partial_fit`` takes rows as they come. A batch is labelled by the rule of the last fit; rows of a new group
cause a fit of all rows. The new group gets a new label, and the others keep theirs. Without a batch,
``partial_fit()`` fits all rows. Writes stream.png.
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
    print(f"batch {step}: {model.n_clusters_} clusters, from a fit of {model.similarity_.n} rows")
    ax.scatter(*batch.T, s=6, c=[color_of(k) if k >= 0 else "0.7" for k in model.labels_])
    ax.set(title=f"batch {step}: {model.n_clusters_} clusters", xticks=[], yticks=[])
figure.savefig("stream.png", dpi=90)

model.partial_fit()
gap = max(cluster.relative_gap for cluster in model.clusters_)
print(f"all {model.similarity_.n} rows: {model.n_clusters_} clusters, largest relative gap {gap:.0e}")
