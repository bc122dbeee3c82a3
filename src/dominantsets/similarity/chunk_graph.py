"""A graph with rows in chunks: the rows that a cluster touches are fetched, all others stay.

The payoffs of a point are sums of the rows of its members, because the graph is symmetric; so a solver needs
the rows of the objects it looks at and nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.rows.base import Block, Rows
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.dense import SYMMETRY_TOLERANCE
from dominantsets.similarity.graph import GraphSurvey, check_graph, not_symmetric, require_similar

KEPT_EDGES = 2**24  # edges of fetched rows that are kept (256 MB)


class _Survey(NamedTuple):
    not_finite: int
    least: float
    most: float
    n_edges: int
    n_self: int
    apart: float  # zero, to rounding, where every edge has its opposite


def _survey(block: Block, n: int) -> _Survey:
    A = block.data
    rows = block.begin + np.repeat(np.arange(block.size), np.diff(A.indptr))
    cols, data = A.indices.astype(np.int64), A.data.astype(np.float64)
    n_self = int(np.count_nonzero(data[rows == cols]))
    bad = int(np.count_nonzero(~np.isfinite(data)))
    data = np.where(np.isfinite(data), data, 0.0)
    signs = np.sign(rows - cols) * _chance(np.minimum(rows, cols), np.maximum(rows, cols))
    return _Survey(
        bad, float(data.min(initial=0.0)), float(data.max(initial=0.0)), data.size, n_self,
        float(data @ signs),
    )  # fmt: skip


def _chance(i: Ints, j: Ints) -> Floats:
    """A number between 0.5 and 1.5 for each pair, the same everywhere, without a pattern."""
    with np.errstate(over="ignore"):
        mixed = i.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ j.astype(np.uint64)
        for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return 0.5 + (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53


def _degrees(block: Block) -> Floats:
    A = block.data
    out = np.asarray(A.sum(axis=1, dtype=np.float64)).ravel()
    return out - np.asarray(A.diagonal(block.begin), dtype=np.float64)[: block.size]


class _Slice(NamedTuple):
    """Rows of a graph, one after another: how many edges each has, their ends and weights."""

    sizes: Ints
    ends: Ints
    weights: Floats


def _rows_at(block: Block, objects: Ints) -> _Slice:
    chosen = block.data[block.places(objects)]
    rows = np.repeat(objects, np.diff(chosen.indptr))
    other = chosen.indices != rows  # an object is not its own neighbour
    sizes = np.bincount(np.searchsorted(objects, rows[other]), minlength=objects.size)
    return _Slice(sizes, chosen.indices[other].astype(np.int64), chosen.data[other].astype(np.float64))


def _gradient(block: Block, objects: Ints, weights: Floats) -> Floats:
    A = block.data
    places = np.searchsorted(objects, A.indices)
    places[places == objects.size] = 0
    rows = np.repeat(np.arange(block.size), np.diff(A.indptr))
    hit = (objects[places] == A.indices) & (A.indices != block.begin + rows)
    return np.bincount(rows[hit], weights[places[hit]] * A.data[hit], block.size).astype(np.float64)


class ChunkGraph(Similarity):
    """A weighted graph as rows in chunks, see :class:`Graph`.

    The row sums come here, eight bytes per object: the next start is the object with the largest.
    """

    rows: Rows
    is_sparse = True
    structure = "graph"
    costs_all_pairs = False

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.n = self.n_features = rows.n
        looks: list[_Survey] = rows.ask(_survey, self.n)
        _check(looks, self.n)
        self._largest = max(look.most for look in looks)
        self._known: dict[int, tuple[Ints, Floats]] = {}
        self._n_known = 0

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_known": {}, "_n_known": 0}

    def solver(self, algorithm: str, shift: float, start: Any) -> str:
        return self.rows.solver(algorithm, "working-set")

    def fingerprint(self) -> str:
        return self.rows.fingerprint()

    def rows_at(self, objects: Ints) -> list[tuple[Ints, Floats]]:
        """Ends and weights of the edges of objects; one round for those that are not known."""
        missing = np.array([i for i in objects.tolist() if i not in self._known], dtype=np.int64)
        if missing.size:
            if self._n_known > KEPT_EDGES:
                self._known.clear()
                self._n_known, missing = 0, np.asarray(objects)
            missing = np.unique(missing)
            parts = self.rows.split(missing)
            which = [k for k, (part,) in enumerate(parts) if len(part)]
            for k, found in zip(which, self.rows.ask(_rows_at, each=parts, which=which), strict=True):
                cuts = np.cumsum(found.sizes)[:-1]
                rows = zip(np.split(found.ends, cuts), np.split(found.weights, cuts), strict=True)
                self._known.update(zip(parts[k][0].tolist(), rows, strict=True))
                self._n_known += found.ends.size
        return [self._known[i] for i in objects.tolist()]

    def sparse_gradient(self, support: Ints, weights: Floats) -> tuple[Ints, Floats]:
        rows = self.rows_at(np.asarray(support))
        ends = np.concatenate([support, *(ends for ends, _ in rows)])
        parts = [w * data for w, (_, data) in zip(weights.tolist(), rows, strict=True)]
        objects, places = np.unique(ends, return_inverse=True)
        values = np.bincount(places, np.concatenate([np.zeros(len(support)), *parts]), objects.size)
        return objects, values.astype(np.float64)

    def block(self, rows: Ints, cols: Ints) -> Floats:
        cols = np.asarray(cols)
        order = np.argsort(cols, kind="stable")
        out = np.zeros((len(rows), cols.size))
        for k, (ends, data) in enumerate(self.rows_at(np.asarray(rows))):
            places = np.searchsorted(cols[order], ends)
            places[places == cols.size] = 0
            hit = cols[order][places] == ends
            out[k, order[places[hit]]] = data[hit]
        return out

    def largest(self) -> float:
        return self._largest

    def column(self, i: int) -> Floats:
        out = np.zeros(self.n)
        ends, data = self.rows_at(np.array([i]))[0]
        out[ends] = data
        return out

    def cross(self, new: Any, cols: Ints) -> Floats:
        new = new[:, cols]
        return np.asarray(new.toarray() if hasattr(new, "toarray") else new, dtype=np.float64)

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        order = np.argsort(support, kind="stable")
        common = np.asarray(support)[order], np.asarray(weights)[order]
        return np.concatenate(self.rows.ask(_gradient, *common))

    def degrees(self, random_state: Any = 0) -> Floats:
        return np.concatenate(self.rows.ask(_degrees))


def _check(looks: list[_Survey], n: int) -> None:
    """The checks of :class:`Graph`; whether it is symmetric by a sum in which opposite edges cancel."""
    not_finite, n_self = (
        sum(column) for column in ([k.not_finite for k in looks], [k.n_self for k in looks])
    )
    check_graph(GraphSurvey(n, not_finite, min(look.least for look in looks), n_self))
    most = max(look.most for look in looks)
    apart, n_edges = abs(sum(look.apart for look in looks)), sum(look.n_edges for look in looks)
    if apart > SYMMETRY_TOLERANCE[np.dtype(np.float32)] * most * np.sqrt(max(1, n_edges)):
        raise not_symmetric(f"about {apart:.6g} in all")
    require_similar(n, most)
