"""Data from files and results to files. No reader ever unpickles; every fault is one sentence.

A reader returns a :class:`Table`: features or a matrix of pairs, with the names of the objects and the
classes where the file has them. A writer writes beside the file and renames: nothing is left half written.
"""

from dominantsets.app.files._common import FileError, Table
from dominantsets.app.files.pictures import read_picture, read_strokes
from dominantsets.app.files.reading import FORMATS, check_readable, read
from dominantsets.app.files.writing import check_writable, replacing, write_labels, write_text

__all__ = [
    "FORMATS",
    "FileError",
    "Table",
    "check_readable",
    "check_writable",
    "read",
    "read_picture",
    "read_strokes",
    "replacing",
    "write_labels",
    "write_text",
]
