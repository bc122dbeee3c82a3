"""What certificates ask of a similarity besides payoffs: units, rounding, and how far apart objects are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.faces import EPS


@dataclass
class Bounds:
    """Units and bounds of rounding of a similarity: for certificates, and where 0 is compared with."""

    of: Similarity

    @property
    def rounding(self) -> float:
        """What may be left of a similarity of 0: nothing, unless it is a difference from an offset."""
        return (
            0.0
            if self.of.offset is None or self.of.self_similarity is None
            else 1e-13 * self.of.self_similarity
        )

    @property
    def level(self) -> float:
        """What kappa adds to the shift: the self-similarity, or the largest similarity there is."""
        return self.of.largest() if self.of.self_similarity is None else self.of.self_similarity

    @property
    def magnitude(self) -> float:
        """The largest number that payoffs are sums of, as far as it is known without a look at all pairs."""
        return self.level

    @property
    def terms(self) -> int:
        """How many products make one similarity; 0 where similarities are given."""
        return 0

    def kappa_of(self, objects: Ints, shift: Any) -> Floats:
        """The shift plus the similarity of objects to copies of themselves (to anything, where unknown).

        One number where all share it.
        """
        return np.atleast_1d(self.level + shift)

    def rounding_of(self, m: int) -> float:
        """How far a weighted mean of m similarities may be off: the one bound that certificates use.

        A sum of m terms, in any order, is off by at most m eps / 2 of the sum of their sizes; a similarity
        made of products is a sum, too. A factor 4 covers intermediate numbers (squares of lengths).
        """
        return 2.0 * (m + self.terms + 16.0) * EPS * self.magnitude

    @property
    def encloses(self) -> bool:
        """Whether ``rounding_of`` bounds every error, as it does for similarities that are given."""
        return self.of.stored is not None or self.of.is_sparse

    def extents(self, radius: float | None, margin: float) -> tuple[float, float] | None:
        """Bounds of distances between rows: of members, and of an outsider at the margin from these.

        None where similarities are no products of rows.
        """
        return None

    def ball(self, support: Ints, weights: Floats, f: float) -> tuple[Floats, float] | None:
        """Center and radius of the objects that have a payoff above f, where they are a ball."""
        return None


@singledispatch
def bounds_of(similarity: Similarity) -> Bounds:
    """The bounds of a similarity; a kind with sharper ones registers them here."""
    return Bounds(similarity)
