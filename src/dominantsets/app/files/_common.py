"""What all readers share."""

from __future__ import annotations

import codecs
import contextlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LATIN_SIGNS = "€§°²³µ–’„“”ß\xa0"  # what is no letter and yet in names of columns


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
    names : list of str or None
        The names of the features.
    notes : tuple of str
        What the reader made of the file that another might have made otherwise.
    network : networkx graph or None
        The graph with all that the file says of it.
    weights : ndarray or None
        For how many objects each one stands.
    """

    data: Any
    graph: bool = False
    ids: list[str] | None = None
    classes: Any = None
    names: list[str] | None = None
    notes: tuple[str, ...] = ()
    network: Any = None
    weights: Any = None


def text_of(source: Any) -> str:
    """The text of a file."""
    return decoded(source)[0]


def decoded(source: Any) -> tuple[str, str]:
    """The text of a file, and what it is written in: UTF-8, UTF-16 with its mark, or as Windows writes."""
    raw = source.read() if isinstance(source, io.BytesIO) else Path(source).read_bytes()
    if not raw.strip():
        raise FileError("the file is empty.")
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        with contextlib.suppress(UnicodeDecodeError):
            return raw.decode("utf-16"), "UTF-16"
    if b"\0" in raw[:4096]:
        raise FileError("this is not a text file (it has zero bytes); say --format if the ending misleads.")
    try:
        return str(raw.decode("utf-8-sig")), "UTF-8"
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        with contextlib.suppress(UnicodeDecodeError):
            text = raw.decode("cp1252")
            if all(c.isalpha() or c in LATIN_SIGNS for c in text if not c.isascii()):
                return text, "Windows-1252"
        raise FileError(f"line {line} is not UTF-8 text; save it as UTF-8.") from error


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def first_line(error: BaseException) -> str:
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if "pickle" in line.lower():
        return "it holds Python objects, which are never loaded, or something else"
    return line if len(line) <= 120 else line[:117] + "..."
