"""Groups of a network that merge: at which shifts, by the definition, and what has no time."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import End, as_similarity, solve
from dominantsets.clusters.graph_groups import GraphGroup
from dominantsets.fitting import nested_graph as module
from dominantsets.solvers import Monitor, SolverOptions
from plans import nested_of


@pytest.fixture
def network():
    """Fifteen nodes and ten others with an edge to them."""
    A = np.zeros((25, 25))
    A[:15, :15], A[15:, 15:] = 0.5, 0.8
    A[14, 15] = A[15, 14] = 0.1
    np.fill_diagonal(A, 0.0)
    S = as_similarity(sp.csr_array(A))
    large, small = (solve(S, shift=shift, start=i) for shift, i in ((4.0, 0), (0.0, 20)))
    return A, S, [GraphGroup(large, 3.0, 6.0, -6.0, True), GraphGroup(small, 0.1, 6.0, -7.0, True)]


def test_the_shift_at_which_two_groups_merge(network):
    """Where one's f, which falls by the shift times |x|², is what it has of the other."""
    A, S, groups = network
    x = np.zeros((2, 25))
    for k, group in enumerate(groups):
        x[k, group.members] = group.weights
    mutual, squares = x @ A @ x.T, np.square(x).sum(axis=1)
    level = (np.diag(mutual)[:, None] - mutual) / squares[:, None]
    level = np.minimum(level, level.T)
    edges = mutual > 0.0
    np.fill_diagonal(edges, False)
    found = module._levels(S, groups)
    np.testing.assert_allclose(found.toarray()[edges], level[edges])
    assert found.nnz == edges.sum()


def test_groups_that_are_too_small_do_not_count(network, monkeypatch):
    _, S, groups = network
    nodes = np.repeat([0, 1], [15, 10])
    monkeypatch.setattr("dominantsets.fitting.network.graph_groups", lambda *_: (groups, nodes))
    found = nested_of(S, 3, SolverOptions(), Monitor())
    assert {group.objects.size for group in found.root.children} == {15, 10}
    assert found.halt is None
    assert nested_of(S, 3, SolverOptions(), Monitor(0.0)).halt is End.TIME_LIMIT
    assert nested_of(S, 11, SolverOptions(), Monitor()).n_groups == 1
    assert nested_of(S, 16, SolverOptions(), Monitor()).root.children == []
