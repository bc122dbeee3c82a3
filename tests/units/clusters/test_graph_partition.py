"""Communities by description length: the nats by definition, moves, graphs without structure, numbers."""

from __future__ import annotations

from math import comb, lgamma, log

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from dominantsets.clusters.graph_partition import Communities
from dominantsets.solvers import Monitor


def random_graph(kind, n, degree, rng):
    """A graph without structure: equal chances, or the configuration model of heavy-tailed degrees."""
    if kind.startswith("equal"):
        ends = rng.integers(0, n, int(n * degree))
    else:
        wanted = np.minimum((1 + rng.pareto(1.5, n)) * degree / 3, 2 * n**0.5)
        ends = rng.permutation(np.repeat(np.arange(n), np.maximum(1, wanted).astype(int)))
    pairs = np.sort(ends[: ends.size // 2 * 2].reshape(2, -1), axis=0)
    pairs = np.unique(pairs[:, pairs[0] < pairs[1]], axis=1)
    weights = rng.exponential(size=pairs.shape[1]) if kind.endswith("weighted") else np.ones(pairs.shape[1])
    A = sp.coo_array((weights, pairs), shape=(n, n)).tocsr()
    A = sp.csr_array(A + A.T)
    linked = np.flatnonzero(np.diff(A.indptr))
    return sp.csr_array(A[linked][:, linked])


def planted(seed, sizes=(12, 15, 20, 25), inside=0.5, outside=0.05):
    graph = nx.stochastic_block_model(
        list(sizes), np.where(np.eye(len(sizes)), inside, outside).tolist(), seed=seed
    )
    return nx.to_scipy_sparse_array(graph, dtype=float, format="csr"), np.repeat(np.arange(len(sizes)), sizes)


def saved(A, labels):
    """The nats that groups save, term by term."""
    A = np.asarray(A.toarray())
    n, E, k = len(A), A.sum() / 2.0, A.sum(axis=1)
    groups = [np.flatnonzero(labels == one) for one in range(labels.max() + 1)]
    K, out = len(groups), int((labels < 0).sum())

    def spread(m):
        return lgamma(m + 1.0) - m * log(m) + m if m else 0.0

    inner = [A[np.ix_(nodes, nodes)].sum() / 2.0 for nodes in groups]
    shares = [k[nodes].sum() / (2.0 * E) for nodes in groups]
    rest = E - sum(inner)
    bound = 2.0 * E * sum(shares)
    out_ends = bound - 2.0 * sum(inner)
    c = out_ends / bound
    total = 0.0
    if rest:
        total += out_ends * log(c) + rest * log(E**2 / (rest**2 - (c * E) ** 2 * sum(v * v for v in shares)))
    total -= lgamma(E + 1.0) - lgamma(rest + 1.0)
    total -= lgamma(n + 1.0) - lgamma(out + 1.0) + log(comb(n, K)) - lgamma(K + 1.0)
    total -= log((K + 1) * (K + 2))
    total += spread(2.0 * E) - spread(2.0 * rest)
    for nodes, e, v in zip(groups, inner, shares, strict=True):
        pairs = comb(nodes.size, 2)
        total += e * log(1.0 / v**2) + lgamma(e + 1.0) + lgamma(nodes.size + 1.0)
        total -= log(1.0 + min(pairs, E * v)) + spread(2.0 * E * v) - spread(2.0 * E * v - 2.0 * e)
        q, p = e / pairs, 2.0 * E * (v / nodes.size) ** 2
        if q > p:
            total += pairs * (((1.0 - q) * log((1.0 - q) / (1.0 - p)) if q < 1.0 else 0.0) + q - p)
    return total


@pytest.mark.parametrize("seed", range(4))
def test_nats_and_evidence_are_those_of_the_definition(seed):
    A, y = planted(seed)
    search, rng = Communities(A, Monitor()), np.random.default_rng(seed)
    for labels in (y, np.where(y == 1, -1, np.minimum(y, 2)) - (y > 1), rng.integers(0, 3, y.size)):
        assert search.nats(labels) == pytest.approx(saved(A, labels), rel=1e-9)
    without = np.where(y == 3, -1, y)
    assert search.evidence(y)[3] == pytest.approx(saved(A, y) - saved(A, without), rel=1e-6)
    one = np.where(y == 2, 0, -1)
    inner = A[y == 2][:, y == 2].sum() / 2.0
    assert search.of_one(inner, A[y == 2].sum(), 20) == pytest.approx(saved(A, one), rel=1e-9)


@pytest.mark.parametrize("resolution", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_no_single_move_gains_in_the_end(seed, resolution):
    """Of one node to another group: by the nats, or by modularity at a resolution."""
    A, y = planted(seed, inside=0.4, outside=0.1)
    search = Communities(A, Monitor())
    ends, total = A.sum(axis=1), A.sum()

    def value(labels):
        if resolution == 0.0:
            return saved(A, np.unique(labels, return_inverse=True)[1])
        groups = labels[:, None] == labels
        return float((groups * (A.toarray() - resolution * np.outer(ends, ends) / total)).sum())

    start = np.random.default_rng(seed).integers(0, 5, y.size)
    labels, before = start, None
    while before is None or not np.array_equal(labels, before):  # a node waits again only for its neighbors
        before, labels = labels, search._move(search._level, labels, np.zeros_like(start), resolution)
        assert value(labels) >= value(before)
    best = value(labels)
    for i in range(y.size):
        tied = np.append(np.unique(labels[A.indices[A.indptr[i] : A.indptr[i + 1]]]), labels.max() + 1)
        for k in tied:
            moved = labels.copy()
            moved[i] = k
            assert value(moved) <= best + 1e-6


def test_parts_stay_within_their_groups():
    A, y = planted(0)
    search = Communities(A, Monitor())
    parts = search._move(search._level, np.arange(y.size), y, 1.0)
    assert np.unique(np.stack([parts, y]), axis=1).shape[1] == parts.max() + 1 > 4


@pytest.mark.parametrize("kind", ["equal", "degrees", "equal, weighted", "degrees, weighted"])
@pytest.mark.parametrize(("n", "degree"), [(30, 3), (100, 2), (100, 20), (600, 4), (600, 30)])
def test_a_graph_without_structure_has_no_group(kind, n, degree):
    rng = np.random.default_rng(n + degree)
    found = [
        Communities(random_graph(kind, n, degree, rng), Monitor()).find(None).labels.max() for _ in range(5)
    ]
    assert max(found) == -1


@pytest.mark.parametrize("wanted", [1, 2, 3, 4, 6, 9])
def test_the_number_given_is_that_of_the_groups(wanted):
    A, y = planted(1)
    labels = Communities(A, Monitor()).find(wanted).labels
    assert np.unique(labels[labels >= 0]).size == wanted
    if wanted == 4:
        assert adjusted_rand_score(y, labels) > 0.9


def test_more_components_than_groups():
    A = sp.block_diag([np.ones((m, m)) - np.eye(m) for m in (5, 6, 7, 8)], format="csr")
    labels = Communities(sp.csr_array(A), Monitor()).find(2).labels
    assert np.unique(labels[labels >= 0]).size == 2


def test_edges_that_are_looked_at_are_counted():
    A, _ = planted(0)
    search = Communities(A, Monitor())
    search.find(None)
    assert 10 < search.passes < 1_000
