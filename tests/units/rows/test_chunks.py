"""Dask arrays in this process: the same clusters as in memory, whatever the chunks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, Status, as_similarity, multistart, solve
from dominantsets.similarity import kernel
from dominantsets.solvers import chunk_dual as sharded_dual
from dominantsets.solvers import chunk_pass as sharded_pass
from support import assert_same_model, features

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
ROWS = make_blobs(900, centers=4, n_features=5, cluster_std=1.5, random_state=0)[0] + 20.0


def test_a_band_that_is_too_full_is_looked_at_more_closely(monkeypatch):
    X = features(3_000, 3)
    here = solve(as_similarity(X, "sqeuclidean"), shift=2_000.0)
    monkeypatch.setattr(sharded_dual, "BAND_LIMIT", 3)
    monkeypatch.setattr(sharded_dual, "BAND", 2)
    there = solve(as_similarity(da.from_array(X, chunks=(700, 3)), "sqeuclidean"), shift=2_000.0)
    np.testing.assert_array_equal(there.members, here.members)
    assert there.status is Status.CONVERGED


def test_more_features_than_newtons_matrix_is_sent_for(monkeypatch):
    X = features(600, 8)
    here = solve(as_similarity(X, "sqeuclidean"), shift=3_000.0)
    monkeypatch.setattr(sharded_pass, "FEATURES_LIMIT", 4)
    there = solve(as_similarity(da.from_array(X, chunks=(200, 8)), "sqeuclidean"), shift=3_000.0)
    assert there.status is Status.CONVERGED
    assert there.value == pytest.approx(here.value, rel=1e-9)


def test_starts(monkeypatch):
    X = features(300, 4)
    S, D = as_similarity(X, "cosine"), as_similarity(da.from_array(X, chunks=(77, 4)), "cosine")
    weights = np.arange(300.0)
    for start in ("vertex", "barycenter", 17, weights):
        here, there = solve(S, start=start, shift=5.0), solve(D, start=start, shift=5.0)
        np.testing.assert_array_equal(here.members, there.members)
    for how in ("uniform", "dpp"):
        options = {"n_starts": 4, "sampling": how, "start": "barycenter", "shift": 5.0, "random_state": 0}
        here, there = multistart(S, 3, **options), multistart(D, 3, **options)
        list(here), list(there)
        np.testing.assert_array_equal(here.labels, there.labels)
    monkeypatch.setattr(kernel, "LARGE", 100)  # with fewer objects their rows are fetched
    rbf = as_similarity(da.from_array(X, chunks=(77, 4)), "rbf")
    with pytest.raises(ValueError, match="use start='vertex' or an object's number"):
        solve(rbf, start="barycenter")


def test_rows_that_do_not_fit_are_read_in_every_round(monkeypatch):
    from dominantsets.rows import from_dask as on_dask

    monkeypatch.setattr(on_dask, "memory_available", lambda: 1_000)
    reads = []

    def read(block, block_id):
        reads.append(block_id)
        return block

    X = da.from_array(ROWS, chunks=(300, 5)).map_blocks(lambda b: read(b, 0), dtype=ROWS.dtype)
    model = DominantSets(2, affinity="sqeuclidean").fit(X)
    assert len(reads) > 3 * model.similarity_.rows.n_rounds / 2
    assert_same_model(DominantSets(2, affinity="sqeuclidean").fit(ROWS), model)
