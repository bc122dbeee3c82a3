"""Correlation clustering: against all partitions, and a certificate computed again."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, as_similarity, correlation_clusters
from dominantsets.studies.correlation import improve, shift_levels
from support import CORNERS, cliques, features, formula, random_similarity

# plain forms ---------------------------------------------------------------------------------------------


def shifted(A, shift):
    """s, from its definition: less the shift, or centred off the diagonal by alternating projections."""
    off = ~np.eye(len(A), dtype=bool)
    if shift != "adaptive":
        return np.where(off, A - shift, 0.0)
    s = np.where(off, A, 0.0)
    for _ in range(3_000):  # rows and columns in turn, kept symmetric
        mean = s.sum(axis=1) / (len(A) - 1)
        s = np.where(off, s - 0.5 * mean[:, None] - 0.5 * mean, 0.0)
    return s


def worth(s, labels):
    same = np.equal.outer(labels, labels) & (labels >= 0)
    return float(np.triu(np.where(same, s, 0.0), 1).sum())


def single_moves(s, labels, n_clusters, may_leave):
    """What every single move would add, by trying them all."""
    before = worth(s, labels)
    found = []
    for i in range(len(labels)):
        alone = labels[i] < 0 or (labels == labels[i]).sum() == 1  # to be alone elsewhere is no move
        targets = [k for k in range(n_clusters) if k != labels[i] and not (alone and k not in labels)]
        targets += [-1] if may_leave and not alone else []
        for k in targets:
            other = labels.copy()
            other[i] = k
            found.append(worth(s, other) - before)
    return found


def partitions(n):
    """All partitions of n objects, as labels."""
    if n == 0:
        yield ()
        return
    for rest in partitions(n - 1):
        for k in range(max(rest, default=-1) + 2):
            yield (*rest, k)


# properties ----------------------------------------------------------------------------------------------

shifts = st.sampled_from([0.2, 0.5, 0.9, "adaptive"])


@given(st.integers(4, 12), st.integers(0, 10_000))
def test_the_adaptive_shift_makes_rows_add_up_to_nothing(n, seed):
    A = random_similarity(n, seed)
    c = shift_levels(A.sum(axis=1), "adaptive")
    s = A - c - c[:, None]
    np.fill_diagonal(s, 0.0)
    np.testing.assert_allclose(s.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(s, shifted(A, "adaptive"), atol=1e-6)


@given(st.integers(2, 14), st.integers(0, 10_000), shifts, st.sampled_from([None, 2, 3]))
def test_no_single_move_gains(n, seed, shift, most):
    """The certificate against all moves, one by one; to a new cluster where there is room for one."""
    A = random_similarity(n, seed, zeros=0.2)
    found = correlation_clusters(A, most, shift=shift, n_init=2)
    K = found.labels.max() + 1
    if n < 3 and shift == "adaptive":
        return
    s = shifted(A, shift)
    assert found.value == pytest.approx(worth(s, found.labels), abs=1e-6)
    assert (most or n) >= K
    moves = single_moves(s, found.labels, K, may_leave=(most or n) > K)
    assert max(moves, default=-1.0) <= 1e-6
    assert found.gain == pytest.approx(max(moves, default=-np.inf), abs=1e-6)


@given(st.integers(2, 7), st.integers(0, 10_000), st.sampled_from([0.2, 0.5, 0.9]))
def test_no_better_than_the_best_of_all_partitions(n, seed, shift):
    A = random_similarity(n, seed)
    s = shifted(A, shift)
    best = max(worth(s, np.array(p)) for p in partitions(n))
    found = correlation_clusters(A, shift=shift)
    assert found.value <= best + 1e-9
    assert found.value >= 0.8 * best - 1e-9  # ten orders of a few objects miss little


@given(st.integers(5, 15), st.integers(0, 10_000), st.integers(1, 4), st.booleans())
def test_the_value_never_falls(n, seed, k, may_leave):
    A = random_similarity(n, seed)
    start = np.random.default_rng(seed).integers(0, k, n)
    levels = shift_levels(A.sum(axis=1), 0.5)
    found = improve(as_similarity(A), levels, start, k, may_leave=may_leave)
    assert found.values[0] == pytest.approx(worth(shifted(A, 0.5), start), abs=1e-9)
    assert np.diff(found.values).min(initial=0.0) >= -1e-12
    moves = single_moves(shifted(A, 0.5), found.labels, k, may_leave)
    assert found.gain == pytest.approx(max(moves, default=-np.inf), abs=1e-9)
    assert found.gain <= 1e-9


@given(st.integers(4, 12), st.integers(0, 10_000), st.floats(0.1, 0.9))
def test_it_is_the_shifted_min_cut(n, seed, theta):
    """R and the cut plus the shift times the pairs within clusters add up to all similarities."""
    A = random_similarity(n, seed)
    found = correlation_clusters(A, shift=theta, n_init=1)
    labels = found.labels
    cut = np.triu(np.where(np.not_equal.outer(labels, labels), A, 0.0), 1).sum()
    sizes = np.bincount(labels)
    pairs = (sizes * (sizes - 1) / 2).sum()
    assert found.value + cut + theta * pairs == pytest.approx(np.triu(A, 1).sum())


def test_planted_groups_of_both_signs():
    """Within groups above the shift, across them below: the groups are the best partition, and are found."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), [3, 10, 20, 30, 40])
    A = np.where(np.equal.outer(y, y), 0.6, 0.1) + 0.3 * rng.random((103, 103))
    A = np.triu(A, 1)
    A = A + A.T
    found = correlation_clusters(A, shift=0.5)
    assert adjusted_rand_score(y, found.labels) == 1.0
    assert found.labels.max() == 4  # the number falls out
    assert found.n_moves >= 103  # each came to a cluster
    for unit in (1e-9, 1e9):  # in which similarities are measured
        np.testing.assert_array_equal(correlation_clusters(unit * A, shift=0.5 * unit).labels, found.labels)
    in_csr = correlation_clusters(sp.csr_array(A), shift=0.5)
    np.testing.assert_array_equal(in_csr.labels, found.labels)


def test_one_cluster_may_be_asked_for():
    found = correlation_clusters(random_similarity(8), 1, shift=0.5)
    np.testing.assert_array_equal(found.labels, np.zeros(8))


def test_levels_of_two_and_of_one():
    """Two objects: a - 2 c = 0."""
    np.testing.assert_allclose(shift_levels(np.array([0.7, 0.7]), "adaptive"), 0.35)
    np.testing.assert_array_equal(shift_levels(np.zeros(1), "adaptive"), [0.0])
    np.testing.assert_array_equal(shift_levels(np.ones(4), 0.3), np.full(4, 0.15))


def test_a_chain_is_joined_by_one_object_a_round():
    """Each is like the one before it alone: all move at once, and no single move is left to make."""
    A = sp.diags_array([np.ones(4), np.ones(4)], offsets=[-1, 1], shape=(5, 5)).tocsr()
    found = improve(as_similarity(A), np.zeros(5), np.array([0, -1, -1, -1, -1]), 1)
    np.testing.assert_array_equal(found.labels, np.zeros(5))
    assert found.values == [0.0, 1.0, 2.0, 3.0, 4.0, 4.0]
    assert found.n_moves == 0
    assert found.value == 4.0


# from labels ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf", "euclidean"])
def test_labels_from_dominant_sets(affinity):
    X = np.abs(features(80))
    model = DominantSets(3, affinity=affinity).fit(X)
    S = as_similarity(X, affinity)
    found = correlation_clusters(S, start=model.core_labels_)
    A = formula(affinity, X, gamma=getattr(S, "gamma", 0.1))
    s = shifted(A, "adaptive")
    moves = single_moves(s, found.labels, model.n_clusters_, may_leave=True)
    unit = np.abs(A).max()
    assert max(moves) <= 1e-6 * unit
    assert found.gain <= 1e-9 * unit * len(X)
    assert found.value == pytest.approx(worth(s, found.labels), abs=1e-5 * unit)
    assert found.value >= worth(s, model.core_labels_) - 1e-5 * unit
    assert found.labels.max() < model.n_clusters_


def test_clear_groups():
    X, y = make_blobs(400, centers=CORNERS, random_state=0)
    start = np.where(np.arange(400) % 2, y, -1)
    found = correlation_clusters(as_similarity(X, "sqeuclidean"), start=start)
    np.testing.assert_array_equal(found.labels, y)


def test_a_graph_in_pieces():
    """Objects like no other are better off by themselves.

    With m = 20 in each group, c is (19 - C)/64 and -C/64 with C = 1,140/130 < 19/2: an isolated object loses.
    """
    A = cliques([20, 20, 20], isolated=6)
    start = np.append(np.repeat([0, 1, 2], 20), np.full(6, -1))
    start[::3] = -1
    found = correlation_clusters(A, start=start)
    np.testing.assert_array_equal(found.labels, np.append(np.repeat([0, 1, 2], 20), np.full(6, -1)))


@pytest.mark.parametrize(
    "start", [[0, 1], [-1] * 5, [0, 0, 1, 1, -2], [0.0, 0.0, 1.0, 1.0, 1.0], [0, 0, 0, 0, 5]],
    ids=["few", "no cluster", "below -1", "not whole", "too large"],
)  # fmt: skip
def test_labels_that_cannot_be_meant(start):
    with pytest.raises(ValueError, match="start must hold"):
        correlation_clusters(random_similarity(5), start=start)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"shift": "auto"}, "shift must be"),
        ({"n_init": 0}, "n_init"),
    ],
)
def test_bad_input(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        correlation_clusters(random_similarity(5), **options)


def test_a_time_limit_ends_it_with_what_there_is():
    found = correlation_clusters(random_similarity(60), shift=0.5, max_time=0.0)
    assert (found.labels >= 0).all()
