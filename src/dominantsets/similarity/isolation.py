"""How isolated objects are among rows of features: the distance to the 5th nearest other object."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple, Protocol

import numpy as np

from dominantsets._typing import Floats
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.diffusion import Diffusion
from dominantsets.similarity.embedding import EmbeddingBalls, EmbeddingPath
from dominantsets.similarity.path import REACH, Path
from dominantsets.similarity.search import Search


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


@singledispatch
def isolation_of(similarity: Similarity) -> Isolation | None:
    """The isolation of the objects of a similarity; None if it keeps neither rows nor a tree."""
    return None


@isolation_of.register
def _of_path(similarity: Path) -> Isolation:
    search = similarity.search
    return (
        TreeIsolation(similarity) if search is None or similarity.n < 2 else RowIsolation(search, np.asarray)
    )


@isolation_of.register(EmbeddingPath)
@isolation_of.register(EmbeddingBalls)
def _of_embedding(similarity: EmbeddingPath | EmbeddingBalls) -> Isolation | None:
    places = similarity.places
    return RowIsolation(places.search, places.prepared) if similarity.n > 1 else None


@isolation_of.register
def _of_diffusion(similarity: Diffusion) -> Isolation | None:
    return RowIsolation(similarity.graph.search, similarity.prepared) if similarity.n > 1 else None
