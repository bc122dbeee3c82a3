"""Many clusters in memory: default labels beside the dominant sets alone, and beside k-means.

Run ``python benchmarks/many.py [--n 100000] [--clusters 200] [--rounds 3]``; it writes results/many.json.

n × 64 float32: clusters are unit Gaussians about centres of 3 times a unit Gaussian, 20 % of the objects
are a Gaussian with the covariance of all. Each contestant runs in turn, some rounds, on two threads; rows
have the median of the seconds on the clock and of the processor's seconds of all threads: on a machine that
others use, too, the second is what can be compared. ``cores`` is ``assign=None``, ``labels`` the default,
``k-means`` is ``sklearn.cluster.KMeans(K, n_init=1)``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402

from dominantsets import DominantSets  # noqa: E402

HERE = Path(__file__).parent


def planted(n: int, k: int, d: int = 64, noise: float = 0.2) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    centres, y = 3.0 * rng.normal(size=(k, d)), rng.integers(k, size=n)
    X = centres[y] + rng.normal(size=(n, d))
    behind = rng.random(n) < noise
    X[behind] = np.sqrt(10.0) * rng.normal(size=(behind.sum(), d))
    y[behind] = -1
    return X.astype(np.float32), y


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    X, y = planted(args.n, args.clusters)
    DominantSets(3, affinity="sqeuclidean").fit(X[:3_000])  # compiles

    def sets(**options: Any) -> Callable[[], Any]:
        return lambda: DominantSets(args.clusters, affinity="sqeuclidean", **options).fit(X)

    contestants = {
        "cores": sets(assign=None),
        "labels": sets(),
        "k-means": lambda: KMeans(args.clusters, n_init=1, random_state=0).fit(X),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    rows: dict[str, Any] = {}
    for _ in range(args.rounds):
        for name, fit in contestants.items():
            clock, worked = time.perf_counter(), time.process_time()
            labels = fit().labels_
            taken[name].append((time.perf_counter() - clock, time.process_time() - worked))
            rows[name] = {
                "ari": round(adjusted_rand_score(y, labels), 4),
                "noise_recall": round(float((labels[y < 0] < 0).mean()), 4),
            }
    for name, pairs in taken.items():
        seconds, worked = np.median(pairs, axis=0)
        rows[name] |= {"seconds": round(float(seconds), 2), "processor_seconds": round(float(worked), 2)}
        print(name, rows[name])
    result = {"machine": machine(), "n": args.n, "clusters": args.clusters, "rows": rows}
    (HERE / "results" / "many.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
