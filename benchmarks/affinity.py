"""affinity="auto" and its candidates beside others, with the number of clusters told and not told.

Constants of the choice come from ``shapes/``, generated curves with seed 0 and generated documents with seed
0; other seeds, digits, images and newsgroups were not chosen on. Objects that a reference calls noise are not
counted, of several references the best counts (adjusted Rand index). Times are those of one fit each, all in
one process; a method that does not take sparse words, or would take minutes, is left out there.

    python benchmarks/affinity.py                   # writes results/affinity.json, and docs/affinity.png
    python benchmarks/affinity.py --quick           # generated curves of one seed, without writing
    python benchmarks/affinity.py --again "auto, K" # only these columns; the others stay as they were
    python benchmarks/affinity.py --shapes FILE     # a picture of all shapes with our labels, only
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

import _methods
import _real
from _curves import curves
from _machine import machine
from _words import documents
from dominantsets import DominantSets
from embedding import images

HERE = Path(__file__).parent
RESULT, PICTURE = HERE / "results" / "affinity.json", HERE.parent / "docs" / "affinity.png"
CHOSEN, OTHER, REPORTED = "chosen on", "not chosen on", "reported"
Labels = Callable[[np.ndarray, int | None], np.ndarray]


def ours(affinity: str, **params: Any) -> Labels:
    return lambda X, k: DominantSets(k, affinity=affinity, affinity_params=params or None).fit(X).labels_


METHODS: dict[str, tuple[Labels, bool, bool]] = {  # labels, whether it can be told the number, and must be
    "auto": (ours("auto"), True, False),
    "sqeuclidean": (ours("sqeuclidean"), True, False),
    "path": (ours("path", min_samples=5), True, False),
    "diffusion": (ours("diffusion"), True, False),
    "ellipses": (ours("ellipses"), True, False),
    "embedding": (ours("embedding"), True, False),
    "KMeans": (lambda X, k: KMeans(k, n_init=10, random_state=0).fit_predict(X), True, True),
    "GMM": (lambda X, k: GaussianMixture(k, n_init=3, random_state=0).fit_predict(X), True, True),
    "spectral": (
        lambda X, k: SpectralClustering(k, affinity="nearest_neighbors", random_state=0).fit_predict(X),
        True,
        True,
    ),
    "HDBSCAN": (lambda X, _: HDBSCAN(min_cluster_size=15, copy=True).fit_predict(X), False, False),
}

for _name in ("Genie K", "lumbermark K", "EVoC"):  # where they are installed, for the benchmark only
    _rival = _methods.METHODS[_name]
    if _rival.installed:
        METHODS[_name.removesuffix(" K")] = _rival.fit, _rival.told, _rival.told


DENSE_ONLY = ("path", "ellipses", "GMM", "HDBSCAN", "Genie", "lumbermark", "EVoC")
AT_MOST = {  # numbers in the data up to which a method takes seconds
    "path": 2e7, "diffusion": 2e7, "spectral": 1e7, "HDBSCAN": 3e6, "Genie": 3e6, "lumbermark": 3e6,
}  # fmt: skip
FEW = {"GMM": 100, "ellipses": 50}  # features up to which a method has covariances


def fits(method: str, X: Any) -> bool:
    """Whether a method takes such data, in seconds."""
    if sp.issparse(X):
        return method not in DENSE_ONLY
    return X.size <= AT_MOST.get(method, np.inf) and X.shape[1] <= FEW.get(method, np.inf)


def data_sets(quick: bool) -> Iterator[tuple[str, str, str, Any, list[np.ndarray]]]:
    """The kind of data, the half they count for, name, objects, and labellings."""
    for seed in (1,) if quick else (0, 1, 2):
        for name, X, y in curves(seed):
            yield "curves", (OTHER if seed else CHOSEN), f"{name} ({seed})", X, [y]
    for seed in () if quick else (0, 1):
        for name, X, y in documents(seed):
            yield "documents", (OTHER if seed else CHOSEN), f"{name} ({seed})", X, [y]
    if _real.available() and not quick:
        for name in _real.shape_names():
            X, labellings = _real.shape(name)[:2]
            yield "shapes", CHOSEN, name, np.asarray(X, dtype=float), labellings
        for name, X, y in images():
            yield "images", REPORTED, name, X, [y]
        for number in range(1, 5):
            X, y = words_of(number)
            yield "newsgroups", REPORTED, f"newsgroups {number}: words", sp.csr_array(X), [np.asarray(y)]
            X, labellings = _real.documents(number)
            yield "newsgroups", REPORTED, f"newsgroups {number}: directions", X, labellings
    else:
        X, y = load_digits(return_X_y=True)
        yield "images", REPORTED, "digits", X, [y]


def words_of(number: int) -> tuple[Any, Any]:
    from dominantsets.studies.experiments.newsgroups import documents as read

    return read(number)


def agreement(labellings: list[np.ndarray], found: np.ndarray) -> float:
    return max(adjusted_rand_score(y[y >= 0], found[y >= 0]) for y in labellings)


def picture(answers: list[tuple[str, np.ndarray, np.ndarray, float]], where: Path, columns: int = 6) -> None:
    """Points with the labels of auto, the number not told."""
    import matplotlib.pyplot as plt

    rows = -(-len(answers) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(1.5 * columns, 1.6 * rows))
    for axis in axes.flat:
        axis.axis("off")
    for axis, (name, X, labels, score) in zip(axes.flat, answers, strict=False):
        some = np.random.default_rng(0).permutation(len(X))[:1_000]
        colours = np.where(labels[some] < 0, 7, labels[some] % 7)
        axis.scatter(X[some, 0], X[some, 1], c=colours, cmap="Set1", vmin=0, vmax=8, s=1, linewidths=0)
        axis.set_title(f"{name}: {score:.2f}", fontsize=7)
    figure.tight_layout()
    figure.savefig(where, dpi=75)


def all_shapes(where: Path) -> None:
    answers = []
    for name in _real.shape_names():
        X, labellings = _real.shape(name)[:2]
        found = METHODS["auto"][0](np.asarray(X, dtype=float), None)
        answers.append((name, np.asarray(X), found, agreement(labellings, found)))
    picture(answers, where)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--again", nargs="*", metavar="COLUMN", default=[])
    parser.add_argument("--shapes", type=Path, metavar="FILE")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.shapes:
        return all_shapes(args.shapes)
    for k in (3, None):  # compiled before anything is timed
        for method in ("auto", "path", "ellipses", "embedding", "diffusion"):
            METHODS[method][0](make_blobs(300, random_state=0)[0], k)
    rows, answers, before = list[dict[str, Any]](), [], {}
    if args.again:
        before = {row["name"]: row for row in json.loads(RESULT.read_text(encoding="utf-8"))["rows"]}
    for kind, half, name, X, labellings in data_sets(args.quick):
        known = int(np.unique(labellings[0][labellings[0] >= 0]).size)
        row: dict[str, Any] = {"kind": kind, "half": half, "name": name}
        row |= {"n": X.shape[0], "d": X.shape[1], "k": known} | before.get(name, {})
        for method, (labels, can, must) in METHODS.items():
            if not fits(method, X):
                continue
            for told in [True] if must else [False] if not can else [True, False]:
                column = f"{method}, {'K' if told else 'no K'}"
                if args.again and column not in args.again:
                    continue
                began = time.perf_counter()
                found = labels(X, known if told else None)
                seconds = time.perf_counter() - began
                score = agreement(labellings, found)
                count = int(np.unique(found[found >= 0]).size)
                row[column] = [round(score, 3), count, round(seconds, 2)]
                if method == "auto" and not told and kind == "curves" and name.endswith("(1)"):
                    answers.append((name[:-4], X, found, score))
        rows.append(row)
        print(row, flush=True)
    content = {"machine": machine(), "means": means(rows), "rows": rows}
    for line in content["means"]:
        print(line)
    if args.quick:
        return None
    parts = [f' "machine": {json.dumps(content["machine"])}']
    for part in ("means", "rows"):
        parts.append(f' "{part}": [\n  ' + ",\n  ".join(map(json.dumps, content[part])) + "\n ]")
    RESULT.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    if answers:
        picture(answers, PICTURE)
    return None


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The mean agreement and seconds of every method, for each kind and half, over sets that it takes."""
    out = []
    for kind, half in dict.fromkeys((row["kind"], row["half"]) for row in rows):
        some = [row for row in rows if (row["kind"], row["half"]) == (kind, half)]
        for method in dict.fromkeys(key for row in some for key in row if key.endswith("K")):
            here = [row[method] for row in some if method in row]
            out.append(
                {
                    "group": f"{kind}, {half}",
                    "method": method,
                    "sets": len(here),
                    "ari": round(float(np.mean([scores[0] for scores in here])), 3),
                    "seconds": round(float(np.mean([scores[2] for scores in here])), 2),
                }
            )
    return out


if __name__ == "__main__":
    main()
