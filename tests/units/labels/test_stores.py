"""Centres of clouds on every store of rows, and sampled objects as points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import as_similarity
from dominantsets.labels.refinement import diagonal_of
from dominantsets.rows.base import Cores
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.similarity.located import located

SCORED = ("sqeuclidean", "cosine", "linear")


def backends():
    out = ["float64", "float32", "CSR", "dense"]
    for name, module in (("Dask", "dask.array"), ("torch", "torch")):
        try:
            __import__(module)
        except ModuleNotFoundError:
            continue
        out.append(name)
    return out


def stored(X, how):
    if how == "float32":
        return X.astype(np.float32)
    if how == "CSR":
        return sp.csr_array(X)
    if how == "Dask":
        import dask.array as da

        return da.from_array(X, chunks=((70, 1, 49), X.shape[1]))
    if how == "torch":
        import torch

        return torch.tensor(X)
    return X


@pytest.mark.parametrize("kind", [*SCORED, "rbf"])
@pytest.mark.parametrize("how", backends())
def test_the_nearest_centre_by_direct_distances(kind, how):
    """Squared distances of feature space, in the unit of coordinates: half of s_ii - 2 (Sx)_i + x'Sx."""
    rng = np.random.default_rng(42)
    X = np.abs(rng.normal(size=(120, 4)) + 4.0 * np.eye(3, 4)[rng.integers(3, size=120)])
    X = X.astype(np.float32).astype(np.float64) if how == "float32" else X
    params = {"gamma": 0.2} if kind == "rbf" else {}
    plain = as_similarity(X, kind, **params)
    S = as_similarity(plain.toarray()) if how == "dense" else as_similarity(stored(X, how), kind, **params)
    full = plain.toarray() + np.diag(diagonal_of(S) if how == "dense" else diagonal_of(plain))
    rates, constants = np.array([1.0, 3.0, 0.5]), np.array([0.0, -1.0, 0.25])
    mixtures, inside, scores = [], np.empty(3), np.empty((120, 3))
    for k in range(3):
        objects = np.sort(rng.choice(120, size=15, replace=False))
        weights = rng.dirichlet(np.ones(15))
        x = np.zeros(120)
        x[objects] = weights
        mixtures.append(arrivals_of(S).summarise(objects, weights))
        inside[k] = x @ full @ x
        scores[:, k] = constants[k] - 0.5 * rates[k] * (full.diagonal() - 2.0 * full @ x + inside[k])
        if kind == "sqeuclidean" and how != "dense":
            away = np.square(X - weights @ X[objects]).sum(axis=1)
            np.testing.assert_allclose(scores[:, k], constants[k] - rates[k] * away, atol=1e-8)
    best, top = located(S).nearest(Cores(mixtures, inside, rates, constants))
    np.testing.assert_allclose(np.asarray(top), scores.max(axis=1), atol=1e-8 * np.abs(scores).max())
    np.testing.assert_array_equal(np.asarray(best), scores.argmax(axis=1))


@pytest.mark.parametrize("kind", [*SCORED, "rbf", "euclidean"])
def test_coordinates_have_half_the_squared_distances(kind):
    """s_ii + s_jj - 2 s_ij over 2, for objects that the axes hold whole."""
    X = np.abs(np.random.default_rng(43).normal(size=(60, 3))) + 0.1
    S = as_similarity(X, kind)
    objects = np.arange(0, 60, 2)
    sample = located(S).coordinates(objects)
    full = S.toarray() + np.diag(diagonal_of(S))
    own = full.diagonal()
    expected = 0.5 * (own[:, None] + own - 2.0 * full)[np.ix_(objects, objects)]
    rows, extra = sample.rows, sample.extra
    found = np.square(rows[:, None] - rows).sum(axis=2) + (extra[:, None] + extra) * (
        1 - np.eye(len(objects))
    )
    np.testing.assert_allclose(found, expected, atol=1e-8 * expected.max())
    assert sample.own == pytest.approx(S.self_similarity)
