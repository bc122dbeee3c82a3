"""Results to files, whole or not at all."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dominantsets import _replacing
from dominantsets._checks import missing_extra
from dominantsets.app.files._common import FileError


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file that takes the place of ``path`` when the block ends well; else a sentence."""
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{path}: this is a directory, not a file to write.")
    try:
        with _replacing.replacing(path) as draft:
            yield draft
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error}).") from error


def check_writable(path: str | Path, endings: tuple[str, ...], inputs: tuple[str, ...] = ()) -> None:
    """Refuse an output before any work: its folder, its ending, or that it is one of the inputs."""
    path = Path(path)
    if path.suffix.lower() not in endings:
        raise FileError(f"{path}: the ending must be {' or '.join(endings)}.")
    if path.is_dir():
        raise FileError(f"{path}: this is a directory, not a file to write.")
    if not path.parent.is_dir():
        raise FileError(f"{path}: cannot be written (there is no folder {path.parent}).")
    if any(Path(other).exists() and path.exists() and path.samefile(other) for other in inputs):
        raise FileError(f"{path}: is the input; write to another file.")


def write_text(path: str | Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")


def write_labels(path: str, ids: list[str] | None, labels: Any, probabilities: Any, exemplars: Any) -> None:
    """Labels with probabilities and exemplar flags as CSV ("-": to standard output), TSV or Parquet."""
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
            {"object": names, "label": labels, "probability": probabilities, "exemplar": flags.astype(bool)}
        )
        with replacing(path) as draft:
            frame.to_parquet(draft, index=False)
        return

    def fill(stream: Any) -> None:
        delimiter = "\t" if Path(path).suffix.lower() in (".tsv", ".tab") else ","
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        writer.writerow(["object", "label", "probability", "exemplar"])
        for name, label, weight, flag in zip(names, labels, probabilities, flags, strict=True):
            writer.writerow([name, int(label), f"{weight:.9g}", int(flag)])

    if path == "-":
        fill(sys.stdout)
        return
    with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as stream:
        fill(stream)
