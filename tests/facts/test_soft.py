"""Soft answers: payoffs of objects against clusters, and the weights of all dominant sets."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dominantsets import DominantSets
from support import inverse_distance, minimax

X, Y = make_blobs(120, centers=[(20, 20), (29, 20), (20, 29)], random_state=0)
NEW = X[::6] + np.array([0.4, -0.3])


def weights_of(model: DominantSets) -> np.ndarray:
    """The dominant sets as dense vectors: the columns."""
    return np.column_stack(
        [np.bincount(c.members, c.weights, minlength=model.similarity_.n) for c in model.clusters_]
    )


def squares(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.square(new[:, None, :] - old[None, :, :]).sum(axis=2)


def cross(affinity: str, new: np.ndarray) -> np.ndarray:
    """Similarities of new rows to those of X, written directly from the definitions."""
    far = np.square(X - X.mean(axis=0)).sum(axis=1).max()
    if affinity == "sqeuclidean":
        return 4.0 * far - squares(new, X)
    if affinity == "cosine":
        return 1.0 + new @ X.T / np.outer(np.linalg.norm(new, axis=1), np.linalg.norm(X, axis=1))
    if affinity == "linear":
        return new @ X.T
    if affinity == "rbf":
        return np.exp(-0.1 * squares(new, X))
    if affinity == "laplacian":
        return np.exp(-0.1 * np.abs(new[:, None, :] - X[None, :, :]).sum(axis=2))
    if affinity == "euclidean":
        return 2.0 * np.sqrt(far) - np.sqrt(squares(new, X))
    if affinity == "path":  # the way of a new object is through the object nearest to it
        D = np.sqrt(squares(new, X))
        ways = minimax(np.sqrt(squares(X, X)))
        top = ways.max()
        return top - np.maximum(ways[D.argmin(axis=1)], D.min(axis=1)[:, None])
    raise AssertionError(affinity)


PARAMS = {"rbf": {"gamma": 0.1}, "laplacian": {"gamma": 0.1}, "path": {"min_samples": 1}}


@pytest.mark.parametrize(
    "affinity", ["sqeuclidean", "cosine", "linear", "rbf", "laplacian", "euclidean", "path"]
)
@pytest.mark.parametrize("new", [NEW, X], ids=["new", "training"])
def test_transform_is_the_dense_product(affinity, new):
    model = DominantSets(3, affinity=affinity, affinity_params=PARAMS.get(affinity)).fit(X)
    expected = cross(affinity, new) @ weights_of(model)
    assert expected.shape == (len(new), 3)
    atol = 1e-10 * np.abs(expected).max()
    np.testing.assert_allclose(model.transform(new), expected, rtol=0, atol=atol)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).transform(new), expected, rtol=0, atol=atol)


@pytest.mark.parametrize(
    "affinity", ["auto", "nearest_neighbors", "diffusion", "embedding", inverse_distance]
)
def test_transform_is_the_product_with_all_similarities(affinity):
    model = DominantSets(3, affinity=affinity).fit(X)
    x, every = weights_of(model), np.arange(len(X))
    expected = np.column_stack(
        [model.similarity_.for_cluster(k).cross(NEW, every) @ x[:, k] for k in range(model.n_clusters_)]
    )
    for answer in (model, pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(answer.transform(NEW), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_a_matrix_of_similarities(store):
    A = np.maximum(np.exp(-0.3 * squares(X, X)) - 1e-3, 0.0)
    np.fill_diagonal(A, 0.0)
    new = np.maximum(np.exp(-0.3 * squares(NEW, X)) - 1e-3, 0.0)
    model = DominantSets(3, affinity="precomputed").fit(store(A))
    x = weights_of(model)
    for answer in (model, pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(answer.transform(store(new)), new @ x, rtol=1e-10, atol=1e-14)
    # the KKT conditions: Ax = f + shift x on a set, no more than f outside it
    payoffs = model.transform(store(A))
    for k, cluster in enumerate(model.clusters_):
        level = cluster.threshold + cluster.shift * x[:, k]
        np.testing.assert_allclose(payoffs[cluster.members, k], level[cluster.members], rtol=1e-6)
        assert (payoffs[:, k] <= level + 1e-8 * abs(cluster.value)).all()


def test_a_member_has_its_weight_above_the_threshold():
    """Under M - D² a row is M like its copy, so that members are at f + (M + shift) x."""
    model = DominantSets(3, affinity="sqeuclidean").fit(X)
    payoffs, top = model.transform(X), 4.0 * np.square(X - X.mean(axis=0)).sum(axis=1).max()
    for k, cluster in enumerate(model.clusters_):
        expected = cluster.threshold + (top + cluster.shift) * cluster.weights
        np.testing.assert_allclose(payoffs[cluster.members, k], expected, rtol=1e-9)
        outside = np.setdiff1d(np.arange(len(X)), cluster.members)
        assert (payoffs[outside, k] < cluster.threshold).all()


def test_it_is_a_transformer():
    model = DominantSets(3, affinity="sqeuclidean")
    made = model.fit_transform(X)
    np.testing.assert_array_equal(made, model.transform(X))
    names = ["dominantsets0", "dominantsets1", "dominantsets2"]
    assert list(model.get_feature_names_out()) == names
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == names
    np.testing.assert_array_equal(frame.to_numpy(), made)
    scaled = make_pipeline(DominantSets(3, affinity="sqeuclidean"), StandardScaler()).fit_transform(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-9)
    with pytest.raises(NotFittedError):
        DominantSets().transform(X)
    with pytest.raises(ValueError, match="X has 1 features, but DominantSets is expecting 2 features"):
        model.transform(X[:, :1])


def test_the_matrix_of_memberships():
    model = DominantSets(3, affinity="sqeuclidean").fit(X)
    M, x = model.membership_matrix_, weights_of(model)
    assert isinstance(M, sp.csr_array)
    np.testing.assert_allclose(M.toarray(), x / x.max(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(M[model.exemplars_, np.arange(3)], 1.0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).membership_matrix_.toarray(), M.toarray())
    with pytest.raises(NotFittedError):
        DominantSets().membership_matrix_  # noqa: B018


def test_an_object_of_two_sets_has_two_memberships():
    """Dominant sets of all objects may overlap where two groups touch."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(60, 1))
        model = DominantSets(6, affinity="sqeuclidean", assign=None).fit(rows)
        M = model.membership_matrix_
        several = np.flatnonzero(np.diff(M.indptr) > 1)
        if several.size:
            break
    assert several.size
    for i in several:
        mine = [k for k, cluster in enumerate(model.clusters_) if i in cluster.members]
        assert list(np.sort(M[[i]].indices)) == mine
        assert model.memberships_[i] in M[[i]].data


def test_without_clusters_there_are_no_columns():
    graph = sp.csr_array(np.ones((30, 30)) - np.eye(30))
    with pytest.warns(UserWarning, match="no cluster was found"):
        model = DominantSets(affinity="precomputed", min_cluster_size=31).fit(graph)
    assert model.transform(graph).shape == (30, 0)
    assert model.membership_matrix_.shape == (30, 0)
