"""What the comparisons with other methods share: data, and one process for each method and data set."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SECONDS, GIGABYTES = 60, 6
Method = Callable[[Any, int], np.ndarray]


def folder() -> Path:
    return Path(os.environ["DOMINANTSETS_DATA"])


def vectors(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Images of a data set as rows."""
    with np.load(folder() / "vectors" / f"{name}.npz") as data:
        if "X" in data:
            X, y = data["X"], data["y"]
        else:
            X = np.concatenate([data["x_train"], data["x_test"]])
            y = np.concatenate([data["y_train"], data["y_test"]])
    return X.reshape(len(X), -1).astype(np.float64), y


def newsgroups(k: int) -> tuple[np.ndarray, np.ndarray]:
    from dominantsets.studies.experiments.newsgroups import features

    return features(k, seed=0)


def blobs(n: int, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Ten round classes in ten dimensions, and a share of uniform noise with a label of its own."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    X = 4.0 * rng.normal(size=(10, 10))[y] + rng.normal(size=(n, 10))
    out = rng.random(n) < noise
    X[out] = rng.uniform(X.min(), X.max(), size=(int(out.sum()), 10))
    y[out] = -1
    return X, y


def rival(name: str, **options: Any) -> Method:
    """A method of scikit-learn; "k" stands for the number of classes."""

    def fit(X: Any, k: int) -> np.ndarray:
        from sklearn import cluster

        chosen = {key: k if value == "k" else value for key, value in options.items()}
        return getattr(cluster, name)(**chosen).fit_predict(X)

    return fit


def resident_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (GIGABYTES * 2**30,) * 2)


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What the work returns, its seconds, and by how much the process grew."""
    before, begin = resident_kib(), time.perf_counter()
    found = work()
    seconds = time.perf_counter() - begin
    return found, {"seconds": round(seconds, 4), "growth_mb": round((resident_kib() - before) / 1024, 1)}


def run(script: str, method: str, data: str, output: Path) -> dict[str, Any]:
    """A row, made by ``script --one METHOD DATA FILE`` in a process of its own, or why there is none."""
    output.unlink(missing_ok=True)
    command = [sys.executable, script, "--one", method, data, str(output)]
    row: dict[str, Any] = {"data": data, "method": method}
    try:
        # loading and compiling are not timed, so the process may live longer than the fit
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 45, check=False)
    except subprocess.TimeoutExpired:
        return row | {"failed": f"more than {SECONDS} s"}
    if output.exists():
        found = json.loads(output.read_text(encoding="utf-8"))
        output.unlink()
        return row | (found if found["seconds"] <= SECONDS else {"failed": f"more than {SECONDS} s"})
    memory = "MemoryError" in done.stderr or "allocate" in done.stderr or done.returncode < 0
    reason = f"more than {GIGABYTES} GB" if memory else (done.stderr.strip().splitlines() or ["?"])[-1][:80]
    return row | {"failed": reason}
