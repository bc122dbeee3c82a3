"""Dominant sets around seeds: every answer meets them, whatever the similarity, wherever it is."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import as_similarity, global_optimum, solve
from dominantsets.similarity.expansion import expandable
from dominantsets.solvers.api import make_problem
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from support import (
    features,
    formula,
    neighbor_graph,
    random_similarity,
)

LOW_RANK = ("sqeuclidean", "cosine", "linear")


def rows(rng: np.random.Generator, kind: str) -> np.ndarray:
    X = rng.normal(size=(int(rng.integers(3, 30)), int(rng.integers(1, 5))))
    return np.abs(X) + 0.1 if kind == "linear" else X


def outside_matrix(A: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """A less the mean of the seeds' columns, half from each side, among the other objects."""
    others = np.setdiff1d(np.arange(len(A)), seeds)
    a = A[seeds].mean(axis=0)
    return (A - 0.5 * np.add.outer(a, a))[np.ix_(others, others)]


def check_kkt(A: np.ndarray, diagonal: np.ndarray, cluster, unit: float) -> None:
    """Payoffs with another shift for each object are level on the members, and no higher elsewhere."""
    x = np.zeros(len(A))
    x[cluster.members] = cluster.weights
    r = A @ x - diagonal * x
    f = x @ r
    assert cluster.threshold == pytest.approx(f, abs=1e-10 * unit)
    assert np.abs(r[cluster.members] - f).max() <= 1e-6 * unit
    assert r.max() <= f + 1e-8 * unit


@pytest.mark.parametrize("kind", LOW_RANK)
def test_the_bound_is_the_eigenvalue_or_above(kind):
    rng = np.random.default_rng(0)
    for _ in range(40):
        S = as_similarity(rows(rng, kind), kind)
        seeds = np.sort(rng.choice(S.n, int(rng.integers(1, S.n)), replace=False))
        top = float(np.linalg.eigvalsh(outside_matrix(S.toarray(), seeds))[-1])
        bound = expandable(S).top_outside(seeds)
        unit = float(np.abs(S.toarray()).max())
        assert bound >= top - 1e-12 * unit
        if kind != "linear":  # where all objects have the same on the diagonal it is sharp
            assert bound <= top + 1e-6 * unit * S.n


def test_the_bound_of_many_objects_by_products(monkeypatch):
    monkeypatch.setattr("dominantsets.similarity.expansion.FEW", 0)
    for A in (
        random_similarity(40),
        random_similarity(40, seed=1, zeros=0.8),
        sp.csr_array(neighbor_graph(100)),
    ):
        S = as_similarity(A)
        seeds = np.array([3, 17])
        dense = S.toarray()
        others = np.setdiff1d(np.arange(S.n), seeds)
        top = float(np.linalg.eigvalsh(dense[np.ix_(others, others)])[-1])
        assert top <= expandable(S).top_outside(seeds) <= dense.sum(axis=1).max() * (1 + 1e-8)


def problem_of(rng: np.random.Generator):
    kind = ("matrix", "matrix", *LOW_RANK)[rng.integers(5)]
    if kind == "matrix":
        return as_similarity(
            random_similarity(int(rng.integers(3, 25)), int(rng.integers(10**6)), rng.random())
        )
    return as_similarity(rows(rng, kind), kind)


@pytest.mark.parametrize("kind", [*LOW_RANK, "rbf", "laplacian", "euclidean"])
def test_the_answer_is_a_kkt_point_of_its_own_problem(kind):
    X = features(40)
    S = as_similarity(X, kind, **({"gamma": 0.1} if kind in ("rbf", "laplacian") else {}))
    A = formula(kind, X)
    seeds = np.array([7])
    needed = expandable(S).top_outside(seeds)
    found = solve(S, seeds=seeds, shift=0.5)
    diagonal = np.full(40, max(0.5, needed))
    diagonal[7] = 0.5
    check_kkt(A, diagonal, found, float(A.max()) + needed)
    assert 7 in found.members


def test_the_best_set_with_a_seed():
    X = features(60, d=2)
    S = as_similarity(X, "sqeuclidean")
    extra = np.full(60, expandable(S).top_outside(np.array([4])))
    extra[4] = 0.0
    problem = make_problem(S, 0.0, extra=extra)
    best = problem.solve(SolverOptions("dual"), Monitor(), "global")
    assert best.proven
    assert 4 in best.members
    for i in range(60):
        assert solve(S, seeds=4, start=i).value <= best.value + 1e-9 * best.value
    assert best.value <= global_optimum(S).bound  # a larger shift lowers f


def test_welded_seeds_are_all_inside():
    """The KKT conditions of the problem in which seeds have equal weights, on its own small matrix."""
    rng = np.random.default_rng(7)
    for _ in range(150):
        S = problem_of(rng)
        n = S.n
        seeds = np.sort(rng.choice(n, int(rng.integers(1, n)), replace=False))
        others = np.setdiff1d(np.arange(n), seeds)
        found = solve(S, seeds=seeds, weld=True, shift=0.2)
        assert np.isin(seeds, found.members).all()
        x = np.zeros(n)
        x[found.members] = found.weights
        np.testing.assert_allclose(x[seeds], x[seeds[0]])
        diagonal = np.full(n, max(0.2, expandable(S).top_outside(seeds)))
        diagonal[seeds] = 0.2
        P = np.zeros((n, others.size + 1))
        P[others, np.arange(others.size)] = 1.0
        P[seeds, -1] = 1.0 / seeds.size
        B = P.T @ (S.toarray() - np.diag(diagonal)) @ P
        y = np.append(x[others], x[seeds].sum())
        r, unit = B @ y, float(np.abs(B).max())
        assert found.threshold == pytest.approx(y @ r, abs=1e-9 * unit)
        assert r.max() <= y @ r + 1e-6 * unit
        assert np.abs(r[y > 1e-9] - y @ r).max() <= 1e-5 * unit
