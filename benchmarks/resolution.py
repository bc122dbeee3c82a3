"""Which shift: four criteria on fourteen data sets, steadiness in n, what noise passes for, and the cost.

Run ``python benchmarks/resolution.py [--quick]``; it prints tables and writes results/resolution.json. Part
1: for each data set and each share of n(p - q), the ARI over all objects of the cores and of the refined
partition (nothing left out as noise), and what each criterion would choose without labels: *sharpness* (the
library's score), *objective* (of the refined partition), *stability* (mean ARI of the refined partition with
its neighbours along the shares), *coverage x value* (share in cores times their mean coherence), and the
former rule, a fixed shift of 0.01 n (p - m). Part 2: one distribution, 10³ to 10⁶ objects. Part 3: clusters
found in uniform and Gaussian data. Part 4: time of a fit with shift="auto" over that with the shift given.
Newsgroups and COIL-20 need DOMINANTSETS_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from _contest import blobs, newsgroups, vectors  # noqa: E402
from dominantsets import DominantSets, as_similarity  # noqa: E402
from dominantsets.clusters.peeling import Peeling  # noqa: E402
from dominantsets.clusters.shift import SHARES, Scale  # noqa: E402
from dominantsets.labels.refinement import refine  # noqa: E402
from dominantsets.solvers import Monitor, SolverOptions  # noqa: E402

TRIED = tuple(0.0075 * 2.0**k for k in (2, 1, 0, -1, -2, -3))
CRITERIA = ("sharpness", "objective", "stability", "coverage x value")


def data_sets(quick: bool) -> dict[str, tuple[Any, Any, str]]:
    plane, classes = make_blobs(1_500, centers=5, random_state=3)
    rng = np.random.default_rng(0)
    noisy = np.vstack([plane, rng.uniform(plane.min(0), plane.max(0), (300, 2))])
    wine, cultivars = load_wine(return_X_y=True)
    found = {
        "blobs": (*blobs(5_000, 0.0), "sqeuclidean"),
        "blobs, 20 % noise": (*blobs(5_000, 0.2), "sqeuclidean"),
        "blobs, 50 % noise": (*blobs(5_000, 0.5), "sqeuclidean"),
        "plane, 17 % noise": (noisy, np.r_[classes, np.full(300, -1)], "sqeuclidean"),
        "gaussians, d = 20": (
            *make_blobs(5_000, 20, centers=5, cluster_std=5.0, random_state=1),
            "sqeuclidean",
        ),
        "iris": (*load_iris(return_X_y=True), "sqeuclidean"),
        "wine": (StandardScaler().fit_transform(wine), cultivars, "sqeuclidean"),
        "digits": (*load_digits(return_X_y=True), "sqeuclidean"),
        "digits, diffusion": (*load_digits(return_X_y=True), "diffusion"),
    }
    if not quick and "DOMINANTSETS_DATA" in os.environ:
        found |= {f"newsgroups {k}": (*newsgroups(k), "cosine") for k in range(1, 5)}
        found["coil-20, diffusion"] = (*vectors("coil20"), "diffusion")
    return found


def tried(S: Any, shift: float, y: np.ndarray, k: int) -> dict[str, Any]:
    """Peel and refine at one shift."""
    degrees = S.degrees()
    options = SolverOptions(tol=1e-8, max_iter=10_000, cutoff=2e-12).chosen_for(S, shift)
    run = Peeling(S, k, shift=shift, options=options, monitor=Monitor(), degrees=degrees, judged=True)
    clusters = list(run)
    refined = refine(S, run.labels, len(clusters))
    inside = run.labels >= 0
    mean = float(degrees.sum()) / (S.n * (S.n - 1))
    coherent = np.mean([(c.threshold - mean) / (S.self_similarity - mean) for c in clusters])
    whole = len(clusters) == k
    return {
        "shift": shift,
        "clusters": len(clusters),
        "coverage": round(float(inside.mean()), 3),
        "cores": round(float(adjusted_rand_score(y, run.labels)), 3),
        "refined": round(float(adjusted_rand_score(y, refined.labels)), 3),
        "sharpness": sum(j.weight for j in run.judgements) / S.n if whole else -1.0,
        "objective": refined.objective[-1] if whole else -1.0,
        "coverage x value": float(inside.mean() * coherent) if whole else -1.0,
        "labels": refined.labels,
    }


def study(sets: dict[str, tuple[Any, Any, str]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    rows, picks = [], {c: {"cores": [], "refined": []} for c in (*CRITERIA, "former rule", "best of all")}
    for name, (X, y, affinity) in sets.items():
        S, k = as_similarity(X, affinity), int(np.unique(y[y >= 0]).size)
        degrees = S.degrees()
        here = [tried(S, Scale(S, degrees).shift(share), y, k) | {"share": share} for share in TRIED]
        for i, row in enumerate(here):
            near = [here[j]["labels"] for j in (i - 1, i + 1) if 0 <= j < len(here)]
            row["stability"] = float(np.mean([adjusted_rand_score(row["labels"], other) for other in near]))
        former = tried(S, 0.01 * S.n * (S.self_similarity - float(degrees.sum()) / (S.n * (S.n - 1))), y, k)
        for what in ("cores", "refined"):
            for criterion in CRITERIA:
                picks[criterion][what].append(max(here, key=lambda row, c=criterion: row[c])[what])
            picks["former rule"][what].append(former[what])
            picks["best of all"][what].append(max(row[what] for row in here))
        for row in here:
            del row["labels"]
            rows.append(
                {"data": name} | {key: round(v, 5) if isinstance(v, float) else v for key, v in row.items()}
            )
        print(f"{name:20}", " ".join(f"{r['cores']:.2f}/{r['refined']:.2f}" for r in here), flush=True)
    means = {c: {w: round(float(np.mean(v)), 3) for w, v in found.items()} for c, found in picks.items()}
    print(f"{'mean ARI of the choice':24} {'cores':>6} {'refined':>8}")
    for criterion, found in means.items():
        print(f"{criterion:24} {found['cores']:6.3f} {found['refined']:8.3f}")
    return rows, means


def steadiness(quick: bool) -> list[dict[str, Any]]:
    """Share assigned and ARI of one distribution, for given and for unknown numbers of clusters."""
    rows = []
    turn = 2.0 * np.pi * np.arange(5) / 5
    pentagon = 6.0 * np.column_stack([np.cos(turn), np.sin(turn)])
    for d, centers in ((2, pentagon), (20, 2.5 * np.random.default_rng(7).normal(size=(5, 20)))):
        for n in (10**3, 10**4, 10**5) if quick else (10**3, 10**4, 10**5, 10**6):
            rng = np.random.default_rng(n)
            y = rng.integers(5, size=n)
            X = centers[y] + rng.normal(size=(n, d))
            for k in (5, None):
                model = DominantSets(k).fit(X)
                cores = float((model.cores_ >= 0).mean())
                row = {
                    "d": d, "n": n, "n_clusters": k, "found": model.n_clusters_, "in_cores": round(cores, 3),
                    "assigned": round(model.assignment_rate_, 3),
                    "ari": round(float(adjusted_rand_score(y, model.labels_)), 3),
                }  # fmt: skip
                rows.append(row)
                print(row, flush=True)
    return rows


def noise(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for n in (100, 300, 1_000) if quick else (100, 300, 1_000, 3_000):
        for d in (1, 2, 5, 10, 30):
            for kind in ("uniform", "normal"):
                found = []
                for seed in range(10):
                    rng = np.random.default_rng(seed)
                    X = rng.random((n, d)) if kind == "uniform" else rng.normal(size=(n, d))
                    found.append(DominantSets().fit(X).n_clusters_)
                row = {"n": n, "d": d, "kind": kind, "mean": float(np.mean(found)), "most": max(found)}
                rows.append(row)
        print(n, {f"{r['kind']} {r['d']}": (r["mean"], r["most"]) for r in rows if r["n"] == n}, flush=True)
    return rows


def cost(sets: dict[str, tuple[Any, Any, str]]) -> list[dict[str, Any]]:
    """shift="auto" against the same shift, best of several in turns, the similarity made before."""
    rng = np.random.default_rng(0)
    more = {}
    for n in (20_000, 200_000):
        X = rng.normal(size=(n, 10)) + 9.0 * rng.integers(4, size=(n, 1))
        more[f"gaussians, n = {n:,}"] = (X, None, "sqeuclidean")
    rows = []
    for name, (X, y, affinity) in (sets | more).items():
        S, k = as_similarity(X, affinity), 4 if y is None else int(np.unique(y[y >= 0]).size)
        auto = DominantSets(k)
        given = DominantSets(k, shift=auto.fit(S).shift_)
        times: dict[str, list[float]] = {"auto": [], "given": []}
        for _ in range(7):
            for which, model in (("auto", auto), ("given", given)):
                begin = time.perf_counter()
                model.fit(S)
                times[which].append(time.perf_counter() - begin)
        best = {which: min(seconds) for which, seconds in times.items()}
        row = {
            "data": name,
            "auto_s": best["auto"],
            "given_s": best["given"],
            "ratio": best["auto"] / best["given"],
        }
        rows.append({key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()})
        print(
            f"{name:24} {1e3 * best['auto']:8.1f} ms {1e3 * best['given']:8.1f} ms {row['ratio']:5.1f}x",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less of everything, write nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = data_sets(options.quick)
    print("shares of n(p - q):", " ".join(f"{share:.4g}" for share in TRIED), "; the library tries", SHARES)
    rows, means = study(sets)
    content = {
        "machine": machine(),
        "criteria": means,
        "study": rows,
        "steadiness": steadiness(options.quick),
        "noise": noise(options.quick),
        "cost": cost(sets),
    }
    if not options.quick:
        path = Path(__file__).parent / "results" / "resolution.json"
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
