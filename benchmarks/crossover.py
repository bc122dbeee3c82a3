"""From which size on is the working set faster than pairwise Frank-Wolfe? The choice of ``algorithm="auto"``.

Run ``python benchmarks/crossover.py``; it prints a table and writes results/crossover.json. Milliseconds for
one cluster, the mean of the first K peeled, from a prepared similarity to a relative gap of 1e-10; both in
one run, the better of two rounds. Neighbour graphs (15 neighbours of blobs in 5 dimensions) at shifts of 0,
0.5 and 0.9 of the mean degree; dense Gaussian similarities at 0, their mean and 0.005 n; the same from
features, whose columns are computed, at 0 and their mean.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)

from sklearn.datasets import make_blobs  # noqa: E402 (after the threads are pinned)

from dominantsets import as_similarity, peel  # noqa: E402

K = 4
LIMIT_S = 20.0
GRAPHS = (500, 1_000, 2_000, 5_000, 20_000, 100_000)
DENSE = (500, 2_000, 8_000)
KERNELS = (2_000, 20_000, 50_000)


def row(kind: str, S: Any, shift: float) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": kind, "n": S.n, "shift": round(shift, 3)}
    degrees = S.degrees()
    for algorithm in ("working-set", "pairwise"):
        best, found = float("inf"), []
        for _ in range(2):
            peeling = peel(S, K, shift=shift, algorithm=algorithm, max_time=LIMIT_S)
            begin = time.perf_counter()
            found = list(peeling)
            best = min(best, (time.perf_counter() - begin) / max(1, len(found)))
        name = algorithm.replace("-", "_")
        out[f"{name}_ms"] = round(1e3 * best, 2)
        out[f"{name}_gap"] = f"{max(c.relative_gap for c in found):.0e}"
        out["largest_support"] = max(len(c) for c in found)
    out["pairwise_over_working_set"] = round(out["pairwise_ms"] / out["working_set_ms"], 2)
    out["mean_degree"] = round(float(degrees.mean()), 3)
    print(out, flush=True)
    return out


def main() -> None:
    rows = []
    for n in GRAPHS:
        X, _ = make_blobs(n, centers=20, n_features=5, random_state=0)
        S = as_similarity(X, "nearest_neighbors")
        degree = float(S.degrees().mean())
        rows += [row("graph", S, share * degree) for share in (0.0, 0.5, 0.9)]
    for n in DENSE:
        X, _ = make_blobs(n, centers=5, n_features=20, random_state=0, cluster_std=4.0)
        S = as_similarity(as_similarity(X, "rbf").toarray())
        mean = float(S.degrees().mean()) / n
        rows += [row("dense", S, shift) for shift in (0.0, mean, 0.005 * n)]
    for n in KERNELS:
        X, _ = make_blobs(n, centers=5, n_features=20, random_state=0, cluster_std=4.0)
        S = as_similarity(X, "rbf")
        rows += [row("rbf features", S, shift) for shift in (0.0, float(S.degrees().mean()) / n)]
    path = Path(__file__).parent / "results" / "crossover.json"
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
