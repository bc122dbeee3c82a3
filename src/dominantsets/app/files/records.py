"""Tables of text: their records are compared and written as they are."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dominantsets.app.files._common import FileError, text_of
from dominantsets.app.files.reading import check_readable, source_of
from dominantsets.app.files.tables import places_of
from dominantsets.app.files.writing import fill_file


@dataclass(frozen=True)
class Records:
    """The records of a table, and the names of its columns."""

    names: list[str]
    cells: list[list[str]]

    def texts(self, columns: Sequence[str]) -> list[str]:
        """The text of each record in some columns, given by name or by number from 1."""
        places = [k for name in columns for k in places_of(name, self.names)]
        return [" ".join(row[k] for k in places) for row in self.cells]


def read_records(path: str) -> Records:
    """The records of a CSV or TSV file (or of "-", standard input) whose first line names the columns."""
    name = "standard input" if path == "-" else path
    if path != "-":
        check_readable(Path(path))
    try:
        text = text_of(source_of(path))
        head = text.split("\n", 1)[0]
        separator = max(",;\t", key=head.count)  # the first of them where there is none
        csv.field_size_limit(2**30)
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if any(row)]
        for k, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise FileError(f"record {k} has {len(row)} cells, the line of names {len(rows[0])}.")
        if len(rows) < 2:
            raise FileError("there is a line of names and no record below it.")
    except (FileError, csv.Error) as error:
        raise FileError(f"{name}: {error}") from error
    return Records(rows[0], rows[1:])


def write_records(path: str, records: Records, chosen: Any) -> None:
    """Some of the records, as CSV ("-": to standard output) or TSV."""
    separator = "\t" if Path(path).suffix.lower() in (".tsv", ".tab") else ","

    def rows(stream: Any) -> None:
        writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
        writer.writerow(records.names)
        writer.writerows(records.cells[i] for i in chosen)

    if path == "-":
        rows(sys.stdout)
    else:
        fill_file(path, "", rows)
