"""Audits: planted errors, names, networks, and what is refused."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

from dominantsets import Audit, audit

K, SIZE = 4, 60


@pytest.fixture(name="X")
def rows():
    """Four groups, 12 deviations apart."""
    rng = np.random.default_rng(5)
    centers = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0], [12.0, 12.0]])
    return centers[np.repeat(np.arange(K), SIZE)] + rng.normal(size=(K * SIZE, 2))


@pytest.fixture(name="y")
def true_labels():
    return np.repeat(np.arange(K), SIZE)


def test_clear_groups_are_dominant_sets(X, y):
    found = audit(X, y)
    assert all(c.is_dominant for c in found.clusters)
    assert [c.cohesion for c in found.clusters] == [1.0] * K
    assert found.score == 1.0
    assert found.moves.size == 0
    assert not found.pairs
    assert not any(c.is_two for c in found.clusters)
    assert np.array_equal(found.suggested, y)
    assert found.p_value == 1 / 20


def test_a_dominant_set_of_the_audit_is_the_cluster(X, y):
    for c in audit(X, y, n_draws=0).clusters:
        assert np.array_equal(c.found.members, np.flatnonzero(y == c.label))
        assert c.found.strict
        assert c.found.margin > 0


@pytest.mark.parametrize("affinity", ["sqeuclidean", "rbf", "euclidean", "path"])
def test_wrong_labels_are_put_right(affinity, X, y):
    wrong = np.arange(0, K * SIZE, 20)
    z = y.copy()
    z[wrong] = (y[wrong] + 1 + np.arange(wrong.size) % (K - 1)) % K
    found = audit(X, z, affinity=affinity, n_draws=0)
    assert set(wrong) <= set(found.moves.tolist())
    assert np.array_equal(found.suggested[wrong], y[wrong])
    assert found.moves.size <= wrong.size + 4
    leaving = np.concatenate([c.leave for c in found.clusters])
    joining = np.concatenate([c.join for c in found.clusters])
    assert sorted(leaving) == sorted(joining) == sorted(found.moves)


def test_a_cluster_of_two_groups_and_a_group_of_two_clusters(X, y):
    joined = audit(X, np.where(y == 3, 2, y), n_draws=0)
    assert [c.label for c in joined.clusters if c.is_two] == [2]
    assert "Divide: 2." in str(joined)
    half = (y == 0) & (X[:, 0] > np.median(X[y == 0, 0]))
    cut = audit(X, np.where(half, K, y), n_draws=0)
    assert cut.pairs == [(0, K)]
    assert f"Join: 0 and {K}." in str(cut)


def test_objects_without_a_cluster_join_one(X, y):
    z = np.where(np.arange(y.size) % 15 == 0, -1, y)
    far = np.vstack([X, [[6.0, 6.0], [40.0, 40.0]]])
    found = audit(far, np.append(z, [-1, -1]), n_draws=0)
    assert (found.suggested[-2:] == -1).all()
    back = np.flatnonzero(z < 0)
    assert np.mean(found.suggested[back] == y[back]) > 0.8


def test_labels_are_names(X, y):
    names = np.array(["north", "south", "east", "west"])
    found, numbers = audit(X, names[y], n_draws=0), audit(X, y, n_draws=0)
    assert [c.label for c in found.clusters] == sorted(names.tolist())
    assert found.score == numbers.score
    assert "north" in str(found)
    assert np.array_equal(found.suggested, names[y])


def test_the_order_of_objects_does_not_matter(X, y):
    z = y.copy()
    z[::25] = (z[::25] + 1) % K
    order = np.random.default_rng(0).permutation(y.size)
    one, two = audit(X, z, n_draws=0), audit(X[order], z[order], n_draws=0)
    assert np.array_equal(one.suggested[order], two.suggested)
    assert [c.cohesion for c in one.clusters] == [c.cohesion for c in two.clusters]


def test_groups_of_any_shape():
    X, y = make_moons(200, noise=0.03, random_state=0)
    assert audit(X, y, affinity="path", n_draws=0).score == 1.0
    assert audit(X, y, n_draws=0).score < 0.95


def test_networks():
    G = nx.planted_partition_graph(3, 20, 0.7, 0.02, seed=1)
    A, y = sp.csr_array(nx.to_scipy_sparse_array(G, dtype=float)), np.repeat([0, 1, 2], 20)
    z = y.copy()
    z[[0, 25, 45]] = [1, 2, 0]
    found = audit(A, z, affinity="precomputed", n_draws=5)
    assert {0, 25, 45} <= set(found.moves.tolist())
    assert np.array_equal(found.suggested[[0, 25, 45]], [0, 1, 2])
    assert found.null.max() < found.score


def test_structureless_data_have_no_small_p_value():
    rng, p = np.random.default_rng(3), []
    for _ in range(10):
        X = rng.normal(size=(120, 2))
        p.append(audit(X, (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0), n_draws=9).p_value)
    assert np.mean(np.array(p) <= 0.1) <= 0.3


def test_few_objects():
    found = audit(np.array([[0.0], [1.0], [9.0]]), [0, 0, 1])
    assert found.moves.size == 0
    assert [c.is_two for c in found.clusters] == [None, None]
    assert audit(np.zeros((3, 1)), [0, 0, 0], n_draws=0).score == 1.0
    assert isinstance(audit(np.array([[1.0]]), [0], n_draws=0), Audit)


def test_what_is_refused(X, y):
    for labels, words in (
        (y[:-1], "one per object"),
        (y + 0.5, "whole numbers or names"),
        (np.full(y.size, -1), "there is no cluster"),
    ):
        with pytest.raises(ValueError, match=words):
            audit(X, labels)
    with pytest.raises(ValueError, match="one metric"):
        audit(X, y, affinity="ellipses")
    with pytest.raises(ValueError, match="n_draws"):
        audit(X, y, n_draws=-1)
