"""Draws docs/capped.png, sets of at least m members: ``python docs/pictures/capped.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dominantsets import as_similarity, solve
from dominantsets.plotting import NOISE, PALETTE, plt


def main() -> None:
    rng = np.random.default_rng(2)
    X = np.vstack([0.5 * rng.normal(size=(50, 2)), 1.5 * rng.normal(size=(200, 2)) + np.array([3.0, 1.0])])
    S = as_similarity(X, "sqeuclidean")
    shift = 0.5 * float(np.square(X - X.mean(axis=0)).sum(axis=1).mean()) - S.offset
    shift += 8.0  # a small kappa, and small sets
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
    for axis, m in zip(axes, (1, 40, 120), strict=True):
        found = solve(S, shift=shift, min_members=m)
        most = found.weights >= (1.0 - 1e-6) / m
        axis.scatter(*X.T, s=6, color=NOISE, linewidths=0)
        axis.scatter(*X[found.members].T, s=18, facecolors="none", edgecolors=PALETTE[0], linewidths=0.8)
        axis.scatter(*X[found.members[most]].T, s=18, color=PALETTE[0], linewidths=0)
        axis.set(title=f"min_members={m}: {len(found)} members", xticks=[], yticks=[])
    figure.savefig(Path(__file__).parents[1] / "capped.png", dpi=110)


if __name__ == "__main__":
    main()
