"""Similarity from a matrix of distances."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import pairwise_distances

from dominantsets import DominantSets, as_similarity

X = np.random.default_rng(0).normal(size=(60, 3))
D = pairwise_distances(X)


@pytest.mark.parametrize(
    ("then", "formula"),
    [
        ("euclidean", lambda D: D.max() - D),
        ("sqeuclidean", lambda D: (D**2).max() - D**2),
        ("rbf", lambda D: np.exp(-(D**2) / (D**2).mean())),
    ],
)
def test_similarities_are_what_the_formula_says(then, formula):
    S = as_similarity(D, "precomputed_distance", then=then)
    expected = formula(D)
    off = ~np.eye(60, dtype=bool)
    np.testing.assert_allclose(S.toarray()[off], expected[off], atol=1e-12)
    assert (S.toarray()[~off] == 0.0).all()
    assert S.self_similarity == pytest.approx(expected[0, 0])
    np.testing.assert_allclose(S.cross(D[:4], np.arange(60)), expected[:4], atol=1e-12)


@pytest.mark.parametrize("Y", [X, np.repeat(X[:30], 2, axis=0)], ids=["rows", "copies"])
def test_a_path_of_distances_is_that_of_the_rows(Y):
    of_rows = as_similarity(Y, "path", min_samples=5)
    of_distances = as_similarity(squareform(pdist(Y)), "precomputed_distance", then="path")
    np.testing.assert_allclose(of_distances.toarray(), of_rows.toarray(), atol=1e-12)


def test_squared_distances_give_the_clusters_of_the_rows():
    rng = np.random.default_rng(1)
    Y = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 8])
    of_rows = DominantSets(2, affinity="sqeuclidean").fit(Y)
    params = {"then": "sqeuclidean"}
    of_distances = DominantSets(2, affinity="precomputed_distance", affinity_params=params)
    of_distances.fit(pairwise_distances(Y))
    np.testing.assert_array_equal(of_distances.labels_, of_rows.labels_)


def test_a_graph_of_distances_takes_paths():
    graph = sp.csr_array(np.where(D < 1.5, D, 0.0))
    model = DominantSets(2, affinity="precomputed_distance").fit(graph)
    assert set(model.labels_) <= {-1, 0, 1}


def test_bad_input_is_one_sentence():
    with pytest.raises(ValueError, match="not symmetric"):
        DominantSets(2, affinity="precomputed_distance").fit(np.triu(D))
    with pytest.raises(ValueError, match="negative"):
        DominantSets(2, affinity="precomputed_distance").fit(D - 1.0)
    with pytest.raises(ValueError, match="then"):
        as_similarity(D, "precomputed_distance", then="nothing")
    with pytest.raises(ValueError, match="takes no parameter 'gamma'"):
        as_similarity(D, "precomputed_distance", gamma=1.0)
