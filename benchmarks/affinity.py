"""affinity="auto" and its candidates beside others, with the number of clusters told and not told.

Constants of the choice come from ``shapes/`` and generated curves with seed 0; seeds 1 and 2 were not chosen
on. Objects that a reference calls noise are not counted, of several references the best counts (adjusted Rand
index). Times are those of one fit each, all in one process.

    python benchmarks/affinity.py            # writes results/affinity.json, and docs/affinity.png
    python benchmarks/affinity.py --quick    # generated curves of one seed, without writing
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

import _methods
import _real
from _curves import curves
from _machine import machine
from dominantsets import DominantSets

HERE = Path(__file__).parent
RESULT, PICTURE = HERE / "results" / "affinity.json", HERE.parent / "docs" / "affinity.png"
CHOSEN, OTHER, REPORTED = "chosen on", "not chosen on", "reported"
Labels = Callable[[np.ndarray, int | None], np.ndarray]


def ours(affinity: str, **params: Any) -> Labels:
    return lambda X, k: DominantSets(k, affinity=affinity, affinity_params=params or None).fit(X).labels_


METHODS: dict[str, tuple[Labels, bool, bool]] = {  # labels, whether it can be told the number, and must be
    "auto": (ours("auto"), True, False),
    "sqeuclidean": (ours("sqeuclidean"), True, False),
    "path": (ours("path", min_samples=5), True, False),
    "diffusion": (ours("diffusion"), True, False),
    "KMeans": (lambda X, k: KMeans(k, n_init=10, random_state=0).fit_predict(X), True, True),
    "GMM": (lambda X, k: GaussianMixture(k, n_init=3, random_state=0).fit_predict(X), True, True),
    "spectral": (
        lambda X, k: SpectralClustering(k, affinity="nearest_neighbors", random_state=0).fit_predict(X),
        True,
        True,
    ),
    "HDBSCAN": (lambda X, _: HDBSCAN(min_cluster_size=15, copy=True).fit_predict(X), False, False),
}

for _name in ("Genie K", "lumbermark K", "EVoC"):  # where they are installed, for the benchmark only
    _rival = _methods.METHODS[_name]
    if _rival.installed:
        METHODS[_name.removesuffix(" K")] = _rival.fit, _rival.told, _rival.told


def data_sets(quick: bool) -> Iterator[tuple[str, str, np.ndarray, list[np.ndarray]]]:
    for seed in (1,) if quick else (0, 1, 2):
        for name, X, y in curves(seed):
            yield (OTHER if seed else CHOSEN), f"{name} ({seed})", X, [y]
    if _real.available() and not quick:
        for name in _real.shape_names():
            X, labellings = _real.shape(name)[:2]
            yield CHOSEN, name, np.asarray(X, dtype=float), labellings
    X, y = load_digits(return_X_y=True)
    yield REPORTED, "digits", X, [y]


def agreement(labellings: list[np.ndarray], found: np.ndarray) -> float:
    return max(adjusted_rand_score(y[y >= 0], found[y >= 0]) for y in labellings)


def picture(answers: list[tuple[str, np.ndarray, np.ndarray, float]]) -> None:
    """The generated curves that were not chosen on, with the labels of auto, the number not told."""
    import matplotlib.pyplot as plt

    columns = 6
    rows = -(-len(answers) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(1.5 * columns, 1.6 * rows))
    for axis in axes.flat:
        axis.axis("off")
    for axis, (name, X, labels, score) in zip(axes.flat, answers, strict=False):
        some = np.random.default_rng(0).permutation(len(X))[:1_000]
        colours = np.where(labels[some] < 0, 7, labels[some] % 7)
        axis.scatter(X[some, 0], X[some, 1], c=colours, cmap="Set1", vmin=0, vmax=8, s=1, linewidths=0)
        axis.set_title(f"{name[:-4]}: {score:.2f}", fontsize=7)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=75)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for k in (3, None):  # compiled before anything is timed
        for method in ("auto", "path"):
            METHODS[method][0](make_blobs(300, random_state=0)[0], k)
    rows, answers = list[dict[str, Any]](), []
    for half, name, X, labellings in data_sets(args.quick):
        known = int(np.unique(labellings[0][labellings[0] >= 0]).size)
        row: dict[str, Any] = {"half": half, "name": name, "n": len(X), "d": X.shape[1], "k": known}
        for method, (labels, can, must) in METHODS.items():
            for told in [True] if must else [False] if not can else [True, False]:
                began = time.perf_counter()
                found = labels(X, known if told else None)
                seconds = time.perf_counter() - began
                score = agreement(labellings, found)
                count = int(np.unique(found[found >= 0]).size)
                row[f"{method}, {'K' if told else 'no K'}"] = [round(score, 3), count, round(seconds, 2)]
                if method == "auto" and not told and name.endswith("(1)"):
                    answers.append((name, X, found, score))
        rows.append(row)
        print(row, flush=True)
    content = {"machine": machine(), "means": means(rows), "rows": rows}
    for line in content["means"]:
        print(line)
    if args.quick:
        return
    parts = [f' "machine": {json.dumps(content["machine"])}']
    for part in ("means", "rows"):
        parts.append(f' "{part}": [\n  ' + ",\n  ".join(map(json.dumps, content[part])) + "\n ]")
    RESULT.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    if answers:
        picture(answers)


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The mean agreement and seconds of every method, for each half; shapes apart."""
    groups = {
        "curves, " + CHOSEN: [row for row in rows if row["half"] == CHOSEN and "(" in row["name"]],
        "curves, " + OTHER: [row for row in rows if row["half"] == OTHER],
        "shapes, " + CHOSEN: [row for row in rows if row["half"] == CHOSEN and "(" not in row["name"]],
    }
    out = []
    for group, some in groups.items():
        for method in some[0] if some else ():
            if "K" in method.split(", ")[-1]:
                scores = [row[method][0] for row in some]
                seconds = [row[method][2] for row in some]
                out.append(
                    {
                        "group": group,
                        "method": method,
                        "sets": len(some),
                        "ari": round(float(np.mean(scores)), 3),
                        "seconds": round(float(np.mean(seconds)), 2),
                    }
                )
    return out


if __name__ == "__main__":
    main()
