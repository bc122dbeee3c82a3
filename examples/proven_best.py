"""
Proven best: the dominant set that nothing exceeds
==================================================

A local search ends at a local maximum. For features of few dimensions ``global_optimum`` finds the best
dominant set of all and proves that there is none better; ``dominant_sets`` lists all of them. Writes
proven_best.png.
"""

from __future__ import annotations

import numpy as np

from dominantsets import as_similarity, dominant_sets, global_optimum, solve
from dominantsets.plotting import NOISE, Circle, color_of, plt

rng = np.random.default_rng(3)
centers = np.array([(0, 0), (3.2, 0.4), (1.4, 3.0), (6.5, 2.5), (4.8, 4.6)])
X = np.vstack([c + 0.8 * rng.normal(size=(60, 2)) for c in centers])
S = as_similarity(X, "sqeuclidean")
shift = 0.4 * S.offset

# %%
# From the object with the largest sum of similarities, and from wherever the best one is:

print(solve(S, shift=shift))
best = global_optimum(S, shift=shift)
print(best)

# %%
# All of them, with the proof that there is no other:

found = dominant_sets(S, shift=shift)
print(f"{len(found)} dominant sets, complete: {found.complete}")
for one in found:
    print(f"value {one.value:.3f}, {len(one)} members, strict: {one.strict}")

figure, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
ax.scatter(*X.T, s=6, color=NOISE)
for k, one in enumerate(found):
    ax.add_patch(Circle(one.center, one.radius, fill=False, lw=1.6, ec=color_of(k)))
    ax.annotate(f"{one.value:.2f}", one.center, ha="center", bbox={"fc": "w", "ec": color_of(k)})
ax.set(title="all dominant sets, with their values", xticks=[], yticks=[])
ax.set_aspect("equal")
figure.savefig("proven_best.png", dpi=90)
