"""Kernels of few objects make their matrix once: how often the formula is asked, and who holds it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dominantsets import DominantSets, as_similarity, solve
from dominantsets.similarity import formulas, kernel
from support import features

N = 600
FORMULAS = {"rbf": "Gaussian", "laplacian": "Laplacian", "euclidean": "Distance"}


class Counted:
    """How many pairs were asked of a function, in how many calls."""

    def __init__(self, function):
        self.function, self.pairs, self.calls, self.threads = function, 0, 0, set()
        self._lock = threading.Lock()

    def __call__(self, P, Q):
        with self._lock:
            self.pairs += len(P) * len(Q)
            self.calls += 1
            self.threads.add(threading.get_ident())
        return self.function(P, Q)


def alike(P, Q):
    return 1.0 / (1.0 + cdist(P, Q))


@pytest.fixture
def counted(monkeypatch):
    """The pairs of objects for which formulas of rows are computed from here on."""
    seen = {"pairs": 0}
    lock = threading.Lock()

    def watch(owner, name, size):
        plain = getattr(owner, name)

        def asked(self, first, *others):
            with lock:
                seen["pairs"] += size(first, *others)
            return plain(self, first, *others)

        monkeypatch.setattr(owner, name, asked)

    watch(formulas.Gaussian, "of_products", lambda products, p, q: products.size)
    watch(formulas.Laplacian, "between", lambda P, Q: len(P) * len(Q))
    watch(formulas.Distance, "between", lambda P, Q: len(P) * len(Q))
    return seen


@pytest.mark.parametrize("affinity", FORMULAS)
@pytest.mark.parametrize("assign", [None, "average", "refine"])
def test_a_fit_computes_each_pair_once(affinity, assign, counted):
    DominantSets(4, affinity=affinity, assign=assign).fit(features(N))
    # tiles on the diagonal hold each pair twice
    assert counted["pairs"] <= N * (N + kernel.TILE) / 2


@pytest.mark.parametrize("affinity", FORMULAS)
def test_a_small_cluster_computes_its_columns_only(affinity, counted):
    X = np.vstack([features(N), features(5, seed=1) * 1e-3 + 50.0])
    found = solve(as_similarity(X, affinity), start=N)
    assert len(found) <= 5
    assert counted["pairs"] < X.shape[0] ** 2 / 8


def test_many_objects_keep_nothing(monkeypatch):
    monkeypatch.setattr(kernel, "KEPT", N - 1)
    S = as_similarity(features(N), "rbf")
    S.degrees()
    S.toarray()
    assert S.stored is None


def test_short_memory_keeps_nothing(monkeypatch):
    S, T = (as_similarity(features(N), "laplacian") for _ in range(2))
    monkeypatch.setattr(kernel, "memory_available", lambda: 8 * N * N)
    np.testing.assert_allclose(S.degrees(), T.degrees(), rtol=1e-12)
    assert S.stored is None
    monkeypatch.setattr(kernel, "memory_available", lambda: 16 * N * N)
    S.degrees()
    assert S.stored is not None


def test_a_users_function_is_called_once_for_all_pairs():
    function = Counted(alike)
    S = as_similarity(features(N), function)
    before = function.pairs
    solve(S, shift=0.5)
    S.degrees()
    S.block(np.arange(N), np.arange(N))
    tiles = -(-N // kernel.TILE)
    assert function.pairs - before <= N * (N + kernel.TILE) / 2
    assert function.calls <= tiles * (tiles + 1) / 2 + 1 + -(-N // 16)  # those of the constructor, too
    np.testing.assert_allclose(S.toarray(), alike(features(N), features(N)) - np.eye(N), atol=1e-15)


def test_a_function_of_numbers_is_called_by_one_thread():
    X = features(N)
    function = Counted(lambda i, j: alike(X[i], X[j]))
    S = as_similarity(N, function)
    print_before = S.fingerprint()
    before = function.pairs
    found = solve(S, shift=0.5)
    assert function.pairs - before <= N * (N + kernel.TILE) / 2
    assert function.threads == {threading.get_ident()}
    assert S.fingerprint() == print_before  # the same bits, with the matrix as without
    np.testing.assert_array_equal(found.members, solve(as_similarity(X, alike), shift=0.5).members)


def test_threads_make_one_matrix(counted):
    S = as_similarity(features(N), "laplacian")
    with ThreadPoolExecutor(4) as pool:
        degrees = list(pool.map(lambda _: S.degrees(), range(8)))
    assert counted["pairs"] <= N * (N + kernel.TILE) / 2
    for other in degrees[1:]:
        np.testing.assert_array_equal(other, degrees[0])


def test_columns_kept_by_one_solver_are_not_shared_when_a_matrix_comes_later():
    from dominantsets.solvers.api import make_problem

    S = as_similarity(features(N), "rbf")
    problem = make_problem(S, 0.5)
    before = problem.columns
    assert not before.in_place
    S.degrees()
    assert problem.thread_copy()._columns is None
    assert problem.columns.in_place
    assert problem.thread_copy()._columns is problem.columns
