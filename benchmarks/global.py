"""How long does it take to prove that a dominant set is the best one, and how often is a local answer not?

Run ``python benchmarks/global.py``; it prints tables and writes results/global.json. Two threads, once
compiled. *Planted*: eight Gaussian groups of equal size, so that eight answers nearly tie, at shift 0 (small
dense sets) and at one twentieth of the shift above which f is concave. *Real*: digits and MNIST at places in
four dimensions, newsgroups as unit vectors of 20 dimensions; and the share of 200 random starts from
which the solver ends below the proven best. Each search has 20 s; ``relative_gap`` is the global gap in units
of the largest similarity less f. Newsgroups and MNIST need DOMINANTSETS_DATA.

The order of the search was tuned while these rows were looked at. ``--fresh`` draws four of them anew, with
three other seeds, and writes results/global_fresh.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)

from dominantsets import as_similarity, global_optimum, solve  # noqa: E402

PLANTED = [
    (2, 1_000_000), (4, 100_000), (5, 100_000), (6, 20_000), (8, 10_000), (10, 10_000), (20, 10_000),
    (50, 10_000), (20, 100_000), (50, 100_000),
]  # fmt: skip
SHARES = (0.01, 0.05, 0.2)  # of the shift above which f is concave
STARTS = 200
LIMIT = 20.0  # seconds
FRESH = [(5, 100_000), (8, 10_000), (10, 10_000), (20, 10_000)]
SEEDS = (1, 2, 3)


def planted(n: int, d: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = 4.0 * rng.normal(size=(8, d))
    return centers[rng.integers(8, size=n)] + rng.normal(size=(n, d))


def concave_shift(S: Any) -> float:
    """The shift above which f is concave on the whole simplex, where all objects have the same kappa."""
    rows = S.formula.root * S.rows_of(np.arange(S.n))
    rows = rows - rows.mean(axis=0)
    return float(np.linalg.eigvalsh(rows.T @ rows)[-1]) - S.self_similarity


def measured(S: Any, shift: float) -> dict[str, Any]:
    began = time.perf_counter()
    found = global_optimum(S, shift=shift, max_time=LIMIT, max_nodes=10**8)
    seconds = time.perf_counter() - began
    cluster = found.cluster
    below = 1.0 - solve(S, shift=shift).value / cluster.value
    return {
        "n": S.n,
        "d": S.n_features,
        "shift": shift,
        "members": len(cluster),
        "value": cluster.value,
        "nodes": found.n_nodes,
        "seconds": round(seconds, 3),
        "proven": found.proven,
        # of M - f, the unit in which constants of the similarity do not count
        "relative_gap": found.global_gap / (S.largest() - cluster.threshold),
        "vertex_below": max(0.0, below),
    }


def real() -> Iterator[tuple[str, np.ndarray, str]]:
    from sklearn.datasets import load_digits

    X, _ = load_digits(return_X_y=True)
    yield "digits, 4 dimensions", places(X), "sqeuclidean"
    if "DOMINANTSETS_DATA" not in os.environ:
        return
    from _contest import vectors
    from _real import documents

    yield "newsgroups, 20 dimensions", documents(1)[0], "cosine"
    X = vectors("mnist")[0].astype(np.float32)
    yield "MNIST 10,000, 4 dimensions", places(X[:10_000]), "sqeuclidean"
    yield "MNIST 70,000, 4 dimensions", places(X), "sqeuclidean"


def places(X: np.ndarray) -> np.ndarray:
    return np.asarray(as_similarity(X, "embedding", then="balls").places.at, dtype=np.float64)


def starts_below(S: Any, shift: float, best: float) -> float:
    """The share of random starts that end below the best."""
    some = np.random.default_rng(0).choice(S.n, min(S.n, STARTS), replace=False)
    values = np.array([solve(S, start=int(i), shift=shift).value for i in some])
    return float(np.mean(values < best - 1e-6 * abs(best)))


def say(name: str, row: dict[str, Any]) -> None:
    proof = "proven" if row["proven"] else f"within {row['relative_gap']:.1e}"
    more = f", {row['starts_below']:.0%} of starts end below" if "starts_below" in row else ""
    print(
        f"{name:28} n {row['n']:>9,} d {row['d']:2} members {row['members']:>8,} nodes {row['nodes']:>8,} "
        f"{row['seconds']:7.2f} s {proof}; vertex below by {row['vertex_below']:.1e}{more}",
        flush=True,
    )


def fresh_row(d: int, n: int, seed: int) -> dict[str, Any]:
    row = {"data": "planted", "seed": seed} | measured(as_similarity(planted(n, d, seed), "sqeuclidean"), 0.0)
    say(f"planted, seed {seed}", row)
    return row


def write(name: str, rows: list[dict[str, Any]]) -> None:
    path = Path(__file__).parent / "results" / name
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small sets only, and no file")
    parser.add_argument("--fresh", action="store_true", help="other draws, on which nothing was tuned")
    options = parser.parse_args()
    quick = options.quick
    warnings.simplefilter("ignore")
    measured(as_similarity(planted(500, 2), "sqeuclidean"), 0.0)  # compiles
    if options.fresh:
        write("global_fresh.json", [fresh_row(d, n, seed) for d, n in FRESH for seed in SEEDS])
        return
    rows = []
    for d, n in PLANTED[:1] if quick else PLANTED:
        S = as_similarity(planted(n, d), "sqeuclidean")
        for share in (0.0, 0.05):
            row = {"data": "planted"} | measured(S, share * concave_shift(S))
            say(f"planted, share {share}", row)
            rows.append(row)
    for name, X, affinity in [] if quick else real():
        S = as_similarity(X, affinity)
        for share in SHARES:
            row = {"data": name} | measured(S, share * concave_shift(S))
            row["starts_below"] = starts_below(S, row["shift"], row["value"])
            say(name, row)
            rows.append(row)
    if not quick:
        write("global.json", rows)


if __name__ == "__main__":
    main()
