"""Refinement: every object where it fits best."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, as_similarity
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


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf", "nearest_neighbors", "path"])
def test_the_estimator_refines(affinity):
    rows = X - X.mean(axis=0) if affinity == "cosine" else X
    model = DominantSets(4, affinity=affinity, noise=None).fit(rows)
    assert model.assignment_rate_ == 1.0
    if affinity not in ("path", "nearest_neighbors"):
        assert adjusted_rand_score(Y, model.labels_) > 0.9
        assert (model.predict(rows) == model.labels_).mean() > 0.97
    plain = DominantSets(4, affinity=affinity, assign=None).fit(rows)
    np.testing.assert_array_equal(model.core_labels_, plain.labels_)
    np.testing.assert_array_equal(model.memberships_, plain.memberships_)


def test_more_of_the_digits_than_the_cores_hold():
    digits, y = load_digits(return_X_y=True)
    average = DominantSets(10, assign="average", affinity="sqeuclidean").fit(digits)
    refined = DominantSets(10, assign="refine", affinity="sqeuclidean").fit(digits)
    cores = DominantSets(10, assign=None, affinity="sqeuclidean").fit(digits)
    assert cores.assignment_rate_ < 1.0
    assert adjusted_rand_score(y, refined.labels_) > 0.55
    assert refined.assignment_rate_ == average.assignment_rate_ == 1.0


def test_noise_can_be_kept_out():
    rng = np.random.default_rng(0)
    rows = np.concatenate([X, rng.uniform(-30, 30, size=(100, 3))])
    noise = np.arange(400) >= 300
    rates = []
    inner = DominantSets(4, noise=None, affinity="sqeuclidean").fit(rows).probabilities_
    for share in (0.0, 0.25, 0.5):
        model = DominantSets(4, noise=share, affinity="sqeuclidean").fit(rows)
        rates.append(model.assignment_rate_)
        # as many as asked for, and those that are least typical of their clusters
        assert inner[model.labels_ < 0].max(initial=0.0) <= inner[model.labels_ >= 0].min()
    np.testing.assert_allclose(rates, [1.0, 0.75, 0.5], atol=1 / 400)
    auto = DominantSets(4, affinity="sqeuclidean").fit(rows)
    assert (auto.labels_[noise] < 0).mean() > 0.8
    assert (auto.labels_[~noise] >= 0).mean() > 0.95
    cores = DominantSets(4, noise="cores", affinity="sqeuclidean").fit(rows)
    np.testing.assert_array_equal(cores.labels_ >= 0, cores.core_labels_ >= 0)
    assert DominantSets(4, noise=None, affinity="sqeuclidean").fit(rows).assignment_rate_ == 1.0
    for wrong in (
        {"assign": None, "noise": 0.1},
        {"assign": "refine", "noise": 2.0},
        {"assign": "refine", "noise": "x"},
    ):
        with pytest.raises(ValueError, match="noise"):
            DominantSets(4, **wrong).fit(X)


def test_new_objects_of_a_component_without_a_cluster():
    D = sp.csr_array(sp.block_diag([np.ones((5, 5)) - np.eye(5), 9.0 * (np.ones((3, 3)) - np.eye(3))]))
    model = DominantSets(1, affinity="path", affinity_params={"metric": "precomputed"}, assign="refine").fit(
        D
    )
    inside = int(model.labels_[0] >= 0)
    new = sp.csr_array(([1.0, 1.0], ([0, 1], [0, 6])), shape=(3, 8))
    labels = model.predict(new)
    assert labels[0 if inside else 1] == 0
    assert labels[1 if inside else 0] == -1
    assert labels[2] == -1


@given(st.sampled_from(["path", "graph", "dense"]), st.integers(2, 5), st.integers(0, 10_000))
def test_objects_that_take_no_part_stay_out(kind, k, seed):
    """They keep -1, and the others are where they would be if those were not there."""
    rng = np.random.default_rng(seed)
    A = random_similarity(40, seed)
    S = (
        as_similarity(rng.random((40, 3)), "path")
        if kind == "path"
        else as_similarity(sp.csr_array(A) if kind == "graph" else A)
    )
    labels = rng.integers(-1, k, size=40)
    labels[:k] = np.arange(k)
    outside = rng.random(40) < 0.2
    outside[:k] = False
    labels[outside] = -1
    found = refine(S, labels, k, outside=outside)
    assert (found.labels[outside] == -1).all()
    s = S.toarray() + np.diag(diagonal_of(S))
    assert found.objective[-1] == pytest.approx(objective(s, found.labels, k), rel=1e-9)
    if kind == "path":  # the largest distance of what is left may be smaller, which shifts its similarities
        return
    inside = np.flatnonzero(~outside)
    B = s[np.ix_(inside, inside)]
    np.fill_diagonal(B, 0.0)
    if B.max() == A.max():  # the same self-similarity
        alone = refine(as_similarity(sp.csr_array(B) if kind == "graph" else B), labels[inside], k)
        np.testing.assert_array_equal(alone.labels, found.labels[inside])


def test_a_partition_is_numbered_after_its_cores():
    model = DominantSets(4, affinity="sqeuclidean").fit(X)
    for k, cluster in enumerate(model.clusters_):
        inside = model.labels_[cluster.members]
        assert np.bincount(inside[inside >= 0]).argmax() == k


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
    table = refinement._Table(S, whole.labels, 4, np.empty(0, dtype=bool))
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
    table = refinement._Table(S, labels, 3, np.empty(0, dtype=bool))
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
