"""Which constant a in shift = a · n · (peak - mean similarity) keeps clusters the same as n grows?

Run ``python benchmarks/shift.py``; it prints a table and writes results/shift.json.

Five families of generated data, n = 10³, 10⁴, 10⁵, the true number of clusters given; printed are the
ARI of the objects in clusters and, in brackets, their share. Large supports are slow for the
first-order solvers, so the table is made with a short plain-NumPy fixed-point iteration that fits
low-rank similarities (linearise the convex part, project onto the simplex); at n = 10³ its labels
are compared with the library's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)
from sklearn.datasets import make_blobs  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402

from dominantsets import DominantSets  # noqa: E402

CONSTANTS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
SIZES = (1_000, 10_000, 100_000)


def families(n: int) -> dict[str, tuple[str, np.ndarray, np.ndarray]]:
    rng = np.random.RandomState(0)
    flat = make_blobs(n, centers=5, n_features=2, random_state=3)
    X, y = make_blobs(int(0.8 * n), centers=8, n_features=10, random_state=0)
    noise = rng.uniform(X.min(axis=0), X.max(axis=0), (n - len(X), 10))
    noisy = np.r_[X, noise], np.r_[y, np.full(len(noise), -1)]
    labels = rng.randint(5, size=n)
    close = rng.normal(size=(5, 20))[labels] + 0.5 * rng.normal(size=(n, 20)), labels
    uneven = make_blobs([n // 2, n // 4, n // 8, n // 8], n_features=3, random_state=7)
    return {
        "5 blobs, d=2": ("sqeuclidean", *flat),
        "8 blobs, d=10, 20 % noise": ("sqeuclidean", *noisy),
        "5 Gaussians, d=20": ("sqeuclidean", *close),
        "5 Gaussians, d=20, cosine": ("cosine", *close),
        "4 blobs of 1/2 to 1/8, d=3": ("sqeuclidean", *uneven),
    }


def low_rank(X: np.ndarray, affinity: str) -> tuple[np.ndarray, np.ndarray, float, float]:
    """U, b, self-similarity and peak - mean of a_ij = u_i·u_j + b_i + b_j + constant."""
    n = len(X)
    if affinity == "cosine":
        U = X / np.linalg.norm(X, axis=1, keepdims=True)
        mean = (np.square(U.sum(axis=0)).sum() - n) / (n * (n - 1.0)) + 1.0
        return U, np.zeros(n), 2.0, 2.0 - mean
    X = X - X.mean(axis=0)
    norms = np.square(X).sum(axis=1)
    return np.sqrt(2.0) * X, -norms, 4.0 * norms.max(), 2.0 * norms.sum() / (n - 1.0)


def one_cluster(U: np.ndarray, b: np.ndarray, kappa: float) -> np.ndarray:
    """Fixed point of w = U'x, x = max(0, U w + b - tau) / kappa, from the vertex start: members."""
    w = U[np.argmax(len(U) * b + U @ U.sum(axis=0))]
    for _ in range(400):
        s = U @ w + b
        best = np.sort(s[s > s.max() - kappa])[::-1]
        taus = (np.cumsum(best) - kappa) / np.arange(1, best.size + 1)
        tau = taus[np.flatnonzero(best > taus)[-1]]
        members = np.flatnonzero(s > tau)
        before, w = w, (s[members] - tau) @ U[members] / kappa
        if np.abs(w - before).max() <= 1e-9 * np.abs(w).max():
            break
    return members


def cluster(X: np.ndarray, affinity: str, k: int, constant: float) -> np.ndarray:
    U, b, own, spread = low_rank(X, affinity)
    kappa = own + constant * len(X) * spread
    labels, left = np.full(len(X), -1), np.arange(len(X))
    for label in range(k):
        if not left.size:
            break
        members = one_cluster(U[left], b[left], kappa)
        labels[left[members]] = label
        left = np.delete(left, members)
    return labels


def main() -> None:
    rows: list[dict[str, Any]] = []
    for constant in CONSTANTS:
        for n in SIZES:
            for name, (affinity, X, y) in families(n).items():
                k = len(set(y[y >= 0]))
                labels = cluster(X, affinity, k, constant)
                inside = labels >= 0
                row = {
                    "a": constant,
                    "n": n,
                    "data": name,
                    "ari": round(adjusted_rand_score(y[inside], labels[inside]), 3),
                    "share": round(float(inside.mean()), 3),
                }
                if n == 1_000 and constant == 0.01:
                    ours = DominantSets(k, affinity=affinity).fit(X).labels_
                    row["agreement_with_library"] = round(adjusted_rand_score(ours, labels), 3)
                rows.append(row)
    names = list(dict.fromkeys(r["data"] for r in rows))
    for name in names:
        print(name)
        for constant in CONSTANTS:
            found = [r for r in rows if r["data"] == name and r["a"] == constant]
            print(
                f"  a = {constant:<6}",
                "  ".join(f"{r['ari']:.2f} ({r['share']:.2f})" for r in found),
            )
    worst = {c: min(r["ari"] for r in rows if r["a"] == c) for c in CONSTANTS}
    print("smallest ARI of each constant:", worst)
    result = {"machine": machine(), "smallest_ari": worst, "rows": rows}
    path = Path(__file__).parent / "results" / "shift.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
