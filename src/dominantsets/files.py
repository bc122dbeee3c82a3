"""Data from files and results to files. No reader ever unpickles; every fault is one sentence.

A reader returns a :class:`Table`: features or a matrix of pairs, with the names of the objects and the
classes where the file has them. A writer writes beside the file and renames, so that nothing is left half written.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from dominantsets._checks import missing_extra, one_of, require_memory

MOST_COLUMNS = 100_000  # of a text table; beyond it rows and columns were probably mixed up
GRAPHS = ("edges", "graphml")
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


class FileError(ValueError):
    """A file that cannot be used: one sentence that says what is wrong with it."""


@dataclass(frozen=True, eq=False)
class Table:
    """What a file holds.

    Attributes
    ----------
    data : array or CSR matrix
        Rows of features, or an n × n matrix of pairs.
    graph : bool
        Whether it is a graph (an edge list or GraphML), so that ``data`` is a matrix of pairs.
    ids : list of str or None
        The objects' names.
    classes : ndarray of str or None
        The column to score against.
    """

    data: Any
    graph: bool = False
    ids: list[str] | None = None
    classes: Any = None


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
    kind = _format(path, format)
    if (label_column or id_column) and kind not in ("csv", "tsv", "parquet"):
        raise FileError(
            f"{name}: a {kind} file has no named columns; leave --label-column and --id-column out."
        )
    try:
        if path != "-":
            check_readable(Path(path))
        source: Any = io.BytesIO(sys.stdin.buffer.read()) if path == "-" else path
        if kind in ("csv", "tsv"):
            return _read_text(source, "," if kind == "csv" else "\t", label_column, id_column)
        if kind == "parquet":
            return _read_parquet(source, label_column, id_column)
        return _READERS[kind](source)
    except FileError as error:
        raise FileError(f"{name}: {error}") from error
    except MemoryError as error:
        raise FileError(f"{name}: {error or 'too large for the memory that is free.'}") from error
    except OSError as error:
        raise FileError(f"{name}: {error.strerror or error}.") from error


def _format(path: str, format: str | None) -> str:
    if format is not None:
        return one_of("format", format, FORMATS)
    if path == "-":
        return "csv"
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        known = ", ".join(_SUFFIXES)
        raise FileError(f"{path}: the ending {suffix or '(none)'} is not known ({known}); say --format.")
    return _SUFFIXES[suffix]


def check_readable(path: Path) -> None:
    if not path.exists():
        raise FileError("there is no such file.")
    if path.is_dir():
        raise FileError("this is a directory, not a file.")
    if path.stat().st_size == 0 and path.is_file():
        raise FileError("the file is empty (0 bytes).")


# text tables -----------------------------------------------------------------------------------------


def _text_of(source: Any) -> str:
    raw = source.read() if isinstance(source, io.BytesIO) else Path(source).read_bytes()
    if not raw.strip():
        raise FileError("the file is empty.")
    if b"\0" in raw[:4096]:
        raise FileError("this is not a text file (it has zero bytes); say --format if the ending misleads.")
    try:
        return str(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise FileError(f"line {line} is not UTF-8 text.") from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _cells(line: str, delimiter: str) -> list[str]:
    import csv

    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]


def _read_text(source: Any, delimiter: str, label_column: str | None, id_column: str | None) -> Table:
    lines = _text_of(source).splitlines()
    numbers = [k for k, line in enumerate(lines) if line.strip()]
    first = _cells(lines[numbers[0]], delimiter)
    width = len(first)
    if width > MOST_COLUMNS:
        raise FileError(f"{width:,} columns; are the objects its columns? Transpose it, or store it as .npy.")
    apart = {c: _place(c, first) for c in (label_column, id_column) if c is not None}
    header = any(not _is_number(cell) for k, cell in enumerate(first) if k not in apart.values())
    header = header or any(c in first and not c.isdigit() for c in apart)
    names = first if header else [str(k + 1) for k in range(width)]
    numbers = numbers[1:] if header else numbers
    if not numbers:
        raise FileError("there is a line of names and no data below it.")
    features = [k for k in range(width) if k not in apart.values()]
    if not features:
        raise FileError("no column is left for features.")
    data = _numbers(lines, numbers, delimiter, features, names)
    columns = {}
    for column, place in apart.items():
        columns[column] = [_cells(lines[k], delimiter)[place] for k in numbers]
    return Table(
        data,
        ids=None if id_column is None else columns[id_column],
        classes=None if label_column is None else np.array(columns[label_column]),
    )


def _place(column: str, names: list[str]) -> int:
    if column in names:
        return names.index(column)
    if column.isdigit() and 1 <= int(column) <= len(names):
        return int(column) - 1
    listed = ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")
    raise FileError(f"there is no column {column!r}; its columns are: {listed}.")


def _numbers(
    lines: list[str], numbers: list[int], delimiter: str, features: list[int], names: list[str]
) -> Any:
    """The feature columns. Fast where all is well; line by line where something is wrong, to name it."""
    try:
        return np.loadtxt(
            (lines[k] for k in numbers), delimiter=delimiter, usecols=features, ndmin=2, comments=None,
            quotechar='"', dtype=np.float64,
        )  # fmt: skip
    except ValueError:
        pass
    for k in numbers:
        cells = _cells(lines[k], delimiter)
        if len(cells) != len(names):
            raise FileError(f"line {k + 1} has {len(cells)} columns, the first one {len(names)}.")
        for f in features:
            if not _is_number(cells[f]):
                shown = repr(cells[f][:30]) if cells[f] else "nothing"
                raise FileError(
                    f"line {k + 1}, column {names[f]!r} holds {shown}, which is not a number; name a column "
                    "of classes with --label-column and one of names with --id-column."
                )
    # what float() takes and the fast reader does not, such as 1_000
    return np.array([[float(_cells(lines[k], delimiter)[f]) for f in features] for k in numbers])


def _read_parquet(source: Any, label_column: str | None, id_column: str | None) -> Table:
    try:
        import pandas as pd
        import pyarrow
    except ModuleNotFoundError as error:
        raise FileError(str(missing_extra("Parquet files need", "io", "pyarrow"))) from error
    try:
        frame = pd.read_parquet(source)
    except (pyarrow.ArrowException, ValueError, OSError) as error:
        raise FileError("this is not a Parquet file, or it is truncated.") from error
    if frame.shape[0] == 0:
        raise FileError("the table has no rows.")
    names = [str(column) for column in frame.columns]
    frame.columns = names
    apart = {
        c: frame.iloc[:, _place(c, names)].astype(str) for c in (label_column, id_column) if c is not None
    }
    features = frame.drop(columns=[column.name for column in apart.values()])
    text = [name for name in features.columns if not pd.api.types.is_numeric_dtype(features[name])]
    if text:
        raise FileError(
            f"column {text[0]!r} does not hold numbers; name a column of classes with --label-column and one "
            "of names with --id-column."
        )
    return Table(
        features.to_numpy(dtype=np.float64),
        ids=None if id_column is None else apart[id_column].tolist(),
        classes=None if label_column is None else apart[label_column].to_numpy(dtype=str),
    )


# arrays ----------------------------------------------------------------------------------------------


def _read_npy(source: Any) -> Table:
    try:
        array = np.load(source, allow_pickle=False, mmap_mode=None if isinstance(source, io.BytesIO) else "r")
    except (ValueError, EOFError, OSError) as error:
        if isinstance(error, PermissionError):
            raise
        raise FileError(f"this is not a whole .npy file of numbers ({_first_line(error)}).") from error
    if not isinstance(array, np.ndarray):
        raise FileError("this is an .npz archive with the ending of an .npy file; rename it.")
    return Table(_two_dimensional(array))


def _two_dimensional(array: Any) -> Any:
    if array.dtype.kind not in "fiub":
        raise FileError(f"the array holds {array.dtype}, not numbers.")
    if array.ndim != 2:
        raise FileError(f"the array has shape {array.shape}; a row an object, a column a feature is needed.")
    return array


def _read_npz(source: Any) -> Table:
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
        # what it says it unpacks to, before anything is unpacked: a small file may hold gigabytes of zeros
        require_memory(
            sum(member.file_size for member in members),
            "what the archive unpacks to",
            "store the array as .npy, which is read in place",
        )
        with np.load(source, allow_pickle=False) as arrays:
            names = list(arrays.files)
            if "format" in names:
                return Table(_sparse(source))
            chosen = [name for name in ("X", "data", "arr_0") if name in names] or names
            if not chosen:
                raise FileError("the archive has no arrays.")
            if chosen[0] not in ("X", "data", "arr_0") and len(names) > 1:
                listed = ", ".join(names[:8])
                raise FileError(f"which of its arrays ({listed}) is meant? Name the one with the data X.")
            return Table(_two_dimensional(arrays[chosen[0]]))
    except FileError:
        raise
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, NotImplementedError) as error:
        raise FileError(f"this is not a whole .npz archive of numbers ({_first_line(error)}).") from error
    except OSError as error:
        if isinstance(error, PermissionError):
            raise
        raise FileError(f"this is not a whole .npz archive of numbers ({_first_line(error)}).") from error


def _sparse(source: Any) -> sp.csr_array:
    if isinstance(source, io.BytesIO):
        source.seek(0)
    try:
        matrix = sp.csr_array(sp.load_npz(source))
        matrix.check_format(full_check=True)
    except Exception as error:  # SciPy raises many kinds for arrays that do not fit together
        raise FileError(f"the sparse matrix is damaged ({_first_line(error)}).") from error
    return matrix


def _read_mtx(source: Any) -> Table:
    try:
        rows, columns, entries, layout, _, _ = scipy.io.mminfo(source)
        size = 8 * rows * columns if layout == "array" else 20 * entries + 8 * rows
        require_memory(size, f"its {rows:,} × {columns:,} matrix", "use a machine with more, or a part of it")
        if isinstance(source, io.BytesIO):
            source.seek(0)
        matrix = scipy.io.mmread(source)
    except MemoryError:
        raise
    except Exception as error:  # the reader raises ValueError, OverflowError and others
        if isinstance(error, PermissionError):
            raise
        raise FileError(f"this is not a whole Matrix Market file ({_first_line(error)}).") from error
    return Table(sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix))


# graphs ----------------------------------------------------------------------------------------------


def _read_edges(source: Any) -> Table:
    """Lines of two names and, where there is one, a weight; separated by tabs, commas or spaces."""
    index: dict[str, int] = {}
    ends: list[tuple[int, int]] = []
    weights: list[float] = []
    for number, line in enumerate(_text_of(source).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "%")):
            continue
        cells = line.replace("\t", " ").replace(",", " ").split()
        if len(cells) not in (2, 3):
            raise FileError(f"line {number} has {len(cells)} columns; an edge is two names and a weight.")
        weight = cells[2] if len(cells) == 3 else "1"
        if not _is_number(weight):
            if not ends:  # a line of names
                continue
            raise FileError(f"line {number} has the weight {weight[:30]!r}, which is not a number.")
        pair = [index.setdefault(name, len(index)) for name in cells[:2]]
        ends.append((pair[0], pair[1]))
        weights.append(float(weight))
    return _graph(ends, weights, list(index))


def _read_graphml(source: Any) -> Table:
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise FileError(str(missing_extra("GraphML files need", "io", "networkx"))) from error
    try:
        graph = nx.Graph(nx.read_graphml(source))
        edges = [(str(u), str(v), float(w)) for u, v, w in graph.edges(data="weight", default=1.0)]
    except Exception as error:  # XML errors, networkx's and those of odd attribute types
        if isinstance(error, PermissionError):
            raise
        raise FileError(f"this is not a whole GraphML file ({_first_line(error)}).") from error
    index = {str(node): k for k, node in enumerate(graph.nodes)}
    return _graph([(index[u], index[v]) for u, v, _ in edges], [w for _, _, w in edges], list(index))


def _graph(ends: list[tuple[int, int]], weights: list[float], names: list[str]) -> Table:
    """A symmetric matrix; an edge given twice, or in both directions, counts once, with its larger weight."""
    if not ends:
        raise FileError("there are no edges in it.")
    values = np.array(weights)
    if not np.isfinite(values).all():
        raise FileError("some weights are NaN or infinite; leave those edges out.")
    pairs = np.sort(np.array(ends, dtype=np.int64), axis=1)
    loops = pairs[:, 0] == pairs[:, 1]
    pairs, values = pairs[~loops], values[~loops]
    order = np.lexsort((values, pairs[:, 1], pairs[:, 0]))
    pairs, values = pairs[order], values[order]
    last = np.append(np.any(np.diff(pairs, axis=0) != 0, axis=1), True) if len(pairs) else np.zeros(0, bool)
    upper = sp.coo_array((values[last], pairs[last].T), shape=(len(names), len(names))).tocsr()
    return Table(sp.csr_array(upper + upper.T), graph=True, ids=names)


_READERS: dict[str, Callable[[Any], Table]] = {
    "npy": _read_npy,
    "npz": _read_npz,
    "mtx": _read_mtx,
    "edges": _read_edges,
    "graphml": _read_graphml,
}


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:120]


# writing ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends well, and goes when not."""
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{path}: this is a directory, not a file to write.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent or ".")
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error}).") from error
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o666 & ~mask)  # a temporary file is private; the result need not be
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")


def write_labels(path: str, ids: list[str] | None, labels: Any, memberships: Any, exemplars: Any) -> None:
    """Labels with membership and exemplar flags as CSV ("-": to standard output), TSV or Parquet."""
    import csv

    names = ids if ids is not None else list(range(len(labels)))
    flags = np.zeros(len(labels), dtype=np.int64)
    flags[exemplars] = 1
    if path != "-" and Path(path).suffix.lower() == ".parquet":
        try:
            import pandas as pd
            import pyarrow  # noqa: F401 (pandas needs it, and would say so less clearly)
        except ModuleNotFoundError as error:
            raise FileError(str(missing_extra("Parquet files need", "io", "pyarrow"))) from error
        frame = pd.DataFrame(
            {"object": names, "label": labels, "membership": memberships, "exemplar": flags.astype(bool)}
        )
        with replacing(path) as draft:
            frame.to_parquet(draft, index=False)
        return

    def fill(stream: Any) -> None:
        delimiter = "\t" if Path(path).suffix.lower() in (".tsv", ".tab") else ","
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        writer.writerow(["object", "label", "membership", "exemplar"])
        for name, label, weight, flag in zip(names, labels, memberships, flags, strict=True):
            writer.writerow([name, int(label), f"{weight:.9g}", int(flag)])

    if path == "-":
        fill(sys.stdout)
        return
    with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as stream:
        fill(stream)
