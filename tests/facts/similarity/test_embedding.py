"""The neighbour embedding: its weights, its moves, the places it finds, and similarity there."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, as_similarity
from support import features


def pieces_of_a_roll(n: int = 1_500, k: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of a sheet that is rolled up, in ten dimensions; no two groups can be parted by a plane."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    angle = 1.5 * np.pi * (1.0 + 2.0 * (y + 0.75 * rng.random(n)) / k)
    sheet = np.c_[angle * np.cos(angle), 6.0 * rng.random(n), angle * np.sin(angle)]
    turn, _ = np.linalg.qr(rng.normal(size=(10, 3)))
    return sheet @ turn.T + 0.1 * rng.normal(size=(n, 10)), y


# places -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_pieces_of_a_roll_are_found(seed):
    X, y = pieces_of_a_roll(seed=seed)
    assert adjusted_rand_score(y, DominantSets(8, affinity="embedding", noise=None).fit_predict(X)) > 0.95


def test_new_objects_equal_to_old_ones_land_near_them():
    X, _ = pieces_of_a_roll()
    S = as_similarity(X, "embedding")
    some = np.arange(0, 1_500, 7)
    away = np.linalg.norm(S.places.of(X[some]) - S.places.at[some], axis=1)
    assert np.median(away) < 0.05 * S.places.at.std()
    for then in ("path", "balls"):
        model = DominantSets(8, affinity="embedding", affinity_params={"then": then}, noise=None).fit(X)
        assert (model.predict(X[some]) == model.labels_[some]).mean() > 0.95


THREADS = """
import sys
import numpy as np
from dominantsets import as_similarity
X = np.random.default_rng(0).normal(size=(9_000, 130)).astype(np.float32)
X[:4_000] += 1.0
S = as_similarity(X, "embedding", n_epochs=20, search="approximate")
print(S.places.at.tobytes().hex()[:100_000], S.places.recall)
"""


@pytest.mark.subprocess
def test_places_are_the_same_for_any_number_of_threads():
    said = set()
    for threads in ("1", "2", "3"):
        names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, threads)
        done = subprocess.run(
            [sys.executable, "-c", THREADS], capture_output=True, text=True, check=True, env=environment
        )
        said.add(done.stdout)
    assert len(said) == 1


# odd input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("then", ["path", "balls"])
@pytest.mark.parametrize("n", [1, 2, 3, 9, 17])
def test_little_data(n, then):
    X = np.random.default_rng(0).normal(size=(n, 3))
    S = as_similarity(X, "embedding", then=then)
    assert np.isfinite(S.toarray()).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that there is little to find
        for k in {None, 1, n}:
            model = DominantSets(k, affinity="embedding", affinity_params={"then": then}).fit(X)
            assert model.labels_.shape == (n,)
    with pytest.raises(ValueError, match=f"n_clusters={n + 5}"):
        DominantSets(n + 5, affinity="embedding", affinity_params={"then": then}).fit(X)
    assert S.places.of(X).shape == (n, 4)


def test_equal_objects_and_copies():
    assert DominantSets(affinity="embedding").fit(np.full((40, 3), 0.1)).n_clusters_ == 1
    X = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], 30, axis=0)  # neighbours are copies: three components
    S = as_similarity(X, "embedding")
    assert np.isfinite(S.places.at).all()
    labels = DominantSets(3, affinity="embedding").fit_predict(X)
    assert adjusted_rand_score(np.repeat([0, 1, 2], 30), labels) == 1.0


def test_more_components_of_the_graph_than_dimensions():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 40)
    X = 100.0 * rng.normal(size=(9, 5))[y] + rng.normal(size=(360, 5))
    model = DominantSets(9, affinity="embedding").fit(X)
    assert np.isfinite(model.similarity_.places.at).all()
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_sparse_features_are_placed_too():
    rng = np.random.default_rng(0)
    words = rng.random((3, 200)) < 0.1
    y = rng.integers(0, 3, 300)
    X = (words[y] & (rng.random((300, 200)) < 0.6)) | (rng.random((300, 200)) < 0.01)
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    model = DominantSets(3, affinity="embedding").fit(sp.csr_array(X))
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert model.predict(sp.csr_array(X[:5])).shape == (5,)


def test_a_saved_similarity_places_new_objects_as_before():
    X, _ = pieces_of_a_roll(600)
    model = DominantSets(8, affinity="embedding").fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X[:50]), model.predict(X[:50]))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number of at least 1, got 0"),
        ({"n_epochs": -1}, "n_epochs must be a whole number of at least 0, got -1"),
        ({"n_neighbors": 60}, "n_neighbors=60 needs more than 60 objects, got 60"),
        ({"then": "trees"}, "then='trees' is not known; choose one of 'path', 'balls'"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        as_similarity(features(), "embedding", **params)
