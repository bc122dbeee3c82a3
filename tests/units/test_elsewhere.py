"""At home elsewhere: networkx, BERTopic, scikit-learn's callbacks, output and configuration."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from dominantsets import as_similarity
from dominantsets.similarity.dense import LOOKED_AT
from support import random_similarity


def looks_like_distances(A):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        as_similarity(A)
    return any("looks like distances" in str(w.message) for w in caught)


class TestDistances:
    @pytest.mark.parametrize("d", [1, 2, 5])
    @pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev"])
    def test_distances_as_precomputed_are_noticed(self, d, metric):
        for seed in range(5):
            P, _ = make_blobs(200, centers=4, n_features=d, random_state=seed)
            assert looks_like_distances(cdist(P, P, metric))

    @pytest.mark.parametrize("seed", range(5))
    def test_similarities_are_left_alone(self, seed):
        P, _ = make_blobs(200, centers=4, n_features=2, random_state=seed)
        D = cdist(P, P)
        off = 1.0 - np.eye(200)
        unit = P / np.linalg.norm(P, axis=1, keepdims=True)
        for A in (
            (D.max() - D) * off,
            (D.max() ** 2 - D**2) * off,
            np.exp(-(D**2)) * off,
            np.exp(-D) * off,
            (unit @ unit.T + 1.0) * off,
            (np.argsort(np.argsort(D, axis=1), axis=1) < 8) * off,  # neighbours
            random_similarity(200, seed=seed),
            random_similarity(8, seed=seed),
            off,
        ):
            assert not looks_like_distances(np.maximum(A, np.asarray(A).T))

    def test_nothing_can_be_told_where_entries_are_alike(self):
        A = np.random.default_rng(0).uniform(0.5, 1.0, size=(40, 40))
        assert not looks_like_distances((A + A.T) * (1.0 - np.eye(40)))
        assert not looks_like_distances(np.array([[0.0, 1.0], [1.0, 0.0]]))

    def test_only_a_sample_is_read(self, tmp_path):
        P, _ = make_blobs(2 * LOOKED_AT, centers=4, random_state=0)
        np.save(tmp_path / "d.npy", cdist(P, P))
        assert looks_like_distances(np.load(tmp_path / "d.npy", mmap_mode="r"))
