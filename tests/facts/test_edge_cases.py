"""Cases that once went wrong, or that a careful reader tried."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from dominantsets import DominantSets, End, Status, as_similarity, peel, solve
from support import features, random_similarity

FEATURE_KINDS = ["sqeuclidean", "cosine", "rbf", "laplacian", "euclidean", "path", "nearest_neighbors"]


def test_the_callback_is_called_while_columns_are_computed():
    calls = []
    S = as_similarity(np.random.default_rng(0).normal(size=(30_000, 8)), "cosine")
    solve(S, shift=3_000.0, max_time=1.0, callback=lambda p: calls.append(p.n_iter) and None)
    assert len(calls) >= 5
    assert calls == sorted(calls)


def test_a_slow_product_does_not_outlive_the_time_limit():
    calls = []
    S = as_similarity(features(8_000, 60), "laplacian", gamma=0.1)
    cluster = solve(
        S, algorithm="replicator", start="barycenter", max_time=0.2, tol=0.0, callback=calls.append
    )
    assert cluster.status is Status.TIME_LIMIT
    assert cluster.n_iter < 64  # it once made 64 products before it looked at the clock


@pytest.mark.parametrize("start", ["barycenter", np.ones(30)], ids=["name", "weights"])
def test_replicator_peels_until_the_end(start):
    A = random_similarity(30, seed=0)
    peeling = peel(A, 30, algorithm="replicator", start=start, max_iter=500)
    assert len(list(peeling)) > 2
    assert peeling.end in (End.ALL_ASSIGNED, End.NO_SIMILARITY)


def test_replicator_that_meets_its_own_rule_says_steady():
    A = random_similarity(20, seed=1)
    cluster = solve(A, algorithm="replicator", start="barycenter", tol=1e-3)
    assert cluster.status is Status.STEADY
    assert cluster.relative_gap > 1e-3
    tight = solve(A, algorithm="replicator", start="barycenter", tol=1e-9, max_iter=10**6)
    assert tight.status in (Status.STEADY, Status.CONVERGED)


@pytest.mark.parametrize(
    ("value", "mirrored", "words"),
    [(np.nan, True, "NaN"), (-50.0, True, "negative"), (1e3, False, "not symmetric")],
)
def test_a_memmap_is_checked_everywhere(value, mirrored, words, tmp_path):
    A = np.memmap(tmp_path / "A", dtype=np.float64, mode="w+", shape=(600, 600))
    A[:] = random_similarity(600, seed=0)
    A[7, 8] = value
    if mirrored:
        A[8, 7] = value
    with pytest.raises(ValueError, match=words):
        as_similarity(A)


def test_a_memmap_is_the_same_as_the_array(tmp_path):
    A = random_similarity(600, seed=0)
    A[7, 8] = A[8, 7] = 5.0
    mapped = np.memmap(tmp_path / "A", dtype=np.float64, mode="w+", shape=A.shape)
    mapped[:] = A
    one = DominantSets(3, affinity="precomputed").fit(A)
    other = DominantSets(3, affinity="precomputed").fit(mapped)
    np.testing.assert_array_equal(one.shifts_, other.shifts_)
    np.testing.assert_array_equal(one.labels_, other.labels_)


@pytest.mark.parametrize("affinity", [rbf_kernel, "rbf", "laplacian", "cosine"])
def test_the_order_of_many_objects_does_not_matter(affinity):
    X = np.concatenate([features(700, seed=1), features(600, seed=2) + 15])
    order = np.random.default_rng(0).permutation(len(X))
    one = DominantSets(3, affinity=affinity).fit(X)
    other = DominantSets(3, affinity=affinity).fit(X[order])
    # the axes of a kernel are found by a randomised method, which sees the order
    exact = affinity == "cosine"
    np.testing.assert_allclose(one.shifts_, other.shifts_, rtol=1e-9 if exact else 1e-2)
    assert (one.labels_[order] == other.labels_).mean() > 0.999


def test_an_offset_that_would_leave_negative_similarities():
    X = np.array([[0.0], [2.0], [1.0]])
    for affinity, low, enough in (("sqeuclidean", 2.0, 4.0), ("euclidean", 1.5, 2.0)):
        with pytest.raises(ValueError, match="could be negative"):
            as_similarity(X, affinity, offset=low)
        assert as_similarity(X, affinity, offset=enough).toarray().min() >= 0


@pytest.mark.parametrize("scale", [1e160, 1e200, 1e-160, 1e-200])
def test_features_whose_squares_leave_floating_point(scale):
    with pytest.raises(ValueError, match="leaves the range of floating point; divide the features"):
        DominantSets(2, affinity="sqeuclidean").fit(features() * scale)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_large_and_small_features_are_fine(scale):
    expected = DominantSets(2, affinity="sqeuclidean").fit(features()).labels_
    np.testing.assert_array_equal(
        DominantSets(2, affinity="sqeuclidean").fit(features() * scale).labels_, expected
    )


def test_objects_far_from_the_origin():
    X = features()
    one, far = (
        DominantSets(2, affinity="sqeuclidean").fit(X),
        DominantSets(2, affinity="sqeuclidean").fit(X + 1e7),
    )
    np.testing.assert_array_equal(one.labels_, far.labels_)


def test_no_similarity_at_all_is_said():
    """A given shift has nothing to find; without one, equal objects are one cluster, as everywhere."""
    with pytest.warns(UserWarning, match="no two objects have a positive similarity"):
        model = DominantSets(affinity="linear", shift=1.0).fit(np.zeros((4, 2)))
    assert model.labels_.tolist() == [-1] * 4
    assert model.end_ is End.NO_SIMILARITY
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DominantSets(affinity="linear").fit(np.zeros((4, 2)))
    assert model.labels_.tolist() == [0] * 4


def test_rounding_makes_no_cluster_of_one():
    X = np.random.default_rng(5).normal(size=(15, 3))
    peeling = peel(as_similarity(X, "sqeuclidean"), 15)
    assert min(len(c) for c in peeling) > 1
    assert peeling.end is End.NO_SIMILARITY


def test_training_rows_of_a_matrix_without_a_shift_get_their_labels():
    A = random_similarity(80, seed=3)
    model = DominantSets(6, affinity="precomputed", shift=0.0, assign=None).fit(A)
    np.testing.assert_array_equal(model.predict(A), model.labels_)


def test_a_model_of_a_similarity_predicts():
    X = features()
    model = DominantSets(2, shift=1.0, affinity="sqeuclidean").fit(as_similarity(X, "rbf", gamma=0.1))
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_sparse_rbf_stays_sparse():
    X = sp.random_array((1_500, 40_000), density=5e-4, rng=np.random.default_rng(0)).tocsr()
    tracemalloc.start()
    S = as_similarity(X, "rbf")
    S.gradient(np.arange(300), np.full(300, 1 / 300))
    S.cross(X[:50], np.arange(200))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.3 * 8 * 1_500 * 40_000


def test_bad_starts_are_refused_before_any_work():
    S = as_similarity(features(), "rbf")
    S.degrees = lambda *args: pytest.fail("work before the check")  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="Did you mean 'vertex'"):
        peel(S, 2, start="vertx")
    with pytest.raises(ValueError, match="fixed point"):
        peel(S, 2, algorithm="replicator")


def test_warnings_point_at_the_caller():
    A = random_similarity(20, seed=0) + np.eye(20)
    for call in (
        lambda: as_similarity(A),
        lambda: solve(A),
        lambda: DominantSets(1, affinity="precomputed").fit(A),
        lambda: as_similarity(sp.csr_array(A)),
        lambda: solve(random_similarity(9), algorithm="fw", start="barycenter"),
        lambda: next(peel(random_similarity(9), 1, algorithm="fw", start="barycenter")),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        # scikit-learn wraps fit in a function of its own
        assert all(
            "dominantsets" not in w.filename.replace("test_edge_cases", "") or w.filename == __file__
            for w in caught
        )
        assert caught


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: as_similarity(0, lambda rows, cols: None), "the number of objects must be"),
        (lambda: as_similarity(features() + 1j, "rbf"), "complex"),
        (lambda: as_similarity(as_similarity(features(), "rbf"), gamma=1.0), "already made"),
    ],
)
def test_odd_calls(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_one_dimensional_memmap(tmp_path):
    X = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=(10,))
    with pytest.raises(ValueError, match="2D array"):
        DominantSets(affinity="sqeuclidean").fit(X)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_objects_of_every_kind(n):
    X = np.arange(2.0 * n).reshape(n, 2) ** 2
    for affinity in (*FEATURE_KINDS, "linear"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = DominantSets(affinity=affinity).fit(X).labels_
        assert set(labels) <= set(range(-1, n))
    assert DominantSets(affinity="nearest_neighbors").fit(X).n_clusters_ >= 1


def test_one_object_of_every_kind():
    for affinity in (*FEATURE_KINDS, "linear"):
        with pytest.warns(UserWarning, match="one object"):
            assert DominantSets(affinity=affinity).fit([[1.0, 2.0]]).labels_.tolist() == [0]


def test_as_many_clusters_as_objects():
    A = random_similarity(8, seed=0)
    with pytest.warns(UserWarning, match="of 8 clusters were found"):
        model = DominantSets(8, affinity="precomputed", shift=0.0).fit(A)
    assert 1 <= model.n_clusters_ < 8


def test_threads_side_by_side():
    S = as_similarity(random_similarity(300, seed=0))
    alone = [solve(S, start=i, shift=2.0) for i in range(6)]
    together = Parallel(n_jobs=2, backend="threading")(
        delayed(solve)(S, start=i, shift=2.0) for i in range(6)
    )
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)


def test_graphs_with_odd_storage():
    A = random_similarity(12, seed=0, zeros=0.5)
    expected = solve(A).members
    G = sp.csr_array(A)
    unsorted = G.copy()
    for i in range(12):
        part = slice(unsorted.indptr[i], unsorted.indptr[i + 1])
        unsorted.indices[part] = unsorted.indices[part][::-1].copy()
        unsorted.data[part] = unsorted.data[part][::-1].copy()
    unsorted.has_sorted_indices = False
    explicit = sp.csr_array(A + 1.0)
    explicit.data -= 1.0  # every pair is stored, many as 0
    halves = sp.coo_array(
        (np.r_[G.tocoo().data, G.tocoo().data] / 2, np.tile(G.tocoo().coords, 2)), shape=(12, 12)
    )
    for graph in (G, unsorted, explicit, halves, G.tocsc(), sp.csr_matrix(A), G.astype(np.float32)):
        np.testing.assert_array_equal(solve(graph).members, expected)
    np.testing.assert_array_equal(
        solve(sp.csr_array((A > 0).astype(np.int64))).members, solve((A > 0).astype(float)).members
    )


ALONE = """
import numpy as np
from dominantsets import solve
rng = np.random.default_rng(0)
A = rng.random((60, 60))
A = np.triu(A, 1) + np.triu(A, 1).T
print(solve(A, algorithm="fw", max_iter=64).value, solve(A, algorithm="fw").value)
"""


@pytest.mark.subprocess
@pytest.mark.parametrize("folder", ["shared", "/dev/null/nowhere"])
def test_two_processes_at_once_on_one_cache(tmp_path, folder):
    """A new cache that both fill at the same time, and one that cannot be made.

    64 steps are one piece of compiled work, and give the same number in every process. Later pieces are as
    long as the clock says, and weights are rescaled at the end of each: the last digits depend on the clock.
    """
    place = folder if folder.startswith("/") else str(tmp_path / folder)
    environment = {**os.environ, "NUMBA_CACHE_DIR": place}
    command = [sys.executable, "-c", ALONE]
    both = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2 if folder == "shared" else 1)
    ]
    answers = [process.communicate(timeout=120) for process in both]
    assert all(process.returncode == 0 for process in both), answers
    short, long = zip(*([float(value) for value in out.split()] for out, _ in answers), strict=True)
    assert len(set(short)) == 1
    assert max(long) == pytest.approx(min(long), rel=1e-12)


def _labels_of_many(seed):
    X, _ = make_blobs(200_000, centers=3, n_features=2, random_state=seed)
    return DominantSets(3, affinity="sqeuclidean").fit(X).labels_


@pytest.mark.subprocess
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_forked_workers_after_threads_were_used():
    expected = _labels_of_many(0)  # large enough for our threads, which a fork does not take along
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
        with multiprocessing.get_context("fork").Pool(1) as pool:
            labels = pool.apply_async(_labels_of_many, (0,)).get(timeout=120)
    np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf", "laplacian", "euclidean", "path"])
def test_all_objects_are_equal(affinity):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DominantSets(affinity=affinity).fit(np.ones((30, 4)))
    assert model.n_clusters_ == 1
    assert model.labels_.max() == 0
    weights = model.clusters_[0].weights
    np.testing.assert_allclose(weights, weights[0], rtol=1e-6)


def test_duplicates_share_a_cluster():
    X, _ = make_blobs(60, centers=3, random_state=0)
    model = DominantSets(3, affinity="sqeuclidean").fit(np.tile(X, (5, 1)))
    labels = model.labels_.reshape(5, 60)
    assert (labels == labels[0]).all()


def test_one_giant_component_and_thousands_of_singletons():
    ring = sp.diags_array([np.ones(499), np.ones(498)], offsets=[1, 2], shape=(500, 500))
    graph = sp.block_diag([ring + ring.T, sp.csr_array((5_000, 5_000))], format="csr")
    clusters = peel(graph)
    found = list(clusters)
    assert all(len(c) >= 2 for c in found)
    assert clusters.labels[500:].max() == -1
    assert clusters.end.value in ("no_similarity", "not_coherent")
    model = DominantSets(affinity="precomputed").fit(graph)
    assert model.labels_[500:].max() == -1


def test_a_graph_of_one_node_is_a_cluster():
    with pytest.warns(UserWarning, match="one object"):
        model = DominantSets(affinity="precomputed").fit(sp.csr_array((1, 1)))
    assert model.labels_.tolist() == [0]
