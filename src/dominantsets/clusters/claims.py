"""Which cluster each object is of: the first that has it; and whether a set was found before."""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Ints
from dominantsets.clusters.balls import SAME


class Claims:
    """Objects that clusters have claimed, one cluster after another.

    Attributes
    ----------
    labels : ndarray of int
        The number of each object's cluster, the first of several; -1 outside all.
    sizes : list of int
        How many objects each cluster has.
    """

    def __init__(self, n: int) -> None:
        self.labels: Ints = np.full(n, -1, dtype=np.int64)
        self.sizes: list[int] = []

    def take(self, members: Ints, anyway: bool = False) -> bool:
        """Whether a set is taken: not where it shares more than half of the larger one with one before."""
        names = self.labels[members]
        shared = np.bincount(names[names >= 0], minlength=1)
        other = int(shared.argmax())
        size = self.sizes[other] if self.sizes else 0
        if not anyway and shared[other] > SAME * max(members.size, size):
            return False
        free = members[names < 0]
        self.labels[free] = len(self.sizes)
        self.sizes.append(free.size)
        return True
