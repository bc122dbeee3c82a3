"""Columns of unlike units: affinity="auto" divides them by their standard deviations."""

from __future__ import annotations

import pickle

import dscheck
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSetHierarchy, DominantSets

UNITS = np.array([1.0, 1000.0, 3.0])


def groups(seed: int = 0, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Three round groups of unit variance, ten apart."""
    rng = np.random.default_rng(seed)
    centers = 7.0 * np.eye(3)
    return np.concatenate([c + rng.normal(size=(n, 3)) for c in centers]), np.repeat(np.arange(3), n)


@pytest.mark.parametrize("k", [None, 3])
def test_columns_of_unlike_units(k):
    X, y = groups()
    model = DominantSets(k).fit(X * UNITS)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_allclose(model.scale_, (X * UNITS).std(axis=0))
    assert "standard deviations" in str(model.selection_)
    np.testing.assert_array_equal(model.predict(X * UNITS), model.labels_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X * UNITS), model.labels_)


def test_one_unit_is_left_alone():
    X, _ = groups()
    model = DominantSets(3).fit(X)
    assert model.scale_ is None
    given_one = DominantSets(3, affinity="sqeuclidean").fit(X * UNITS)
    assert given_one.scale_ is None


def test_gaps_between_clusters_and_far_objects_are_no_units():
    rng = np.random.default_rng(0)
    apart = np.concatenate([c + rng.normal(size=(40, 2)) for c in ((0, 0), (8, 0), (40, 0))])
    model = DominantSets().fit(apart)
    assert model.scale_ is None
    assert adjusted_rand_score(np.repeat(np.arange(3), 40), model.labels_) == 1.0
    X, _ = groups()
    X[0, 0] = 1e4  # the deviation of this column is 750 now
    assert DominantSets(3).fit(X).scale_ is None


@settings(max_examples=5, deadline=None)
@given(st.tuples(*[st.sampled_from([0.001, 1.0, 1e6, 1e4])] * 3).filter(lambda units: len(set(units)) == 3))
def test_units_that_are_unlike_do_not_matter(units):
    """Two sets of factors whose largest is far above the median: scaled rows are the same."""
    X, _ = groups(0, 30)
    models = [DominantSets(3).fit(rows) for rows in (X * UNITS, X * units)]
    assert all(model.scale_ is not None for model in models)
    assert adjusted_rand_score(models[0].labels_, models[1].labels_) == 1.0


def test_pixels_and_principal_components_have_one_unit():
    X = load_digits().data[:300]  # at the border of a picture hardly any pixel varies
    assert DominantSets(10).fit(X).scale_ is None
    assert DominantSets(10).fit(PCA(40).fit_transform(X)).scale_ is None


def test_constant_columns_and_columns_that_overflow():
    X, y = groups()
    constant = np.column_stack([X * UNITS, np.full(len(X), 7.0)])
    assert adjusted_rand_score(y, DominantSets(3).fit(constant).labels_) > 0.95
    assert DominantSets(2).fit(np.ones((20, 2))).scale_ is None


def test_everything_else_speaks_of_the_scaled_rows(tmp_path):
    X, y = groups()
    X = X * UNITS
    model = DominantSets().fit(X)
    assert model.scale_ is not None
    same = DominantSets(3, affinity=model.affinity_, affinity_params=model.affinity_params_)
    assert adjusted_rand_score(same.fit(X / model.scale_).labels_, model.labels_) == 1.0
    tree = DominantSetHierarchy().fit(X)
    np.testing.assert_array_equal(tree.scale_, model.scale_)
    assert adjusted_rand_score(y, tree.labels_) > 0.95
    assert adjusted_rand_score(tree.predict(X), tree.labels_) > 0.99
    files = model.certify(str(tmp_path / "fit.cert"))
    assert len(files) == 2  # the scaled rows are beside the certificate
    assert dscheck.main(files) in (0, 3)
    weighted = DominantSets(3).fit(X, sample_weight=np.full(len(X), 2))
    assert weighted.scale_ is not None
    assert adjusted_rand_score(y, weighted.labels_) > 0.95
    np.testing.assert_array_equal(weighted.predict(X), weighted.labels_)


def test_a_later_fit_forgets_the_scale():
    X, _ = groups()
    model = DominantSets(3).fit(X * UNITS)
    assert model.scale_ is not None
    assert model.fit(load_iris().data).scale_ is None
    model.fit(X * UNITS).partial_fit(X)
    assert model.scale_ is None
