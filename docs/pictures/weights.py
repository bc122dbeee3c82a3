"""Draws docs/weights.png, copies and weights: ``python docs/pictures/weights.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.patches import Circle

from dominantsets import as_similarity, solve
from dominantsets.plotting import NOISE, PALETTE, plt


def main() -> None:
    rng = np.random.default_rng(1)
    X = np.round(2.0 * np.vstack([rng.normal(size=(250, 2)), rng.normal((5, 2), size=(150, 2))])) / 2.0
    rows, counts = np.unique(X, axis=0, return_counts=True)
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    for axis, data, weights in ((axes[0], X, None), (axes[1], rows, counts)):
        found = solve(as_similarity(data, "sqeuclidean", offset=400.0), shift=2_000.0, sample_weight=weights)
        sizes = 10.0 if weights is None else 6.0 * weights
        axis.scatter(*data.T, s=sizes, color=NOISE, linewidths=0)
        axis.add_patch(Circle(found.center, found.radius, fill=False, lw=2, ec=PALETTE[0]))
        name = "rows" if weights is None else "rows with weights"
        axis.set(title=f"{len(data)} {name}: value {found.value:.8g}", xticks=[], yticks=[])
        axis.set_aspect("equal")
    figure.savefig(Path(__file__).parents[1] / "weights.png", dpi=110)


if __name__ == "__main__":
    main()
