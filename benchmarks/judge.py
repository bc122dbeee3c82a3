"""Rules by which ``affinity="auto"`` may take an affinity and a number of clusters, and the one that it has.

    python benchmarks/judge.py candidates --seeds 0:400   # what is compared, and what rules may look at
    python benchmarks/judge.py calls --seeds 20000:20200  # DominantSets() and DominantSets(k) beside rivals
    python benchmarks/judge.py nulls --seeds 0:1500       # sets without groups: how many clusters are found
    python benchmarks/judge.py turned --seeds 1:160       # rows turned, scaled, moved and in another order
    python benchmarks/judge.py times                      # seconds of the second fit: results/judge.json
    python benchmarks/judge.py tables                     # of what is there: results/judge.json

Sets are drawn by ``_drawn.py``, and 60 by scikit-learn's ``make_blobs``. Even seeds below 1,000 are for
choosing, others for reporting; the curves of ``_curves.py`` and the shapes and tables of DOMINANTSETS_DATA
(at most 2,000 objects, tables z-scored) were not chosen on. Lines are kept in build/.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from multiprocessing import Pool
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

if __name__ == "__main__":
    pin_threads(2 if "times" in sys.argv else 1)
import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

import _drawn
from _curves import curves
from _real import available, folder, shape, shape_names
from dominantsets import DominantSets
from dominantsets.fitting.judge import BELIEVED, CLEAR, CONFIRMED, MISSING, STABLE, _Judge
from dominantsets.fitting.samples import sample_of, scale_of
from dominantsets.rows.rounding import distinct
from dominantsets.solvers import Monitor

HERE = Path(__file__).parent
KEPT, RESULT = HERE.parent / "build", HERE / "results" / "judge.json"
LARGEST, LARGEST_REAL = 1_000, 2_000  # objects of a set; of more, a sample
BLOBS = 60  # sets of make_blobs
AXES = ("unlike_units", "binary", "counts", "mixed", "rounded")  # families with columns that mean something
RELIABLE = (0.0, 0.3, 0.5, 0.7, 0.85, 1.0)  # expected agreements, in bins

Row = dict[str, Any]
Set = tuple[str, np.ndarray, list[np.ndarray]]


def sets(kind: str, seeds: range) -> Iterator[Set]:
    """Name, rows and labellings of the sets of a kind."""
    random = np.random.RandomState(0)
    if kind == "null":
        for seed in seeds:
            r = np.random.default_rng([77, seed])
            d, n = int(r.choice([1, 2, 2, 3, 4, 6, 9])), int(np.exp(r.uniform(np.log(30), np.log(2_000))))
            X, y = _drawn.null(r, n, d)
            yield f"null {seed}", X, [y]
        return
    for seed in seeds:
        family, X, y = _drawn.draw(seed)
        some = np.sort(np.random.RandomState(0).permutation(len(X))[:LARGEST])
        yield f"{family}#{seed}", X[some], [y[some]]
    for seed in range(BLOBS):
        r = np.random.default_rng(seed)
        k, d, n = int(r.integers(3, 12)), int(r.integers(2, 8)), int(r.integers(200, 900))
        width = float(r.uniform(0.5, 2.5))
        X, y = make_blobs(n, centers=k, n_features=d, cluster_std=width, random_state=seed)
        yield f"make_blobs#{seed}", X, [y]
    for seed in range(4):
        for name, X, y in curves(seed):
            some = np.sort(random.permutation(len(X))[:LARGEST_REAL])
            yield f"curve:{name}, {seed}", X[some], [y[some]]
    if not available():
        return
    for name in shape_names():
        X, labellings = shape(name)
        some = np.sort(random.permutation(len(X))[:LARGEST_REAL])
        yield f"shape:{name}", X[some], [y[some] for y in labellings]
    for path in sorted((folder() / "tabular").glob("*.npz")):
        with np.load(path, allow_pickle=True) as file:
            X, y = np.asarray(file["X"], dtype=np.float64), np.unique(file["y"], return_inverse=True)[1]
        some = np.sort(random.permutation(len(X))[:LARGEST_REAL])
        X = X[some] - X[some].mean(axis=0)
        yield f"table:{path.stem}", X / np.maximum(X.std(axis=0), 1e-300), [y.reshape(-1)[some]]


def agreement(labellings: list[np.ndarray], labels: np.ndarray) -> float:
    """The best adjusted Rand index; noise is a class, and -2 is no label."""
    return max(float(adjusted_rand_score(y[y > -2], labels[y > -2])) for y in labellings)


def candidates(one: Set) -> Row:
    """What is compared, with k unknown and given: agreement with the truth, and what rules may look at."""
    name, X, labellings = one
    scale = scale_of(X)
    X = X if scale is None else X / scale
    some = distinct(X)
    X, labellings = X[some], [y[some] for y in labellings]
    k, noise = number_of(labellings[0]), float((labellings[0] == -1).mean())
    out: Row = {"name": name, "n": len(X), "d": X.shape[1], "k": k, "noise": noise}
    for key, number in (("unknown", None), ("given", k)):
        if number == 1:
            continue
        judge = _Judge(sample_of(X, number, False), number, Monitor())
        taken = judge.decide().taken
        out[key] = [
            {
                "affinity": c.title,
                "k": c.n_clusters,
                "missing": max((number or 0) - c.n_clusters, 0),
                "ari": agreement(labellings, found.noisy[0]),
                "ari0": agreement(labellings, found.plain[0]),
                "st": c.noise_stability if c.noise else c.stability,
                "st0": c.stability,
                "noise": c.noise,
                "cm": c.separation,
                "twice": c.reproduced >= CLEAR and judge._same(c) is not None,
                "taken": c is taken,
            }
            for c, found in zip(judge._tried, judge._found, strict=True)
        ]
        out[f"{key}, one"] = taken.n_clusters <= 1
    return out


def turned(one: Set) -> Row | None:
    """Agreement of the labels with those of the same data turned, scaled, moved and in another order."""
    name, X, _ = one
    n, d = X.shape
    if d < 2 or name.startswith(AXES):
        return None
    random = np.random.RandomState(n)
    turn, order = np.linalg.qr(random.normal(size=(d, d)))[0], random.permutation(n)
    first, second = DominantSets().fit(X), DominantSets().fit((7.3 * X @ turn + 5.0)[order])
    same = float(adjusted_rand_score(first.labels_[order], second.labels_))
    return {"name": name, "same": same, "affinity": [first.affinity_, second.affinity_]}


def times() -> Row:
    """Seconds of the second fit of overlapping round groups, the number unknown and given."""
    out: Row = {}
    for n, d in ((1_000, 5), (3_000, 5), (20_000, 5), (1_000_000, 10)):
        X, _ = make_blobs(n, centers=8, n_features=d, cluster_std=3.0, random_state=1)
        out[f"{n:,} x {d}"] = {}
        for key, k in (("unknown", None), ("given", 8)):
            for _ in range(2):
                begin = time.perf_counter()
                DominantSets(k).fit(X)
                out[f"{n:,} x {d}"][key] = round(time.perf_counter() - begin, 2)
    return out


def number_of(labels: np.ndarray) -> int:
    return int(np.unique(labels[labels >= 0]).size)


def call(one: Set) -> Row:
    """``DominantSets()`` and ``DominantSets(k)`` with all defaults."""
    name, X, labellings = one
    k = number_of(labellings[0])
    row: Row = {
        "name": name,
        "n": len(X),
        "d": X.shape[1],
        "k": k,
        "noise": float((labellings[0] == -1).mean()),
    }
    for key, number in (("unknown", None), ("given", k)):
        if k < 2 and number is not None:
            continue
        begin = time.perf_counter()
        model = DominantSets(number).fit(X)
        seconds = time.perf_counter() - begin
        hoped = model.choice_.expected_agreement
        row[key] = {
            "ari": agreement(labellings, np.asarray(model.labels_)),
            "k": model.n_clusters_,
            "affinity": model.affinity_,
            "expected": None if hoped is None else list(hoped),
            "seconds": round(seconds, 3),
        }
    row["rivals"] = {
        name: agreement(labellings, np.asarray(fit(X, k))) for name, fit in RIVALS.items() if k > 1
    }
    return row


RIVALS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {  # scikit-learn's, with k or without
    "KMeans(k)": lambda X, k: KMeans(k, n_init=5, random_state=0).fit_predict(X),
    "GaussianMixture(k)": lambda X, k: GaussianMixture(k, random_state=0).fit_predict(X),
    "AgglomerativeClustering(k)": lambda X, k: AgglomerativeClustering(k).fit_predict(X),
    "SpectralClustering(k)": lambda X, k: SpectralClustering(
        k, affinity="nearest_neighbors", random_state=0
    ).fit_predict(X),
    "HDBSCAN(5)": lambda X, _: HDBSCAN(min(5, len(X)), copy=True).fit_predict(X),
    "HDBSCAN(15)": lambda X, _: HDBSCAN(min(15, len(X)), copy=True).fit_predict(X),
}


# rules -----------------------------------------------------------------------------------------------------


def reproduced(c: Row) -> float:
    return float(c["st"] if c["noise"] and c["st"] >= BELIEVED else c["st0"])


def worth(c: Row) -> float:
    """The agreement of the labels that a fit returns."""
    return float(c["ari"] if not c["noise"] or c["st"] >= BELIEVED else c["ari0"])


def most_stable(c: Row) -> float:
    """Stability to two digits; of equally stable candidates, the one with the most separate clusters."""
    return float(1e3 * round(reproduced(c), 2) - c["cm"] - 1e6 * c["missing"])


def score(apart: float, many: float, noise: float) -> Callable[[Row], float]:
    def value(c: Row) -> float:
        found = reproduced(c) - apart * c["cm"] + many * np.log(max(c["k"], 1))
        return float(found + noise * (c["noise"] > 0 and c["st"] >= CONFIRMED) - MISSING * c["missing"])

    return value


RULES: dict[str, Callable[[Row], float]] = {
    "stability - 0.04 c + 0.1 log k + 0.3 b (taken)": score(0.04, 0.1, 0.3),
    "without the background": score(0.04, 0.1, 0.0),
    "without log k": score(0.04, 0.0, 0.3),
    "stability alone": score(0.0, 0.0, 0.0),
    "stability and background": score(0.0, 0.0, 0.3),
    "stability - 0.02 c + 0.1 log k + 0.3 b": score(0.02, 0.1, 0.3),
    "stability - 0.08 c + 0.1 log k + 0.3 b": score(0.08, 0.1, 0.3),
    "stability, then separation": most_stable,
    "separation alone": lambda c: -c["cm"],
}
TAKEN = next(iter(RULES.values()))


def clear(c: Row) -> bool:
    """Whether the clusters are stable, and found by two affinities (as in dominantsets.fitting.judge)."""
    return bool(c["twice"]) and reproduced(c) >= CLEAR


def stable_and_separate(c: Row) -> bool:
    """Another definition, which takes arcs of thin curves, too."""
    return reproduced(c) >= 0.97 and float(c["cm"]) <= np.log(0.01)


def of_rule(
    row: Row, key: str, rule: Callable[[Row], float], without: str = "", finer: Callable[[Row], bool] = clear
) -> float:
    """Agreement of what a rule takes; if all objects are one cluster, 1 where that is right."""
    one = float(row["k"] == 1)
    some = [c for c in row[key] if c["affinity"] != without]
    if row[f"{key}, one"] or not some:
        return one
    best = max(some, key=rule)
    fine = [c for c in some if c["k"] > best["k"] and finer(c)]
    best = max(fine, key=lambda c: (c["k"], rule(c)), default=best)
    return one if key == "unknown" and reproduced(best) < STABLE else worth(best)


def part_of(name: str) -> str:
    """The part of the sets that a name is of."""
    if ":" in name:
        return name.split(":")[0] + "s"
    seed = int(name.split("#")[1])
    if name.startswith("make_blobs"):
        return "make_blobs, " + ("odd", "even (chosen on)")[seed % 2 == 0]
    return "even seeds (chosen on)" if seed % 2 == 0 and seed < 1_000 else "other seeds"


def means(rows: list[Row], value: Callable[[Row], float]) -> Row:
    """Mean agreement on each part, sets without groups apart, and of sets with noise."""
    out: Row = {}
    for row in rows:
        part = "no groups" if row["k"] < 2 else part_of(row["name"])
        out.setdefault(part, []).append(value(row))
        if row["noise"] > 0.0 and "#" in row["name"]:
            out.setdefault("in noise", []).append(value(row))
    return {part: round(float(np.mean(found)), 3) for part, found in sorted(out.items())}


def tables() -> Row:
    """All figures of what is there."""
    rows, calls, nulls = (kept(name) for name in ("candidates", "calls", "nulls"))
    out: Row = {"machine": machine(), "sets": counts(rows)}
    for key in ("given", "unknown"):
        some = [row for row in rows if key in row]
        names = sorted({c["affinity"] for row in some for c in row[key]})
        out[key] = {
            name: means(some, lambda row, r=rule, at=key: of_rule(row, at, r)) for name, rule in RULES.items()
        }
        out[f"{key}, without"] = {
            name: means(some, lambda row, w=name, at=key: of_rule(row, at, TAKEN, w)) for name in names
        }
        out[key]["the best by the labels"] = means(
            some, lambda row, at=key: max([worth(c) for c in row[at]] + [float(row["k"] == 1)])
        )
    out["unknown"]["no finer clusters"] = means(
        rows, lambda row: of_rule(row, "unknown", TAKEN, finer=lambda c: False)
    )
    out["unknown"]["finer clusters that are stable (0.97) and separate (0.01)"] = means(
        rows, lambda row: of_rule(row, "unknown", TAKEN, finer=stable_and_separate)
    )
    if calls:
        out["calls"] = {"sets": counts(calls)} | {
            key: means([row for row in calls if key in row], lambda row, k=key: row[k]["ari"])
            for key in ("unknown", "given")
        }
        for name in RIVALS:
            some = [row for row in calls if name in row.get("rivals", {})]
            out["calls"][name] = means(some, lambda row, n=name: row["rivals"][n])
        out["reliability"] = reliability(
            [row for row in calls if part_of(row["name"]) != "even seeds (chosen on)"]
        )
    some = [row["same"] for row in kept("turned")]
    if some:
        equal = round(float(np.mean([same == 1.0 for same in some])), 3)
        out["turned"] = {"sets": len(some), "equal": equal, "mean": round(float(np.mean(some)), 3)}
    if (KEPT / "judge-times.json").exists():
        out["seconds, two threads"] = json.loads((KEPT / "judge-times.json").read_text("utf-8"))
    if nulls:
        out["nulls"] = {"sets": len(nulls), "two clusters or more": share(nulls)} | {
            f"{d} features": share([row for row in nulls if row["d"] == d])
            for d in sorted({r["d"] for r in nulls})
        }
    return out


def share(rows: list[Row]) -> float:
    return round(float(np.mean([row["unknown"]["k"] > 1 for row in rows])), 3)


def counts(rows: list[Row]) -> Row:
    out: Row = {}
    for row in rows:
        part = "no groups" if row["k"] < 2 else part_of(row["name"])
        out[part] = out.get(part, 0) + 1
    return out


def reliability(rows: list[Row]) -> list[Row]:
    """Fits by their expected agreement: how many, what they have, and the share in the interval."""
    found = [
        (row[key]["expected"], row[key]["ari"]) for row in rows for key in ("unknown", "given") if key in row
    ]
    found = [(hoped, ari) for hoped, ari in found if hoped is not None]
    out = []
    for low, high in pairwise(RELIABLE):
        some = [(hoped, ari) for hoped, ari in found if low <= hoped[0] < high]
        if some:
            inside = [hoped[1] - 0.005 <= ari <= hoped[2] + 0.005 for hoped, ari in some]
            out.append(
                {
                    "expected": [low, high],
                    "fits": len(some),
                    "mean expected": round(float(np.mean([hoped[0] for hoped, _ in some])), 3),
                    "mean found": round(float(np.mean([ari for _, ari in some])), 3),
                    "in the interval": round(float(np.mean(inside)), 3),
                }
            )
    return out


def kept(name: str) -> list[Row]:
    path = KEPT / f"judge-{name}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("candidates", "calls", "nulls", "turned", "times", "tables"))
    parser.add_argument("--seeds", default="0:400", help="from:to")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.what == "tables":
        found = tables()
        RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(found, indent=1))
        return
    KEPT.mkdir(exist_ok=True)
    if args.what == "times":
        (KEPT / "judge-times.json").write_text(json.dumps(times()), encoding="utf-8")
        return
    done = {row["name"] for row in kept(args.what)}
    kind = "null" if args.what == "nulls" else "drawn"
    todo = [one for one in sets(kind, range(*map(int, args.seeds.split(":")))) if one[0] not in done]
    work = {"candidates": candidates, "turned": turned}.get(args.what, call)
    with (
        Pool(args.processes) as pool,
        (KEPT / f"judge-{args.what}.jsonl").open("a", encoding="utf-8") as file,
    ):
        for row in pool.imap_unordered(work, todo):
            if row is not None:
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(row["name"], flush=True)


if __name__ == "__main__":
    main()
