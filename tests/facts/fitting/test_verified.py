"""``DOMINANTSETS_VERIFY=1``: fits are checked by plain means, and wrong ones are refused in a sentence."""

from __future__ import annotations

import logging
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import DominantSets, Similarity, as_similarity
from support import features, formula

AFFINITIES = (
    "auto", "sqeuclidean", "cosine", "linear", "rbf", "laplacian", "euclidean", "path", "ellipses",
    "diffusion", "embedding", "nearest_neighbors", "precomputed", "precomputed_distance", "graph", "sparse",
)  # fmt: skip


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    monkeypatch.setenv("DOMINANTSETS_VERIFY", "1")


def data_of(kind: str) -> tuple[object, str]:
    """Data, and the affinity to fit them with."""
    X = np.abs(features(48, 3))
    if kind == "sparse":
        return sp.csr_array(X * (np.median(X) < X)), "sqeuclidean"
    if kind == "precomputed_distance":
        return np.sqrt(np.square(X[:, None] - X).sum(axis=2)), kind
    if kind == "precomputed":
        return formula("rbf", X), kind
    if kind == "graph":
        A = formula("rbf", X)
        return sp.csr_array(np.where(np.median(A) < A, A, 0.0)), "precomputed"
    return X, kind


def fitted(X: object, sample_weight: object = None, **params: object) -> DominantSets:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return DominantSets(**params).fit(X, sample_weight=sample_weight)


@pytest.mark.parametrize("kind", AFFINITIES)
def test_fits_of_every_affinity_are_as_they_should_be(kind, caplog):
    X, affinity = data_of(kind)
    with caplog.at_level(logging.INFO):
        assert fitted(X, affinity=affinity).n_clusters_ > 0
    assert "a fit of 48 objects is as it should be" in caplog.text


@pytest.mark.parametrize(
    "params",
    [
        {"assign": "average"},
        {"assign": None},
        {"noise": "cores"},
        {"noise": 0.1},
        {"n_clusters": 3},
        {"shift": 0.0},
        {"shift": "guaranteed", "min_cluster_size": 4},
        {"shift": 1.0, "min_cluster_size": 3, "assign": None},
    ],
)
@pytest.mark.parametrize("affinity", ["sqeuclidean", "rbf", "path"])
def test_so_are_those_with_other_options(affinity, params, caplog):
    X, weights = features(48, 2), np.arange(48) % 3
    with caplog.at_level(logging.INFO):
        fitted(X, affinity=affinity, **params)
        fitted(X, weights, affinity=affinity, **params)
    assert caplog.text.count("as it should be") == 2


class Inconsistent(Similarity):
    """A similarity with products that are not those of its entries."""

    def __init__(self, A: np.ndarray) -> None:
        self.A, self.n, self.n_features = A, len(A), len(A)

    def block(self, rows, cols):
        return self.A[np.ix_(rows, cols)].copy()

    def cross(self, new, cols):
        return np.asarray(new)[:, cols]

    def gradient(self, support, weights):
        return 1.001 * self.A[:, support] @ weights


def test_a_similarity_that_contradicts_itself_is_found_out():
    with pytest.raises(RuntimeError, match=r"DOMINANTSETS_VERIFY: the value of cluster 0 is .*report this"):
        fitted(Inconsistent(formula("rbf", features(40, 2))), shift=0.5, assign=None)


def test_it_can_be_off(monkeypatch):
    for off in ("0", ""):
        monkeypatch.setenv("DOMINANTSETS_VERIFY", off)
        fitted(Inconsistent(formula("rbf", features(40, 2))), shift=0.5, assign=None)


def test_what_cannot_be_checked_is_said(caplog):
    X = np.random.default_rng(0).normal(size=(2_001, 1))
    fitted(X, affinity="sqeuclidean")
    assert "not checked, because it has 2,001 objects, and 2,000 are the most" in caplog.text
    caplog.clear()
    with pytest.warns(UserWarning, match="ended early"):
        DominantSets(2, affinity="rbf", max_time=1e-9).fit(X[:50])
    assert "not checked, because it ended early" in caplog.text


def test_a_similarity_of_the_user_is_checked_too(caplog):
    with caplog.at_level(logging.INFO):
        fitted(as_similarity(features(40, 2), "cosine"))
    assert "as it should be" in caplog.text
