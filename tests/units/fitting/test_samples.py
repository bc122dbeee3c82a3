"""What is tried on a sample of points, words or distances, and on which of their objects."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import as_similarity
from dominantsets.fitting import samples
from dominantsets.fitting.samples import DistanceSample, PointSample, WordSample, has_words, sample_of
from dominantsets.fitting.separation import neighbour_graph
from dominantsets.similarity import data
from dominantsets.similarity.data import Data


def points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def names(sample, n_clusters=None):
    return [name for name, _ in sample.ways(n_clusters)]


@pytest.mark.parametrize("d", [1, 2, 10, 11])
def test_ways_of_points_by_their_dimensions(d):
    """Places of few dimensions only in many, walks not on a line, mixtures and densities only in few."""
    sample = sample_of(points(60, d), None, False)
    assert isinstance(sample, PointSample)
    walks, places = ["diffusion"] * (d > 1), ["embedding"] * (d > 10)
    assert names(sample) == ["sqeuclidean", "path", *walks, *places]
    assert names(sample, 3) == ["sqeuclidean", "path", *walks, *(["ellipses"] if d <= 10 else places)]
    assert (sample.rows is None) == (d > 10)
    expected = neighbour_graph(points(60, d), density=d <= 10)
    assert (abs(sample.graph() - expected)).max() < 1e-12
    some = np.arange(0, 60, 5)
    for objects in (None, some):
        rows = points(60, d) if objects is None else points(60, d)[objects]
        found = sample.similarity(("rbf", {"gamma": 0.3}), objects).toarray()
        np.testing.assert_allclose(found, as_similarity(rows, "rbf", gamma=0.3).toarray())
    assert dict(sample_of(points(60, 3), None, False).ways(4))["diffusion"] == {"n_components": 4}
    assert dict(sample_of(points(60, 3), None, False).ways(None))["diffusion"] == {}


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(samples, "TREES", ((3, 50), (np.inf, 40)))
    monkeypatch.setattr(samples, "WALKS", 40)
    monkeypatch.setattr(samples, "PLACES", 60)
    monkeypatch.setattr(samples, "FEWEST", 30)
    monkeypatch.setattr(samples, "LANDMARKS", 35)


def test_what_takes_long_is_not_tried_where_all_are_to_be_fitted(small_limits):
    for n, d, expected in (
        (50, 3, ["sqeuclidean", "path"]), (51, 3, ["sqeuclidean"]), (50, 4, ["sqeuclidean"]),
        (40, 4, ["sqeuclidean", "path", "diffusion"]), (60, 12, ["sqeuclidean", "embedding"]),
        (61, 12, ["sqeuclidean"]),
    ):  # fmt: skip
        assert names(PointSample(Data(points(n, d), whole=True), None)) == expected
    rows = sp.random_array((61, 30), density=0.3, format="csr", rng=np.random.default_rng(0))
    for n, words, dense in ((40, 3, 3), (41, 1, 2), (60, 1, 2), (61, 1, 1)):
        assert len(names(WordSample(Data(rows[:n], whole=True), None))) == words
        assert len(names(WordSample(Data(rows[:n].toarray() + 0.01, whole=True), None))) == dense


def test_of_more_objects_some_are_fitted(small_limits):
    for n, d, way, expected in (
        (50, 3, "path", None), (500, 3, "path", 50), (500, 4, "path", 40), (40, 4, "diffusion", None),
        (500, 4, "diffusion", 35), (500, 12, "embedding", 35), (500, 4, "sqeuclidean", None),
        (500, 4, "ellipses", None),
    ):  # fmt: skip
        sample = PointSample(points(n, d), 3)
        assert way in names(sample, 3) or way == "embedding"
        fitted = sample.fitted((way, {}))
        assert (None if fitted is None else fitted.size) == expected
        if fitted is not None:  # as many in each part of the order of the row sums
            ranks = np.argsort(np.argsort(as_similarity(points(n, d), "sqeuclidean").degrees()))
            assert np.ptp(np.histogram(ranks[fitted], bins=5)[0]) <= 1


def test_where_memory_is_short_fewer_are_fitted(small_limits, monkeypatch):
    sample = PointSample(points(500, 3), None)
    for free, expected in ((1e9, 50), (24 * 4 * 45, 45), (0, 30)):
        monkeypatch.setattr(data, "memory_available", lambda free=free: free)
        assert sample.fitted(("path", {})).size == expected


def test_words_are_sparse_or_of_one_length_in_many_dimensions():
    X = points(50, 12)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert has_words(sp.csr_array(X))
    assert has_words(unit)
    assert not has_words(X)
    assert not has_words(unit * (1.0 + 0.002 * np.arange(50) / 49)[:, None])
    flat = points(50, 10)
    assert not has_words(flat / np.linalg.norm(flat, axis=1, keepdims=True))
    sample = sample_of(unit, 3, False)
    assert isinstance(sample, WordSample)
    assert sample.ways(3) == [
        ("cosine", {}), ("diffusion", {"metric": "cosine", "n_components": 3}),
        ("embedding", {"metric": "cosine"}),
    ]  # fmt: skip
    assert ("diffusion", {"metric": "cosine"}) in WordSample(unit, None).ways(None)
    assert (abs(sample.graph() - neighbour_graph(unit, density=False))).max() < 1e-12
    doubled = WordSample(sp.csr_array(X * np.arange(1, 51)[:, None]), None)  # lengths do not count
    assert (abs(doubled.graph() - sample.graph())).max() < 1e-9


def test_an_order_that_does_not_depend_on_the_one_they_came_in():
    X = np.abs(points(40, 12))
    mixed = np.random.default_rng(1).permutation(40)
    for kind, here, there in (
        (PointSample, X, X[mixed]), (WordSample, X, X[mixed]),
        (WordSample, sp.csr_array(X), sp.csr_array(X[mixed])),
    ):  # fmt: skip
        np.testing.assert_array_equal(mixed[kind(there, None).order()], kind(here, None).order())
    turn = np.linalg.qr(points(12, 12))[0]  # nor on the axes
    np.testing.assert_array_equal(PointSample(X @ turn, None).order(), PointSample(X, None).order())
    D = np.linalg.norm(X[:, None] - X, axis=2)
    order = DistanceSample(D[np.ix_(mixed, mixed)], None).order()
    np.testing.assert_array_equal(mixed[order], DistanceSample(D, None).order())


def test_distances_are_tried_as_round_clusters_paths_and_kernels(monkeypatch):
    X = points(40, 2)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    sample = sample_of(D, None, True)
    for wanted in (None, 3):
        thens = [params["then"] for _, params in sample.ways(wanted)]
        assert thens == ["sqeuclidean", "path", "euclidean", "rbf"]
    some = np.arange(0, 40, 4)
    whole, part = (sample.similarity(sample.ways(None)[0], objects) for objects in (None, some))
    difference = whole.toarray()[np.ix_(some, some)] - part.toarray()
    np.testing.assert_allclose(difference[~np.eye(10, dtype=bool)], difference[0, 1])  # but for a shift
    monkeypatch.setattr(samples, "SAMPLE", 20)
    monkeypatch.setattr(samples, "SAMPLE_A_CLUSTER", 6)
    for wanted, size in ((None, 20), (3, 20), (5, 30), (9, 40)):
        distances = sample_of(D, wanted, True)
        assert (distances.n, distances.is_part) == (size, size < 40)
        points_of = sample_of(X, wanted, False)
        assert points_of.n == size
        assert (points_of.whole is None) == (size == 40)
