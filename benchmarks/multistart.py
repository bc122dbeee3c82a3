"""Many starts at once: fewer passes than clusters, and what threads and batches gain.

Run ``python benchmarks/multistart.py``; it prints tables and writes results/multistart.json.

1. As the number K of clusters grows from 4 to 64 (20,000 objects of 10 features, K round classes): passes,
   time and ARI of multi-start with 2 K starts a pass, against plain peeling.
2. The starts of one pass on one and on two threads, same work (pairwise Frank-Wolfe on a dense matrix).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)
from sklearn.datasets import make_blobs  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402

from dominantsets import as_similarity, multistart, peel  # noqa: E402


def passes_rows() -> list[dict[str, Any]]:
    rows = []
    for k in (4, 8, 16, 32, 64):
        X, y = make_blobs(20_000, centers=k, n_features=10, cluster_std=1.0, random_state=0)
        S = as_similarity(X, "sqeuclidean")
        shift = 0.05 / k * S.n * S.offset / 4
        begin = time.perf_counter()
        peeling = peel(S, k, shift=shift)
        list(peeling)
        peel_s = time.perf_counter() - begin
        for how in ("uniform", "dpp"):
            begin = time.perf_counter()
            run = multistart(S, k, n_starts=2 * k, sampling=how, shift=shift, random_state=0)
            list(run)
            seconds = time.perf_counter() - begin
            inside, core = run.labels >= 0, peeling.labels >= 0
            rows.append(
                {
                    "K": k,
                    "sampling": how,
                    "passes": run.n_passes,
                    "clusters": run.n_clusters,
                    "seconds": round(seconds, 3),
                    "ari": round(adjusted_rand_score(y[inside], run.labels[inside]), 3),
                    "share": round(float(inside.mean()), 3),
                    "peeling_clusters": peeling.n_clusters,
                    "peeling_seconds": round(peel_s, 3),
                    "peeling_ari": round(adjusted_rand_score(y[core], peeling.labels[core]), 3),
                }
            )
            print(rows[-1], flush=True)
    return rows


def threads_row() -> dict[str, Any]:
    X, _ = make_blobs(3_000, centers=8, n_features=10, random_state=0)
    S = as_similarity(as_similarity(X, "rbf").toarray())
    seconds = {}
    for jobs in (1, 2, 1, 2, 1, 2):
        run = multistart(
            S, n_starts=32, shift=20.0, algorithm="pairwise", start="barycenter", n_jobs=jobs, random_state=0,
            tol=0.0, max_iter=6_000,
        )  # fmt: skip
        begin = time.perf_counter()
        next(run)
        taken = time.perf_counter() - begin
        seconds[jobs] = min(taken, seconds.get(jobs, np.inf))
    return {
        "starts": 32,
        "one_thread_s": round(seconds[1], 3),
        "two_threads_s": round(seconds[2], 3),
        "speed_up": round(seconds[1] / seconds[2], 2),
    }


def main() -> None:
    X, _ = make_blobs(2_000, centers=3, random_state=0)
    for affinity in ("sqeuclidean", "rbf"):  # compiled before the clock starts
        list(multistart(as_similarity(X, affinity), 2, n_starts=3, shift=5.0, random_state=0))
    result = {"machine": machine(), "passes": passes_rows(), "threads": threads_row()}
    print(result["threads"], flush=True)
    path = Path(__file__).parent / "results" / "multistart.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
