"""Clusters with metrics of their own, and whether clouds explain the data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, as_similarity


def stripes(seed=0, n=200, k=3):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(n, 2)) * [4, 0.35] + [0, 2.2 * j] for j in range(k)])
    return X, np.repeat(range(k), n)


@pytest.mark.parametrize("params", [{}, {"noise": "cores"}, {"assign": None}, {"noise": 0.1}])
def test_training_rows_get_their_labels_again(params):
    X, _ = stripes(1)
    model = DominantSets(3, affinity="ellipses", **params).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if params.get("noise") != 0.1:  # a share is of the objects that were there
        np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert again.similarity_.features is None


@pytest.mark.parametrize("start", ["auto", "path"])
def test_without_a_number_it_is_that_of_the_start(start):
    X, y = stripes(2)
    model = DominantSets(affinity="ellipses", affinity_params={"start": start}).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.97


def test_bad_input_is_one_sentence():
    X, _ = stripes()
    with pytest.raises(ValueError, match="needs dense features"):
        as_similarity(sp.csr_array(X), "ellipses")
    with pytest.raises(ValueError, match="at most 50 features, got 60"):
        as_similarity(np.zeros((9, 60)), "ellipses")
    with pytest.raises(ValueError, match="start"):
        as_similarity(X, "ellipses", start="nowhere")


def test_too_few_objects_for_a_metric_have_everybodys():
    X, _ = stripes()
    model = DominantSets(4, affinity="ellipses").fit(X[[0, 200, 400, 599]])
    assert model.n_clusters_ == 4
    assert len(model.similarity_.metrics) == 0
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X[:9]), model.predict(X[:9]))


@pytest.mark.parametrize(
    ("noise", "said"), [(None, "as asked"), ("auto", "no background"), (0.1, "10% asked")]
)
def test_what_is_said_of_noise(noise, said):
    X, _ = stripes(3)
    model = DominantSets(3, affinity="ellipses", noise=noise).fit(X)
    assert said in model.selection_.noise
    out = np.flatnonzero(model.labels_ < 0)
    assert out.size == (60 if noise == 0.1 else 0)
    assert (model.memberships_[out] == 0.0).all()
