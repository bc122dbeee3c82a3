"""A run that is stopped goes on where it was."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from dominantsets import DominantSets
from dominantsets.clusters import checkpoint as module
from dominantsets.clusters.checkpoint import Checkpoint
from support import random_similarity

X, _ = make_blobs(300, centers=6, n_features=4, random_state=0)


def same(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.memberships_, other.memberships_)
    assert one.end_ is other.end_
    for a, b in zip(one.clusters_, other.clusters_, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
        for name in ("value", "gap", "margin", "strict", "status", "n_iter", "algorithm", "shift", "radius"):
            assert getattr(a, name) == getattr(b, name)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (X, {"affinity": "sqeuclidean"}),
        (X, {"affinity": "rbf"}),
        (X, {"affinity": "path", "shift": 0.5}),
        (sp.csr_array(random_similarity(200, 0, zeros=0.9)), {"affinity": "precomputed", "shift": 0.0}),
    ],
)
def test_stopped_after_each_cluster_and_taken_up_again(data, options, tmp_path):
    """Whatever the number of clusters that were found before, the end is that of an undisturbed run."""
    plain = DominantSets(5, **options).fit(data)
    path, original = tmp_path / "run.npz", Checkpoint.save

    def save_and_die(self, *what):
        original(self, *what)
        raise SystemError("the machine goes down")

    died = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", save_and_die)
        for _ in range(10):  # each run gets one cluster further
            try:
                done = DominantSets(5, checkpoint=str(path), **options).fit(data)
                break
            except SystemError:
                died += 1
    assert died == plain.n_clusters_ == 5
    same(done, plain)
    same(DominantSets(5, checkpoint=str(path), **options).fit(data), plain)  # done: nothing is left to do


def kernel(P, Q):
    return np.exp(-((P[:, None] - Q[None]) ** 2).sum(axis=2))


def test_a_function_is_known_by_its_name(tmp_path):
    from dominantsets import as_similarity
    from dominantsets.clusters.checkpoint import signature

    one, other = (signature(as_similarity(X, kernel), {"affinity": kernel}) for _ in range(2))
    assert one == other
    assert "kernel" in one["affinity"]
    assert "0x" not in one["affinity"]


# the file itself ----------------------------------------------------------------------------------------


def test_what_is_saved_is_read(tmp_path):
    clusters = DominantSets(3, affinity="sqeuclidean", shift=20.0).fit(X).clusters_
    checkpoint = Checkpoint(tmp_path / "run.npz", {"data": "some"})
    assert checkpoint.load() is None
    checkpoint.save(clusters, "n_clusters")
    found = checkpoint.load()
    assert found.end == "n_clusters"
    for a, b in zip(found.clusters, clusters, strict=True):
        np.testing.assert_array_equal(a.members, b.members)
        np.testing.assert_array_equal(a.weights, b.weights)
        np.testing.assert_array_equal(a.center, b.center)
        assert (a.margin, a.status, a.strict, a.value) == (b.margin, b.status, b.strict, b.value)


class _Runs:
    """Something that is called where a file is unpickled."""

    called = 0

    def __reduce__(self):
        return _run, ()


def _run():
    _Runs.called += 1
    return np.zeros(1)


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / "run.npz"
    np.savez(path, about=np.array([_Runs()], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="is not a checkpoint, or it is damaged"):
        Checkpoint(path, {"data": "some"}).load()
    assert _Runs.called == 0


def test_parameters_are_known_by_what_they_are():
    from functools import partial

    from dominantsets import as_similarity
    from dominantsets.clusters.checkpoint import signature

    S = as_similarity(X, "sqeuclidean")
    twice = partial(max, 1)
    shown = signature(S, {"a": 0.1, "b": np.arange(3), "c": same, "d": twice, "e": S, "f": "auto"})
    assert shown["a"] == "0.10000000000000001"
    assert shown["b"] == signature(S, {"b": np.arange(3)})["b"] != signature(S, {"b": np.arange(4)})["b"]
    assert shown["c"].endswith(".same")
    assert shown["d"] == str(twice)  # it has no name of its own
    assert shown["e"] == type(S).__name__
    assert shown["f"] == "auto"
    assert shown["data"] == signature(as_similarity(X.copy(), "sqeuclidean"), {})["data"]
    assert shown["data"] != signature(as_similarity(X + 1e-9, "sqeuclidean"), {})["data"]


def test_what_the_system_says_is_said(tmp_path, monkeypatch):
    """In its words alone, or as it is where it has none."""
    path = tmp_path / "run.npz"
    options = {"affinity": "rbf", "shift": 1.0, "checkpoint": str(path)}
    DominantSets(2, **options).fit(X)
    for error, words in (
        (OSError(28, "No space left on device"), r"\(No space left on device\)"),
        (OSError("nobody knows"), r"\(nobody knows\)"),
    ):

        def failing(*_, error=error, **__):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(module, "open", failing, raising=False)
            with pytest.raises(ValueError, match=f"cannot be read {words}"):
                DominantSets(2, **options).fit(X)
        path.unlink()
        with monkeypatch.context() as patch:
            patch.setattr(np, "savez", failing)
            with pytest.warns(UserWarning, match=f"cannot be written {words}"):
                DominantSets(2, **options).fit(X)
        DominantSets(2, **options).fit(X)
