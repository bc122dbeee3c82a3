"""Labels of nodes by their edges: odds by hand and by a plain form, rounds, new nodes."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import DominantSet, Status, as_similarity
from dominantsets.labels.edges import label_by_edges as _label_by_edges


def label_by_edges(similarity, clusters, noise, every):
    return _label_by_edges(similarity, clusters, np.full(similarity.n, -1), noise, every)


def made(nodes):
    """A group of some nodes, of equal weights."""
    nodes = np.asarray(nodes)
    weights = np.full(nodes.size, 1.0 / nodes.size)
    return DominantSet(nodes, weights, 1.0, 0.0, 1.0, None, 1, Status.CONVERGED)


def blocks(*sizes, links=()):
    """Cliques of these sizes, with some links."""
    A = sp.block_diag([np.ones((m, m)) - np.eye(m) for m in sizes], format="lil")
    for i, j in links:
        A[i, j] = A[j, i] = 1.0
    return sp.csr_array(A)


def odds_of(A, labels, i, k):
    """The logarithm of the odds that node i belongs to group k, by definition, for edges of weight 1."""
    d, inside = A.sum(axis=1), labels == k
    e = A[i, inside].sum()
    q = (A[np.ix_(inside, inside)].sum() + 1.0) / (d[inside].sum() + 2.0)
    others = inside.copy()
    others[i] = False
    v = d[others].sum() / d.sum()
    return (
        e * np.log(q / v)
        + (d[i] - e) * np.log((1.0 - q) / (1.0 - v))
        + np.log(inside.sum() / max(1, (labels < 0).sum()))
    )


def test_labels_by_hand():
    """Two groups, a node with one edge to the first, and one without any."""
    A, groups = blocks(5, 4, 1, 1, links=[(0, 9)]), [made(range(5)), made(range(5, 9))]
    found = label_by_edges(as_similarity(A), groups, "auto", False)
    np.testing.assert_array_equal(found.labels, [0, 0, 0, 0, 0, 1, 1, 1, 1, 0, -1])
    # payoffs are 4/5, 3/4, 1/5 and nothing
    np.testing.assert_allclose(found.probabilities, [*9 * [1.0], 0.25, 0.0])
    assert found.sentence == "9% of the nodes are labelled noise: their edges do not tie them to a group."
    every = label_by_edges(as_similarity(A), groups, None, False)
    np.testing.assert_array_equal(every.labels, found.labels)
    assert every.sentence == "9% of the nodes are labelled noise: no path leads from them to a group."
    whole = label_by_edges(as_similarity(blocks(5, 4, 1, links=[(0, 9)])), groups, None, False)
    assert whole.sentence == "no node is labelled noise."
    assert label_by_edges(as_similarity(A), [], "auto", False).labels.tolist() == 11 * [-1]


@pytest.mark.parametrize("seed", range(6))
def test_labels_have_the_best_odds(seed):
    """In the end every node that is no member has the label with the best odds, by the plain form."""
    rng = np.random.default_rng(seed)
    y = rng.integers(5, size=150)  # the last one is no group
    p = np.where((y[:, None] == y) & (y[:, None] < 4), 0.3, 0.03)
    A = np.triu(rng.random(p.shape) < p, 1).astype(float)
    A += A.T
    groups = [made(np.flatnonzero(y == k)[:12]) for k in range(4)]
    found = label_by_edges(as_similarity(sp.csr_array(A)), groups, "auto", False)
    members = np.concatenate([group.members for group in groups])
    compared = 0
    for i in np.setdiff1d(np.flatnonzero(A.any(axis=1)), members):
        tied = np.unique(found.labels[A[i] > 0])
        odds = {int(k): odds_of(A, found.labels, i, k) for k in tied if k >= 0}
        best = max(odds, key=odds.get, default=-1)
        assert found.labels[i] == (best if odds and odds[best] > 0.0 else -1)
        compared += 1
    assert compared > 50
    assert (found.rule.of_new(as_similarity(sp.csr_array(A)), A) == found.labels).all()


def test_weights_count_as_their_effective_number():
    """Edges of one weight are as many as they are, whatever the unit."""
    A = blocks(6, 6, 1, links=[(0, 12), (1, 12), (7, 12)])
    groups = [made(range(6)), made(range(6, 12))]
    for unit in (1.0, 1e-6, 1e6):
        found = label_by_edges(as_similarity(sp.csr_array(unit * A)), groups, "auto", False)
        assert found.labels[12] == 0


def test_a_path_from_a_group_is_labelled_to_its_end_if_every_node_is():
    A = blocks(6, *130 * [1], links=[(5, 6), *((i, i + 1) for i in range(6, 135))])
    assert (label_by_edges(as_similarity(A), [made(range(6))], None, False).labels == 0).all()


def test_a_share_is_left_out():
    graph = nx.planted_partition_graph(4, 25, 0.6, 0.02, seed=1)
    A = nx.to_scipy_sparse_array(graph, dtype=float, format="csr")
    groups = [made(range(25 * k, 25 * k + 15)) for k in range(4)]
    every, found = (label_by_edges(as_similarity(A), groups, noise, False) for noise in (None, 0.2))
    out = found.labels < 0
    assert 0.15 < out.mean() < 0.25  # equally typical nodes stay together
    assert every.probabilities[out].max() < every.probabilities[~out].min()
    np.testing.assert_array_equal(found.rule.of_new(as_similarity(A), A), found.labels)
    assert "20% asked" in found.sentence
