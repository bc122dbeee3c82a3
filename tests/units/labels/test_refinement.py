"""Refinement: every object where it fits best."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import as_similarity
from dominantsets.labels import refinement
from dominantsets.labels.refinement import diagonal_of, refine
from dominantsets.similarity.base import evenly
from support import random_similarity

X, Y = make_blobs(300, centers=4, n_features=3, cluster_std=1.0, random_state=3)


def objective(s, labels, k):
    return sum(np.sqrt(max(0.0, s[np.ix_(labels == c, labels == c)].sum())) for c in range(k))


@given(
    st.sampled_from(["cosine", "rbf", "sqeuclidean", "linear", "graph", "dense", "path"]),
    st.integers(6, 40),
    st.integers(2, 12),
    st.integers(0, 10_000),
)
def test_the_objective_never_falls_and_nothing_is_left_to_gain(kind, n, k, seed):
    rng, k = np.random.default_rng(seed), min(k, n)
    data = rng.random((n, 3)) + 0.1
    if kind in ("graph", "dense"):
        A = random_similarity(n, seed, zeros=0.5 if kind == "graph" else 0.0)
        S = as_similarity(sp.csr_array(A) if kind == "graph" else A)
    else:
        S = as_similarity(data, kind)
    labels = rng.integers(-1, k, size=n)
    labels[:k] = np.arange(k)
    found = refine(S, labels, k)
    s = S.toarray() + np.diag(diagonal_of(S))
    assert set(found.labels.tolist()) - {-1} == set(range(k))  # no cluster is empty
    alone = np.flatnonzero(found.labels < 0)  # only what has nothing in common with any of them
    assert not s[np.ix_(alone, np.flatnonzero(found.labels >= 0))].any()
    assert found.objective[-1] == pytest.approx(objective(s, found.labels, k), rel=1e-9)
    assert np.diff(found.objective).min(initial=0.0) >= -1e-9 * found.objective[-1]
    again = refine(S, found.labels, k)
    np.testing.assert_array_equal(again.labels, found.labels)


def test_spherical_k_means_in_feature_space():
    """For a linear similarity one round is the textbook's: to the nearest direction of a cluster's sum."""
    rows = np.abs(np.random.default_rng(0).normal(size=(80, 5)))
    labels = np.random.default_rng(1).integers(3, size=80)
    found = refine(as_similarity(rows, "linear"), labels, 3)
    for _ in range(200):
        sums = np.array([rows[labels == k].sum(axis=0) for k in range(3)])
        labels = (rows @ (sums / np.linalg.norm(sums, axis=1, keepdims=True)).T).argmax(axis=1)
    np.testing.assert_array_equal(found.labels, labels)


def test_some_stand_for_a_cluster_of_many(monkeypatch):
    """Above the limit a round asks for a part of the similarities; the partition is nearly the same."""
    rows, y = make_blobs(1_200, centers=4, n_features=3, random_state=1)
    S = as_similarity(rows, "rbf")
    start = np.where(np.random.default_rng(0).random(1_200) < 0.3, y, -1)
    whole = refine(S, start, 4)
    asked = []
    monkeypatch.setattr(refinement, "EVERYBODY", 1_000)
    monkeypatch.setattr(refinement, "SAMPLED", 50)
    monkeypatch.setattr(S, "gradient", lambda m, w: asked.append(m.size) or type(S).gradient(S, m, w))
    some = refine(S, start, 4)
    assert max(asked) == 50
    table = refinement._Table(S, whole.labels, 4)
    full = np.exp(-S.gamma * np.square(rows[:, None] - rows).sum(axis=2))
    for k, members in enumerate(np.flatnonzero(whole.labels == k) for k in range(4)):
        stand = evenly(members, 50)  # each for as many as there are over 50
        np.testing.assert_allclose(table.S[:, k], full[:, stand].sum(axis=1) * members.size / 50)
    assert adjusted_rand_score(whole.labels, some.labels) > 0.95


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_fit_of_objects_and_of_new_ones_by_the_definition(unit):
    """S_ik / sqrt(W_k): for a linear similarity the length along the cluster's direction."""
    rng = np.random.default_rng(0)
    rows = unit * np.abs(np.vstack([rng.normal([3, 0, 0], 0.3, (9, 3)), rng.normal([0, 2, 1], 0.3, (7, 3))]))
    labels = np.repeat([0, 1], [9, 7])
    S = as_similarity(rows, "linear")
    found = refine(S, labels, 2)
    np.testing.assert_array_equal(found.labels, labels)
    sums = np.array([rows[labels == k].sum(axis=0) for k in range(2)])
    directions = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    fits = rows @ directions.T
    np.testing.assert_allclose(found.fit, fits[np.arange(16), labels], rtol=1e-9)
    assert found.objective[-1] == pytest.approx(np.linalg.norm(sums, axis=1).sum())
    new = unit * rng.random((20, 3))
    np.testing.assert_allclose(found.rule.of(S, new), new @ directions.T, rtol=1e-9)


@pytest.mark.parametrize("star", [False, True])
def test_single_moves_leave_every_cluster_an_object(star, monkeypatch):
    """The best moves by trying all of them, one after another; whoever is the whole of a cluster stays.

    Also the middle of a star, which would gain by joining the others.
    """
    A = random_similarity(12, 5)
    if star:
        A = np.zeros((12, 12))
        A[0, 1:] = A[1:, 0] = np.linspace(0.5, 1.0, 11)
    S = as_similarity(A)
    labels = np.array([0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    s = A + np.diag(diagonal_of(S))
    table = refinement._Table(S, labels, 3)
    while True:
        tries = [(i, k) for i in range(12) for k in range(3) if (labels == labels[i]).sum() > 1]
        worth = [objective(s, np.where(np.arange(12) == i, k, labels), 3) for i, k in tries]
        if max(worth) <= objective(s, labels, 3) + 1e-9:
            break
        i, k = tries[int(np.argmax(worth))]
        labels = np.where(np.arange(12) == i, k, labels)
    monkeypatch.setattr(refinement, "MOVES", 1)
    assert table.single_moves()
    monkeypatch.undo()
    table.single_moves()
    np.testing.assert_array_equal(table.labels, labels)
    assert not table.single_moves()


def test_it_says_where_it_was_stopped(monkeypatch):
    """After all rounds that there are, not after as many as were asked for."""
    labels = np.arange(300) % 4
    S = as_similarity(X - X.min(axis=0) + 1.0, "linear")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(refine(S, labels, 4, rounds=1).objective) == 2
        assert len(refine(S, labels, 4).objective) > 2
    monkeypatch.setattr(refinement, "ROUNDS", 1)
    with pytest.warns(UserWarning, match="stopped after 1 rounds"):
        refine(S, labels, 4, rounds=1)


def test_who_goes_back_to_a_cluster_that_would_be_empty():
    """The one of its objects that fits it best; where that empties another one, the same for that."""
    fits = np.array([[3.0, 0, 0], [4.0, 0, 0], [9.0, 2.0, 9.0], [9.0, 9.0, 1.0]])

    def goes(before, after):
        return refinement._none_empty(np.array(before), np.array(after), lambda some, k: fits[some, k])

    np.testing.assert_array_equal(goes([0, 0, 1, 1], [1, 1, 1, 1]), [1, 0, 1, 1])
    np.testing.assert_array_equal(goes([0, 0, 1, 1], [1, 0, 1, 1]), [1, 0, 1, 1])
    np.testing.assert_array_equal(goes([0, 0, 1, 2], [0, 0, 0, 0]), [0, 0, 1, 2])
    np.testing.assert_array_equal(goes([0, -1, 1, 1], [1, 1, 0, 0]), [1, 1, 0, 0])


def test_no_cluster_loses_its_last_object():
    """One object that fits another cluster better stays the whole of its own."""
    rows = np.array([[1.0, 0.0], [1.0, 0.1], [0.9, 0.0], [1.0, 0.05], [0.0, 1.0], [0.1, 1.0]])
    for kind in ("sqeuclidean", "cosine"):
        found = refine(as_similarity(rows, kind), np.array([0, 0, 0, 1, 2, 2]), 3)
        assert set(found.labels) == {0, 1, 2}
