"""Parquet files as Dask arrays: the rows that were written, and the clusters of the array."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, parquet_rows
from dominantsets.rows import from_dask
from support import assert_same_model

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("dask.array")

ROWS = make_blobs(900, centers=4, n_features=5, cluster_std=1.5, random_state=0)[0].astype(np.float32)


def embeddings(rows, fixed=True):
    flat = pa.array(rows.ravel())
    if fixed:
        return pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
    return pa.ListArray.from_arrays(np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32), flat)


def table(rows, layout):
    if layout == "columns":
        return pa.table({f"x{k}": rows[:, k] for k in range(rows.shape[1])})
    return pa.table(
        {"text": [str(k) for k in range(len(rows))], "vector": embeddings(rows, layout == "fixed")}
    )


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("room", [0.0, 0.25])
def test_clusters_are_those_of_the_array(device, room, tmp_path, monkeypatch):
    """Also where there is no room to keep a row group from one round to the next."""
    if device is not None:
        pytest.importorskip("torch")
    monkeypatch.setattr(from_dask, "KEPT_SHARE", room)
    pq.write_table(table(ROWS, "fixed"), tmp_path / "rows.parquet", row_group_size=250)
    X = parquet_rows(tmp_path / "rows.parquet", ["vector"])
    found = DominantSets(3, affinity="sqeuclidean", device=device).fit(X)
    assert all(block.kept == (room > 0) for block in found.similarity_.rows._blocks.values())
    assert_same_model(DominantSets(3, affinity="sqeuclidean").fit(ROWS), found)
