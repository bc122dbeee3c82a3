"""Groups of a network that merge: at which shifts, by the definition, and which is whose part."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import End, as_similarity, solve
from dominantsets.clusters.graph_tree import GraphGroup
from dominantsets.fitting import nested_graph as module
from dominantsets.solvers import Monitor, SolverOptions
from plans import nested_of


@pytest.fixture
def network():
    """Six nodes within fifteen, and ten others with an edge to them; the fifteen come first."""
    A = np.zeros((25, 25))
    A[:15, :15], A[:6, :6], A[15:, 15:] = 0.5, 1.0, 0.8
    A[14, 15] = A[15, 14] = 0.1
    np.fill_diagonal(A, 0.0)
    S = as_similarity(sp.csr_array(A))
    inner, outer, other = (solve(S, shift=shift, start=i) for shift, i in ((0.0, 0), (4.0, 0), (0.0, 20)))
    groups = [GraphGroup(outer, 3.0, 6.0, -6.0, True), GraphGroup(inner, 0.1, 2.0, -8.0, True, parent=0)]
    return A, S, [*groups, GraphGroup(other, 0.1, 6.0, -7.0, True)]


def test_the_shift_at_which_two_groups_merge(network):
    """Where one's f, which falls by the shift times |x|², is what it has of the other; parts come first."""
    A, S, groups = network
    x = np.zeros((3, 25))
    for k, group in enumerate(groups):
        x[k, group.members] = group.weights
    mutual, squares = x @ A @ x.T, np.square(x).sum(axis=1)
    level = (np.diag(mutual)[:, None] - mutual) / squares[:, None]
    level = np.minimum(level, level.T)
    edges = mutual > 0.0
    level[0, 1] = level[1, 0] = min(0.0, level[edges].min())
    np.fill_diagonal(edges, False)
    found = module._levels(S, groups)
    np.testing.assert_allclose(found.toarray()[edges], level[edges])
    assert found.nnz == edges.sum()


def test_the_whole_of_a_part_is_a_group(network, monkeypatch):
    _, S, groups = network
    monkeypatch.setattr("dominantsets.fitting.network.graph_groups", lambda *_: groups)
    found = nested_of(S, 3, SolverOptions(), Monitor())
    whole = next(group for group in found.root.walk() if group.objects.size == 15 and group.children)
    assert whole.core is groups[0].core
    assert {group.objects.size for group in whole.children} == {6, 9}
    assert found.halt is None
    assert nested_of(S, 3, SolverOptions(), Monitor(0.0)).halt is End.TIME_LIMIT
    assert nested_of(S, 6, SolverOptions(), Monitor()).n_groups == found.n_groups
    few = nested_of(S, 7, SolverOptions(), Monitor())  # the six are too few
    assert {group.objects.size for group in few.root.children} == {15, 10}
    assert nested_of(S, 16, SolverOptions(), Monitor()).root.children == []
