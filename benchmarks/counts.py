"""How much work fixed problems take: counts, which no busy machine changes.

Run ``python benchmarks/counts.py``; it prints a table and writes results/counts.json, against which
tests/test_counts.py holds the work of every later version (5 % more is a failure). A change that is meant to
take more runs this again, and says why.

Counted are calls by which solvers reach the similarity: columns of the matrix, products of it with weights
(``gradient``), entries of blocks of it, passes over the rows (operations asked of a store), and iterations.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

if __name__ == "__main__":
    pin_threads(1)
import numpy as np
import scipy.sparse as sp

from dominantsets import DominantSets, as_similarity, multistart, peel, solve
from dominantsets.rows.base import Rows
from dominantsets.similarity.base import Similarity

RESULTS = Path(__file__).parent / "results" / "counts.json"


def subclasses(root: type) -> Iterator[type]:
    yield root
    for child in root.__subclasses__():
        yield from subclasses(child)


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Count the calls of every kind of similarity and store."""
    counts = Counter[str]()
    within = [0]  # a method that calls another of them counts once

    def watched(function: Any, name: str) -> Any:
        def call(self: Any, *args: Any, **options: Any) -> Any:
            if not within[0]:
                counts[name] += len(args[0]) * len(args[1]) if name == "entries" else 1
            within[0] += 1
            try:
                return function(self, *args, **options)
            finally:
                within[0] -= 1

        return call

    names = {"column": "columns", "gradient": "products", "sparse_gradient": "products", "block": "entries"}
    with ExitStack() as stack:
        for kind in set(subclasses(Similarity)):
            for method, name in names.items():
                if method in vars(kind):
                    stack.enter_context(patch.object(kind, method, watched(vars(kind)[method], name)))
        for kind in set(subclasses(Rows)):
            if "_replies" in vars(kind):
                stack.enter_context(patch.object(kind, "_replies", watched(vars(kind)["_replies"], "passes")))
        yield counts


def problems() -> dict[str, Any]:
    """Functions that do the work, and return the number of iterations; the data are made before."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6, 5)) * 6
    X = centres[rng.integers(6, size=600)] + rng.normal(size=(600, 5))
    A = rng.random((300, 300))
    A = np.triu(A, 1) + np.triu(A, 1).T
    G = sp.csr_array(np.where(A > 0.95, A, 0.0))
    out: dict[str, Any] = {}
    for algorithm in ("fw", "pairwise", "away", "working-set", "replicator", "inimdyn"):
        start = "barycenter" if algorithm == "replicator" else "vertex"
        options = {"algorithm": algorithm, "start": start, "tol": 1e-6, "max_iter": 20_000}
        S = as_similarity(X, "rbf", gamma=0.05)
        out[f"solve rbf {algorithm}"] = lambda S=S, o=options: solve(S, **o).n_iter
    for affinity in ("sqeuclidean", "cosine"):
        S = as_similarity(X, affinity)
        out[f"solve {affinity} dual"] = lambda S=S: solve(S, algorithm="dual", shift=20.0).n_iter
    out["solve matrix"] = lambda: solve(A, shift=1.0).n_iter
    out["solve graph"] = lambda: solve(G).n_iter
    S = as_similarity(X, "laplacian")
    out["peel laplacian"] = lambda S=S: sum(c.n_iter for c in peel(S, n_clusters=6, shift=1.0))
    S = as_similarity(X, "cosine")
    many = {"n_clusters": 4, "shift": 5.0, "n_starts": 8, "random_state": 0}
    out["multistart cosine"] = lambda S=S: sum(1 for _ in multistart(S, **many))

    def fitted(data: Any, **options: Any) -> Any:
        return lambda: sum(c.n_iter for c in DominantSets(**options).fit(data).clusters_)

    out["fit sqeuclidean"] = fitted(X, affinity="sqeuclidean")
    out["fit rbf"] = fitted(X, affinity="rbf", n_clusters=6, shift=1.0)
    out["fit graph"] = fitted(G, affinity="precomputed")
    out["fit path"] = fitted(X, affinity="path", n_clusters=6)
    return out


def counts() -> dict[str, dict[str, int]]:
    """The work of each problem."""
    found = {}
    for name, work in problems().items():
        with counting() as seen, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            iterations = work()
        found[name] = {"iterations": int(iterations), **dict(sorted(seen.items()))}
    return found


def main() -> None:
    rows = counts()
    for name, row in rows.items():
        print(f"{name:26}", *(f"{kind} {count:,}" for kind, count in row.items()))
    content = {"machine": machine(), "counts": rows}
    RESULTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
