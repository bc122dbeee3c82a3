"""Rows in batches against all of them at once: how long, and how good?

Run ``python benchmarks/stream.py``; it prints and writes results/stream.json. Two threads, once compiled. 20
groups in d dimensions, rows in batches of 10,000 (``partial_fit``, and at the end a fit of all rows by
``partial_fit()``, which is timed apart) and in one (``fit``, the faster of one before and one after the
stream), both under sqeuclidean; for 100,000 rows also a fit of all rows seen after every batch. *Any* order:
every batch has rows of all groups. *Sorted*: about two groups per batch. The adjusted Rand index of a stream,
with the truth and with the fit, is that of the labels that each batch got when it came, and of all rows by
``predict`` before the fit at the end. *Gap*: the largest relative gap of any cluster after that fit,
recomputed over all rows by plain NumPy.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)
from sklearn.metrics import adjusted_rand_score  # noqa: E402

from dominantsets import DominantSets  # noqa: E402

GROUPS = 20
REFITTED = 100_000  # rows up to which they are fitted after every batch too


def planted(n: int, d: int, in_order: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(GROUPS, size=n)
    y = np.sort(y) if in_order else y
    return 4.0 * rng.normal(size=(GROUPS, d))[y] + rng.normal(size=(n, d)), y


def worst_gap(X: Any, model: DominantSets) -> float:
    """The largest relative gap over all rows, from members and weights alone."""
    top, worst = model.similarity_.offset, 0.0
    for cluster in model.clusters_:
        inner, weights = X[cluster.members], cluster.weights
        center = weights @ inner
        spread = weights @ np.square(inner - center).sum(axis=1)
        payoffs = top - np.square(X - center).sum(axis=1) - spread  # of copies: M on the diagonal
        payoffs[cluster.members] -= (top + cluster.shift) * weights
        f = float(weights @ payoffs[cluster.members])
        worst = max(worst, float(payoffs.max() - f) / max(f, f + cluster.shift))
    return worst


def fitted(X: Any) -> tuple[DominantSets, float]:
    began = time.perf_counter()
    whole = DominantSets(affinity="sqeuclidean").fit(X)
    return whole, time.perf_counter() - began


def compared(n: int, d: int, batch: int, in_order: bool, forget: float = 0.0) -> dict[str, Any]:
    X, y = planted(n, d, in_order)
    model, labels, seconds = DominantSets(affinity="sqeuclidean"), [], []
    whole, at_once = fitted(X)
    for first in range(0, n, batch):
        began = time.perf_counter()
        labels.append(model.partial_fit(X[first : first + batch], forget=forget).labels_)
        seconds.append(time.perf_counter() - began)
    came, late = np.concatenate(labels), model.predict(X)
    fits = model.similarity_.n
    began = time.perf_counter()
    model.partial_fit()
    last = time.perf_counter() - began
    at_once = min(at_once, fitted(X)[1])
    again = sum(fitted(X[: first + batch])[1] for first in range(0, n, batch)) if n <= REFITTED else None
    return {
        "rows": n,
        "features": d,
        "batch": batch,
        "order": "sorted" if in_order else "any",
        "forget": forget,
        "rows_of_the_last_fit": fits,
        "fit_seconds": round(at_once, 3),
        "stream_seconds": round(sum(seconds), 3),
        "ratio": round(sum(seconds) / at_once, 2),
        "fit_at_the_end_seconds": round(last, 3),
        "refits_seconds": again and round(again, 3),
        "median_batch_seconds": round(float(np.median(seconds)), 4),
        "batches_above_a_tenth_of_a_fit": int(np.sum(np.array(seconds) > 0.1 * at_once)),
        "fit_clusters": whole.n_clusters_,
        "stream_clusters": model.n_clusters_,
        "fit_ari": round(adjusted_rand_score(y, whole.labels_), 4),
        "stream_ari_as_they_came": round(adjusted_rand_score(y, came), 4),
        "stream_ari_late": round(adjusted_rand_score(y, late), 4),
        "ari_with_the_fit_as_they_came": round(adjusted_rand_score(whole.labels_, came), 4),
        "ari_with_the_fit_late": round(adjusted_rand_score(whole.labels_, late), 4),
        "ari_with_the_fit_at_the_end": round(adjusted_rand_score(whole.labels_, model.predict(X)), 4),
        "fit_gap": worst_gap(X, whole),
        "stream_gap": worst_gap(X, model) if not forget else None,
    }


def main() -> None:
    warnings.simplefilter("ignore")
    compared(4_000, 4, 1_000, False)  # compiles
    cases = [
        (100_000, 4, False, 0.0),
        (100_000, 4, False, 0.1),
        (100_000, 4, True, 0.0),
        (100_000, 16, False, 0.0),
        (100_000, 16, True, 0.0),
        (1_000_000, 4, False, 0.0),
        (1_000_000, 16, False, 0.0),
    ]
    rows: list[dict[str, Any]] = []
    path = Path(__file__).parent / "results" / "stream.json"
    for n, d, in_order, forget in cases:
        rows.append(compared(n, d, 10_000, in_order, forget))
        print(rows[-1], flush=True)
        path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
