"""Arrays: .npy, .npz and Matrix Market, dense or sparse. Nothing is ever unpickled."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import require_memory
from dominantsets.app.files._common import FileError, Table, first_line, is_number, text_of


def read_npy(source: Any) -> Table:
    try:
        array = np.load(source, allow_pickle=False, mmap_mode=None if isinstance(source, io.BytesIO) else "r")
    except (MemoryError, PermissionError):
        raise
    except Exception as error:  # NumPy evaluates the header as Python, which raises many kinds
        raise FileError(f"this is not a whole .npy file of numbers ({first_line(error)}).") from error
    if not isinstance(array, np.ndarray):
        raise FileError("this is an .npz archive with the ending of an .npy file; rename it.")
    return Table(_two_dimensional(array))


def _two_dimensional(array: Any) -> Any:
    if not isinstance(array, np.ndarray):
        raise FileError("what it holds is not an array.")
    if array.dtype.kind not in "fiub":
        raise FileError(f"the array holds {array.dtype}, not numbers.")
    if array.ndim != 2:
        raise FileError(f"the array has shape {array.shape}; a row an object, a column a feature is needed.")
    return array


def read_npz(source: Any) -> Table:
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
    except (FileError, MemoryError, PermissionError):
        raise
    except Exception as error:  # zip, zlib, and NumPy's headers, which are evaluated: they raise many kinds
        raise FileError(f"this is not a whole .npz archive of numbers ({first_line(error)}).") from error


def _sparse(source: Any) -> sp.csr_array:
    if isinstance(source, io.BytesIO):
        source.seek(0)
    try:
        matrix = sp.csr_array(sp.load_npz(source))
        matrix.check_format(full_check=True)
    except Exception as error:  # SciPy raises many kinds for arrays that do not fit together
        raise FileError(f"the sparse matrix is damaged ({first_line(error)}).") from error
    return matrix


def read_mtx(source: Any) -> Table:
    """Matrix Market. Read here, because SciPy's reader can bring the process down on a damaged file."""
    lines = text_of(source).splitlines()
    banner = lines[0].lower().split() if lines else []  # a file may hold its encoding's mark alone
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
        raise FileError("line 1 is not '%%MatrixMarket matrix ...'.")
    layout, field, symmetry = banner[2:]
    known = layout in ("coordinate", "array") and symmetry in ("general", "symmetric")
    if not known or field not in ("real", "integer", "pattern", "double"):
        raise FileError(f"a {field} {symmetry} {layout} matrix is not known; it must be real or symmetric.")
    numbers = [k for k, line in enumerate(lines) if line.strip() and not line.startswith("%")]
    size = _whole_numbers(lines[numbers[0]]) if numbers else []
    if len(size) != (3 if layout == "coordinate" else 2) or min(size) < 1:
        raise FileError(f"line {numbers[0] + 1 if numbers else 1} does not give the size of the matrix.")
    rows, columns = size[:2]
    triangle = symmetry == "symmetric"
    if triangle and rows != columns:
        raise FileError(f"a symmetric matrix cannot have {rows:,} rows and {columns:,} columns.")
    dense = layout == "array"
    count = (rows * (rows + 1) // 2 if triangle else rows * columns) if dense else size[2]
    bytes_needed = 8 * rows * columns if dense else 24 * count + 8 * rows
    require_memory(bytes_needed, f"its {rows:,} × {columns:,} matrix", "use a part of it")
    if count != len(numbers) - 1:
        raise FileError(f"there are {len(numbers) - 1:,} entries, and its first lines promise {count:,}.")
    width = 1 if dense else 2 if field == "pattern" else 3
    entries = _entries(lines, numbers[1:], width)
    if dense:
        return Table(_filled(entries[:, 0], rows, columns, triangle))
    bad = np.flatnonzero(((entries[:, :2] < 1) | (entries[:, :2] > [rows, columns])).any(axis=1))
    if bad.size:
        raise FileError(f"line {numbers[1:][bad[0]] + 1} is outside the {rows:,} × {columns:,} matrix.")
    places = entries[:, :2].astype(np.int64) - 1
    values = entries[:, 2] if width == 3 else np.ones(count)
    matrix = sp.coo_array((values, places.T), shape=(rows, columns))
    if triangle:
        beside = places[:, 0] != places[:, 1]
        turned = sp.coo_array((values[beside], places[beside][:, ::-1].T), shape=(rows, columns))
        return Table(sp.csr_array(matrix.tocsr() + turned.tocsr()))
    return Table(sp.csr_array(matrix))


def _whole_numbers(line: str) -> list[int]:
    cells = line.split()
    whole = all(cell.isascii() and cell.isdigit() and len(cell) <= 18 for cell in cells)
    return [int(cell) for cell in cells] if whole else []


def _entries(lines: list[str], numbers: list[int], width: int) -> Any:
    if not numbers:
        return np.empty((0, width))
    try:
        table = np.loadtxt((lines[k] for k in numbers), ndmin=2, comments=None, dtype=np.float64)
        if table.shape[1] == width and np.isfinite(table[:, : width - 1]).all():
            return table
    except ValueError:
        pass
    for k in numbers:
        cells = lines[k].split()
        if len(cells) != width or not all(is_number(cell) for cell in cells):
            raise FileError(f"line {k + 1} does not hold {width} number(s).")
    raise FileError("its entries cannot be read as numbers.")


def _filled(values: Any, rows: int, columns: int, triangle: bool) -> Any:
    """A dense matrix from its columns, one below the other."""
    if not triangle:
        return values.reshape(columns, rows).T
    out = np.zeros((rows, rows))
    out.T[np.triu_indices(rows)] = values  # the lower half, column by column
    upper = np.triu_indices(rows, 1)
    out[upper] = out.T[upper]
    return out
