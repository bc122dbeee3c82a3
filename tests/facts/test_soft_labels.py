"""``soft_labels_`` and ``predict_soft_labels``: rows add up to 1, noise is a column; they go with labels."""

from __future__ import annotations

import pickle
import warnings

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture

from dominantsets import DominantSets, as_similarity

AFFINITIES = (
    "auto", "sqeuclidean", "cosine", "rbf", "euclidean", "path", "diffusion", "embedding", "ellipses",
    "nearest_neighbors", "precomputed", "graph",
)  # fmt: skip


def data_of(affinity: str, n: int, seed: int) -> tuple[object, str]:
    X, _ = make_blobs(n, centers=3, n_features=2, random_state=seed)
    X = np.vstack([X, np.random.default_rng(seed).uniform(-12, 12, size=(n // 5, 2))])
    if affinity not in ("precomputed", "graph"):
        return X, affinity
    A = as_similarity(X, "rbf").toarray()
    return (
        A if affinity == "precomputed" else sp.csr_array(np.where(np.median(A) < A, A, 0.0))
    ), "precomputed"


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(AFFINITIES),
    st.sampled_from(
        [{}, {"noise": 0.2}, {"noise": None}, {"noise": "cores"}, {"assign": "average"}, {"assign": None}]
    ),
    st.sampled_from([None, 1, 3, 6]),
    st.integers(15, 150),
    st.integers(0, 1_000),
)
def test_rows_add_up_to_one_and_go_with_labels(affinity, options, k, n, seed):
    X, name = data_of(affinity, n, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer clusters than asked for, say
        model = DominantSets(k, affinity=name, **options).fit(X)
    labels, soft = model.labels_, model.soft_labels_
    assert soft.shape == (X.shape[0], model.n_clusters_ + 1)
    assert soft.min() >= 0.0
    np.testing.assert_allclose(soft.sum(axis=1), 1.0)
    assert (soft[labels < 0, -1] >= 0.5).all()
    assert (soft[labels >= 0, -1] <= 0.5 + 1e-12).all()
    if options.get("assign", "refine") != "refine":
        np.testing.assert_array_equal(soft, np.eye(model.n_clusters_ + 1)[labels])
    inside = labels >= 0
    if model.n_clusters_ and options.get("noise", "auto") is None:  # no background that others judge
        own = soft[inside, labels[inside]]
        assert (own >= soft[inside, :-1].max(axis=1) - 1e-9).all()


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_the_objects_of_fit_have_theirs_again(affinity):
    X, name = data_of(affinity, 120, 0)
    model = DominantSets(3, affinity=name).fit(X)
    again = model.predict_soft_labels(X)
    np.testing.assert_allclose(again, model.soft_labels_, atol=1e-9)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(loaded.predict_soft_labels(X), again, atol=1e-12)


def test_those_of_a_mixture_are_its_posteriors():
    """Two groups of one width: logistic in the difference of squared distances from the centers."""
    X, y = make_blobs(2_000, centers=[(0, 0), (4, 0)], random_state=0)
    model = DominantSets(2, affinity="sqeuclidean", noise=None).fit(X)
    gauss = GaussianMixture(2, covariance_type="spherical", random_state=0).fit(X)
    mine, theirs = model.soft_labels_[:, :2], gauss.predict_proba(X)
    order = [0, 1] if y[model.labels_ == 0].mean() < 0.5 else [1, 0]
    theirs = theirs[:, [0, 1] if gauss.means_[0, 0] < gauss.means_[1, 0] else [1, 0]]
    assert (
        np.abs(mine[:, order] - theirs).max() < 0.1
    )  # the shares differ a little, the mixture's do not count
    between = model.predict_soft_labels([[2.0, 0.0]])[0]
    assert 0.4 < between[0] < 0.6


def test_a_background_has_its_posterior():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(4_000, 2)), rng.uniform(-10, 10, size=(4_000, 2))])
    model = DominantSets(1, affinity="sqeuclidean").fit(X)
    x = np.array([[0.0, 0.0], [2.5, 0.0], [3.5, 0.0], [8.0, 0.0]])
    inside = 0.5 * multivariate_normal(np.zeros(2), np.eye(2)).pdf(x)
    expected = inside / (inside + 0.5 / 400.0)
    np.testing.assert_allclose(model.predict_soft_labels(x)[:, 0], expected, atol=0.06)


def test_votes_of_neighbors_at_a_border():
    X, _ = make_moons(400, noise=0.06, random_state=0)
    model = DominantSets(2, affinity="path").fit(X)
    soft = model.soft_labels_
    np.testing.assert_allclose(10.0 * soft, np.rint(10.0 * soft), atol=1e-9)  # tenths
    assert (soft.max(axis=1) > 1.0 - 1e-9).mean() > 0.8
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    for i in range(20):
        near = np.argsort(distances[i])[1:6]
        expected = 0.5 * np.eye(3)[model.labels_[i]] + 0.1 * np.eye(3)[model.labels_[near]].sum(axis=0)
        np.testing.assert_allclose(soft[i], expected)


def test_clusters_that_are_not_stable_are_less_likely():
    """Six clusters asked of a flat square: subsamples find others, so that no object is sure."""
    X = np.random.default_rng(0).uniform(size=(400, 2))
    model = DominantSets(6).fit(X)
    t = model.choice_.taken.reproduced
    assert t < 0.9
    sizes = np.bincount(model.labels_, minlength=7) / 400.0
    named = DominantSets(6, affinity=model.affinity_, affinity_params=model.affinity_params_).fit(X)
    np.testing.assert_array_equal(named.labels_, model.labels_)
    np.testing.assert_allclose(model.soft_labels_, t * named.soft_labels_ + (1.0 - t) * sizes, atol=1e-9)


def test_copies_and_objects_without_weight():
    X, _ = make_blobs(60, centers=2, random_state=0)
    weights = np.arange(60) % 3
    model = DominantSets(2, affinity="sqeuclidean").fit(X, sample_weight=weights)
    soft = model.soft_labels_
    assert soft.shape == (60, 3)
    np.testing.assert_allclose(soft.sum(axis=1), 1.0)
    np.testing.assert_allclose(soft[weights > 0], model.predict_soft_labels(X)[weights > 0], atol=1e-9)
    repeated = DominantSets(2, affinity="sqeuclidean").fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(soft[weights > 0], repeated.soft_labels_[np.cumsum(weights)[weights > 0] - 1])


def test_rows_in_pieces():
    X, _ = make_blobs(300, centers=3, random_state=0)
    here = DominantSets(3, affinity="sqeuclidean").fit(X)
    there = DominantSets(3, affinity="sqeuclidean").fit(da.from_array(X, chunks=(100, 2)))
    np.testing.assert_allclose(there.soft_labels_, here.soft_labels_, atol=1e-9)


@pytest.mark.parametrize(
    ("affinity", "holds"),
    [("sqeuclidean", False), ("cosine", False), ("ellipses", False), ("rbf", True), ("path", True),
     ("diffusion", True), ("embedding", True)],
)  # fmt: skip
def test_a_model_says_whether_a_pickle_has_its_rows(affinity, holds):
    X = make_blobs(100, centers=3, n_features=3, random_state=0)[0]
    model = DominantSets(3, affinity=affinity).fit(X)
    assert model.holds_rows_ == holds
    saved = pickle.dumps(model)
    found = [X[i].tobytes() in saved or X[i].astype(np.float32).tobytes() in saved for i in range(100)]
    assert any(found) == holds
    loaded = pickle.loads(saved)
    assert loaded.holds_rows_ == holds
    if not holds:
        with pytest.raises(RuntimeError, match="a saved model keeps what new objects need, not its 100"):
            loaded.soft_labels_  # noqa: B018


def test_it_is_refused_before_a_fit_and_for_batches():
    with pytest.raises(NotFittedError):
        DominantSets().soft_labels_  # noqa: B018
    with pytest.raises(NotFittedError):
        DominantSets().predict_soft_labels([[0.0]])
    X, _ = make_blobs(300, centers=3, random_state=0)
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:200]).partial_fit(X[200:])
    with pytest.raises(ValueError, match="soft_labels_ needs a fit of all"):
        model.soft_labels_  # noqa: B018
    assert model.holds_rows_  # those of the stream
