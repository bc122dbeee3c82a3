"""Dask arrays in this process: the same clusters as in memory, whatever the chunks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, Status, as_similarity, peel, solve
from support import assert_certified, assert_same_model, features, in_row_blocks, neighbor_graph

da = pytest.importorskip("dask.array")

LOW_RANK = ("sqeuclidean", "cosine", "linear")
UNEVEN = (210, 1, 389, 0, 300)  # a chunk of one row, an empty one
ROWS = make_blobs(900, centers=4, n_features=5, cluster_std=1.5, random_state=0)[0] + 20.0
WORKING = {"rbf": "working-set", "laplacian": "working-set"}  # what "auto" means for a Dask array


def chunked(X, chunks=UNEVEN):
    return da.from_array(X, chunks=(chunks, X.shape[1]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("affinity", [*LOW_RANK, "rbf", "laplacian"])
def test_labels_are_those_of_the_same_array_in_memory(affinity, dtype):
    X = ROWS.astype(dtype)
    options = {"affinity": affinity, "solver_params": {"algorithm": WORKING.get(affinity, "auto")}}
    here = DominantSets(3, **options).fit(X)
    there = DominantSets(3, **options).fit(chunked(X))
    np.testing.assert_allclose(there.shifts_, here.shifts_, rtol=1e-9)
    assert there.labels_.chunks == (UNEVEN,)
    assert_same_model(here, there)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


@pytest.mark.parametrize("options", [{}, {"assign": "average"}])
def test_a_graph_in_row_blocks(options):
    A = neighbor_graph()
    # one shift for all: a graph in pieces is not searched for groups at their own shifts
    options = {"affinity": "precomputed", "shift": 0.9 * A.sum() / A.shape[0], **options}
    here = DominantSets(3, solver_params={"algorithm": "working-set"}, **options).fit(A)
    there = DominantSets(3, **options).fit(in_row_blocks(A, UNEVEN))
    assert_same_model(here, there)
    assert_certified(A.toarray(), there.clusters_[0], rounding=1e-10)


@pytest.mark.parametrize("affinity", [*LOW_RANK, "rbf", "laplacian"])
@pytest.mark.parametrize("shift", [0.0, 30.0])
def test_the_certificate_is_that_of_the_dense_matrix(affinity, shift):
    X = features(150, 4)
    X -= X.min()
    S = as_similarity(da.from_array(X, chunks=(40, 4)), affinity)
    A = as_similarity(X, affinity).toarray()
    cluster = solve(S, shift=shift)
    assert cluster.status is Status.CONVERGED
    assert_certified(A, cluster, rounding=1e-10)


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(lambda sizes: sum(sizes) > 1),
    st.sampled_from(LOW_RANK),
    st.integers(0, 5),
    st.floats(0.0, 3.0),
)
def test_any_chunks_any_shift(sizes, affinity, seed, shift):
    """Few objects in odd chunks: the optimum is certified, and is the one of the array in memory."""
    X = np.abs(features(sum(sizes), 3, seed))
    X[::7] = X[0]  # duplicates: equal values, whose threshold is found by rounding alone
    S = as_similarity(X, affinity)
    shift *= S.self_similarity
    here = solve(S, shift=shift)
    there = solve(as_similarity(chunked(X, tuple(sizes)), affinity), shift=shift)
    assert_certified(S.toarray(), there, rounding=1e-10)
    assert there.value == pytest.approx(here.value, rel=1e-7)
    assert there.status is Status.CONVERGED


def test_equal_objects_in_their_thousands():
    """No histogram tells them apart: the threshold is found all the same."""
    X = np.repeat(np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0]]), 3_000, axis=0)
    S = as_similarity(da.from_array(X, chunks=(2_500, 2)), "sqeuclidean")
    for cluster in peel(S, 2, shift=1e6):
        assert cluster.status is Status.CONVERGED
        assert len(cluster) % 3_000 == 0


def test_sorted_data_in_chunks_that_know_nothing_of_each_other():
    """Each class in a chunk of its own: bounds of tau by the pieces' own shares are far apart."""
    X, y = make_blobs(2_000, centers=5, n_features=4, random_state=1)
    X = X[np.argsort(y)]
    here = DominantSets(5, affinity="sqeuclidean").fit(X)
    there = DominantSets(5, affinity="sqeuclidean").fit(da.from_array(X, chunks=(400, 4)))
    assert_same_model(here, there)


def test_rounds_are_few():
    X, _ = make_blobs(20_000, centers=5, n_features=8, random_state=0)
    S = as_similarity(da.from_array(X, chunks=(5_000, 8)), "sqeuclidean")
    before = S.rows.n_rounds
    clusters = list(peel(S, 4, shift=0.01 * S.n * S.offset / 20))
    assert S.rows.n_rounds - before <= 4 * 20
    assert all(c.status is Status.CONVERGED for c in clusters)


@pytest.mark.parametrize("assign", ["average", "refine"])
@pytest.mark.parametrize("affinity", LOW_RANK)
def test_objects_left_over_are_assigned(affinity, assign):
    options = {"affinity": affinity, "assign": assign, "noise": None}
    here = DominantSets(3, **options).fit(ROWS)
    there = DominantSets(3, **options).fit(chunked(ROWS))
    np.testing.assert_array_equal(there.labels_.compute(), here.labels_)
    assert (there.labels_.compute() >= 0).all()
    np.testing.assert_array_equal(there.predict(ROWS), here.predict(ROWS))


def test_whole_numbers_columns_in_chunks_and_a_memmap(tmp_path):
    X = np.rint(ROWS * 10).astype(np.int32)
    here = DominantSets(3, affinity="sqeuclidean").fit(X)
    assert_same_model(here, DominantSets(3, affinity="sqeuclidean").fit(da.from_array(X, chunks=(250, 2))))
    path = tmp_path / "rows.npy"
    np.save(path, X.astype(np.float64))
    mapped = np.load(path, mmap_mode="r")
    assert_same_model(here, DominantSets(3, affinity="sqeuclidean").fit(mapped))
    assert_same_model(
        here, DominantSets(3, affinity="sqeuclidean").fit(da.from_array(mapped, chunks=(250, 5)))
    )


def test_checkpoint(tmp_path):
    """Clusters kept by one run are taken up by another; other data are refused."""
    X, path = chunked(ROWS), str(tmp_path / "run.npz")
    options = {"n_clusters": 3, "shift": 300.0, "assign": None}
    whole = DominantSets(**options).fit(X)

    def stop(progress):
        return progress.n_clusters == 2

    with pytest.warns(UserWarning, match="ended early"):
        DominantSets(checkpoint=path, callback=stop, **options).fit(X)
    assert np.load(path)["members_0"].size == len(whole.clusters_[0])
    told = []
    resumed = DominantSets(checkpoint=path, callback=lambda p: told.append(p.n_clusters), **options).fit(X)
    assert min(told) >= 2  # it did not begin anew
    assert_same_model(whole, resumed)
    for k in range(3):
        np.testing.assert_array_equal(resumed.clusters_[k].weights, whole.clusters_[k].weights)
    with pytest.raises(ValueError, match="belongs to other data"):
        DominantSets(checkpoint=path, **options).fit(chunked(ROWS + 1.0))
    with pytest.raises(ValueError, match="belongs to other parameters"):
        DominantSets(affinity="cosine", checkpoint=path, **options).fit(X)


def test_the_number_of_clusters_may_be_open():
    """Which resolution, which clusters stand alone, what is noise: the same as in memory."""
    here, there = (
        DominantSets(affinity="sqeuclidean").fit(ROWS),
        DominantSets(affinity="sqeuclidean").fit(chunked(ROWS)),
    )
    assert here.n_clusters_ == there.n_clusters_ > 1
    assert_same_model(here, there)
    assert there.selection_.reason == here.selection_.reason


def refused(X, message, **options):
    with pytest.raises(ValueError, match=message):
        DominantSets(2, **options).fit(X)


def test_what_a_dask_array_cannot_be():
    X = chunked(ROWS)
    bad = ROWS.copy()
    bad[500, 2] = np.nan
    refused(chunked(bad), "the features have NaN or infinite entries")
    refused(chunked(ROWS * 1e150), "its square leaves the range of floating point")
    refused(X[:, 0], "must have 2 dimensions, one row per object, got 1")
    refused(X[X[:, 0] > 0], "call X.compute_chunk_sizes")
    refused(X.astype(complex), "real numbers, got dtype complex128")
    refused(X[:0], "are empty: there is nothing to cluster")
    refused(X, "affinity='path' is not available for Dask arrays", affinity="path")
    refused(X, "not available for Dask arrays", affinity=lambda P, Q: P @ Q.T)
    refused(X, "algorithm='pairwise' needs columns of the whole", solver_params={"algorithm": "pairwise"})
    refused(
        X, "offset='exact' looks at all pairs", affinity="sqeuclidean", affinity_params={"offset": "exact"}
    )
    refused(X, "offset=1 is below", affinity="sqeuclidean", affinity_params={"offset": 1.0})
    refused(X, "offset='large' is not known", affinity="sqeuclidean", affinity_params={"offset": "large"})
    refused(X, "takes no parameter 'gamma'", affinity="sqeuclidean", affinity_params={"gamma": 1.0})
    refused(chunked(ROWS - 20), "features of both signs may have negative inner products", affinity="linear")
    refused(
        in_row_blocks(neighbor_graph(), UNEVEN),
        "sparse features in a Dask array are not supported",
        affinity="cosine",
    )
    refused(X, "must have blocks of scipy.sparse CSR rows", affinity="precomputed")
    refused(X, "needs a shift above", affinity="cosine", shift=-3.0, solver_params={"algorithm": "dual"})
    frame = pytest.importorskip("dask.dataframe").from_dask_array(X)
    refused(frame, r"X.to_dask_array\(lengths=True\)")


def test_what_a_graph_cannot_be():
    A = neighbor_graph(300).tolil()
    chunks = (100, 50, 150)

    def wrong(i, j, weight, message):
        B = A.copy()
        B[i, j] = weight
        refused(in_row_blocks(sp.csr_array(B), chunks), message, affinity="precomputed")

    wrong(3, 250, 0.5, "the graph is not symmetric")
    wrong(3, 3, np.nan, "1 NaN or infinite weights")
    B = A.copy()
    B[3, 250] = B[250, 3] = -0.5
    refused(in_row_blocks(sp.csr_array(B), chunks), "negative weights, down to -0.5", affinity="precomputed")
    refused(
        in_row_blocks(sp.csr_array((300, 300)), chunks), "all similarities are zero", affinity="precomputed"
    )
    refused(in_row_blocks(sp.csr_array(A)[:, :200], chunks), "must be square", affinity="precomputed")
    B = A.copy()
    B[3, 3] = 5.0
    with pytest.warns(UserWarning, match="1 of 300 diagonal entries"):
        odd = DominantSets(2, affinity="precomputed").fit(in_row_blocks(sp.csr_array(B), chunks))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = DominantSets(2, affinity="precomputed").fit(in_row_blocks(sp.csr_array(A), chunks))
    assert_same_model(plain, odd)
