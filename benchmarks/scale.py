"""How far features go without the matrix: 10⁴ to 10⁷ objects, and small n against the rest.

Run ``python benchmarks/scale.py [--quick]``; it prints tables and writes results/scale.json.

1. Five Gaussian classes, K = 5 peeled to a relative gap of 1e-10 by the default solver (the dual): time,
   passes, share assigned, classes hit, ARI of the cores, in multiples of one product ``X @ w`` in the same
   run; growth of the resident memory at n = 10⁶.
2. n = 20,000, features to labels, against just forming the 20,000² matrix with BLAS into a buffer that has
   been touched before.
3. Text (newsgroups 1 of the paper, 20-dimensional features; needs DOMINANTSETS_DATA), K = 5: the default
   against the paper's solvers, ours and compiled, at t = 1000 on the dense matrix.
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
    ours_s, model = timed(lambda: DominantSets(K, affinity="cosine").fit(X), 5)
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
    from sklearn.datasets import fetch_20newsgroups
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    categories = [
        "soc.religion.christian", "comp.os.ms-windows.misc", "talk.politics.guns", "alt.atheism",
        "talk.politics.misc",
    ]  # fmt: skip
    folder = Path(os.environ["DOMINANTSETS_DATA"]) / "newsgroups"
    news = fetch_20newsgroups(
        subset="test", categories=categories, data_home=folder, download_if_missing=False
    )
    tfidf = TfidfVectorizer(max_df=0.5, min_df=2, max_features=10_000, stop_words="english")
    X = TruncatedSVD(20, random_state=0).fit_transform(tfidf.fit_transform(news.data))
    S = as_similarity(X, "cosine")
    dense = as_similarity(S.toarray())
    shift = 30.0  # cosine + 31 off the diagonal, what the paper's tables show
    ours_s, ours = timed(lambda: list(peel(as_similarity(X, "cosine"), K, shift=shift)), 7)
    rows = {}
    for name, options in {
        "fw": {"algorithm": "fw"},
        "pairwise-V": {"algorithm": "pairwise"},
        "pairwise-B": {"algorithm": "pairwise", "start": "barycenter"},
        "away-V": {"algorithm": "away"},
        "away-B": {"algorithm": "away", "start": "barycenter"},
    }.items():
        seconds, clusters = timed(
            lambda options=options: list(peel(dense, K, shift=shift, tol=0.0, max_iter=1_000, **options)), 7
        )
        gap = max(c.relative_gap for c in clusters)
        rows[name] = {"seconds": round(seconds, 4), "largest_relative_gap": f"{gap:.0e}"}
    fastest = min(rows.values(), key=lambda row: row["seconds"])
    return {
        "n": S.n,
        "ours_s": round(ours_s, 5),
        "ours_largest_relative_gap": f"{max(c.relative_gap for c in ours):.0e}",
        "paper_solvers_at_t_1000": rows,
        "fastest_over_ours": round(fastest["seconds"] / ours_s, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="stop at n = 10⁵")
    quick = parser.parse_args().quick
    X, _ = gaussians(2_000, 20, False, np.float64)
    for dtype in (np.float64, np.float32):  # compiled before the clock starts
        for affinity in ("cosine", "sqeuclidean"):
            DominantSets(2, affinity=affinity).fit(X.astype(dtype))
    sizes = (10**4, 10**5) if quick else (10**4, 10**5, 10**6, 10**7)
    result = {
        "machine": machine(),
        "against_the_matrix": against_the_matrix(),
        "text": text(),
    }
    print(result["against_the_matrix"], result["text"], sep="\n", flush=True)
    result["rows"] = large_rows(sizes)
    path = Path(__file__).parent / "results" / "scale.json"
    if not quick:
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
