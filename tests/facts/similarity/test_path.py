"""Path-based similarity in use."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, as_similarity, path_clusters, peel
from support import path


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_shapes_that_other_similarities_cannot_find(make):
    kwargs = {"factor": 0.4} if make is make_circles else {}
    X, y = make(600, noise=0.04, random_state=0, **kwargs)
    S = as_similarity(X, "path")
    model = DominantSets(2, affinity="path", shift=0.05 * 600 * S.top, assign="average").fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.99
    assert all(c.strict for c in model.clusters_)
    new, answer = make(200, noise=0.04, random_state=1, **kwargs)
    assert adjusted_rand_score(answer, model.predict(new)) > 0.98


def test_copies_of_an_edge_are_added_up_as_scipy_does():
    G = sp.csr_array(([1.0, 1.0, 5.0, 7.0], [1, 1, 2, 3], [0, 2, 3, 4, 4]), shape=(4, 4))
    kept = G.copy()
    S = as_similarity(G, "path", metric="precomputed")
    assert S.tree.height.tolist() == [2.0, 5.0, 7.0]
    assert G.nnz == kept.nnz  # the caller's graph is as it was


def test_components_are_never_put_together():
    G = sp.csr_array(([1.0, 2.0], ([0, 2], [1, 3])), shape=(5, 5))
    options = {"affinity": "path", "affinity_params": {"metric": "precomputed"}, "shift": 10.0}
    S = as_similarity(G, "path", metric="precomputed")
    assert [c.members.tolist() for c in path_clusters(S, shift=10.0)] == [[0, 1], [2, 3], [4]]
    peeling = peel(S, 5, shift=10.0)
    assert [c.members.tolist() for c in peeling] == [[0, 1], [2, 3]]
    model = DominantSets(2, **options).fit(G)
    assert model.labels_.tolist() == [0, 0, 1, 1, -1]
    new = sp.csr_array(([0.5, 0.5], ([0, 1], [0, 3])), shape=(3, 5))
    assert model.predict(new).tolist() == [0, 1, -1]
    always = DominantSets(2, assign="average", **options).fit(G)
    assert always.labels_.tolist() == [0, 0, 1, 1, -1]
    assert always.predict(new).tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    ("X", "params", "words"),
    [
        (np.ones((3, 2)), {"metric": "precomputed"}, r"square and not empty, got shape \(3, 2\)"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), {"metric": "precomputed"}, "negative"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), {"metric": "precomputed"}, "not symmetric"),
        (sp.csr_array(np.ones((2, 3))), {"metric": "precomputed"}, "must be square"),
        (sp.csr_array(-np.eye(2)), {"metric": "precomputed"}, "negative distances"),
        (sp.csr_array(np.eye(3)), {}, "metric='precomputed'"),
        (np.ones((3, 2)), {"metric": "cityblock"}, "'euclidean', 'precomputed'"),
    ],
)
def test_bad_input(X, params, words):
    with pytest.raises(ValueError, match=words):
        as_similarity(X, "path", **params)


def test_new_objects_by_their_distances():
    D = squareform(pdist(np.array([[0.0], [1.0], [2.0], [9.0]])))
    S = path(D)
    new = np.array([[0.5, 0.5, 1.5, 8.5], [9.0, 8.0, 7.0, 0.0]])
    # through the nearest object: 0 (a step of 0.5, then 1 to the next) and 3 itself
    np.testing.assert_allclose(S.cross(new, np.arange(4)), [[6.5, 6, 6, 0], [0, 0, 0, 7]])
    sparse = S.cross(sp.csr_array(new + 1e-12), np.arange(4))
    np.testing.assert_allclose(sparse, S.cross(new, np.arange(4)), atol=1e-9)
