"""Trees of single linkage, however they are made."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform

from dominantsets import as_similarity
from dominantsets.similarity import single_linkage
from support import press_ctrl_c


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 12])
@pytest.mark.parametrize("kind", ["continuous", "lattice", "far apart"])
def test_every_way_to_a_tree_has_scipys_heights(d, kind, monkeypatch):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(300, d))
    if kind == "lattice":
        X = np.round(2 * X)
    elif kind == "far apart":
        X[150:] += 100.0
    expected = np.sort(linkage(X, "single")[:, 2])
    points = np.unique(X, axis=0)
    for limit in (10**6, 0):  # all pairs, then the k-d tree where there are few dimensions
        monkeypatch.setattr(single_linkage, "SMALL", limit)
        tree = single_linkage.tree_of_features(X)
        np.testing.assert_allclose(np.sort(tree.height), expected, rtol=1e-12, atol=1e-12)
        assert not tree.approximate
    if len(points) > 1:
        none = np.zeros(len(points))
        for edges in (
            single_linkage.boruvka(points, none),
            single_linkage.prim(points, none),
        ):
            np.testing.assert_allclose(
                np.sort(edges[2]), np.sort(linkage(points, "single")[:, 2]), rtol=1e-12
            )
    matrix = single_linkage.tree_of_matrix(squareform(pdist(X)))
    np.testing.assert_allclose(np.sort(matrix.height), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("d", [2, 12])
@pytest.mark.parametrize("kind", ["continuous", "lattice"])
@pytest.mark.parametrize("min_samples", [2, 5])
def test_mutual_reachability_is_that_of_its_matrix(d, kind, min_samples, monkeypatch):
    """No different objects are nearer than either is to its nearest so many, copies and itself among them."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(200, d)) if kind == "continuous" else rng.integers(0, 4, size=(200, d)).astype(float)
    D = squareform(pdist(X))
    core = np.sort(D, axis=1)[:, min_samples - 1]
    reach = np.where(D > 0.0, np.maximum(D, np.maximum.outer(core, core)), 0.0)
    expected = np.sort(linkage(squareform(reach), "single")[:, 2])
    for limit in (10**6, 0):
        monkeypatch.setattr(single_linkage, "SMALL", limit)
        height = np.sort(single_linkage.tree_of_features(X, min_samples).height)
        np.testing.assert_allclose(height, expected, rtol=1e-9, atol=1e-12)
    height = np.sort(single_linkage.tree_of_matrix(D, min_samples).height)
    np.testing.assert_allclose(height, expected, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="min_samples=5 needs features or a matrix"):
        as_similarity(sp.csr_array(D), "path", metric="precomputed", min_samples=5)


def test_many_dimensions_and_objects_say_that_they_are_approximate(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 12)), rng.normal(size=(60, 12)) + 30])
    exact = single_linkage.tree_of_features(X)
    monkeypatch.setattr(single_linkage, "PRIM_LIMIT", 50)
    with pytest.warns(UserWarning, match="approximate, made from 15 nearest neighbours"):
        S = as_similarity(X, "path")
    assert S.tree.approximate
    assert S.tree.n_components == 1
    # heights can only be too large, and the gap between the groups is found
    assert (np.sort(S.tree.height) >= np.sort(exact.height) - 1e-12).all()
    assert S.top == pytest.approx(exact.height.max(), rel=0.05)


def small_pieces(monkeypatch):
    monkeypatch.setattr(single_linkage, "WORK", 0)
    monkeypatch.setattr(single_linkage, "SEARCHED", 7)


@pytest.mark.parametrize("way", ["prim", "boruvka", "tree_of_matrix"])
def test_a_tree_made_in_pieces_is_the_same(way, monkeypatch):
    X = np.random.default_rng(0).normal(size=(150, 3))
    given = (squareform(pdist(X)),) if way == "tree_of_matrix" else (X, np.zeros(len(X)))

    def made():
        tree = getattr(single_linkage, way)(*given)
        return (*tree.ends, tree.height) if way == "tree_of_matrix" else tree

    whole = made()
    small_pieces(monkeypatch)
    for one, other in zip(whole, made(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("limit", "work"), [(10**6, "grow_features"), (0, "join_nearest")])
def test_ctrl_c_is_seen_between_two_pieces_of_a_tree(limit, work, monkeypatch):
    """All pairs of 20,000 objects take many seconds: the call after the signal is the last."""
    small_pieces(monkeypatch)
    monkeypatch.setattr(single_linkage, "SMALL", limit)
    calls, compiled = [], getattr(single_linkage._spanning, work)

    def pressed(*arguments):
        calls.append(work)
        if len(calls) == 3:
            press_ctrl_c()
        return compiled(*arguments)

    monkeypatch.setattr(single_linkage._spanning, work, pressed)
    with pytest.raises(KeyboardInterrupt):
        single_linkage.tree_of_features(np.random.default_rng(0).normal(size=(100, 3)))
    assert len(calls) == 3


@pytest.mark.parametrize("way", ["prim", "boruvka"])
@pytest.mark.parametrize("d", [2, 5])
def test_rounding_decides_no_tie_of_mutual_reachability(way, d):
    """A core is the distance of a pair, so that many edges are equally long, in every unit of length."""
    X = np.random.default_rng(d).normal(size=(120, d))
    D = squareform(pdist(X))
    cores = np.sort(D, axis=1)[:, 4]
    exact = np.sort(
        linkage(squareform(np.maximum(D, np.maximum.outer(cores, cores)), checks=False), "single")[:, 2]
    )
    for unit in (1.0, 1e-8, 1e-3, 1e3, 1e8):
        rows = X * unit
        found = single_linkage._cores(rows, np.arange(len(X)), 5)
        height = np.sort(getattr(single_linkage, way)(rows, found)[2])
        np.testing.assert_allclose(height, unit * exact, rtol=1e-12)
        assert len(np.unique(height)) == len(np.unique(exact)) < len(X) - 1
