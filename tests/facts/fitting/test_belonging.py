"""All members of a dominant set have its label, and it is certified among them or among all objects."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dominantsets import DominantSets, as_similarity, dominant_sets
from support import assert_clusters_certified, features, unequal

FORMULAS = ("sqeuclidean", "cosine", "linear", "rbf", "laplacian", "euclidean", "path")
PLACES = ("auto", "ellipses", "diffusion", "embedding", "nearest_neighbors", "precomputed", "graph")


def data_of(affinity: str, n: int, seed: int) -> tuple[object, str]:
    """Overlapping groups: labels take members away from many dominant sets."""
    X = features(n, 3, seed) + 3.0 * np.random.default_rng(seed).integers(3, size=n)[:, None]
    X -= X.min() if affinity == "linear" else 0.0
    if affinity not in ("precomputed", "graph"):
        return X, affinity
    A = as_similarity(X, "rbf").toarray()
    return (
        A if affinity == "precomputed" else sp.csr_array(np.where(np.median(A) < A, A, 0.0))
    ), "precomputed"


def fitted(affinity: str, n: int, seed: int, **options: object) -> DominantSets:
    data, name = data_of(affinity, n, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer clusters than asked for, say
        return DominantSets(affinity=name, **options).fit(data)


def assert_belong(model: DominantSets) -> None:
    labels = np.asarray(model.labels_)
    assert set(labels[labels >= 0].tolist()) == set(range(model.n_clusters_))  # every cluster has objects
    for k, cluster in enumerate(model.clusters_):
        assert (labels[cluster.members] == k).all()
        assert labels[model.exemplars_[k]] == k


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(FORMULAS + PLACES),
    st.sampled_from([None, 1, 2, 4, 6]),
    st.sampled_from(["auto", None, 0.2, "cores"]),
    st.integers(12, 150),
    st.integers(0, 1_000),
)
def test_all_members_of_a_cluster_have_its_label(affinity, k, noise, n, seed):
    assert_belong(fitted(affinity, n, seed, n_clusters=k, noise=noise))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(FORMULAS),
    st.sampled_from([None, 2, 4, 6]),
    st.sampled_from(["auto", None, 0.2]),
    st.integers(20, 150),
    st.integers(0, 1_000),
)
def test_it_is_a_dominant_set_of_all_objects_or_of_those_with_its_label(affinity, k, noise, n, seed):
    model = fitted(affinity, n, seed, n_clusters=k, noise=noise)
    A = as_similarity(data_of(affinity, n, seed)[0], affinity).toarray()
    assert_clusters_certified(A, model, rounding=1e-9, stationary=1e-6)


@pytest.mark.parametrize("noise", ["auto", None, 0.2])
def test_some_are_solved_again_and_the_table_says_among_how_many(noise):
    model = fitted("sqeuclidean", 150, 0, n_clusters=6, noise=noise)
    among = [row.among for row in model.selection_.rows]
    assert min(among) < 150
    for row, cluster in zip(model.selection_.rows, model.clusters_, strict=True):
        assert row.members == len(cluster)
        assert row.among in (150, row.labelled)
        assert row.radius == cluster.radius
    assert "among" in str(model.selection_)


def test_one_shift_too():
    X, _ = data_of("rbf", 150, 0)
    shift = 0.5
    model = DominantSets(4, affinity="rbf", shift=shift).fit(X)
    assert_belong(model)
    assert [cluster.shift for cluster in model.clusters_] == [shift] * model.n_clusters_
    # those that the labels leave alone are dominant sets of all objects
    every = {tuple(one.members) for one in dominant_sets(as_similarity(X, "rbf"), shift=shift)}
    kept = [c for c, row in zip(model.clusters_, model.selection_.rows, strict=True) if row.among == len(X)]
    assert kept
    assert {tuple(cluster.members) for cluster in kept} & every


def test_without_refinement_sets_are_those_of_all_objects():
    X, _ = data_of("sqeuclidean", 150, 0)
    model = DominantSets(6, affinity="sqeuclidean", assign=None).fit(X)
    assert [row.among for row in model.selection_.rows] == [150] * model.n_clusters_
    np.testing.assert_array_equal(model.labels_, model.core_labels_)


def test_a_cluster_all_of_whose_objects_are_in_others_is_left_out_with_a_warning():
    X, _ = unequal(300)
    with pytest.warns(UserWarning, match="of 40 clusters are left out: all objects of their dominant sets"):
        model = DominantSets(40, affinity="rbf").fit(X)
    assert model.n_clusters_ < 40
    assert_belong(model)


@pytest.mark.parametrize(("shift", "algorithm"), [(0.5, "auto"), (2.0, "auto"), ("auto", "pairwise")])
@pytest.mark.parametrize("seed", range(6))
def test_sets_that_earlier_ones_left_objects_to_are_sets_of_all_objects_or_of_their_label(
    shift, algorithm, seed
):
    """Where the table says "all", no object outside gains by joining, not even one of an earlier set."""
    X, _ = data_of("rbf", 100, seed)
    A = as_similarity(X, "rbf").toarray()
    model = fitted("rbf", 100, seed, shift=shift, n_clusters=5, solver_params={"algorithm": algorithm})
    labels = model.labels_
    for k, (row, c) in enumerate(zip(model.selection_.rows, model.clusters_, strict=True)):
        payoffs = A[:, c.members] @ c.weights
        outside = np.ones(100, dtype=bool) if row.among == 100 else labels == k
        outside[c.members] = False
        best = payoffs[outside].max(initial=-np.inf)
        assert c.margin == pytest.approx(c.threshold - best, abs=1e-12)
