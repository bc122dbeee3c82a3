"""Draws docs/all.png, all dominant sets of a sample in the plane: ``python docs/pictures/all.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.patches import Circle

from dominantsets import as_similarity, dominant_sets
from dominantsets.plotting import NOISE, PALETTE, plt


def main() -> None:
    rng = np.random.default_rng(3)
    centers = np.array([(0, 0), (3.2, 0.4), (1.4, 3.0), (6.5, 2.5), (4.8, 4.6)])
    X = np.vstack([c + 0.8 * rng.normal(size=(60, 2)) for c in centers])
    S = as_similarity(X, "sqeuclidean")
    found = dominant_sets(S, shift=0.4 * S.offset)
    figure, axis = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
    axis.scatter(*X.T, s=5, color=NOISE, linewidths=0)
    for k, one in enumerate(found):
        axis.add_patch(Circle(one.center, one.radius, fill=False, lw=1.6, ec=PALETTE[k % len(PALETTE)]))
    word = "all, with proof" if found.complete else "perhaps not all"
    axis.set(title=f"{len(found)} dominant sets: {word}", xticks=[], yticks=[])
    axis.set_aspect("equal")
    figure.savefig(Path(__file__).parents[1] / "all.png", dpi=110)


if __name__ == "__main__":
    main()
