"""Sets around seeds: how long does one take, and who is in it?

Run ``python benchmarks/seeds.py``; it prints and writes results/seeds.json. Two threads, once compiled;
seconds of ``solve(S, seeds=...)`` when the similarity is made. *Planted*: 50 groups in d dimensions; the
guaranteed shift of the others and a hundredth of it, and how many members are of the seed's own group.
*Words*: 50,000 GloVe vectors under cosine (DOMINANTSETS_DATA), two shifts without a guarantee.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)

from dominantsets import as_similarity, solve  # noqa: E402
from dominantsets.similarity.expansion import expandable  # noqa: E402

WORDS = ("physics", "guitar", "paris", "monday")


def timed(S: Any, seed: int, **options: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    found = solve(S, seeds=seed, **options)
    return found, round(time.perf_counter() - began, 3)


def planted(n: int, d: int, groups: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    y = rng.integers(groups, size=n)
    S = as_similarity(5.0 * rng.normal(size=(groups, d))[y] + rng.normal(size=(n, d)), "sqeuclidean")
    needed = expandable(S).top_outside(np.array([0]))
    rows = []
    for share in (1.0, 0.01):
        found, seconds = timed(S, 0, seed_shift="auto" if share == 1.0 else share * needed)
        own = float(np.mean(y[found.members] == y[0]))
        kept = bool(0 in found.members)
        rows.append(
            {
                "n": n,
                "d": d,
                "share": share,
                "members": len(found),
                "own_group": own,
                "kept": kept,
                "seconds": seconds,
            }
        )
    return rows


def words() -> list[dict[str, Any]]:
    folder = Path(os.environ["DOMINANTSETS_DATA"]) / "vectors" / "glove6b_100d_top50k.npz"
    with np.load(folder, allow_pickle=False) as data:
        X = next(data[name] for name in data.files if data[name].ndim == 2)
        names = next(data[name] for name in data.files if data[name].ndim == 1)
    S = as_similarity(np.asarray(X, dtype=np.float64), "cosine")
    rows = []
    for word in WORDS:
        seed = int(np.flatnonzero(names == word)[0])
        for shift in (4.0, 16.0):
            found, seconds = timed(S, seed, seed_shift=shift)
            order = np.argsort(-found.weights)[:12]
            members = [str(names[i]) for i in found.members[order]]
            kept = bool(seed in found.members)
            rows.append(
                {
                    "word": word,
                    "seed_shift": shift,
                    "members": len(found),
                    "kept": kept,
                    "heaviest": members,
                    "seconds": seconds,
                }
            )
    return rows


def main() -> None:
    warnings.simplefilter("ignore")
    planted(2_000, 2, 4)  # compiles
    rows = planted(20_000, 10, 50) + planted(1_000_000, 8, 50) + planted(1_000_000, 64, 50)
    rows += words() if "DOMINANTSETS_DATA" in os.environ else []
    for row in rows:
        print(row, flush=True)
    path = Path(__file__).parent / "results" / "seeds.json"
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
