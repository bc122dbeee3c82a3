"""``why``: no smaller change gives another label, and a slightly larger one does where it is the smallest."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dominantsets import DominantSets
from support import features, formula, unequal


def fitted(X: object, sample_weight: object = None, **params: object) -> DominantSets:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return DominantSets(**params).fit(X, sample_weight=sample_weight)


@pytest.mark.parametrize("noise", ["auto", None, 0.1])
@pytest.mark.parametrize("affinity", ["sqeuclidean", "linear", "cosine"])
def test_no_smaller_move_of_a_row_changes_the_label(affinity, noise):
    X, _ = unequal(300)
    X = X - X.min(axis=0) if affinity == "linear" else X
    model = fitted(X, affinity=affinity, n_clusters=4, noise=noise)
    if model.why(0).rule == "other":  # tails of Student's t, whose scores are no squares
        assert noise == "auto"
        assert model.why(0).change is None
        return
    rng, compared = np.random.default_rng(0), 0
    for i in range(0, len(X), 7):
        why = model.why(i)
        assert (why.rule, why.label) == ("scores", model.labels_[i])
        if not 0.0 < why.change < np.inf:
            continue
        moves = rng.normal(size=(40, 2))
        moves *= 0.999 * why.change / np.linalg.norm(moves, axis=1, keepdims=True)
        if affinity == "cosine":  # the row of length 1 moves
            unit = X[i] / np.linalg.norm(X[i])
            there = unit + moves
            there /= np.linalg.norm(there, axis=1, keepdims=True)
            moves = there[np.linalg.norm(there - unit, axis=1) < why.change] - unit
            moves = np.linalg.norm(X[i]) * moves
        compared += len(moves)
        assert set(model.predict(X[i] + moves).tolist()) <= {why.label}
    assert compared > 500


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1_000), st.integers(2, 4), st.sampled_from(["auto", None, 0.1]))
def test_on_a_line_a_larger_move_to_one_side_does(seed, k, noise):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(6.0 * j, rng.uniform(0.3, 1.5), 20) for j in range(k)])[:, None]
    model = fitted(X, affinity="sqeuclidean", n_clusters=k, noise=noise)
    for i in range(0, len(X), 5):
        why = model.why(i)
        if why.label < 0 or not np.isfinite(why.change):
            continue
        step = why.change * (1.0 + 1e-6) + 1e-9
        labels = model.predict(np.array([X[i] - step, X[i] + step]))
        assert (labels != why.label).any()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1_000), st.sampled_from(["average", None]), st.sampled_from([-0.1, 0.0, 0.3]))
def test_changes_of_similarities(seed, assign, shift):
    """``predict`` labels an object by its similarities alone, as they are or changed."""
    A = formula("rbf", features(30, 2, seed), gamma=0.3)
    model = fitted(A, affinity="precomputed", n_clusters=3, assign=assign, shift=shift)
    rng, margins = np.random.default_rng(seed), model.label_margins()
    for i in np.flatnonzero(model.core_labels_ < 0):
        why = model.why(int(i))
        assert why.rule == ("average" if assign else "members")
        assert why.weight == 0.0
        if not 0.0 < why.change < np.inf:
            continue
        smaller = 0.999 * why.change * rng.uniform(-1.0, 1.0, size=(20, 30))
        smaller[:, i] = 0.0
        assert set(model.predict(np.maximum(A[i] + smaller, 0.0)).tolist()) == {why.label}
        if assign and why.change < margins[i]:
            continue  # it would join its own set, which changes the averages
        larger = np.zeros(30)
        if why.label >= 0:
            larger[model.clusters_[why.label].members] = -1.0
        larger[model.clusters_[why.runner_up].members] = 1.0
        larger *= 1.001 * why.change
        if (A[i] + larger).min() >= 0.0:
            assert model.predict([A[i] + larger])[0] != why.label


def test_members_have_a_weight_and_no_change_that_can_be_shown():
    model = fitted(features(60, 2), affinity="sqeuclidean", n_clusters=3, assign="average")
    cluster = model.clusters_[1]
    why = model.why(int(cluster.members[3]))
    assert (why.label, why.weight, why.change) == (1, cluster.weights[3], None)
    assert why.runner_up in (0, 2)
    assert "No smallest change" in str(why)
    assert "It is a member of the dominant set, with the weight" in str(why)


@pytest.mark.parametrize("affinity", ["path", "ellipses", "rbf", "nearest_neighbors", "diffusion"])
def test_every_affinity_has_an_answer(affinity):
    X = features(60, 2)
    model = fitted(X, affinity=affinity)
    for i in range(0, 60, 9):
        why = model.why(i)
        assert why.label == model.labels_[i]
        assert f"Object {i} has" in str(why)
        assert (why.change is None) == (why.rule == "other")


def test_one_cluster_has_no_runner_up():
    why = fitted(features(30, 2), affinity="path", n_clusters=1, noise=None).why(0)
    assert why.runner_up is None
    assert "Next" not in str(why)


def test_networks_and_weights():
    A = sp.csr_array(np.kron(np.eye(3), np.ones((8, 8)) - np.eye(8)))
    assert fitted(A, affinity="precomputed").why(3).rule == "other"
    X, weights = features(40, 2), np.arange(40) % 3
    model = fitted(X, weights, affinity="sqeuclidean")
    assert [model.why(i).object for i in (1, 2)] == [1, 2]
    with pytest.raises(ValueError, match="object 3 has weight 0: it has the label that predict gives"):
        model.why(3)


@pytest.mark.parametrize("i", [40, -1, 1.5, "3"])
def test_there_is_no_such_object(i):
    with pytest.raises(ValueError, match=r"there is no object 40: there are 40|whole number of at least 0"):
        fitted(features(40, 2), affinity="sqeuclidean").why(i)
