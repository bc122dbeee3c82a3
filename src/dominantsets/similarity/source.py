"""Where the data of a similarity are, and similarities of feature rows, wherever these are."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from numpy.typing import NDArray

from dominantsets._typing import Floats, Ints
from dominantsets.rows.base import Recipe, Rows
from dominantsets.similarity.base import Similarity, evenly
from dominantsets.similarity.bounds import Bounds, bounds_of


def as_given(similarity: Similarity, per_object: NDArray[Any], chunks: tuple[int, ...] | None = None) -> Any:
    """An array with an entry for each object, as the caller's own data are kept: attributes of estimators.

    ``chunks`` are those of a Dask array, where the similarity is one of rows that came from there.
    """
    if chunks is not None:
        from dominantsets.rows.chunks import in_chunks  # only where there is Dask

        return in_chunks(per_object, chunks)
    return per_object if similarity.rows is None else similarity.rows.as_given(per_object)


def device_of(similarity: Similarity) -> Any:
    """Where the features are, if they are tensors; else None. New objects have to be there too."""
    return None if similarity.rows is None else similarity.rows.device


@singledispatch
def release(similarity: Similarity) -> None:
    """Let go of what was kept for the run that is over; it is made again where it is needed again."""


@singledispatch
def describable(similarity: Similarity) -> int:
    """Of how many objects ``describe`` may be asked."""
    return 2**62


@singledispatch
def describe(similarity: Similarity, objects: Ints) -> Any:
    """Rows that tell objects apart, for a DPP: their features, or their similarities to 64 of them."""
    return similarity.block(objects, evenly(objects, 64))


class OfRows(Similarity):
    """What low-rank formulas and kernels share."""

    rows: Rows
    recipe: Recipe
    taken_by = "take"  # the operation that gives rows as the formula sees them

    @property
    def formula(self) -> Any:
        """What makes similarities of rows."""
        return self.recipe.formula

    def rows_of(self, objects: Ints) -> Floats:
        """The rows of chosen objects, as the formula sees them."""
        return self.rows.fetch(objects, self.taken_by, self.recipe)

    def __repr__(self) -> str:
        name = getattr(self.formula, "name", "a function")
        return f"{type(self).__name__}({name}, {self.n:,} objects, {self.n_features:,} features)"

    def fingerprint(self) -> str:
        return f"{self.formula} {self.rows.fingerprint()}"


class RowBounds(Bounds):
    """Similarities that are sums over the columns of rows."""

    of: OfRows

    @property
    def terms(self) -> int:
        return self.of.rows.d

    @property
    def encloses(self) -> bool:
        return False  # exponentials and roots have errors of their own


bounds_of.register(OfRows, RowBounds)


@describable.register(OfRows)
def _describable(similarity: OfRows) -> int:
    return similarity.rows.describable


@describe.register(OfRows)
def _describe(similarity: OfRows, objects: Ints) -> Any:
    if not similarity.rows.describes(objects.size):
        return describe.dispatch(Similarity)(similarity, objects)
    return similarity.rows.described(similarity.recipe, objects, similarity.taken_by)
