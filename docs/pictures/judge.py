"""Draws docs/judge.png from benchmarks/results/judge.json: ``python docs/pictures/judge.py``."""

from __future__ import annotations

import json
from pathlib import Path

from dominantsets.plotting import PALETTE, plt

DOCS = Path(__file__).parents[1]
PARTS = {"other seeds": "random sets", "shapes": "shapes", "tables": "tables"}
CALLS = {
    "given": "DominantSets(k)",
    "KMeans(k)": "KMeans(k)",
    "GaussianMixture(k)": "GaussianMixture(k)",
    "AgglomerativeClustering(k)": "Ward(k)",
    "SpectralClustering(k)": "Spectral(k)",
    "unknown": "DominantSets()",
    "HDBSCAN(5)": "HDBSCAN(5)",
    "HDBSCAN(15)": "HDBSCAN(15)",
}


def main() -> None:
    found = json.loads((DOCS.parent / "benchmarks" / "results" / "judge.json").read_text("utf-8"))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8.6, 3.8), layout="constrained", width_ratios=[1.35, 1]
    )
    places = [k + (k >= 5) for k in range(len(CALLS))]  # k unknown stands apart
    for j, (part, name) in enumerate(PARTS.items()):
        values = [found["calls"][key].get(part, float("nan")) for key in CALLS]
        heights = [place + 0.27 * (j - 1) for place in places]
        left.barh(heights, values, 0.25, color=PALETTE[j], label=name)
    left.set(yticks=places, yticklabels=CALLS.values(), xlim=(0, 1), xlabel="mean adjusted Rand index")
    left.invert_yaxis()
    left.legend(loc="lower right", fontsize=8)
    left.set_title("Data sets not used for tuning", fontsize=10)
    right.plot([0, 1], [0, 1], color="0.75", lw=1)
    for row in found["reliability"]:
        right.scatter(row["mean expected"], row["mean found"], s=30, color=PALETTE[0], zorder=3)
        below = (0, -12) if row["mean found"] > row["mean expected"] else (0, 6)
        at = row["mean expected"], row["mean found"]
        right.annotate(f"{row['fits']} fits", at, xytext=below, textcoords="offset points", fontsize=7)
    right.set(xlim=(0, 1), ylim=(0, 1), xlabel="expected agreement", ylabel="mean adjusted Rand index found")
    right.set_aspect("equal")
    right.set_title("selection_.expected_agreement", fontsize=10)
    figure.savefig(DOCS / "judge.png", dpi=110)


if __name__ == "__main__":
    main()
