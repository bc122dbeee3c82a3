r"""More clusters than are significant: groups that explain best what the others do not.

A group with a share s of the objects, centre c and variance v explains an object at the squared distance t by

.. math:: \ell = \log s - \tfrac D2 \log v - t / (2 v).

The next group is the one that adds most to the sum of the largest :math:`\ell` of all objects: a doubtful
group of the tree, or a few objects about the one that is explained worst. A small group that was not found
lies far from all others, so that its few objects add more than halves of a large one do, which each have half
of its share.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.modes import ModeTree, Node
from dominantsets.similarity.located import Coordinates

ROUNDS = 4  # of moving centres, to compare choices
FEWEST, SOME = 3, 8  # objects of a group that fills up a number, at least; at most, about one object
CHOICE = 6  # doubtful groups looked at, for each one that is wanted
FLOOR = 0.25  # of the least variance of the significant groups, below which no group may fall


class Group(NamedTuple):
    """Variance, and share of the objects."""

    variance: Any
    share: Any


class Explained:
    """How well some groups explain a sample.

    Attributes
    ----------
    levels : ndarray
        The largest explanation of each object.
    """

    def __init__(
        self, sample: Coordinates, dimension: float, centres: Floats, squares: Floats, shares: Floats
    ) -> None:
        self._rows, self._D, self._extra = sample.rows, dimension, sample.extra
        self._points = sample.points(sample.rows, sample.extra)
        self._lengths = np.square(sample.rows).sum(axis=1) + sample.extra
        spread = float(self._lengths.mean())
        self._floor = max(FLOOR * float(squares.min(initial=np.inf)) / dimension, 1e-12 * spread, 1e-300)
        if not np.isfinite(self._floor):
            self._floor = max(1e-3 * spread / dimension, 1e-300)
        self.centres, self.variances = centres.copy(), np.maximum(squares / dimension, self._floor)
        self.shares = shares.copy()
        self.levels = self._best()[1]

    def distances(self, centres: Floats) -> Floats:
        """Squared distances of all objects from some centres."""
        return self._points.squares(centres)

    def of(self, t: Floats, group: Group) -> Floats:
        """Explanations by a group at some squared distances; by many groups where they are arrays."""
        return np.asarray(
            np.log(group.share) - 0.5 * self._D * np.log(group.variance) - t / (2.0 * group.variance)
        )

    def group(self, t: Floats, members: Ints) -> Group:
        """A group of some objects, with the squared distances of all from its centre."""
        variance = max(float(t[members].mean()) / self._D, self._floor)
        return Group(variance, max(1, members.size) / len(self._rows))

    def _best(self) -> tuple[Ints, Floats]:
        if not len(self.centres):
            one = max(float(self._lengths.mean()) / self._D, self._floor)
            return np.zeros(len(self._rows), dtype=np.int64), self.of(self._lengths, Group(one, 1.0))
        logs = self.of(self.distances(self.centres), Group(self.variances, self.shares))
        best = logs.argmax(axis=1)
        return best, logs[np.arange(len(best)), best]

    def settle(self) -> float:
        """The sum over all objects, once a few rounds have moved the groups to their objects."""
        for _ in range(ROUNDS):
            best, _ = self._best()
            order, ends = np.argsort(best, kind="stable"), np.cumsum(np.bincount(best))
            for k, mine in enumerate(np.split(order, ends)[: len(self.centres)]):
                if mine.size > 1:
                    rows = self._rows[mine]
                    t = np.square(rows - self.centres[k]).sum(axis=1) + self._extra[mine]
                    self.centres[k] = rows.mean(axis=0)
                    self.variances[k] = max(float(t.mean()) / self._D, self._floor)
                self.shares[k] = max(1.0, float(mine.size)) / len(self._rows)
        self.levels = self._best()[1]
        return float(self.levels.sum())

    def gain(self, t: Floats, group: Group) -> float:
        """What one more group adds."""
        return float(np.maximum(self.of(t, group) - self.levels, 0.0).sum())

    def add(self, t: Floats, group: Group) -> None:
        """Take one more group."""
        np.maximum(self.levels, self.of(t, group), out=self.levels)

    def about(self, i: int) -> tuple[Ints, Floats, Group, float]:
        """The best few objects about one, the distances from their middle, the group, and what it adds."""
        t = self.distances(self._rows[i][None])[:, 0]
        size = min(SOME, len(t))
        nearest = np.flatnonzero(t <= np.partition(t, size - 1)[size - 1])
        nearest = nearest[np.argsort(t[nearest], kind="stable")][:size]
        best: tuple[Ints, Floats, Group, float] | None = None
        counts = range(min(FEWEST, size), size + 1)
        means = np.array([self._rows[nearest[:count]].mean(axis=0) for count in counts])
        for count, away in zip(counts, self.distances(means).T, strict=True):
            some = nearest[:count]
            group = self.group(away, some)
            gain = self.gain(away, group)
            if best is None or gain > best[3]:
                best = some, away, group, gain
        assert best is not None
        return best


def fillers(explained: Explained, tree: ModeTree, nodes: list[Node], count: int) -> list[Node | Ints]:
    """So many more groups: nodes of the tree, or the objects of groups that are in none of them."""
    nodes = sorted(nodes, key=lambda node: node.chance)[: CHOICE * count]
    away = (
        explained.distances(np.array([tree.place(node)[0] for node in nodes])) if nodes else np.empty((0, 0))
    )
    parts = [
        explained.group(t, np.flatnonzero(t <= max(tree.place(node)[1], t.min())))
        for t, node in zip(away.T, nodes, strict=True)
    ]
    gains = np.array([explained.gain(t, part) for t, part in zip(away.T, parts, strict=True)])
    used = np.zeros(explained.levels.size, dtype=bool)  # objects about which nothing is gained
    chosen: list[Node | Ints] = []
    while len(chosen) < count:
        # what a group adds only falls as others come: the first that still has the largest gain is the best
        best, last = -1, -1
        while len(nodes):
            best = int(gains.argmax())
            if best == last or gains[best] <= 0.0:
                break
            gains[best], last = explained.gain(away[:, best], parts[best]), best
        worst = int(np.where(used, np.inf, explained.levels).argmin())
        some, t, part, gain = explained.about(worst)
        if best >= 0 and gains[best] >= gain and gains[best] > 0.0:
            explained.add(away[:, best], parts[best])
            gains[best] = -np.inf
            chosen.append(nodes[best])
        elif gain > 0.0 and not used[worst]:
            explained.add(t, part)
            used[some] = True
            chosen.append(some)
        else:
            break
    return chosen
