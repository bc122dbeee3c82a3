"""Answers that belong together: labels, clusters, probabilities and the table, for every affinity."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, Status, as_similarity
from dominantsets.similarity.bounds import bounds_of
from support import cliques, features, inverse_distance

AFFINITIES = (
    "sqeuclidean", "cosine", "linear", "rbf", "laplacian", "euclidean", "path", "nearest_neighbors",
    "diffusion", "dense", "graph", "callable",
)  # fmt: skip


def data_of(affinity, n, seed):
    """Data, and the affinity that takes them."""
    X = np.abs(features(n, 3, seed)) + 0.1
    if affinity == "dense":
        return as_similarity(X, "rbf").toarray(), "precomputed"
    if affinity == "graph":
        A = as_similarity(X, "rbf").toarray()
        return sp.csr_array(np.where(np.quantile(A, 0.7) < A, A, 0.0)), "precomputed"
    return X, inverse_distance if affinity == "callable" else affinity


def assert_belong_together(model, n):
    labels, k = model.labels_, model.n_clusters_
    assert labels.shape == model.probabilities_.shape == model.core_labels_.shape == (n,)
    assert (
        k == len(model.clusters_) == len(model.exemplars_) == len(model.shifts_) == len(model.selection_.rows)
    )
    assert set(labels.tolist()) <= set(range(-1, k))
    assert model.assignment_rate_ == pytest.approx((labels >= 0).mean())
    # probabilities
    p = model.probabilities_
    assert np.isfinite(p).all()
    assert ((p >= 0.0) & (p <= 1.0)).all()
    assert (p[labels < 0] == 0.0).all()
    # the dominant sets themselves
    taken = np.full(n, -1)
    for number, cluster in enumerate(model.clusters_):
        mine = taken[cluster.members] < 0
        taken[cluster.members[mine]] = number
    np.testing.assert_array_equal(model.core_labels_, taken)
    np.testing.assert_array_equal(model.memberships_ > 0, model.core_labels_ >= 0)
    # the table
    for number, (row, cluster) in enumerate(zip(model.selection_.rows, model.clusters_, strict=True)):
        assert row.shift == cluster.shift == model.shifts_[number]
        assert row.members == len(cluster)
        assert row.labelled == (labels == number).sum()
        if model.assign != "refine":
            assert row.among == n
        else:  # with noise="cores" it is certified among more than have its label in the end
            assert row.among == n or row.among == row.labelled or model.noise == "cores"
            assert row.labelled <= row.among
            assert (labels[cluster.members] == number).all()
            assert labels[model.exemplars_[number]] == number
        assert model.exemplars_[number] in cluster.members
        assert row.chance >= 0.0 or np.isnan(row.chance)
    text = str(model.selection_)
    assert text.count("\n") >= k
    assert model.selection_.noise in text


@settings(max_examples=80)
@given(
    st.sampled_from(AFFINITIES),
    st.sampled_from([None, 1, 2, 3, 5]),
    st.sampled_from(["auto", None, "cores", 0.25]),
    st.sampled_from(["refine", "average", None]),
    st.booleans(),
    st.integers(20, 120),
    st.integers(0, 1_000),
)
def test_answers_belong_together(affinity, n_clusters, noise, assign, shifted, n, seed):
    data, how = data_of(affinity, n, seed)
    noise = noise if assign == "refine" else "auto"
    shift = 0.5 * bounds_of(as_similarity(data, how)).level if shifted else "auto"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer clusters than asked for, say
        model = DominantSets(n_clusters, affinity=how, noise=noise, assign=assign, shift=shift).fit(data)
    assert_belong_together(model, n)
    geometric = affinity not in ("path", "nearest_neighbors", "graph")
    if not shifted and geometric:
        assert 1 <= model.n_clusters_ <= (n_clusters or n)
    if assign == "refine" and model.n_clusters_ and noise is None and geometric:
        assert (model.labels_ >= 0).all()
    if assign == "refine" and noise == "cores":
        np.testing.assert_array_equal(model.labels_ >= 0, model.core_labels_ >= 0)
    typical = model.probabilities_  # objects that are equally typical stay together
    if assign == "refine" and noise == 0.25 and geometric and typical.min() < typical.max():
        assert (model.labels_ < 0).mean() == pytest.approx(0.25, abs=1.5 / n)
    if assign is None:
        np.testing.assert_array_equal(model.labels_, model.core_labels_)


@pytest.mark.parametrize(
    "affinity", ["sqeuclidean", "cosine", "rbf", "laplacian", "euclidean", "path", "diffusion"]
)
def test_groups_that_stand_alone_have_the_labels_of_their_clusters(affinity):
    """Clean groups, far apart: each is a dominant set of all objects, and each label is its cluster's."""
    y = np.repeat(np.arange(4), 60)
    X = 12.0 * np.eye(4)[y] + np.random.default_rng(71).normal(size=(240, 4))
    model = DominantSets(4, affinity=affinity).fit(X)
    assert_belong_together(model, 240)
    assert [row.among for row in model.selection_.rows] == [240] * 4
    for k, cluster in enumerate(model.clusters_):
        assert (model.labels_[cluster.members] == k).all()
        assert cluster.status is Status.CONVERGED
        assert len(set(y[model.labels_ == k])) == 1
    assert (model.labels_ >= 0).mean() > 0.98


@given(
    st.sampled_from(
        # under "linear" a long row is alike to everything, so that there may be fewer sets
        ["sqeuclidean", "cosine", "rbf", "laplacian", "euclidean", "diffusion", "dense"]
    ),
    st.integers(2, 8),
    st.integers(40, 200),
    st.integers(0, 1_000),
)
def test_as_many_clusters_as_asked_for(affinity, n_clusters, n, seed):
    """Objects that are all different: there are always so many groups, if only to fill up."""
    data, how = data_of(affinity, n, seed)
    model = DominantSets(n_clusters, affinity=how, assign=None).fit(data)
    assert model.n_clusters_ == n_clusters
    assert len({tuple(c.members) for c in model.clusters_}) == n_clusters


def test_the_table_can_be_read():
    """Every row, the reason, the verdict on noise, and what to try next."""
    X, _ = make_blobs(300, centers=[(0, 0), (12, 0), (0, 12)], random_state=72)
    text = str(DominantSets(affinity="sqeuclidean").fit(X).selection_)
    for words in (
        "shift from",
        "taken at",
        "members",
        "by chance",
        "Noise:",
        "For 3 of 3 groups, less than one",
    ):
        assert words in text
    model = DominantSets(60, affinity="sqeuclidean").fit(np.random.default_rng(72).normal(size=(600, 2)))
    many = str(model.selection_)
    assert f"... and {model.n_clusters_ - 40} more" in many
    assert "only fill up the number that was asked for" in many
    nothing = DominantSets(affinity="sqeuclidean").fit(np.random.default_rng(73).random((400, 3)))
    assert nothing.n_clusters_ == 1
    assert "stands out" in nothing.selection_.reason
    assert "n_clusters" in nothing.selection_.advice
    curve = np.linspace(0.0, 6.0, 500)[:, None]
    ring = np.hstack([np.cos(curve), np.sin(curve)]) + np.random.default_rng(74).normal(
        scale=0.002, size=(500, 2)
    )
    assert "affinity='path'" in DominantSets(affinity="sqeuclidean").fit(ring).selection_.advice
    given_one = DominantSets(2, shift=50.0, affinity="sqeuclidean").fit(X)
    assert "given." in str(given_one.selection_)
    assert np.isnan(given_one.selection_.rows[0].chance)
    graph = DominantSets(2, affinity="precomputed").fit(cliques([8, 6]))
    assert "graph" in str(graph.selection_)


def test_probabilities_are_the_share_farther_out():
    """Of one normal group they are as many below each level as the level says: uniform."""
    X = np.random.default_rng(75).normal(size=(2_000, 3))
    model = DominantSets(1, noise=None, affinity="sqeuclidean").fit(X)
    p = np.sort(model.probabilities_)
    assert np.abs(p - (np.arange(2_000) + 0.5) / 2_000).max() < 0.05
    # and they fall with the distance from the middle
    t = np.linalg.norm(X - X.mean(axis=0), axis=1)
    assert np.corrcoef(np.argsort(np.argsort(t)), np.argsort(np.argsort(-model.probabilities_)))[0, 1] > 0.99
