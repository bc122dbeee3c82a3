"""The same labels everywhere: one file of SHA-256, and where a machine or a setting gives others.

``python benchmarks/same_labels.py --record`` writes results/same_labels.json: the digest of the labels of 100
seeds of a generator and of three shipped sets, under six affinities. Without it the labels are compared with
the file, once per setting: numbers of threads, ``NUMBA_CPU_NAME=generic``, kernels of OpenBLAS by
``OPENBLAS_CORETYPE``, and permuted rows; it prints a table and keeps it in the file. ``--here`` compares in
this process alone and ends with 1 if any label differs; tests/test_same_labels.py does that in the tests, and
the workflow on every system, ``--untied``: without the fits that a setting of the file labels differently, in
which rounding decides a tie.

The generator adds whole numbers only, so that the data are the same bits on every machine; their digests are
in the file, too. Nothing in a fit is drawn at random, so a difference comes from the order of sums, from
another processor or library, or from ties.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from _machine import machine
from dominantsets import DominantSets

RESULTS = Path(__file__).parent / "results" / "same_labels.json"
SEEDS = 100
AFFINITIES = ("sqeuclidean", "path", "cosine", "diffusion", "rbf", "graph")
SHIPPED = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
SETTINGS: dict[str, dict[str, str]] = {
    "1 thread": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
    "2 threads": {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"},
    "generic processor": {"NUMBA_CPU_NAME": "generic"},
    **{
        f"OpenBLAS {core}": {"OPENBLAS_CORETYPE": core} for core in ("Prescott", "Haswell", "Zen", "SkylakeX")
    },
    "permuted rows": {},
}


def drawn(seed: int) -> np.ndarray:
    """Groups and some objects between them: sums of whole numbers over powers of two."""
    rng = np.random.RandomState(seed)
    count, d, n = int(rng.randint(2, 6)), int(rng.randint(2, 6)), int(rng.randint(60, 200))
    group = rng.randint(0, count, n)
    centers = rng.randint(-12, 13, (count, d)).astype(float)
    widths = rng.randint(4, 24, count) / 16.0
    bell = (rng.randint(0, 2**16, (n, d, 12)).sum(axis=2) - 6 * 2**16) / 2.0**16
    X = centers[group] + bell * widths[group, None]
    lost = rng.randint(0, 20, n) == 0
    X[lost] = rng.randint(-(2**14), 2**14, (int(lost.sum()), d)) / 2.0**10
    return np.asarray(X)


def graph_of(X: np.ndarray) -> Any:
    """An edge between objects that are among the six nearest of each other, by exact squared distances."""
    squares = np.square(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    near = np.zeros(squares.shape)
    np.put_along_axis(near, np.argsort(squares, axis=1, kind="stable")[:, :6], 1.0, axis=1)
    return sp.csr_array(np.maximum(near, near.T))


def data_sets() -> Iterator[tuple[str, np.ndarray]]:
    """Names and rows."""
    for seed in range(SEEDS):
        yield f"seed {seed}", drawn(seed)
    for name, load in SHIPPED.items():
        yield name, np.asarray(load().data, dtype=float)


def labels_of(X: np.ndarray, affinity: str, order: np.ndarray | None = None) -> np.ndarray:
    """Labels of a fit, in the order of X; the rows come to it in another order if one is given."""
    order = np.arange(len(X)) if order is None else order
    given: Any = graph_of(X)[order][:, order] if affinity == "graph" else X[order]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DominantSets(affinity="precomputed" if affinity == "graph" else affinity).fit(given)
    out = np.empty(len(X), dtype=np.int64)
    out[order] = model.labels_
    return out


def digest(array: np.ndarray) -> str:
    kind = "<i8" if array.dtype.kind == "i" else "<f8"
    return hashlib.sha256(str(array.shape).encode() + array.astype(kind).tobytes()).hexdigest()


def digests(permuted: bool = False, seeds: int = SEEDS) -> dict[str, dict[str, str]]:
    """Of the data and of the labels under each affinity, by data set."""
    out = {}
    for k, (name, X) in enumerate(data_sets()):
        if seeds <= k < SEEDS:
            continue
        order = np.random.RandomState(k).permutation(len(X)) if permuted else None
        row = {affinity: digest(labels_of(X, affinity, order)) for affinity in AFFINITIES}
        out[name] = {"data": digest(X), **row}
    return out


def differences(found: dict[str, dict[str, str]], known: dict[str, dict[str, str]]) -> list[str]:
    """Data sets and affinities with other digests."""
    return [f"{name}, {key}" for name in found for key in found[name] if found[name][key] != known[name][key]]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--record", action="store_true", help="write the digests of this machine")
    arguments.add_argument(
        "--here", action="store_true", help="compare in this process, and print the differences"
    )
    arguments.add_argument("--permuted", action="store_true", help="with permuted rows")
    arguments.add_argument(
        "--untied", action="store_true", help="without the fits in which a setting of the file found a tie"
    )
    arguments.add_argument("--seeds", type=int, default=SEEDS, help="how many of the seeds")
    options = arguments.parse_args()
    if options.record:
        content = {"labels": digests(), "settings": {}, "machine": machine()}
        RESULTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        return 0
    content = json.loads(RESULTS.read_text(encoding="utf-8"))
    if options.here:
        found = differences(digests(options.permuted, options.seeds), content["labels"])
        tied = {name for row in content["settings"].values() for name in row["which"]}
        found = [name for name in found if not (options.untied and name in tied)]
        print(json.dumps(found))
        return int(bool(found))
    for setting, variables in SETTINGS.items():
        began = time.perf_counter()
        command = [sys.executable, __file__, "--here", "--seeds", str(options.seeds)]
        command += ["--permuted"] if setting == "permuted rows" else []
        run = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
        found = json.loads(run.stdout) if run.returncode in (0, 1) and run.stdout else [run.stderr[-300:]]
        fits = len(AFFINITIES) * (options.seeds + len(SHIPPED))
        content["settings"][setting] = {"fits": fits, "other_labels": len(found), "which": found}
        seconds = time.perf_counter() - began
        print(f"{setting:20s} {len(found):4d} of {fits} differ {found[:4]} ({seconds:.0f} s)", flush=True)
        RESULTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
