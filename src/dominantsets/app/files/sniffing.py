"""What a text file looks like: its separator, its decimal sign, its names, and whether it lists edges.

Nothing here reads more than a sample of lines: what it finds is what the readers then hold all lines to.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dominantsets.app.files._common import FileError, is_number

SEPARATORS = (",", ";", "\t", "|", " ")
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
SAMPLE = 100  # lines that are looked at
MOST_COMMENTS = 1_000  # lines before the first that is not one
# What the two ends of an edge are called; u and v, or start and end, may as well be features.
ENDS = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("src", "dest"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("fromnodeid", "tonodeid"),
    ("id1", "id2"),
)
WEIGHTS = ("weight", "value", "similarity", "distance", "length")
_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*),\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Layout:
    """How a line is read.

    Attributes
    ----------
    separator : str
        What stands between two cells; a space means any run of them.
    decimal_comma : bool
        Whether 1,5 is one and a half.
    """

    separator: str
    decimal_comma: bool = False

    def cells(self, line: str) -> list[str]:
        """The cells of a line as they stand."""
        if self.separator == " ":
            line = " ".join(line.split())
        try:
            row = next(csv.reader([line], delimiter=self.separator), [])
        except csv.Error as error:
            raise FileError(f"a line of {len(line):,} characters is no row of a table ({error}).") from error
        return [cell.strip() for cell in row]

    def plain(self, text: str) -> str:
        """A line or a cell with decimal points, as Python reads numbers."""
        if self.separator == " ":
            text = " ".join(text.split())
        return text.replace(".", "").replace(",", ".") if self.decimal_comma else text

    def is_number(self, cell: str) -> bool:
        """Whether a cell is one."""
        return is_number(self.plain(cell))


def layout_of(lines: Sequence[str], usual: str) -> Layout:
    """The separator under which most cells are numbers; the usual one where none is better."""
    sample = [line for line in lines if line.strip()][:SAMPLE]
    best, layout = (0.0, 0), Layout(usual)
    for separator in sorted(SEPARATORS, key=lambda s: (s == " ", s != usual)):  # a tab is a space, too
        found = Layout(separator, decimal_comma=_has_decimal_comma(lines, separator))
        score = _score(sample, found)
        if score > best:
            best, layout = score, found
    return layout


def _score(sample: list[str], layout: Layout) -> tuple[float, int]:
    """The share of cells that are numbers in lines of the usual width, and that width; one cell is none."""
    rows = [layout.cells(line) for line in sample]
    width, count = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    if width < 2 or len(rows[0]) < 2 or 2 * count < len(rows):
        return 0.0, 0
    numbers = sum(layout.is_number(cell) for row in rows if len(row) == width for cell in row)
    return numbers / sum(map(len, rows)), width


def _has_decimal_comma(lines: Sequence[str], separator: str) -> bool:
    """Whether numbers have a comma where others have a point."""
    if separator == ",":
        return False
    plain, with_comma = Layout(separator), []
    for line in lines:
        if "," in line:
            with_comma.append(line)
            if len(with_comma) == SAMPLE:
                break
    cells = [cell for line in with_comma for cell in plain.cells(line)]
    return any(_COMMA.fullmatch(c) for c in cells) and not any(is_number(c) and "." in c for c in cells)


def has_names(rows: list[list[str]], layout: Layout, wanted: Sequence[str] = ()) -> bool:
    """Whether the first row names the columns.

    It does where a cell of it is text over a column of numbers, or where all of it is text that is not found
    below; a column that the user calls by its name is one, too. Numbers 0 ... d - 1 over
    numbers that are none of them are the names that pandas gives.
    """
    first, below = rows[0], rows[1:]
    if any(name in first and not name.isdigit() for name in wanted):
        return True
    text = [k for k, cell in enumerate(first) if not layout.is_number(cell)]
    columns = [[row[k] for row in below if len(row) > k] for k in range(len(first))]
    if any(columns[k] and all(map(layout.is_number, filter(None, columns[k]))) for k in text):
        return True
    numbered = [cell for k, cell in enumerate(first) if k not in text]
    counted = len(numbered) > 2 and numbered == [str(k) for k in range(len(numbered))]
    if counted and any("." in cell for column in columns for cell in column):
        return True
    return (
        bool(text) and not numbered and not {*first} & {cell for column in columns for cell in column if cell}
    )


def edge_columns(rows: list[list[str]], layout: Layout, named: bool) -> tuple[int, ...] | None:
    """The columns of the two ends and, where there is one, of the weight; None where these are no edges.

    Edges are two columns with the names that ends of edges have, or two columns of text that share names,
    with nothing but a column of numbers beside them.
    """
    body = rows[1:] if named else rows
    if not body or any(len(row) != len(rows[0]) for row in body):
        return None
    if named:
        head = [cell.lower().replace(" ", "") for cell in rows[0]]
        for one, other in ENDS:
            if one in head and other in head:
                ends = (head.index(one), head.index(other))
                if not all(_is_name(row[k], layout) for row in body for k in ends):
                    return None
                weight = [head.index(name) for name in WEIGHTS if name in head]
                return (*ends, *weight[:1])
    width = len(rows[0])
    if width not in (2, 3) or any(not layout.is_number(row[2]) for row in body if width == 3):
        return None
    left, right = ({row[k] for row in body} for k in (0, 1))
    if any(map(layout.is_number, left | right)) or not left & right:
        return None
    return tuple(range(width))


def are_pairs(data: Any) -> bool:
    """Whether two columns of numbers without names are edges: pairs of whole numbers 0 ... m or 1 ... m.

    Each pair is there once, none is of a number with itself, no number is left out, and some are on both
    sides. Features could be so by chance, but hardly are.
    """
    if data.shape[1] != 2 or len(data) < 3 or (data != np.floor(data)).any() or (data < 0).any():
        return False
    numbers = np.unique(data)
    without_holes = numbers[0] in (0, 1) and numbers[-1] - numbers[0] + 1 == numbers.size
    once = len(np.unique(data, axis=0)) == len(data) and (data[:, 0] != data[:, 1]).all()
    return bool(without_holes and once and np.intersect1d(data[:, 0], data[:, 1]).size)


def _is_name(cell: str, layout: Layout) -> bool:
    """Whether a cell may name a node: text, or a whole number."""
    return bool(cell) and (not layout.is_number(cell) or cell.lstrip("+-").isdigit())


def without_comments(lines: list[str]) -> tuple[list[int], str]:
    """The numbers of the lines below the comments at the top that say something, and the last comment."""
    above = 0
    while above < min(len(lines), MOST_COMMENTS) and _is_comment(lines[above]):
        above += 1
    said = [text for line in lines[:above] if (text := line.strip().lstrip("#%").strip())]
    return [k for k in range(above, len(lines)) if lines[k].strip()], said[-1] if said else ""


def _is_comment(line: str) -> bool:
    return not line.strip() or line.strip().startswith(("#", "%"))


def promises_edges(comments: Sequence[str]) -> bool:
    """Whether comments at the top speak of nodes and edges, as those of collections of networks do."""
    words = " ".join(comments[:20]).lower()
    return "edge" in words or "fromnodeid" in words
