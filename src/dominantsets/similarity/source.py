"""Where the data of a similarity are: what the estimator and draws of starts ask."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from numpy.typing import NDArray

from dominantsets._typing import Ints
from dominantsets.similarity.base import Similarity, evenly


def as_given(similarity: Similarity, per_object: NDArray[Any]) -> Any:
    """An array with an entry for each object, as the caller's own data are kept: attributes of estimators."""
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
