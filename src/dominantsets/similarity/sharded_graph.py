"""A graph whose rows are in pieces: what a cluster touches is fetched, everything else stays.

The payoffs of a point are sums of the rows of its members, because the graph is symmetric; so a solver needs
the rows of the objects it looks at and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets._checks import warn
from dominantsets._typing import Floats, Ints
from dominantsets.rows.base import Piece, Pieces
from dominantsets.similarity.dense import SYMMETRY_TOLERANCE
from dominantsets.similarity.sharded import Sharded

KEPT_EDGES = 2**24  # edges of fetched rows that are kept (256 MB)


class _Survey(NamedTuple):
    not_finite: int
    least: float
    most: float
    n_edges: int
    n_self: int
    apart: float  # zero, to rounding, where every edge has its opposite


def _survey(piece: Piece, n: int) -> _Survey:
    A = piece.data
    rows = piece.begin + np.repeat(np.arange(piece.size), np.diff(A.indptr))
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


def _degrees(piece: Piece) -> Floats:
    A = piece.data
    out = np.asarray(A.sum(axis=1, dtype=np.float64)).ravel()
    return out - np.asarray(A.diagonal(piece.begin), dtype=np.float64)[: piece.size]


class _Slice(NamedTuple):
    """Rows of a graph, one after another: how many edges each has, their ends and weights."""

    sizes: Ints
    ends: Ints
    weights: Floats


def _rows_at(piece: Piece, objects: Ints) -> _Slice:
    chosen = piece.data[piece.places(objects)]
    rows = np.repeat(objects, np.diff(chosen.indptr))
    other = chosen.indices != rows  # an object is not its own neighbour
    sizes = np.bincount(np.searchsorted(objects, rows[other]), minlength=objects.size)
    return _Slice(sizes, chosen.indices[other].astype(np.int64), chosen.data[other].astype(np.float64))


def _gradient(piece: Piece, objects: Ints, weights: Floats) -> Floats:
    A = piece.data
    places = np.searchsorted(objects, A.indices)
    places[places == objects.size] = 0
    rows = np.repeat(np.arange(piece.size), np.diff(A.indptr))
    hit = (objects[places] == A.indices) & (A.indices != piece.begin + rows)
    return np.bincount(rows[hit], weights[places[hit]] * A.data[hit], piece.size).astype(np.float64)


class ShardedGraph(Sharded):
    """A weighted graph as rows in pieces, see :class:`Graph`.

    The row sums come here, eight bytes an object: the next start is the object with the largest.
    """

    is_sparse = True

    def __init__(self, pieces: Pieces, present: Callable[[NDArray[Any]], Any]) -> None:
        super().__init__(pieces, present)
        looks = pieces.ask(_survey, self.n)
        _check(looks, self.n)
        self._largest = max(look.most for look in looks)
        self._known: dict[int, tuple[Ints, Floats]] = {}
        self._n_known = 0

    def _rows(self, objects: Ints) -> list[tuple[Ints, Floats]]:
        """Ends and weights of the edges of objects; one round for those that are not known."""
        missing = np.array([i for i in objects.tolist() if i not in self._known], dtype=np.int64)
        if missing.size:
            if self._n_known > KEPT_EDGES:
                self._known.clear()
                self._n_known, missing = 0, np.asarray(objects)
            missing = np.unique(missing)
            parts = self.pieces.split(missing)
            which = [k for k, (part,) in enumerate(parts) if len(part)]
            for k, found in zip(which, self.pieces.ask(_rows_at, each=parts, which=which), strict=True):
                cuts = np.cumsum(found.sizes)[:-1]
                rows = zip(np.split(found.ends, cuts), np.split(found.weights, cuts), strict=True)
                self._known.update(zip(parts[k][0].tolist(), rows, strict=True))
                self._n_known += found.ends.size
        return [self._known[i] for i in objects.tolist()]

    def sparse_gradient(self, support: Ints, weights: Floats) -> tuple[Ints, Floats]:
        rows = self._rows(np.asarray(support))
        ends = np.concatenate([support, *(ends for ends, _ in rows)])
        parts = [w * data for w, (_, data) in zip(weights.tolist(), rows, strict=True)]
        objects, places = np.unique(ends, return_inverse=True)
        values = np.bincount(places, np.concatenate([np.zeros(len(support)), *parts]), objects.size)
        return objects, values.astype(np.float64)

    def block(self, rows: Ints, cols: Ints) -> Floats:
        cols = np.asarray(cols)
        order = np.argsort(cols, kind="stable")
        out = np.zeros((len(rows), cols.size))
        for k, (ends, data) in enumerate(self._rows(np.asarray(rows))):
            places = np.searchsorted(cols[order], ends)
            places[places == cols.size] = 0
            hit = cols[order][places] == ends
            out[k, order[places[hit]]] = data[hit]
        return out

    def largest(self) -> float:
        return self._largest

    def column(self, i: int) -> Floats:
        out = np.zeros(self.n)
        ends, data = self._rows(np.array([i]))[0]
        out[ends] = data
        return out

    def cross(self, new: Any, cols: Ints) -> Floats:
        new = new[:, cols]
        return np.asarray(new.toarray() if hasattr(new, "toarray") else new, dtype=np.float64)

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        order = np.argsort(support, kind="stable")
        common = np.asarray(support)[order], np.asarray(weights)[order]
        return np.concatenate(self.pieces.ask(_gradient, *common))

    def degrees(self, random_state: Any = 0) -> Floats:
        return np.concatenate(self.pieces.ask(_degrees))


def _check(looks: list[_Survey], n: int) -> None:
    """The checks of :class:`Graph`; whether it is symmetric by a sum in which opposite edges cancel."""
    bad = sum(look.not_finite for look in looks)
    if bad:
        raise ValueError(f"the graph has {bad} NaN or infinite weights; leave out edges that are not known.")
    least, most = min(look.least for look in looks), max(look.most for look in looks)
    if least < 0:
        raise ValueError(f"the graph has negative weights, down to {least:.6g}.")
    n_edges = sum(look.n_edges for look in looks)
    apart = abs(sum(look.apart for look in looks))
    tolerance = SYMMETRY_TOLERANCE[np.dtype(np.float32)]
    if apart > tolerance * most * np.sqrt(max(1, n_edges)):
        raise ValueError(
            f"the graph is not symmetric: weights of opposite edges differ by about {apart:.6g} in all; "
            "symmetrise it with (A + A.T) / 2 or A.maximum(A.T)."
        )
    if n > 1 and most == 0:
        raise ValueError("all similarities are zero, so there is nothing to cluster.")
    n_self = sum(look.n_self for look in looks)
    if n_self:
        warn(
            f"{n_self} of {n} diagonal entries of the graph are not zero; "
            "they are taken as zero (an object is not its own neighbour)."
        )
