"""The neighbour embedding: its weights, its moves, the places it finds, and similarity there."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from dominantsets import as_similarity
from dominantsets.compiled import embedding as compiled
from dominantsets.similarity import embedding, search
from support import features


def pieces_of_a_roll(n: int = 1_500, k: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of a sheet that is rolled up, in ten dimensions; no two groups can be parted by a plane."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    angle = 1.5 * np.pi * (1.0 + 2.0 * (y + 0.75 * rng.random(n)) / k)
    sheet = np.c_[angle * np.cos(angle), 6.0 * rng.random(n), angle * np.sin(angle)]
    turn, _ = np.linalg.qr(rng.normal(size=(10, 3)))
    return sheet @ turn.T + 0.1 * rng.normal(size=(n, 10)), y


# weights ------------------------------------------------------------------------------------------------


def test_the_weights_of_neighbours_have_the_sum_they_should():
    distances = np.sort(np.random.default_rng(0).random((200, 15)) ** 3 * 7.0, axis=1)
    v = embedding.neighbor_weights(distances)
    np.testing.assert_allclose(v.sum(axis=1), np.log2(15), rtol=1e-9)
    np.testing.assert_array_equal(v[:, 0], 1.0)
    # an exponential in the distance: the logarithms are in proportion to what is beyond the nearest
    beyond = distances - distances[:, :1]
    bandwidths = -beyond[:, 1] / np.log(v[:, 1])
    np.testing.assert_allclose(v, np.exp(-beyond / bandwidths[:, None]), rtol=1e-6, atol=1e-12)


def test_weights_where_more_are_equally_near_than_the_sum():
    v = embedding.neighbor_weights(np.array([[0.0] * 15, [1.0] * 6 + [2.0] * 9]))
    np.testing.assert_array_equal(v[0], 1.0)
    np.testing.assert_array_equal(v[1], [1.0] * 6 + [0.0] * 9)


def test_the_graph_is_the_union_of_both_directions():
    distances, nearest = NearestNeighbors(n_neighbors=5).fit(features()).kneighbors()
    v = np.zeros((60, 60))
    np.put_along_axis(v, nearest, embedding.neighbor_weights(distances), axis=1)
    w = embedding.fuzzy_graph(distances, nearest).toarray()
    np.testing.assert_allclose(w, 1.0 - (1.0 - v) * (1.0 - v.T), atol=1e-12)


# moves --------------------------------------------------------------------------------------------------


def drawn(n: int, i: int, epoch: int, samples: int) -> np.ndarray:
    """Who repels object i in a round."""
    counter = (epoch * n + i) * samples
    numbers = [int(compiled.mixed(np.uint64(counter + s))) for s in range(samples)]
    return np.array([number % n for number in numbers])


def energy(y: np.ndarray, i: int, p: np.ndarray, Y: np.ndarray, who: np.ndarray, gamma: float) -> float:
    """Of object i at y, in plain NumPy: what the docstring of Places says."""
    q = 1.0 / (1.0 + np.square(Y - y).sum(axis=1))
    others = q[who[who != i]]  # an object does not repel itself: its q is 1 wherever it is
    return float(-(p[i] * np.log(q)).sum() + gamma * others.sum() / who.size)


def test_every_object_moves_down_the_slope_of_its_energy():
    rng = np.random.default_rng(1)
    graph = embedding.fuzzy_graph(*NearestNeighbors(n_neighbors=5).fit(features(40)).kneighbors())
    P = (graph / graph.sum(axis=1)[:, None]).tocsr()
    Y = rng.normal(size=(40, 3)).astype(np.float32)
    speed, after = rng.normal(size=Y.shape).astype(np.float32), np.empty_like(Y)
    before = speed.copy()
    compiled.move(
        Y, speed, P.indptr.astype(np.int64), P.indices.astype(np.int64), P.data.astype(np.float32), 0, 40,
        7, 5, 0.3, 4.0, 0.6, after,
    )  # fmt: skip
    p, at, h = P.toarray(), Y.astype(np.float64), 1e-5
    for i in range(40):
        who = drawn(40, i, 7, 5)
        slope = [
            (energy(at[i] + e, i, p, at, who, 4.0) - energy(at[i] - e, i, p, at, who, 4.0)) / (2 * h)
            for e in h * np.eye(3)
        ]
        # the object itself is in Y at its old place; p_ii is 0, and it is left out above
        expected = 0.6 * before[i] - 0.3 * 0.5 * np.array(slope)
        np.testing.assert_allclose(speed[i], expected, atol=1e-4)
        np.testing.assert_allclose(after[i], at[i] + expected, atol=1e-4)


def test_everybody_is_drawn_about_equally_often():
    n, count = 50, np.zeros(50)
    for epoch in range(100):
        for i in range(n):
            count[drawn(n, i, epoch, 2)] += 1
    expected = 100 * 2  # with a deviation of about the root of it
    assert np.abs(count - expected).max() < 6 * np.sqrt(expected)


# places -------------------------------------------------------------------------------------------------


def test_neighbours_are_near_each_other_in_the_end():
    X, _ = pieces_of_a_roll()
    S = as_similarity(X, "embedding")
    P = embedding._normalised(S.places.graph).tocoo()

    def mean_energy(Y: np.ndarray) -> float:
        near = np.log1p(np.square(Y[P.row] - Y[P.col]).sum(axis=1)) @ P.data / len(Y)
        t = np.square(Y[:, None] - Y[None]).sum(axis=2)
        return float(near + embedding.REPULSION * (1.0 / (1.0 + t)).mean())

    first = embedding._first_places(X, S.places.graph, 4)
    assert mean_energy(S.places.at) < 0.7 * mean_energy(first)


def test_parts_for_threads_change_nothing(monkeypatch):
    X = features(500)
    alone = as_similarity(X, "embedding", n_epochs=30).places.at
    parts = [slice(0, 7), slice(7, 300), slice(300, 500)]
    monkeypatch.setattr(embedding, "thread_slices", lambda n, grain: parts)
    np.testing.assert_array_equal(as_similarity(X, "embedding", n_epochs=30).places.at, alone)


# the search for neighbours ------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [40, 300])  # without and with principal axes
def test_the_search_finds_nearly_all_neighbours_and_says_how_many(d):
    rng = np.random.default_rng(0)
    X = np.tanh(rng.normal(size=(6_000, 8)) @ rng.normal(size=(8, d))) + 0.1 * rng.normal(size=(6_000, d))
    truth = NearestNeighbors(n_neighbors=10).fit(X).kneighbors()
    lists = search.Lists(X, 10)
    distances, nearest = lists.kneighbors()
    hits = np.array([np.isin(a, b).mean() for a, b in zip(nearest, truth[1], strict=True)])
    assert hits.mean() > 0.9
    assert lists.recall == pytest.approx(hits.mean(), abs=0.05)
    right = nearest == truth[1]
    np.testing.assert_allclose(distances[right], truth[0][right], rtol=1e-5)
    assert (np.diff(distances, axis=1) >= 0.0).all()
    assert (nearest != np.arange(6_000)[:, None]).all()


def test_a_crowded_place_does_not_fill_one_list():
    X = np.vstack([np.zeros((3_000, 20)), np.random.default_rng(0).normal(size=(500, 20))])
    lists = search.Lists(X, 5)
    assert np.diff(lists._ends).max() <= search.CROWDED * 3_500 // int(np.sqrt(3_500))
    distances, nearest = lists.kneighbors()
    assert distances[:3_000].max() == 0.0
    assert all(np.unique(row).size == 5 for row in nearest)
    found, numbers = lists.kneighbors(X[3_000:])
    itself = found[:, 0] == 0.0  # a list farther off is not looked at: which ones depends on rounding
    assert itself.mean() >= 0.95
    np.testing.assert_array_equal(numbers[itself, 0], np.arange(3_000, 3_500)[itself])
