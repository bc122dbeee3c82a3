"""Draws docs/seeds.png, sets around a seed: ``python docs/pictures/seeds.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dominantsets import as_similarity, solve
from dominantsets.plotting import NOISE, PALETTE, plt
from dominantsets.similarity.expansion import expandable


def main() -> None:
    rng = np.random.default_rng(0)
    centers = np.array([(0, 0), (5, 0.5), (2, 4.5), (7, 5)])
    X = np.vstack([c + 0.9 * rng.normal(size=(60, 2)) for c in centers])
    S, seed = as_similarity(X, "rbf", gamma=0.35), 7
    needed = expandable(S).top_outside(np.array([seed]))
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
    for axis, share in zip(axes, (1.0, 0.2, 0.05), strict=True):
        found = solve(S, seeds=seed, seed_shift=share * needed)
        axis.scatter(*X.T, s=6, color=NOISE, linewidths=0)
        size = 8 + 60 * found.weights / found.weights[found.members != seed].max()
        axis.scatter(*X[found.members].T, s=np.minimum(size, 70), color=PALETTE[0], linewidths=0)
        axis.scatter(*X[seed], marker="x", s=70, color="k")
        name = "guaranteed" if share == 1.0 else f"{share:g} of it"
        axis.set(title=f"seed_shift {name}: {len(found)} members", xticks=[], yticks=[])
    figure.savefig(Path(__file__).parents[1] / "seeds.png", dpi=110)


if __name__ == "__main__":
    main()
