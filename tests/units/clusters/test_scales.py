"""Every cluster at its own scale: what must not matter, and what must hold."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, as_similarity
from dominantsets.clusters import scales as module
from dominantsets.clusters.balls import Ball
from dominantsets.clusters.modes import ModeTree
from dominantsets.clusters.scales import OwnScales, Scales, chosen, starts_from, starts_of
from dominantsets.rows.points import Points
from dominantsets.similarity.located import Coordinates, located
from dominantsets.solvers import Monitor, SolverOptions
from support import unequal

# the units and the order of objects -------------------------------------------------------------------


def test_a_sample_finds_what_all_objects_have(monkeypatch):
    """The groups of a part of the objects, taken to all of them."""
    X, _ = unequal(2_000)
    whole = DominantSets(affinity="sqeuclidean").fit(X)
    monkeypatch.setattr("dominantsets.clusters.scales.SAMPLE", 500)
    part = DominantSets(affinity="sqeuclidean").fit(X)
    assert part.selection_.n_objects == 500
    assert part.n_clusters_ == whole.n_clusters_ == 4
    assert adjusted_rand_score(whole.labels_, part.labels_) > 0.95
    S = as_similarity(X, "sqeuclidean")
    degrees = S.degrees()
    order = np.random.default_rng(0).permutation(len(X))
    some, again = chosen(degrees, 300), chosen(degrees[order], 300)
    assert len(set(some.tolist())) == 300
    assert set(order[again]) == set(some)


# the tree itself --------------------------------------------------------------------------------------


def test_the_tree_of_a_few_groups():
    """Levels rise by a constant ratio, all objects end in one ball, and groups die after they were born."""
    X, _ = unequal(300)
    S = as_similarity(X, "sqeuclidean")
    rows = located(S).coordinates(np.arange(len(X))).rows
    tree = ModeTree(located(S).coordinates(np.arange(len(X))), 8, Monitor())
    np.testing.assert_allclose(tree.levels[1:] / tree.levels[:-1], np.sqrt(2.0))
    (root,) = tree.nodes(0.0)
    assert len(root.children) >= 2
    for node in root.children:
        assert node.first <= node.level < node.last
        low, high = tree.span(node)
        centre, members, mine, kappa = tree.ball(node)
        weights = np.zeros(len(X))
        weights[members] = mine
        assert low <= kappa <= high
        assert weights.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(weights @ rows, centre, atol=1e-3 * np.sqrt(kappa))
        t = np.square(rows - centre).sum(axis=1)
        r2 = (t + kappa * weights)[weights > 0]
        np.testing.assert_allclose(r2, r2[0], rtol=1e-9)  # sum (r2 - t) = kappa over those inside
        assert t[weights == 0].min(initial=np.inf) >= r2[0] * (1 - 1e-9)


def scales_of(X, wanted=None, least=1):
    S = as_similarity(X, "sqeuclidean")
    return Scales(S, located(S).spread(), wanted, least, Monitor())


def test_one_of_several_groups_is_not_all_there_is():
    assert not scales_of(unequal()[0], 1).is_one
    assert not scales_of(unequal()[0]).is_one
    assert scales_of(np.random.default_rng(0).normal(size=(60, 2))).is_one
    assert scales_of(np.ones((9, 2))).is_one


def test_how_many_objects_a_group_has_at_least():
    """8, fewer where many clusters are asked for: half of the objects of each; more where it is asked for."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    for wanted, least, expected in (
        (None, 1, 8),
        (None, 20, 20),
        (3, 1, 8),
        (5, 1, 6),
        (9, 1, 3),
        (14, 1, 2),
    ):
        assert scales_of(X, wanted, least).tree.least == expected
    assert scales_of(X, 5, 50).tree.least == 30  # no more than half of them


def test_a_ball_that_fills_up_has_the_nearest_objects_of_the_farthest_one():
    X, y = make_blobs(120, centers=[(0.0, 0.0), (12.0, 0.0)], random_state=0)
    X[0], X[1:4] = [6.0, 30.0], [[6.0, 29.0], [5.5, 29.5], [6.8, 30.2]]
    scales = scales_of(X, 2)
    scales._fill_up(3)
    assert [ball.node is None for ball in scales.balls] == [False, False, True]
    rows, last = scales.sample.rows, scales.balls[-1]
    kappas = []
    for i in range(4):  # whichever of them is the farthest
        near = np.sort(np.square(rows - rows[i]).sum(axis=1))[:4]  # itself and three more
        kappas.append(float((near.max() - near).sum()))
    assert np.isclose(last.kappa, kappas).any()
    assert set(last.members) <= {0, 1, 2, 3}
    assert last.weights.sum() == pytest.approx(1.0)
    assert set(y[scales.balls[0].members[4:]]) != set(y[scales.balls[1].members[4:]])


def bare(**parts):
    """Groups of which only some parts are there."""
    out = object.__new__(Scales)
    out.__dict__.update({"tree": None, "roots": [], "balls": [], "significant": [], "_wanted": 4, **parts})
    return out


def test_why_what_is_outside_may_be_clusters():
    for alone, d, words in (
        (5, 2, "5 groups are significant, more than were asked for"), (4, 9, ""), (3, 4, ""),
        (3, 5, "1 of 4 clusters only fill up the number that was asked for"),
    ):  # fmt: skip
        here = {"significant": [None] * alone, "sample": Coordinates(np.zeros((9, d)), np.zeros(9), 0.0)}
        assert bare(balls=[1, 2], **here).hidden(4) == words
        assert bare(balls=[1, 2], **{**here, "_wanted": None}).hidden(4) == ""
    assert bare(balls=[1]).hidden(1).startswith("no group stands out")


def test_when_a_larger_sample_is_looked_at(monkeypatch):
    """Four times as many, where some of several groups is hardly seen; not for less than twice as many."""

    monkeypatch.setattr("dominantsets.clusters.scales.located", lambda similarity: similarity)

    def closer(*sizes, most=1_000, n=9_000):
        balls = [SimpleNamespace(node=SimpleNamespace(size=size)) for size in sizes]
        similarity, tree = SimpleNamespace(large_sample=most), SimpleNamespace(least=8)
        here = {"significant": balls, "tree": tree, "_similarity": similarity, "n": n}
        return bare(objects=np.arange(100), **here)._closer()

    assert closer(15, 50) == 400
    assert closer(16, 50) == 0
    assert closer(15) == 0
    assert closer(15, 50, most=250) == closer(15, 50, n=250) == 250
    assert closer(15, 50, most=200) == 200
    assert closer(15, 50, most=199) == 0


def test_which_of_many_balls_bring_objects_near():
    """Greedily, each the best one more; and the mean square once centres have moved, by plain k-means."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2)) + 8.0 * rng.integers(0, 3, (60, 1))
    scales = bare(sample=Coordinates(rows, np.zeros(60), 0.0))
    balls = [Ball(at, np.arange(1), np.ones(1), 1.0) for at in rows[:8]]
    left, nearest, expected = list(range(8)), np.full(60, np.inf), []
    for _ in range(3):
        away = {k: np.minimum(nearest, np.square(rows - rows[k]).sum(axis=1)) for k in left}
        best = min(left, key=lambda k: away[k].sum())
        left.remove(best)
        nearest = away[best]
        expected.append(balls[best])
    assert scales._greedy(balls, 3) == expected
    centres = rows[:4].copy()
    for _ in range(50):  # long after they have come to rest
        t = np.square(rows[:, None] - centres).sum(axis=2)
        mean = t.min(axis=1).mean()
        mine = t.argmin(axis=1)
        centres = np.array(
            [rows[mine == k].mean(axis=0) if (mine == k).any() else centres[k] for k in range(4)]
        )
    assert scales._distances(balls[:4]) == pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize("unit", [1e-4, 1.0])
def test_distances_from_groups_are_in_their_radii(unit):
    """Of one that has none, in a thousandth of the largest distance; its members are at none."""
    rows = unit * np.array([[0.0], [1.0], [3.0], [10.0]])
    points = Points(rows, np.ones(4))
    scales, away = bare(sample=Coordinates(rows, np.ones(4), 0.0)), np.full(4, np.inf)
    for ball, expected in (
        (Ball(rows[0], np.array([0, 1]), np.ones(2), 1.0), [0.0, 0.0, 9.0, 100.0]),
        (Ball(rows[3], np.array([3]), np.ones(1), 1.0), [0.0, 0.0, 9.0, 0.0]),
    ):
        scales._farther(away, ball, points.squares(ball.centre[None])[:, 0])
        np.testing.assert_allclose(away, expected)


def test_what_is_missing_comes_at_once_and_lies_far():
    """Each object is farthest from all centers, those before it too, and in no cluster."""
    rows = np.arange(30.0)[:, None] ** 2
    for missing in (1, 3, 9):
        ball = Ball(rows[0], np.array([0]), np.ones(1), 1.0)
        sample = Coordinates(rows, np.zeros(30), 0.0)
        scales = bare(sample=sample, objects=np.arange(30), n=30, balls=[ball], _wanted=12 + missing)
        assert scales.more(np.where(np.arange(30) == 29, 0, -1), 12)
        expected, centers = [], [0.0]
        for _ in range(missing):
            expected.append(int(np.abs(rows[:29] - np.array(centers)).min(axis=1).argmax()))
            centers.append(float(rows[expected[-1], 0]))
        assert [int(one.members[0]) for one in scales.balls[1:]] == expected
        assert not scales.more(np.full(30, -1), 12 + missing)


def test_a_ball_of_a_few_objects():
    rows = np.random.default_rng(0).normal(size=(40, 2)) + 5.0
    sample, points = Coordinates(rows, np.zeros(40), 0.0), Points(rows, np.zeros(40))
    ball, other = bare(sample=sample, objects=np.arange(40), _points=points)._about(
        [np.arange(3), np.arange(4)]
    )
    assert other.kappa != ball.kappa
    t = np.square(rows[:3] - rows[:3].mean(axis=0)).sum(axis=1)
    assert ball.kappa == pytest.approx((2.0 * t.max() - t).sum())
    assert ball.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(ball.weights @ rows[ball.members], ball.centre, atol=1e-3)


def test_twins_are_made_up_for_by_more_nodes(monkeypatch):
    """Where two of them are one, as many more are asked for."""
    asked, by_number, distinct = [], module.by_number, module.distinct
    monkeypatch.setattr(module, "by_number", lambda tree, k: asked.append(k) or by_number(tree, k))
    monkeypatch.setattr(module, "distinct", lambda balls: distinct(balls)[: max(1, len(balls) - 1)])
    scales_of(unequal()[0], 3)
    assert asked == [3, 4]


def test_where_the_labelling_begins():
    """At weighted means, and mean squared distances with what coordinates leave out."""
    rng = np.random.default_rng(0)
    sample = Coordinates(rng.normal(size=(30, 2)), rng.random(30), 0.0)
    weights = np.where(np.arange(30) < 9, rng.random(30), 0.0)
    weights /= weights.sum()
    centre = weights @ sample.rows
    square = weights @ (np.square(sample.rows - centre).sum(axis=1) + sample.extra)
    (one,) = starts_of(SimpleNamespace(sample=sample), [Ball.of(centre, 5.0 * weights, 1.0)])
    assert one.square == pytest.approx(square)
    # of clusters some of whose members are not in the sample
    cluster = SimpleNamespace(
        members=np.append(3 * np.arange(9), [1, 50, 89, 95]),
        weights=np.append(weights[:9], [0.3, 0.1, 0.2, 9.0]),
    )
    (other,) = starts_from(sample, 3 * np.arange(30), [cluster])
    np.testing.assert_allclose(other.centre, centre)
    assert other.square == pytest.approx(square)
    for start in (one, other):
        np.testing.assert_array_equal(start.members, np.arange(9))


def test_clusters_of_an_earlier_run_are_taken_up():
    X, _ = unequal()
    S, scales = as_similarity(X, "sqeuclidean"), scales_of(X, 4)

    def run(least=1, scales=scales):
        return OwnScales(S, scales, SolverOptions().checked(), Monitor(), least)

    every = list(run())
    assert len(every) == 4
    sizes = sorted(map(len, every))
    assert len(list(run(sizes[0]))) == 4
    # in the place of one that is too small others are tried, which are smaller still
    assert len(list(run(sizes[0] + 1, scales_of(X, 4)))) == sum(size > sizes[0] for size in sizes)
    for count in range(5):
        for moved in (0.0, 1.0):  # a shift that is none of the balls' stands for the next one
            again = run()
            again.restore([replace(cluster, shift=cluster.shift + moved) for cluster in every[:count]])
            assert again.balls == scales.balls[:count]
            assert [c.members.tolist() for c in again] == [c.members.tolist() for c in every[count:]]


def test_a_ball_is_absorbed_once_by_one_that_lives_on():
    X, _ = unequal()
    S = as_similarity(X, "sqeuclidean")
    tree = ModeTree(located(S).coordinates(np.arange(len(X))), 8, Monitor())
    lives, gone = tree.lives(), dict[int, int]()
    last = 0
    for chain, into, level in tree.absorptions():
        assert chain not in gone
        assert into not in gone
        assert lives[chain].first <= level == lives[chain].last
        assert level >= last
        gone[chain], last = into, level
    (left,) = {life.chain for life in lives} - set(gone)
    assert lives[left].last == tree.levels.size
    assert len(gone) > 4
    # kappa is that of the ball: the weights of the objects in it are (r2 - t) / kappa, and sum to 1
    life = max(lives, key=lambda life: life.size)
    centre, members, mine, kappa = tree.ball(life)
    weights = np.zeros(len(X))
    weights[members] = mine
    assert kappa == pytest.approx(tree.kappa(life.level))
    assert weights.sum() == pytest.approx(1.0)
    t = np.square(tree.sample.rows - centre).sum(axis=1)
    inside = weights > 0
    assert np.ptp((t + kappa * weights)[inside]) < 1e-6 * kappa
