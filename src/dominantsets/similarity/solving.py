"""How the problem of a similarity is posed: for special solvers, and for objects that occur several times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.faces import negative_definite_on_face

SMALL = 200  # objects up to which a matrix is factorised only to see whether there is but one maximum


@dataclass
class Solving:
    """How a similarity is solved: for ``make_problem``, and for solvers that take some kinds only.

    ``all_sets_by`` says how all dominant sets are found with proof: "tree", "boxes" or "" (not at all).
    """

    of: Similarity

    @property
    def all_sets_by(self) -> str:
        return ""

    def posed(self, shift: float) -> tuple[str, Similarity]:
        """Which problem ``make_problem`` makes, and of what: itself, or a copy where that is more use."""
        return "memory", self.of

    def require_dual(self) -> Any:
        """The similarity, if it has the low-rank structure that the dual needs."""
        raise ValueError(
            "algorithm='dual' needs features with affinity 'sqeuclidean', 'cosine' or 'linear', got a "
            f"{type(self.of).__name__} similarity, whose columns are not a low-rank product."
        )

    def require_path(self) -> Any:
        """The similarity, if it has the single-linkage tree that the exact solver needs."""
        raise ValueError(
            "algorithm='exact' needs a path-based similarity, which has a single-linkage tree; pass "
            "affinity='path', or leave algorithm at 'auto'."
        )

    def concave(self, shift: float) -> bool:
        """Whether f is known to be strictly concave on the whole simplex: it then has one maximum."""
        if self.of.n > SMALL or self.of.components is not None:
            return False
        every = np.arange(self.of.n)
        A = self.of.block(every, every)
        A[np.diag_indices_from(A)] = -shift
        return negative_definite_on_face(A, bounds_of(self.of).rounding_of(1))


@singledispatch
def solving_of(similarity: Similarity) -> Solving:
    """How a similarity is solved; a kind with a way of its own registers it here."""
    return Solving(similarity)


class Folded(NamedTuple):
    """The different objects of a similarity, how often each is there, and which of them each object is."""

    similarity: Similarity
    counts: Floats
    places: Ints


@singledispatch
def fold(similarity: Similarity) -> Folded | None:
    """The different objects, where many are there several times and fewer are cheaper; else None.

    For ``solve`` and ``peel``, which solve with the weights instead.
    """
    return None


@singledispatch
def alike_to_copies(similarity: Similarity, objects: Ints) -> Floats:
    """What the copies for which objects with weights stand have in common; problems with weights ask."""
    return similarity.self_similarities(objects)
