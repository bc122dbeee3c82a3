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
GRAIN = 2**13  # members below which a part is not worth a thread: each is a wait for memory


def taken_by(labels: Ints, members: Ints) -> Ints:
    """The labels of some objects."""
    out = np.empty(members.size, dtype=np.int64)
    parallel_map(lambda part: _gather(labels, members[part], out[part]), thread_slices(members.size, GRAIN))
    return out


def claim(labels: Ints, members: Ints, names: Ints, cluster: int) -> int:
    """Label those of the members that have no name yet; how many they are."""

    def work(part: slice) -> int:
        return _claim(labels, members[part], names[part], cluster)

    return sum(parallel_map(work, thread_slices(members.size, GRAIN)))


def joined(arrays: Sequence[NDArray[_T]]) -> NDArray[_T]:
    """Arrays one after another, copied by several threads."""
    ends = np.cumsum([array.size for array in arrays])
    out = np.empty(int(ends[-1]), dtype=arrays[0].dtype)

    def work(part: slice) -> None:
        for k in range(part.start, part.stop):
            out[ends[k] - arrays[k].size : ends[k]] = arrays[k]

    parallel_map(work, thread_slices(len(arrays), 8))
    return out


def fresh_of_each(labels: Ints, sets: list[Ints]) -> Ints:
    """How many members of each set have no label and are in none of the sets before it.

    Members are in order, so that every thread has its own objects.
    """
    members, ends = joined(sets), np.cumsum([one.size for one in sets])
    parts = thread_slices(labels.size, OBJECTS)
    found = parallel_map(lambda part: _claim_each(labels[part].copy(), members, ends, part.start, 0), parts)
    return np.asarray(np.sum(found, axis=0))


def claim_each(labels: Ints, sets: list[Ints], first: int) -> None:
    """Label those members of each set that have no label yet, with numbers from ``first`` on."""
    members, ends = joined(sets), np.cumsum([one.size for one in sets])
    parts = thread_slices(labels.size, OBJECTS)
    parallel_map(lambda part: _claim_each(labels[part], members, ends, part.start, first), parts)


def silence(labels: Ints, probabilities: Floats) -> int:
    """Nothing is the probability of what has no label; how many these are."""
    parts = thread_slices(labels.size, OBJECTS)
    return sum(parallel_map(lambda part: _silence(labels[part], probabilities[part]), parts))


def sizes_of(labels: Ints, count: int) -> Ints:
    """How many objects have each label."""
    found = parallel_map(lambda part: _sizes(labels[part], count), thread_slices(labels.size, OBJECTS))
    return np.asarray(np.sum(found, axis=0))


@compiled
def _first_from(members: Ints, begin: int, end: int, object_: int) -> int:
    """The place of the first member, of some in order, that is not below an object."""
    while begin < end:
        middle = (begin + end) // 2
        if members[middle] < object_:
            begin = middle + 1
        else:
            end = middle
    return begin


@compiled
def _claim_each(labels: Ints, members: Ints, ends: Ints, low: int, first: int) -> Ints:
    """Of the objects from ``low`` on: how many each set gets."""
    counts, begin = np.zeros(ends.size, dtype=np.int64), 0
    for k in range(ends.size):
        for j in range(_first_from(members, begin, ends[k], low), ends[k]):
            i = members[j] - low
            if i >= labels.size:
                break
            if labels[i] < 0:
                labels[i] = first + k
                counts[k] += 1
        begin = ends[k]
    return counts


@compiled
def _silence(labels: Ints, probabilities: Floats) -> int:
    count = 0
    for i in range(labels.size):
        if labels[i] < 0:
            probabilities[i] = 0.0
            count += 1
    return count


@compiled
def _gather(labels: Ints, members: Ints, out: Ints) -> None:
    for k in range(members.size):
        out[k] = labels[members[k]]


@compiled
def _claim(labels: Ints, members: Ints, names: Ints, cluster: int) -> int:
    count = 0
    for k in range(members.size):
        if names[k] < 0:
            labels[members[k]] = cluster
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
def elsewhere(labels: Ints, members: Ints, cluster: int) -> int:
    """How many of the members have another label."""
    count = 0
    for i in members:
        count += labels[i] != cluster
    return count


@compiled
def put_memberships(cores: Ints, members: Ints, weights: Floats, cluster: int, memberships: Floats) -> None:
    """Weights in units of the largest, of the members whose cluster this is."""
    top = np.max(weights)
    for k in range(members.size):
        if cores[members[k]] == cluster:
            memberships[members[k]] = weights[k] / top
