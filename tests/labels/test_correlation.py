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
from dominantsets.labels.correlation import improve, label_by_correlation, shift_levels
from dominantsets.solvers import Monitor
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


@pytest.mark.parametrize("may_leave", [True, False])
def test_new_objects_by_the_definition(may_leave):
    """As one more object would: b less its own level and those of the members, itself not counted."""
    rng, n = np.random.default_rng(0), 24
    y = np.repeat([0, 1, 2], 8)
    A = np.triu(np.where(np.equal.outer(y, y), 0.5, 0.0) + 0.5 * rng.random((n, n)), 1)
    A = A + A.T
    cores = np.where(np.arange(n) % 8 < 4, y, -1)
    partition, found = label_by_correlation(as_similarity(A), cores, 3, may_leave, Monitor())
    labels = partition.labels
    np.testing.assert_array_equal(labels, y)
    s = shifted(A, "adaptive")
    level = (A.sum(axis=1) - A.sum() / (2 * (n - 1))) / (n - 2)
    new = np.vstack([np.where(y == 0, 0.9, 0.3), np.where(y == 1, 0.6, 0.5), rng.random((30, n))])
    own = new.sum(axis=1) / (n - 2) - A.sum() / (2 * (n - 1) * (n - 2))
    gains = np.array([(new - own[:, None] - level)[:, labels == k].sum(axis=1) for k in range(3)]).T
    lost = (gains.max(axis=1) < 0.0) & may_leave
    np.testing.assert_array_equal(
        partition.rule.of_new(as_similarity(A), new), np.where(lost, -1, gains.argmax(axis=1))
    )
    assert not may_leave or 0 < lost.sum() < len(new)
    # the share of the cluster that has no more of it
    mine = np.array([s[i, labels == labels[i]].sum() for i in range(n)])
    share = [(mine[labels == labels[i]] <= mine[i] + 1e-9).mean() for i in range(n)]
    np.testing.assert_allclose(partition.probabilities, share)
    assert partition.sentence.startswith(f"shifted similarities within clusters add up to {found.value:.6g}")
    assert partition.sentence.endswith("and no single move gains.")


# in the estimator ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf", "euclidean"])
@pytest.mark.parametrize("noise", ["auto", None])
def test_labels_from_dominant_sets(affinity, noise):
    X = np.abs(features(80))
    model = DominantSets(3, affinity=affinity, assign="correlation", noise=noise).fit(X)
    A = formula(affinity, X, gamma=getattr(model.similarity_, "gamma", 0.1))
    s = shifted(A, "adaptive")
    moves = single_moves(s, model.labels_, model.n_clusters_, may_leave=noise is not None)
    unit = np.abs(A).max()
    assert max(moves) <= 1e-6 * unit
    assert model.correlation_.gain <= 1e-9 * unit * len(X)
    assert model.correlation_.value == pytest.approx(worth(s, model.labels_), abs=1e-5 * unit)
    assert noise is not None or (model.labels_ >= 0).all()
    assert (model.probabilities_[model.labels_ >= 0] > 0).all()
    assert "no single move gains" in str(model.selection_)


def test_clear_groups_and_new_objects():
    X, y = make_blobs(400, centers=CORNERS, random_state=0)
    model = DominantSets(4, affinity="sqeuclidean", assign="correlation").fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    new, z = make_blobs(200, centers=CORNERS, random_state=1)
    assert adjusted_rand_score(z, model.predict(new)) == 1.0


def test_a_graph_in_pieces():
    """Objects like no other are better off by themselves, unless nobody may be.

    With m = 20 in each group, c is (19 - C)/64 and -C/64 with C = 1,140/130 < 19/2: an isolated object loses.
    """
    A = cliques([20, 20, 20], isolated=6)
    model = DominantSets(3, affinity="precomputed", assign="correlation").fit(A)
    assert (model.labels_[-6:] == -1).all()
    assert adjusted_rand_score(np.repeat([0, 1, 2], 20), model.labels_[:-6]) == 1.0
    everybody = DominantSets(3, affinity="precomputed", assign="correlation", noise=None).fit(A)
    assert (everybody.labels_ >= 0).all()


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
