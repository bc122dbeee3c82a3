"""Groups of a graph, each at its own shift: certificates, planted groups, graphs without structure."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from dominantsets import Status, as_similarity
from dominantsets.clusters.graph_groups import graph_groups
from dominantsets.compiled.graph import ascend
from dominantsets.labels.edges import label_by_edges
from dominantsets.solvers import Monitor, make_problem
from dominantsets.solvers.problem import Point

SIZES = (3, 4, 6, 9, 14, 22, 35, 50, 40, 12, 5)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def graph(rows, cols, n, weights):
    low, high = np.minimum(rows, cols), np.maximum(rows, cols)
    low, high = np.divmod(np.unique((low * n + high)[low < high]), n)
    A = sp.csr_array((weights(low.size), (low, high)), shape=(n, n))
    return sp.csr_array(A + A.T)


def planted(rng, sizes=SIZES, links=1.0, weights=np.ones):
    """Groups with 0.4 (large ones) to all (small ones) of their edges, and some links at random."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    i, j = np.triu_indices(y.size, 1)
    share = np.clip(6.0 / np.array(sizes), 0.4, 1.0)[y[i]]
    inside = (y[i] == y[j]) & (rng.random(i.size) < share)
    a, b = rng.integers(0, y.size, (2, int(links * y.size / 2)))
    return graph(np.concatenate([i[inside], a]), np.concatenate([j[inside], b]), y.size, weights), y


def groups_of(A, n_clusters=None):
    return graph_groups(as_similarity(A), n_clusters, Monitor())[0]


def cliques(*sizes, links=()):
    A = sp.block_diag([np.ones((m, m)) - np.eye(m) for m in sizes]).toarray()
    for i, j in links:
        A[i, j] = A[j, i] = 1.0
    return sp.csr_array(A)


def labels_of(A, groups, nodes=None):
    nodes = np.full(A.shape[0], -1) if nodes is None else nodes
    return label_by_edges(as_similarity(A), [group.core for group in groups], nodes, "auto", True).labels


def as_sets(groups):
    return {frozenset(group.members.tolist()) for group in groups}


@pytest.mark.parametrize("weights", ["one", "random"])
def test_each_group_is_a_dominant_set_of_the_whole_graph_at_its_own_shift(rng, weights):
    A, _ = planted(rng, weights=np.ones if weights == "one" else lambda m: rng.uniform(0.2, 1.0, m))
    groups = groups_of(A)
    assert len({group.shift for group in groups}) > 1
    for group in groups:
        x = np.zeros(A.shape[0])
        x[group.members] = group.weights
        r = A @ x - group.shift * x
        f = x @ r
        assert x.min() >= 0.0
        assert x.sum() == pytest.approx(1.0)
        assert f > 0.0
        assert r.max() - f <= 1.1e-10 * (f + group.shift)
        assert np.abs(r[group.members] - f).max() <= 1e-6 * (f + group.shift)
        assert group.core.status is Status.CONVERGED
        assert group.shift_from <= group.shift <= group.shift_to
        assert group.strength == pytest.approx(np.log(group.shift_to / group.shift_from))
        assert group.significant


def test_planted_groups_of_unequal_size_are_found(rng):
    A, y = planted(rng)
    groups = groups_of(A)
    assert adjusted_rand_score(y, labels_of(A, groups)) > 0.95
    assert abs(len(groups) - len(SIZES)) <= 2
    assert [g.evidence for g in groups] == sorted(g.evidence for g in groups)


@pytest.mark.parametrize("n_clusters", [1, 2, 7, 11, 18])
def test_the_number_asked_for_is_given(rng, n_clusters):
    A, y = planted(rng)
    groups = groups_of(A, n_clusters)
    assert len(groups) == len(as_sets(groups)) == n_clusters
    if n_clusters == 11:
        assert adjusted_rand_score(y, labels_of(A, groups)) > 0.95


def test_groups_that_are_a_large_part_of_the_graph(rng):
    y = np.repeat([0, 1, 2], [250, 150, 100])
    i, j = np.triu_indices(y.size, 1)
    linked = rng.random(i.size) < np.where(y[i] == y[j], 0.12, 0.01)
    A = graph(i[linked], j[linked], y.size, np.ones)
    groups = groups_of(A)
    assert len(groups) == 3
    assert adjusted_rand_score(y, labels_of(A, groups)) > 0.98


def test_a_star_is_not_many_groups():
    n = 1_000
    A = sp.csr_array((np.ones(n - 1), (np.zeros(n - 1, dtype=int), np.arange(1, n))), shape=(n, n))
    assert len(groups_of(sp.csr_array(A + A.T))) <= 1


def test_two_cliques_joined_by_an_edge():
    A = cliques(8, 6, links=[(0, 8)])
    groups = groups_of(A)
    assert as_sets(groups) == {frozenset(range(8)), frozenset(range(8, 14))}


def test_groups_live_at_different_shifts():
    A = cliques(5, 40, 5, links=[(0, 5), (44, 45)])
    small, large = ([g for g in groups_of(A) if (len(g.members) > 10) == big] for big in (False, True))
    assert len(small) == 2
    assert len(large) == 1
    assert large[0].shift_to > 4.0 > max(g.shift_to for g in small)


def test_parts_that_are_groups_inside_are_preferred_to_the_whole(rng):
    """Three cliques of ten with a fifth of the edges between them, far from everything else."""
    A = cliques(10, 10, 10, *[3] * 60).toarray()
    i, j = np.triu_indices(30, 1)
    more = rng.random(i.size) < 0.2
    A[i[more], j[more]] = A[j[more], i[more]] = 1.0
    found = [g for g in groups_of(sp.csr_array(A)) if g.members[0] < 30]
    assert [len(g.members) for g in found] == [10, 10, 10]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["equal", "equal-weighted", "degrees", "degrees-weighted"])
def test_a_graph_without_structure_has_at_most_one_group(kind, seed):
    rng = np.random.default_rng(seed)
    n = 400
    if kind.startswith("equal"):
        ends = rng.integers(0, n, 8 * n)
    else:
        ends = np.repeat(np.arange(n), np.minimum(50, 1 + 3 * rng.pareto(1.5, n)).astype(int))
        rng.shuffle(ends)
    half = ends.size // 2
    A = graph(
        ends[:half],
        ends[half : 2 * half],
        n,
        (lambda m: rng.exponential(size=m)) if "weighted" in kind else np.ones,
    )
    assert len(groups_of(A)) <= 1


def test_the_order_of_the_nodes_does_not_matter(rng):
    A, _ = planted(rng, weights=lambda m: rng.uniform(0.5, 1.0, m))
    order = rng.permutation(A.shape[0])
    moved = groups_of(sp.csr_array(A[order][:, order]))
    assert {frozenset(order[list(s)].tolist()) for s in as_sets(moved)} == as_sets(groups_of(A))


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_unit_of_the_weights_does_not_matter(rng, factor):
    A, _ = planted(rng, weights=lambda m: rng.uniform(0.5, 1.0, m))
    assert as_sets(groups_of(A * factor)) == as_sets(groups_of(A))


def test_nodes_without_edges_are_in_no_group():
    A = sp.block_diag([cliques(6, 7, 5), np.zeros((4, 4))], format="csr")
    S = as_similarity(sp.csr_array(A))
    groups, nodes = graph_groups(S, None, Monitor())
    labels = labels_of(A, groups, nodes)
    assert len(groups) == 3
    assert (labels[-4:] == -1).all()
    assert np.unique(labels[:-4]).size == 3


def test_one_edge():
    A = sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))
    for n_clusters in (None, 1, 2):
        (group,) = groups_of(A, n_clusters)
        assert group.members.tolist() == [0, 1]
        assert not group.significant


def test_a_graph_that_is_one_clique_is_one_group():
    (group,) = groups_of(cliques(12))
    assert len(group.members) == 12


def test_a_callback_ends_the_search(rng):
    A, _ = planted(rng)
    groups, _ = graph_groups(as_similarity(A), None, Monitor(callback=lambda progress: True))
    assert isinstance(groups, list)


def test_compiled_steps_agree_with_the_solver(rng):
    A, y = planted(rng, weights=lambda m: rng.uniform(0.5, 1.0, m))
    S, n = as_similarity(A), A.shape[0]
    start = np.flatnonzero(y == 7)
    x = Point(start, np.full(start.size, 1.0 / start.size))
    room = np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool), np.empty(n, dtype=np.int64)
    M = S.matrix
    members, weights, _ = ascend(M.indptr, M.indices, M.data, 3.0, *x, *room, 1e-8, 10**9)
    problem = make_problem(S, 3.0)
    assert (
        problem.recomputed(Point(members, weights)).high - problem.payoffs(Point(members, weights)).f < 1e-6
    )
    assert not any(part.any() for part in room[:3])
    nobody, _, _ = ascend(M.indptr, M.indices, M.data, 1e3, *x, *room, 1e-8, 10**9)
    assert nobody.size == 0


def test_nodes_without_structure_are_in_no_group(rng):
    """Two groups of twenty, and eighty nodes with the edges of a random graph."""
    y = np.repeat([0, 1, 2], [20, 20, 80])
    p = np.where((y[:, None] == y) & (y[:, None] < 2), 0.8, 0.05)
    A = np.triu(rng.random(p.shape) < p, 1).astype(float)
    A = A + A.T
    keep = A.any(axis=1)
    labels = graph_groups(as_similarity(sp.csr_array(A[keep][:, keep])), None, Monitor())[1]
    assert labels.max() == 1
    assert (labels[y[keep] == 2] < 0).mean() > 0.9
    assert (labels[y[keep] < 2] >= 0).all()
