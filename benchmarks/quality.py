"""Partitions and cores against what users have: fourteen data sets with classes, nobody tuned.

Run ``python benchmarks/quality.py [--quick]``; it prints a table and writes results/quality.json. Ours is
``DominantSets(k)`` with its defaults, the affinity by the kind of data: sqeuclidean for points, cosine for
documents, diffusion for images, path for curves, the graph itself for a network. The others have the defaults
of scikit-learn (KMeans: 10 restarts) and the number of classes where they take one; documents have unit
length for them. Each fit has a process of its own, 60 s and 6 GB. ARI and V-measure are over all objects,
noise and what is left unassigned being a class each. At the end *cores* are compared: the purity of ours, and
of as many objects of each rival, those nearest to the mean of their cluster (in a network: of the highest
mean similarity to it). The constants of ``resolution``, ``coherence``, ``partition`` and of the diffusion
affinity were chosen once for all sets, and with a look at these (docs/decisions.md).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

THREADS = 2
pin_threads(THREADS)

import numpy as np  # noqa: E402 (after the threads are pinned)
import scipy.sparse as sp  # noqa: E402

from _contest import (  # noqa: E402
    GIGABYTES,
    SECONDS,
    blobs,
    folder,
    limit_memory,
    newsgroups,
    rival,
    run,
    timed,
    vectors,
)

OURS = "dominantsets"
CLOSE = 0.02


def digits() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def mnist() -> tuple[Any, Any]:
    X, y = vectors("mnist")
    chosen = np.random.default_rng(0).choice(len(X), 10_000, replace=False)
    return X[chosen], y[chosen]


def documents(k: int) -> tuple[Any, Any]:
    X, y = newsgroups(k)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300), y


def moons() -> tuple[Any, Any]:
    from sklearn.datasets import make_moons

    return make_moons(2_000, noise=0.06, random_state=0)


def circles() -> tuple[Any, Any]:
    from sklearn.datasets import make_circles

    return make_circles(2_000, noise=0.05, factor=0.5, random_state=0)


def collins() -> tuple[Any, Any]:
    """Proteins; the class of one is the tightest complex that it is in, -2 for none (not counted)."""
    lines = (folder() / "proteins" / "collins.tsv").read_text(encoding="utf-8").splitlines()
    edges = [line.split("\t") for line in lines]
    number = {name: i for i, name in enumerate(sorted({n for e in edges for n in e[:2]}))}
    i, j = (np.array([number[e[side]] for e in edges]) for side in (0, 1))
    A = sp.csr_array(sp.coo_array(([float(e[2]) for e in edges], (i, j)), shape=(len(number),) * 2))
    A = A.maximum(A.T)
    text = (folder() / "proteins" / "complexes.txt").read_text(encoding="utf-8")
    complexes = [[number[p] for p in line.split() if p in number] for line in text.splitlines()]
    dense, y = A.toarray(), np.full(len(number), -2)
    complexes = [c for c in complexes if len(c) >= 3]
    complexes.sort(key=lambda c: -dense[np.ix_(c, c)].sum() / (len(c) * (len(c) - 1)))
    for k, members in enumerate(complexes):
        free = [p for p in members if y[p] == -2]
        y[free] = k
    return A, y


DATA: dict[str, tuple[Callable[[], tuple[Any, Any]], str]] = {
    "digits": (digits, "diffusion"),
    "usps": (lambda: vectors("usps"), "diffusion"),
    "coil-20": (lambda: vectors("coil20"), "diffusion"),
    "mnist 10,000": (mnist, "diffusion"),
    **{f"newsgroups {k}": (lambda k=k: documents(k), "cosine") for k in range(1, 5)},
    **{
        f"blobs, {noise} % noise": (lambda noise=noise: blobs(5_000, noise / 100), "sqeuclidean")
        for noise in (0, 20, 50)
    },
    "moons": (moons, "path"),
    "circles": (circles, "path"),
    "collins": (collins, "precomputed"),
}
LOCAL = ["digits", "blobs, 0 % noise", "blobs, 20 % noise", "blobs, 50 % noise", "moons", "circles"]
RIVALS: dict[str, dict[str, Any]] = {
    "KMeans": {"n_clusters": "k", "n_init": 10, "random_state": 0},
    "SpectralClustering": {"n_clusters": "k", "random_state": 0},
    "AgglomerativeClustering": {"n_clusters": "k"},
    "HDBSCAN": {"copy": True},
    "AffinityPropagation": {"random_state": 0},
}
ON_GRAPHS: dict[str, dict[str, Any]] = {
    "SpectralClustering": {"affinity": "precomputed"},
    "AgglomerativeClustering": {"metric": "precomputed", "linkage": "average"},
    "HDBSCAN": {"metric": "precomputed"},
    "AffinityPropagation": {"affinity": "precomputed"},
}
METHODS = [OURS, *RIVALS]


def fit(method: str, data: str, X: Any, k: int) -> Any:
    """The fitted estimator."""
    affinity = DATA[data][1]
    if method == OURS:
        from dominantsets import DominantSets

        return DominantSets(k, affinity=affinity).fit(X)
    if not sp.issparse(X):
        return rival(method, **RIVALS[method])(X, k)
    dense = X.toarray()
    if method in ("AgglomerativeClustering", "HDBSCAN"):
        dense = 1.0 - dense
        np.fill_diagonal(dense, 0.0)
    return rival(method, **RIVALS[method], **ON_GRAPHS.get(method, {}))(dense, k)


def closeness(X: Any, labels: np.ndarray) -> np.ndarray:
    """How near each object is to the middle of its cluster; -inf for those in none."""
    out = np.full(len(labels), -np.inf)
    for k in np.unique(labels[labels >= 0]):
        mine = np.flatnonzero(labels == k)
        if sp.issparse(X):
            out[mine] = np.asarray(X[mine][:, mine].mean(axis=1)).ravel()
        else:
            out[mine] = -np.linalg.norm(X[mine] - X[mine].mean(axis=0), axis=1)
    return out


def purity(y: np.ndarray, labels: np.ndarray, chosen: np.ndarray) -> float:
    """Share of the chosen objects that are of the commonest class of their cluster."""
    right = 0
    for k in np.unique(labels[chosen]):
        right += int(np.unique(y[chosen][labels[chosen] == k], return_counts=True)[1].max())
    return right / max(1, chosen.size)


def one(method: str, data: str, output: Path) -> None:
    """The work of a child process: fit, score, and write a row."""
    import warnings

    from sklearn.metrics import adjusted_rand_score, v_measure_score

    warnings.simplefilter("ignore")
    X, y = DATA[data][0]()
    k = int(np.unique(y[y >= 0]).size)
    limit_memory()
    if not sp.issparse(X):  # compiled before the clock starts
        fit(method, data, X[np.random.default_rng(0).choice(len(X), 150, replace=False)].copy(), 3)
    model, cost = timed(lambda: fit(method, data, X, k))
    labels = model.labels_ if method == OURS else np.asarray(model)
    counted = np.flatnonzero(y > -2)
    row = cost | {
        "clusters": int(np.unique(labels[labels >= 0]).size),
        "share_assigned": round(float((labels >= 0).mean()), 3),
        "ari": round(float(adjusted_rand_score(y[counted], labels[counted])), 3),
        "v_measure": round(float(v_measure_score(y[counted], labels[counted])), 3),
    }
    cores = model.cores_ if method == OURS else labels
    order = np.argsort(-closeness(X, cores), kind="stable")
    order = order[np.isin(order, counted)]
    sizes = [int((model.cores_[counted] >= 0).sum())] if method == OURS else None
    inside = order[cores[order] >= 0]
    steps = np.unique(np.linspace(1, max(1, inside.size), 40).astype(int))
    row["core_purity"] = [
        [int(m), round(purity(y, cores, inside[:m]), 3)] for m in (sizes or steps.tolist()) if inside.size
    ]
    output.write_text(json.dumps(row), encoding="utf-8")


def summed_up(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Ranks by ARI, and how often ours comes near the best, as partition and as cores."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    ranks: dict[str, list[float]] = {method: [] for method in METHODS}
    near, purest, unbeaten = [], [], []
    for name in names:
        here = {row["method"]: row for row in rows if row["data"] == name}
        scores = {m: here[m].get("ari", -1.0) for m in METHODS}
        for method in METHODS:
            better = sum(scores[other] > scores[method] + 1e-9 for other in METHODS)
            equal = sum(abs(scores[other] - scores[method]) <= 1e-9 for other in METHODS)
            ranks[method].append(better + (equal + 1) / 2)
        if scores[OURS] >= max(scores.values()) - CLOSE:
            near.append(name)
        mine = here[OURS].get("core_purity") or [[0, 0.0]]
        size, ours = mine[0]
        theirs = [at(here[m].get("core_purity"), size) for m in RIVALS]
        if ours > max(theirs):
            purest.append(name)
        if ours >= max(theirs):
            unbeaten.append(name)
        here[OURS]["best_rival_purity"] = round(max(theirs), 3)
    return {
        "mean_rank": {m: round(float(np.mean(r)), 2) for m, r in ranks.items()},
        "near_the_best": near,
        "purest_cores": purest,
        "no_purer_rival": unbeaten,
        "sets": len(names),
    }


def at(curve: list[list[float]] | None, size: int) -> float:
    """A rival's purity at a number of objects; one that assigns fewer is taken with all that it has."""
    if not curve:
        return 0.0
    return next((p for m, p in curve if m >= size), curve[-1][1])


def line(row: dict[str, Any]) -> str:
    start = f"{row['data']:18} {row['method']:24} "
    if "failed" in row:
        return start + row["failed"]
    return (
        f"{start}{row['ari']:6.3f} {row['v_measure']:6.3f} {row['share_assigned']:6.2f} {row['clusters']:5d} "
        f"{row['seconds']:8.2f} s {row['growth_mb']:7.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="sets that need no download, write nothing")
    parser.add_argument(
        "--ours", action="store_true", help="fit ours anew, keep the rivals' rows of the file"
    )
    parser.add_argument("--only", help="one data set, write nothing")
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "DATA", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one[0], options.one[1], Path(options.one[2]))
        return
    names = [options.only] if options.only else LOCAL if options.quick else list(DATA)
    if "DOMINANTSETS_DATA" not in os.environ:
        names = [name for name in names if name in LOCAL]
    results = Path(__file__).parent / "results"
    rows, kept = [], []
    if options.ours:
        kept = json.loads((results / "quality.json").read_text(encoding="utf-8"))["rows"]
    print(f"{'data':18} {'method':24} {'ARI':>6} {'V':>6} {'share':>6} {'K':>5} {'time':>10} {'growth':>10}")
    for name in names:
        for method in METHODS:
            old = [r for r in kept if (r["data"], r["method"]) == (name, method) and method != OURS]
            rows += old or [run(__file__, method, name, results / ".quality-row.json")]
            print(line(rows[-1]), flush=True)
    summary = summed_up(rows)
    ranks = sorted(summary["mean_rank"].items(), key=lambda item: item[1])
    print("mean rank:", ", ".join(f"{method} {rank}" for method, rank in ranks))
    print(f"within {CLOSE} of the best ARI: {len(summary['near_the_best'])} of {summary['sets']} sets")
    print(
        f"cores purer than every rival's best objects: {len(summary['purest_cores'])} of {summary['sets']}; "
        f"no rival's purer: {len(summary['no_purer_rival'])}"
    )
    for row in rows:
        if row["method"] == OURS and "core_purity" in row:
            size, pure = row["core_purity"][0]
            best = row["best_rival_purity"]
            print(f"  {row['data']:18} {size:6d} objects in cores: {pure:.3f}, best rival {best:.3f}")
    if not (options.quick or options.only or "DOMINANTSETS_DATA" not in os.environ):
        limits = {"seconds": SECONDS, "gigabytes": GIGABYTES}
        content = {"machine": machine(), "limits": limits, "summary": summary, "rows": rows}
        (results / "quality.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
