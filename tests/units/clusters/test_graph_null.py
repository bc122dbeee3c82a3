"""What structureless graphs show: the parts of the bound against counting."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import comb, factorial2, rel_entr

from dominantsets.clusters import graph_null
from dominantsets.clusters.graph_null import Null


def pairings(ends):
    """Every way to pair the ends."""
    if not ends:
        yield []
        return
    first, *rest = ends
    for k, other in enumerate(rest):
        for more in pairings(rest[:k] + rest[k + 1 :]):
            yield [(first, other), *more]


@pytest.mark.parametrize(("v", "ends"), [(2, 8), (4, 8), (3, 8), (4, 10)])
def test_how_many_edges_leave_where_ends_are_paired_at_random(v, ends):
    """By counting all pairings; the bound is one for each smaller number, times the most likely of them."""
    counts = Counter(sum((a < v) != (b < v) for a, b in way) for way in pairings(list(range(ends))))
    total = sum(counts.values())
    assert total == math.prod(range(ends - 1, 0, -2))
    for b, count in counts.items():
        found = graph_null._few_leave(float(v), float(b), float(ends))
        if b * (ends - 1) >= v * (ends - v):  # no fewer than usual
            assert found == 0.0
        else:
            assert found == pytest.approx(-math.log(count / total * (b / 2 + 1)))
            assert math.exp(-found) * (1.0 + 1e-9) >= sum(counts[c] for c in counts if c <= b) / total


def test_parts_of_the_formulas():
    assert graph_null._few_leave(10.0, 4.0, 16.0) == 0.0  # 10 * 6 / 15: as many as usual
    for n, k in ((5, 2), (9, 9), (12, 0)):
        assert graph_null._log_choose(n, k) == pytest.approx(math.log(comb(n, k)))
    for ends in (2, 6, 14):
        assert graph_null._log_pairings(ends) == pytest.approx(math.log(factorial2(ends - 1)))
    for q, p in ((0.5, 0.2), (1.0, 0.3), (0.9, 0.89)):
        assert graph_null._divergence(q, p) == pytest.approx(rel_entr(q, p) + rel_entr(1 - q, 1 - p))
    assert graph_null._divergence(0.2, 0.2) == graph_null._divergence(0.1, 0.2) == 0.0
    logs = np.array([-1.0, 700.0, 800.0])
    assert graph_null._log_sum(np.array([1, 2, 3]), logs) == pytest.approx(800.0 + math.log(3.0))


def graph(seed, weighted):
    rng = np.random.default_rng(seed)
    A = rng.random((14, 14)) < 0.15
    A[:5, :5] |= rng.random((5, 5)) < 0.9
    A = np.triu(A, 1) * (rng.uniform(0.2, 3.0, (14, 14)) if weighted else 2.0)
    return A + A.T


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("members", [[0, 1, 2, 3, 4], [0, 1], [2, 3, 9, 12], [7]])
def test_evidence_is_the_number_of_sets_times_the_probability_of_one(seed, weighted, members):
    A = graph(seed, weighted)
    k, members = np.count_nonzero(A, axis=1), np.array(members)
    m, v, E2 = members.size, k[members].sum(), k.sum()
    found = Null(sp.csr_array(A)).evidence(members)
    if m == 1:
        assert found == 0.0
        return
    pairs = m * (m - 1) / 2
    p = sum(k[i] * k[j] for i in members for j in members if i < j) / E2 / pairs
    inside = A[np.ix_(members, members)]
    edges, total = np.count_nonzero(inside) / 2, inside.sum() / 2
    q = edges / pairs
    rarity = max(
        pairs * (rel_entr(q, p) + rel_entr(1 - q, 1 - p)) if q > p else 0.0,
        graph_null._few_leave(v, v - 2 * edges, E2),
    )
    if weighted:
        a = A[A > 0]
        tilts = np.geomspace(1e-3, 500.0, 80) / a.max()
        tilted = [t * total - pairs * math.log1p(p * np.expm1(t * a).mean()) for t in tilts]
        rarity = max(rarity, *tilted) - math.log(2.0)
    every = math.log(comb(14, m))
    slopes = [0.0, *np.geomspace(1e-3, 8.0, 60)]
    few = min(s * v + m * math.log(np.exp(-s * k).sum()) for s in slopes)
    few += -math.lgamma(m + 1) + math.log(2.0 + math.log(v))
    expected = min(every, few) + math.log(2 * pairs) - max(0.0, rarity)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_sets_of_few_edge_ends_are_fewer_than_all_sets():
    """Ten nodes with one edge among thirty with many: 1 / m! e^(s v) Z(s)^m, and the powers of e of v."""
    A = np.zeros((40, 40))
    A[:30, :30] = 1.0 - np.eye(30)
    A[np.arange(30, 40), np.arange(10)] = A[np.arange(10), np.arange(30, 40)] = 1.0
    k, null = A.sum(axis=1), Null(sp.csr_array(A))
    for m, v in ((5, 5), (3, 3), (4, 120)):
        slopes = [0.0, *np.geomspace(1e-3, 8.0, 60)]
        few = min(s * v + m * math.log(np.exp(-s * k).sum()) for s in slopes)
        few += -math.lgamma(m + 1) + math.log(2.0 + math.log(v))
        every = math.log(comb(40, m))
        assert null._log_sets(m, v) == pytest.approx(min(few, every))
        assert (few < every) == (v == m)
