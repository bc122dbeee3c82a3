"""How fast are nearest neighbours, and how many are found? The search behind affinity="nearest_neighbors".

Run ``python benchmarks/neighbors.py``; it prints a table and writes results/neighbors.json. All 15 nearest
neighbours of all objects: seconds (index and search, two threads, once compiled), those of the processor
over two, recall against all pairs on 1,000 objects, and whether a second run gives the same graph. The exact
search is timed on 2,000 objects and scaled up. Libraries that are not installed are left out (``pip install
faiss-cpu usearch voyager pynndescent``); GloVe and MNIST need DOMINANTSETS_DATA.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

THREADS = 2
pin_threads(THREADS)

import numpy as np  # noqa: E402 (after the threads are pinned)

K = 15


def ours(X: np.ndarray) -> np.ndarray:
    from dominantsets.similarity.search import Lists

    return Lists(X, K).kneighbors()[1]


def exact(X: np.ndarray, some: np.ndarray) -> np.ndarray:
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=K + 1, n_jobs=THREADS, algorithm="brute").fit(X)
    return search.kneighbors(X[some], return_distance=False)


def faiss_lists(X: np.ndarray) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(THREADS)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], int(np.sqrt(len(X))))
    index.train(X)
    index.add(X)
    index.nprobe = 24
    return index.search(X, K + 1)[1]


def usearch(X: np.ndarray) -> np.ndarray:
    from usearch.index import Index

    index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32", connectivity=16)
    index.add(np.arange(len(X)), X, threads=THREADS)
    return index.search(X, K + 1, threads=THREADS).keys.astype(np.int64)


def voyager(X: np.ndarray) -> np.ndarray:
    from voyager import Index, Space

    index = Index(Space.Euclidean, num_dimensions=X.shape[1], M=16, ef_construction=128)
    index.add_items(X, num_threads=THREADS)
    return index.query(X, K + 1, num_threads=THREADS, query_ef=64)[0].astype(np.int64)


def pynndescent(X: np.ndarray) -> np.ndarray:
    from pynndescent import NNDescent

    return NNDescent(X, n_neighbors=K + 1, n_jobs=THREADS, random_state=0).neighbor_graph[0]


SEARCHES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "dominantsets": ("dominantsets", ours),
    "faiss, inverted lists": ("faiss", faiss_lists),
    "usearch": ("usearch", usearch),
    "voyager": ("voyager", voyager),
    "pynndescent": ("pynndescent", pynndescent),
}


def data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    centers = 2.0 * rng.normal(size=(200, 32))
    X = centers[rng.integers(200, size=200_000)] + rng.normal(size=(200_000, 32))
    sets = {"generated, 200,000 × 32": X.astype(np.float32)}
    if "DOMINANTSETS_DATA" in os.environ:
        vectors = Path(os.environ["DOMINANTSETS_DATA"]) / "vectors"
        with np.load(vectors / "glove6b_100d_top50k.npz") as stored:
            sets["GloVe, 50,000 × 100"] = stored["X"].astype(np.float32)
        with np.load(vectors / "mnist.npz") as stored:
            images = np.vstack([stored["x_train"], stored["x_test"]])
            sets["MNIST, 70,000 × 784"] = images.reshape(len(images), -1).astype(np.float32) / 255
    return sets


def main() -> None:
    rows: list[dict[str, Any]] = []
    ours(np.random.default_rng(0).normal(size=(2_000, 200)))  # compiles
    for name, X in data().items():
        some = np.random.default_rng(1).choice(len(X), 2_000, replace=False)
        begin = time.perf_counter()
        truth = exact(X, some)
        seconds = (time.perf_counter() - begin) * len(X) / len(some)
        rows.append(
            {"data": name, "library": "scikit-learn, all pairs (scaled up)", "seconds": round(seconds, 1)}
        )
        print(rows[-1], flush=True)
        for label, (module, search) in SEARCHES.items():
            if find_spec(module) is None:
                print(f"{label}: not installed")
                continue
            begin, used = time.perf_counter(), time.process_time()
            found = search(X)
            seconds, used = time.perf_counter() - begin, time.process_time() - used
            pairs = zip(some[:1_000], truth, strict=False)
            hits = [len((set(found[i].tolist()) & set(row.tolist())) - {i}) for i, row in pairs]
            rows.append(
                {
                    "data": name,
                    "library": label,
                    "seconds": round(seconds, 1),
                    "processor_seconds_over_2": round(used / 2, 1),
                    "recall": round(float(np.mean(hits)) / K, 4),
                    "same_twice": bool(np.array_equal(found, search(X))),
                }
            )
            print(rows[-1], flush=True)
    path = Path(__file__).parent / "results" / "neighbors.json"
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
