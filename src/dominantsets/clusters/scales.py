r"""Every cluster at its own scale: a sample's tree of modes, and its groups among all objects.

A ball that holds a share of a sample of m at :math:`\kappa_m` holds the same share of all n objects at
:math:`\kappa = \kappa_m n / m`; the shift is :math:`\kappa` less the similarity of an object to its copy. So
each group of the tree becomes a problem of its own, solved from where the sample has it: every cluster is a
dominant set of all the objects, with the certificate of its own shift.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.balls import SAME, Ball, balls_of, distinct
from dominantsets.clusters.claims import Claims
from dominantsets.clusters.filling import FEWEST, Explained, fillers
from dominantsets.clusters.modes import LEAST, ModeTree, Node
from dominantsets.clusters.selection import by_evidence, by_number, groups
from dominantsets.compiled import modes
from dominantsets.labels.clouds import FEW_DIMENSIONS, Start, fit_clouds
from dominantsets.rows.rounding import distinct as distinct_rows
from dominantsets.similarity import Similarity
from dominantsets.similarity.base import evenly
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.located import Coordinates, located
from dominantsets.solvers import DominantSet, Monitor, Point, SolverOptions, make_problem
from dominantsets.solvers.result import HALTS, End

SAMPLE = 6_000  # objects of the tree, and so many for each cluster that is asked for or found
SAMPLE_A_CLUSTER = 40
CLOSER = 4  # times as many objects, where groups are hardly seen
WORTH = 2.0  # times as many objects, below which a second tree shows hardly more than the first
SAMPLE_OF_MATRIX = 4_000  # where a matrix of them has to be formed
ROUNDS = 10  # of moving centres, to compare choices
NUMBERS = 2**22  # distances of objects from balls that are made at once
GREEDY = 2e8  # distances that may be compared to choose some groups of many
NEARLY = 0.9  # of the significant groups, when as many clusters are meant
FILLERS = 0.2  # of the clusters that may be there to fill up, where others are called noise


class Scales:
    """The groups of a similarity, each at its own scale, as a sample has them.

    Attributes
    ----------
    objects : ndarray of int
        The sample.
    sample : Coordinates
        Its objects as points.
    tree : ModeTree or None
        Its tree; None where all objects are alike, or too few.
    balls : list of Ball
        The groups.
    roots : list of Node
        The tree that the groups are of.
    """

    def __init__(
        self,
        similarity: Similarity,
        spread: Callable[[int], Ints],
        n_clusters: int | None,
        min_cluster_size: int,
        monitor: Monitor,
    ) -> None:
        self.n, self._similarity = similarity.n, similarity
        self._wanted, self._least = n_clusters, min_cluster_size
        self.tree: ModeTree | None = None
        self.balls: list[Ball] = []
        self.roots: list[Node] = []
        self.significant: list[Ball] = []  # where a number was asked for
        size = SAMPLE if n_clusters is None else max(SAMPLE, SAMPLE_A_CLUSTER * n_clusters)
        large = located(similarity).large_sample
        if size <= large < WORTH * size:  # not worth a second tree, but a larger first
            size = large
        while True:
            self._look(spread, size, monitor)
            # more clusters than expected: each needs some objects of its own in the sample
            needed = SAMPLE_A_CLUSTER * len(self.balls)
            enough = self._size >= min(self.n, self._limit(needed))
            closer = self._closer() if enough else 0
            if (enough and not closer) or monitor.interrupted or monitor.out_of_time():
                break
            size = closer or int(1.5 * needed)

    @property
    def all_significant(self) -> bool:
        """Whether all groups are significant, because no number was asked for."""
        return self._wanted is None

    def _closer(self) -> int:
        """The size of a larger sample, where groups are hardly seen in this one and a tree costs little.

        A group that the sample has no more than twice the least objects of says that there may be smaller
        ones, which it cannot show.
        """
        size = min(CLOSER * self.objects.size, located(self._similarity).large_sample, self.n)
        nodes = [ball.node for ball in self.significant or self.balls if ball.node is not None]
        hardly = self.tree is not None and any(node.size < 2 * self.tree.least for node in nodes)
        return size if hardly and len(nodes) > 1 and size >= WORTH * self.objects.size else 0

    def _limit(self, size: int) -> int:
        return located(self._similarity).sample_limit(size, SAMPLE_OF_MATRIX)

    def _look(self, spread: Callable[[int], Ints], size: int, monitor: Monitor) -> None:
        self.objects = spread(self._limit(size))
        self.sample = located(self._similarity).coordinates(self.objects)
        self._size = self.objects.size
        if not self.sample.extra.any():
            once = distinct_rows(self.sample.rows)
            if once.size < self._size:  # copies count once
                self.objects = self.objects[once]
                self.sample = located(self._similarity).coordinates(self.objects)
        self._points = self.sample.points(self.sample.rows, self.sample.extra)
        if self.objects.size < 4 or not self._apart():
            if self._wanted is None or self._wanted == 1 or not self._apart():
                self._one()
            if self._wanted is not None:
                self._fill_up(self._wanted)
            return
        m, wanted = self.objects.size, self._wanted
        fewest = FEWEST if wanted is None else min(FEWEST, max(2, m // (2 * wanted)))  # pairs, of few objects
        least = LEAST if wanted is None else max(fewest, min(LEAST, m // (2 * wanted)))
        least = max(least, min(m // 2, round(self._least * m / self.n))) if self._least > 1 else least
        self.tree = tree = ModeTree(self.sample, least, monitor)
        twins = 0
        while True:
            nodes, self.roots = by_evidence(tree) if wanted is None else by_number(tree, wanted + twins)
            self.balls = distinct(balls_of(tree, nodes))
            more = len(nodes) - len(self.balls)
            if wanted is None or more <= twins or len(nodes) < wanted + twins:
                break
            twins = more
        if wanted is not None:
            self.significant = distinct(balls_of(tree, by_evidence(tree)[0]))
            if len(self.significant) > wanted:
                self._instead(wanted)
            elif self.significant and len(self.significant) < wanted:
                self._fill_up(wanted)
                self._filled(tree, wanted)
        if not self.balls:
            self._one()
        if wanted is not None:
            self._fill_up(wanted)

    def _filled(self, tree: ModeTree, wanted: int) -> None:
        """Where fewer groups are significant than are wanted: those and others, if that explains more."""
        found = {(ball.node.chain, ball.node.level) for ball in self.significant if ball.node is not None}
        doubtful = [node for node in groups(tree.nodes(np.inf)) if (node.chain, node.level) not in found]
        more = fillers(self._explained(self.significant), tree, doubtful, wanted - len(self.significant))
        few = iter(self._about([part for part in more if not isinstance(part, Node)]))
        others = [Ball(*tree.ball(part), part) if isinstance(part, Node) else next(few) for part in more]
        balls = self.significant + others
        if len(balls) < wanted or len(self.balls) < wanted:
            self.balls = max(balls, self.balls, key=len)
        elif self._explained(balls).settle() > self._explained(self.balls).settle():
            self.balls = balls

    def _explained(self, balls: list[Ball]) -> Explained:
        rows, extra = self.sample.rows, self.sample.extra
        centres = np.array([ball.centre for ball in balls])
        squares, shares = np.empty(len(balls)), np.empty(len(balls))
        for k, ball in enumerate(balls):
            inside = ball.members
            shares[k] = max(1.0, float(inside.size)) / len(rows)
            squares[k] = float((np.square(rows[inside] - centres[k]).sum(axis=1) + extra[inside]).mean())
        assert self.tree is not None
        return Explained(self.sample, self.tree.dimension, centres, squares, shares)

    def _about(self, parts: list[Ints]) -> list[Ball]:
        """Balls of a few objects each."""
        balls: list[Ball] = []
        height = max(1, NUMBERS // self.objects.size)
        for begin in range(0, len(parts), height):
            some = parts[begin : begin + height]
            centres = np.array([self.sample.rows[part].mean(axis=0) for part in some])
            t = self._points.squares(centres)
            sums = [(2.0 * t[part, k].max() - t[part, k]).sum() for k, part in enumerate(some)]
            balls += self._at_rest(centres, t, np.maximum(sums, 1e-300))
        return balls

    def _at_rest(self, centres: Floats, t: Floats, kappa: Floats) -> list[Ball]:
        """Where balls come to rest, from some centers at these squared distances of all objects."""
        radii = np.array([modes.radius(*one, 0.0) for one in zip(t.T, kappa, strict=True)])
        centres, radii = self._points.follow(centres, radii, kappa, 50, 1e-9)
        weights = np.maximum(radii - self._points.squares(centres), 0.0) / kappa
        return [Ball.of(*one) for one in zip(centres, weights.T, kappa.tolist(), strict=True)]

    def _instead(self, wanted: int) -> None:
        """Where more groups are significant than are wanted: the choice with objects nearest to a centre."""
        found = self.significant
        choices = [self.balls, sorted(found, key=lambda ball: -ball.members.size)[:wanted]]
        choices.append(_spread(choices[1][0], found, wanted))
        if wanted * len(found) * self.objects.size < GREEDY:
            choices.append(self._greedy(found, wanted))
        self.balls = min((c for c in choices if len(c) == wanted), key=self._distances, default=self.balls)

    def _greedy(self, balls: list[Ball], wanted: int) -> list[Ball]:
        """So many balls, each the one that brings objects nearest to a centre."""
        rows, centres = self.sample.rows, np.array([ball.centre for ball in balls])
        t = np.square(rows).sum(axis=1)[:, None] - 2.0 * rows @ centres.T + np.square(centres).sum(axis=1)
        chosen: list[int] = []
        nearest = np.full(len(rows), np.inf)
        for _ in range(wanted):
            sums = np.minimum(t, nearest[:, None]).sum(axis=0)
            sums[chosen] = np.inf
            chosen.append(int(sums.argmin()))
            nearest = np.minimum(nearest, t[:, chosen[-1]])
        return [balls[k] for k in chosen]

    def _distances(self, balls: list[Ball]) -> float:
        """The mean squared distance from the nearest centre, once the centres have moved to their objects."""
        starts = starts_of(self, balls)
        found = fit_clouds(self.sample, starts, dimension=1.0, common=True, rounds=ROUNDS, steady=0.0)
        return float(f"{found.clouds.variances[0]:.12g}")  # the same in whatever order

    def _apart(self) -> bool:
        """Whether objects differ by more than rounding."""
        spread = float(np.square(self.sample.rows).sum(axis=1).max(initial=0.0) + self.sample.extra.max())
        return spread > max(bounds_of(self._similarity).rounding, 1e-13 * abs(self.sample.own))

    def _one(self) -> None:
        """All objects as one group: the largest ball of the tree, or equal weights where there is none."""
        rows, m = self.sample.rows, self.objects.size
        if self.roots and self.tree is not None:
            root = max(self.roots, key=lambda node: node.size)
            if root.level >= 0:
                self.balls = [Ball(*self.tree.ball(root), root)]
                return
        spread = float(np.square(rows - rows.mean(axis=0)).sum(axis=1).max(initial=0.0))
        kappa = (
            4.0 * m * max(spread + float(self.sample.extra.max()), 0.25 * abs(self.sample.own) / m, 1e-300)
        )
        self.balls = [Ball.of(rows.mean(axis=0), np.full(m, 1.0 / m), kappa)]

    def _fill_up(self, wanted: int) -> None:
        """Small balls about the objects that lie farthest from every group, in its radii."""
        rows, extra, m = self.sample.rows, self.sample.extra, self.objects.size
        if m < 2 * wanted:  # hardly any two can be together
            self.balls = []
        if len(self.balls) >= min(wanted, m):
            return
        away, held = np.full(m, np.inf), [list[int]() for _ in range(m)]
        height = max(1, NUMBERS // m)
        for begin in range(0, len(self.balls), height):
            some = self.balls[begin : begin + height]
            t = self._points.squares(np.array([ball.centre for ball in some]))
            for k, ball in enumerate(some):
                self._farther(away, ball, t[:, k])
                for j in ball.members.tolist():
                    held[j].append(begin + k)
        while len(self.balls) < min(wanted, m):
            i = int(away.argmax())
            if not away[i] > 0.0:
                return
            t = self._points.squares(rows[i][None])
            t[i, 0] -= extra[i]
            near = np.partition(t[:, 0], min(FEWEST, m - 1))[: FEWEST + 1]
            nearest = float(t[t > 0].min(initial=float(t.max(initial=0.0)) or 1.0))
            kappa = max(float((near.max() - near).sum()), 0.5 * nearest)
            ball = self._at_rest(rows[i][None], t, np.array([kappa]))[0]
            shared: dict[int, float] = {}
            for j, weight in zip(ball.members.tolist(), ball.weights.tolist(), strict=True):
                for other in held[j]:
                    shared[other] = shared.get(other, 0.0) + weight
            if m < 2 * FEWEST * wanted or max(shared.values(), default=0.0) > SAME:
                ball = Ball.of(rows[i].copy(), np.eye(1, m, i)[0], 0.5 * nearest)
            for j in ball.members.tolist():
                held[j].append(len(self.balls))
            self.balls.append(ball)
            self._farther(away, ball, self._points.squares(ball.centre[None])[:, 0])
            away[i] = 0.0

    def _farther(self, away: Floats, ball: Ball, t: Floats) -> None:
        """The distances from the nearest group, with one more; objects in it are at 0."""
        t = np.maximum(t - self.sample.extra, 0.0)
        unit = max(float(t[ball.members].max(initial=0.0)), 1e-3 * float(t.max(initial=0.0)), 1e-300)
        np.minimum(away, t / unit, out=away)
        away[ball.members] = 0.0

    def more(self, labels: Ints, found: int) -> bool:
        """Where balls turned out to be others' among all objects: objects by themselves instead.

        ``labels`` are those of the clusters found so far. Each of the objects lies farthest from all centers,
        those of the objects before it too, and outside the clusters if one does. All that are missing come
        at once, so that they are solved together: a pass over all objects for each would take longer.
        """
        rows, m = self.sample.rows, self.objects.size
        if self._wanted is None or found >= self._wanted or len(self.balls) >= 2 * self._wanted:
            return False
        away = self.sample.points(rows, np.zeros(m)).away(np.array([ball.centre for ball in self.balls]))
        outside, before = labels[self.objects] < 0, len(self.balls)
        for _ in range(min(self._wanted - found, 2 * self._wanted - before)):
            free = np.where(outside & (away > 0.0), away, -1.0)
            i = int(free.argmax() if free.max() > 0.0 else away.argmax())
            t = np.square(rows - rows[i]).sum(axis=1)
            nearest = float(t[t > 0.0].min(initial=np.inf))
            if not away[i] > 0.0 or not np.isfinite(nearest):
                break
            self.balls.append(Ball(rows[i].copy(), np.array([i]), np.ones(1), 0.5 * nearest * m / self.n))
            np.minimum(away, t, out=away)
        return len(self.balls) > before

    def shift(self, kappa: float) -> float:
        """The shift for all objects at which a ball of the sample is a cluster of them."""
        own = self.sample.own
        # copies are a set at every small kappa, which rounding must not make 0
        return max(kappa * self.n / self.objects.size - own, 4.0 * float(np.spacing(abs(own))) - own)

    @property
    def has_clouds(self) -> bool:
        """Whether the groups are clouds of points, and not directions."""
        return located(self._similarity).has_clouds

    @property
    def is_one(self) -> bool:
        """Whether no group stands out: all of the data are one."""
        return len(self.balls) == 1 and (self.tree is None or self.balls[0].node in self.roots)

    def hidden(self, found: int) -> str:
        """Why what is outside so many clusters may be clusters itself; empty where nothing speaks for it."""
        if self.is_one:
            return "no group stands out"
        if self._wanted is None:
            return ""
        n_groups = len(self.significant)
        if n_groups * NEARLY > found:
            return f"{n_groups} groups are significant, more than were asked for"
        # in few dimensions clusters under noise are often short of evidence, and are clusters all the same
        if found - n_groups > FILLERS * found and self.sample.rows.shape[1] > FEW_DIMENSIONS:
            return f"{found - n_groups} of {found} clusters only fill up the number that was asked for"
        return ""

    def groups(self) -> list[Node]:
        """All nodes of the tree that are groups somewhere, clusters or not."""
        return groups(self.roots)


def _spread(first: Ball, balls: list[Ball], count: int) -> list[Ball]:
    """So many balls, each the farthest from those before it."""
    chosen, centres = [first], np.array([ball.centre for ball in balls])
    away = np.square(centres - first.centre).sum(axis=1)
    while len(chosen) < count:
        chosen.append(balls[int(away.argmax())])
        away = np.minimum(away, np.square(centres - chosen[-1].centre).sum(axis=1))
    return chosen


class OwnScales(Iterator[DominantSet]):
    """The clusters of some scales among all objects, found one by one as they are asked for.

    Attributes
    ----------
    end : End or None
        Why there are no more; None while there may be.
    labels : ndarray of int
        The number of each object's cluster; of one in several, the first.
    balls : list of Ball
        What the clusters found so far come from.
    """

    def __init__(
        self, similarity: Similarity, scales: Scales, options: SolverOptions, monitor: Monitor, least: int
    ) -> None:
        self._similarity, self._scales, self._options = similarity, scales, options
        self._monitor, self._least = monitor, least
        self.end: End | None = None
        self.balls: list[Ball] = []
        self._next = 0
        self._claims = Claims(similarity.n)
        self._solutions: Iterator[list[DominantSet]] = iter(())
        self._asked = 0  # balls up to which they go
        self._solved: deque[DominantSet] = deque()  # those that have come together

    @property
    def labels(self) -> Ints:
        """The number of each object's cluster; of one in several, the first."""
        return self._claims.labels

    def restore(self, clusters: list[DominantSet]) -> None:
        """Take up clusters that an earlier run of the same problem found."""
        for cluster in clusters:
            same = [
                k
                for k in range(self._next, len(self._scales.balls))
                if abs(self._shift(k) - cluster.shift) <= 1e-9 * (1.0 + abs(cluster.shift))
            ]
            self._next = same[0] + 1 if same else self._next + 1
            self._claims.take(cluster.members, anyway=True)
            self.balls.append(self._scales.balls[self._next - 1])

    def _shift(self, k: int) -> float:
        return self._scales.shift(self._scales.balls[k].kappa)

    def __next__(self) -> DominantSet:
        balls = self._scales.balls
        while self.end is None:
            if self._next >= len(balls) and not self._scales.more(self.labels, len(self.balls)):
                self.end = End.N_CLUSTERS
                break
            if self.balls and self._monitor.out_of_time():
                self.end = End.TIME_LIMIT
                break
            ball = balls[self._next]
            found = self._solve()
            if found is None:
                self.end = End.INTERRUPTED if self._monitor.interrupted else End.TIME_LIMIT
                break
            self._next += 1
            self.end = HALTS.get(found.status)
            if len(found) >= self._least and self._claims.take(found.members):
                self.balls.append(ball)
                return found
        raise StopIteration

    def _solve(self) -> DominantSet | None:
        """The dominant set of the next ball; where all can be solved together, they are.

        None where the run ended before it was solved.
        """
        self._monitor.n_clusters = len(self.balls)
        self._monitor.n_left = self._similarity.n - sum(self._claims.sizes)
        if self._asked <= self._next:
            balls, self._asked = self._scales.balls[self._next :], len(self._scales.balls)
            self._solutions = all_solved(self._similarity, self._scales, balls, self._options, self._monitor)
        if not self._solved:
            self._solved.extend(next(self._solutions, ()))
            if not self._solved:
                return None
        return self._solved.popleft()


def keep_scales(similarity: Similarity, scales: Scales, monitor: Monitor) -> None:
    """Keep the significant groups of a similarity for the plan of its fit, unless they were cut short."""
    if not (monitor.interrupted or monitor.out_of_time()):
        similarity.__dict__["_kept_scales"] = scales


def kept_scales(similarity: Similarity, n_clusters: int | None, min_cluster_size: int) -> Scales | None:
    """The groups that were kept, once, where these are asked for: all significant ones of any size."""
    scales: Scales | None = similarity.__dict__.pop("_kept_scales", None)
    return scales if n_clusters is None and min_cluster_size == 1 else None


def solved(
    similarity: Similarity, scales: Scales, ball: Ball, shift: float, options: SolverOptions, monitor: Monitor
) -> DominantSet:
    """The dominant set of all objects at a shift, from where the sample has it."""
    point = Point(scales.objects[ball.members], ball.weights / ball.weights.sum())
    return make_problem(similarity, shift).solve_from(
        point, options.chosen_for(similarity, shift, 0), monitor
    )


def all_solved(
    similarity: Similarity, scales: Scales, balls: list[Ball], options: SolverOptions, monitor: Monitor
) -> Iterator[list[DominantSet]]:
    """The dominant sets of all objects from where the sample has some balls, each at its shift."""
    shifts = np.array([scales.shift(ball.kappa) for ball in balls])
    starts = [Point(scales.objects[ball.members], ball.weights / ball.weights.sum()) for ball in balls]
    return make_problem(similarity, float(shifts[0])).solve_each(starts, shifts, options, monitor)


def starts_of(scales: Scales, balls: list[Ball]) -> list[Start]:
    """Where the labelling begins: the balls of the sample."""
    rows, extra = scales.sample.rows, scales.sample.extra
    out = []
    for ball in balls:
        some = ball.members
        t = np.square(rows[some] - ball.centre).sum(axis=1) + extra[some]
        out.append(Start(ball.centre, float(ball.weights @ t) / float(ball.weights.sum()), some))
    return out


def starts_from(sample: Coordinates, objects: Ints, clusters: list[DominantSet]) -> list[Start]:
    """Where the labelling begins, from clusters of which the sample has members."""
    out = []
    for cluster in clusters:
        places = np.searchsorted(objects, cluster.members)
        places[places == objects.size] = 0
        here = objects[places] == cluster.members
        weights = np.zeros(objects.size)
        weights[places[here]] = cluster.weights[here]
        weights /= weights.sum()
        centre = weights @ sample.rows
        t = np.square(sample.rows - centre).sum(axis=1) + sample.extra
        out.append(Start(centre, float(weights @ t), np.flatnonzero(weights)))
    return out


def chosen(degrees: Floats, count: int) -> Ints:
    """So many objects, spread evenly over the order of their degrees: the same ones in whatever order."""
    return np.sort(evenly(np.argsort(degrees, kind="stable"), count))
