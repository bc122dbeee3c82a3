"""Which groups of the tree of modes are clusters: by evidence, or as many as were asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from dominantsets.clusters.evidence import least_significant
from dominantsets.clusters.modes import ModeTree, Node

DOUBTFUL = 1.5  # chance (a logarithm) up to which a group may cut the life of another
FILLERS = (3.5, 6.0, np.inf)  # and where more clusters are wanted than are significant


def walk(nodes: list[Node]) -> Iterator[Node]:
    """All nodes below, parents before their children."""
    for node in nodes:
        yield node
        yield from walk(node.children)


def groups(roots: list[Node]) -> list[Node]:
    """The nodes that are groups somewhere; a root is all of the data."""
    return [node for root in roots for node in walk(root.children) if node.level >= 0]


def finest(roots: list[Node], chance: float) -> list[Node]:
    """The finest groups of which none is likelier by chance: no group that has others within it."""

    def below(node: Node, is_root: bool) -> list[Node]:
        found = [leaf for child in node.children for leaf in below(child, False)]
        mine = node.level >= 0 and node.chance <= chance and not is_root
        return found or ([node] if mine else [])

    return [leaf for root in roots for leaf in below(root, True)]


def by_evidence(tree: ModeTree) -> tuple[list[Node], list[Node]]:
    """The significant groups, most certain first, and the roots of the tree that they are of."""
    roots = tree.nodes(DOUBTFUL)
    chosen = finest(roots, least_significant([node.chance for node in groups(roots)]))
    return sorted(chosen, key=lambda node: node.chance), roots


def by_number(tree: ModeTree, wanted: int) -> tuple[list[Node], list[Node]]:
    """So many groups, if there are so many: significant ones first, others only to fill up.

    Where more are significant than are wanted, parents take the place of their children, and then the most
    certain ones stay.
    """
    chosen, roots = by_evidence(tree)
    if len(chosen) >= wanted:
        return _fewer(roots, chosen, wanted), roots
    for chance in (DOUBTFUL, *FILLERS):
        roots = tree.nodes(chance)
        levels = sorted({node.chance for node in groups(roots)})
        # the more may count, the more groups there are, but for a few that others cut
        enough = bisect_left(levels, wanted, key=lambda level: len(finest(roots, level)))
        more = finest(roots, levels[min(enough, len(levels) - 1)]) if levels else []
        chosen = more if len(more) > len(chosen) else chosen
        if len(chosen) >= wanted:
            return sorted(chosen, key=lambda node: node.chance)[:wanted], roots
    return sorted(chosen, key=lambda node: node.chance), roots


def _fewer(roots: list[Node], chosen: list[Node], wanted: int) -> list[Node]:
    """Fewer groups: parents for children, the most persistent first."""
    kept = set(chosen)

    def under(node: Node) -> set[Node]:
        return {node} if node in kept else set().union(*map(under, node.children))

    while len(kept) > wanted:
        best: tuple[float, Node, set[Node]] | None = None
        for node in groups(roots):
            within = under(node)
            if node in kept or len(within) < 2 or len(kept) - len(within) + 1 < wanted:
                continue
            parts = sum(child.persistence * child.size for child in within)
            worth = node.persistence * node.size / max(parts, 1e-300)
            if best is None or worth > best[0]:
                best = worth, node, within
        if best is None:
            break
        kept = (kept - best[2]) | {best[1]}
    return sorted(kept, key=lambda node: (node.chance, node.chain, node.level))[:wanted]
