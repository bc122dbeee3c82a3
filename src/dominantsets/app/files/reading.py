"""One entry point for all formats."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dominantsets._checks import check_choice
from dominantsets.app.files import arrays, graphs, tables
from dominantsets.app.files._common import FileError, Table

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".npy": "npy",
    ".npz": "npz",
    ".mtx": "mtx",
    ".edges": "edges",
    ".edgelist": "edges",
    ".graphml": "graphml",
}
FORMATS = tuple(dict.fromkeys(_SUFFIXES.values()))
_READERS: dict[str, Callable[[Any], Table]] = {
    "npy": arrays.read_npy,
    "npz": arrays.read_npz,
    "mtx": arrays.read_mtx,
    "edges": graphs.read_edges,
    "graphml": graphs.read_graphml,
}


def read(
    path: str, *, format: str | None = None, label_column: str | None = None, id_column: str | None = None
) -> Table:
    """Read a data file.

    Parameters
    ----------
    path : str
        A file, or "-" for standard input (``format`` then has to be given unless it is CSV).
    format : str, optional
        One of "csv", "tsv", "parquet", "npy", "npz", "mtx", "edges", "graphml"; by the name's ending
        without it.
    label_column, id_column : str, optional
        Columns (by name, or number from 1) that hold classes and names instead of features.

    Returns
    -------
    Table
        What the file holds.
    """
    name = "standard input" if path == "-" else path
    if path != "-":
        check_readable(Path(path))
    kind = _format(path, format)
    if (label_column or id_column) and kind not in ("csv", "tsv", "parquet"):
        raise FileError(
            f"{name}: a {kind} file has no named columns; leave --label-column and --id-column out."
        )
    try:
        source: Any = io.BytesIO(sys.stdin.buffer.read()) if path == "-" else path
        if kind in ("csv", "tsv"):
            return tables.read_text(source, "," if kind == "csv" else "\t", label_column, id_column)
        if kind == "parquet":
            return tables.read_parquet(source, label_column, id_column)
        return _READERS[kind](source)
    except FileError as error:
        raise FileError(f"{name}: {error}") from error
    except MemoryError as error:
        raise FileError(f"{name}: {error or 'too large for the memory that is free.'}") from error
    except OSError as error:
        raise FileError(f"{name}: {error.strerror or error}.") from error


def _format(path: str, format: str | None) -> str:
    if format is not None:
        return check_choice("format", format, FORMATS)
    if path == "-":
        return "csv"
    suffix = Path(path).suffix.lower()
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
