"""What a cluster's members ask of arrays with an entry for each object; a thread takes a cluster."""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.jit import compiled


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
