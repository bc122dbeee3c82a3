"""Tables: CSV, TSV and Parquet."""

from __future__ import annotations

from typing import Any

import numpy as np

from dominantsets._checks import missing_extra
from dominantsets.app.files._common import FileError, Table, is_number, text_of

MOST_COLUMNS = 100_000  # of a text table; beyond it rows and columns were probably mixed up


def _cells(line: str, delimiter: str) -> list[str]:
    import csv

    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error as error:
        raise FileError(f"a line of {len(line):,} characters is no row of a table ({error}).") from error


def read_text(source: Any, delimiter: str, label_column: str | None, id_column: str | None) -> Table:
    lines = text_of(source).splitlines()
    numbers = [k for k, line in enumerate(lines) if line.strip()]
    if not numbers:
        raise FileError("the file has blank lines only.")
    first = _cells(lines[numbers[0]], delimiter)
    width = len(first)
    if width > MOST_COLUMNS:
        raise FileError(f"{width:,} columns; are the objects its columns? Transpose it, or store it as .npy.")
    apart = {c: _place(c, first) for c in (label_column, id_column) if c is not None}
    header = any(not is_number(cell) for k, cell in enumerate(first) if k not in apart.values())
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
        rows = [_cells(lines[k], delimiter) for k in numbers]
        short = next((k for k, row in zip(numbers, rows, strict=True) if len(row) <= place), None)
        if short is not None:
            raise FileError(f"line {short + 1} has no column {column!r}.")
        columns[column] = [row[place] for row in rows]
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
    for k in numbers:
        count = lines[k].count(delimiter) + 1
        if count != len(names) and (count := len(_cells(lines[k], delimiter))) != len(names):
            raise FileError(f"line {k + 1} has {count} columns, the first one {len(names)}.")
    try:
        return np.loadtxt(
            (lines[k] for k in numbers), delimiter=delimiter, usecols=features, ndmin=2, comments=None,
            quotechar='"', dtype=np.float64,
        )  # fmt: skip
    except ValueError:
        pass
    for k in numbers:
        cells = _cells(lines[k], delimiter)
        if len(cells) != len(names):  # a quote that is not closed
            raise FileError(f"line {k + 1} has {len(cells)} columns, the first one {len(names)}.")
        for f in features:
            if not is_number(cells[f]):
                if not cells[f]:
                    raise FileError(
                        f"line {k + 1}, column {names[f]!r} is empty; fill it in, or leave the line out."
                    )
                shown = repr(cells[f][:30])
                raise FileError(
                    f"line {k + 1}, column {names[f]!r} holds {shown}, which is not a number; name a column "
                    "of classes with --label-column and one of names with --id-column."
                )
    # what float() takes and the fast reader does not, such as 1_000
    return np.array([[float(_cells(lines[k], delimiter)[f]) for f in features] for k in numbers])


def read_parquet(source: Any, label_column: str | None, id_column: str | None) -> Table:
    try:
        import pandas as pd
        import pyarrow  # noqa: F401 (pandas needs it, and would say so less clearly)
    except ModuleNotFoundError as error:
        raise FileError(str(missing_extra("Parquet files need", "io", "pyarrow"))) from error
    try:
        frame = pd.read_parquet(source)
    except (MemoryError, PermissionError):
        raise
    except Exception as error:  # Arrow's, and whatever its metadata for pandas lead to
        raise FileError("this is not a Parquet file, or it is damaged.") from error
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
