"""Draws docs/global.png, the boxes of a search for the best set: ``python docs/pictures/global.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.patches import Circle, Polygon

from dominantsets import as_similarity, global_optimum, solve
from dominantsets.plotting import NOISE, PALETTE, plt
from dominantsets.solvers import boxes


def main() -> None:
    rng = np.random.default_rng(5)
    centers, sizes = np.array([(0, 0), (6, 1), (2.5, 5), (7.5, 6), (3.5, 2)]), (230, 200, 210, 260, 100)
    X = np.vstack(
        [
            c + s * rng.normal(size=(m, 2))
            for c, m, s in zip(centers, sizes, (1, 0.9, 1, 1.1, 2.5), strict=True)
        ]
    )
    S = as_similarity(X, "sqeuclidean")
    shift = 60.0 * S.offset / 10
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    look, kept = boxes.BoxedProblem.look, {}

    def noted(self: boxes.BoxedProblem, box: boxes.Box, best: float) -> None:
        before = box.low.copy(), box.high.copy()
        look(self, box, best)
        kept["problem"] = self
        if box.bound <= best:
            seen.append(before)

    boxes.BoxedProblem.look = noted  # type: ignore[method-assign]
    found = global_optimum(S, shift=shift)
    local = solve(S, shift=shift)
    # from the axes of the search back to the plane: least squares over the objects, which is exact here
    turn, *_ = np.linalg.lstsq(np.c_[kept["problem"].Y, np.ones(len(X))], X, rcond=None)
    figure, axis = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
    axis.scatter(*X.T, s=4, color=NOISE, linewidths=0)
    for low, high in seen:
        corners = np.array(
            [(low[0], low[1], 1), (high[0], low[1], 1), (high[0], high[1], 1), (low[0], high[1], 1)]
        )
        axis.add_patch(Polygon(corners @ turn, fill=False, lw=0.4, ec="0.35"))
    for cluster, color, name in (
        (local, PALETTE[1], "from the vertex"),
        (found.cluster, PALETTE[0], "proven best"),
    ):
        axis.add_patch(
            Circle(
                cluster.center,
                cluster.radius,
                fill=False,
                lw=2,
                ec=color,
                label=f"{name}: {cluster.value:.6g}",
            )
        )
    axis.legend(loc="upper left", fontsize=8)
    axis.set(
        title=f"{found.n_nodes} boxes, gap {found.global_gap / found.cluster.value:.0e} of the value",
        xticks=[],
        yticks=[],
    )
    axis.set_aspect("equal")
    figure.savefig(Path(__file__).parents[1] / "global.png", dpi=110)


if __name__ == "__main__":
    main()
