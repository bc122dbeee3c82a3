"""What must not change an answer: units, place, direction, order, copies, more of the same, a few less.

The labels of changed data are compared with those of the data as they are, by the ARI over the objects that
both have, noise being a class. Nothing here needs classes: 1 is the same answer, right or wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _methods import METHODS, OURS, OURS_TOLD, fit
from _worker import Worker
from families import Setting, settings

N, MORE = 1_000, 10  # objects, and how many times as many of the same distribution
NAMES = (
    "blobs d2 K10 20% uniform", "blobs d10 K10 zipf", "blobs d30 K3 wide 20% uniform", "sphere d64 K20 30%",
    "discs K4", "ellipses d5 K6", "null gauss d5 n1500", "iris", "wine scaled",
)  # fmt: skip
QUICK = ("blobs d10 K10 zipf", "iris")
DROPS = 3  # draws of the objects left out
Changed = tuple[str, np.ndarray, np.ndarray]


def changed(X: np.ndarray, all_objects: np.ndarray | None) -> Iterator[Changed]:
    """What was done, the new data, and which object of X each of their rows is (-1: none of them)."""
    n, d = X.shape
    rng = np.random.default_rng(0)
    same = np.arange(n)
    yield "again", X.copy(), same
    yield "x 1e-6", X * 1e-6, same
    yield "x 1e6", X * 1e6, same
    yield "moved", X + 100 * X.std() * rng.normal(size=d), same
    yield "turned", X @ np.linalg.qr(rng.normal(size=(d, d)))[0], same
    order = rng.permutation(n)
    yield "permuted", X[order], order
    yield "twice", np.vstack([X, X]), np.r_[same, same]
    if all_objects is not None:
        yield f"n x {MORE}", all_objects, np.r_[same, np.full(len(all_objects) - n, -1)]
    for draw in range(DROPS):
        kept = np.sort(rng.permutation(n)[: round(0.95 * n)])
        yield f"5% dropped, {draw + 1}", X[kept], kept


def load(setting: Setting) -> tuple[np.ndarray, np.ndarray | None, int]:
    """Objects, many more of which these are the first, and the number of clusters."""
    if not setting.generated:
        data = setting.load(0)
        return data.X, None, data.k
    data = setting.load(0, n=N * MORE)
    X = data.X[np.random.default_rng(0).permutation(len(data.X))]
    return X[:N].copy(), X, data.k


def agreement(worker: Worker, name: str, setting: Setting) -> dict[str, Any]:
    """A row: how far the labels of each change agree with those of the data as they are."""
    X, more, k = load(setting)
    number = k if METHODS[name].told else None
    first = worker.call(fit, name, X, number)
    row: dict[str, Any] = {"setting": setting.name, "method": name}
    if first.failed:
        return row | {"failed": first.failed}
    row |= {"clusters": int(np.unique(first.value[first.value >= 0]).size), "agreement": {}}
    for what, Z, index in changed(X, more):
        out = worker.call(fit, name, Z, number)
        shared = index >= 0
        row["agreement"][what] = out.failed or round(
            float(adjusted_rand_score(first.value[index[shared]], out.value[shared])), 3
        )
    return row


def metamorphic(worker_of: Callable[[str], Worker], quick: bool) -> list[dict[str, Any]]:
    """All rows, ours with the number of clusters and without."""
    by_name = {setting.name: setting for setting in settings()}
    rows = []
    for name in QUICK if quick else NAMES:
        for method in (OURS, OURS_TOLD):
            rows.append(agreement(worker_of(method), method, by_name[name]))
            print(line(rows[-1]), flush=True)
    return rows


def line(row: dict[str, Any]) -> str:
    start = f"{row['setting']:30} {row['method']:7}"
    if "failed" in row:
        return f"{start} {row['failed']}"
    cells = [
        f"{what} {a:.2f}" if isinstance(a, float) else f"{what}: {a}" for what, a in row["agreement"].items()
    ]
    return f"{start} K {row['clusters']:2d} | {' | '.join(cells)}"


def show(rows: list[dict[str, Any]]) -> None:
    """Mean and least agreement of each change over all settings."""
    print("\nagreement with the answer on the data as they are: mean, least, how many of them are 1")
    for method in (OURS, OURS_TOLD):
        found: dict[str, list[float]] = {}
        for row in rows:
            for what, a in row.get("agreement", {}).items():
                if row["method"] == method:
                    found.setdefault(what.split(",")[0], []).append(a if isinstance(a, float) else 0.0)
        for what, values in found.items():
            right = sum(v >= 0.9995 for v in values)
            print(
                f"  {method:7} {what:12} {np.mean(values):6.3f} {min(values):6.3f}  {right} of {len(values)}"
            )
