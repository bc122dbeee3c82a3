"""Dominant sets of hypergraphs, against sums and products written out."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute_force
from capped_maxima import agree
from dominantsets import DominantSet, Status, solve, solve_hypergraph
from support import given_comparisons, negative_on_face, random_similarity, vector

METHODS = ("pairwise", "baum-eagon")
FANO = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]


# plain forms ---------------------------------------------------------------------------------------------


def value(edges, omega, x):
    """f by its definition."""
    return sum(w * prod(x[j] for j in e) for e, w in zip(edges, omega, strict=True))


def derivatives(edges, omega, x):
    """f is linear in each weight: its slope is the difference of two values."""
    return np.array([value(edges, omega, _at(x, j, 1.0)) - value(edges, omega, _at(x, j, 0.0))
                     for j in range(len(x))])  # fmt: skip


def _at(x, j, weight):
    x = np.array(x, dtype=float)
    x[j] = weight
    return x


def pairwise_step(edges, omega, x):
    """The best point between x and the one where all of j's weight is i's, by a parabola through three."""
    d = derivatives(edges, omega, x)
    i = int(np.argmax(d))
    support = np.flatnonzero(x)
    j = int(support[np.argmin(d[support])])
    if d[i] - x @ d <= 0 or i == j:
        return x
    direction = np.eye(len(x))[i] - np.eye(len(x))[j]
    low, middle, high = (value(edges, omega, x + t * x[j] * direction) for t in (0.0, 0.5, 1.0))
    second, first = 2 * (low - 2 * middle + high), 4 * middle - 3 * low - high
    t = 1.0 if second >= 0 or first + 2 * second >= 0 else -first / (2 * second)
    out = x + t * x[j] * direction
    out[j] = 0.0 if t == 1.0 else out[j]
    return out


def baum_eagon_step(edges, omega, x):
    d = derivatives(edges, omega, x)
    return x * d / (x @ d)


def assert_certified(edges, omega, n, cluster: DominantSet, stationary: float | None = None):
    """Compute again what a cluster claims, from members and weights alone."""
    x = vector(cluster, n)
    d = derivatives(edges, omega, x)
    k, outside = len(edges[0]), np.setdiff1d(np.arange(n), cluster.members)
    level = k * value(edges, omega, x)
    unit = sum(omega)
    assert x.sum() == pytest.approx(1.0)
    assert cluster.value == pytest.approx(level, abs=1e-13 * unit)
    assert cluster.gap == pytest.approx(max(0.0, d.max() - level), abs=1e-13 * unit)
    if outside.size:
        assert cluster.margin == pytest.approx(level - d[outside].max(), abs=1e-13 * unit)
    if cluster.strict:
        B = np.zeros((n, n))
        for i, j in combinations(cluster.members, 2):
            both, without = _at(_at(x, i, 1.0), j, 1.0), _at(_at(x, i, 0.0), j, 0.0)
            one, other = _at(_at(x, i, 1.0), j, 0.0), _at(_at(x, i, 0.0), j, 1.0)
            B[i, j] = B[j, i] = sum(
                sign * value(edges, omega, y) for sign, y in ((1, both), (1, without), (-1, one), (-1, other))
            )
        assert negative_on_face(B[np.ix_(cluster.members, cluster.members)], 1e-12 * unit)
    if stationary is not None:
        assert d.max() <= level + stationary * unit
        assert np.abs(d[cluster.members] - level) @ cluster.weights <= stationary * unit


def random_hypergraph(n, k, seed):
    rng = np.random.default_rng(seed)
    every = list(combinations(range(n), k))
    chosen = rng.choice(len(every), size=min(len(every), 3 * n), replace=False)
    return [every[e] for e in sorted(chosen)], rng.random(min(len(every), 3 * n)) + 0.05


hypergraphs = st.tuples(st.integers(4, 9), st.integers(2, 4), st.integers(0, 10_000))


# properties ----------------------------------------------------------------------------------------------


@given(hypergraphs, st.sampled_from([0.2, 1.0, 5.0]))
def test_the_pairwise_step_is_that_of_the_plain_form(drawn, evenness):
    """One step: an optimal exchange leaves two payoffs equal, and rounding decides which comes next."""
    n, k, seed = drawn
    edges, omega = random_hypergraph(n, k, seed)
    x = np.random.default_rng(seed + 1).dirichlet(np.full(n, evenness))
    x[x < 1e-6] = 0.0  # some objects outside
    x = x / x.sum() if np.count_nonzero(x) >= k - 1 else np.full(n, 1 / n)
    found = solve_hypergraph(edges, omega, n=n, start=x, max_iter=1, tol=0.0, cutoff=0.0)
    expected = pairwise_step(edges, omega, x) if found.n_iter else x
    np.testing.assert_allclose(vector(found, n), expected, atol=1e-9)
    # and it is the best of the way: no point of a grid is better
    best = max(value(edges, omega, x + t * (expected - x)) for t in np.linspace(0.0, 1.0, 21))
    assert value(edges, omega, vector(found, n)) >= best - 1e-14


@given(hypergraphs, st.integers(1, 12))
def test_the_dynamics_is_that_of_the_plain_form(drawn, t):
    n, k, seed = drawn
    edges, omega = random_hypergraph(n, k, seed)
    x = np.random.default_rng(seed + 1).dirichlet(np.ones(n))
    found = solve_hypergraph(
        edges, omega, n=n, algorithm="baum-eagon", start=x, max_iter=t, tol=0.0, cutoff=0.0
    )
    for _ in range(found.n_iter):
        x = baum_eagon_step(edges, omega, x)
    np.testing.assert_allclose(vector(found, n), x, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@given_comparisons(0.9, hypergraphs)
def test_value_never_falls(method, drawn):
    n, k, seed = drawn
    edges, omega = random_hypergraph(n, k, seed)
    start = np.random.default_rng(seed + 1).dirichlet(np.ones(n))  # equal weights may be the maximum already
    found = solve_hypergraph(edges, omega, n=n, algorithm=method, start=start, trace=True, max_iter=500)
    values = np.append(found.trace.value, found.value)
    assert np.diff(values).min(initial=0.0) >= -1e-13
    return len(values) > 1


@given(hypergraphs)
def test_the_certificate_is_what_the_weights_say(drawn):
    n, k, seed = drawn
    edges, omega = random_hypergraph(n, k, seed)
    for method in METHODS:
        found = solve_hypergraph(edges, omega, n=n, algorithm=method, max_iter=3_000)
        kkt = 1e-8 if found.status is Status.CONVERGED and method == "pairwise" else None
        assert_certified(edges, omega, n, found, kkt)
        if method == "pairwise":
            assert found.status in (Status.CONVERGED, Status.STALLED)
            assert found.relative_gap <= 1e-9


@given(st.integers(3, 12), st.integers(0, 10_000))
def test_pairs_are_an_ordinary_similarity(n, seed):
    """k = 2: the same objective, the same steps, the same certificate as ``solve``."""
    A = random_similarity(n, seed, zeros=0.3)
    edges = np.argwhere(np.triu(A) > 0)
    x = np.random.default_rng(seed).dirichlet(np.ones(n))
    for ours, theirs, t in (("pairwise", "pairwise", 1), ("baum-eagon", "replicator", 15)):
        one = solve_hypergraph(edges, A[tuple(edges.T)], n=n, algorithm=ours, start=x, max_iter=t, cutoff=0.0)
        other = solve(A, algorithm=theirs, start=x, max_iter=t)
        assert one.value == pytest.approx(other.value, rel=1e-9)
        np.testing.assert_allclose(vector(one, n), vector(other, n), atol=1e-9)
        assert one.gap == pytest.approx(other.gap, abs=1e-9)


# strictness ----------------------------------------------------------------------------------------------

SEGMENT = [(0, 1, 2), (0, 1, 3)]  # f = x0 x1 (x2 + x3): mass moves between 2 and 3 at no loss


def test_a_segment_of_maxima_is_not_called_strict():
    found = solve_hypergraph(SEGMENT, start=[0.145, 0.02, 0.102, 0.733])
    assert found.strict is None
    assert found.status is Status.CONVERGED


@given(st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4), st.sampled_from([1.0, 3.0]))
def test_no_start_makes_a_segment_strict(start, omega):
    x = np.array(start) / sum(start)
    assert solve_hypergraph(SEGMENT, [omega, omega], start=x).strict is not True


def test_twins_of_different_weight_are_told_apart():
    """f = x0 x1 (x2 + c x3): for c < 1 the maximum has x3 = 0, and object 3 loses by 1 - c."""
    for loss in (1e-1, 1e-3, 1e-6):
        found = solve_hypergraph(SEGMENT, [1.0, 1.0 - loss], start=[0.25, 0.25, 0.3, 0.2])
        assert found.members.tolist() == [0, 1, 2]
        assert found.strict is True
        assert found.undecided.size == 0


def test_a_saddle_is_not_strict():
    """Equal weights on two triples without a common object: f rises toward each of them."""
    found = solve_hypergraph([(0, 1, 2), (3, 4, 5)])
    assert len(found) == 6
    assert found.strict is False


def test_an_outsider_with_the_same_payoff_is_undecided():
    """a01 + a12 = a02: at (1/2, 0, 1/2) object 1 has the payoff 3/2 of the others, and f is concave."""
    found = solve_hypergraph([(0, 1), (1, 2), (0, 2)], [2.0, 1.0, 3.0])
    np.testing.assert_allclose(vector(found, 3), [0.5, 0.0, 0.5], atol=1e-4)
    assert found.strict is True
    assert found.undecided.tolist() == [1]


@given_comparisons(0.5, st.integers(3, 5), st.integers(0, 10_000), st.sampled_from([1e-10, 1e-6]))
def test_strict_pairs_are_so_in_rationals(n, seed, tol):
    """k = 2 with whole numbers, which have ties and flat faces, against every support."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.integers(0, 4, (n, n)), 1)
    edges = np.argwhere(A)
    if not len(edges):
        return False
    start = rng.dirichlet(np.ones(n))
    found = solve_hypergraph(edges, A[tuple(edges.T)], n=n, start=start, tol=tol)
    if not found.strict:
        return False
    top = int(A.max())
    D = [[0 if i == j else top - int(A[i, j] + A[j, i]) for j in range(n)] for i in range(n)]
    B = [[Fraction(0 if i == j else top - D[i][j]) for j in range(n)] for i in range(n)]
    stable = [set(S) for S, (_, is_stable) in brute_force.equilibria(B).items() if is_stable]
    members, undecided = set(found.members.tolist()), set(found.undecided.tolist())
    assert any(agree(members, undecided, support) for support in stable)
    return True


@given_comparisons(0.3, hypergraphs, st.integers(0, 10_000))
def test_newtons_method_finds_the_maximum_that_is_claimed(drawn, other):
    """From x, on the face of the certain members: it stays near, weights are positive, no object gains."""
    n, k, seed = drawn
    edges, _ = random_hypergraph(n, k, seed)
    rng = np.random.default_rng(other)
    omega = rng.integers(1, 4, len(edges)).astype(float)
    found = solve_hypergraph(edges, omega, n=n, start=rng.dirichlet(np.ones(n)))
    if not found.strict or found.undecided.size:
        return False
    S, x = found.members, vector(found, n)
    for _ in range(5):
        H = np.array([[0.0 if i == j else _mixed(edges, omega, x, i, j) for j in S] for i in S])
        system = np.block([[H, -np.ones((len(S), 1))], [np.ones((1, len(S))), np.zeros((1, 1))]])
        x[S] += np.linalg.solve(system, [*-derivatives(edges, omega, x)[S], 0.0])[:-1]
    d = derivatives(edges, omega, x)
    np.testing.assert_allclose(x[S], found.weights, atol=1e-4)
    assert x[S].min() > 0
    assert d.max() <= d[S].min() + 1e-12
    assert negative_on_face(H)
    return True


def _mixed(edges, omega, x, i, j):
    """f is linear in each weight: the difference of two slopes."""
    slopes = [derivatives(edges, omega, _at(x, i, weight))[j] for weight in (1.0, 0.0)]
    return slopes[0] - slopes[1]


def test_an_edge_listed_twice_counts_twice():
    edges, omega = random_hypergraph(7, 3, 0)
    doubled = solve_hypergraph([*edges, edges[0]], [*omega, omega[0]])
    heavier = solve_hypergraph(edges, [2 * omega[0], *omega[1:]])
    assert doubled.value == pytest.approx(heavier.value, rel=1e-12)


# facts from outside --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("s", "k"), [(3, 3), (5, 3), (6, 4), (8, 2), (7, 5)])
def test_all_edges_of_a_group(s, k, method):
    """Maclaurin's inequality: the elementary symmetric mean is largest where all weights are equal."""
    start = np.random.default_rng(s).dirichlet(np.full(s, 5.0))
    found = solve_hypergraph(list(combinations(range(s), k)), algorithm=method, start=start)
    np.testing.assert_allclose(found.weights, 1 / s, atol=1e-6)
    assert found.value / k == pytest.approx(comb(s, k) / s**k, rel=1e-9)
    assert found.strict is True
    # Baum and Eagon's dynamics ends where it hardly moves, which is not yet where the gap is small
    assert found.status is Status.CONVERGED or (method == "baum-eagon" and found.status is Status.STEADY)


def test_the_lagrangian_of_the_fano_plane():
    """It is 1/27 (Frankl and Füredi, 1989): no better than one edge alone."""
    best = 0.0
    for seed in range(30):
        found = solve_hypergraph(FANO, start=np.random.default_rng(seed).dirichlet(np.full(7, 0.5)))
        assert found.value / 3 <= 1 / 27 + 1e-12
        best = max(best, found.value / 3)
    assert best == pytest.approx(1 / 27)


def test_a_planted_group_is_found_from_each_of_its_objects():
    """12 objects of which any three are joined, and as many triples at random among 60."""
    rng = np.random.default_rng(0)
    group = list(combinations(range(12), 3))
    others = [tuple(rng.choice(60, 3, replace=False)) for _ in group]
    for i in range(12):
        found = solve_hypergraph(group + others, n=60, start=i)
        assert set(found.members) >= set(range(12))
        assert found.margin > 0
        assert found.strict is True
    everywhere = solve_hypergraph(group + others, n=60)
    assert set(everywhere.members) >= set(range(12))


# occasions -----------------------------------------------------------------------------------------------


def test_numbers_of_objects_that_no_memory_holds_are_refused():
    with pytest.raises(MemoryError, match="number the objects from 0 on"):
        solve_hypergraph([(0, 1, 10**13)])


def test_it_stops_when_told():
    edges, omega = random_hypergraph(40, 3, 0)
    for method in METHODS:
        stopped = solve_hypergraph(edges, omega, algorithm=method, max_iter=3)
        assert stopped.status is Status.MAX_ITER
        assert stopped.n_iter == 3
    assert solve_hypergraph(edges, omega, max_time=0.0, tol=0.0).status is Status.TIME_LIMIT
    assert solve_hypergraph(edges, omega, tol=0.0, callback=lambda _: True).status is Status.STOPPED


@pytest.mark.parametrize(
    ("edges", "options", "sentence"),
    [
        ([(0, 1), (0, 1, 2)], {}, "hyperedges have 2 to 3 objects; all must have the same number"),
        ([(0, 1, 2), ()], {}, "hyperedge 1 is empty; leave it out"),
        ([], {}, "there are no hyperedges"),
        (None, {}, "must be an array or a list of groups of objects, got NoneType"),
        (np.array([[0, 1], [0, 1, 2]], dtype=object), {}, "hyperedges have 2 to 3 objects"),
        (np.empty((0, 3)), {}, "there are no hyperedges"),
        ([(0,), (1,)], {}, "at least 2 objects"),
        ([(0, 1, 1)], {}, r"hyperedge 0 \(0, 1, 1\) has an object more than once"),
        ([(0, 1, -2)], {}, "whole numbers from 0 on"),
        ([(0, 1, 2.5)], {}, "whole numbers from 0 on"),
        ([("a", "b", "c")], {}, "whole numbers from 0 on"),
        ([(0, 1, 2)], {"weights": [1.0, 2.0]}, "1 hyperedges need 1 weights"),
        ([(0, 1, 2)], {"weights": [-1.0]}, "finite and not negative"),
        ([(0, 1, 2)], {"weights": [np.nan]}, "finite and not negative"),
        ([(0, 1, 2)], {"weights": [0.0]}, "all hyperedges have the weight 0"),
        ([(0, 1, 2)], {"n": 2}, "above the largest object in an edge, 2"),
        ([(0, 1, 2)], {"algorithm": "fw"}, "is not known"),
        ([(0, 1, 2)], {"start": "vertex"}, "is not known"),
        ([(0, 1, 2)], {"start": 5}, "no object of 0 to 2"),
        ([(0, 1, 2)], {"start": [1.0, 0.0, 0.0]}, "a start of 1 objects has no payoff"),
        ([(0, 1, 2)], {"tol": -1.0}, "tol must be at least 0"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(edges, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        solve_hypergraph(edges, **options)
