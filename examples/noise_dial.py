"""
Noise: cores, labels, and the dial between them
===============================================

The dominant sets themselves are the cores: what is certain. Labels go further, by evidence. ``noise=`` says
how far. Writes noise_dial.png.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets
from dominantsets.plotting import NOISE, color_of, plt

X, y = make_blobs(400, centers=[(0, 0), (5, 1), (1, 5)], cluster_std=0.7, random_state=0)
X = np.vstack([X, np.random.default_rng(0).uniform((-4, -4), (9, 9), (200, 2))])
y = np.r_[y, np.full(200, -1)]

figure, axes = plt.subplots(2, 2, figsize=(7.2, 6.4), layout="constrained")
for ax, noise in zip(axes.flat, ["cores", "auto", 0.1, None], strict=True):
    model = DominantSets(3, affinity="sqeuclidean", noise=noise).fit(X)
    ari = adjusted_rand_score(y, model.labels_)
    print(f"noise={noise!r}: {np.mean(model.labels_ < 0):.0%} without a label, ARI {ari:.2f}")
    ax.scatter(*X.T, s=6, c=[color_of(k) if k >= 0 else NOISE for k in model.labels_])
    ax.set(title=f"noise={noise!r}: {np.mean(model.labels_ < 0):.0%} without a label", xticks=[], yticks=[])
figure.savefig("noise_dial.png", dpi=90)

# %%
# A third of the objects is noise here, and no picture but the second was told or found so. The cores are in
# ``core_labels_`` whatever ``noise`` says, so that both can be shown side by side; the sentence of
# ``selection_`` says why noise was left out, or why not.

print(DominantSets(3, affinity="sqeuclidean").fit(X).selection_.noise)
