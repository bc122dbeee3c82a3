"""Results to files, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import memory_explained, missing_extra
from dominantsets.app.files._common import FileError, Table
from dominantsets.clusters import replacing as whole_files

GRAPHS = (".graphml", ".gexf")


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[str]:
    """A temporary file that takes the place of ``path`` when the block ends well; else a sentence."""
    path = str(path)
    if os.path.isdir(path):
        raise FileError(f"{path}: this is a directory, not a file to write.")
    try:
        with (
            memory_explained(f"{path}: cannot be written: there is no memory for it."),
            whole_files.replacing(path) as draft,
        ):
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


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with replacing(path) as draft, open(draft, "wb") as stream:
        stream.write(content)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file whole or not at all."""
    fill_file(path, None, lambda stream: stream.write(text))


def fill_file(path: str | Path, newline: str | None, fill: Callable[[Any], Any]) -> None:
    # apart, because a block of a long function is not left where memory has run out (clusters/replacing.py)
    with replacing(path) as draft, open(draft, "w", encoding="utf-8", newline=newline) as stream:
        fill(stream)


def writer_of(path: str, table: Table) -> Callable[[Any, Any, Any], None]:
    """What writes labels, probabilities and exemplars to ``path``: a table, or the graph they are of.

    A graph as output is refused here, before any work, where the input is none.
    """
    if Path(path).suffix.lower() not in GRAPHS:
        return lambda labels, probabilities, exemplars: write_labels(
            path, table.ids, labels, probabilities, exemplars
        )
    if not (table.graph or sp.issparse(table.data)):
        raise FileError(f"{path}: a graph comes out where one goes in; write a table (.csv) instead.")
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise FileError(str(missing_extra("GraphML and GEXF files need", "io", "networkx"))) from error
    graph = table.network
    if graph is None:
        graph = nx.from_scipy_sparse_array(table.data)
        if table.ids is not None:
            graph = nx.relabel_nodes(graph, dict(enumerate(table.ids)))

    def write(labels: Any, probabilities: Any, exemplars: Any) -> None:
        flags = _flags(labels, exemplars)
        for node, label, probability, flag in zip(graph, labels, probabilities, flags, strict=True):
            # "label" is what programs show beside a node: its name
            graph.nodes[node].update(cluster=int(label), probability=float(probability), exemplar=bool(flag))
        with replacing(path) as draft:
            (nx.write_gexf if Path(path).suffix.lower() == ".gexf" else nx.write_graphml)(graph, draft)

    return write


def _flags(labels: Any, exemplars: Any) -> Any:
    flags = np.zeros(len(labels), dtype=np.int64)
    flags[exemplars] = 1
    return flags


def write_labels(path: str, ids: list[str] | None, labels: Any, probabilities: Any, exemplars: Any) -> None:
    """Labels with probabilities and exemplar flags as a table."""
    columns = {"label": labels, "probability": probabilities, "exemplar": _flags(labels, exemplars)}
    write_columns(path, ids, columns)


def write_columns(path: str, ids: list[str] | None, columns: dict[str, Any]) -> None:
    """Columns of names or numbers, as CSV ("-": to standard output), TSV or Parquet."""
    import csv

    count = len(next(iter(columns.values())))
    names = ids if ids is not None else list(range(count))
    suffix = Path(path).suffix.lower()
    if path != "-" and suffix == ".parquet":
        try:
            import pandas as pd
            import pyarrow  # noqa: F401 (pandas needs it, and would say so less clearly)
        except ModuleNotFoundError as error:
            raise FileError(str(missing_extra("Parquet files need", "io", "pyarrow"))) from error
        frame = pd.DataFrame({"object": names, **columns})
        with replacing(path) as draft:
            frame.to_parquet(draft, index=False)
        return

    def fill(stream: Any) -> None:
        writer = csv.writer(
            stream, delimiter="\t" if suffix in (".tsv", ".tab") else ",", lineterminator="\n"
        )
        writer.writerow(["object", *columns])
        for name, *cells in zip(names, *columns.values(), strict=True):
            writer.writerow([name, *(c if isinstance(c, str) else f"{c:.9g}" for c in cells)])

    if path == "-":
        fill(sys.stdout)
        return
    fill_file(path, "", fill)
