"""What must not change an answer: order, place, direction, unit, precision and container of the same data.

Run ``nice python benchmarks/metamorphic.py --n 20000``; it prints a table and writes
results/metamorphic.json. A run that was stopped goes on where it was; ``--afresh`` counts from nothing.

Every data set (some groups and some noise, 20 to 60 objects) is fitted as it is and again after each change
that its affinity must not notice. Counted by relation: fits, those with another partition, and those with the
same partition under other numbers. Data sets of whole numbers have ties: there the values of the clusters are
compared, as a set. ``predict`` of the objects of each fit is compared with its labels. "copies" compares
``solve`` with sample_weight=w and with w copies of each object: value, members and weights.

benchmarks/quality.py has the same question for data sets of 1,000 objects, more data and fewer
(_metamorphic.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)
import pandas as pd  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn.datasets import make_blobs  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402
from sklearn.metrics.pairwise import rbf_kernel  # noqa: E402

from _resumed import go_on  # noqa: E402
from dominantsets import DominantSets, as_similarity, solve  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "metamorphic.json"
SAVED_EVERY = 100
FOUND = 12  # differences of a relation of which the data set is kept
DISTANCES = (
    "sqeuclidean", "euclidean", "rbf", "laplacian", "path", "nearest_neighbors", "diffusion", "ellipses",
    "auto",
)  # fmt: skip
AFFINITIES = (*DISTANCES, "cosine", "linear", "precomputed")
SPARSE = ("sqeuclidean", "cosine", "rbf", "nearest_neighbors")
BLOCKS = ("sqeuclidean", "cosine", "rbf")  # also in Dask arrays and tensors
EXPONENTS = (-8, -3, 3, 8)
Change = Callable[[np.ndarray, np.random.Generator], tuple[Any, np.ndarray]]


def permuted(X: np.ndarray, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    order = rng.permutation(len(X))
    return X[order], order


def moved(X: np.ndarray, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    return X + 100.0 * X.std() * rng.normal(size=X.shape[1]), np.arange(len(X))


def turned(X: np.ndarray, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    return X @ np.linalg.qr(rng.normal(size=(X.shape[1],) * 2))[0], np.arange(len(X))


def scaled(exponent: int) -> Change:
    return lambda X, rng: (X * 10.0**exponent, np.arange(len(X)))


def held_in(container: Callable[[np.ndarray], Any]) -> Change:
    return lambda X, rng: (container(X), np.arange(len(X)))


def dask_array(X: np.ndarray) -> Any:
    import dask.array as da

    return da.from_array(X, chunks=(max(1, len(X) // 3), X.shape[1]))


def tensor(X: np.ndarray) -> Any:
    import torch

    return torch.tensor(X)


def permuted_matrix(A: np.ndarray, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    order = rng.permutation(len(A))
    return A[np.ix_(order, order)], order


def relations(affinity: str) -> Iterator[tuple[str, Change]]:
    """What an affinity must not notice."""
    if affinity == "precomputed":
        yield "permuted", permuted_matrix
        for exponent in EXPONENTS:
            yield f"x 1e{exponent}", scaled(exponent)
        return
    yield "permuted", permuted
    if affinity in DISTANCES:
        yield "moved", moved
    if affinity not in ("laplacian", "linear"):
        yield "turned", turned
    for exponent in EXPONENTS:
        yield f"x 1e{exponent}", scaled(exponent)
    yield "float32", held_in(lambda X: X.astype(np.float32))
    yield "data frame", held_in(pd.DataFrame)
    if affinity in SPARSE:
        yield "CSR", held_in(sp.csr_array)
    if affinity in BLOCKS:
        yield "Dask", held_in(dask_array)
        yield "tensor", held_in(tensor)


class Tally:
    """Counts by relation, and where a difference was."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.counts: dict[str, dict[str, int]] = known.get("counts", {})
        self.found: list[dict[str, Any]] = known.get("found", [])

    def count(self, relation: str, *names: str) -> None:
        row = self.counts.setdefault(relation, {})
        for name in names:
            row[name] = row.get(name, 0) + 1

    def differs(self, relation: str, name: str, **details: Any) -> None:
        self.count(relation, name)
        if self.counts[relation][name] <= FOUND:
            self.found.append({"relation": relation, "what": name, **details})

    def made(self) -> int:
        return sum(row["fits"] for name, row in self.counts.items() if not name.startswith("predict"))

    def failed(self, number: int, error: Exception) -> None:
        self.count("errors", "fits")
        self.differs("errors", "another partition", data=number, error=repr(error)[:200])

    def content(self) -> dict[str, Any]:
        return {"fits": self.made(), "counts": dict(sorted(self.counts.items())), "found": self.found}

    def show(self) -> None:
        print(f"{self.made():,} fits")
        whats = ("another partition", "other numbers", "other values")
        print(f"{'relation':34} {'fits':>7} {whats[0]:>18} {whats[1]:>14} {whats[2]:>13}")
        for name, row in self.counts.items():
            cells = [row.get(what, 0) for what in whats]
            share = f"{cells[0]} ({cells[0] / row['fits']:.2%})"
            print(f"{name:34} {row['fits']:7,} {share:>18} {cells[1]:14} {cells[2]:13}")
        for one in self.found:
            print("  ", one)


def data(seed: int, affinity: str, ties: bool) -> tuple[np.ndarray, int | None]:
    """A data set of numbers that float32 holds too, and the number of clusters to ask for."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 61)), int(rng.integers(2, 6))
    groups = int(rng.integers(2, 5))
    X, _ = make_blobs(n, centers=groups, n_features=d, cluster_std=rng.uniform(0.7, 2.5), random_state=seed)
    noise = int(rng.integers(0, n // 5))
    X[:noise] = rng.uniform(-12, 12, size=(noise, d))
    X = np.round(X) if ties else X.astype(np.float32).astype(np.float64)
    if affinity in ("linear", "cosine"):
        X = np.abs(X) + (affinity == "cosine") * 0.5
    if affinity == "precomputed":
        X = rbf_kernel(X, gamma=1.0 / (d * X.var()))
        np.fill_diagonal(X, 0.0)
    return X, groups if rng.random() < 0.5 else None


def values(model: DominantSets) -> np.ndarray:
    """Values of the clusters in units of the largest self-similarity and shift, in order."""
    unit = max((abs(c.value) + abs(c.shift) for c in model.clusters_), default=1.0)
    return np.sort([c.value / unit for c in model.clusters_])


def one_data_set(tally: Tally, seed: int) -> None:
    """All relations of one data set, and predict of each fit."""
    rng = np.random.default_rng([seed, 1])
    affinity, ties = AFFINITIES[seed % len(AFFINITIES)], seed % 7 == 6
    X, n_clusters = data(seed, affinity, ties)
    kind = " (ties)" if ties else ""
    where = {"data": seed, "affinity": affinity, "n_clusters": n_clusters}

    def fitted(held: Any, relation: str) -> DominantSets:
        model = DominantSets(n_clusters, affinity=affinity).fit(held)
        if relation not in ("Dask", "tensor"):
            name = f"predict: {affinity}{kind}"
            tally.count(name, "fits")
            wrong = int((model.predict(held) != model.labels_).sum())
            if wrong:
                tally.differs(name, "another partition", **where, after=relation, objects=wrong)
        return model

    base = fitted(X, "as it is")
    labels = np.asarray(base.labels_)
    tally.count("as it is", "fits")
    for relation, change in relations(affinity):
        held, order = change(X, rng)
        other = fitted(held, relation)
        name = relation + kind
        tally.count(name, "fits")
        if ties:
            one, two = values(base), values(other)
            if one.size != two.size or np.abs(one - two).max(initial=0.0) > 1e-6:
                tally.differs(name, "other values", **where)
            continue
        theirs = np.asarray(other.labels_)
        if not np.array_equal(theirs, labels[order]):
            same = adjusted_rand_score(theirs, labels[order]) == 1.0
            if same:
                tally.count(name, "other numbers")
            else:
                taken = None if base.affinity_ == other.affinity_ else [base.affinity_, other.affinity_]
                moved_objects = int((theirs != labels[order]).sum())
                tally.differs(name, "another partition", **where, objects=moved_objects, taken=taken)
    if affinity not in ("ellipses", "auto", "diffusion", "nearest_neighbors", "path"):
        copies(tally, seed, affinity, X, rng)


def copies(tally: Tally, seed: int, affinity: str, X: np.ndarray, rng: np.random.Generator) -> None:
    """w copies of each object are the object with the weight w, for one shift."""
    w = rng.integers(1, 4, len(X))
    every = np.repeat(np.arange(len(X)), w)
    if affinity == "precomputed":
        # a copy is like its original by the largest similarity, which is what the library takes it to be
        full = X.copy()
        np.fill_diagonal(full, X.max())
        many = full[np.ix_(every, every)]
        np.fill_diagonal(many, 0.0)
        S, T = as_similarity(X), as_similarity(many)
    else:
        fixed = {"gamma": 0.05} if affinity in ("rbf", "laplacian") else {}
        if affinity in ("sqeuclidean", "euclidean"):
            fixed = {"offset": float(8.0 * np.square(X).sum(axis=1).max())}
        S, T = as_similarity(X, affinity, **fixed), as_similarity(X[every], affinity, **fixed)
    top = float(S.self_similarity or 1.0)
    one = solve(S, sample_weight=w, shift=0.5 * top)
    two = solve(T, shift=0.5 * top)
    tally.count("copies = weights", "fits")
    summed = np.zeros(len(X))
    np.add.at(summed, every[two.members], two.weights)
    mine = np.zeros(len(X))
    mine[one.members] = one.weights
    if abs(one.value - two.value) > 1e-8 * (abs(one.value) + top) or np.abs(mine - summed).max() > 1e-5:
        tally.differs("copies = weights", "another partition", data=seed, affinity=affinity)


if __name__ == "__main__":
    go_on(__doc__, RESULTS, Tally, one_data_set, n=20_000, every=SAVED_EVERY)
