"""``overlap=True``: clusters of one problem, which may share objects."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, End, dominant_sets


def two_cliques(shared):
    """Two cliques of six, some objects in both."""
    n = 12 - shared
    A = np.zeros((n, n))
    A[:6, :6] = A[n - 6 :, n - 6 :] = 1.0
    np.fill_diagonal(A, 0.0)
    return A


@pytest.mark.parametrize("shared", [1, 2, 3])
def test_an_object_is_in_two_clusters(shared):
    """Motzkin and Straus: a maximal clique of six has equal weights and f = 1 - 1/6."""
    A = two_cliques(shared)
    model = DominantSets(2, affinity="precomputed", shift=0.0, overlap=0.6).fit(A)
    inside = model.membership_matrix_.toarray()
    expected = [1.0] * (6 - shared) + [2.0] * shared + [1.0] * (6 - shared)
    np.testing.assert_allclose(inside.sum(axis=1), expected, rtol=1e-8)
    for cluster in model.clusters_:
        assert cluster.value == pytest.approx(1.0 - 1.0 / 6.0)
        assert cluster.strict
    assert set(model.labels_) == {0, 1}
    assert model.end_ is End.N_CLUSTERS


def test_a_share_that_is_too_large():
    """Three of nine objects are in both: more than 0.3."""
    model = DominantSets(2, affinity="precomputed", shift=0.0, overlap=0.3)
    with pytest.warns(UserWarning, match="1 of 2 clusters were found"):
        model.fit(two_cliques(3))
    assert model.n_clusters_ == 1


def test_as_the_function_finds_them():
    X, _ = make_blobs(200, centers=4, random_state=1)
    model = DominantSets(4, affinity="sqeuclidean", overlap=True).fit(X)
    sets = dominant_sets(model.similarity_, shift=model.shift_, max_overlap=0.5)
    for one, other in zip(model.clusters_, sets, strict=False):
        np.testing.assert_array_equal(one.members, other.members)
    # everybody's label is one of the sets that it is in, the one where it weighs most
    inside = model.membership_matrix_.toarray()
    there = inside.any(axis=1)
    np.testing.assert_array_equal(inside[there].argmax(axis=1), model.core_labels_[there])
    assert (model.core_labels_[~there] == -1).all()
    np.testing.assert_allclose(model.memberships_[there], inside[there].max(axis=1))


def test_ctrl_c_keeps_what_was_found():
    X, _ = make_blobs(300, centers=6, n_features=6, random_state=1)
    pressed = []

    def callback(progress):
        if not pressed:
            pressed.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(UserWarning, match="ended early"):
        model = DominantSets(affinity="rbf", shift=1.0, overlap=True, callback=callback).fit(X)
    assert pressed
    assert model.end_ is End.INTERRUPTED
    assert model.labels_.shape == (300,)


@pytest.mark.parametrize(
    ("params", "message"),
    [({"n_starts": 4}, "needs n_starts=1"), ({"assign": "mode"}, "goes with assign"),
     ({"algorithm": "fw"}, "needs algorithm='auto'"), ({"overlap": 1.5}, "overlap")],
)  # fmt: skip
def test_what_does_not_go_together(params, message):
    with pytest.raises(ValueError, match=message):
        DominantSets(2, **{"overlap": True, **params}).fit(np.eye(4))
