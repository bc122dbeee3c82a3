"""Every cluster at its own scale: what must not matter, and what must hold."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, End, as_similarity
from dominantsets.clusters import scales as module
from dominantsets.clusters.balls import Ball
from dominantsets.clusters.modes import ModeTree
from dominantsets.clusters.scales import OwnScales, Scales, chosen, starts_from, starts_of
from dominantsets.similarity.located import Coordinates, located
from dominantsets.solvers import Monitor, SolverOptions
from support import assert_certified, unequal


def same_partition(one, other):
    return adjusted_rand_score(one, other) == 1.0


# the units and the order of objects -------------------------------------------------------------------


@pytest.mark.parametrize("n_clusters", [None, 4])
@pytest.mark.parametrize("d", [2, 6])
def test_units_place_and_direction_do_not_matter(n_clusters, d):
    X, y = unequal(d=d)
    model = DominantSets(n_clusters, affinity="sqeuclidean").fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y[y >= 0], model.labels_[y >= 0]) > 0.95
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0]
    for name, other in {
        "thousand": 1e3 * X,
        "millionth": 1e-6 * X,
        "elsewhere": X + 100.0,
        "turned": X @ turn,
        "wider": np.hstack([X, np.zeros((len(X), 3))]),
    }.items():
        assert same_partition(
            DominantSets(n_clusters, affinity="sqeuclidean").fit_predict(other), model.labels_
        ), name


@pytest.mark.parametrize("n_clusters", [None, 4])
def test_the_order_of_objects_does_not_matter(n_clusters):
    X, _ = unequal()
    order = np.random.default_rng(1).permutation(len(X))
    one, other = (
        DominantSets(n_clusters, affinity="sqeuclidean").fit(X),
        DominantSets(n_clusters, affinity="sqeuclidean").fit(X[order]),
    )
    assert same_partition(one.labels_[order], other.labels_)
    np.testing.assert_allclose(np.sort(one.shifts_), np.sort(other.shifts_), rtol=1e-6)


@pytest.mark.parametrize("n_clusters", [None, 4])
def test_every_object_twice_is_the_same_partition(n_clusters):
    X, _ = unequal()
    one, twice = (
        DominantSets(n_clusters, affinity="sqeuclidean").fit(X),
        DominantSets(n_clusters, affinity="sqeuclidean").fit(np.repeat(X, 2, axis=0)),
    )
    np.testing.assert_array_equal(twice.labels_[::2], twice.labels_[1::2])
    assert same_partition(one.labels_, twice.labels_[::2])


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


# features and matrices --------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("n_clusters", [None, 4])
def test_features_and_their_own_matrix_are_clustered_alike(d, n_clusters):
    """A matrix does not know how similar an object is to its copy: it takes the largest entry there is.

    kappa is the shift and that similarity together, and what is taken from one goes to the other.
    """
    X, _ = unequal(400, d)
    features = DominantSets(n_clusters, affinity="sqeuclidean").fit(X)
    S = as_similarity(X, "sqeuclidean")
    A = S.toarray()
    matrix = DominantSets(n_clusters, affinity="precomputed").fit(A)
    assert matrix.n_clusters_ == features.n_clusters_ == 4
    assert adjusted_rand_score(features.labels_, matrix.labels_) > (0.999 if d == 2 else 0.9)
    if d == 2:  # where the nearest objects are as good as copies
        kappas = np.sort(features.shifts_ + S.self_similarity)
        np.testing.assert_allclose(np.sort(matrix.shifts_ + A.max()), kappas, rtol=0.02)


# as many as asked for, each with its proof ------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("affinity", ["sqeuclidean", "rbf"])
def test_the_number_of_clusters_is_honoured(k, affinity):
    X, _ = unequal(300)
    model = DominantSets(k, affinity=affinity).fit(X)
    assert model.n_clusters_ == len(model.clusters_) == len(model.selection_.rows) == k
    assert model.end_ is End.N_CLUSTERS
    if k > 4:
        doubtful = sum(row.chance > 1.0 for row in model.selection_.rows)
        assert f"{doubtful} of the {k} only fill up" in model.selection_.advice
        assert doubtful >= k - 8


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf"])
@pytest.mark.parametrize("n_clusters", [None, 7])
def test_every_cluster_is_proved_at_its_own_shift(affinity, n_clusters):
    X, _ = unequal(300, 6)
    model = DominantSets(n_clusters, affinity=affinity).fit(X)
    A = as_similarity(X, affinity).toarray()
    assert len(set(model.shifts_)) > 1
    for cluster, shift in zip(model.clusters_, model.shifts_, strict=True):
        assert cluster.shift == shift
        assert_certified(A, cluster, rounding=1e-9, stationary=1e-8)
    kappa = A.max() if affinity == "rbf" else as_similarity(X, affinity).self_similarity
    for row in model.selection_.rows:
        if np.isfinite(row.shift_from):
            assert row.shift_from - 1e-9 * kappa <= row.shift <= row.shift_to + 1e-9 * kappa


def test_a_shift_for_each_width():
    """Groups of width 1 : 4 in 6 dimensions: kappa is the mass times the squared radius, at its own scale."""
    X, y = make_blobs(800, centers=40.0 * np.eye(4, 6), cluster_std=[0.5, 1.0, 2.0, 4.0], random_state=21)
    model = DominantSets(affinity="sqeuclidean").fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) > 0.99
    widths = [np.sqrt(np.square(X[y == k] - X[y == k].mean(axis=0)).sum(axis=1).mean()) for k in range(4)]
    names = [int(y[c.exemplar]) for c in model.clusters_]
    kappas = model.shifts_ + model.similarity_.self_similarity
    assert sorted(names) == [0, 1, 2, 3]
    by_width = kappas[np.argsort(np.array(widths)[names])]
    assert (np.diff(by_width) > 0).all()


# little data ------------------------------------------------------------------------------------------


def test_all_objects_equal_one_and_two_objects():
    for data in (np.full((20, 3), 0.1), np.zeros((12, 2))):
        model = DominantSets(affinity="sqeuclidean").fit(data)
        assert model.labels_.tolist() == [0] * len(data)
        assert model.n_clusters_ == 1
        assert "alike" in model.selection_.reason
    with pytest.warns(UserWarning, match="there is one object"):
        assert DominantSets(1, affinity="sqeuclidean").fit([[1.0, 2.0]]).labels_.tolist() == [0]
    assert DominantSets(affinity="sqeuclidean").fit([[0.0], [1.0]]).labels_.tolist() == [0, 0]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 12])
def test_as_many_clusters_as_objects(n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    model = DominantSets(n, affinity="sqeuclidean").fit(X)
    assert sorted(model.labels_) == list(range(n))
    assert sorted(len(c) for c in model.clusters_) == [1] * n


def test_constant_columns_change_nothing():
    X, _ = unequal(200)
    flat = np.hstack([np.full((len(X), 2), 7.0), X, np.full((len(X), 1), -3.0)])
    for n_clusters in (None, 4):
        assert same_partition(
            DominantSets(n_clusters, affinity="sqeuclidean").fit_predict(X),
            DominantSets(n_clusters, affinity="sqeuclidean").fit_predict(flat),
        )


def test_copies_of_a_few_places():
    """Fewer places than clusters that are asked for: each place is one, and it says how many there are."""
    X = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]], 10, axis=0)
    model = DominantSets(3, affinity="sqeuclidean").fit(X)
    labels = model.labels_.reshape(3, 10)
    assert (labels == labels[:, :1]).all()
    assert len(set(labels[:, 0])) == 3


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


def test_when_a_larger_sample_is_looked_at():
    """Four times as many, where some of several groups is hardly seen; not for less than twice as many."""

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
    scales, away = bare(sample=Coordinates(rows, np.zeros(4), 0.0)), np.full(4, np.inf)
    scales._farther(away, Ball(rows[0], np.array([0, 1]), np.ones(2), 1.0))
    np.testing.assert_allclose(away, [0.0, 0.0, 9.0, 100.0])
    scales._farther(away, Ball(rows[3], np.array([3]), np.ones(1), 1.0))
    np.testing.assert_allclose(away, [0.0, 0.0, 9.0, 0.0])


def test_a_ball_of_a_few_objects():
    rows = np.random.default_rng(0).normal(size=(40, 2)) + 5.0
    ball = bare(sample=Coordinates(rows, np.zeros(40), 0.0))._about(np.arange(3))
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
