"""
No cliffs: groups along the shift
=================================

The shift is the resolution. As it rises groups grow and merge; each lives over an interval, and the longer
the interval, the more the group is there. Nothing jumps from fifty groups to three between two settings:
the tree has every cut, and each cut is nested in the next. Writes along_the_shift.png.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSetHierarchy, DominantSets
from dominantsets.plotting import plt

pairs = [(0, 0), (2.5, 0), (12, 0), (12, 2.5)]  # two pairs of groups
X, y = make_blobs(400, centers=pairs, cluster_std=0.45, random_state=0)
tree = DominantSetHierarchy(affinity="sqeuclidean").fit(X)
level = tree.similarity_.offset  # M of the similarity M - D²: the shift counts from -M
kappas = np.geomspace(20, 1e6, 120)
cuts = [tree.cut(shift=kappa - level) for kappa in kappas]
numbers = [len(np.unique(labels)) for labels in cuts]
for number in sorted(set(numbers)):
    inside = kappas[np.array(numbers) == number]
    ari = adjusted_rand_score(y, cuts[numbers.index(number)])
    print(f"{number:3} groups from {inside[0]:9.0f} to {inside[-1]:9.0f}, ARI with the four groups {ari:.2f}")

figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.step(kappas, numbers, where="mid")
ax.set(xscale="log", xlabel="shift + M", ylabel="groups", ylim=(0.5, 5), yticks=[1, 2, 4])
ax.set(title="four groups stay for a long time, then two, then one")
figure.savefig("along_the_shift.png", dpi=90)

# %%
# ``shift="auto"``, the default, reads the same tree, and gives every group the shift at which it stays the
# same longest:

print(DominantSets(affinity="sqeuclidean").fit(X).selection_)
