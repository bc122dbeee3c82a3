"""Do fits give what they gave before? Labels, affinities and gaps of 60 data sets under many options.

``python benchmarks/golden.py --record`` writes results/golden.json; without it, fits are compared with that
file and every difference is printed (exit status 1 if there is one). Run it after every change that should
change no answer. ``--only blobs`` takes the sets whose names contain a word. Two threads; three minutes.

Labels are stored, packed, so that a difference comes with the agreement of old and new labels. Data ship with
the dependencies or are drawn from fixed seeds. Results are those of one machine and one set of versions:
elsewhere, record on the commit that you start from.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)
import scipy.sparse as sp  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances, rbf_kernel  # noqa: E402

from dominantsets import DominantSets  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "golden.json"
ROUND = [
    {},
    {"n_clusters": 3},
    {"noise": 0.1},
    {"affinity": "sqeuclidean"},
    {"affinity": "sqeuclidean", "n_clusters": 4},
    {"affinity": "path"},
    {"affinity": "path", "n_clusters": 3},
]
MORE = [
    {"affinity": "ellipses", "n_clusters": 3},
    {"affinity": "cosine"},
    {"affinity": "rbf", "n_clusters": 3},
    {"affinity": "nearest_neighbors"},
    {"affinity": "diffusion", "n_clusters": 3},
    {"affinity": "embedding"},
    {"affinity": "sqeuclidean", "noise": None},
    {"affinity": "sqeuclidean", "noise": "cores"},
    {"affinity": "sqeuclidean", "noise": 0.2},
    {"affinity": "sqeuclidean", "assign": "average"},
    {"affinity": "sqeuclidean", "assign": None, "n_clusters": 3},
    {"affinity": "sqeuclidean", "shift": 0.0},
    {"affinity": "sqeuclidean", "min_cluster_size": 20},
]
GIVEN = [{"affinity": "precomputed"}, {"affinity": "precomputed", "n_clusters": 3}]
FAR = [
    {"affinity": "precomputed_distance"},
    {"affinity": "precomputed_distance", "n_clusters": 3},
    {"affinity": "precomputed_distance", "affinity_params": {"then": "path"}},
]
STORES = [{"n_clusters": 4}, {}]


def rows() -> Iterator[tuple[str, np.ndarray, list[dict[str, Any]]]]:
    """Features in memory."""
    for seed, (n, d, k) in enumerate([(150, 2, 3), (400, 2, 5), (300, 5, 4), (600, 10, 8), (250, 50, 3)]):
        X = datasets.make_blobs(n, d, centers=k, random_state=seed)[0]
        yield f"blobs {n}x{d}", X, ROUND + (MORE if seed < 2 else [])
    for seed, share in enumerate([0.1, 0.3, 0.5]):
        X = datasets.make_blobs(300, 2, centers=4, cluster_std=0.6, random_state=seed)[0]
        noise = np.random.default_rng(seed).uniform(X.min(0), X.max(0), (int(300 * share), 2))
        yield f"blobs in noise {share}", np.vstack([X, noise]), ROUND + (MORE if seed == 0 else [])
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = datasets.make_blobs(300, 3, centers=3, random_state=seed)[0] @ rng.normal(size=(3, 3))
        yield f"stretched {seed}", X, ROUND
    for seed in range(3):
        X = datasets.make_blobs(
            [200, 60, 20], 2, centers=None, cluster_std=[2.0, 0.7, 0.3], random_state=seed
        )[0]
        yield f"unequal {seed}", X, ROUND
    for noise in (0.03, 0.08, 0.15):
        yield f"moons {noise}", datasets.make_moons(300, noise=noise, random_state=0)[0], ROUND
    for factor in (0.3, 0.6):
        X = datasets.make_circles(300, noise=0.04, factor=factor, random_state=1)[0]
        yield f"circles {factor}", X, ROUND
    for seed in range(3):
        X = datasets.make_moons(250, noise=0.06, random_state=seed)[0]
        noise = np.random.default_rng(seed).uniform(X.min(0) - 0.3, X.max(0) + 0.3, (50, 2))
        yield f"moons in noise {seed}", np.vstack([X, noise]), ROUND
    yield "swiss roll", datasets.make_swiss_roll(400, noise=0.1, random_state=0)[0], ROUND
    yield "s curve", datasets.make_s_curve(300, noise=0.05, random_state=0)[0], ROUND
    rng = np.random.default_rng(0)
    yield "uniform", rng.uniform(size=(300, 2)), ROUND
    yield "one Gaussian", rng.normal(size=(300, 4)), ROUND
    yield "heavy tails", rng.standard_t(2, size=(300, 3)), ROUND
    yield "grid", np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), -1).reshape(-1, 2), ROUND
    yield "line", np.linspace(0.0, 1.0, 100)[:, None], ROUND
    yield "words", rng.dirichlet(np.full(30, 0.05), 200), ROUND
    yield (
        "directions",
        (lambda X: X / np.linalg.norm(X, axis=1, keepdims=True))(
            datasets.make_blobs(300, 20, centers=5, random_state=2)[0]
        ),
        ROUND,
    )
    yield "whole numbers", rng.integers(0, 6, (200, 3)).astype(float), ROUND
    yield "copies", np.repeat(rng.normal(size=(60, 2)), 4, axis=0), ROUND
    yield "one far object", np.vstack([rng.normal(size=(150, 2)), [[1e6, 0.0]]]), ROUND
    line = np.concatenate([rng.normal(c, 0.3, 80) for c in (0.0, 3.0, 9.0)])[:, None]
    yield "one feature", line, ROUND
    yield "few", np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.3]]), [{}, {"n_clusters": 2}]
    for name in ("iris", "wine", "breast_cancer"):
        X = getattr(datasets, f"load_{name}")().data
        yield name, X, ROUND + (MORE if name == "wine" else [])
    yield "digits", datasets.load_digits().data[:700], ROUND
    yield "diabetes", datasets.load_diabetes().data, ROUND
    yield "more rows than are looked at", datasets.make_blobs(5_000, 4, centers=6, random_state=9)[0], STORES


def matrices() -> Iterator[tuple[str, Any, list[dict[str, Any]]]]:
    """Similarities, distances and graphs."""
    X = datasets.load_iris().data
    yield "iris, cosine matrix", cosine_similarity(X), GIVEN
    yield "iris, rbf matrix", rbf_kernel(X, gamma=0.5), GIVEN
    yield "iris, distances", euclidean_distances(X), FAR
    moons = datasets.make_moons(200, noise=0.05, random_state=2)[0]
    yield "moons, distances", euclidean_distances(moons), FAR
    wine = datasets.load_wine().data
    yield "wine, squared distances", euclidean_distances(wine, squared=True), FAR
    for seed, (inside, outside) in enumerate([(0.5, 0.02), (0.3, 0.05), (0.2, 0.1)]):
        A = blocks(seed, [30] * 6, inside, outside)
        yield f"graph {inside} {outside}", A, [*GIVEN, {"affinity": "precomputed", "n_clusters": 6}]
    yield "unequal graph", blocks(5, [80, 40, 20, 10, 10], 0.4, 0.02), GIVEN
    yield "random graph", blocks(6, [150], 0.05, 0.05), GIVEN
    A = blocks(7, [40] * 4, 0.4, 0.03)
    A.data = np.random.default_rng(0).uniform(0.5, 1.5, A.nnz)
    yield "weighted graph", sp.csr_array(np.maximum(A.toarray(), A.toarray().T)), GIVEN
    yield "graph as an array", blocks(8, [30] * 4, 0.5, 0.05).toarray(), GIVEN


def blocks(seed: int, sizes: list[int], inside: float, outside: float) -> sp.csr_array:
    group = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(group[:, None] == group, inside, outside)
    upper = np.triu(np.random.default_rng(seed).random(chance.shape) < chance, 1)
    return sp.csr_array((upper | upper.T).astype(float))


def stores() -> Iterator[tuple[str, Any, list[dict[str, Any]]]]:
    """Features that lie elsewhere; what is not installed is left out."""
    X = datasets.make_blobs(800, 6, centers=4, random_state=3)[0]
    yield "float32", X.astype(np.float32), STORES
    yield "sparse rows", sp.csr_array(np.maximum(X, 0.0)), STORES
    try:
        import torch

        yield "tensor", torch.tensor(X), STORES
    except ImportError:
        print("torch is not installed: no tensor", file=sys.stderr)
    try:
        import dask.array as da

        yield "Dask array", da.from_array(X, chunks=(300, 6)), STORES
    except ImportError:
        print("Dask is not installed: no Dask array", file=sys.stderr)
    X = datasets.make_blobs(300, 2, centers=3, cluster_std=0.5, random_state=4)[0]
    yield "sample weights", X, [{"n_clusters": 3, "affinity": "sqeuclidean"}, {"affinity": "sqeuclidean"}]


def measured(name: str, X: Any, options: dict[str, Any]) -> dict[str, Any]:
    weight = np.arange(len(X)) % 3 + 1.0 if name == "sample weights" else None
    try:
        model = DominantSets(**options, random_state=0).fit(X, sample_weight=weight)
    except (ValueError, TypeError, RuntimeError) as error:
        return {"error": type(error).__name__}
    labels = np.asarray(model.labels_)
    known = {
        "labels": packed(labels),
        "clusters": model.n_clusters_,
        "noise": int((labels < 0).sum()),
        "affinity": str(model.affinity_),
    }
    open_ = sum(not c.gap <= 1e-8 * max(abs(c.value), abs(c.shift)) for c in model.clusters_)
    return known | ({"gaps above 1e-8": open_} if open_ else {})


def packed(labels: np.ndarray) -> str:
    return base64.b85encode(zlib.compress(labels.astype(np.int16).tobytes(), 9)).decode()


def unpacked(text: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype=np.int16)


def difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    parts = [f"{k} {old.get(k)} -> {new.get(k)}" for k in sorted(old | new) if k != "labels"
             and old.get(k) != new.get(k)]  # fmt: skip
    if "labels" in old and "labels" in new and old["labels"] != new["labels"]:
        a, b = unpacked(old["labels"]), unpacked(new["labels"])
        parts.append(
            f"labels: ARI {adjusted_rand_score(a, b):.3f}, {int((a != b).sum())} of {a.size} changed"
        )
    return "; ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write the file instead of comparing with it")
    parser.add_argument("--only", default="", help="sets with this in their names")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    before = {} if chosen.record else json.loads(RESULTS.read_text(encoding="utf-8"))["fits"]
    fits: dict[str, dict[str, Any]] = {}
    sets, differing = 0, 0
    for source in (rows, matrices, stores):
        for name, X, several in source():
            if chosen.only not in name:
                continue
            sets += 1
            for options in several:
                key = f"{name} | {json.dumps(options)}"
                fits[key] = measured(name, X, options)
                if not chosen.record and (said := difference(before.get(key, {}), fits[key])):
                    differing += 1
                    print(f"{key}: {said}", flush=True)
    print(f"{len(fits)} fits of {sets} sets" + ("" if chosen.record else f", {differing} differ"))
    if chosen.record:
        text = json.dumps({"machine": machine(), "fits": fits}, indent=0)
        RESULTS.write_text(text + "\n", encoding="utf-8")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
