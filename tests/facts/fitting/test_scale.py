"""Columns of unlike units: affinity="auto" compares the data with scaled columns, too."""

from __future__ import annotations

import pickle

import dscheck
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSetHierarchy, DominantSets

UNITS = np.array([1.0, 1000.0, 30.0])


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
    assert model.choice_.taken.is_scaled
    assert "standard deviations" in str(model.selection_)
    np.testing.assert_array_equal(model.predict(X * UNITS), model.labels_)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X * UNITS), model.labels_)


def test_one_unit_is_left_alone():
    X, _ = groups()
    model = DominantSets(3).fit(X)
    assert model.scale_ is None
    assert not any(candidate.is_scaled for candidate in model.choice_.candidates)
    given_one = DominantSets(3, affinity="sqeuclidean").fit(X * UNITS)
    assert given_one.scale_ is None


@settings(max_examples=5, deadline=None)
@given(st.tuples(*[st.sampled_from([0.001, 1.0, 40.0, 1e5])] * 3), st.integers(0, 50))
def test_the_units_do_not_matter_once_columns_are_scaled(units, seed):
    X, _ = groups(seed, 30)
    X = X * [1.0, 100.0, 5.0]
    models = [DominantSets(3).fit(rows) for rows in (X, X * units)]
    if all(model.scale_ is not None for model in models):
        assert adjusted_rand_score(models[0].labels_, models[1].labels_) == 1.0


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
