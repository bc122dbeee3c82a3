"""Dask chunks on devices: two workers with CPU tensors find what is found in memory, and may die."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, Status, as_similarity, solve
from support import assert_certified, features, formula, in_row_blocks, neighbor_graph

da = pytest.importorskip("dask.array")
torch = pytest.importorskip("torch")

LOW_RANK = ("sqeuclidean", "cosine", "linear")
CHUNKS = (210, 1, 389, 0, 300)  # one of one row, one empty
ROWS = make_blobs(900, centers=4, n_features=5, cluster_std=1.5, random_state=0)[0] + 20.0


def chunked(X, chunks=CHUNKS):
    return da.from_array(X, chunks=(chunks, X.shape[1]))


def of_tensors(X, chunks=CHUNKS):
    return chunked(X, chunks).map_blocks(torch.as_tensor)


# in this process ----------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(lambda sizes: sum(sizes) > 2),
    st.sampled_from(LOW_RANK),
    st.integers(0, 5),
    st.floats(0.0, 3.0),
)
def test_any_chunks_any_shift(sizes, affinity, seed, shift):
    """Few objects in odd chunks, some of them equal: the optimum is certified, and is that in memory."""
    X = np.abs(features(sum(sizes), 3, seed))
    X[::7] = X[0]
    S = as_similarity(X, affinity)
    shift *= S.self_similarity
    there = solve(as_similarity(chunked(X, tuple(sizes)), affinity, device="cpu"), shift=shift)
    assert_certified(S.toarray(), there, rounding=1e-10)
    assert there.value == pytest.approx(solve(S, shift=shift).value, rel=1e-7)
    assert there.status is Status.CONVERGED


@pytest.mark.parametrize("affinity", [*LOW_RANK, "rbf"])
def test_removed_objects_and_row_sums(affinity):
    """Sums of the similarity over what is left, of the dense matrix."""
    X = np.abs(features(80, 4))
    params = {"gamma": 0.1} if affinity == "rbf" else {}
    S = as_similarity(chunked(X, (30, 1, 49)), affinity, device="cpu", **params)
    A = formula(affinity, X)
    np.testing.assert_allclose(S.toarray(), A, atol=1e-12 * A.max())
    np.testing.assert_allclose(S.degrees(), A.sum(axis=1), rtol=1e-12)
    if affinity == "rbf":
        return
    alive = np.random.default_rng(0).random(80) < 0.5
    alive[:30] = False  # a block that has nobody left
    mask = S.rows.mask()
    mask.remove(np.flatnonzero(~alive))
    sums = S.rows.total("measure", S.recipe, False, mask=mask)
    assert sums.objects == alive.sum()
    found = max(S.rows.ask("largest_degree", S.recipe, sums, mask=mask), key=lambda one: one[0])
    left = np.where(alive, A[:, alive].sum(axis=1), -np.inf)
    assert found[0] == pytest.approx(left.max(), rel=1e-12)
    assert found[1] == left.argmax()
    V = X - X.mean(axis=0) if affinity == "sqeuclidean" else X
    V = V / np.linalg.norm(V, axis=1)[:, None] if affinity == "cosine" else V
    squares = np.square(V[alive]).sum(axis=1)
    np.testing.assert_allclose(found[2], V[found[1]], atol=1e-12)
    np.testing.assert_allclose(sums.rows, V[alive].sum(axis=0), atol=1e-12)
    assert (sums.longest, sums.shortest) == pytest.approx((squares.max(), squares.min()), rel=1e-12)


def test_what_is_refused():
    graph = in_row_blocks(neighbor_graph(300), (100, 200))
    with pytest.raises(ValueError, match="a graph stays on the host: leave out device='cpu'"):
        DominantSets(2, affinity="precomputed", device="cpu").fit(graph)
    with pytest.raises(ValueError, match="device='tpu' is not a device"):
        DominantSets(2, affinity="cosine", device="tpu").fit(chunked(ROWS))
    with pytest.raises(ValueError, match="complex"):
        DominantSets(2, affinity="cosine").fit(of_tensors(ROWS.astype(complex)))
    bad = ROWS.copy()
    bad[500, 2] = np.nan
    with pytest.raises(ValueError, match="the features have NaN or infinite entries"):
        DominantSets(2, affinity="cosine", device="cpu").fit(chunked(bad))
