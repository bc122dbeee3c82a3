"""Similarities of feature rows, wherever they are."""

from __future__ import annotations

from typing import Any

from dominantsets._typing import Floats, Ints
from dominantsets.rows.base import Recipe, Rows
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.bounds import Bounds, bounds_of
from dominantsets.similarity.source import describable, describe


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


bounds_of.register(OfRows, RowBounds)


@describable.register(OfRows)
def _describable(similarity: OfRows) -> int:
    return similarity.rows.describable


@describe.register(OfRows)
def _describe(similarity: OfRows, objects: Ints) -> Any:
    if not similarity.rows.describes(objects.size):
        return describe.dispatch(Similarity)(similarity, objects)
    return similarity.rows.described(similarity.recipe, objects, similarity.taken_by)
