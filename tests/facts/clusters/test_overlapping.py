"""All dominant sets of the same objects: none is missed where that is claimed, and each is one."""

from __future__ import annotations

import numpy as np
import pytest

from brute_force import local_maxima
from dominantsets import End, as_similarity, dominant_sets, path_clusters, solve
from support import (
    assert_certified,
    cliques,
    features,
    path,
    press_ctrl_c,
    random_distances,
    random_similarity,
)

KINDS = ("sqeuclidean", "cosine", "linear")


def keys(clusters) -> set[tuple[int, ...]]:
    return {tuple(one.members.tolist()) for one in clusters}


@pytest.mark.parametrize("seed", range(20))
def test_all_of_them_in_rationals(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 6, (int(rng.integers(2, 7)), int(rng.integers(1, 3))))
    D, shift = np.square(X[:, None] - X[None]).sum(axis=2), int(rng.integers(0, 30))
    if not D.any():
        return
    strict, weak = local_maxima(D.tolist(), shift)
    S = as_similarity(X.astype(float), "sqeuclidean", offset=float(D.max()))
    found = dominant_sets(S, shift=float(shift), max_nodes=20_000)
    assert keys(found) <= set(strict)
    if found.complete:
        assert keys(found) == set(strict)
    else:  # ties: an outsider or a direction on the edge keeps boxes open
        assert weak or any(one.margin < 1e-6 for one in found) or len(np.unique(X, axis=0)) < len(X)
    for one in found:
        weights, value = strict[tuple(one.members.tolist())]
        np.testing.assert_allclose(one.weights, np.array(weights, dtype=float), atol=1e-6)
        assert one.value == pytest.approx(float(value))


def test_no_start_finds_another_one():
    rng, complete = np.random.default_rng(0), 0
    for _ in range(60):
        kind = KINDS[rng.integers(3)]
        n, d = int(rng.integers(3, 40)), int(rng.integers(1, 4))
        X = rng.normal(size=(n, d)) + 2.5 * rng.normal(size=(4, d))[rng.integers(4, size=n)]
        X = np.abs(X) + 0.1 if kind == "linear" else X
        S, shift = as_similarity(X, kind), float(rng.exponential(3.0)) + 0.1
        found = dominant_sets(S, shift=shift)
        complete += found.complete
        starts = [solve(S, start=i, shift=shift) for i in range(n)]
        if found.complete:
            assert keys(one for one in starts if one.strict) <= keys(found)
        for one in found:
            assert one.strict
            assert_certified(S.toarray(), one, rounding=1e-11, stationary=1e-8)
    assert complete >= 55


def test_path_based_similarity_has_all_of_them():
    S = path(random_distances(25, 1, ties=False))
    found = dominant_sets(S, shift=0.2)
    assert found.complete
    assert found.method == "complete"
    assert keys(found) == keys(path_clusters(S, shift=0.2))


@pytest.mark.parametrize("method", ["deflate", "tabu", "multistart"])
def test_a_search_finds_sets_that_share_objects(method):
    A = cliques([4, 5]).toarray()
    A[3, 4:8] = A[4:8, 3] = 1.0  # the last of the first group belongs to most of the second too
    A[8, 3] = A[3, 8] = 1.0
    found = dominant_sets(A, method=method)
    assert {one.shift for one in found} == {0.0}
    assert keys(found) == {(0, 1, 2, 3), (3, 4, 5, 6, 7, 8)}
    assert not found.complete
    assert found.overlaps()[0, 1] == pytest.approx(1 / 9)
    shared = found.memberships().toarray()
    assert (shared[3] > 0).all()
    np.testing.assert_allclose(shared.sum(axis=0), 1.0)
    assert len(dominant_sets(A, method=method, max_overlap=0.05)) == 1


def test_a_search_ends_after_so_many_in_a_row_that_are_old():
    """A group of ten: its first climb is new, the next are not; four groups are four that are new."""
    for patience in (1, 3):
        found = dominant_sets(cliques([10]), method="multistart", patience=patience)
        assert found.hits.tolist() == [1 + patience]
        assert len(dominant_sets(cliques([4, 5, 6, 7]), method="tabu", patience=patience)) == 4
    late = dominant_sets(cliques([4, 5]), method="multistart", max_time=0.0)
    assert len(late) == 0
    assert late.end is End.TIME_LIMIT


@pytest.mark.parametrize("method", ["deflate", "tabu", "multistart"])
def test_what_a_search_finds_is_a_dominant_set(method):
    for seed in range(6):
        A = random_similarity(40, seed=seed, zeros=0.5)
        found = dominant_sets(A, method=method, shift=0.1)
        assert len(keys(found)) == len(found) > 1
        assert (np.diff([one.value for one in found]) <= 1e-12).all()
        assert (found.hits >= 1).all()
        for one in found:
            assert_certified(A, one, stationary=1e-8)


def test_a_search_of_features_agrees_with_the_proof():
    S = as_similarity(features(150, d=2), "sqeuclidean")
    everything = dominant_sets(S, shift=5.0)
    assert everything.complete
    assert len(everything) > 1
    for method in ("deflate", "tabu", "multistart"):
        found = dominant_sets(S, shift=5.0, method=method)
        assert keys(found) <= keys(everything)
        assert found[0].value <= everything[0].value + 1e-9


def test_the_same_wherever_the_rows_are():
    X = features(120, d=2)
    plain = dominant_sets(as_similarity(X, "sqeuclidean"), shift=5.0)
    da, torch = pytest.importorskip("dask.array"), pytest.importorskip("torch")
    for data in (da.from_array(X, chunks=(50, 2)), torch.tensor(X)):
        found = dominant_sets(as_similarity(data, "sqeuclidean"), shift=5.0)
        assert found.complete
        assert keys(found) == keys(plain)
        assert dominant_sets(as_similarity(data, "sqeuclidean"), shift=5.0, method="deflate", patience=2)


def test_what_is_not_finished_does_not_claim_to_be_complete():
    S = as_similarity(features(100, d=3), "sqeuclidean")
    assert not dominant_sets(S, max_nodes=5).complete
    assert not dominant_sets(S, max_time=0.0).complete
    assert not dominant_sets(S, callback=lambda progress: True).complete or dominant_sets(S).complete
    for method in ("deflate", "multistart"):
        dominant_sets(S, method=method, max_time=0.0)
    interrupted = dominant_sets(random_similarity(300), method="multistart", callback=press_ctrl_c)
    assert interrupted.n == 300


def test_single_objects_and_copies():
    for X in (np.zeros((1, 2)), np.array([[0.0], [5.0]])):
        found = dominant_sets(as_similarity(X, "sqeuclidean"), shift=1.0)
        assert len(found) == 1
        np.testing.assert_array_equal(found.overlaps(), [[1.0]])


def test_what_cannot_be_done_is_said():
    with pytest.raises(ValueError, match="needs path-based similarity, or at most 3 features"):
        dominant_sets(random_similarity(5), method="complete")
    with pytest.raises(ValueError, match="method='all' is not known"):
        dominant_sets(random_similarity(5), method="all")
    with pytest.raises(ValueError, match="patience must be"):
        dominant_sets(random_similarity(5), patience=0)
    with pytest.raises(ValueError, match="max_overlap must be at least 0"):
        dominant_sets(random_similarity(5), max_overlap=-1.0)


@pytest.mark.parametrize("shared", [1, 2, 3])
def test_an_object_is_in_two_sets(shared):
    """Motzkin and Straus: a maximal clique of six has equal weights and f = 1 - 1/6."""
    n = 12 - shared
    A = np.zeros((n, n))
    A[:6, :6] = A[n - 6 :, n - 6 :] = 1.0
    np.fill_diagonal(A, 0.0)
    found = dominant_sets(A)
    assert [one.members.tolist() for one in found] == [list(range(6)), list(range(n - 6, n))]
    for one in found:
        assert one.value == pytest.approx(1.0 - 1.0 / 6.0)
        assert one.strict
    # they share as many of n objects (Jaccard): one of them is left out where that is too much
    assert len(dominant_sets(A, max_overlap=shared / n - 0.01)) == 1
    assert len(dominant_sets(A, max_overlap=shared / n + 0.01)) == 2
