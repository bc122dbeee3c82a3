"""Diffusion against scikit-learn's spectral clustering, on the same neighbours' graphs and without tuning.

Run ``python benchmarks/diffusion.py``; it prints a line a data set, then means, and writes
results/diffusion.json. Contestants: ``DominantSets(K, affinity="diffusion")``, the same without K, and
``SpectralClustering(K, affinity="nearest_neighbors")`` with both of its deterministic ways to labels
("cluster_qr", and "kmeans" with a fixed seed). The measure is ARI over the objects that are not noise in
truth; of equally good labellings the best. Three groups are printed apart: what constants were looked at on
(seed 0, and the shapes), the same families with another seed, and images, which are reported only.

``--quick`` leaves out what takes long, ``--only A,B`` runs the sets with either in their name and ``--ours``
ours only, both of which keep the file's other figures; ``--nulls`` counts components of data without groups
instead. Shapes, USPS, COIL-20 and MNIST need DOMINANTSETS_DATA.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)
from sklearn.cluster import SpectralClustering  # noqa: E402
from sklearn.datasets import load_digits, make_circles, make_moons  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402

import _real  # noqa: E402
from _contest import folder  # noqa: E402
from _generators import blobs, ellipses, null, tiles  # noqa: E402
from dominantsets import DominantSets, as_similarity  # noqa: E402

RESULT = Path(__file__).parent / "results" / "diffusion.json"
LOOKED_AT, OTHER, REPORTED = "looked at", "other seed", "reported only"
SLOW = 6_000  # objects from which a set is left out in haste

Row = dict[str, Any]
FAMILIES: dict[str, Callable[[int], Any]] = {
    "blobs d2 K3": lambda seed: blobs(seed, 2, 3),
    "blobs d2 K10": lambda seed: blobs(seed, 2, 10),
    "blobs d2 K10 zipf": lambda seed: blobs(seed, 2, 10, zipf=True),
    "blobs d10 K10": lambda seed: blobs(seed, 10, 10),
    "blobs d10 K10 wide": lambda seed: blobs(seed, 10, 10, wide=True),
    "blobs d2 K50": lambda seed: blobs(seed, 2, 50),
    "blobs d10 K50": lambda seed: blobs(seed, 10, 50),
    "blobs d10 K100": lambda seed: blobs(seed, 10, 100, n=5_000),
    "blobs d10 K300": lambda seed: blobs(seed, 10, 300, n=4_500),
    "moons .05": lambda seed: make_moons(1_000, noise=0.05, random_state=seed),
    "moons .1": lambda seed: make_moons(1_000, noise=0.1, random_state=seed),
    "circles .03": lambda seed: make_circles(1_000, noise=0.03, factor=0.5, random_state=seed),
    "circles .06": lambda seed: make_circles(1_000, noise=0.06, factor=0.5, random_state=seed),
    "ellipses d2 K4": lambda seed: ellipses(seed, 2, 4),
    "ellipses d5 K6": lambda seed: ellipses(seed, 5, 6),
    "ellipses d20 K8": lambda seed: ellipses(seed, 20, 8),
    "discs K4": lambda seed: tiles(seed, "disc", 4),
    "squares K9 tight": lambda seed: tiles(seed, "square", 9, gap=0.1),
}


def images() -> Iterator[tuple[str, Any, np.ndarray]]:
    X, y = load_digits(return_X_y=True)
    yield "digits", X, y
    if _real.available():
        where = folder() / "vectors"
        for name in ("usps", "coil20"):
            with np.load(where / f"{name}.npz") as file:
                yield name, file["X"].reshape(len(file["X"]), -1).astype(np.float64), file["y"]
        with np.load(where / "mnist.npz") as file:
            X, y = file["x_train"][:10_000], file["y_train"][:10_000]
        yield "mnist 10,000", X.reshape(len(X), -1).astype(np.float64), y


def data_sets() -> Iterator[tuple[str, str, Any, list[np.ndarray]]]:
    """Group, name, objects, and labellings."""
    for seed, group in ((0, LOOKED_AT), (1, OTHER)):
        for name, make in FAMILIES.items():
            X, y = make(seed)
            yield group, name, X, [y]
    if _real.available():
        for name in _real.shape_names():
            yield LOOKED_AT, f"shapes {name}", *_real.shape(name)
    for name, X, y in images():
        yield REPORTED, name, X, [y]


def scored(labellings: list[np.ndarray], labels: np.ndarray) -> float:
    return max(float(adjusted_rand_score(y[y >= 0], labels[y >= 0])) for y in labellings)


def contest(X: Any, labellings: list[np.ndarray], old: Row | None) -> Row:
    """ARI and seconds of all; ours also with the number of clusters, and the share that is called noise."""
    k = int(np.unique(labellings[0][labellings[0] >= 0]).size)
    row: Row = {"n": len(X), "d": X.shape[1], "k": k}
    for name in () if old else ("cluster_qr", "kmeans"):
        start = time.perf_counter()
        model = SpectralClustering(k, affinity="nearest_neighbors", assign_labels=name, random_state=0).fit(X)
        row[name] = [round(scored(labellings, model.labels_), 3), round(time.perf_counter() - start, 1)]
    if old:
        row |= {name: old[name] for name in ("cluster_qr", "kmeans")}
    for name, asked in (("ours", k), ("ours, no K", None)):
        start = time.perf_counter()
        model = DominantSets(asked, affinity="diffusion").fit(X)
        seconds = round(time.perf_counter() - start, 1)
        noise = float((model.labels_ < 0).mean())
        ari = round(scored(labellings, model.labels_), 3)
        row[name] = [ari, seconds, model.n_clusters_, model.similarity_.rows.d, round(noise, 3)]
    row["behind"] = round(
        max(0.0, row["cluster_qr"][0] - row["ours"][0], row["kmeans"][0] - row["ours"][0]), 3
    )
    return row


def means(rows: list[Row]) -> list[Row]:
    """Mean ARI for each group, and on how many sets ours is behind the better of the rivals."""
    out = []
    for group in (LOOKED_AT, OTHER, REPORTED):
        some = [row for row in rows if row["group"] == group]
        if some:
            names = ("cluster_qr", "kmeans", "ours", "ours, no K")
            mean = {name: round(float(np.mean([row[name][0] for row in some])), 3) for name in names}
            behind = [row["name"] for row in some if row["behind"] > 0.002]
            out.append({"group": group, "sets": len(some), **mean, "behind": behind})
    return out


def nulls() -> list[Row]:
    """Components that are found in data without groups: seeds 0 to 3 were looked at, 4 to 9 not."""
    rows = []
    for kind in ("gauss", "uniform"):
        for d in (1, 2, 3, 5, 10, 50):
            for n in (200, 1_000, 3_000):
                found = [as_similarity(null(seed, kind, d, n)[0], "diffusion").rows.d for seed in range(10)]
                rows.append({"kind": kind, "d": d, "n": n, "looked at": found[:4], "other": found[4:]})
                print(rows[-1], flush=True)
    return rows


def write(content: Row, quick: bool) -> None:
    """One row a line, so that a file can be read and compared."""
    if quick:
        return
    listed = {k: v for k, v in content.items() if isinstance(v, list)}
    parts = [f' "{k}": {json.dumps(v)}' for k, v in content.items() if k not in listed]
    parts += [
        f' "{k}": [\n  ' + ",\n  ".join(json.dumps(row) for row in v) + "\n ]" for k, v in listed.items()
    ]
    RESULT.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sets only; writes nothing")
    parser.add_argument("--only", metavar="A,B", default="", help="sets with one of these in their name")
    parser.add_argument("--ours", action="store_true", help="ours only")
    parser.add_argument("--nulls", action="store_true", help="components of data without groups only")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    content: Row = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    known = {(row["group"], row["name"]): row for row in content.get("rows", [])}
    if args.nulls:
        content["nulls"] = nulls()
    else:
        parts = args.only.split(",")
        rows = [row for row in known.values() if not any(part in row["name"] for part in parts)]
        for asked in (3, None):  # compiled before anything is timed
            DominantSets(asked, affinity="diffusion").fit(blobs(0, 2, 3)[0])
        # small ones first, and the file is written after each: a run that is stopped leaves what it has
        for group, name, X, labellings in sorted(data_sets(), key=lambda data: data[2].size):
            if (args.quick and len(X) >= SLOW) or not any(part in name for part in parts):
                continue
            row = contest(X, labellings, known.get((group, name)) if args.ours else None)
            rows.append({"group": group, "name": name, **row})
            print(rows[-1], flush=True)
            content = {**content, "machine": machine(), "means": means(rows), "rows": rows}
            write(content, args.quick)
        for row in content["means"]:
            print(row)
    write(content, args.quick)


if __name__ == "__main__":
    main()
