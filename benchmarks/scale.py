"""How far data go without the matrix: 10⁴ to 10⁷ objects, graphs, kernels; and small n against the rest.

Run ``python benchmarks/scale.py [--quick]``; it prints tables and writes results/scale.json and scale.png
(the picture needs matplotlib: the extra "plot").

1. Five Gaussian classes, K = 5 peeled to a relative gap of 1e-10 by the default solver (the dual): time,
   passes, share assigned, classes hit, ARI of the cores, in multiples of one product ``X @ w`` in the same
   run; growth of the resident memory at n = 10⁶.
2. n = 20,000, features to labels, against just forming the 20,000² matrix with BLAS into a buffer that has
   been touched before.
3. Text (newsgroups 1 of the paper, 20-dimensional features; needs DOMINANTSETS_DATA), K = 5: the default
   against the paper's solvers, ours and compiled, at t = 1000 on the dense matrix, in turns.
4. A dense matrix of 10,000 objects, K = 5, in multiples of one ``A.sum(axis=0)``; and the input checks.
5. Neighbour graphs (15 neighbours, points in the plane) of 10⁵ and 10⁶ nodes, 1,000 clusters at shift 0: time
   a cluster.
6. rbf and laplacian features, n = 100,000, d = 32, K = 20, shift = mean similarity: time, growth of the
   memory, error of the degrees.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)
from sklearn.datasets import make_blobs  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402

from dominantsets import DominantSets, as_similarity, peel  # noqa: E402

K = 5


def gaussians(n: int, d: int, apart: bool, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Five classes; in the plane well separated, where supports are largest."""
    rng = np.random.default_rng(0)
    centers = (
        rng.normal(size=(K, d)) if not apart else 8.0 * np.array([(0, 0), (1, 0), (0, 1), (1, 1), (2, 0.5)])
    )
    y = rng.integers(K, size=n)
    X = np.empty((n, d), dtype=dtype)
    for start in range(0, n, 10**6):
        part = slice(start, start + 10**6)
        X[part] = centers[y[part]] + (1.0 if apart else 0.5) * rng.normal(size=(len(y[part]), d))
    return X, y


def anonymous_kib() -> int:
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


class Watch:
    """Largest growth of anonymous memory while it runs, in MB, sampled every few milliseconds."""

    def __enter__(self) -> Watch:
        self._before = self._peak = anonymous_kib()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._done.wait(0.005):
            self._peak = max(self._peak, anonymous_kib())

    def __exit__(self, *args: object) -> None:
        self._done.set()
        self._thread.join()
        self.growth_mb = (self._peak - self._before) / 1024


def timed(work: Callable[[], Any], rounds: int = 1) -> tuple[float, Any]:
    best, result = np.inf, None
    for _ in range(rounds):
        begin = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - begin)
    return best, result


def large_rows(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    rows = []

    def by_size(S: Any) -> float:
        return 0.005 * S.n * S.offset

    for name, affinity, d, apart, rule in (
        ("cosine, shift 0.01 n", "cosine", 20, False, lambda S: 0.01 * S.n),
        ("cosine, shift 30", "cosine", 20, False, lambda S: 30.0),
        ("sqeuclidean, shift 0.005 n M", "sqeuclidean", 20, False, by_size),
        (
            "sqeuclidean in the plane, shift 0.005 n M",
            "sqeuclidean",
            2,
            True,
            lambda S: 0.005 * S.n * S.offset,
        ),
    ):
        for n in sizes:
            dtype = np.float32 if n == 10**7 else np.float64
            X, y = gaussians(n, d, apart, dtype)
            w = np.random.default_rng(1).normal(size=d).astype(dtype)
            product_s, _ = timed(lambda X=X, w=w: X @ w, 5)
            with Watch() as watch:
                begin = time.perf_counter()
                S = as_similarity(X, affinity)
                peeling = peel(S, K, shift=rule(S))
                clusters = list(peeling)
                seconds = time.perf_counter() - begin
            inside = peeling.labels >= 0
            hit = {int(np.bincount(y[c.members]).argmax()) for c in clusters}
            rows.append(
                {
                    "what": name,
                    "n": n,
                    "dtype": np.dtype(dtype).name,
                    "seconds": round(seconds, 3),
                    "products": round(seconds / product_s, 1),
                    "passes": [c.n_iter for c in clusters],
                    "largest_relative_gap": f"{max(c.relative_gap for c in clusters):.0e}",
                    "all_strict": all(c.strict is True for c in clusters),
                    "largest_support": max(len(c) for c in clusters),
                    "share": round(float(inside.mean()), 3),
                    "classes_hit": len(hit),
                    "ari_of_cores": round(adjusted_rand_score(y[inside], peeling.labels[inside]), 3),
                    "growth_mb": round(watch.growth_mb, 1),
                }
            )
            print(rows[-1], flush=True)
            del X, S, peeling, clusters
    return rows


def against_the_matrix() -> dict[str, Any]:
    n = 20_000
    X, _ = gaussians(n, 20, False, np.float64)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    buffer = np.zeros((n, n))
    matrix_s, _ = timed(lambda: np.dot(U, U.T, out=buffer), 3)
    ours_s, model = timed(lambda: DominantSets(K, affinity="cosine", shift=0.01 * n, assign=None).fit(X), 5)
    return {
        "n": n,
        "form_matrix_s": round(matrix_s, 3),
        "features_to_labels_s": round(ours_s, 4),
        "ratio": round(matrix_s / ours_s, 1),
        "largest_relative_gap": f"{max(c.relative_gap for c in model.clusters_):.0e}",
    }


def text() -> dict[str, Any] | None:
    if "DOMINANTSETS_DATA" not in os.environ:
        print("newsgroups: skipped, DOMINANTSETS_DATA is not set")
        return None
    from dominantsets.studies.experiments.newsgroups import features

    X, _ = features(1, seed=0)
    S = as_similarity(X, "cosine")
    dense = as_similarity(S.toarray())
    shift = 30.0  # cosine + 31 off the diagonal, what the paper's tables show
    candidates = {
        "fw": {"algorithm": "fw"},
        "pairwise-V": {"algorithm": "pairwise"},
        "pairwise-B": {"algorithm": "pairwise", "start": "barycenter"},
        "away-V": {"algorithm": "away"},
        "away-B": {"algorithm": "away", "start": "barycenter"},
    }
    work = {
        name: lambda options=options: list(peel(dense, K, shift=shift, tol=0.0, max_iter=1_000, **options))
        for name, options in candidates.items()
    }
    work["ours"] = lambda: list(peel(as_similarity(X, "cosine"), K, shift=shift))
    best: dict[str, tuple[float, Any]] = {}
    for _ in range(25):  # in turns, so that a slow phase of the machine meets them all
        for name, job in work.items():
            seconds, clusters = timed(job)
            if name not in best or seconds < best[name][0]:
                best[name] = seconds, clusters
    rows = {
        name: {
            "milliseconds": round(1e3 * seconds, 2),
            "largest_relative_gap": f"{max(c.relative_gap for c in clusters):.0e}",
        }
        for name, (seconds, clusters) in best.items()
    }
    fastest = min(seconds for name, (seconds, _) in best.items() if name != "ours")
    return {"n": S.n, "best_of_25": rows, "fastest_over_ours": round(fastest / best["ours"][0], 2)}


def dense_rows() -> list[dict[str, Any]]:
    X, _ = make_blobs(10_000, centers=K, n_features=20, random_state=0, cluster_std=4.0)
    A = as_similarity(X, "rbf").toarray()
    as_similarity(A)
    sum_s, _ = timed(lambda: A.sum(axis=0), 5)
    checks_s, S = timed(lambda: as_similarity(A), 3)
    rows = [{"what": "input checks", "seconds": round(checks_s, 3), "sums": round(checks_s / sum_s, 2)}]
    for name, shift in (("shift = mean similarity", float(A.mean())), ("supports near 800", 20.0)):
        for algorithm in ("auto", "working-set"):
            seconds, clusters = timed(
                lambda shift=shift, algorithm=algorithm: list(peel(S, K, shift=shift, algorithm=algorithm)),
                3,
            )
            rows.append(
                {
                    "what": f"{name}, {algorithm}",
                    "seconds": round(seconds, 3),
                    "sums": round(seconds / sum_s, 2),
                    "supports": [len(c) for c in clusters],
                    "largest_relative_gap": f"{max(c.relative_gap for c in clusters):.0e}",
                }
            )
    return rows


def graph_rows(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    rows = []
    for n in sizes:
        X = np.sqrt(n) * np.random.default_rng(0).random((n, 2))  # as dense at every n
        made_s, S = timed(lambda X=X: as_similarity(X, "nearest_neighbors", n_neighbors=15, n_jobs=2))
        list(peel(S, 3))
        with Watch() as watch:
            clusters = peel(S, 1_000)
            first_s, first = timed(lambda clusters=clusters: next(clusters))
            seconds, rest = timed(lambda clusters=clusters: list(clusters))
        found = [first, *rest]
        rows.append(
            {
                "n": n,
                "make_graph_s": round(made_s, 2),
                "first_cluster_ms": round(1e3 * first_s, 2),
                "each_further_cluster_ms": round(1e3 * seconds / len(rest), 3),
                "clusters": len(found),
                "mean_support": round(float(np.mean([len(c) for c in found])), 2),
                "largest_relative_gap": f"{max(c.relative_gap for c in found):.0e}",
                "growth_mb": round(watch.growth_mb, 1),
            }
        )
        print(rows[-1], flush=True)
    return rows


def kernel_rows() -> list[dict[str, Any]]:
    n, d, k = 100_000, 32, 20
    X, y = make_blobs(n, centers=k, n_features=d, random_state=0, cluster_std=2.0)
    rows = []
    for affinity in ("rbf", "laplacian"):
        with Watch() as watch:
            made = as_similarity(X, affinity)
            mean = float(made.degrees().mean()) / n
            seconds, model = timed(
                lambda made=made, mean=mean: DominantSets(
                    k, shift=mean, assign=None, affinity="sqeuclidean"
                ).fit(made)
            )
        S, inside = model.similarity_, model.labels_ >= 0
        rows.append(
            {
                "affinity": affinity,
                "n": n,
                "gamma": round(S.gamma, 5),
                "algorithm": model.clusters_[0].algorithm,
                "seconds": round(seconds, 1),
                "growth_mb": round(watch.growth_mb, 1),
                "standard_error_of_degrees": f"{S.degrees_error / n:.1e} of n",
                "clusters": model.n_clusters_,
                "share": round(float(inside.mean()), 3),
                "ari_of_cores": round(adjusted_rand_score(y[inside], model.labels_[inside]), 3),
                "largest_support": max(len(c) for c in model.clusters_),
                "largest_relative_gap": f"{max(c.relative_gap for c in model.clusters_):.0e}",
            }
        )
        print(rows[-1], flush=True)
    return rows


def draw(result: dict[str, Any], path: Path) -> None:
    """Time against the number of objects, beside what a pass over the data costs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for style, name in zip("osD^", dict.fromkeys(row["what"] for row in result["features"]), strict=True):
        rows = [row for row in result["features"] if row["what"] == name]
        axes.loglog([r["n"] for r in rows], [r["seconds"] for r in rows], marker=style, label=name)
    rows = [row for row in result["features"] if row["what"].startswith("cosine, shift 0.01")]
    axes.loglog(
        [r["n"] for r in rows],
        [r["seconds"] / r["products"] for r in rows],
        color="0.6",
        linestyle="--",
        label="one product X @ w (d = 20)",
    )
    n = np.array([1e4, 1e5])
    matrix = result["against_the_matrix"]
    axes.loglog(n, matrix["form_matrix_s"] * (n / matrix["n"]) ** 2, color="0.3", linestyle=":",
                label="forming the matrix (from 20,000²)")  # fmt: skip
    axes.set(xlabel="objects", ylabel="seconds", title="Five clusters, features to labels, two cores")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="stop at n = 10⁵, write nothing")
    quick = parser.parse_args().quick
    X, _ = gaussians(2_000, 20, False, np.float64)
    for dtype in (np.float64, np.float32):  # compiled before the clock starts
        for affinity in ("cosine", "sqeuclidean"):
            for rows in (X, np.tile(X, (40, 1))):  # small data have code of their own
                DominantSets(2, affinity=affinity).fit(rows.astype(dtype))
    sizes = (10**4, 10**5) if quick else (10**4, 10**5, 10**6, 10**7)
    result: dict[str, Any] = {"machine": machine()}
    for name, job in {
        "text": text,
        "dense": dense_rows,
        "graph": lambda: graph_rows(sizes[1:3]),
        "kernels": kernel_rows,
        "against_the_matrix": against_the_matrix,
        "features": lambda: large_rows(sizes),
    }.items():
        print(f"== {name}", flush=True)
        result[name] = job()
        if name in ("text", "dense", "against_the_matrix"):
            print(json.dumps(result[name], indent=1), flush=True)
    if not quick:
        folder = Path(__file__).parent / "results"
        (folder / "scale.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        draw(result, folder / "scale.png")


if __name__ == "__main__":
    main()
