"""The exact solver of path-based similarity: a suite that would catch a wrong theorem."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force
from dominantsets import as_similarity, dominant_sets, path_clusters, path_spectrum, peel, solve
from support import assert_certified, given_comparisons, minimax, path, random_distances, vector

# ---- the theorem ----------------------------------------------------------------------------------


@given(st.integers(2, 25), st.integers(0, 10_000), st.booleans(), st.sampled_from([-2, -0.3, 0, 0.7, 4]))
def test_each_exact_answer_is_a_kkt_point_of_the_dense_problem(n, seed, ties, shift):
    S = path(random_distances(n, seed, ties))
    A = S.toarray()
    for cluster in path_clusters(S, shift=shift, weak=True):
        assert_certified(A, cluster, stationary=1e-12)
        x = vector(cluster, n)
        r = A @ x - shift * x
        np.testing.assert_allclose(r[cluster.members], x @ r, atol=1e-12 * (S.top + abs(shift)))


def whole_distances(n: int, seed: int, largest: int) -> list[list[int]]:
    """Minimax distances of small whole numbers; few are 0, else chains of zeros would make all of them 0."""
    rng = np.random.default_rng(seed)
    D = rng.integers(0, largest + 1, (n, n))
    D = np.triu(np.where(rng.random((n, n)) < 0.8, np.maximum(D, 1), D), 1)
    return brute_force.minimax(D + D.T)


@given_comparisons(
    0.8, st.integers(2, 6), st.integers(0, 100_000), st.integers(1, 6), st.sampled_from([-2, -1, 0, 1, 3, 5])
)
@settings(max_examples=80)
def test_brute_force_in_exact_rationals_finds_the_same_maxima(n, seed, largest, shift):
    """Strict and weak ones, with ties, duplicates and negative shifts."""
    return _same_maxima(whole_distances(n, seed, largest), shift)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [7, 8])
def test_brute_force_for_seven_and_eight_objects(n, seed):
    assert _same_maxima(whole_distances(n, seed, 4), seed % 5 - 1)


def _same_maxima(P: list[list[int]], shift: int) -> bool:
    if max(map(max, P)) == 0:
        return False  # all objects equal: the offset is then 1 by definition, not max(D)
    strict, weak = brute_force.local_maxima(P, shift)
    clusters = path_clusters(path(np.array(P, dtype=float)), shift=float(shift), weak=True)
    assert {tuple(c.members.tolist()) for c in clusters} == set(strict) | weak
    # ties of whole numbers are decided by the tie rule
    assert {tuple(c.members.tolist()) for c in clusters if c.strict} == set(strict)
    assert {tuple(c.members.tolist()) for c in clusters if c.strict is False} == weak
    S = path(np.array(P, dtype=float))
    listed = dominant_sets(S, shift=float(shift))
    assert listed.complete
    assert {tuple(c.members.tolist()) for c in listed} == set(strict)
    spectrum = path_spectrum(S)
    at = {tuple(spectrum.members(k).tolist()) for k in spectrum.at(float(shift))}
    assert at == {members for members in strict if len(members) > 1}
    clear = {S for S in strict if brute_force.margin(P, shift, S, strict[S][0]) > 0}
    for unit in (0.1, 1.0 / 3.0, 1e140, 1e-140):  # rounded: what is said holds of the numbers as they are
        D = unit * np.array(P, dtype=float)
        S = path(D)
        rounded = path_clusters(S, shift=unit * shift, weak=True)
        exact = [[Fraction(v) / Fraction(unit) for v in row] for row in D.tolist()]
        truth, _ = brute_force.local_maxima(exact, Fraction(unit * shift) / Fraction(unit))
        said = {tuple(c.members.tolist()) for c in rounded if c.strict}
        assert clear <= said <= set(truth)
        assert not {tuple(c.members.tolist()) for c in rounded if c.strict is False} & set(truth)
        listed = dominant_sets(S, shift=unit * shift)
        assert not listed.complete or {tuple(c.members.tolist()) for c in listed} == set(truth)
    for cluster in clusters:
        if tuple(cluster.members.tolist()) in strict:
            weights, value = strict[tuple(cluster.members.tolist())]
            assert cluster.value == pytest.approx(float(value), abs=1e-12)
            np.testing.assert_allclose(cluster.weights, [float(w) for w in weights], atol=1e-12)
    return len(clusters) > 0


@given_comparisons(0.95, st.integers(3, 20), st.integers(0, 10_000), st.sampled_from([0.0, 0.2, 1.0]))
def test_pairwise_from_every_vertex_ends_in_an_exact_answer(n, seed, shift):
    D = random_distances(n, seed, ties=False)
    # distinct merge heights: random distances have them
    S = path(D)
    exact = {tuple(c.members.tolist()): c for c in path_clusters(S, shift=shift)}
    # an object that is similar to no other is stationary where it stands, though no maximum
    starts = [i for i in range(n) if S.column(i).max() + shift > 0]
    for i in starts:
        found = solve(S, algorithm="pairwise", start=i, shift=shift, tol=1e-13)
        assert tuple(found.members.tolist()) in exact
        assert found.value == pytest.approx(exact[tuple(found.members.tolist())].value, rel=1e-9)
    return len(starts) > n / 2


@given(st.integers(3, 15), st.integers(0, 10_000), st.sampled_from([0.0, 1.0, 3.0]))
def test_with_ties_pairwise_ends_at_a_value_of_an_exact_answer(n, seed, shift):
    """Unless a tie holds it at a saddle: gap 0 and margin 0, which is not called strict."""
    S = path(random_distances(n, seed, ties=True))
    values = np.array([c.value for c in path_clusters(S, shift=shift, weak=True)])
    for i in range(n):
        found = solve(S, algorithm="pairwise", start=i, shift=shift, tol=1e-12)
        if np.abs(values - found.value).min() > 1e-6 * max(1.0, found.value):
            assert found.margin == pytest.approx(0.0, abs=1e-9)
            assert not found.strict


def test_copies_have_the_value_of_a_block():
    """m equal objects: c (1 - 1/m), c = max(D) + shift."""
    X = np.repeat([[0.0], [10.0]], [7, 3], axis=0)
    big, small = path_clusters(as_similarity(X, "path"), shift=2.0)
    assert (len(big), len(small)) == (7, 3)
    assert big.value == pytest.approx(12 * (1 - 1 / 7), rel=1e-14)
    assert small.value == pytest.approx(12 * (1 - 1 / 3), rel=1e-14)
    np.testing.assert_allclose(big.weights, 1 / 7, rtol=1e-14)


def test_equal_objects_are_one_cluster():
    cluster = solve(as_similarity(np.zeros((5, 2)), "path"))
    assert len(cluster) == 5
    np.testing.assert_allclose(cluster.weights, 0.2)


@given(st.integers(3, 30), st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.5, 2.0]))
def test_peeling_takes_the_highest_value_of_what_is_left(n, seed, ties, shift):
    D = random_distances(n, seed, ties)
    P, S = minimax(D), path(D)
    left = np.arange(n)
    for cluster in peel(S, min(4, n), shift=shift):
        # the objects left keep their distances, so their own tree has the answer
        sub = path(P[np.ix_(left, left)])
        best = path_clusters(sub, shift=shift + S.top - sub.top)[0]
        assert cluster.value == pytest.approx(best.value, rel=1e-10, abs=1e-12)
        np.testing.assert_array_equal(left[best.members], cluster.members)
        left = np.setdiff1d(left, cluster.members)
        if left.size < 2 or P[np.ix_(left, left)].max() == 0:
            break


# ---- the whole resolution path ---------------------------------------------------------------------


@given_comparisons(0.7, st.integers(2, 25), st.integers(0, 10_000), st.booleans(), st.floats(-1.0, 30.0))
def test_the_spectrum_says_which_clusters_exist(n, seed, ties, shift):
    S = path(random_distances(n, seed, ties))
    spectrum = path_spectrum(S)
    ends = np.concatenate([spectrum.shift_from, spectrum.shift_to])
    if np.abs(ends[np.isfinite(ends)] - shift).min(initial=np.inf) < 1e-9 * (1 + abs(shift)):
        return False  # an end that rounding decides; ends are tested below
    expected = {tuple(c.members.tolist()) for c in path_clusters(S, shift=shift) if len(c) > 1 and c.strict}
    assert {tuple(spectrum.members(k).tolist()) for k in spectrum.at(shift)} == expected
    return len(expected) > 0


def test_the_ends_of_the_spectrum_themselves():
    """Whole numbers and pairs, for which the ends are exact: closed where no neighbour ends there too."""
    S = as_similarity(np.array([[0.0], [1.0], [3.0]]), "path")
    spectrum = path_spectrum(S)
    assert spectrum.closed.tolist() == [True, False]
    for shift, expected in ((-1.0, []), (0.5, [[0, 1]]), (1.0, [[0, 1]]), (1.5, [[0, 1, 2]])):
        assert [spectrum.members(k).tolist() for k in spectrum.at(shift)] == expected
        found = [c for c in path_clusters(S, shift=shift) if len(c) > 1]
        assert [c.members.tolist() for c in found] == expected
        assert all(c.strict for c in found)  # also at the end, where the margin is 0
    twins = path_spectrum(as_similarity(np.array([[0.0], [1.0], [3.0], [4.0]]), "path"))
    assert twins.closed.tolist() == [False, False, False]  # both pairs end together: weak at the end
    assert twins.at(1.0).size == 0


def test_an_end_that_is_a_whole_number_is_met_exactly():
    """Three objects at 7, the next at 4: u(c) = c / 3 = 3 at c = 9, which is shift 6."""
    S = as_similarity(np.array([[7.0], [3.0], [7.0], [7.0], [4.0]]), "path")
    spectrum = path_spectrum(S)
    (node,) = spectrum.at(6.0)
    assert spectrum.members(node).tolist() == [0, 2, 3]
    assert spectrum.closed[spectrum.nodes == node].all()
    assert node not in spectrum.at(6.0 + 1e-9)
    (one,) = dominant_sets(S, shift=6.0)
    assert one.members.tolist() == [0, 2, 3]
    assert one.strict
    assert one.margin == pytest.approx(0.0, abs=1e-12)


def test_ends_that_are_whole_numbers_are_closed_as_brute_force_says():
    checked = 0
    for seed in range(12):
        P = whole_distances(6, seed, 3)
        spectrum = path_spectrum(path(np.array(P, dtype=float)))
        for node, end, closed in zip(spectrum.nodes, spectrum.shift_to, spectrum.closed, strict=True):
            if np.isfinite(end) and abs(end - round(end)) < 1e-9:
                strict, _ = brute_force.local_maxima(P, round(end))
                assert closed == (tuple(spectrum.members(node).tolist()) in strict)
                checked += 1
    assert checked > 10


def kinds_in_fractions(S, shift):
    """Strict and weak maxima of a tree by the theorem, node by node, in rationals: no rounding, no limit."""
    tree, n = S.tree, S.n
    c = Fraction(S.top) + Fraction(shift)
    value, fused = [Fraction(0)] * n, [True] * n
    for a, b, h in zip(tree.left, tree.right, tree.height, strict=True):
        p, q = c - Fraction(h) - value[a], c - Fraction(h) - value[b]
        fused.append(bool(fused[a] and fused[b] and p > 0 and q > 0))
        value.append(c - Fraction(h) - p * q / (p + q) if fused[-1] else max(value[a], value[b]))
    strict, weak = set(), set()
    for node in range(len(value)):
        up = tree.parent[node]
        if not fused[node] or (up >= 0 and fused[up]):
            continue
        rivals, at, offered = [], node, None if up < 0 else c - Fraction(tree.height[up - n])
        while tree.parent[at] >= 0 and c - Fraction(tree.height[tree.parent[at] - n]) == offered:
            up = tree.parent[at] - n
            rivals.append(value[tree.right[up] if tree.left[up] == at else tree.left[up]])
            at = tree.parent[at]
        if offered is None or value[node] > offered or (value[node] == offered and max(rivals) < offered):
            strict.add(tuple(tree.leaves(node).tolist()))
        elif value[node] == offered == max(rivals):
            weak.add(tuple(tree.leaves(node).tolist()))
    return strict, weak


@given(st.integers(2, 40), st.integers(0, 10_000), st.sampled_from([1, 2**20 + 7]), st.integers(-3, 30))
def test_fractions_that_do_not_fit_leave_it_open(n, seed, unit, shift):
    """What is decided is as in rationals without a limit, however large fractions get."""
    rng = np.random.default_rng(seed)
    D = np.triu(rng.integers(1, 5, (n, n)) * unit + rng.integers(0, 2, (n, n)), 1)
    S = path((D + D.T).astype(float))
    strict, weak = kinds_in_fractions(S, shift * unit)
    listed = dominant_sets(S, shift=float(shift * unit))
    found = {tuple(c.members.tolist()) for c in listed}
    assert found <= strict
    assert found == strict or not listed.complete
    for c in path_clusters(S, shift=float(shift * unit), weak=True):
        if c.strict is not None:
            assert tuple(c.members.tolist()) in (strict if c.strict else weak)


def test_a_cluster_gives_way_where_its_parent_begins():
    X = np.sort(np.random.default_rng(0).normal(size=40))[:, None]
    S = as_similarity(X, "path")
    spectrum = path_spectrum(S)
    assert len(spectrum.nodes) == 39  # no ties: every merge is a dominant set for some shift
    begins = dict(zip(spectrum.nodes.tolist(), spectrum.shift_from, strict=True))
    ends = dict(zip(spectrum.nodes.tolist(), spectrum.shift_to, strict=True))
    for node in spectrum.nodes.tolist():
        children = [c for c in (S.tree.left[node - 40], S.tree.right[node - 40]) if c >= 40]
        if children:
            assert begins[node] >= max(ends[c] for c in children) - 1e-12
    assert max(ends.values()) == np.inf


# ---- use -------------------------------------------------------------------------------------------


def test_a_given_start_is_honoured():
    S = as_similarity(np.array([[0.0], [1.0], [2.0], [7.0], [8.0]]), "path")
    assert solve(S).algorithm == "exact"
    from_four = solve(S, start=4)
    assert from_four.algorithm == "pairwise"
    assert from_four.members.tolist() == [3, 4]


def test_a_long_chain_of_ties():
    """Equal steps, no shift: every merge ties with every other, and the pass stays a pass."""
    n = 50_000
    G = sp.diags_array([np.ones(n - 1)], offsets=[1], shape=(n, n)).tocsr()
    S = as_similarity(G, "path", metric="precomputed")
    clusters = path_clusters(S, weak=True)
    assert len(clusters) == n  # flat: every object alone has the value 0, and so has every mixture
    assert not any(c.strict for c in clusters)


def test_the_callback_is_told_of_an_exact_pass():
    seen = []
    S = as_similarity(np.random.default_rng(0).normal(size=(50, 2)), "path")
    list(peel(S, 2, shift=1.0, callback=lambda p: seen.append((p.n_clusters, p.n_left)) and None))
    assert [k for k, _ in seen] == [0, 1]


def test_exact_needs_a_tree_and_no_start():
    A = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"needs a path-based similarity, which has a single-linkage tree"):
        solve(A, algorithm="exact")
    with pytest.raises(ValueError, match="takes no start"):
        solve(path(A), algorithm="exact", start=1)
    with pytest.raises(ValueError, match="path-based"):
        path_spectrum(as_similarity(A))


def test_two_objects_and_huge_shifts():
    S = as_similarity(np.array([[0.0], [1.0]]), "path")
    assert [c.members.tolist() for c in peel(S, 2, shift=3.0)] == [[0, 1]]
    X = np.random.default_rng(0).normal(size=(20, 2))
    huge = path_clusters(as_similarity(X, "path"), shift=1e160)
    assert [len(c) for c in huge] == [20]
    assert np.isfinite(huge[0].value)


def test_a_strict_set_below_a_flat_segment_is_not_the_best():
    """Two copies in each of two places: all spreads over them are worth 1, and none is strict."""
    X = np.array([[0.0], [1.0], [2.0], [4.0], [4.0], [5.0], [5.0], [6.0]])
    S = as_similarity(X, "path")
    found = solve(S, algorithm="exact")
    x = np.zeros(8)
    x[[3, 4]] = 0.5
    flat = float(x @ S.block(np.arange(8), np.arange(8)) @ x)
    assert found.strict
    assert found.value < flat
    assert not found.proven
