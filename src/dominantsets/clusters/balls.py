"""Groups of a sample as balls: who is in each, and which of them are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.modes import ModeTree, Node

SAME = 0.5  # share of a set that lies in another one (or in several), from which it is not a further set


@dataclass(frozen=True, eq=False)
class Ball:
    """A group of the sample: its centre, its members with their weights, its kappa, and its node.

    A node is None for a ball that only fills up the number of clusters.
    """

    centre: Floats
    members: Ints
    weights: Floats
    kappa: float
    node: Node | None = None

    @classmethod
    def of(cls, centre: Floats, weights: Floats, kappa: float) -> Ball:
        """A ball from the weights of all objects."""
        members = np.flatnonzero(weights)
        return cls(centre, members, weights[members], kappa)


def balls_of(tree: ModeTree, nodes: Sequence[Node]) -> list[Ball]:
    """The balls of some nodes, where each is taken."""
    return [Ball(*found, node) for found, node in zip(tree.balls(nodes), nodes, strict=True)]


def distinct(balls: list[Ball]) -> list[Ball]:
    """Balls without those that are another one's twin: two chains that had not quite met."""
    if not balls:
        return []
    ends = np.cumsum([0, *(ball.members.size for ball in balls)])
    members = np.concatenate([ball.members for ball in balls])
    inside = sp.csr_array((np.ones(members.size), members, ends), shape=(len(balls), int(members.max()) + 1))
    shares = sp.csr_array(inside @ inside.T)
    kept: list[int] = []
    taken, mine = np.zeros(len(balls), dtype=bool), np.zeros(inside.shape[1])
    for k, ball in enumerate(balls):
        mine[ball.members] = ball.weights
        others = shares.indices[shares.indptr[k] : shares.indptr[k + 1]]  # most balls share no objects
        both = (np.minimum(mine[balls[b].members], balls[b].weights).sum() for b in others[taken[others]])
        if all(shared < SAME * ball.weights.sum() for shared in both):
            kept.append(k)
            taken[k] = True
        mine[ball.members] = 0.0
    return [balls[k] for k in kept]
