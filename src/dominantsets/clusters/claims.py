"""Which cluster each object is of: the first that has it."""

from __future__ import annotations

from collections import deque

import numpy as np

from dominantsets._typing import Ints
from dominantsets.clusters.balls import SAME
from dominantsets.compiled.members import claim, claim_each, fresh_of_each, taken_by


class Claims:
    """Objects that clusters have claimed, one cluster after another.

    Sets that were found together are looked at together, and labels are written when they are asked for:
    a thousand sets of a large problem would else wait for its memory one after another.

    Attributes
    ----------
    sizes : list of int
        How many objects each cluster has.
    """

    def __init__(self, n: int) -> None:
        self.sizes: list[int] = []
        self._labels: Ints = np.full(n, -1, dtype=np.int64)
        self._expected: deque[int] = deque()  # how many objects the next sets will have
        self._waiting: list[Ints] = []  # members of the last clusters, not labelled yet

    @property
    def labels(self) -> Ints:
        """The number of each object's cluster; of one in several, the first."""
        if self._waiting:
            claim_each(self._labels, self._waiting, len(self.sizes) - len(self._waiting))
            self._waiting = []
        return self._labels

    def expect(self, sets: list[Ints]) -> None:
        """Look at sets that come next: where each has little of those before it, all of them are new."""
        fresh = fresh_of_each(self.labels, sets)
        sizes = np.array([members.size for members in sets])
        self._expected = deque(fresh.tolist() if (sizes - fresh <= SAME * sizes).all() else ())

    def take(self, members: Ints, anyway: bool = False) -> bool:
        """Whether a set is taken: not where it is one that was found before, come upon again."""
        if self._expected:
            self.sizes.append(self._expected.popleft())
            self._waiting.append(members)
            return True
        names = taken_by(self.labels, members)
        if not anyway and not self._is_new(names):
            return False
        self.sizes.append(claim(self._labels, members, names, len(self.sizes)))
        return True

    def _is_new(self, names: Ints) -> bool:
        """Of a set, by the labels of its members."""
        taken = np.bincount(names[names >= 0], minlength=1)
        other = int(taken.argmax())
        size = self.sizes[other] if self.sizes else 0
        return int(taken[other]) <= SAME * max(names.size, size)
