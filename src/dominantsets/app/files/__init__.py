"""Data from files and results to files. No reader ever unpickles; every fault is one sentence.

A reader returns a :class:`Table`: features or a matrix of pairs, with the names of the objects and the
classes where the file has them. A writer writes beside the file and renames: nothing is left half written.
"""

from dominantsets.app.files._common import FileError, Table
from dominantsets.app.files.pictures import LABEL_MAPS, read_picture, read_strokes, write_label_map
from dominantsets.app.files.reading import FORMATS, check_readable, read, read_like
from dominantsets.app.files.records import read_records, write_records
from dominantsets.app.files.tables import listed
from dominantsets.app.files.writing import (
    GRAPHS,
    check_writable,
    replacing,
    write_columns,
    write_labels,
    write_text,
    writer_of,
)

__all__ = [
    "FORMATS",
    "GRAPHS",
    "LABEL_MAPS",
    "FileError",
    "Table",
    "check_readable",
    "check_writable",
    "listed",
    "read",
    "read_like",
    "read_picture",
    "read_records",
    "read_strokes",
    "replacing",
    "write_columns",
    "write_label_map",
    "write_labels",
    "write_records",
    "write_text",
    "writer_of",
]
