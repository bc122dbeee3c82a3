"""Ascent on a graph: where it ends, what it costs, and that it leaves its room as it was."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets.compiled.graph import ascend, within


def graph(n, seed):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    A = A + A.T
    M = sp.csr_array(A)
    return A, (M.indptr.astype(np.int32), M.indices.astype(np.int32), M.data), rng


def ascended(parts, shift, support, weights, n, tol=1e-10, work=10**7):
    room = np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool), np.empty(n, dtype=np.int64)
    found = ascend(*parts, shift, support, weights, *room, tol, work)
    assert not any(part.any() for part in room[:3])
    return found


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("shift", [0.05, 0.3])
def test_it_ends_where_payoffs_are_level_and_nobody_has_more(seed, shift):
    n = 14
    A, parts, rng = graph(n, seed)
    support = np.sort(rng.permutation(n)[:6])
    weights = rng.dirichlet(np.ones(6))
    B = A - shift * np.eye(n)
    x = np.zeros(n)
    x[support] = weights
    members, found, spent = ascended(parts, shift, support, weights, n)
    if x @ B @ x <= 0.0:
        assert members.size == 0
        return
    y = np.zeros(n)
    y[members] = found
    assert (found > 0.0).all()
    assert (np.diff(members) > 0).all()
    assert y.sum() == pytest.approx(1.0)
    r = B @ y
    assert r.max() - r[members].min() <= 1e-8
    assert y @ B @ y >= x @ B @ x
    near = np.count_nonzero((x > 0) | (A @ x > 0))
    assert spent >= 2 * near  # they are listed, and looked at once at least
    # one look is one step, the best one between the best of those near and the worst of the support
    one, some, less = ascended(parts, shift, support, weights, n, work=1)
    assert less == 2 * near
    z = np.zeros(n)
    z[one] = some
    r = B @ x
    reachable = np.flatnonzero((x > 0) | (A @ x > 0))
    i = reachable[r[reachable].argmax()]
    j = support[r[support].argmin()]
    gamma = min(x[j], (r[i] - r[j]) / (2.0 * (shift + A[i, j])))
    expected = x + gamma * (np.eye(n)[i] - np.eye(n)[j])
    np.testing.assert_allclose(z, expected, atol=1e-12)
    # it stops at once where the difference is within a tolerance of the payoff and the shift
    same, kept, _ = ascended(parts, shift, support, weights, n, tol=1e3)
    assert same.tolist() == support.tolist()
    np.testing.assert_allclose(kept, weights)


def test_nobody_where_the_value_is_not_positive():
    A, parts, _ = graph(8, 0)
    pair = np.array(np.unravel_index(A.argmax(), A.shape))
    pair.sort()
    even = np.full(2, 0.5)
    # x'(A - s I)x of two with half of the weight each is (a - s) / 2
    assert ascended(parts, 1.01 * A.max(), pair, even, 8)[0].size == 0
    assert ascended(parts, 0.99 * A.max(), pair, even, 8)[0].size > 0
    assert ascended(parts, A.max(), pair, even, 8)[0].size == 0  # exactly 0
    members, weights, spent = ascended(parts, 1.01 * A.max(), pair, even, 8)
    assert (members.size, weights.size) == (0, 0)
    assert spent == np.count_nonzero(A[pair].any(axis=0) | np.isin(np.arange(8), pair))


@pytest.mark.parametrize("seed", range(3))
def test_edges_within_a_set(seed):
    A, parts, rng = graph(12, seed)
    members, inside = np.sort(rng.permutation(12)[:7]), np.zeros(12, dtype=bool)
    total = within(*parts, members, inside)
    block = np.triu(A[np.ix_(members, members)])
    assert total == pytest.approx(block.sum())
    assert not inside.any()
