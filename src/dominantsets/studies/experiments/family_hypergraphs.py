"""Hypergraphs in the family's study: lines through points, and the triangles of graphs with known cliques."""

from __future__ import annotations

import time
from itertools import combinations
from typing import Any

import numpy as np

from dominantsets.solvers import DominantSet
from dominantsets.studies.experiments import family_data
from dominantsets.studies.experiments._common import Row, scores
from dominantsets.studies.hypergraph import solve_hypergraph

METHODS = ("pairwise", "baum-eagon")
LINES, POINTS, WIDTH = 3, 25, 0.02  # lines, points on each (and of noise), and how far they are off
LIMIT, QUICK_LIMIT = 10.0, 0.25  # seconds for one set
WORTH = 0.01  # weight below which three points are no hyperedge


def names(quick: bool) -> list[str]:
    """Data sets: seeds of lines, and graphs."""
    graphs = ["hamming6-4", "johnson8-4-4"]
    if not quick and family_data.data_folder() is not None:
        graphs += ["c-fat200-2", "C125.9"]
    return [
        *(f"lines {seed}" for seed in range(1 if quick else 5)),
        *(f"triangles {name}" for name in graphs),
    ]


def lines(seed: int) -> tuple[Any, Any, Any]:
    """Triples of points near three lines and of noise, their weights, and the line of each point."""
    rng = np.random.default_rng(seed)
    ends = rng.random((LINES, 2, 2))
    shares = rng.random((LINES, POINTS, 1))
    X = ends[:, :1] * (1 - shares) + ends[:, 1:] * shares + WIDTH / 2 * rng.normal(size=(LINES, POINTS, 2))
    X = np.vstack([*X, rng.random((POINTS, 2))])
    edges = np.array(list(combinations(range(len(X)), 3)))
    triples = X[edges] - X[edges].mean(axis=1, keepdims=True)
    weights = np.exp(-np.square(np.linalg.svd(triples, compute_uv=False)[:, 1] / WIDTH))
    kept = weights > WORTH
    return edges[kept], weights[kept], np.repeat(np.arange(LINES + 1), POINTS)


def triangles(A: Any) -> Any:
    """All triangles of a 0/1 graph: a clique of the graph is one of the hypergraph."""
    found = [
        (i, j, k)
        for i, j in np.argwhere(np.triu(A, 1))
        for k in np.flatnonzero(A[i] * A[j])[np.flatnonzero(A[i] * A[j]) > j]
    ]
    return np.array(found)


def work(name: str, method: str, quick: bool) -> Row:
    """One set with its certificate; of lines, three sets one after another and the ARI of their points."""
    kind, _, which = name.partition(" ")
    options: dict[str, Any] = {"algorithm": method, "max_time": QUICK_LIMIT if quick else LIMIT}
    solve_hypergraph([(0, 1, 2)], algorithm=method)  # compiled before the clock starts
    if kind == "triangles":
        task = family_data.load(which, quick)
        # uneven weights: of a regular graph equal ones are a fixed point
        options["start"] = np.random.default_rng(0).dirichlet(np.full(len(task.A), 5.0))
        return {"omega": task.omega, **_solved(triangles(task.A), None, len(task.A), options)[1]}
    edges, weights, y = lines(int(which))
    n, left, labels = len(y), np.ones(len(edges), dtype=bool), np.full(len(y), -1)
    rows = []
    for k in range(LINES):
        found, row = _solved(edges[left], weights[left], n, options)
        rows.append(row)
        labels[found.members] = k
        left &= ~np.isin(edges, found.members).any(axis=1)
        if not left.any():
            break
    of_lines = y < LINES
    return {**rows[0], **scores(y[of_lines], labels[of_lines])}


def _solved(edges: Any, weights: Any, n: int, options: dict[str, Any]) -> tuple[DominantSet, Row]:
    began = time.perf_counter()
    found = solve_hypergraph(edges, weights, n=n, **options)
    seconds = time.perf_counter() - began
    return found, {
        "n": n,
        "edges": len(edges),
        "value": found.value / 3,
        "relative_gap": found.relative_gap,
        "status": found.status.value,
        "size": len(found),
        "n_iter": found.n_iter,
        "seconds": seconds,
    }
