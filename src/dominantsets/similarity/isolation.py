"""How isolated objects are: the distance to the 5th nearest other object.

Affinities of groups of any shape search for neighbors anyway, and have their isolation among the rows of
features. For all others it is measured among a sample of 2,000 objects, which ranks outliers as well
(Sugiyama and Borgwardt, Rapid distance-based outlier detection via sampling, NIPS 2013).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple, Protocol

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import row_blocks
from dominantsets.rows.base import Detached
from dominantsets.rows.foreign import is_tensor
from dominantsets.similarity.arrivals import arrivals_of, detached
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.diffusion import Diffusion
from dominantsets.similarity.embedding import EmbeddingBalls, EmbeddingPath
from dominantsets.similarity.located import located
from dominantsets.similarity.neighbors import Neighbors
from dominantsets.similarity.path import REACH, Path
from dominantsets.similarity.search import Search

SAMPLE = 2_000  # objects among which isolation is measured where there is no search for neighbors


class Isolation(Protocol):
    """How far objects are from others."""

    @property
    def rows(self) -> Any:
        """The features; None if there are none."""

    def of_objects(self) -> Floats:
        """The isolation of each object."""

    def of_new(self, new: Any) -> Floats:
        """That of new objects; a copy of an object is no other one."""


class RowIsolation(NamedTuple):
    """Distances to the 5th nearest other object, in the space of the features.

    Parameters
    ----------
    search : Search
        The search for neighbors among the objects.
    prepared : callable
        Makes of new rows of features what the search takes.
    """

    search: Search
    prepared: Callable[[Any], Any]

    @property
    def rows(self) -> Any:
        """The features."""
        return self.search.rows

    def of_objects(self) -> Floats:
        """The distance of each object."""
        return self._column(None, REACH - 1)

    def of_new(self, new: Any) -> Floats:
        """The distances of new objects: to the 6th nearest, because a copy of an object is no other one."""
        return self._column(self.prepared(new), REACH)

    def of_places(self, places: Floats) -> Floats:
        """The distances of places where there need not be an object: to the 5th nearest."""
        return self._column(places, REACH - 1)

    def neighbors(self, new: Any = None) -> Ints:
        """The five nearest other objects of each object, or of new ones; a copy is no other one."""
        if new is None:
            return self.search.kneighbors()[1][:, :REACH]
        distances, nearest = self.search.kneighbors(self.prepared(new))
        copies = np.flatnonzero(distances[:, 0] == 0.0)
        nearest[copies, :-1] = nearest[copies, 1:]
        return nearest[:, :REACH]

    def _column(self, rows: Any, column: int) -> Floats:
        distances = self.search.kneighbors(rows)[0]
        return np.asarray(distances[:, min(column, distances.shape[1] - 1)])


class TreeIsolation(NamedTuple):
    """Heights at which objects join a tree of given distances; of a new one, its nearest distance."""

    tree: Path
    rows: None = None

    def of_objects(self) -> Floats:
        """The height at which each object is joined to another one."""
        return self.tree.tree.first_heights()

    def of_new(self, new: Any) -> Floats:
        """The distance of new objects to the nearest one."""
        return self.tree.nearest_object(new)[0]


class SampleIsolation(NamedTuple):
    """Distances to the 5th nearest other object of a sample, in the space of a similarity.

    The distance of two objects is the square root of what their similarity is below the mean of their
    similarities to copies of themselves: for sqeuclidean it is the distance of the rows.
    """

    of: Similarity
    rows: None = None

    def of_objects(self) -> Floats:
        """The distance of each object."""
        n, sample = self.of.n, self._sample()
        own, out = self.of.self_similarities(np.arange(n)), np.zeros(n)
        for part in row_blocks(n, 8 * sample.size):
            rows = np.arange(n)[part]
            squares = 0.5 * np.add.outer(own[rows], own[sample]) - self.of.block(rows, sample)
            squares[np.equal.outer(rows, sample)] = np.inf
            out[part] = _fifth(squares)
        return out

    def of_new(self, new: Any) -> Floats:
        """The distances of new objects; a copy of an object is no other one."""
        sample, arrivals = self._sample(), arrivals_of(self.of)
        own, mine = self.of.self_similarities(sample), arrivals.self_similarities(new)
        out = np.zeros(new.shape[0])
        copy = 10.0 * max(bounds_of(self.of).rounding, float(np.spacing(np.abs(own).max())))
        for part in row_blocks(new.shape[0], 8 * sample.size):
            squares = 0.5 * np.add.outer(mine[part], own) - self.of.cross(new[part], sample)
            nearest = (np.arange(len(squares)), squares.argmin(axis=1))
            squares[nearest] = np.where(squares[nearest] <= copy, np.inf, squares[nearest])
            out[part] = _fifth(squares)
        return out

    def _sample(self) -> Ints:
        return located(self.of).spread(0)(SAMPLE)


def _fifth(squares: Floats) -> Floats:
    """The root of the 5th smallest number of each row, or of the largest finite one of fewer; 0 of none."""
    column = min(REACH, squares.shape[1]) - 1
    found = np.partition(squares, column, axis=1)[:, : column + 1]
    largest = np.where(np.isfinite(found), found, 0.0).max(axis=1)
    return np.asarray(np.sqrt(np.maximum(largest, 0.0)))


def any_isolation_of(similarity: Similarity) -> Isolation | None:
    """The isolation of the objects of any similarity; None of a graph, which has no distances."""
    if similarity.self_similarity is None:
        return isolation_of(similarity)
    return isolation_of(similarity) or SampleIsolation(similarity)


def holds_rows(similarity: Similarity) -> bool:
    """Whether a saved model holds the objects that were fitted."""
    light = detached(similarity)
    return isolation_of(light) is not None or not isinstance(getattr(light, "rows", None), Detached)


@singledispatch
def isolation_of(similarity: Similarity) -> Isolation | None:
    """The isolation of the objects of a similarity; None if it keeps neither rows nor a tree."""
    return None


def _as_array(new: Any) -> Any:
    return new if is_tensor(new) else np.asarray(new)


@singledispatch
def nearby(similarity: Similarity, device: str | None) -> Search | None:
    """The search through which new rows on a kind of device find their places there; None if there is none.

    For None it is that of any device. Rows that are directions are compared on the host, where those of the
    objects got their length 1.
    """
    return None


@nearby.register
def _near_path(similarity: Path, device: str | None) -> Search | None:
    return _there(similarity.search, device)


@nearby.register(EmbeddingPath)
@nearby.register(EmbeddingBalls)
def _near_embedding(similarity: EmbeddingPath | EmbeddingBalls, device: str | None) -> Search | None:
    return None if similarity.places.directions else _there(similarity.places.search, device)


@nearby.register
def _near_diffusion(similarity: Diffusion, device: str | None) -> Search | None:
    return None if similarity.directions else _there(similarity.graph.search, device)


def _there(search: Search | None, device: str | None) -> Search | None:
    return search if search is not None and search.may_be_there(device) else None


@isolation_of.register
def _of_path(similarity: Path) -> Isolation:
    search = similarity.search
    return (
        TreeIsolation(similarity) if search is None or similarity.n < 2 else RowIsolation(search, _as_array)
    )


@isolation_of.register(EmbeddingPath)
@isolation_of.register(EmbeddingBalls)
def _of_embedding(similarity: EmbeddingPath | EmbeddingBalls) -> Isolation | None:
    places = similarity.places
    return RowIsolation(places.search, places.prepared) if similarity.n > 1 else None


@isolation_of.register
def _of_diffusion(similarity: Diffusion) -> Isolation | None:
    return RowIsolation(similarity.graph.search, similarity.prepared) if similarity.n > 1 else None


@isolation_of.register
def _of_neighbors(similarity: Neighbors) -> Isolation | None:
    return RowIsolation(similarity.search, lambda new: new) if similarity.n > 1 else None
