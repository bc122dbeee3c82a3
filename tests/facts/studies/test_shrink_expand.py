"""Shrink and expand: the closed step of the expansion, and where the rounds end."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dominantsets import Status, solve
from support import assert_certified, cliques, neighbor_graph


def test_a_graph_costs_what_is_near():
    """The same cluster alone and beside many others, by the same steps."""
    near = neighbor_graph(300, seed=3)
    far = sp.csr_array(sp.block_diag([near, *[near * 0.5] * 20]))
    alone = solve(near, algorithm="shrink-expand", start=5, shift=0.2)
    among = solve(far, algorithm="shrink-expand", start=5, shift=0.2)
    np.testing.assert_array_equal(alone.members, among.members)
    assert alone.n_iter == among.n_iter
    assert alone.status is Status.CONVERGED
    assert_certified(near.toarray(), alone, stationary=1e-9)


def test_an_object_without_neighbours_is_alone():
    cluster = solve(cliques([3], isolated=2), algorithm="shrink-expand", start=4)
    assert cluster.members.tolist() == [4]
    assert cluster.value == 0.0
