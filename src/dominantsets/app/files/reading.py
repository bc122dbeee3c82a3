"""One entry point for all formats."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dominantsets._checks import check_choice, require_memory
from dominantsets.app.files import arrays, graphs, tables
from dominantsets.app.files._common import FileError, Table

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "txt",
    ".dat": "txt",
    ".parquet": "parquet",
    ".npy": "npy",
    ".npz": "npz",
    ".mtx": "mtx",
    ".edges": "edges",
    ".edgelist": "edges",
    ".graphml": "graphml",
    ".gexf": "gexf",
}
FORMATS = tuple(dict.fromkeys(_SUFFIXES.values()))
_READERS: dict[str, Callable[[Any], Table]] = {
    "npy": arrays.read_npy,
    "npz": arrays.read_npz,
    "mtx": arrays.read_mtx,
    "edges": graphs.read_edges,
    "graphml": graphs.read_graphml,
    "gexf": graphs.read_gexf,
}
_USUAL = {"csv": ",", "tsv": "\t", "txt": " "}  # separators, of which the file may have another
_PIECE = 2**24  # bytes that are unpacked at a time


def read(
    path: str,
    *,
    format: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    weight_column: str | None = None,
) -> Table:
    """Read a data file.

    Parameters
    ----------
    path : str
        A file, or "-" for standard input (``format`` then has to be given unless it is CSV). A name that ends
        with .gz is unpacked.
    format : str, optional
        One of "csv", "tsv", "txt", "parquet", "npy", "npz", "mtx", "edges", "graphml", "gexf"; by the name's
        ending without it, and then a table that looks like a list of edges is read as one.
    label_column, id_column : str, optional
        Columns (by name, or number from 1) that hold classes and names instead of features.
    columns, drop : sequence of str
        The columns that are features, and those that are not: names, numbers from 1, or ranges of numbers.
    weight_column : str, optional
        The column that says for how many objects each one stands.

    Returns
    -------
    Table
        What the file holds.
    """
    name = "standard input" if path == "-" else path
    if path != "-":
        check_readable(Path(path))
    kind = _format(path, format)
    wanted = tables.Wanted(label_column, id_column, tuple(columns), tuple(drop), weight_column)
    if wanted.apart and kind not in (*_USUAL, "parquet"):
        raise FileError(
            f"{name}: a {kind} file has no named columns; leave --label-column, --id-column and "
            "--weight-column out."
        )
    try:
        source = source_of(path)
        if kind in _USUAL:
            return tables.read_text(source, _USUAL[kind], wanted, may_be_edges=format is None)
        if kind == "parquet":
            return tables.read_parquet(source, wanted)
        return _chosen(_READERS[kind](source), wanted)
    except FileError as error:
        raise FileError(f"{name}: {error}") from error
    except MemoryError as error:
        raise FileError(f"{name}: {str(error) or 'too large for the memory that is free.'}") from error
    except OSError as error:
        raise FileError(f"{name}: {error.strerror or error}.") from error


def read_like(path: str, table: Table, **options: Any) -> Table:
    """Read other objects with the features of a table: its names where it has names, else the same places.

    Parameters
    ----------
    path : str
        A file.
    table : Table
        What the features are called.
    **options
        Those with which the table was read.

    Returns
    -------
    Table
        With the same columns.
    """
    if table.names is not None:
        options |= {"columns": table.names, "drop": (), "label_column": None, "weight_column": None}
    others = read(path, **options)
    if others.data.shape[1] != table.data.shape[1]:
        raise FileError(
            f"{path}: has {others.data.shape[1]} features, and the objects that are known have "
            f"{table.data.shape[1]}."
        )
    return others


def source_of(path: str) -> Any:
    """A path, or the bytes where they do not lie in a file as they are."""
    if path == "-":
        return io.BytesIO(sys.stdin.buffer.read())
    if not path.lower().endswith(".gz"):
        return path
    whole = io.BytesIO()
    try:
        with gzip.open(path) as stream:
            while piece := stream.read(_PIECE):
                whole.write(piece)
                # a small file may unpack to gigabytes
                require_memory(2 * whole.tell(), "what it unpacks to", "unpack it and use a part of it")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError("this is not a whole .gz file.") from error
    whole.seek(0)
    return whole


def _chosen(table: Table, wanted: tables.Wanted) -> Table:
    """The columns that are wanted of an array, which have numbers."""
    if not wanted.named:
        return table
    if table.graph:
        raise FileError("a graph has no columns; leave --columns and --drop out.")
    places = wanted.features([str(k + 1) for k in range(table.data.shape[1])])
    return Table(table.data[:, places])


def _format(path: str, format: str | None) -> str:
    if format is not None:
        return check_choice("format", format, FORMATS)
    if path == "-":
        return "csv"
    name = Path(path)
    suffix = (Path(name.stem) if name.suffix.lower() == ".gz" else name).suffix.lower()
    if suffix in (".xlsx", ".xls", ".ods"):
        raise FileError(f"{path}: a spreadsheet is not read; save it as CSV, with any separator.")
    if suffix not in _SUFFIXES:
        known = ", ".join(_SUFFIXES)
        raise FileError(f"{path}: the ending {suffix or '(none)'} is not known ({known}); say --format.")
    return _SUFFIXES[suffix]


def check_readable(path: Path) -> None:
    if not path.exists():
        raise FileError(f"{path}: there is no such file.")
    if path.is_dir():
        raise FileError(f"{path}: this is a directory, not a file.")
    if path.stat().st_size == 0 and path.is_file():
        raise FileError(f"{path}: the file is empty (0 bytes).")
