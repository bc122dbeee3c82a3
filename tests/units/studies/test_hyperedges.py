"""Products over hyperedges against the polynomial that they are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dominantsets import Step
from dominantsets.studies import hyperedges as compiled


def drawn(n, k, count, seed):
    rng = np.random.default_rng(seed)
    every = list(itertools.combinations(range(n), k))
    chosen = rng.permutation(len(every))[:count]
    members = np.array([rng.permutation(every[e]) for e in chosen])
    owners = [[e for e in range(count) if v in members[e]] for v in range(n)]
    indptr = np.concatenate([[0], np.cumsum([len(own) for own in owners])])
    x = rng.dirichlet(np.ones(n))
    x[rng.integers(n)] = 0.0
    edges = compiled.Edges(members, rng.random(count) + 0.1, indptr, np.concatenate(owners).astype(np.int64))
    return edges, x / x.sum()


def value(edges, x):
    return sum(w * np.prod(x[m]) for m, w in zip(edges.members, edges.weights, strict=True))


def slope(edges, x, i):
    """Exact, because f is of degree 1 in every weight."""
    high, low = x.copy(), x.copy()
    high[i], low[i] = 1.0, 0.0
    return value(edges, high) - value(edges, low)


def second(edges, x, i, j):
    high, low = x.copy(), x.copy()
    high[i], low[i] = 1.0, 0.0
    return slope(edges, high, j) - slope(edges, low, j)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_derivatives_are_those_of_the_polynomial(k, seed):
    n = 7
    edges, x = drawn(n, k, 9, seed)
    np.testing.assert_allclose(compiled.payoffs(edges, x), [slope(edges, x, i) for i in range(n)], atol=1e-14)
    some = np.array([5, 0, 2])
    numbered = np.full(n, -1)
    numbered[some] = np.arange(3)
    expected = [[second(edges, x, i, j) if i != j else 0.0 for j in some] for i in some]
    np.testing.assert_allclose(compiled.second_derivatives(edges, x, numbered, 3), expected, atol=1e-14)
    for i, j in itertools.permutations(range(n), 2):
        assert compiled._curvature(edges, x, i, j) == pytest.approx(second(edges, x, i, j), abs=1e-14)


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_steps_are_the_best_between_the_worst_and_the_best_and_are_recorded(k, seed):
    n, budget = 7, 6
    edges, x = drawn(n, k, 9, seed)
    r, record = compiled.payoffs(edges, x), np.zeros((budget, 4))
    many, r_many = x.copy(), r.copy()
    why, done = compiled.pairwise(edges, many, r_many, 0.0, budget, record)
    assert done > 0
    assert (why == 0) == (done == budget)
    single = np.zeros((1, 4))
    compiled.pairwise(edges, x.copy(), r.copy(), 0.0, 1, single)
    assert single[0].tolist() == record[0].tolist()
    for t in range(done):
        i = int(np.argmax(r))
        support = np.flatnonzero(x)
        j = support[np.argmin(r[support])]
        mean, gap = x @ r, r[i] - x @ r
        assert compiled.survey(x, r) == (i, j, pytest.approx(mean), support.size)
        np.testing.assert_allclose(record[t, :3], [mean, gap, support.size], atol=1e-12)
        before, had, curve = value(edges, x), x[j], second(edges, x, i, j)
        was_in = x[i] > 0.0
        best = min(had, (r[i] - r[j]) / (2.0 * curve)) if curve > 0.0 else had
        expected = x.copy()
        expected[i], expected[j] = x[i] + best, x[j] - best
        compiled.pairwise(edges, x, r, 0.0, 1, np.zeros((0, 4)))
        np.testing.assert_allclose(x, expected, atol=1e-14)
        np.testing.assert_allclose(r, [slope(edges, x, v) for v in range(n)], atol=1e-13)
        assert value(edges, x) >= before
        kind = Step.EXCHANGE if best < had else (Step.DROP if was_in else Step.SWAP)
        assert record[t, 3] == kind
    np.testing.assert_allclose(many, x, atol=1e-13)
    # within tolerance it comes back at once
    gap = (r.max() - x @ r) / (x @ r)
    assert compiled.pairwise(edges, x, r, 1.01 * gap + 1e-9, budget, record) == (compiled.LOOK, 0)
