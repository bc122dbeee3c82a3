"""Outlier scores beside rivals of scikit-learn, on sets with labelled outliers (DOMINANTSETS_DATA).

Run ``python benchmarks/outliers.py``; it prints the area under the ROC curve of every set, and writes
results/outliers.json. Columns are z-scored, sets have at most 10,000 rows, and nothing was chosen on them.
``DominantSets().outlier_scores_`` is read after a default fit.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)
from sklearn.ensemble import IsolationForest  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors  # noqa: E402

from _real import folder  # noqa: E402
from dominantsets import DominantSets  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "outliers.json"
LARGEST = 10_000


def nearest(X: np.ndarray) -> np.ndarray:
    return NearestNeighbors(n_neighbors=5).fit(X).kneighbors()[0][:, -1]


SCORES = {
    "DominantSets()": lambda X: DominantSets().fit(X).outlier_scores_,
    "distance to the 5th neighbor": nearest,
    "isolation forest": lambda X: -IsolationForest(random_state=0).fit(X).score_samples(X),
    "local outlier factor": lambda X: -LocalOutlierFactor().fit(X).negative_outlier_factor_,
}


def main() -> None:
    warnings.simplefilter("ignore")
    rows = {}
    for path in sorted((folder() / "outliers").glob("*.npz")):
        with np.load(path) as file:
            X, y = np.asarray(file["X"], dtype=np.float64), np.asarray(file["y"]).ravel()
        some = np.sort(np.random.RandomState(0).permutation(len(X))[:LARGEST])
        X, y = X[some], y[some]
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-300)
        rows[path.stem] = {
            name: round(float(roc_auc_score(y, score(X))), 3) for name, score in SCORES.items()
        }
        print(f"{path.stem:24}", *rows[path.stem].values(), flush=True)
    means = {name: round(float(np.mean([row[name] for row in rows.values()])), 3) for name in SCORES}
    print("mean", means)
    content = {"machine": machine(), "mean": means, "sets": rows}
    RESULTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
