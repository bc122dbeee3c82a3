"""Are soft labels calibrated? The share of objects that are right, by the largest number of their row.

Run ``python benchmarks/soft.py --seeds 20000:20120``; it prints a table and writes results/soft.json. Sets
are those of ``_drawn.py`` with two groups or more, and ``DominantSets(k)`` is fitted with all defaults. A
column stands for the group that most of its objects are of, the last one for noise; an object is right if it
is of that group. Nothing was chosen on these seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)

import _drawn  # noqa: E402
from dominantsets import DominantSets  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "soft.json"
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
MIXTURES = ("sqeuclidean", "ellipses", "cosine")


def largest_and_right(X: np.ndarray, y: np.ndarray) -> tuple[str, np.ndarray, np.ndarray]:
    """The affinity, the largest number of each row, and whether the object is of that column's group."""
    model = DominantSets(np.unique(y[y >= 0]).size).fit(X)
    soft = model.soft_labels_
    column, right = soft.argmax(axis=1), np.zeros(len(X), dtype=bool)
    for k in range(soft.shape[1]):
        mine = np.flatnonzero(column == k)
        if mine.size:
            group = -1 if k == model.n_clusters_ else np.bincount(y[mine] + 1).argmax() - 1
            right[mine] = y[mine] == group
    return model.affinity_, soft.max(axis=1), right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="20000:20120", help="from:to")
    seeds = range(*map(int, parser.parse_args().seeds.split(":")))
    warnings.simplefilter("ignore")
    found = defaultdict(list)
    fits = 0
    for seed in seeds:
        _, X, y = _drawn.draw(seed)
        if np.unique(y[y >= 0]).size < 2:
            continue
        affinity, largest, right = largest_and_right(X, y)
        fits += 1
        found["posteriors" if affinity in MIXTURES else "votes"].append((largest, right))
        print(seed, affinity, round(float(right.mean()), 3), flush=True)
    out: dict = {"machine": machine(), "seeds": f"{seeds.start} to {seeds.stop - 1}", "fits": fits}
    for name, pairs in found.items():
        largest, right = (np.concatenate(part) for part in zip(*pairs, strict=True))
        rows = []
        for low, high in pairwise(EDGES):
            some = (largest >= low) & (largest < high)
            if some.any():
                row = {"objects": int(some.sum()), "mean": round(float(largest[some].mean()), 3)}
                rows.append(
                    {"from": low, "to": min(high, 1.0), **row, "right": round(float(right[some].mean()), 3)}
                )
        out[name] = rows
    RESULTS.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
