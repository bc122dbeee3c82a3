"""``predict`` is the rule that made ``labels_``: the objects of ``fit`` get their labels again."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from dominantsets import DominantSets

OPTIONS = {
    "refine": {},
    "cores": {"noise": "cores"},
    "average": {"assign": "average"},
    "none": {"assign": None},
    "one shift": {"shift": 1.0},
}


def given(affinity: str, seed: int) -> np.ndarray:
    """A few groups with something between them; without ties."""
    X, _ = make_blobs(70, centers=3, n_features=3, cluster_std=1.5, random_state=seed)
    X = np.vstack([X, np.random.default_rng(seed).uniform(-12, 12, size=(8, 3))])
    if affinity != "precomputed":
        return X
    A = rbf_kernel(X, gamma=1.0 / (3.0 * X.var()))
    np.fill_diagonal(A, 0.0)
    return A


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf", "precomputed", "diffusion"])
def test_the_objects_of_fit_get_their_labels_again(affinity, options, seed):
    X = given(affinity, seed)
    model = DominantSets(3, affinity=affinity, **OPTIONS[options]).fit(X)
    assert model.n_clusters_ > 0
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("options", ["refine", "cores", "none"])  # averages under paths are mostly ties
def test_they_do_whatever_affinity_was_chosen(options):
    X = given("auto", 0)
    model = DominantSets(**OPTIONS[options]).fit(X)
    assert model.n_clusters_ > 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_members_of_a_matrix_without_a_diagonal_are_members_of_negative_shifts():
    """As a new object a member has f + shift × weight: below f, but no outsider has as much."""
    A = given("precomputed", 1)
    model = DominantSets(3, affinity="precomputed", assign=None, shift=-0.3).fit(A)
    assert min(len(c) for c in model.clusters_) > 1
    np.testing.assert_array_equal(model.predict(A), model.labels_)
    # other rows with the same numbers in them, so that nothing could be looked up
    mixed = np.vstack([A[::-1], A[:5]])
    where = np.r_[np.arange(len(A))[::-1], np.arange(5)]
    mixed[np.arange(len(mixed)), where] = A.max()  # a copy is as like its original as anything is
    np.testing.assert_array_equal(model.predict(mixed), model.labels_[where])


def test_more_neighbors_than_one_object():
    """One object has no neighbours, and new ones have it, whatever the number that was asked for."""
    with pytest.warns(UserWarning, match="one object"):
        model = DominantSets(affinity="nearest_neighbors", affinity_params={"n_neighbors": 5}).fit(
            np.zeros((1, 2))
        )
    assert model.predict(np.array([[0.0, 0.0], [1.0, 1.0]])).shape == (2,)
