"""
Groups within groups
====================

The hierarchy of the digits, and a cut of it: ``cut(k)`` gives any number of clusters of the same tree,
nested in each other. Writes hierarchy.png.
"""

from __future__ import annotations

from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSetHierarchy
from dominantsets.plotting import HierarchyDisplay

X, y = load_digits(return_X_y=True)
tree = DominantSetHierarchy(affinity="diffusion").fit(X)
print(f"{tree.n_groups_} groups stand alone, {tree.n_leaves_} are there at the finest level")
for k in (2, 5, 10, tree.n_groups_):
    print(f"cut({k}): ARI {adjusted_rand_score(y, tree.cut(k)):.2f}")
ax = HierarchyDisplay.from_estimator(tree, n_clusters=10).ax_
ax.set_title("Digits, by random walks on the graph of neighbours: cut(10) in colour", fontsize=10)
ax.figure.savefig("hierarchy.png", dpi=90)
