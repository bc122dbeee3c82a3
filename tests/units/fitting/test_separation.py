"""Conductance on the graph of neighbours, against its formula."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets.fitting.separation import LEAST, NEIGHBOURS, UNIT, conductances, neighbour_graph


@pytest.mark.parametrize("density", [True, False])
@pytest.mark.parametrize("n", [3, 8, 40])
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_links_are_those_of_the_formula(n, density, metric):
    X = np.random.default_rng(n).normal(size=(n, 2))
    D = np.sqrt(np.square(X[:, None] - X).sum(axis=2))
    count = min(NEIGHBOURS, n - 1)
    order = np.argsort(D, axis=1)[:, 1 : count + 1]
    s = np.take_along_axis(D, order, axis=1)[:, min(UNIT, count) - 1]
    V = np.exp(-(D**2) / np.outer(s, s)) * (np.median(s) ** 2 / np.outer(s, s) if density else 1.0)
    linked = np.zeros((n, n), dtype=bool)
    linked[np.arange(n)[:, None], order] = True
    graph = neighbour_graph(D if metric == "precomputed" else X, metric, density).toarray()
    np.testing.assert_allclose(graph, np.where(linked | linked.T, V, 0.0), rtol=1e-9)


def test_copies_have_a_unit_of_their_own():
    """Twelve copies have no distance: a thousandth of the usual one is their unit, and links stay finite."""
    X = np.vstack([np.zeros((12, 2)), np.random.default_rng(0).normal(size=(30, 2)) + 5.0])
    graph = neighbour_graph(X).toarray()
    assert graph[:12, :12].max() == pytest.approx(1e6)
    assert np.isfinite(graph).all()
    alike = neighbour_graph(np.zeros((4, 2))).toarray()
    np.testing.assert_allclose(alike[~np.eye(4, dtype=bool)], 1e6)


def test_conductance_of_groups():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((9, 9)), 1)
    A = A + A.T
    labels = np.array([0, 0, 0, 1, 1, 2, 2, -1, -1])
    cut = conductances(sp.csr_array(A), labels)
    for k in range(3):
        mine = labels == k
        leaving, volume = A[mine][:, ~mine].sum(), A[mine].sum()
        assert cut[k] == pytest.approx(leaving / min(volume, A.sum() - volume))
    # two groups without a link between them, and one group that is all
    B = np.zeros((4, 4))
    B[0, 1] = B[1, 0] = B[2, 3] = B[3, 2] = 1.0
    assert conductances(sp.csr_array(B), np.array([0, 0, 1, 1])).tolist() == [LEAST, LEAST]
    assert conductances(sp.csr_array(B), np.zeros(4, dtype=int)).tolist() == [1.0]
    assert conductances(sp.csr_array(B), np.full(4, -1)).size == 0


def test_copies_know_no_unit_either():
    """Where most objects have copies, the typical distance is that of the others."""
    rows = np.vstack([np.zeros((60, 2)), np.random.default_rng(0).normal(size=(5, 2))])
    plain, other = (neighbour_graph(unit * rows).toarray() for unit in (1.0, 1e-4))
    np.testing.assert_allclose(other, plain, rtol=1e-6)
