"""Graphs: edge lists, GraphML and GEXF."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from xml.parsers.expat import ParserCreate

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import missing_extra
from dominantsets.app.files._common import FileError, Table, first_line, is_number, text_of
from dominantsets.app.files.sniffing import ENDS


def read_edges(source: Any) -> Table:
    """Lines of two names and, where there is one, a weight; separated by tabs, commas or spaces."""
    lines = enumerate(text_of(source).splitlines(), start=1)
    told = ((k, line) for k, line in lines if line.strip() and not line.lstrip().startswith(("#", "%")))
    return graph_of_edges((k, line.replace("\t", " ").replace(",", " ").split()) for k, line in told)


def graph_of_edges(edges: Iterable[tuple[int, list[str]]], plain: Callable[[str], str] = str) -> Table:
    """The graph of numbered lines, each with the cells of an edge; the first may name the columns."""
    index: dict[str, int] = {}
    ends: list[tuple[int, int]] = []
    weights: list[float] = []
    for number, cells in edges:
        if len(cells) not in (2, 3):
            raise FileError(f"line {number} has {len(cells)} columns; an edge is two names and a weight.")
        weight = plain(cells[2]) if len(cells) == 3 else "1"
        if not ends and (not is_number(weight) or (cells[0].lower(), cells[1].lower()) in ENDS):
            continue  # a line of names
        if not is_number(weight):
            raise FileError(f"line {number} has the weight {weight[:30]!r}, which is not a number.")
        pair = [index.setdefault(name, len(index)) for name in cells[:2]]
        ends.append((pair[0], pair[1]))
        weights.append(float(weight))
    return _graph(ends, weights, list(index))


def read_graphml(source: Any) -> Table:
    """A GraphML file."""
    return _network(source, "GraphML", "read_graphml")


def read_gexf(source: Any) -> Table:
    """A GEXF file, as Gephi writes it."""
    return _network(source, "GEXF", "read_gexf")


def _network(source: Any, kind: str, reader: str) -> Table:
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise FileError(str(missing_extra(f"{kind} files need", "io", "networkx"))) from error
    try:
        _no_entities(source)
        network = getattr(nx, reader)(source)
        graph = nx.Graph(network)
        edges = [(str(u), str(v), float(w)) for u, v, w in graph.edges(data="weight", default=1.0)]
    except (FileError, MemoryError, PermissionError):
        raise
    except Exception as error:  # XML errors, networkx's and those of odd attribute types
        raise FileError(f"this is not a whole {kind} file ({first_line(error)}).") from error
    index = {str(node): k for k, node in enumerate(graph.nodes)}
    ends, weights = [(index[u], index[v]) for u, v, _ in edges], [w for _, _, w in edges]
    return _graph(ends, weights, list(index), network)


def _no_entities(source: Any) -> None:
    """Refuse a document type: its entities may name files, or each other until memory is full."""

    def refuse(*_: Any) -> None:
        raise FileError("it has a document type, which may define entities; delete the line <!DOCTYPE ...>.")

    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    raw = source.getvalue() if isinstance(source, io.BytesIO) else Path(source).read_bytes()
    parser.Parse(raw, True)


def _graph(ends: list[tuple[int, int]], weights: list[float], names: list[str], network: Any = None) -> Table:
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
    return Table(sp.csr_array(upper + upper.T), graph=True, ids=names, network=network)
