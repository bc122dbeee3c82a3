"""Cases that once went wrong, or that a careful reader tried."""

from __future__ import annotations

import logging

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dominantsets import as_similarity, solve
from dominantsets.compiled import jit as _compile
from dominantsets.similarity import kernel
from dominantsets.solvers import Monitor, SolverOptions
from dominantsets.solvers.api import HostProblem
from support import assert_certified, features, given_comparisons

FEATURE_KINDS = ["sqeuclidean", "cosine", "rbf", "laplacian", "euclidean", "path", "nearest_neighbors"]


@given_comparisons(
    0.95, st.sampled_from(FEATURE_KINDS), st.integers(3, 30), st.integers(1, 4), st.integers(0, 10_000),
    st.floats(0.0, 3.0), st.sampled_from(["pairwise", "away"]),
)  # fmt: skip
def test_properties_on_features(kind, n, d, seed, shift, algorithm):
    """Simplex, certificate, KKT conditions, r = Bx: against the dense matrix of each kind."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), 1) + 3.0
    S = as_similarity(X, kind)
    A = S.toarray()
    if A.max() <= 1e-12:
        return False
    shift *= A.max()
    cluster = solve(S, algorithm=algorithm, shift=shift, tol=1e-11)
    assert_certified(A, cluster, rounding=1e-11, stationary=1e-9)
    return True


@given(st.sampled_from(FEATURE_KINDS[:5]), st.integers(0, 10_000))
def test_features_permuted_and_scaled(kind, seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(12, 3)) + 10, rng.normal(size=(15, 3)) - 10])
    params = {"gamma": 0.05} if kind in ("rbf", "laplacian") else {}
    order = rng.permutation(27)
    one = solve(as_similarity(X, kind, **params), algorithm="away", shift=1.0)
    other = solve(as_similarity(X[order], kind, **params), algorithm="away", shift=1.0)
    assert set(order[other.members]) == set(one.members)
    if kind in ("sqeuclidean", "euclidean"):
        factor = 16.0 if kind == "sqeuclidean" else 4.0
        scaled = solve(as_similarity(4 * X, kind), algorithm="away", shift=factor)
        np.testing.assert_array_equal(scaled.members, one.members)
        assert scaled.value == pytest.approx(factor * one.value, rel=1e-9)


def test_kept_columns_stay_useful_from_cluster_to_cluster(monkeypatch):
    """The clock of the cache once restarted with every cluster, and the newest columns went first."""
    monkeypatch.setattr(kernel, "KEPT", 0)
    S = as_similarity(features(300), "rbf", gamma=0.05)
    problem = HostProblem(S, 8.0, cache_bytes=8 * 300 * 120)
    counts = []
    for _ in range(3):
        before = problem.columns.n_computed
        found = problem.solve(SolverOptions("pairwise", max_iter=20_000), Monitor())
        assert found.n_iter > 300
        counts.append((problem.columns.n_computed - before, len(found)))
        problem.remove(found.members)
    for computed, size in counts:
        assert size < 120
        assert computed < 5 * size + 120  # far from one for each iteration


def test_no_folder_for_compiled_code_is_said_once(monkeypatch, caplog):
    """Where nothing can be cached the functions are compiled all the same."""
    original = numba.njit

    def uncacheable(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return original(*args, **options)

    monkeypatch.setattr(numba, "njit", uncacheable)
    _compile._say.cache_clear()
    with caplog.at_level(logging.WARNING, logger="dominantsets"):
        one = _compile.compiled(lambda x: x + 1.0)
        other = _compile.exact(lambda x: x - 1.0)
    assert one(1.0) == 2.0
    assert other(1.0) == 0.0
    assert len(caplog.records) == 1
    assert "NUMBA_CACHE_DIR" in caplog.text
