"""Vectors in Parquet files, larger than memory: a Dask array whose chunks are read when asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets._checks import missing_extra


class _Layout(NamedTuple):
    """Which columns hold the numbers: several with one each, or one with lists of equal length."""

    columns: list[str]
    width: int
    dtype: str
    lists: bool


def parquet_rows(source: Any, columns: Sequence[str] | None = None) -> Any:
    """Rows of Parquet files as a Dask array, one chunk for each row group, read when it is asked for.

    Parameters
    ----------
    source : path, or list of paths
        A file, a folder (all ``*.parquet`` within, in the order of their names), or several of them.
    columns : sequence of str, optional
        Columns of numbers, or one column of lists of numbers, all of one length (embeddings). Without this
        all columns are taken.

    Returns
    -------
    dask.array.Array
        To be fitted, with ``device="cuda"`` too. Chunks that do not fit memory (or the card) together are
        read again in every round, several at a time. Needs the extras "dask" and "io".

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import pyarrow.parquet
    >>> from dominantsets import DominantSets, parquet_rows
    >>> rows = np.random.default_rng(0).normal(size=(600, 2)) + 9.0 * (np.arange(600) % 3)[:, None]
    >>> table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pyarrow.parquet.write_table(table, f"{folder}/rows.parquet", row_group_size=200)
    ...     model = DominantSets(affinity="sqeuclidean").fit(parquet_rows(folder))
    >>> model.n_clusters_, model.labels_.chunks
    (3, ((200, 200, 200),))
    """
    pieces: list[Any] = []
    layout: _Layout | None = None
    for path in _files(source):
        with _opened(path) as file:
            found = _layout(file, columns)
            if layout is not None and found != layout:
                raise ValueError(
                    f"{path.name} has {_said(found)}, and the files before it have {_said(layout)}."
                )
            layout = found
            sizes = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
        changed = path.stat()  # the name of a chunk: another one once the file has changed
        for group, size in enumerate(sizes):
            version = (changed.st_size, changed.st_mtime_ns)
            pieces.append(((str(path), group, layout, *version), (size, layout.width), layout.dtype))
    from dominantsets.rows.chunks import read_later  # not loaded where rows are in memory

    return read_later(_read, pieces)


def _files(source: Any) -> list[Path]:
    """The files that are meant, in the order of their names."""
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    found: list[Path] = []
    for path in map(Path, given):
        found += sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not found:
        raise ValueError(f"there is no *.parquet file in {', '.join(map(str, given)) or 'an empty list'}.")
    return found


def _opened(path: Path) -> Any:
    try:
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise missing_extra("Parquet files need", "io", "pyarrow") from error
    try:
        return pyarrow.parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path.name} is not a Parquet file, or it is damaged.") from error


def _layout(file: Any, columns: Sequence[str] | None) -> _Layout:
    from pyarrow import types

    schema = file.schema_arrow
    names = list(schema.names) if columns is None else list(columns)
    unknown = [name for name in names if name not in schema.names]
    if unknown or not names:
        raise ValueError(
            f"there is no column {', '.join(map(repr, unknown))}; there are: {', '.join(schema.names)}."
        )
    kinds = [schema.field(name).type for name in names]
    lists = len(names) == 1 and _is_list(kinds[0])
    numbers = [kinds[0].value_type] if lists else kinds
    text = [name for name, kind in zip(names, numbers, strict=False) if not _is_number(kind)]
    if text:
        raise ValueError(
            f"column {text[0]!r} does not hold numbers (it holds {schema.field(text[0]).type}); name the "
            "columns that do with columns=: several of numbers, or one of lists."
        )
    width = len(names)
    if lists:
        width = kinds[0].list_size if types.is_fixed_size_list(kinds[0]) else _first_length(file, names[0])
    dtype = np.result_type(*(np.dtype(kind.to_pandas_dtype()) for kind in numbers))
    return _Layout(names, width, str(dtype), lists)


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind))


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind))


def _first_length(file: Any, name: str) -> int:
    """The length of the first list."""
    for batch in file.iter_batches(batch_size=1, columns=[name]):
        first = batch.column(0)[0].as_py()
        if first:
            return len(first)
        break
    raise ValueError(f"the first list of column {name!r} is empty: lists must have one length.")


def _said(layout: _Layout) -> str:
    held = f"lists of {layout.width}" if layout.lists else "numbers"
    return f"{held} ({layout.dtype}) in {', '.join(layout.columns)}"


def _read(path: str, group: int, layout: _Layout, *version: int) -> NDArray[Any]:
    """The rows of one row group; ``version`` is the file's, and part of the chunk's name only."""
    with _opened(Path(path)) as file:
        table = file.read_row_group(group, columns=layout.columns, use_threads=False)  # groups side by side
    if layout.lists:
        column = table.column(0).combine_chunks()
        values = column.flatten().to_numpy(zero_copy_only=False)
        if column.null_count or values.size != len(column) * layout.width or not _equal(column, layout.width):
            raise ValueError(
                f"row group {group} of {Path(path).name} has lists that are missing or not of length "
                f"{layout.width} in column {layout.columns[0]!r}."
            )
        return np.ascontiguousarray(values, dtype=layout.dtype).reshape(-1, layout.width)
    out = np.empty((table.num_rows, layout.width), dtype=layout.dtype)
    for k in range(layout.width):
        column = table.column(layout.columns[k])
        if column.null_count:
            raise ValueError(
                f"column {layout.columns[k]!r} of {Path(path).name} has {column.null_count} missing numbers "
                f"in row group {group}; impute or drop those rows first."
            )
        out[:, k] = column.to_numpy()
    return out


def _equal(column: Any, width: int) -> bool:
    from pyarrow import compute

    return bool(compute.all(compute.equal(compute.list_value_length(column), width)).as_py())
