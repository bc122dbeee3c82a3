"""What a cluster's members ask of arrays with an entry for each object; a thread takes a cluster."""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.jit import compiled
from dominantsets.compiled.threads import parallel_map, thread_slices

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
def sizes_of(labels: Ints, count: int) -> Ints:
    """How many objects have each label."""
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
