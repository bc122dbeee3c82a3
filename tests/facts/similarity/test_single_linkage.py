"""Trees of single linkage, however they are made."""

from __future__ import annotations

import tracemalloc

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import linkage

from dominantsets import Status, as_similarity, path_clusters, peel, solve


def test_linkage_is_scipys():
    from scipy.cluster.hierarchy import cophenet, is_valid_linkage

    X = np.random.default_rng(0).normal(size=(40, 3))
    Z = as_similarity(X, "path").tree.linkage()
    assert is_valid_linkage(Z)
    np.testing.assert_allclose(cophenet(Z), cophenet(linkage(X, "single")), rtol=1e-12)


def test_a_graph_of_distances_with_zeros_and_several_components():
    edges = {(0, 1): 0.0, (1, 2): 2.0, (3, 4): 1.0, (0, 2): 5.0}
    G = sp.coo_array((list(edges.values()), tuple(zip(*edges, strict=True))), shape=(6, 6)).tocsr()
    S = as_similarity(G, "path", metric="precomputed")
    assert S.tree.n_components == 3
    assert S.top == 2.0
    np.testing.assert_array_equal(S.column(0), [0, 2, 0, 0, 0, 0])
    clusters = path_clusters(S, shift=10.0)
    assert [c.members.tolist() for c in clusters] == [[0, 1, 2], [3, 4], [5]]
    for start, members in ((0, [0, 1, 2]), (3, [3, 4]), (5, [5])):
        for algorithm in ("pairwise", "away"):
            cluster = solve(S, shift=10.0, algorithm=algorithm, start=start)
            assert cluster.members.tolist() == members
            assert cluster.margin == np.inf  # nobody else is in the component
            assert cluster.status is Status.CONVERGED
    assert [len(c) for c in peel(S, 3, shift=10.0)] == [3, 2]  # 5 is like nobody


def test_a_tree_takes_memory_in_proportion_to_n():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    as_similarity(X[:600], "path")
    tracemalloc.start()
    S = as_similarity(X, "path")
    S.degrees()
    solve(S, shift=5.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 600 * len(X)
