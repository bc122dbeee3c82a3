"""What a user would pick instead, side by side: time, memory, quality. Where we lose, the table shows it.

Run ``python benchmarks/rivals.py [--quick]``; it prints a table and writes results/rivals.json and rivals.png
(the picture needs matplotlib: the extra "plot"). Every method runs in its own process on the same features,
with the number of classes where it takes one, under a limit of time and memory; one that exceeds it says so
in its row. Seconds are those of the fit, from features to labels (compiled code has run once
before on a few objects); memory is the growth of the process over it. ARI and V-measure are over all objects
(noise counts as a class of its own) and over the assigned ones. Newsgroups, USPS and GloVe need
DOMINANTSETS_DATA.
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

Loaded = tuple[np.ndarray, "np.ndarray | None", int]


def digits() -> Loaded:
    from sklearn.datasets import load_digits

    return (*load_digits(return_X_y=True), 10)


def glove() -> Loaded:
    with np.load(folder() / "vectors" / "glove6b_100d_top50k.npz") as data:
        return data["X"], None, 20


DATA: dict[str, Callable[[], Loaded]] = {
    **{f"newsgroups {k}": lambda k=k: (*newsgroups(k), 5) for k in range(1, 5)},
    "digits": digits,
    "usps": lambda: (*vectors("usps"), 10),
    "glove": glove,
    "blobs 5,000": lambda: (*blobs(5_000), 10),
    "blobs 20,000": lambda: (*blobs(20_000), 10),
}


def ours(**options: Any) -> Callable[[np.ndarray, int], np.ndarray]:
    def fit(X: np.ndarray, k: int) -> np.ndarray:
        from dominantsets import DominantSets

        return DominantSets(k, **options).fit(X).labels_

    return fit


def paper(**options: Any) -> Callable[[np.ndarray, int], np.ndarray]:
    """The paper's way: a dense matrix, cosine + 31 off the diagonal, t = 1000, post-assignment."""

    def fit(X: np.ndarray, k: int) -> np.ndarray:
        from dominantsets import DominantSets, as_similarity

        A = as_similarity(X, "cosine").toarray()
        solver = {"tol": 0.0, "max_iter": 1_000, **options}
        model = DominantSets(k, affinity="precomputed", shift=30.0, solver_params=solver, assign="average")
        return model.fit(A).labels_

    return fit


def matrix_free_replicator(X: np.ndarray, k: int) -> np.ndarray:
    from dominantsets import DominantSets

    solver = {"algorithm": "replicator", "start": "barycenter", "tol": 0.0, "max_iter": 1_000}
    model = DominantSets(k, affinity="cosine", shift=30.0, solver_params=solver, assign="average")
    return model.fit(X).labels_


def plain_numpy(X: np.ndarray, k: int) -> np.ndarray:
    """What people write: a dense matrix, Frank-Wolfe in NumPy, rows and columns cut out."""
    U = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    A = U @ U.T + 31.0
    np.fill_diagonal(A, 0.0)
    labels, left = np.full(len(X), -1), np.arange(len(X))
    for cluster in range(k):
        x = np.zeros(len(left))
        x[int(A.sum(axis=1).argmax())] = 1.0
        r = A @ x
        for _ in range(1_000):
            f, i = x @ r, int(r.argmax())
            if r[i] - f <= 2.2e-16:
                break
            gamma = (r[i] - f) / (2 * r[i] - f)
            r = (1 - gamma) * r + gamma * A[:, i]
            x *= 1 - gamma
            x[i] += gamma
        inside = x > 2e-12
        labels[left[inside]] = cluster
        left, A = left[~inside], A[np.ix_(~inside, ~inside)]
        if not left.size:
            break
    return labels


METHODS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "dominantsets": ours(),
    "dominantsets, cores": ours(assign=None),
    "dominantsets, cosine": ours(affinity="cosine"),
    "dominantsets, diffusion": ours(affinity="diffusion"),
    "paper FW": paper(algorithm="fw"),
    "paper PFW-V": paper(algorithm="pairwise"),
    "paper PFW-B": paper(algorithm="pairwise", start="barycenter"),
    "paper AFW-V": paper(algorithm="away"),
    "paper AFW-B": paper(algorithm="away", start="barycenter"),
    "paper RD": paper(algorithm="replicator", start="barycenter"),
    "RD, matrix-free": matrix_free_replicator,
    "plain NumPy FW": plain_numpy,
    "AffinityPropagation": rival("AffinityPropagation", random_state=0),
    "SpectralClustering": rival("SpectralClustering", n_clusters="k", random_state=0),
    "HDBSCAN": rival("HDBSCAN", copy=True),
    "AgglomerativeClustering": rival("AgglomerativeClustering", n_clusters="k"),
    "MeanShift": rival("MeanShift", bin_seeding=True, cluster_all=False, n_jobs=THREADS),
    "KMeans": rival("KMeans", n_clusters="k", n_init=10, random_state=0),
}


def one(method: str, data: str, output: Path) -> None:
    """The work of a child process: fit, score, and write a row."""
    import warnings

    from sklearn.metrics import adjusted_rand_score, v_measure_score

    warnings.simplefilter("ignore")
    X, y, k = DATA[data]()
    limit_memory()
    few = np.random.default_rng(0).choice(len(X), 150, replace=False)
    METHODS[method](X[few].copy(), 3)
    found, cost = timed(lambda: METHODS[method](X, k))
    labels = np.asarray(found)
    inside = labels >= 0
    row: dict[str, Any] = {
        **cost,
        "clusters": int(np.unique(labels[inside]).size),
        "share_assigned": round(float(inside.mean()), 3),
    }
    if y is not None:
        row |= {"ari": adjusted_rand_score(y, labels), "v_measure": v_measure_score(y, labels)}
        if inside.any():
            row |= {
                "ari_assigned": adjusted_rand_score(y[inside], labels[inside]),
                "v_measure_assigned": v_measure_score(y[inside], labels[inside]),
            }
        row = {key: round(value, 3) if "_" in key or key == "ari" else value for key, value in row.items()}
    output.write_text(json.dumps(row), encoding="utf-8")


def table(rows: list[dict[str, Any]]) -> str:
    head = f"{'data':14} {'method':29} {'seconds':>9} {'MB':>7} {'K':>5} {'share':>6}"
    head += f" {'ARI':>6} {'V':>6} {'ARI in':>6}"
    lines = [head, "-" * len(head)]
    for row in rows:
        start = f"{row['data']:14} {row['method']:29} "
        if "failed" in row:
            lines.append(f"{start}{row['failed']}")
            continue
        scores = [row.get(key) for key in ("ari", "v_measure", "ari_assigned")]
        shown = " ".join(f"{'' if score is None else format(score, '.3f'):>6}" for score in scores)
        lines.append(
            f"{start}{row['seconds']:9.3f} {row['growth_mb']:7.0f} {row['clusters']:5d} "
            f"{row['share_assigned']:6.2f} {shown}"
        )
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Quality against time, a panel for each data set with classes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    names = [name for name in DATA if any(r["data"] == name and "ari" in r for r in rows)]
    figure, axes = plt.subplots(2, 4, figsize=(13, 6.6), layout="constrained", sharey=True)
    colors = plt.get_cmap("tab20").colors
    for panel, name in zip(axes.flat, names, strict=False):
        for number, method in enumerate(METHODS):
            row = next((r for r in rows if r["data"] == name and r["method"] == method), {})
            if "ari" in row:
                mine = method.startswith("dominantsets")
                panel.plot(
                    row["seconds"], row["ari"], "*" if mine else "o", markersize=14 if mine else 7,
                    color=colors[number % 20], label=method,
                )  # fmt: skip
        panel.set(xscale="log", title=name, xlabel="seconds", ylim=(-0.05, 1.05))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.grid(alpha=0.3)
    for panel in axes[:, 0]:
        panel.set_ylabel("ARI, all objects")
    handles = {
        label: handle
        for panel in axes.flat
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=6, fontsize=8)
    figure.savefig(path, dpi=75)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="digits and the smaller blobs, write nothing")
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "DATA", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one[0], options.one[1], Path(options.one[2]))
        return
    local = ["digits", "blobs 5,000"]
    names = local if options.quick else list(DATA)
    if "DOMINANTSETS_DATA" not in os.environ and not options.quick:
        names = [*local, "blobs 20,000"]
        print("newsgroups, USPS and GloVe are left out: DOMINANTSETS_DATA is not set")
    results = Path(__file__).parent / "results"
    rows = []
    for name in names:
        for method in METHODS:
            rows.append(run(__file__, method, name, results / ".row.json"))
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    if not options.quick:
        limits = {"seconds": SECONDS, "gigabytes": GIGABYTES}
        content = {"machine": machine(), "limits": limits, "rows": rows}
        (results / "rivals.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        draw(rows, results / "rivals.png")
    print(table(rows))


if __name__ == "__main__":
    main()
