"""What a cluster's members ask of arrays with an entry for each object; a thread takes a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.jit import compiled
from dominantsets.compiled.threads import parallel_map, thread_slices

_T = TypeVar("_T", np.int64, np.float64)
OBJECTS = 2**16  # below which a part of all of them is not worth a thread


def joined(arrays: Sequence[NDArray[_T]]) -> NDArray[_T]:
    """Arrays one after another, copied by several threads."""
    ends = np.cumsum([array.size for array in arrays])
    out = np.empty(int(ends[-1]), dtype=arrays[0].dtype)

    def work(part: slice) -> None:
        for k in range(part.start, part.stop):
            out[ends[k] - arrays[k].size : ends[k]] = arrays[k]

    parallel_map(work, thread_slices(len(arrays), 8))
    return out


def silence(labels: Ints, probabilities: Floats) -> int:
    """Nothing is the probability of what has no label; how many these are."""
    parts = thread_slices(labels.size, OBJECTS)
    return sum(parallel_map(lambda part: _silence(labels[part], probabilities[part]), parts))


def sizes_of(labels: Ints, count: int) -> Ints:
    """How many objects have each label."""
    found = parallel_map(lambda part: _sizes(labels[part], count), thread_slices(labels.size, OBJECTS))
    return np.asarray(np.sum(found, axis=0))


@compiled
def _silence(labels: Ints, probabilities: Floats) -> int:
    count = 0
    for i in range(labels.size):
        if labels[i] < 0:
            probabilities[i] = 0.0
            count += 1
    return count


@compiled
def _sizes(labels: Ints, count: int) -> Ints:
    sizes = np.zeros(count, dtype=np.int64)
    for label in labels:
        if label >= 0:
            sizes[label] += 1
    return sizes


@compiled
def put_memberships(cores: Ints, members: Ints, weights: Floats, cluster: int, memberships: Floats) -> None:
    """Weights in units of the largest, of the members whose cluster this is."""
    top = np.max(weights)
    for k in range(members.size):
        if cores[members[k]] == cluster:
            memberships[members[k]] = weights[k] / top
