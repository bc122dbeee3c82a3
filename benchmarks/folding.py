"""Equal rows folded into weights: where is it cheaper?

Run ``python benchmarks/folding.py``; it prints and writes results/folding.json. Two threads, once compiled.
Every row of the data occurs several times. *plain*: a solver that sees all rows; *folding*: finding the
different ones (NumPy's ``unique`` of whole rows); *weighted*: the same set from these, with their counts as
weights.
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

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)

from dominantsets import as_similarity, solve  # noqa: E402
from dominantsets.similarity.solving import fold  # noqa: E402

SHIFT = 100.0
SETTINGS = (
    ("sqeuclidean", 1_000_000, 10_000, 10),
    ("sqeuclidean", 1_000_000, 10_000, 2),
    ("cosine", 200_000, 10_000, 64),
    ("rbf", 10_000, 1_000, 5),
    ("rbf", 20_000, 2_000, 5),
    ("laplacian", 20_000, 2_000, 5),
)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    out = work()
    return out, time.perf_counter() - began


def compare(affinity: str, n: int, different: int, d: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(different, d))[rng.integers(0, different, n)]
    S = as_similarity(X, affinity)
    # the solver that "auto" means for so many rows, which sees all of them
    named = "auto" if fold(S) is None else "pairwise" if n < 20_000 else "working-set"
    plain, slow = timed(lambda: solve(S, shift=SHIFT, algorithm=named))
    whole = X.view(np.dtype((np.void, X.itemsize * d))).ravel()
    (_, first, counts), sorting = timed(lambda: np.unique(whole, return_index=True, return_counts=True))
    few = as_similarity(
        X[first], affinity, **({"gamma": S.gamma} if affinity in ("rbf", "laplacian") else {})
    )
    weighted, fast = timed(lambda: solve(few, shift=SHIFT, sample_weight=counts))
    return {
        "affinity": affinity,
        "n": n,
        "different": int(first.size),
        "features": d,
        "plain_s": round(slow, 3),
        "folding_s": round(sorting, 3),
        "weighted_s": round(fast, 3),
        "times_faster": round(slow / (sorting + fast), 1),
        "values_differ_by": f"{abs(plain.value / weighted.value - 1.0):.1e}",
    }


def main() -> None:
    for affinity in ("sqeuclidean", "cosine", "rbf", "laplacian"):  # compile
        compare(affinity, 1_000, 100, 5)
    rows = [compare(*setting) for setting in SETTINGS]
    for row in rows:
        print(row)
    path = Path(__file__).parent / "results" / "folding.json"
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
