"""Which sets stand alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import null_space
from sklearn.datasets import make_blobs

from dominantsets import as_similarity, peel, solve
from dominantsets.clusters.shift import SHARES, Scale
from dominantsets.clusters.significance import Judgement, judge, sharpness
from dominantsets.solvers import Problem
from support import CORNERS


def bend_along_the_face(B, kappa):
    """From the definition: the least curvature of -x'Bx / kappa along directions that sum to 0."""
    tangent = null_space(np.ones((1, len(B))))
    return -np.linalg.eigvalsh(tangent.T @ B @ tangent)[-1] / kappa


@given(st.sampled_from(["cosine", "sqeuclidean", "rbf", "dense"]), st.integers(3, 30), st.integers(0, 10_000))
def test_sharpness_is_the_least_curvature_of_the_face(kind, n, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 4))
    S = as_similarity(rows, "rbf" if kind == "dense" else kind)
    if kind == "dense":
        S = as_similarity(S.toarray())
    objects, shift = np.sort(rng.choice(n, size=min(n, 8), replace=False)), rng.uniform(0.0, 5.0)
    B = S.toarray()[np.ix_(objects, objects)] - shift * np.eye(len(objects))
    kappa = float(S.self_similarities(objects)[0]) + shift
    expected = bend_along_the_face(B, kappa)
    assert sharpness(S, shift, objects) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["cosine", "sqeuclidean", "linear"])
def test_a_large_set_is_as_sharp_in_sparse_rows(kind):
    """Of more objects than a matrix of them is made for."""
    rows = np.maximum(np.random.default_rng(0).normal(1.0, 1.0, size=(900, 5)), 0.0)
    dense, sparse = as_similarity(rows, kind), as_similarity(sp.csr_array(rows), kind)
    expected = sharpness(dense, 50.0, np.arange(900))
    assert sharpness(sparse, 50.0, np.arange(900)) == pytest.approx(expected, abs=1e-9)


def test_a_flat_region_is_not_sharp_and_a_tight_group_is():
    """On a line of constant density moving the ball costs nothing; J of points close together is small."""
    line = as_similarity(np.linspace(0.0, 1.0, 4_000)[:, None], "sqeuclidean")
    ball = solve(line, shift=20.0 - line.offset, start=2_000)
    assert len(ball) < 2_000
    assert abs(sharpness(line, 20.0 - line.offset, ball.members)) < 0.02
    tight = np.concatenate([np.zeros(50), np.full(50, 1e-3), np.full(50, 1.0)])[:, None]
    pair = as_similarity(tight, "sqeuclidean")
    group = solve(pair, shift=-0.9 * pair.offset, start=0)
    assert set(group.members) == set(range(100))
    assert sharpness(pair, -0.9 * pair.offset, group.members) > 0.99


def test_joiners_are_removed_objects_that_would_gain():
    X, _ = make_blobs(400, centers=CORNERS, random_state=0)
    S = as_similarity(X, "sqeuclidean")
    shift = Scale(S, S.degrees()).shift(SHARES[2])
    A, problem = S.toarray(), Problem(S, shift)
    shells = 0
    for found in peel(S, 8, shift=shift):
        said = judge(problem, found)
        x = np.zeros(400)
        x[found.members] = found.weights
        payoffs = A @ x - shift * x
        assert said.joiners == int((payoffs[~problem.alive] > found.threshold).sum())
        shells += not said.own
        problem.remove(found.members)
    assert shells  # what is left of the four, once they are gone


def test_who_would_neither_gain_nor_lose_is_no_joiner():
    """Three alike have f = 2/3; one removed that is 2/3 like each of them has as much, one with 0.7 more."""
    A = np.ones((5, 5)) - np.eye(5)
    A[3, :3] = A[:3, 3] = 2.0 / 3.0
    A[4, :3] = A[:3, 4] = 0.7
    S = as_similarity(A)
    problem = Problem(S, 0.0)
    problem.remove(np.array([3, 4]))
    found = solve(A[:3, :3])
    assert found.threshold == pytest.approx(2.0 / 3.0)
    assert judge(problem, found).joiners == 1


def test_a_judgement_is_by_joiners_and_sharpness():
    assert Judgement(10, 10, 0.5).own
    assert not Judgement(10, 11, 0.5).own
    assert Judgement(10, 0, 0.5).weight == 5.0
    assert Judgement(10, 0, 0.95).weight == 7.0  # no more than 0.7 counts
    assert Judgement(10, 11, 0.5).weight == 0.0
    assert Judgement(400, 0, 0.21).significant
    assert not Judgement(400, 0, 0.19).significant
    assert not Judgement(36, 0, 0.49).significant  # few objects must be sharper: 3 / 6
    assert Judgement(36, 0, 0.51).significant
    assert Judgement(4, 0, 0.91).significant
    assert Judgement(2, 0, 0.91).significant
    assert not Judgement(1, 0, 0.99).significant


@pytest.mark.parametrize("count", [2, 3, 12])
def test_sharpness_is_1_less_the_largest_eigenvalue_of_the_centred_similarities(count):
    X = np.random.default_rng(0).normal(size=(20, 3))
    S, shift = as_similarity(X, "rbf", gamma=0.3), 2.0
    some = np.arange(count)
    K = np.exp(-0.3 * np.square(X[some][:, None] - X[some]).sum(axis=2))
    H = np.eye(count) - 1.0 / count
    expected = 1.0 - np.linalg.eigvalsh(H @ K @ H)[-1] / (1.0 + shift)
    assert sharpness(S, shift, some) == pytest.approx(expected)
    assert sharpness(S, shift, some[:1]) == 1.0
    assert np.isnan(sharpness(S, shift, some[:0]))
    assert np.isnan(sharpness(S, -1.0, some))  # kappa is 0
    assert np.isnan(sharpness(as_similarity(sp.csr_array(K - np.eye(count))), shift, some))
