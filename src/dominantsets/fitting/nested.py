r"""Groups within groups: from leaves and the order in which they merge to a tree that can be cut anywhere.

Whatever the data are, a tree over shifts says which things merge at which level: the balls of points
(:mod:`dominantsets.fitting.nested_points`), the nodes of single linkage
(:mod:`dominantsets.fitting.nested_path`), the groups of a network
(:mod:`dominantsets.fitting.nested_graph`). Some of them are significant, others are doubtful.
Where two merge the more doubtful one ends and the other goes on (the elder rule of persistent homology), so
that every leaf but one has a parent that is more certain. With the k most certain leaves, every other leaf
belongs to the first of its ancestors among them: that is a partition for each k, and each splits one group of
the one before. Significant ones come first, by falling level, and are thus cut as the tree has them;
then the doubtful ones, the least doubtful first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.labels.partition import Placing
from dominantsets.solvers import DominantSet
from dominantsets.solvers.result import End

NONE = -1  # no ball


@dataclass(eq=False)
class Group:
    """A node of the hierarchy.

    Attributes
    ----------
    objects : ndarray of int
        All objects of the group.
    core : DominantSet or None
        The dominant set of all objects that it stands for, at its own shift, with the certificate of that
        shift; None where there is no such set: at no shift that was looked at, or the time was over.
    birth, death : float
        The shifts at which it comes up, and at which it merges into a larger one.
    children : list of Group
        The two groups that it was merged from; none for a leaf.
    """

    objects: Ints
    core: DominantSet | None
    birth: float
    death: float = np.inf
    children: list[Group] = field(default_factory=list)

    def __repr__(self) -> str:
        below = f"{len(self.children)} groups below" if self.children else "a leaf"
        return (
            f"Group({self.objects.size:,} objects, shifts {self.birth:.5g} to {self.death:.5g}, {below}, "
            f"core={self.core!r})"
        )

    def walk(self) -> Iterator[Group]:
        """The group and all below it, parents before their children."""
        stack = [self]
        while stack:
            group = stack.pop()
            yield group
            stack += group.children[::-1]


class Merge(NamedTuple):
    """Two things merge at a level; ``ball`` is what holds both of them from there on."""

    level: float
    one: int
    two: int
    ball: int


class Place(NamedTuple):
    """The level at which a leaf comes up, and its ball."""

    level: float
    ball: int


class Split(NamedTuple):
    """A leaf comes off its parent below a level."""

    leaf: int
    parent: int
    level: float
    ball: int


def elders(doubts: Floats, merges: Iterable[Merge], top: float) -> tuple[int, list[Split]]:
    """The most certain leaf, and how all others come off it, in the order in which they do.

    Parameters
    ----------
    doubts : ndarray
        One number for each thing that merges: -inf where it is significant, inf where it is no group at all.
    merges : iterable of Merge
        In the order in which they happen; of two that are equally doubtful the first one goes on.
    top : float
        The level at which what has not merged does.

    Returns
    -------
    root : int
        The leaf that none comes before.
    splits : list of Split
        The other leaves.
    """
    above, elder = list(range(doubts.size)), list(range(doubts.size))
    ends: list[tuple[float, int, Split]] = []

    def home(i: int) -> int:
        while above[i] != i:
            above[i] = above[above[i]]
            i = above[i]
        return i

    def join(merge: Merge) -> None:
        one, two = home(merge.one), home(merge.two)
        first, second = elder[one], elder[two]
        if doubts[second] < doubts[first]:
            first, second = second, first
        above[two], elder[one] = one, first
        if doubts[second] < np.inf:
            split = Split(second, first, merge.level, merge.ball)
            ends.append((float(doubts[second]), -len(ends), split))

    for merge in merges:
        join(merge)
    apart = sorted({elder[home(i)] for i in range(doubts.size)}, key=lambda leaf: (doubts[leaf], leaf))
    for leaf in apart[1:]:
        join(Merge(top, apart[0], leaf, NONE))
    return apart[0], [split for _, _, split in sorted(ends)]


def moved(splits: list[Split], group: dict[int, int], main: Sequence[int]) -> list[Split]:
    """Doubtful leaves whose objects are another group's than their parent's, under that group.

    ``group`` is the group of each leaf, ``main`` the leaf that stands for each group.
    """
    out = []
    for split in splits:
        home = main[group[split.leaf]]
        if split.leaf != home and group[split.leaf] != group[split.parent]:
            split = split._replace(parent=home, ball=NONE)
        out.append(split)
    return out


class Everybody:
    """The rule where there is one leaf."""

    def of_new(self, similarity: Any, new: Any) -> Ints:
        """The leaf of new objects: 0."""
        return np.zeros(new.shape[0], dtype=np.int64)


class Nested:
    """A hierarchy: the tree of the leaves that have objects.

    Parameters
    ----------
    root, splits : int, list of Split
        Those of :func:`elders`.
    places : mapping
        Where each leaf comes up.
    certain : mapping
        The dominant set of each significant group, by its leaf; at least that of the root.
    home : ndarray of int
        The leaf of each object; -1 for an object that is in no group.
    top : float
        The level at which the last group ends.

    Attributes
    ----------
    root : Group
        All objects that are in any group.
    splits : list of Group
        The groups with children, in the order in which they split.
    leaves : list of Group
        The finest groups.
    n_groups : int
        How many groups are significant: so many are in the partition that is found without a number.
    names : dict
        The place in ``leaves`` of each leaf; of one without objects, that of the nearest above it.
    rule : Placing
        What places new objects: it gives a leaf, or -1.
    halt : End or None
        What cut the search short.
    """

    rule: Placing = Everybody()
    halt: End | None = None

    def __init__(
        self,
        root: int,
        splits: list[Split],
        places: Mapping[int, Place],
        certain: Mapping[int, DominantSet | None],
        home: Ints,
        top: float,
    ) -> None:
        splits = _capped(root, splits, top)
        known = [root, *(split.leaf for split in splits)]
        groups = _leaves(known, places, home, top)
        self._balls = {group: places[leaf].ball for leaf, group in groups.items()}
        self.leaves, self.splits = list(groups.values()), list[Group]()
        full = {leaf: k for k, leaf in enumerate(groups)}
        self.names = {root: full.get(root, 0)}
        for split in splits:
            self.names[split.leaf] = full.get(split.leaf, self.names[split.parent])
        count = len(certain) - 1
        self._join(groups, splits[count:])
        self.n_groups = len(groups)
        for leaf, group in groups.items():
            group.core = certain.get(leaf)
        self._join(groups, splits[:count])
        (self.root,) = groups.values()
        self.splits.reverse()

    def _join(self, groups: dict[int, Group], splits: list[Split]) -> None:
        """Put leaves back to where they come off, the last one first."""
        for leaf, parent, level, ball in reversed(splits):
            pair = [groups.pop(k) for k in (parent, leaf) if k in groups]
            if len(pair) == 2:
                both = Group(np.sort(np.concatenate([pair[0].objects, pair[1].objects])), None, level)
                both.death, both.children = pair[0].death, pair
                for group in pair:
                    group.birth, group.death = min(group.birth, level), level
                self.splits.append(both)
                self._balls[both] = ball
                pair = [both]
            groups |= zip([parent], pair, strict=False)

    def settle(
        self,
        shift: Callable[[float], float],
        core: Callable[[Group, int], DominantSet | None],
    ) -> None:
        """Find the dominant sets of the groups that have none yet, and put shifts in the place of levels.

        ``core`` is given a group, with levels still, and its ball.
        """
        for group in self.root.walk():
            if group.core is None:
                group.core = core(group, self._balls[group])
            group.birth, group.death = shift(group.birth), shift(group.death)
        self.root.death = np.inf
        self._balls.clear()


def alone(n: int, core: DominantSet | None) -> Nested:
    """The hierarchy of objects that are all one group."""
    level = core.shift if core is not None else 0.0
    return Nested(0, [], {0: Place(level, NONE)}, {0: core}, np.zeros(n, dtype=np.int64), np.inf)


def _capped(root: int, splits: list[Split], top: float) -> list[Split]:
    """No leaf merges above the level at which its parent's group does."""
    level, out = {root: top}, []
    for split in splits:
        height = min(split.level, level[split.parent])
        level[split.parent] = level[split.leaf] = height
        out.append(split._replace(level=height))
    return out


def _leaves(known: list[int], places: Mapping[int, Place], home: Ints, top: float) -> dict[int, Group]:
    """The leaves that have objects."""
    order = np.argsort(home, kind="stable")
    ends = np.searchsorted(home[order], known, side="right")
    starts = np.searchsorted(home[order], known)
    return {
        leaf: Group(order[start:end], None, min(places[leaf].level, top), top)
        for leaf, start, end in zip(known, starts.tolist(), ends.tolist(), strict=True)
        if end > start
    }


def linkage(root: Group, n: int) -> Floats:
    """The tree as SciPy writes it, heights being shifts above the lowest one.

    Objects of one leaf merge at the shift at which it comes up, objects in no group at the top.
    """
    lowest = min(group.birth for group in root.walk())
    merges: list[tuple[float, int, int]] = []  # height, and an object of either side
    for group in root.walk():
        parts = [child.objects[0] for child in group.children] or group.objects.tolist()
        merges += [(group.birth - lowest, int(parts[0]), int(other)) for other in parts[1:]]
    outside = np.setdiff1d(np.arange(n), root.objects, assume_unique=True)
    merges += [(root.birth - lowest, int(root.objects[0]), int(other)) for other in outside]
    above, name, size = list(range(n)), list(range(n)), [1] * n
    rows = np.empty((n - 1, 4))

    def top(i: int) -> int:
        while above[i] != i:
            above[i] = above[above[i]]
            i = above[i]
        return i

    # objects of a leaf before its merging, also at one height: children come after parents in the walk
    order = sorted(range(len(merges)), key=lambda k: (merges[k][0], -k))
    for step, k in enumerate(order):
        height, a, b = merges[k]
        a, b = top(a), top(b)
        low, high = sorted((name[a], name[b]))
        above[b] = a
        size[a] += size[b]
        rows[step] = low, high, height, size[a]
        name[a] = n + step
    return rows
