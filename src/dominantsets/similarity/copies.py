"""Objects that are there several times, and stand for one with a weight."""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

from dominantsets._typing import Floats, Ints
from dominantsets.similarity.base import Similarity


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
