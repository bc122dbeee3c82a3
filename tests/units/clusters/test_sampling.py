"""Starts: uniform, or by a determinantal point process."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chisquare
from sklearn.datasets import make_blobs

from dominantsets import as_similarity
from dominantsets.clusters import sampling
from dominantsets.solvers import make_problem

X, Y = make_blobs(400, centers=6, n_features=3, cluster_std=0.6, random_state=2)


def kernel(rows):
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    return np.exp(-squares / np.median(squares[np.triu_indices(len(rows), 1)]))


@pytest.mark.parametrize("form", ["eigenvectors", "nystroem"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_k_dpp_has_the_right_probabilities(form, k, monkeypatch):
    """All subsets of seven objects: drawn as often as det L_Y says. With every object a landmark the Nyström
    kernel is the kernel itself."""
    if form == "nystroem":
        monkeypatch.setattr(sampling, "EXACT_LIMIT", 0)
    rows = np.random.default_rng(5).normal(size=(7, 2))
    L = kernel(rows)
    subsets = list(combinations(range(7), k))
    dets = np.array([np.linalg.det(L[np.ix_(s, s)]) for s in subsets])
    random_state = np.random.RandomState(0)
    draws = 4_000
    counts = dict.fromkeys(subsets, 0)
    for _ in range(draws):
        counts[tuple(sorted(sampling.k_dpp(rows, k, random_state).tolist()))] += 1
    _, p = chisquare(list(counts.values()), draws * dets / dets.sum())
    assert p > 1e-3


def test_elementary_polynomials_in_log_space():
    values = np.array([0.5, 2.0, 3.0, 0.1])
    table = sampling.log_elementary(np.log(values), 3)
    for degree in range(4):
        for m in range(degree, 5):
            expected = sum(np.prod(c) for c in combinations(values[:m], degree)) if degree else 1.0
            assert np.exp(table[degree, m]) == pytest.approx(expected)
    tiny = sampling.log_elementary(np.full(500, np.log(1e-8)), 100)  # a product of 1e-800
    assert np.isfinite(tiny[100, 500])


def test_a_dpp_spreads_its_starts():
    """Of ten blobs, ten DPP starts hit more than ten uniform ones do."""
    rows, y = make_blobs(200, centers=10, n_features=2, cluster_std=0.3, random_state=0)
    problem = make_problem(as_similarity(rows, "rbf"), 0.0)
    hits = {}
    for how in ("uniform", "dpp"):
        random_state = np.random.RandomState(0)
        hits[how] = np.mean(
            [np.unique(y[sampling.sample_starts(problem, 10, how, random_state)]).size for _ in range(40)]
        )
    assert hits["dpp"] > hits["uniform"] + 0.5


@pytest.mark.parametrize("make", [lambda A: A, sp.csr_array])
def test_objects_without_features_are_described_by_their_similarities(make):
    A = as_similarity(X, "rbf").toarray()
    problem = make_problem(as_similarity(make(A)), 0.0)
    problem.remove(np.arange(50))
    chosen = sampling.sample_starts(problem, 6, "dpp", np.random.RandomState(0))
    assert np.unique(chosen).size == 6
    assert chosen.min() >= 50


def test_more_starts_than_the_rank_are_filled_up_with_a_warning():
    rows = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0]]), 20, axis=0)
    problem = make_problem(as_similarity(rows, "rbf"), 0.0)
    with pytest.warns(UserWarning, match="only 3 of 5 starts"):
        chosen = sampling.sample_starts(problem, 5, "dpp", np.random.RandomState(0))
    assert np.unique(chosen).size == 5
    problem.remove(np.arange(4, 60))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sampling.sample_starts(problem, 9, "dpp", np.random.RandomState(0)).size == 4


def test_many_objects_need_no_large_matrix():
    rows = np.random.default_rng(0).normal(size=(20_000, 3))
    chosen = sampling.k_dpp(rows, 12, np.random.RandomState(0))
    assert np.unique(chosen).size == 12


def test_squared_distances_of_tensors_are_those_of_arrays():
    torch = pytest.importorskip("torch")
    P, Q = X[:7], 3.0 * X[7:12]
    expected = np.square(P[:, None] - Q).sum(axis=2)
    np.testing.assert_allclose(sampling._squares(P, Q), expected)
    np.testing.assert_allclose(sampling._squares(torch.tensor(P), torch.tensor(Q)).numpy(), expected)
