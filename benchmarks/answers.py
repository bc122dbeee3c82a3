"""The labels of 500 random fits, of an old commit and of this one: are they the same?

Run ``python benchmarks/answers.py --old ../old [--count 500] [--seed 0] [--only 3,17]``; it prints tables and
writes results/answers.json (not with ``--only``, which prints what differs there in full). It needs NumPy,
SciPy, scikit-learn and Numba; fits that need pandas, Dask or torch are left out where those are missing.

A seeded generator draws configurations: data (Gaussian blobs, uniform, moons, circles, iris, wine, digits,
similarity matrices, graphs; mostly 5 to 800 objects, one in ten 3,000 to 30,000), affinity, how the data
are held (float64, float32, DataFrame, memmap, CSR, Dask array in this process, torch tensor), and options of
DominantSets; a fifth of the objects is held out and predicted. Some are of DominantSetHierarchy. Each
checkout fits all of them in a process of its own, both at a time. A fit is *equal* where labels, cores and
predictions are the same to the last object and the shift to 9 digits, or where both raise the same type of
error. It is *explained* where it is not equal and one of ``EXPECTED`` holds; else *different*. Dask arrays
and tensors are fitted in memory too: whether an explained or different one has the labels of memory is told.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads
from _pair import HERE, checkouts, commit, environment, parser, require

pin_threads(1)
os.environ["NUMBA_NUM_THREADS"] = "2"  # compiled work is then split, as it is for users

import numpy as np  # noqa: E402 (after the threads are pinned)
import scipy.sparse as sp  # noqa: E402
from sklearn.metrics import adjusted_rand_score, pairwise_distances  # noqa: E402

Config = dict[str, Any]

LARGE = 0.1  # share of configurations with many objects
HIERARCHIES = 0.08  # share of configurations that are of the hierarchy
LOW_RANK = ("sqeuclidean", "cosine", "linear")
NEEDS = {"frame": "pandas", "dask": "dask", "tensor": "torch"}
# How often an affinity comes, and how its data may be held.
AFFINITIES: dict[str, tuple[float, tuple[str, ...]]] = {
    **dict.fromkeys(LOW_RANK, (3.0, ("float64", "float32", "frame", "memmap", "csr", "dask", "tensor"))),
    "rbf": (2.5, ("float64", "float32", "frame", "memmap", "csr", "dask", "tensor")),
    "laplacian": (1.5, ("float64", "float32", "memmap", "dask", "tensor")),
    "euclidean": (1.2, ("float64", "float32", "frame", "memmap")),
    "path": (1.5, ("float64", "float32", "frame")),
    "nearest_neighbors": (1.5, ("float64", "float32", "frame", "csr")),
    "diffusion": (1.5, ("float64", "float32", "csr")),
    "precomputed": (1.5, ("float64", "float32", "memmap")),
    "graph": (2.0, ("csr", "csr", "csr", "dask")),
    "callable": (1.0, ("float64", "float32")),
}
MANY = (
    "sqeuclidean",
    "cosine",
    "linear",
    "rbf",
    "nearest_neighbors",
    "graph",
)  # those drawn with many objects
SOLVERS = {
    **dict.fromkeys(LOW_RANK, ("pairwise", "away", "fw", "replicator", "working-set", "dual")),
    "path": ("exact", "pairwise"),
    "diffusion": ("dual", "pairwise"),
}
SAVED = {"labels": "labels_", "cores": "core_labels_"}

# Name, reason, and for which configurations, given what the old commit found.
EXPECTED: list[tuple[str, str, Callable[[Config, dict[str, Any]], bool]]] = [
    (
        "D1",
        "above 20,000 objects of a Dask array, 200 stood for each cluster; now all do, as in memory",
        lambda c, old: (
            c["held"] == "dask" and c["n"] > 20_000 and c["options"].get("assign", "refine") == "refine"
        ),
    ),
    (
        "D3",
        "the hierarchy of a Dask array or a tensor raised, or loaded all of it",
        lambda c, old: c["what"] == "hierarchy" and c["held"] in ("dask", "tensor"),
    ),
    (
        "D5",
        "with one start, a cluster below min_cluster_size ended the run; now it is skipped",
        lambda c, old: (
            c["options"].get("min_cluster_size", 1) > 1 and str(old.get("end")) == "min_cluster_size"
        ),
    ),
    (
        "kernels",
        "rbf and laplacian had other solvers on a device and on Dask; now they are solved as in memory",
        lambda c, old: c["held"] in ("dask", "tensor") and c["affinity"] in ("rbf", "laplacian"),
    ),
    (
        "not concave",
        "below some shift the dual does not apply; that raised on Dask and tensors, now it is as in memory",
        lambda c, old: (
            (c["affinity"], c["options"].get("shift")) == ("linear", "sufficient")
            and c["held"] in ("dask", "tensor")
        ),
    ),
]


def draw(count: int, seed: int) -> list[Config]:
    """The configurations; those whose libraries are missing are drawn and left out."""
    missing = {held for held, library in NEEDS.items() if find_spec(library) is None}
    drawn = [configuration(number, np.random.default_rng([seed, number])) for number in range(count)]
    return [config for config in drawn if config["held"] not in missing]


def pick(rng: np.random.Generator, **weights: float) -> str:
    names, shares = list(weights), np.array(list(weights.values()))
    return names[int(rng.choice(len(names), p=shares / shares.sum()))]


def configuration(number: int, rng: np.random.Generator) -> Config:
    what = "hierarchy" if rng.random() < HIERARCHIES else "sets"
    large = what == "sets" and rng.random() < LARGE
    affinity = pick(rng, **{a: share for a, (share, _) in AFFINITIES.items() if not large or a in MANY})
    held = str(rng.choice(AFFINITIES[affinity][1]))
    if what == "hierarchy":
        n = int(rng.integers(8, 160))
    elif large:
        n = int(rng.integers(3_000, 30_000 if affinity in LOW_RANK else 6_000))
    else:
        n = int(rng.integers(100, 800) if rng.random() < 0.5 else np.exp(rng.uniform(np.log(5), np.log(800))))
    if large and affinity in LOW_RANK and rng.random() < 0.35:
        held, n = "dask", int(rng.integers(26_000, 36_000))
    data = data_of(affinity, n, held, large, rng)
    n_all = data["n"]
    n = n_all - max(1, n_all // 5) if n_all > 5 else n_all  # the rest is held out
    options = hierarchy_options(n, rng) if what == "hierarchy" else set_options(affinity, held, n, large, rng)
    params = {}
    if affinity == "linear":
        params["offset"] = "bound"
    elif affinity in ("nearest_neighbors", "diffusion"):
        params["n_neighbors"] = int(min(n - 1, rng.integers(2, 16)))
    elif affinity in ("sqeuclidean", "euclidean") and held in ("float64", "float32") and n < 500:
        params["offset"] = str(rng.choice(["bound", "exact"]))
    elif affinity in ("rbf", "laplacian") and rng.random() < 0.3:
        params["gamma"] = round(float(rng.uniform(0.05, 1.0)), 3)
    return {
        "number": number, "what": what, "affinity": affinity, "held": held, "n": n, "data": data,
        "params": params, "options": options,
    }  # fmt: skip


def data_of(affinity: str, n: int, held: str, large: bool, rng: np.random.Generator) -> Config:
    """Which data, as many as there are of them."""
    seed = int(rng.integers(10**6))
    if affinity in ("precomputed", "graph"):
        kinds = ("gaussian", "random", "blocks")
        return {"name": str(rng.choice(kinds)), "n": n, "seed": seed}
    flat = 2.0 if held != "csr" else 0.0
    real = 0.0 if large else 1.5
    name = pick(rng, blobs=5, uniform=1, moons=flat, circles=flat, iris=real, wine=real, digits=2 * real)
    n = min(n, {"iris": 150, "wine": 178, "digits": 1_797}.get(name, n))
    out: Config = {"name": name, "n": n, "seed": seed}
    if name in ("blobs", "uniform"):
        out["d"] = int(rng.integers(2, 21))
    if name == "blobs":
        out |= {"centers": int(rng.integers(2, 7)), "std": round(float(rng.uniform(0.3, 3.0)), 2)}
    return out


def set_options(affinity: str, held: str, n: int, large: bool, rng: np.random.Generator) -> Config:
    """Options of DominantSets, those that are not the default."""
    out: Config = {"random_state": 0}
    if large or rng.random() < 0.65:
        out["n_clusters"] = int(min(n, rng.integers(2, 9)))
    shift = pick(rng, auto=6, number=2.5, guaranteed=0.7, sufficient=0.0 if large else 0.7)
    if shift == "number":
        out["shift"] = {"times_n": round(float(np.exp(rng.uniform(np.log(0.002), np.log(0.2)))), 4)}
    elif shift != "auto":
        out |= {"shift": shift, "min_cluster_size": int(rng.integers(2, max(3, n // 8)))}
    elif rng.random() < 0.05:
        out["min_cluster_size"] = int(rng.integers(2, 6))
    out["assign"] = [None, "average", "refine"][int(rng.choice(3, p=[0.2, 0.2, 0.6]))]
    if out["assign"] == "refine":
        out["noise"] = ["auto", "cores", 0.1, None][int(rng.choice(4, p=[0.4, 0.2, 0.2, 0.2]))]
    if not large and rng.random() < (0.3 if held not in ("dask", "tensor") else 0.1):
        names = SOLVERS.get(affinity, ("pairwise", "away", "fw", "replicator", "working-set"))
        algorithm = str(rng.choice(names))
        out["solver_params"] = params = {"algorithm": algorithm}
        if algorithm in ("fw", "replicator"):
            params["max_iter"] = {"fw": 2_000, "replicator": 200}[algorithm]
        if algorithm == "replicator":
            params["start"] = "barycenter"
    return out


def hierarchy_options(n: int, rng: np.random.Generator) -> Config:
    out: Config = {}
    if rng.random() < 0.6:
        out["n_clusters"] = int(min(n, rng.integers(2, 5)))
    if rng.random() < 0.4:
        out["min_cluster_size"] = int(rng.integers(1, 8))
    return out


# data ---------------------------------------------------------------------------------------------------


def features(data: Config) -> np.ndarray:
    """Rows of features in float64."""
    from sklearn import datasets

    n, seed, name = data["n"], data["seed"], data["name"]
    rng = np.random.default_rng(seed)
    if name == "blobs":
        return datasets.make_blobs(
            n, data["d"], centers=data["centers"], cluster_std=data["std"], random_state=seed
        )[0]
    if name == "uniform":
        return rng.random((n, data["d"]))
    if name in ("moons", "circles"):
        make, more = {
            "moons": (datasets.make_moons, {}), "circles": (datasets.make_circles, {"factor": 0.5}),
        }[name]  # fmt: skip
        return make(n, noise=0.06, random_state=seed, **more)[0]
    X = getattr(datasets, f"load_{name}")().data
    return np.array(X[rng.choice(len(X), n, replace=False)], dtype=np.float64)


def matrix(data: Config) -> np.ndarray:
    """A dense similarity with a zero diagonal."""
    n, rng = data["n"], np.random.default_rng(data["seed"])
    if data["name"] == "random":
        A = rng.random((n, n))
    elif data["name"] == "gaussian":
        X = np.repeat(4.0 * rng.normal(size=(4, 3)), -(-n // 4), axis=0)[:n] + rng.normal(size=(n, 3))
        A = np.exp(-pairwise_distances(X[rng.permutation(n)], metric="sqeuclidean") / 4.0)
    else:
        y = rng.integers(4, size=n)
        A = rng.random((n, n)) * np.where(y[:, None] == y, 1.0, 0.3)
    A = np.triu(A, 1)
    return A + A.T


def graph(data: Config) -> sp.csr_array:
    """A sparse similarity: neighbours of points, edges at random, or denser inside blocks."""
    n, rng = data["n"], np.random.default_rng(data["seed"])
    if data["name"] == "gaussian":
        from sklearn.neighbors import kneighbors_graph

        X = np.repeat(3.0 * rng.normal(size=(5, 3)), -(-n // 5), axis=0)[:n] + rng.normal(size=(n, 3))
        G = sp.csr_array(kneighbors_graph(X[rng.permutation(n)], min(n - 1, 12), mode="distance"))
        G.data = np.exp(-G.data)
    else:
        m = 8 * n
        i, j = rng.integers(n, size=(2, m))
        if data["name"] == "blocks":
            near = rng.random(m) < 0.8
            j = np.where(near, np.minimum(n - 1, i // 40 * 40 + rng.integers(40, size=m)), j)
        G = sp.csr_array(sp.coo_array((rng.random(m), (i, j)), shape=(n, n)))
        G.sum_duplicates()
    G = sp.csr_array(G.maximum(G.T))
    G.setdiag(0.0)
    G.eliminate_zeros()
    G.sort_indices()
    return G


def inverse_distance(P: Any, Q: Any) -> Any:
    return 1.0 / (1.0 + pairwise_distances(P, Q, metric="cityblock"))


def hold(X: np.ndarray, held: str, folder: Path) -> Any:
    """Rows as the user has them."""
    if held == "float32":
        return X.astype(np.float32)
    if held == "frame":
        import pandas as pd

        return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    if held == "memmap":
        np.save(folder / "rows.npy", X)
        return np.load(folder / "rows.npy", mmap_mode="r")
    if held == "csr":
        low = np.quantile(np.abs(X), 0.4)
        return sp.csr_array(np.where(np.abs(X) > low, X, 0.0))
    if held == "tensor":
        import torch

        return torch.from_numpy(X)
    if held == "dask":
        import dask.array as da

        return da.from_array(X, chunks=(max(1, -(-len(X) // 3)), X.shape[1]))
    return X


def make(config: Config, folder: Path) -> tuple[Any, Any, float]:
    """What to fit, what to predict, and the scale of the similarities (for shifts that are numbers)."""
    n, held = config["n"], config["held"]
    if config["affinity"] == "precomputed":
        A = matrix(config["data"])
        return hold(A[:n, :n], held, folder), A[n:, :n], 0.5
    if config["affinity"] == "graph":
        G = graph(config["data"])
        inside = sp.csr_array(G[:n, :n])
        if held == "dask":
            import dask.array as da

            step = -(-n // 3)
            blocks = [inside[begin : begin + step] for begin in range(0, n, step)]
            inside = da.concatenate([
                da.from_array(block, chunks=block.shape, asarray=False) for block in blocks
            ])  # fmt: skip
            return inside, None, 10.0 / n
        return inside, sp.csr_array(G[n:, :n]), 10.0 / n
    X = features(config["data"])
    away = np.square(X - X.mean(axis=0)).sum(axis=1)
    scale = {"sqeuclidean": 4 * away.max(), "euclidean": 2 * away.max() ** 0.5, "path": away.mean()}
    scale |= {"linear": np.square(X).sum(axis=1).mean()}
    as_new = held if held in ("float32", "csr", "tensor", "frame") else "float64"
    new = hold(X[n:], as_new, folder) if n < len(X) else None
    return hold(X[:n], held, folder), new, float(scale.get(config["affinity"], 1.0))


# fits ---------------------------------------------------------------------------------------------------


def plain(labels: Any) -> np.ndarray:
    return np.asarray(labels.compute() if hasattr(labels, "compute") else labels)


def fit(config: Config, folder: Path) -> dict[str, Any]:
    """Labels of one configuration, or its error."""
    import dominantsets

    X, new, scale = make(config, folder)
    options = dict(config["options"])
    if isinstance(options.get("shift"), dict):
        options["shift"] = float(options["shift"]["times_n"] * config["n"] * scale)
    affinity = {"graph": "precomputed", "callable": inverse_distance}.get(
        config["affinity"], config["affinity"]
    )
    kind = dominantsets.DominantSets if config["what"] == "sets" else dominantsets.DominantSetHierarchy
    out: dict[str, Any] = {"error": "", "message": ""}
    try:
        model = kind(affinity=affinity, affinity_params=config["params"] or None, **options).fit(X)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}
    for name, attribute in SAVED.items():
        if hasattr(model, attribute):
            out[name] = plain(getattr(model, attribute))
    if config["what"] == "sets":
        out["shift"] = float(np.median(model.shifts_)) if len(model.shifts_) else 0.0
        out["end"] = getattr(getattr(model, "end_", None), "value", "")
        if new is not None and new.shape[0]:
            try:
                out["predicted"] = plain(model.predict(new))
            except Exception as error:
                out |= {"error": f"predict: {type(error).__name__}", "message": str(error)}
    else:
        out["leaves"] = plain(model.leaves_)
    return out


def work(root: Path, folder: Path, configs: list[Config]) -> None:
    """The work of a child process: fit all, and save what came out."""
    warnings.simplefilter("ignore")
    require(root)
    taken = []
    for count, config in enumerate(configs):
        begin = time.perf_counter()
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as place:
            warnings.simplefilter("ignore")
            found = fit(config, Path(place))
            if config["held"] in ("dask", "tensor"):
                held = "csr" if config["affinity"] == "graph" else "float64"
                found["in_memory"] = fit({**config, "held": held}, Path(place)).get("labels", [])
        taken.append((time.perf_counter() - begin, config["number"]))
        np.savez(folder / f"{config['number']}.npz", **found)
        if (count + 1) % 100 == 0:
            print(f"{count + 1} of {len(configs)} fitted in {sum(t for t, _ in taken):.0f} s", flush=True)
    slow = {number: round(seconds, 1) for seconds, number in sorted(taken)[-5:]}
    print(f"{sum(t for t, _ in taken):.0f} s in all; the slowest (number: seconds): {slow}", flush=True)


# comparison ---------------------------------------------------------------------------------------------


def load(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def compare(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """How two results of one configuration differ; nothing where they do not."""
    if str(old["error"]) != str(new["error"]):
        return {
            "error": [str(found["error"]) or "none" for found in (old, new)],
            "message": [str(found["message"])[:200] for found in (old, new)],
        }
    out: dict[str, Any] = {}
    for name in ("labels", "cores", "predicted", "leaves"):
        if (name in old) != (name in new):
            out[name] = "missing in one"
        elif name in old and not np.array_equal(old[name], new[name]):
            a, b = old[name], new[name]
            same = len(a) == len(b)
            out[name] = {
                "objects_that_differ": int(np.count_nonzero(a != b)) if same else None,
                "of": len(a),
                "ari": round(float(adjusted_rand_score(a, b)), 4) if same else None,
                "clusters": [int(a.max(initial=-1)) + 1, int(b.max(initial=-1)) + 1],
            }
    if (
        "shift" in old
        and "shift" in new
        and not np.isclose(old["shift"], new["shift"], rtol=1e-9, atol=1e-12)
    ):
        out["shift"] = [float(old["shift"]), float(new["shift"])]
    return out


def as_in_memory(found: dict[str, Any]) -> bool:
    """Whether the labels are those of the same data in memory, in the same checkout."""
    return "labels" in found and np.array_equal(found["labels"], found.get("in_memory", []))


def explain(config: Config, old: dict[str, Any]) -> str | None:
    return next((name for name, _, holds in EXPECTED if holds(config, old)), None)


def table(configs: list[Config], verdicts: dict[int, str], by: str) -> dict[str, dict[str, int]]:
    """Counts of verdicts by a part of the configuration."""
    out: dict[str, Counter[str]] = {}
    for config in configs:
        out.setdefault(str(config[by]), Counter())[verdicts[config["number"]]] += 1
    verdict_names = ("equal", "explained", "different")
    rows = {name: {v: counts[v] for v in verdict_names} for name, counts in sorted(out.items())}
    print(f"\n| {by} | equal | explained | different |\n|---|---|---|---|")
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(str(row[v]) for v in verdict_names) + " |")
    return rows


def run(roots: dict[str, Path], folder: Path, arguments: list[str]) -> None:
    """Both checkouts at a time."""
    children = {}
    for name, root in roots.items():
        (folder / name).mkdir()
        words = [sys.executable, __file__, "--old", str(root), "--work", str(folder / name), *arguments]
        children[name] = subprocess.Popen(words, env=environment(root), stdout=subprocess.PIPE, text=True)
    try:
        for name, child in children.items():
            told, _ = child.communicate()
            print(f"{name}: " + told.strip().replace("\n", f"\n{name}: "), flush=True)
            if child.returncode:
                raise SystemExit(f"the fits of the {name} checkout failed.")
    finally:
        for child in children.values():
            if child.poll() is None:
                child.kill()


def arguments_of(args: argparse.Namespace) -> list[str]:
    out = ["--count", str(args.count), "--seed", str(args.seed)]
    return [*out, "--only", args.only] if args.only else out


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--count", type=int, default=500)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", help="numbers of configurations, with commas between them")
    options.add_argument("--work", type=Path, help="used by the script itself")
    args = options.parse_args()
    configs = draw(args.count, args.seed)
    if args.only:
        only = {int(number) for number in args.only.split(",")}
        configs = [config for config in configs if config["number"] in only]
    if args.work:
        work(args.old, args.work, configs)
        return
    roots = checkouts(args)
    differences, verdicts, errors, reworded = [], {}, 0, 0
    explained: Counter[str] = Counter()
    in_memory: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run(roots, folder, arguments_of(args))
        for config in configs:
            number = config["number"]
            old, new = (load(folder / name / f"{number}.npz") for name in roots)
            difference, reason = compare(old, new), explain(config, old)
            errors += bool(str(old["error"]))
            reworded += not difference and str(old["message"]) != str(new["message"])
            verdicts[number] = "equal" if not difference else "different" if reason is None else "explained"
            if difference and reason is not None:
                explained[reason] += 1
                in_memory[reason] += as_in_memory(new)
            if difference and (reason is None or args.only):
                if config["held"] in ("dask", "tensor"):
                    difference["as_in_memory"] = [as_in_memory(old), as_in_memory(new)]
                differences.append({**config, "difference": difference})
    result = {
        "machine": machine(),
        "commits": {name: commit(root) for name, root in roots.items()},
        "configurations": len(configs),
        "seed": args.seed,
        "counts": dict(Counter(verdicts.values())),
        "raise_an_error_in_old": errors,
        "equal_but_for_the_words_of_an_error": reworded,
        "expected": {
            name: {"why": why, "fits": explained[name], "as_in_memory": in_memory[name]}
            for name, why, _ in EXPECTED
        },
        "by": {by: table(configs, verdicts, by) for by in ("affinity", "held", "what")},
        "different": differences,
    }
    print("\ndifferent:", *(json.dumps(row) for row in differences), sep="\n")
    print({name: result[name] for name in ("configurations", "counts", "raise_an_error_in_old")})
    for name, row in result["expected"].items():
        print(f"{name}: {row['fits']} fits, {row['as_in_memory']} of them now as in memory ({row['why']})")
    print(f"{reworded} errors in other words")
    if not args.only:
        path = args.out or HERE / "results" / "answers.json"
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
