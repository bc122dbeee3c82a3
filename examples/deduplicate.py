"""
Deduplication: keep one of each
===============================

`deduplicate` finds groups of near copies and keeps one object of each. No threshold is set: how near a copy
must be depends on what else surrounds it. Every drop has a reason. Digits of which 120 come several times,
a little changed. Writes deduplicate.png.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from dominantsets import deduplicate
from dominantsets.plotting import plt

rng = np.random.default_rng(0)
digits = load_digits().data
copied = rng.choice(len(digits), 120, replace=False)
origin = np.r_[np.arange(len(digits)), np.repeat(copied, rng.integers(1, 5, size=120))]
X = digits[origin]
X[len(digits) :] += 0.3 * rng.normal(size=(len(X) - len(digits), 64))  # pixels have values from 0 to 16

found = deduplicate(X, "euclidean")
print(found)
lost = len(digits) - len(np.unique(origin[found.kept]))
left = found.kept.size - len(np.unique(origin[found.kept]))
print(f"pictures of which nothing was kept: {lost}; copies that are left: {left}")

# %%
# The four largest groups, with the number of the original above each picture.

largest = sorted(found.groups, key=len, reverse=True)[:4]
figure, axes = plt.subplots(4, 6, figsize=(6, 4.2), layout="constrained")
for row, group in zip(axes, largest, strict=True):
    for ax in row:
        ax.axis("off")
    for ax, i in zip(row, group, strict=False):
        ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
        ax.set_title(f"#{origin[i]}", fontsize=8)
figure.savefig("deduplicate.png", dpi=90)
