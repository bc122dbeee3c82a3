r"""The hierarchy of a path-based similarity: its single-linkage tree, with the shifts of its exact spectrum.

Every node of single linkage with a higher parent is a dominant set for one interval of shifts, and a larger
one takes over where the last of its two sides ends (docs/theory-path.md). So the tree is known exactly; which
of its nodes are significant says :mod:`dominantsets.clusters.tree_cut`, as in a fit. Doubtful groups are
those about the nodes in which a few objects are together first, and the less doubtful the longer they stay
apart, as a ratio of :math:`\kappa`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.modes import LEAST
from dominantsets.clusters.tree_cut import TreeCut, certified
from dominantsets.fitting.nested import Merge, Nested, Place, alone, elders, moved
from dominantsets.labels.partition import ByNearest
from dominantsets.similarity import Path
from dominantsets.solvers import DominantSet, Monitor, SolverOptions, path_spectrum
from dominantsets.solvers.result import End
from dominantsets.solvers.tree import best_within

TINY = 1e-300  # below any kappa: copies of an object are together from 0 on
LONGEST = 1e4  # above any logarithm of a ratio


def nested_path(similarity: Path, found: TreeCut, options: SolverOptions, monitor: Monitor) -> Nested:
    """The hierarchy of a path-based similarity.

    Parameters
    ----------
    similarity : Path
        The similarity.
    found : TreeCut
        The pieces that come first.
    options : SolverOptions
        Those of the dominant sets.
    monitor : Monitor
        Its time limit ends the choice of significant groups; the tree is known anyhow.

    Returns
    -------
    Nested
        The hierarchy.
    """
    tree = _Tree(similarity, options)
    out = _grown(similarity, tree, found)
    out.halt = End.TIME_LIMIT if monitor.out_of_time() else None
    return out


class _Tree:
    """Single linkage, the shifts between which each node is a dominant set, and that set."""

    def __init__(self, similarity: Path, options: SolverOptions) -> None:
        self._similarity, self._options = similarity, options
        self.links, spectrum = similarity.tree, path_spectrum(similarity)
        self.begins, self.ends = np.full((2, self.links.size.size), np.nan)
        self.begins[spectrum.nodes], self.ends[spectrum.nodes] = spectrum.shift_from, spectrum.shift_to
        self.is_set = ~np.isnan(self.begins)
        # a node as high as its parent is no set at any shift: its sides merge where the parent's do
        for node in np.flatnonzero(~self.is_set)[::-1].tolist():
            above = self.links.parent[node]
            self.begins[node] = self.ends[node] = self.begins[above] if above >= 0 else 0.0

        self.top = float(self.begins.max())  # where trees of a forest, which never merge, are put together

    def some(self, nodes: Any) -> Ints:
        """An object of each node."""
        return np.asarray(self.links.order[self.links.start[nodes]])

    def kappa(self, shift: Any) -> Any:
        """The similarity of an object to its copy plus a shift."""
        return shift + self._similarity.top

    def longest(self, node: int, below: float) -> int:
        """Of the nodes from this one up that begin below a shift, that which is a set for longest; or -1."""
        best, most, first = -1, -np.inf, node
        while node >= 0 and (node == first or self.begins[node] < below):
            life = self.kappa(self.ends[node]) / max(self.kappa(self.begins[node]), TINY)
            if self.is_set[node] and life > most:
                best, most = node, life
            node = int(self.links.parent[node])
        return best

    def core(self, node: int, shift: float | None = None) -> DominantSet | None:
        """The dominant set of a node, at a shift or in the middle (of logarithms of kappa) of its own."""
        if node < 0:
            return None
        if shift is None or not self.begins[node] < shift < self.ends[node]:
            low, high = self.kappa(self.begins[node]), self.kappa(self.ends[node])
            high = high if np.isfinite(high) else max(4.0 * low, self.kappa(0.0))
            shift = float(np.sqrt(low * high) if low > 0.0 else 0.5 * high) - self.kappa(0.0)
        inside = np.zeros(self.links.n, dtype=bool)
        inside[self.links.leaves(node)] = True
        outcome = best_within(self._similarity, shift, inside)[2]
        return certified(self._similarity, shift, outcome, self._options)


def _grown(similarity: Path, tree: _Tree, found: TreeCut) -> Nested:
    """The hierarchy with the pieces of a cut as the significant groups."""
    links, n = tree.links, similarity.n
    stand = [(piece.node, piece.core) for piece in found.pieces if piece.node >= n]
    first, count = _firsts(tree, [node for node, _ in stand])
    if not first:
        return alone(n, tree.core(tree.longest(int(links.size.argmax()), np.inf)))
    doubts = _doubts(tree, first)
    best = _best(tree, doubts)
    main = [best[node] for node, _ in stand] or [int(doubts.argmin())]
    doubts[main] = -np.inf
    best = _best(tree, doubts)
    root, splits = elders(doubts, _merges(tree), tree.top)
    home = _homes(tree, count, best)
    given = np.where(home >= 0, 0, -1)
    if len(stand) == len(found.pieces):
        given = found.labels
    group = {leaf: k for k, leaf in enumerate(main)}
    for leaf, node in first.items():
        names = given[links.leaves(node)]
        group.setdefault(leaf, int(np.bincount(names[names >= 0], minlength=len(main)).argmax()))
    around = np.array([group.get(leaf, -1) for leaf in home.tolist()])
    given = np.where(given < 0, around, given)  # another component, or no time to look at all objects
    home = np.where(around == given, home, np.array(main)[given])
    places = {leaf: Place(float(tree.begins[node]), node) for leaf, node in first.items()}
    certain = {main[0]: None} | {
        leaf: tree.core(node, cluster.shift) for leaf, (node, cluster) in zip(main, stand, strict=False)
    }
    out = Nested(root, moved(splits, group, main), places, certain, home, np.inf)
    out.settle(lambda level: level, lambda group, ball: tree.core(tree.longest(ball, group.death)))
    out.rule = ByNearest(home)
    return out


def _firsts(tree: _Tree, stand: list[int]) -> tuple[dict[int, int], list[int]]:
    """The lowest nodes that are large enough or significant, by an object; and how many lie in each node."""
    links, n, known = tree.links, tree.links.n, set(stand)
    first, count = dict[int, int](), [0] * links.size.size
    for k, sides in enumerate(zip(links.left.tolist(), links.right.tolist(), strict=True)):
        count[n + k] = count[sides[0]] + count[sides[1]]
        if not count[n + k] and (links.size[n + k] >= LEAST or n + k in known):
            first[int(tree.some(n + k))] = n + k
            count[n + k] = 1
    return first, count


def _doubts(tree: _Tree, first: dict[int, int]) -> Floats:
    """How doubtful leaves are: minus the logarithm of the ratio of kappa over which each goes on.

    Of two that merge the one that came up earlier does; what is no leaf has inf.
    """
    began = np.full(tree.links.n, np.inf)
    began[list(first)] = np.maximum(tree.kappa(tree.begins[list(first.values())]), TINY)
    _, splits = elders(began, _merges(tree), tree.top)
    doubts = np.where(np.isfinite(began), -LONGEST, np.inf)
    for split in splits:
        doubts[split.leaf] = max(-LONGEST, np.log(began[split.leaf] / max(tree.kappa(split.level), TINY)))
    return doubts


def _best(tree: _Tree, doubts: Floats) -> list[int]:
    """The least doubtful leaf in each node."""
    best = list(range(tree.links.n))
    for one, two in zip(tree.links.left.tolist(), tree.links.right.tolist(), strict=True):
        best.append(best[one] if doubts[best[one]] <= doubts[best[two]] else best[two])
    return best


def _merges(tree: _Tree) -> Iterator[Merge]:
    """All merges by rising shift, the larger side first."""
    links = tree.links
    swap = links.size[links.left] < links.size[links.right]
    one, two = np.where(swap, links.right, links.left), np.where(swap, links.left, links.right)
    order = np.argsort(tree.begins[links.n :], kind="stable")  # of one shift, the lower node first
    for row in zip(
        tree.begins[links.n :][order],
        tree.some(one[order]),
        tree.some(two[order]),
        links.n + order,
        strict=True,
    ):
        yield Merge(float(row[0]), *map(int, row[1:]))


def _homes(tree: _Tree, count: list[int], best: list[int]) -> Ints:
    """The leaf of each object: the least doubtful of the lowest node around it that has any; -1 for none."""
    links, home = tree.links, best.copy()
    for node in range(links.size.size - 1, -1, -1):
        above = int(links.parent[node])
        if not count[node]:
            home[node] = home[above] if above >= 0 else -1
    return np.array(home[: links.n])
