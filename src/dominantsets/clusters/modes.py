r"""The tree of modes: every group at its own scale.

A dominant set of features is a ball: with :math:`t_i` the squared distance of object i from its centre c,

.. math:: \sum_i \max(0, \rho^2 - t_i) = \kappa, \qquad u_i = \max(0, \rho^2 - t_i) / \kappa,
          \qquad c = \sum_i u_i x_i,

and :math:`\kappa` is the similarity of an object to its copy plus the shift. As :math:`\kappa` grows the
balls grow, and where one comes to lean on the objects of another it is absorbed by it: that makes a tree. A
*chain* is one ball followed over its life; a *node* is the part of a life between two absorptions that count.
Groups are nodes (:mod:`dominantsets.clusters.selection`), and whether one is more than chance shows in two
numbers (:mod:`dominantsets.clusters.evidence`):

- *persistence*. In a region of constant density of dimension D a ball grows as
  :math:`\kappa^{g}, g = D / (D + 2)`. F is the largest :math:`g \log(\kappa_2 / \kappa_1)` less the logarithm
  of what the ball has really grown by meanwhile: constant density would have grown :math:`e^F`-fold.
- *sharpness* s, 1 less the largest scatter of the ball's objects on one side of its centre, in units of what
  constant density has: 0 in a flat region, beside an edge and along a curve, near 1 with nothing around.

Everything happens on coordinates of a sample of the objects, in which squared distances are half those of
feature space; :math:`\kappa` is in proportion to the number of objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.evidence import Evidence, dimension
from dominantsets.compiled import modes
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.rows.points import NOBODY
from dominantsets.rows.rounding import unrounded
from dominantsets.similarity.located import Coordinates
from dominantsets.solvers import Monitor

LEAST = 8  # objects of a group, where nothing else is asked for
RATIO = float(np.sqrt(2.0))  # of kappa between two levels
STEPS, TOLERANCE = 60, 1e-7  # of the fixed point, for each level: the next one goes on from there
MEET = 0.25  # of the variance of a ball's top, below which two centres are one
NEIGHBOURS = (
    48  # among which a new ball is followed; the first levels and the dimension come from the nearest
)
WINDOW = 2  # levels on either side, over which it is seen where a ball stays the same
GRACE = 0.3  # seconds after Ctrl-C in which the groups so far are solved for among all objects
CLOSE = 1e-9  # relative, by which a radius may be found larger among fewer objects
HALF = 0.5  # of a ball's weight that must lie on objects of its own


@dataclass(eq=False)
class Node:
    """A group: a ball between two absorptions that count.

    Attributes
    ----------
    chain : int
        The ball.
    first, last : int
        Its levels: from ``first`` to ``last``, the latter excluded.
    persistence, sharpness : float
        How long it stays the same, and how sharply it stands out where it does.
    level : int
        Where it stays the same most: the level at which the group is taken. -1: it is no group anywhere.
    size : int
        Objects that the ball holds there.
    chance : float
        The logarithm of the number of such groups to be expected in data without structure.
    children : list of Node
        The groups that it absorbed.
    """

    chain: int
    first: int
    last: int = -1
    persistence: float = 0.0
    sharpness: float = 0.0
    level: int = -1
    size: int = 0
    chance: float = np.inf
    children: list[Node] = field(default_factory=list)


class ModeTree:
    """The balls of a sample, followed from few objects to all.

    Parameters
    ----------
    sample : Coordinates
        The objects.
    least : int
        How many objects a group must have.
    monitor : Monitor
        Its time limit, and Ctrl-C, end the tree between two levels: what has not merged stays apart.
    """

    def __init__(self, sample: Coordinates, least: int, monitor: Monitor) -> None:
        self.n = len(sample.rows)
        # squares of squares must not leave floating point, whatever the unit of the features
        self._unit = float(np.sqrt(max(np.square(sample.rows).max(initial=0.0), sample.extra.max(), 1e-300)))
        self.sample = sample
        rows = sample.rows if sample.extra.any() else unrounded(sample.rows)
        self._scaled = Coordinates(rows / self._unit, sample.extra / self._unit**2, sample.own)
        self._points = sample.points(self._scaled.rows, self._scaled.extra)
        near, who = self._points.nearest(min(self.n - 1, max(NEIGHBOURS, least)))
        self.dimension = dimension(near)
        self.least = min(least, near.shape[1])
        self._evidence = Evidence(self.n, self.dimension)
        self._places: list[tuple[Ints, Floats]] = []  # of each level: chains, and where their centres are
        self._state, self.levels = self._grow(near, who, monitor)
        self._logs = np.log(self.levels)

    def _grow(self, near: Floats, who: Ints, monitor: Monitor) -> tuple[modes.State, Floats]:
        sample, n, b = self._scaled, self.n, self.least
        squares = near[:, : b - 1] ** 2  # itself, at 0, is one of the b
        birth = b * squares[:, -1] - squares.sum(axis=1)
        spread = float((sample.rows**2).sum(axis=1).max() + sample.extra.max())
        top = 8.0 * n * max(spread, 1e-300)
        low = max(float(np.quantile(birth, 0.01)), 1e-20 * top)
        count = int(np.ceil(np.log(top / low) / np.log(RATIO))) + 1
        levels = low * RATIO ** np.arange(count, dtype=np.float64)
        state = _empty(sample, birth, who, levels.size)
        done = 0
        for level, kappa in enumerate(levels.tolist()):
            if level and monitor.out_of_time():  # the levels before are whole
                if monitor.interrupted:
                    monitor.hurry(GRACE)
                break
            self._advance(state, kappa, level)
            done = level + 1
            alive = state.alive[: state.counters[modes.CHAINS]]
            if np.count_nonzero(alive) == 1 and (state.holder >= 0).all():
                break
        return state, levels[:done]

    def _advance(self, state: modes.State, kappa: float, level: int) -> None:
        """One level: every ball is followed, objects join, new balls start, and those that have met merge."""
        live = np.flatnonzero(state.alive)
        state.centre[live], state.radius[live] = self._points.follow(
            state.centre[live], state.radius[live], np.full(live.size, kappa), STEPS, TOLERANCE
        )
        lists = self._inside(
            state, live, modes.Lists(np.full(self.n, -1), np.full(self.n, -1), NOBODY, np.arange(self.n))
        )
        if (state.holder < 0).any():
            modes.join(state, live, lists, kappa, level)
            modes.start(state, kappa, level, self.least, STEPS, TOLERANCE)
        before, live = live.size, np.flatnonzero(state.alive)
        lists = self._inside(state, live[before:], lists)
        by_size = live[np.argsort(state.size[live], kind="stable")]
        parts = thread_slices(live.size, 8)
        found = parallel_map(lambda part: modes.lean(state, by_size[part], lists, kappa, level), parts)
        modes.settle(state, by_size, _in_one(found), kappa, level, self.least, MEET)
        parallel_map(lambda part: modes.sharpen(state, live[part], lists, kappa, level), parts)
        large = live[state.own[live, level] >= self.least]
        self._places.append((large, state.centre[large]))

    def _inside(self, state: modes.State, chains: Ints, known: modes.Lists) -> modes.Lists:
        """With the objects in the balls of some more chains."""
        counts, objects = self._points.within(state.centre[chains], (1.0 + CLOSE) * state.radius[chains])
        ends = known.objects.size + np.cumsum(counts)
        known.begin[chains], known.end[chains] = ends - counts, ends
        return known._replace(objects=np.concatenate([known.objects, objects]))

    # nodes ----------------------------------------------------------------------------------------------

    def nodes(self, chance: float) -> list[Node]:
        """The roots of the tree of groups that are no likelier by chance than this (a logarithm).

        A life is cut only where a group is absorbed that counts, so that chance groups cut nothing.
        """
        state, count = self._state, int(self._state.counters[modes.CHAINS])
        current = [Node(a, int(state.born[a])) for a in range(count)]
        dead = np.flatnonzero(state.died[:count] >= 0)
        for a in dead[np.argsort(state.sequence[dead])].tolist():
            level, b = int(state.died[a]), int(state.into[a])
            groups = self._groups(current[a], level, chance)
            if groups:
                others = self._groups(current[b], level, chance)
                current[b] = Node(b, level, children=others + groups)
        roots = [current[a] for a in range(count) if state.died[a] < 0]
        for root in roots:
            self._close(root, self.levels.size)
        return roots

    def _groups(self, node: Node, level: int, chance: float) -> list[Node]:
        """A node that ends here, if it is a group; else those that it absorbed."""
        self._close(node, level)
        return [node] if node.chance < chance else node.children

    def _close(self, node: Node, last: int) -> None:
        """What a node is worth, now that its end is known."""
        state, a, node.last = self._state, node.chain, last
        span = slice(node.first, last)
        own, sharp = state.own[a, span], state.sharpness[a, span]
        able = np.flatnonzero((own >= self.least) & (state.share[a, span] >= HALF))
        if not able.size:
            return
        grown = np.log(np.maximum(np.maximum.accumulate(own), 1))
        gain = self._evidence.flat * self._logs[span] - grown
        steps = gain[able] - np.minimum.accumulate(gain[able])
        node.persistence, at = float(steps.max()), able[int(steps.argmax())]
        chances = self._evidence.of_sharpness(sharp[able], own[able])
        node.chance = self._evidence.together(
            self._evidence.of_persistence(node.persistence, int(own[at])), float(chances.min())
        )
        foreign = 1.0 - own[able] / np.maximum(state.mass[a, span][able], 1)
        unrest = self._change(a, node.first, last, able) + 1.0 / np.sqrt(own[able]) + foreign
        best = int(able[int(np.argmin(unrest))])
        if node.first + best == state.born[a] and best + 1 in able and own[best + 1] == own[best]:
            best += 1  # where a ball begins its farthest object is on the edge, and has no weight
        node.level, node.size = node.first + int(best), int(own[best])
        node.sharpness = float(sharp[best])

    def _change(self, a: int, first: int, last: int, places: Ints) -> Floats:
        """How fast a ball grows about some of its levels: the exponent of kappa."""
        level = first + places
        before, after = np.maximum(level - WINDOW, first), np.minimum(level + WINDOW, last - 1)
        mass = np.maximum(self._state.mass[a], 1)
        width = (after - before) * np.log(RATIO)
        change = np.abs(np.log(mass[after] / mass[before]))
        return np.where(width > 0, change / np.maximum(width, 1e-300), 1.0)

    def lives(self) -> list[Node]:
        """Every ball over its whole life, whatever it absorbed."""
        return [self.life(a) for a in range(int(self._state.counters[modes.CHAINS]))]

    def life(self, chain: int, first: int | None = None, last: int | None = None) -> Node:
        """A ball between two levels; where they are not given, from its beginning and to its end."""
        born, died = int(self._state.born[chain]), int(self._state.died[chain])
        node = Node(chain, born if first is None else first)
        self._close(node, (died if died >= 0 else self.levels.size) if last is None else last)
        return node

    def absorptions(self) -> list[tuple[int, int, int]]:
        """Which ball was absorbed, by which one, and at which level: in the order in which it happened."""
        state = self._state
        dead = np.flatnonzero(state.died >= 0)
        dead = dead[np.argsort(state.sequence[dead])]
        return list(zip(dead.tolist(), state.into[dead].tolist(), state.died[dead].tolist(), strict=True))

    def kappa(self, level: int) -> float:
        """The kappa of a level, of the last one at the most."""
        return float(self.levels[min(level, self.levels.size - 1)]) * self._unit**2

    def span(self, node: Node) -> tuple[float, float]:
        """The values of kappa between which a node lives."""
        return self.kappa(node.first), self.kappa(node.last)

    def place(self, node: Node) -> tuple[Floats, float]:
        """Centre and squared radius of a node's ball, as the tree has it."""
        chains, centres = self._places[node.level]
        centre = centres[int(np.searchsorted(chains, node.chain))] * self._unit
        return centre, float(self._state.radii[node.chain, node.level]) * self._unit**2

    def balls(
        self, nodes: Sequence[Node], level: int | None = None
    ) -> list[tuple[Floats, Ints, Floats, float]]:
        """Centres of nodes' balls, the objects in each and their weights, and their kappas."""
        if not nodes:
            return []
        X, extra = self._scaled.rows, self._scaled.extra
        levels = [node.level if level is None else level for node in nodes]
        kappa, centres, radii = self.levels[levels], np.empty((len(nodes), X.shape[1])), np.empty(len(nodes))
        for k, (node, at) in enumerate(zip(nodes, levels, strict=True)):
            chains, places = self._places[at]
            centres[k] = places[int(np.searchsorted(chains, node.chain))]
            radii[k] = self._state.radii[node.chain, at]
        centres, radii = self._points.follow(centres, radii, kappa, 4 * STEPS, 1e-3 * TOLERANCE)
        counts, objects = self._points.within(centres, (1.0 + CLOSE) * radii)
        out, t = [], np.empty(self.n)
        for k, some in enumerate(np.split(objects, np.cumsum(counts)[:-1])):
            r2 = modes.ball_among(X, extra, some, centres[k], kappa[k], radii[k], t)
            weights = np.maximum(r2 - t[: some.size], 0.0) / kappa[k]
            inside = weights > 0.0
            out.append(
                (centres[k] * self._unit, some[inside], weights[inside], float(kappa[k]) * self._unit**2)
            )
        return out

    def ball(self, node: Node, level: int | None = None) -> tuple[Floats, Ints, Floats, float]:
        """Centre of a node's ball, the objects in it and their weights, and its kappa."""
        return self.balls([node], level)[0]


def _in_one(parts: list[modes.Leanings]) -> modes.Leanings:
    """Leanings of some balls and of the next ones, as those of all."""
    before = np.cumsum([0, *(part.holder.size for part in parts)])
    ends = [part.end + first for part, first in zip(parts, before[:-1], strict=True)]
    others = (np.concatenate([part[k] for part in parts]) for k in range(1, 5))
    return modes.Leanings(np.concatenate(ends), *others)


def _empty(sample: Coordinates, birth: Floats, near: Ints, levels: int) -> modes.State:
    """The state before the first level; there are never more chains than objects."""
    n, d = sample.rows.shape
    ints = np.full((5, n), -1, dtype=np.int64)
    born, died, into, sequence, first = ints
    return modes.State(
        X=sample.rows,
        extra=sample.extra,
        birth=birth,
        order=np.argsort(birth, kind="stable"),
        near=near,
        holder=np.full(n, -1, dtype=np.int64),
        first=first,
        joined=np.full(n, -1, dtype=np.int64),
        centre=np.empty((n, d)),
        radius=np.zeros(n),
        size=np.zeros(n, dtype=np.int64),
        alive=np.zeros(n, dtype=bool),
        born=born,
        died=died,
        into=into,
        sequence=sequence,
        counters=np.zeros(2, dtype=np.int64),
        own=np.zeros((n, levels), dtype=np.int64),
        mass=np.zeros((n, levels), dtype=np.int64),
        share=np.zeros((n, levels)),
        sharpness=np.full((n, levels), -np.inf),
        radii=np.zeros((n, levels)),
    )
