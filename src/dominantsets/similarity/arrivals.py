"""New objects: what ``predict`` and ``transform`` ask of a similarity, with or without its objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import row_blocks
from dominantsets.similarity.base import Similarity


class Support(NamedTuple):
    """Weights on some objects, as they are."""

    objects: Ints
    weights: Floats


@dataclass
class Arrivals:
    """Payoffs of new objects, from a summary of each cluster: for ``predict`` and ``transform``."""

    of: Similarity

    def arriving(self, new: Any) -> Any:
        """New objects as ``payoff_of`` takes them."""
        return new

    def self_similarities(self, new: Any) -> Floats:
        """The similarity of new objects to copies of themselves."""
        return self.of.self_similarities(np.arange(new.shape[0]))

    def summarise(self, support: Ints, weights: Floats) -> Any:
        """Weights on some objects, as little of them as new objects need."""
        return Support(support, weights)

    def summarise_each(self, clusters: Sequence[tuple[Ints, Floats]]) -> list[Any]:
        """The same of all clusters, each in its own similarity."""
        return [arrivals_of(self.of.for_cluster(k)).summarise(*one) for k, one in enumerate(clusters)]

    def payoff_of(self, new: Any, summary: Any) -> Floats:
        """The products of new objects' similarities with what was summarised."""
        out = np.empty(new.shape[0])
        for rows in row_blocks(new.shape[0], 8 * max(1, summary.objects.size)):
            out[rows] = self.of.cross(new[rows], summary.objects) @ summary.weights
        return out

    def payoffs_in(self, part: Any, objects: Ints, support: Ints, weights: Floats) -> Floats:
        """Payoffs of objects outside the support; ``part`` is what ``Similarity.part`` made of these."""
        return self.of.gradient(support, weights)[objects]


@singledispatch
def arrivals_of(similarity: Similarity) -> Arrivals:
    """What new objects need of a similarity; a kind with a cheaper way registers it here."""
    return Arrivals(similarity)


@singledispatch
def detached(similarity: Similarity) -> Similarity:
    """What a saved model keeps: the similarity without objects that new ones do not need."""
    return similarity
