"""Many starts at once: fewer passes than clusters, and what threads and workers gain.

Run ``python benchmarks/multistart.py``; it prints tables and writes results/multistart.json.

1. As the number K of clusters grows from 4 to 64 (20,000 objects of 10 features, K round classes): passes,
   time and ARI of multi-start with 2 K starts a pass, against plain peeling.
2. The starts of one pass on one and on two threads, same work (pairwise Frank-Wolfe on a dense matrix).
3. Five clusters of 2,000,000 × 20 features in memory (two threads) and on one and two Dask workers (processes
   of one thread), with as many chunks as workers and with 32; start-up and loading are not counted.
4. A memmap of 5,000,000 × 32 float32 (640 MB) clustered: growth of anonymous memory, in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)
from sklearn.datasets import make_blobs  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402

from dominantsets import DominantSets, as_similarity, multistart, peel  # noqa: E402


def passes_rows() -> list[dict[str, Any]]:
    rows = []
    for k in (4, 8, 16, 32, 64):
        X, y = make_blobs(20_000, centers=k, n_features=10, cluster_std=1.0, random_state=0)
        S = as_similarity(X, "sqeuclidean")
        shift = 0.05 / k * S.n * S.offset / 4
        begin = time.perf_counter()
        peeling = peel(S, k, shift=shift)
        list(peeling)
        peel_s = time.perf_counter() - begin
        for how in ("uniform", "dpp"):
            begin = time.perf_counter()
            run = multistart(S, k, n_starts=2 * k, sampling=how, shift=shift, random_state=0)
            list(run)
            seconds = time.perf_counter() - begin
            inside, core = run.labels >= 0, peeling.labels >= 0
            rows.append(
                {
                    "K": k,
                    "sampling": how,
                    "passes": run.n_passes,
                    "clusters": run.n_clusters,
                    "seconds": round(seconds, 3),
                    "ari": round(adjusted_rand_score(y[inside], run.labels[inside]), 3),
                    "share": round(float(inside.mean()), 3),
                    "peeling_clusters": peeling.n_clusters,
                    "peeling_seconds": round(peel_s, 3),
                    "peeling_ari": round(adjusted_rand_score(y[core], peeling.labels[core]), 3),
                }
            )
            print(rows[-1], flush=True)
    return rows


def threads_row() -> dict[str, Any]:
    X, _ = make_blobs(3_000, centers=8, n_features=10, random_state=0)
    S = as_similarity(as_similarity(X, "rbf").toarray())
    seconds = {}
    for jobs in (1, 2, 1, 2, 1, 2):
        run = multistart(
            S, n_starts=32, shift=20.0, algorithm="pairwise", start="barycenter", n_jobs=jobs, random_state=0,
            tol=0.0, max_iter=6_000,
        )  # fmt: skip
        begin = time.perf_counter()
        next(run)
        taken = time.perf_counter() - begin
        seconds[jobs] = min(taken, seconds.get(jobs, np.inf))
    return {
        "starts": 32,
        "one_thread_s": round(seconds[1], 3),
        "two_threads_s": round(seconds[2], 3),
        "speed_up": round(seconds[1] / seconds[2], 2),
    }


def load_rows(path: str, begin: int, end: int) -> Any:
    """A chunk, read by the worker that keeps it."""
    return np.array(np.load(path, mmap_mode="r")[begin:end])


def dask_rows(folder: str) -> list[dict[str, Any]]:
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    n, d, k = 2_000_000, 20, 5
    rng = np.random.default_rng(0)
    X = rng.normal(size=(k, d))[rng.integers(k, size=n)] + 0.5 * rng.normal(size=(n, d))
    path = str(Path(folder) / "rows.npy")
    np.save(path, X)
    S = as_similarity(X, "sqeuclidean")
    shift = 0.01 * n * (S.self_similarity - S.degrees().sum() / n / (n - 1.0))

    def timed(similarity: Any) -> tuple[float, Any]:
        begin = time.perf_counter()
        run = peel(similarity, k, shift=shift)
        list(run)
        return time.perf_counter() - begin, run.labels

    def chunked(chunks: int) -> Any:
        load, ends = dask.delayed(load_rows), [n * c // chunks for c in range(chunks + 1)]
        return da.concatenate([
            da.from_delayed(load(path, a, b), (b - a, d), dtype=X.dtype)
            for a, b in pairwise(ends)
        ])  # fmt: skip

    rows = []
    for workers in (1, 2):
        with (
            LocalCluster(
                workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
            ) as cluster,
            Client(cluster),
        ):
            far = {chunks: as_similarity(chunked(chunks), "sqeuclidean") for chunks in (workers, 32)}
            best: dict[int, float] = {}
            rounds: dict[int, float] = {}
            differ = 0
            for _ in range(3):  # the first one compiles, on the workers too
                seconds, labels = timed(S)
                best[0] = min(seconds, best.get(0, np.inf))
                for chunks, similarity in far.items():
                    before = similarity.pieces.n_rounds
                    seconds, there = timed(similarity)
                    best[chunks] = min(seconds, best.get(chunks, np.inf))
                    rounds[chunks] = (similarity.pieces.n_rounds - before) / k
                    differ = max(differ, int(np.count_nonzero(labels != there)))
            for chunks in far:
                rows.append(
                    {
                        "workers": workers,
                        "chunks": chunks,
                        "seconds": round(best[chunks], 2),
                        "in_memory_s": round(best[0], 2),
                        "ratio": round(best[chunks] / best[0], 2),
                        "rounds_a_cluster": round(rounds[chunks], 1),
                        "labels_that_differ": differ,
                    }
                )
                print(rows[-1], flush=True)
            del far, similarity
    return rows


def anonymous() -> float:
    """Anonymous memory of this process in MB: without the pages of mapped files."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) / 1e3


def memmap_row(folder: str) -> dict[str, Any]:
    """To be run in a process of its own, so that nothing that was freed before is used again."""
    n, d, k = 5_000_000, 32, 8
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(k, d))
    path = Path(folder) / "large.npy"
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    for begin in range(0, n, 10**6):
        noise = rng.normal(size=(10**6, d))
        X[begin : begin + 10**6] = centers[rng.integers(k, size=10**6)] + 0.5 * noise
    del X, noise
    some = np.repeat(centers, 40_000, axis=0) + 0.5 * rng.normal(size=(40_000 * k, d))
    DominantSets(2, affinity="sqeuclidean").fit(some.astype(np.float32))  # compiled before
    del some
    X = np.load(path, mmap_mode="r")
    before, peak, done = anonymous(), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.perf_counter()
    model = DominantSets(k, assign=None, affinity="sqeuclidean").fit(X)
    seconds, growth = time.perf_counter() - begin, peak[0] - before
    told = model.n_clusters_, model.assignment_rate_, max(c.relative_gap for c in model.clusters_)
    del model
    after = anonymous()
    DominantSets(k, affinity="sqeuclidean").fit(X)
    done.set()
    watcher.join()
    return {
        "n": n,
        "d": d,
        "file_mb": round(path.stat().st_size / 1e6),
        "clusters": told[0],
        "share": round(told[1], 3),
        "largest_relative_gap": f"{told[2]:.0e}",
        "seconds": round(seconds, 1),
        "growth_of_anonymous_mb": round(growth),
        "growth_with_refinement_too_mb": round(peak[0] - after),
    }


def main() -> None:
    if sys.argv[1:2] == ["memmap"]:
        print(json.dumps(memmap_row(sys.argv[2])))
        return
    X, _ = make_blobs(2_000, centers=3, random_state=0)
    for affinity in ("sqeuclidean", "rbf"):  # compiled before the clock starts
        list(multistart(as_similarity(X, affinity), 2, n_starts=3, shift=5.0, random_state=0))
    result = {"machine": machine(), "passes": passes_rows(), "threads": threads_row()}
    print(result["threads"], flush=True)
    with tempfile.TemporaryDirectory() as folder:
        result["dask"] = dask_rows(folder)
        alone = [sys.executable, __file__, "memmap", folder]
        result["memmap"] = json.loads(subprocess.run(alone, check=True, stdout=subprocess.PIPE).stdout)
        print(result["memmap"], flush=True)
    path = Path(__file__).parent / "results" / "multistart.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
