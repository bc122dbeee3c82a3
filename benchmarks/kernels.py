"""What do kernels of features cost beside their own matrix? The reason why few objects keep it.

Run ``python benchmarks/kernels.py``; it prints a table and writes results/kernels.json. Seconds from the
features to the answer, the best of a few rounds in turn in one process on one thread: ``affinity="rbf"`` and
the like, against the matrix made with SciPy's ``cdist`` and NumPy, the making included, and passed as
"precomputed". ``fit`` is ``DominantSets(5, shift=s, assign=None).fit`` and ``solve`` is
``solve(S, shift=s)``, with the same s (three times the mean degree over n) and gamma on both
sides. ``default`` is ``DominantSets(5).fit`` as users call it, which chooses gamma and the shift (not the
same on both sides: a matrix has no offset), and refines.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)
from scipy.spatial.distance import cdist  # noqa: E402
from sklearn.datasets import make_blobs  # noqa: E402

from dominantsets import DominantSets, as_similarity, solve  # noqa: E402

SIZES = (1_000, 2_000, 5_000)
DIMENSIONS = (10, 384)
AFFINITIES = ("euclidean", "rbf", "laplacian")
ROUNDS, ENOUGH_S = 5, 10.0  # no further round once all together took so long


def matrix(X: Any, affinity: str, number: float) -> Any:
    """The matrix that a user would make, for a gamma or an offset."""
    if affinity == "euclidean":
        A = number - cdist(X, X)
    else:
        A = np.exp(-number * cdist(X, X, "sqeuclidean" if affinity == "rbf" else "cityblock"))
    np.fill_diagonal(A, 0.0)
    return A


def seconds(*runs: Callable[[], Any]) -> list[float]:
    """The best time of each, in turn."""
    best, begin = [float("inf")] * len(runs), time.perf_counter()
    for _ in range(ROUNDS):
        for k, run in enumerate(runs):
            start = time.perf_counter()
            run()
            best[k] = min(best[k], time.perf_counter() - start)
        if time.perf_counter() - begin > ENOUGH_S:
            break
    return best


def row(affinity: str, n: int, d: int) -> dict[str, Any]:
    X, _ = make_blobs(n, centers=5, n_features=d, random_state=0, cluster_std=4.0)
    S: Any = as_similarity(X, affinity)
    number = S.offset if affinity == "euclidean" else S.gamma
    params = {"offset" if affinity == "euclidean" else "gamma": number}
    shift = 3.0 * float(S.degrees().mean()) / n
    S = None  # its matrix, too
    out: dict[str, Any] = {"affinity": affinity, "n": n, "d": d}
    fits = [
        lambda: DominantSets(5, affinity=affinity, affinity_params=params, shift=shift, assign=None).fit(X),
        lambda: DominantSets(5, affinity="precomputed", shift=shift, assign=None).fit(
            matrix(X, affinity, number)
        ),
    ]
    solves = [
        lambda: solve(as_similarity(X, affinity, **params), shift=shift),
        lambda: solve(matrix(X, affinity, number), shift=shift),
    ]
    defaults = [
        lambda: DominantSets(5, affinity=affinity).fit(X),
        lambda: DominantSets(5, affinity="precomputed").fit(matrix(X, affinity, number)),
    ]
    one, two = fits[0](), fits[1]()
    out["labels_equal"] = bool((one.labels_ == two.labels_).all())
    for name, runs in (("fit", fits), ("solve", solves), ("default", defaults)):
        features, precomputed = seconds(*runs)
        out[f"{name}_s"] = round(features, 4)
        out[f"{name}_matrix_s"] = round(precomputed, 4)
        out[f"{name}_ratio"] = round(features / precomputed, 2)
    print(out, flush=True)
    return out


def main() -> None:
    for affinity in AFFINITIES:  # compiles
        row(affinity, 300, 5)
    rows = [row(affinity, n, d) for affinity in AFFINITIES for n in SIZES for d in DIMENSIONS]
    path = Path(__file__).parent / "results" / "kernels.json"
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
