"""Graphs: edge lists and GraphML."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from xml.parsers.expat import ParserCreate

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import missing_extra
from dominantsets.app.files._common import FileError, Table, first_line, is_number, text_of


def read_edges(source: Any) -> Table:
    """Lines of two names and, where there is one, a weight; separated by tabs, commas or spaces."""
    index: dict[str, int] = {}
    ends: list[tuple[int, int]] = []
    weights: list[float] = []
    for number, line in enumerate(text_of(source).splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "%")):
            continue
        cells = line.replace("\t", " ").replace(",", " ").split()
        if len(cells) not in (2, 3):
            raise FileError(f"line {number} has {len(cells)} columns; an edge is two names and a weight.")
        weight = cells[2] if len(cells) == 3 else "1"
        if not is_number(weight):
            if not ends:  # a line of names
                continue
            raise FileError(f"line {number} has the weight {weight[:30]!r}, which is not a number.")
        pair = [index.setdefault(name, len(index)) for name in cells[:2]]
        ends.append((pair[0], pair[1]))
        weights.append(float(weight))
    return _graph(ends, weights, list(index))


def read_graphml(source: Any) -> Table:
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise FileError(str(missing_extra("GraphML files need", "io", "networkx"))) from error
    try:
        _no_entities(source)
        graph = nx.Graph(nx.read_graphml(source))
        edges = [(str(u), str(v), float(w)) for u, v, w in graph.edges(data="weight", default=1.0)]
    except (FileError, MemoryError, PermissionError):
        raise
    except Exception as error:  # XML errors, networkx's and those of odd attribute types
        raise FileError(f"this is not a whole GraphML file ({first_line(error)}).") from error
    index = {str(node): k for k, node in enumerate(graph.nodes)}
    return _graph([(index[u], index[v]) for u, v, _ in edges], [w for _, _, w in edges], list(index))


def _no_entities(source: Any) -> None:
    """Refuse a document type: its entities may name files, or each other until memory is full."""

    def refuse(*_: Any) -> None:
        raise FileError("it has a document type, which may define entities; delete the line <!DOCTYPE ...>.")

    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    raw = source.getvalue() if isinstance(source, io.BytesIO) else Path(source).read_bytes()
    parser.Parse(raw, True)


def _graph(ends: list[tuple[int, int]], weights: list[float], names: list[str]) -> Table:
    """A symmetric matrix; an edge given twice, or in both directions, counts once, with its larger weight."""
    if not ends:
        raise FileError("there are no edges in it.")
    values = np.array(weights)
    if not np.isfinite(values).all():
        raise FileError("some weights are NaN or infinite; leave those edges out.")
    pairs = np.sort(np.array(ends, dtype=np.int64), axis=1)
    loops = pairs[:, 0] == pairs[:, 1]
    pairs, values = pairs[~loops], values[~loops]
    order = np.lexsort((values, pairs[:, 1], pairs[:, 0]))
    pairs, values = pairs[order], values[order]
    last = np.append(np.any(np.diff(pairs, axis=0) != 0, axis=1), True) if len(pairs) else np.zeros(0, bool)
    upper = sp.coo_array((values[last], pairs[last].T), shape=(len(names), len(names))).tocsr()
    return Table(sp.csr_array(upper + upper.T), graph=True, ids=names)
