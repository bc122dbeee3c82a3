"""Rows that are all equal: one cluster of known value, gap and radius, wherever the rows are."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import DominantSets, as_similarity, solve
from support import as_memmap

ROWS = {
    "zeros": np.zeros(3),
    "tenths": np.full(7, 0.1),
    "of both signs": 1e3 * np.random.default_rng(0).normal(size=5),
    "with zeros": np.array([0.0, 0.3, 0.0, -7.7]),
    "far away": 1e8 + np.random.default_rng(1).normal(size=4),
}


def dask_array(X: np.ndarray) -> Any:
    import dask.array as da

    return da.from_array(X, chunks=(max(1, len(X) // 3), X.shape[1]))


def tensor(X: np.ndarray) -> Any:
    import torch

    return torch.tensor(X)


def half_as_precise(X: np.ndarray) -> np.ndarray:
    return X.astype(np.float32)


def one_column_more(X: np.ndarray) -> Any:
    """Rows with a column of nothing but zeros."""
    return sp.csr_array(np.hstack([X, np.zeros((len(X), 1))]))


needs = importlib.util.find_spec
CONTAINERS = [
    np.asarray,
    half_as_precise,
    sp.csr_array,
    one_column_more,
    "memmap",
    pytest.param(dask_array, marks=pytest.mark.skipif(needs("dask") is None, reason="needs dask")),
    pytest.param(tensor, marks=pytest.mark.skipif(needs("torch") is None, reason="needs torch")),
]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("n", [2, 50, 1500])
@pytest.mark.parametrize("container", CONTAINERS)
def test_equal_rows_are_one_cluster_of_equal_weights(container, n, row, tmp_path):
    """All distances are 0 and the offset is 1: f = 1 - 1/n, and a copy would gain 1/n, the squared radius."""
    X = np.tile(ROWS[row], (n, 1))
    held = as_memmap(tmp_path / "X", X) if container == "memmap" else container(X)
    found = solve(as_similarity(held, "sqeuclidean"))
    assert found.status.value == "converged"
    assert found.n_iter < 100
    assert found.value == pytest.approx(1.0 - 1.0 / n, rel=1e-9)
    assert found.gap == pytest.approx(0.0, abs=1e-12)
    assert found.radius == pytest.approx(np.sqrt(1.0 / n), rel=1e-6)
    np.testing.assert_array_equal(found.members, np.arange(n))
    np.testing.assert_array_equal(DominantSets(affinity="sqeuclidean").fit(held).labels_, np.zeros(n))


@pytest.mark.parametrize(
    ("container", "affinity"),
    [(np.asarray, a) for a in ("rbf", "laplacian", "euclidean", "path", "auto")]
    + [(sp.csr_array, a) for a in ("rbf", "auto")],
)
def test_equal_rows_under_other_affinities(container, affinity):
    X = np.tile(ROWS["of both signs"], (60, 1))
    model = DominantSets(affinity=affinity).fit(container(X))
    np.testing.assert_array_equal(model.labels_, np.zeros(60))


def test_a_column_without_zeros_is_centred_as_a_dense_one_is():
    """What is far from the origin keeps its digits, in sparse rows as in dense ones."""
    rng = np.random.default_rng(0)
    X = 1e6 + rng.normal(size=(80, 4))
    X[:, 2] *= rng.random(80) < 0.5  # this column has zeros: its centre stays a correction
    X[:, 2] -= 1e6 * (X[:, 2] != 0)
    dense, sparse = as_similarity(X, "sqeuclidean"), as_similarity(sp.csr_array(X), "sqeuclidean")
    exact = np.square(X[:, None, :] - X[None, :, :]).sum(axis=2)
    for S in (dense, sparse):
        A = S.toarray() - S.offset
        np.testing.assert_allclose((A + exact)[~np.eye(80, dtype=bool)], 0.0, atol=1e-12 * S.offset)
    new = X[:5] + 0.5
    np.testing.assert_allclose(
        sparse.cross(sp.csr_array(new), np.arange(80)), dense.cross(new, np.arange(80)), rtol=1e-9
    )
