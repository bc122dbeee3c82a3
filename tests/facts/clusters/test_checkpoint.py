"""A run that is stopped goes on where it was."""

from __future__ import annotations

import os
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, End

X, _ = make_blobs(300, centers=6, n_features=4, random_state=0)


def same(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.memberships_, other.memberships_)
    assert one.end_ is other.end_
    for a, b in zip(one.clusters_, other.clusters_, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
        for name in ("value", "gap", "margin", "strict", "status", "n_iter", "algorithm", "shift", "radius"):
            assert getattr(a, name) == getattr(b, name)


def test_an_interrupted_cluster_is_not_kept(tmp_path):
    path = tmp_path / "run.npz"
    calls = []

    def stop(progress):
        calls.append(progress)
        return progress.n_clusters == 2

    how = {"affinity": "laplacian", "shift": 3.0, "solver_params": {"algorithm": "working-set"}}
    options = {**how, "checkpoint": str(path)}
    with pytest.warns(UserWarning, match="ended early"):
        stopped = DominantSets(4, callback=stop, **options).fit(X)
    assert stopped.end_ is End.STOPPED
    assert len(stopped.clusters_) == 3  # the third one is what had been reached
    same(DominantSets(4, **options).fit(X), DominantSets(4, **how).fit(X))


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    DominantSets(3, checkpoint=str(path), affinity="sqeuclidean").fit(X)
    kept = path.read_bytes()
    with pytest.raises(ValueError, match="belongs to other data; delete it"):
        DominantSets(3, checkpoint=str(path), affinity="sqeuclidean").fit(X + np.arange(4) * X[:, :1])
    with pytest.raises(ValueError, match=r"belongs to other parameters \(n_clusters\)"):
        DominantSets(4, checkpoint=str(path), affinity="sqeuclidean").fit(X)
    with pytest.raises(ValueError, match=r"other parameters .*tol"):
        DominantSets(3, solver_params={"tol": 1e-6}, checkpoint=str(path), affinity="sqeuclidean").fit(X)
    assert path.read_bytes() == kept
    for raw in (b"", b"nothing of the kind", pickle.dumps([1]), kept[: len(kept) // 2]):
        path.write_bytes(raw)
        with pytest.raises(ValueError, match="is not a checkpoint, or it is damaged"):
            DominantSets(3, checkpoint=str(path), affinity="sqeuclidean").fit(X)
    with pytest.raises(ValueError, match="cannot be written"):
        DominantSets(3, checkpoint=str(tmp_path), affinity="sqeuclidean").fit(X)
    with pytest.raises(ValueError, match="cannot be written"):
        DominantSets(3, checkpoint=str(tmp_path / "none" / "run.npz"), affinity="sqeuclidean").fit(X)


def test_nothing_else_is_left_behind(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DominantSets(3, checkpoint=str(tmp_path / "run.npz"), affinity="sqeuclidean").fit(X)
    assert os.listdir(tmp_path) == ["run.npz"]


def test_data_with_the_same_row_sums_are_other_data(tmp_path):
    def two_cliques(groups):
        A = np.zeros((8, 8))
        for group in groups:
            A[np.ix_(group, group)] = 1.0
        np.fill_diagonal(A, 0.0)
        return sp.csr_array(A)

    options = {"affinity": "precomputed", "shift": 0.5, "checkpoint": str(tmp_path / "c.npz")}
    DominantSets(2, **options).fit(two_cliques([[0, 1, 2, 3], [4, 5, 6, 7]]))
    with pytest.raises(ValueError, match="other data"):
        DominantSets(2, **options).fit(two_cliques([[0, 2, 4, 6], [1, 3, 5, 7]]))
