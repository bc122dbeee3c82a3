"""
Which affinity: what auto takes
===============================

``affinity="auto"`` looks at a sample and takes what suits it: balls, ellipses, or chains of small steps.
``choice_`` is its table. Nothing is told here, not even the number. Writes shapes.png.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons

from dominantsets import DominantSets
from dominantsets.plotting import NOISE, color_of, plt

rng = np.random.default_rng(0)
sets = {
    "blobs": make_blobs(500, centers=[(0, 0), (6, 0), (3, 5)], random_state=0)[0],
    "moons": make_moons(500, noise=0.06, random_state=0)[0],
    "rings": make_circles(500, factor=0.4, noise=0.05, random_state=0)[0],
    "stripes": np.vstack([rng.normal(size=(250, 2)) * [4, 0.5] + [0, 2.5 * k] for k in range(3)]),
}
figure, axes = plt.subplots(2, 2, figsize=(7, 6), layout="constrained")
for ax, (name, X) in zip(axes.flat, sets.items(), strict=True):
    model = DominantSets().fit(X)
    print(f"{name}: {model.n_clusters_} clusters by {model.affinity_!r}")
    ax.scatter(*X.T, s=6, c=[color_of(k) if k >= 0 else NOISE for k in model.labels_])
    ax.set(title=f'{name}: "{model.affinity_}"', xticks=[], yticks=[])
figure.savefig("shapes.png", dpi=90)

# %%
# The table of the last set, with the sentence that decided.

print(model.choice_)
