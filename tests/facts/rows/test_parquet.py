"""Parquet files as Dask arrays: the rows that were written, and the clusters of the array."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dominantsets import parquet_rows

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


@pytest.mark.parametrize("layout", ["columns", "fixed", "lists"])
def test_rows_are_those_that_were_written(layout, tmp_path):
    for k in range(2):
        pq.write_table(table(ROWS[450 * k :][:450], layout), tmp_path / f"{k}.parquet", row_group_size=200)
    X = parquet_rows(tmp_path, None if layout == "columns" else ["vector"])
    assert X.chunks == ((200, 200, 50, 200, 200, 50), (5,))
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X.compute(), ROWS)
    files = [str(tmp_path / f"{k}.parquet") for k in (1, 0)]
    both = parquet_rows(files, columns=["vector"] if layout != "columns" else [f"x{k}" for k in (3, 1)])
    turned = np.vstack([ROWS[450:], ROWS[:450]])
    np.testing.assert_array_equal(both.compute(), turned if layout != "columns" else turned[:, [3, 1]])


def test_a_file_that_was_written_again_is_read_again(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(table(ROWS, "columns"), path)
    before = parquet_rows(path)
    pq.write_table(table(ROWS[:700], "columns"), path)
    assert before.name != parquet_rows(path).name
    assert parquet_rows(path).shape == (700, 5)


def test_what_is_refused(tmp_path):
    def refused(message, source=tmp_path / "a.parquet", **options):
        with pytest.raises(ValueError, match=message):
            parquet_rows(source, **options).compute()

    pq.write_table(table(ROWS, "fixed"), tmp_path / "a.parquet")
    refused(r"column 'text' does not hold numbers \(it holds string\); name the columns")
    refused("there is no column 'v'; there are: text, vector", columns=["v"])
    refused("does not hold numbers", columns=["vector", "text"])
    pq.write_table(table(ROWS[:, :4], "fixed"), tmp_path / "b.parquet")
    refused(
        r"b.parquet has lists of 4 \(float32\) in vector, and the files before it have lists of 5",
        tmp_path,
        columns=["vector"],
    )
    pq.write_table(pa.table({"v": [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]]}), tmp_path / "c.parquet")
    refused("row group 0 of c.parquet has lists that are missing or not of length 2", tmp_path / "c.parquet")
    pq.write_table(pa.table({"v": [[1.0, 2.0], None]}), tmp_path / "c.parquet")
    refused("row group 0 of c.parquet has lists that are missing or not of length 2", tmp_path / "c.parquet")
    pq.write_table(pa.table({"v": pa.array([[]], pa.list_(pa.float32()))}), tmp_path / "c.parquet")
    refused("the first list of column 'v' is empty", tmp_path / "c.parquet")
    pq.write_table(pa.table({"x": [1.0, None, 3.0]}), tmp_path / "c.parquet")
    refused("column 'x' of c.parquet has 1 missing numbers in row group 0", tmp_path / "c.parquet")
    (tmp_path / "c.parquet").write_bytes(b"not this")
    refused("c.parquet is not a Parquet file, or it is damaged", tmp_path / "c.parquet")
    (tmp_path / "empty").mkdir()
    refused("there is no .*parquet file in .*empty", tmp_path / "empty")
