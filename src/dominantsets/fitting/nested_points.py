r"""The hierarchy of points: the tree of modes from which ``DominantSets()`` reads its clusters.

Its balls (:mod:`dominantsets.clusters.modes`) are absorbed by one another as :math:`\kappa` grows; the
significant groups are those of :mod:`dominantsets.clusters.scales`, every other ball that is a group at some
level is a doubtful one. Objects belong to the group whose cloud they are of, as in
:mod:`dominantsets.labels.mixture` without noise, and within it to the leaf with the nearest centre.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Ints
from dominantsets.clusters.balls import Ball
from dominantsets.clusters.modes import ModeTree, Node
from dominantsets.clusters.scales import Scales, solved, starts_of
from dominantsets.fitting.nested import Group, Merge, Nested, Place, Split, alone, elders, moved
from dominantsets.labels.mixture import Labelling, Verdict, label_by_clouds
from dominantsets.rows.base import Cores
from dominantsets.rows.rule import Rule
from dominantsets.similarity import Similarity
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.solvers import DominantSet, Monitor, SolverOptions
from dominantsets.solvers.result import HALTS, End


class ByCentre(NamedTuple):
    """The group of an object, and the leaf of that group for each leaf that may be nearest to it."""

    groups: Any
    nearest: Labelling
    table: Ints

    def of_new(self, similarity: Similarity, new: Any) -> Ints:
        """The leaves of new objects."""
        leaves: Ints = self.table[self.groups.of_new(similarity, new), self.nearest.of_new(similarity, new)]
        return leaves


def nested_points(
    similarity: Similarity,
    scales: Scales,
    found: list[Ball],
    clusters: list[DominantSet],
    end: End | None,
    options: SolverOptions,
    monitor: Monitor,
) -> Nested:
    """The hierarchy of a similarity whose objects are points.

    Parameters
    ----------
    similarity : Similarity
        One that has distances.
    scales : Scales
        The tree of modes.
    found, clusters : list of Ball, list of DominantSet
        The groups that come first, and their dominant sets.
    end : End or None
        What ended the search for them.
    options : SolverOptions
        Those of the dominant sets.
    monitor : Monitor
        Its time limit ends the tree, and leaves out dominant sets.

    Returns
    -------
    Nested
        The hierarchy.
    """
    sets = Sets(similarity, scales, options, monitor)
    sets.end(end if end in HALTS.values() else None)
    tree = scales.tree
    lives = [] if tree is None else tree.lives()
    if tree is None or not clusters or not any(life.level >= 0 for life in lives):
        out = alone(similarity.n, clusters[0] if clusters else None)
    else:
        pairs = zip(found, clusters, strict=True)
        known = {ball.node.chain: (ball, cluster) for ball, cluster in pairs if ball.node is not None}
        if scales.is_one or not known:  # the least doubtful ball stands for all of them
            known = {min(lives, key=lambda life: life.chance).chain: (found[0], clusters[0])}
        stand = {chain: cluster for chain, (_, cluster) in known.items()}
        groups = label_by_clouds(
            similarity,
            scales.objects,
            scales.sample,
            starts_of(scales, [ball for ball, _ in known.values()]),
            tree.dimension,
            None,
            monitor,
            starts_of(scales, scales.significant),
        )
        out = grown(scales, tree, lives, stand, groups, sets)
    out.halt = End.TIME_LIMIT if sets.halt is None and monitor.out_of_time() else sets.halt
    return out


class Sets:
    """The dominant sets of balls among all objects, until something ends the search."""

    def __init__(
        self, similarity: Similarity, scales: Scales, options: SolverOptions, monitor: Monitor
    ) -> None:
        self.similarity, self._scales = similarity, scales
        self._options, self._monitor = options, monitor
        self.halt: End | None = None

    def end(self, halt: End | None) -> None:
        """Look for no more, if there is a reason."""
        if halt is not None:
            self.halt = halt
            self._monitor.hurry()

    def of(self, ball: Ball) -> DominantSet | None:
        """The set of a ball; None where the search has ended: half a set is none."""
        if self._monitor.out_of_time():
            return None
        shift = self._scales.shift(ball.kappa)
        found = solved(self.similarity, self._scales, ball, shift, self._options, self._monitor)
        self.end(HALTS.get(found.status))
        return found if self.halt is None else None


def grown(
    scales: Scales,
    tree: ModeTree,
    lives: list[Node],
    stand: dict[int, DominantSet],
    groups: Any,
    sets: Sets,
) -> Nested:
    """The hierarchy with some balls, and the dominant sets of their groups, as those that are significant."""
    doubts, main, top = np.array([life.chance for life in lives]), list(stand), float(tree.levels.size)
    doubts[main] = -np.inf
    merges = [Merge(level, into, chain, into) for chain, into, level in tree.absorptions()]
    root, splits = elders(doubts, merges, top)
    leaves = [root, *(split.leaf for split in splits)]
    early = _early(tree, lives, leaves, splits)
    balls = [Ball(*tree.ball(early[leaf])) for leaf in leaves]
    labels = groups.of(sets.similarity)[0]
    sampled = labels[scales.objects]
    most = [int(np.bincount(sampled[ball.members], ball.weights, len(main)).argmax()) for ball in balls]
    group = dict(zip(leaves, most, strict=True)) | {leaf: k for k, leaf in enumerate(main)}
    splits = moved(splits, group, main)
    table = np.array(leaves)[_nearest_within(balls, [group[leaf] for leaf in leaves], len(main))]
    rule = ByCentre(groups, _by_centre(sets.similarity, scales, balls), table)
    home = table[labels, rule.nearest.of(sets.similarity)[0]]
    places = {leaf: Place(float(lives[leaf].first), leaf) for leaf in leaves}
    out = Nested(root, splits, places, stand, home, top)
    out.rule = rule

    def core(group: Group, chain: int) -> DominantSet | None:
        if not group.children:
            return sets.of(Ball(*tree.ball(early[chain])))
        node = tree.life(chain, int(group.birth), int(group.death)) if chain >= 0 else None
        if node is not None and node.level >= 0:
            return sets.of(Ball(*tree.ball(node)))
        if group is not out.root:
            return None
        m = scales.objects.size  # of all objects there is a set at the top
        return sets.of(Ball.of(scales.sample.rows.mean(axis=0), np.full(m, 1.0 / m), tree.kappa(int(top))))

    out.settle(lambda level: scales.shift(tree.kappa(int(level))), core)
    return out


def _early(tree: ModeTree, lives: list[Node], leaves: list[int], splits: list[Split]) -> dict[int, Node]:
    """The balls of leaves before any other leaf merges with them, where they are groups by then."""
    ends = dict.fromkeys(leaves, tree.levels.size)
    for split in splits:
        for leaf in (split.leaf, split.parent):
            ends[leaf] = min(ends[leaf], int(split.level))
    nodes = [tree.life(leaf, None, ends[leaf]) for leaf in leaves]
    return {node.chain: node if node.level >= 0 else lives[node.chain] for node in nodes}


def _nearest_within(balls: list[Ball], group: list[int], n_groups: int) -> Ints:
    """For each group and each leaf, the place of that group's leaf with the nearest centre."""
    centres = np.array([ball.centre for ball in balls])
    squares = np.square(centres).sum(axis=1)
    t = squares[:, None] + squares - 2.0 * centres @ centres.T
    np.fill_diagonal(t, -1.0)
    return np.array([np.where(np.array(group) == k, t, np.inf).argmin(axis=1) for k in range(n_groups)])


def _by_centre(similarity: Similarity, scales: Scales, balls: list[Ball]) -> Labelling:
    """The rule that gives every object the ball with the nearest centre."""
    own = similarity.self_similarities(scales.objects)
    mixtures, inside = [], np.empty(len(balls))
    for k, start in enumerate(starts_of(scales, balls)):
        some, weights = start.members, balls[k].weights / balls[k].weights.sum()
        mixtures.append(arrivals_of(similarity).summarise(scales.objects[some], weights))
        # the mean squared distance from the centre is half the mean of own lengths less the centre's
        inside[k] = float(weights @ own[some]) - 2.0 * start.square
    level = np.zeros(len(balls))
    cores = Cores(mixtures, inside, level + 1.0, level)
    return Labelling(Rule(cores, 1.0, level, level, np.full(level.shape, np.inf)), Verdict(False, 0.0, ""))
