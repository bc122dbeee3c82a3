"""Labels of objects that are no points, as those of a tree are: noise, shares, new objects, Ctrl-C."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, End, as_similarity, peel
from dominantsets.compiled.interrupts import check
from dominantsets.labels.background import find_background
from dominantsets.labels.partition import Balls, ByFit, ByPayoff, _noise, label_by_fit, label_by_pieces
from dominantsets.labels.refinement import diagonal_of, refine
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.solvers import Monitor
from support import CORNERS, cliques, path, press_ctrl_c, vector


@pytest.mark.parametrize("kind", ["sqeuclidean", "path"])
@pytest.mark.parametrize(("noisy", "radii"), [(40, 1.0), (20, 1.0), (4, 1.75)])
def test_noise_by_the_definition(kind, noisy, radii):
    """Much of it beyond 1.75 radii: all outside the balls; little of it: what is beyond."""
    rng = np.random.default_rng(0)
    turn, length = rng.uniform(0, 2 * np.pi, 200), np.sqrt(rng.random(200))
    disc = length[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    S = as_similarity(np.vstack([disc, rng.uniform(-30, 30, size=(noisy, 2))]), kind)
    run = peel(S, 1, shift=200.0 - S.self_similarity)
    (found,) = run
    # squared distances of feature space: s_ii - 2 (Sx)_i + x'Sx, with s_ii on the diagonal
    full, x = S.toarray() + np.diag(diagonal_of(S)), vector(found, S.n)
    squares = diagonal_of(S) - 2.0 * full @ x + x @ full @ x
    radius = np.sqrt(squares[found.members].max())
    noise, said, balls = _noise(S, [found], run.labels)
    assert said == radii
    outside = (squares > (radii * radius) ** 2 * (1.0 + 1e-9)) & (run.labels < 0)
    np.testing.assert_array_equal(noise, outside)
    assert 0 < outside.sum() < S.n
    assert balls is not None
    labels, probabilities, _, sentence = label_by_fit(S, [found], run.labels, "auto", Monitor())
    np.testing.assert_array_equal(labels, np.where(outside, -1, 0))
    np.testing.assert_array_equal(probabilities == 0.0, outside)
    assert sentence == f"{outside.mean():.0%} lie outside every cluster."
    copies = as_similarity(np.repeat([[0.0], [1.0]], 5, axis=0), kind)
    pairs = peel(copies, 2, shift=0.1)
    assert _noise(copies, list(pairs), pairs.labels)[0] is None  # no radius is known


def test_balls_are_where_the_members_are():
    """Three discs of points: about the weighted mean, out to the farthest member, or to the median radius."""
    rng = np.random.default_rng(0)
    turn, length = rng.uniform(0, 2 * np.pi, 90), np.sqrt(rng.random(90))
    disc = length[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    X = disc * np.repeat([1.0, 2.0, 4.0], 30)[:, None] + np.repeat([[0, 0], [20, 0], [0, 30]], 30, axis=0)
    S = as_similarity(X, "sqeuclidean")
    clusters = list(peel(S, 3, shift=0.0))
    assert len(clusters) == 3
    centres = np.array([c.weights @ X[c.members] for c in clusters])
    radii = np.array(
        [np.linalg.norm(X[c.members] - at, axis=1).max() for c, at in zip(clusters, centres, strict=True)]
    )
    radii = np.maximum(radii, np.median(radii))
    balls = Balls.of(S, clusters)
    np.testing.assert_allclose(balls.cores[2] * radii**2, 1.0, rtol=1e-6)
    for k, times in ((0, 1.0), (1, 1.75), (2, 3.0)):
        out = centres[k] + np.outer(times * radii[k] * np.array([0.0, 0.5, 0.999, 1.001]), [-0.6, -0.8])
        away = np.linalg.norm(out[:, None] - centres, axis=2) / radii
        np.testing.assert_array_equal(balls.near(S, out, times), away.min(axis=1) <= times)
        assert balls.near(S, out, times).any()
    assert not balls.near(S, np.array([[60.0, 60.0]]), 1.75).any()
    rule = ByFit(refine(S, np.repeat([0, 1, 2], 30), 3).rule, balls, 1.75)
    new = np.vstack([X[::30], [[60.0, 60.0]]])
    np.testing.assert_array_equal(rule.of_new(S, new), [0, 1, 2, -1])
    np.testing.assert_array_equal(rule._replace(radii=np.inf).of_new(S, new)[:3], [0, 1, 2])
    assert rule._replace(radii=np.inf).of_new(S, new)[3] >= 0
    assert Balls.of(S, []) is None
    graph = as_similarity(cliques([4, 3]))
    assert Balls.of(graph, list(peel(graph, 2, shift=0.1))) is None  # a graph has no distances


def test_new_nodes_of_a_graph():
    """By links to the groups over the root of the groups' own; -1 without any link."""
    S = as_similarity(cliques([4, 3], isolated=1))
    links = sp.csr_array(
        [[1.0, 0, 0, 0, 0, 0, 0, 0], [0.5, 0, 0, 0, 0.4, 0, 0, 0], [0, 0, 0, 0, 0.5, 0.6, 0, 0], [0.0] * 8,
         [0, 0, 0, 0, 0, 0, 0, 1.0]]
    )  # fmt: skip
    by_members = ByFit(refine(S, np.array([0, 0, 0, 0, 1, 1, 1, -1]), 2).rule)
    # groups' own: 12 and 6 of ones off the diagonal; 0.5 / sqrt(12) is less than 0.4 / sqrt(6)
    np.testing.assert_array_equal(by_members.of_new(S, links), [0, 1, 1, -1, -1])
    shares = [(np.arange(4), np.full(4, 0.25)), (np.arange(4, 7), np.full(3, 1.0 / 3.0))]
    summaries = [arrivals_of(S).summarise(members, weights) for members, weights in shares]
    by_payoff = ByPayoff(summaries, np.sqrt([3.0 / 4.0, 2.0 / 3.0]))
    np.testing.assert_array_equal(by_payoff.of_new(S, links), [0, 1, 1, -1, -1])
    # the same payoffs, over another root
    assert by_payoff._replace(roots=np.array([0.5, 1.0])).of_new(S, links)[1] == 0


def test_pieces_of_a_tree_by_hand():
    """Chains with steps 1, 2, 3, 4, and 1 apart from it: the later an object is joined to one, the less."""
    D = sp.coo_array(([1.0, 2.0, 3.0, 4.0, 1.0], ([0, 1, 2, 3, 5], [1, 2, 3, 4, 6])), shape=(10, 10)).tocsr()
    S = path(D)
    clusters = list(peel(S, 2, shift=0.0))
    assert [c.members.tolist() for c in clusters] == [[0, 1, 2], [5, 6]]
    labels = np.array([0, 0, 0, 0, 0, 1, 1, -1, -1, -1])
    shares = np.array([1.0, 1.0, 0.6, 0.4, 0.2, 1.0, 1.0, 0.0, 0.0, 0.0])  # joined at 1, 1, 2, 3, 4
    none = find_background(S)  # of given distances none is found
    auto = label_by_pieces(S, clusters, labels, none, "auto")
    np.testing.assert_array_equal(auto.labels, labels)
    np.testing.assert_allclose(auto.probabilities, shares)
    assert auto.sentence.startswith("30% are in trees of their own; no object is labelled noise: ")
    assert (
        label_by_pieces(S, clusters, labels, none, None).sentence == "no object is labelled noise, as asked."
    )
    some = label_by_pieces(S, clusters, labels, none, 0.4)  # three of them are in no cluster anyway
    np.testing.assert_array_equal(some.labels, [0, 0, 0, 0, -1, 1, 1, -1, -1, -1])
    np.testing.assert_allclose(some.probabilities, np.where(some.labels < 0, 0.0, shares))
    assert some.sentence.startswith("40% are called noise")
    whole = path(D[:5, :5])
    everybody = label_by_pieces(whole, clusters[:1], labels[:5], find_background(whole), "auto")
    assert everybody.sentence.startswith("no object is labelled noise: ")
    # a new object is where its nearest one is; with no way to any, or more than twice as far from it as the
    # objects of the piece join it (4 and 1), it is nowhere
    new = sp.csr_array(
        ([9.0, 7.9, 0.5, 0.5, 2.0, 2.1], ([0, 1, 2, 3, 3, 4], [4, 3, 5, 2, 6, 6])), shape=(6, 10)
    )
    np.testing.assert_array_equal(auto.rule.of_new(S, new), [-1, 0, 1, 0, -1, -1])


def test_a_share_of_a_partition_is_left_out():
    """Those that fit their clusters least get -1, as many as asked for."""
    X, _ = make_blobs(200, centers=CORNERS, random_state=0)
    S = as_similarity(X, "path")
    run = peel(S, 4, shift=1.0)
    clusters = list(run)
    every = label_by_fit(S, clusters, run.labels, None, Monitor())
    some = label_by_fit(S, clusters, run.labels, 0.25, Monitor())
    assert (every.labels >= 0).all()
    assert ((every.probabilities > 0) & (every.probabilities <= 1)).all()
    for k in range(len(clusters)):
        assert every.probabilities[every.labels == k].max() == pytest.approx(1.0)
    least = np.quantile(every.probabilities, 0.25)
    np.testing.assert_array_equal(some.labels < 0, every.probabilities < least)
    np.testing.assert_array_equal(some.probabilities == 0.0, some.labels < 0)
    assert "25%" in some.sentence


@pytest.mark.parametrize(
    ("affinity", "name"), [("sqeuclidean", "points.label_by_clouds"), ("path", "tree.label_by_pieces")]
)
def test_ctrl_c_during_the_labelling_keeps_the_cores(affinity, name, monkeypatch):
    def interrupted(*args, **kwargs):
        press_ctrl_c()
        check()

    X, _ = make_blobs(200, centers=CORNERS, random_state=0)
    monkeypatch.setattr(f"dominantsets.fitting.{name}", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        model = DominantSets(4, affinity=affinity).fit(X)
    np.testing.assert_array_equal(model.labels_, model.core_labels_)
    np.testing.assert_array_equal(model.probabilities_, model.memberships_)
    assert model.n_clusters_ == 4
    assert model.end_ is End.INTERRUPTED
    assert model.predict(X).max() == 3
