"""Tables: CSV and its kin, and Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dominantsets._checks import missing_extra
from dominantsets.app.files._common import FileError, Table, decoded
from dominantsets.app.files.graphs import graph_of_edges
from dominantsets.app.files.sniffing import (
    NAMES,
    Layout,
    are_pairs,
    edge_columns,
    has_names,
    layout_of,
    promises_edges,
    without_comments,
)

MOST_COLUMNS = 100_000  # of a text table; beyond it rows and columns were probably mixed up
NAMELESS = ("", "Unnamed: 0", "index")  # what the column of row numbers is called


@dataclass(frozen=True)
class Wanted:
    """Which columns mean what: by name, or by number from 1.

    Attributes
    ----------
    label, id, weight : str or None
        The columns of classes, of the objects' names, and of how many objects each stands for.
    only, drop : sequence of str
        The features, or what is none of them.
    """

    label: str | None = None
    id: str | None = None
    only: Sequence[str] = ()
    drop: Sequence[str] = ()
    weight: str | None = None

    @property
    def apart(self) -> tuple[str, ...]:
        """Columns that are no features."""
        return tuple(name for name in (self.label, self.id, self.weight) if name is not None)

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that is spoken of."""
        return (*self.apart, *self.only, *self.drop)

    def features(self, names: list[str]) -> list[int]:
        """The places of the features."""
        apart = {place_of(name, names) for name in self.apart}
        chosen = [k for name in self.only for k in places_of(name, names)] or range(len(names))
        apart |= {k for name in self.drop for k in places_of(name, names)}
        places = [k for k in dict.fromkeys(chosen) if k not in apart]
        if not places:
            raise FileError("no column is left for features.")
        return places


def place_of(column: str, names: list[str]) -> int:
    """Where a column is."""
    if column in names:
        return names.index(column)
    if column.isdigit() and 1 <= int(column) <= len(names):
        return int(column) - 1
    listed = ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")
    raise FileError(f"there is no column {column!r}; its columns are: {listed}.")


def places_of(column: str, names: list[str]) -> list[int]:
    """Where a column is, or those of a range such as 2-5."""
    first, dash, last = column.partition("-")
    if column not in names and dash and first.isdigit() and last.isdigit():
        return list(range(place_of(first, names), place_of(last, names) + 1))
    return [place_of(column, names)]


def read_text(source: Any, usual: str, wanted: Wanted, may_be_edges: bool = False) -> Table:
    """A table of numbers with any of the usual separators."""
    text, encoding = decoded(source)
    usual, lines = _announced(text.splitlines(), usual)
    numbers, comment = without_comments(lines)
    if not numbers:
        raise FileError("there are comments and no data below them.")
    widest = max(lines[numbers[0]].count(separator) for separator in NAMES)
    if widest >= MOST_COLUMNS:
        raise FileError(
            f"{widest + 1:,} columns; are the objects its columns? Transpose it, or store it as .npy."
        )
    layout = layout_of([lines[k] for k in numbers], usual)
    rows = [layout.cells(lines[k]) for k in numbers[:50]]
    notes = [] if layout == Layout(usual) else [_said(layout)]
    notes += [] if encoding == "UTF-8" else [f"it is no UTF-8, and read as {encoding}."]
    named = has_names(rows, layout, wanted.named)
    if not named and len(rows[0]) > 1 and len(layout.cells(comment)) == len(rows[0]):
        rows, named = [layout.cells(comment), *rows], True  # names behind a #
    elif named:
        numbers = numbers[1:]
    if not numbers:
        raise FileError("there is a line of names and no data below it.")
    if may_be_edges and not wanted.named:
        ends = edge_columns(rows, layout, named)
        if ends is None and promises_edges(lines[: numbers[0]]) and len(rows[0]) in (2, 3):
            ends = tuple(range(len(rows[0])))
        if ends is not None:
            edges = ((k + 1, _picked(layout.cells(lines[k]), ends, k)) for k in numbers)
            return _edges(edges, layout, notes)
    names = rows[0] if named else [str(k + 1) for k in range(len(rows[0]))]
    if named and len(rows) > 1 and {len(row) for row in rows[1:]} == {len(names) + 1}:
        names = ["", *names]  # names of rows without a name of their own, as R writes them
    features = [k for k in wanted.features(names) if not _is_void(k, names, rows)]
    apart = {k: place_of(k, names) for k in wanted.apart}
    _check_widths(lines, numbers, layout, len(names))
    if wanted.id is None and not wanted.only and named and names[0] in NAMELESS and 0 in features:
        first = [layout.cells(lines[k])[0] for k in numbers]
        if not all(map(layout.is_number, first)) and len(features) > 1:  # names of rows, as R writes them
            apart[""], features = 0, features[1:]
            wanted = Wanted(wanted.label, "", weight=wanted.weight)
            notes.append("the first column has no name and holds text: it is taken for the objects' names.")
    data = _numbers(lines, numbers, layout, features, names)
    columns = {name: [layout.cells(lines[k])[place] for k in numbers] for name, place in apart.items()}
    ids = None if wanted.id is None else columns[wanted.id]
    if ids is None and not wanted.only and features[0] == 0 and _is_index(data, named, names[0]):
        shown = "has no name" if named else "counts the rows"
        notes.append(
            f"the first column {shown} ({data[0, 0]:.0f} ... {data[-1, 0]:.0f}): it is taken for the row "
            "numbers, not for a feature; name the features with --columns if it is one."
        )
        ids = [f"{value:.0f}" for value in data[:, 0]]
        data, features = np.ascontiguousarray(data[:, 1:]), features[1:]
    elif may_be_edges and not wanted.named and not named and are_pairs(data):
        edges = ((k + 1, layout.cells(lines[k])) for k in numbers)
        return _edges(edges, layout, notes)
    return Table(
        data,
        ids=ids,
        classes=None if wanted.label is None else np.array(columns[wanted.label]),
        names=[names[k] for k in features] if named else None,
        notes=tuple(notes),
        weights=None
        if wanted.weight is None
        else _numbers(lines, numbers, layout, [place_of(wanted.weight, names)], names)[:, 0],
    )


def _announced(lines: list[str], usual: str) -> tuple[str, list[str]]:
    """The separator that a first line such as sep=; announces, and the lines below it."""
    first = lines[0].strip() if lines else ""
    if first.lower().startswith("sep=") and len(first) == 5:
        return first[4], ["", *lines[1:]]
    return usual, lines


def _said(layout: Layout) -> str:
    comma = " and decimal commas" if layout.decimal_comma else ""
    return f"read with {NAMES.get(layout.separator, layout.separator)} between the columns{comma}."


def _edges(edges: Iterable[tuple[int, list[str]]], layout: Layout, notes: list[str]) -> Table:
    table = graph_of_edges(edges, layout.plain)
    said = "read as a list of edges; say --format csv if its columns are features."
    return Table(table.data, graph=True, ids=table.ids, notes=(*notes, said))


def _picked(cells: list[str], places: tuple[int, ...], line: int) -> list[str]:
    if len(cells) <= max(places):
        raise FileError(f"line {line + 1} has {len(cells)} columns, too few for an edge.")
    return [cells[k] for k in places]


def _is_index(data: Any, named: bool, name: str) -> bool:
    """Whether the first column numbers the rows from 0 or 1, and does not say that it is anything else."""
    n, d = data.shape
    if d < 2 or n < 3 or (named and name not in NAMELESS):
        return False
    if not named and n == d:  # a matrix of pairs: distances along a line look the same
        return False
    return any(np.array_equal(data[:, 0], np.arange(first, first + n)) for first in (0, 1))


def _is_void(place: int, names: list[str], rows: list[list[str]]) -> bool:
    """Whether a column is nothing but a separator at the end of every line."""
    return place > 0 and place == len(names) - 1 and not any(row[place:] and row[place] for row in rows)


def _check_widths(lines: list[str], numbers: list[int], layout: Layout, width: int) -> None:
    for k in numbers:
        plain = layout.separator != " " and '"' not in lines[k]  # within quotes a separator is none
        if plain and lines[k].count(layout.separator) + 1 == width:
            continue
        if (count := len(layout.cells(lines[k]))) != width:
            raise FileError(f"line {k + 1} has {count} columns, the first one {width}.")


def _numbers(
    lines: list[str], numbers: list[int], layout: Layout, features: list[int], names: list[str]
) -> Any:
    """The feature columns. Fast where all is well; cell by cell where something is wrong, to name it."""
    try:
        return np.loadtxt(
            (layout.plain(lines[k]) for k in numbers), delimiter=layout.separator, usecols=features, ndmin=2,
            comments=None, quotechar='"', dtype=np.float64,
        )  # fmt: skip
    except ValueError:
        pass
    cells = [[row[f] for f in features] for row in (layout.cells(lines[k]) for k in numbers)]
    wrong = [[k for k, row in enumerate(cells) if not layout.is_number(row[f])] for f in range(len(features))]
    text = [
        names[features[f]]
        for f, places in enumerate(wrong)
        if 2 * len(places) > len(cells) and any(row[f] for row in cells)
    ]
    if text:
        raise FileError(_text_sentence(text, edges=len(names) in (2, 3) and len(text) == 2))
    for f, places in enumerate(wrong):
        if not places:
            continue
        where = f"line {numbers[places[0]] + 1}, column {names[features[f]]!r}"
        if not (shown := cells[places[0]][f][:30]):
            raise FileError(f"{where} is empty; fill it in, leave the line out, or --drop the column.")
        raise FileError(
            f"{where} holds {shown!r}, which is not a number; leave the column out with --drop, or name it "
            "as the classes (--label-column) or the objects' names (--id-column)."
        )
    # what float() takes and the fast reader does not, such as 1_000
    return np.array([[float(layout.plain(cell)) for cell in row] for row in cells])


def _text_sentence(text: list[str], edges: bool = False) -> str:
    """Columns of text by name, and what to do about them."""
    shown = ", ".join(repr(name) for name in text[:8]) + (" ..." if len(text) > 8 else "")
    many = len(text) > 1
    quoted = ",".join(f'"{name}"' if "," in name or " " in name else name for name in text)
    other = "; edges of a graph need --format edges" if edges else ""
    return (
        f"{'columns' if many else 'column'} {shown} {'hold' if many else 'holds'} text, not numbers: leave "
        f"{'them' if many else 'it'} out with --drop {quoted}, or name the classes with --label-column and "
        f"the objects' names with --id-column{other}."
    )


def listed(texts: Sequence[str]) -> tuple[str, ...]:
    """Names of columns from options such as ``a,b``, in which "a,b" with quotes is one name."""
    return tuple(name.strip() for text in texts for name in next(csv.reader([text]), []) if name.strip())


def read_parquet(source: Any, wanted: Wanted) -> Table:
    """A table of a Parquet file."""
    try:
        import pandas as pd
        import pyarrow  # noqa: F401 (pandas needs it, and would say so less clearly)
    except ModuleNotFoundError as error:
        raise FileError(str(missing_extra("Parquet files need", "io", "pyarrow"))) from error
    try:
        return _of_frame(pd.read_parquet(source), wanted)
    except (FileError, MemoryError, PermissionError):
        raise
    except Exception as error:  # Arrow's, some only when values are looked at, and those of pandas' metadata
        raise FileError("this is not a Parquet file, or it is damaged.") from error


def _of_frame(frame: Any, wanted: Wanted) -> Table:
    import pandas as pd

    if frame.shape[0] == 0:
        raise FileError("the table has no rows.")
    names = [str(column) for column in frame.columns]
    frame.columns = names
    places = wanted.features(names)
    text = [names[k] for k in places if not pd.api.types.is_numeric_dtype(frame.iloc[:, k])]
    if text:
        raise FileError(_text_sentence(text))
    data = frame.iloc[:, places].to_numpy(dtype=np.float64)
    notes: tuple[str, ...] = ()
    if not wanted.only and places[0] == 0 and _is_index(data, True, names[0]):
        notes = (f"the first column {names[0]!r} numbers the rows: it is not taken for a feature.",)
        data, places = np.ascontiguousarray(data[:, 1:]), places[1:]

    def column(name: str | None) -> Any:
        return None if name is None else frame.iloc[:, place_of(name, names)].astype(str)

    ids, classes, weights = column(wanted.id), column(wanted.label), None
    if wanted.weight is not None:
        place = place_of(wanted.weight, names)
        if not pd.api.types.is_numeric_dtype(frame.iloc[:, place]):
            raise FileError(f"column {names[place]!r} holds text: weights are numbers.")
        weights = frame.iloc[:, place].to_numpy(dtype=np.float64)
    return Table(
        data,
        ids=None if ids is None else ids.tolist(),
        classes=None if classes is None else classes.to_numpy(dtype=str),
        names=[names[k] for k in places],
        notes=notes,
        weights=weights,
    )
