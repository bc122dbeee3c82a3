"""
First steps: clusters, noise and certificates
=============================================

Five groups of different width among uniform noise. Neither the number of groups nor the share of noise is
told. Writes first_steps.png.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets
from dominantsets.plotting import ClusterDisplay

centers = [(0, 0), (4.5, 1), (1.5, 4.5), (6, 5.5), (9, 2)]
X, y = make_blobs(
    [160, 130, 100, 170, 120], centers=centers, cluster_std=[0.6, 0.5, 0.4, 0.7, 0.5], random_state=1
)
noise = np.random.default_rng(0).uniform((-3, -3), (12, 8.5), (300, 2))
X, y = np.vstack([X, noise]), np.r_[y, np.full(300, -1)]

model = DominantSets().fit(X)

# %%
# ``labels_`` has -1 for noise. ``selection_`` says what was done and why: a row for each cluster, the
# decision about noise, and what to try next where something is in doubt.

print(f"{model.n_clusters_} clusters, {np.mean(model.labels_ < 0):.0%} noise")
print(f"agreement with the truth, noise being a class: {adjusted_rand_score(y, model.labels_):.2f}")
print(model.selection_)

# %%
# Each cluster is a dominant set with a certificate, computed again from the answer: the gap is 0 where no
# weight can be moved for a gain, and a positive margin means that nobody outside would gain by joining.

for cluster in model.clusters_:
    print(cluster)

# %%
# Objects in the colour of their cluster, the larger the more typical; crosses are the exemplars.

display = ClusterDisplay.from_estimator(model, X)
display.ax_.set_title("neither the number nor the noise was told")
display.figure_.savefig("first_steps.png", dpi=90)
