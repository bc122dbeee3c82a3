"""Dask chunks on devices: two workers with CPU tensors find what is found in memory, and may die."""

from __future__ import annotations

import os
import pickle
import signal
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, as_similarity
from dominantsets.rows.chunks import InProcess, block_of
from dominantsets.rows.memory import HostBlock
from dominantsets.similarity import kernel
from dominantsets.solvers import chunk_pass
from support import assert_same_model, features, formula

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
torch = pytest.importorskip("torch")

from dominantsets.rows import tensor_block, tensor_features, tensors  # noqa: E402 (what follows needs torch)
from dominantsets.solvers import tensor_pass  # noqa: E402

LOW_RANK = ("sqeuclidean", "cosine", "linear")
CHUNKS = (210, 1, 389, 0, 300)  # one of one row, one empty
ROWS = make_blobs(900, centers=4, n_features=5, cluster_std=1.5, random_state=0)[0] + 20.0
WORKING = {"rbf": "working-set", "laplacian": "working-set"}  # what "auto" means for a Dask array


def chunked(X, chunks=CHUNKS):
    return da.from_array(X, chunks=(chunks, X.shape[1]))


def of_tensors(X, chunks=CHUNKS):
    return chunked(X, chunks).map_blocks(torch.as_tensor)


# in this process ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("affinity", "make"), [("sqeuclidean", chunked), ("rbf", chunked), ("cosine", of_tensors)]
)
def test_labels_are_those_of_the_array_in_memory(affinity, make, monkeypatch):
    """All affinities and options are in test_every_backend.py."""
    monkeypatch.setattr(kernel, "LARGE", 100)  # else rows under a kernel are fetched
    options = {"affinity": affinity, "solver_params": {"algorithm": WORKING.get(affinity, "auto")}}
    here = DominantSets(3, **options).fit(ROWS)
    there = DominantSets(3, device="cpu" if make is chunked else None, **options).fit(make(ROWS))
    blocks = there.similarity_.rows._blocks.values()
    assert len(blocks) == 4
    assert all(isinstance(block, tensors.TensorBlock) for block in blocks)
    assert_same_model(here, there)
    assert there.labels_.chunks == (CHUNKS,)
    for new in (ROWS[:50] + 0.1, make(ROWS[:50] + 0.1, (30, 20))):
        np.testing.assert_array_equal(there.predict(new), here.predict(ROWS[:50] + 0.1))
    again = pickle.loads(pickle.dumps(there))
    np.testing.assert_array_equal(again.predict(ROWS), here.predict(ROWS))


@pytest.mark.parametrize("affinity", LOW_RANK)
@pytest.mark.parametrize("small", [False, True])
def test_a_pass_is_its_formula(affinity, small, monkeypatch):
    """Values, histogram, sums above a level and the rows of a band, from the formulas themselves."""
    if small:  # in many parts, and w after w
        monkeypatch.setattr(tensor_block, "BLOCK_NUMBERS", {"cpu": 40})
        monkeypatch.setattr(tensor_pass, "VALUES_BYTES", 8 * 60)
    X, shift = np.abs(features(60, 3)), 5.0
    S = as_similarity(X, affinity)
    block = block_of(lambda: X, 100, 60, "cpu")
    block.alive = np.arange(60) % 5 > 0
    block.token = "some"
    c = S.formula.factor
    V = X - X.mean(axis=0) if affinity == "sqeuclidean" else X
    V = V / np.linalg.norm(V, axis=1)[:, None] if affinity == "cosine" else V
    U, b = np.sqrt(c) * V, -np.square(V).sum(axis=1) * (affinity == "sqeuclidean")
    kappa = c * np.square(V).sum(axis=1) + 2 * b + S.offset + shift
    spec = chunk_pass.ProblemSpec(S.recipe, shift, 96)
    W = [U[3], U[4], U[7]]
    every = [np.where(block.alive, U @ w + b, -np.inf) for w in W]
    edges = np.quantile(every[0][block.alive], [0.2, 0.4, 0.6, 0.8])
    requests = [chunk_pass.PassRequest(w, edges, edges[1], edges[2]) for w in W]
    for _ in range(2):  # the second time values are remembered, where they fit
        for reply, w, s in zip(block.do(chunk_pass.look, spec, requests), W, every, strict=True):
            bins = [(s > low) & (s <= high) for low, high in zip(edges, [*edges[1:], np.inf], strict=True)]
            sums = [(t.sum(), (1 / kappa)[t].sum(), ((s - edges[0]) / kappa)[t].sum()) for t in bins]
            np.testing.assert_allclose(reply.bins, np.transpose(sums), rtol=1e-10, atol=1e-12)
            assert reply.largest == pytest.approx(s.max())
            above, off = s > edges[2], U - w
            y, share = (s - edges[2])[above], (1 / kappa)[above]
            told = reply.above
            numbers = (
                above.sum(),
                share.sum(),
                y @ share,
                y**2 @ share,
                b[above] @ share,
                (b[above] * y) @ share,
            )
            assert tuple(told)[:6] == pytest.approx(numbers, rel=1e-10)
            np.testing.assert_allclose(told.image, (y * share) @ U[above], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(told.first, share @ off[above], rtol=1e-9, atol=1e-12)
            second = (off[above] * share[:, None]).T @ off[above]
            np.testing.assert_allclose(told.second, second[np.tril_indices(3)], rtol=1e-9, atol=1e-12)
            band = (s > edges[1]) & (s <= edges[2])
            np.testing.assert_allclose(reply.band.rows, U[band], atol=1e-12)
            np.testing.assert_allclose(reply.band.s, s[band], atol=1e-10)
    bounds = block.do(chunk_pass.look, spec, [chunk_pass.PassRequest(w, np.empty(0)) for w in W])
    for reply, s in zip(bounds, every, strict=True):
        weights = np.maximum(s - reply.lower, 0.0) / kappa
        assert weights.sum() == pytest.approx(48 / 96)
    points = [chunk_pass.PointSpec(w, float(edges[2]), 0.0) for w in W]
    members = block.do(chunk_pass.gather, spec, points)
    asked = [(point, one.mixture) for point, one in zip(points, members, strict=True)]
    A = formula(affinity, X)
    for one, told, s in zip(members, block.do(chunk_pass.extremes, spec, asked), every, strict=True):
        x = np.maximum(s - edges[2], 0.0) / kappa
        np.testing.assert_array_equal(one.members, 100 + np.flatnonzero(x))
        np.testing.assert_allclose(one.weights, x[x > 0], rtol=1e-9)
        x /= x.sum()
        r = np.where(block.alive, A @ x - shift * x, -np.inf)
        inside = r[x > 0]
        f = x[x > 0] @ inside
        assert told == pytest.approx((inside.min(), inside.max(), r[x == 0].max(), f), rel=1e-9)


def test_chunks_that_cannot_be_kept_are_read_again():
    """Nothing of the rows stays on the device between two operations."""
    delayed = chunked(ROWS).to_delayed().ravel().tolist()
    kept, read = (InProcess(delayed, CHUNKS, 5, "cpu", kept=one) for one in (True, False))
    recipe = as_similarity(ROWS, "sqeuclidean").recipe
    for rows in (kept, read):
        np.testing.assert_allclose(rows.total("survey").total, ROWS.sum(axis=0))
    one, other = (rows.total("measure", recipe, True) for rows in (kept, read))
    np.testing.assert_array_equal(one.rows, other.rows)
    assert all(block._features is None for block in read._blocks.values())
    assert all(block._features is not None for block in kept._blocks.values())


def test_small_numbers_stay_small():
    X = ROWS.astype(np.float16)
    plain = DominantSets(3, affinity="sqeuclidean").fit(X.astype(np.float64))
    found = DominantSets(3, affinity="sqeuclidean", device="cpu").fit(chunked(X))
    assert {block.features.dtype for block in found.similarity_.rows._blocks.values()} == {torch.float16}
    assert_same_model(plain, found)
    whole = (10 * ROWS).astype(np.int64)  # which no device takes: as float64
    found = DominantSets(3, affinity="sqeuclidean", device="cpu").fit(chunked(whole))
    assert_same_model(DominantSets(3, affinity="sqeuclidean").fit(whole.astype(np.float64)), found)


def test_an_array_of_another_library_is_taken_where_it_is(monkeypatch):
    class Elsewhere:
        """What has DLPack and nothing else, on the host or on a device."""

        def __init__(self, device):
            self.device = device

        def __dlpack_device__(self):
            return self.device, 0

        def __dlpack__(self, **options):
            return torch.as_tensor(ROWS).__dlpack__()

    monkeypatch.setattr(tensor_features, "from_dlpack", lambda X: torch.as_tensor(ROWS))  # needs no card
    kinds = [type(block_of(partial(Elsewhere, device), 0, 900, None)) for device in (1, 2)]
    assert kinds == [HostBlock, tensors.TensorBlock]


# on two workers ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": 0}
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "10s"}),
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.subprocess
@pytest.mark.parametrize("affinity", [*LOW_RANK, "laplacian"])
def test_two_workers_find_what_is_found_in_memory(client, affinity, monkeypatch):
    def held_kinds(run):  # a function of the test's own travels whole, one of a module by its name
        from dominantsets.rows import cluster

        return sorted({type(block).__name__ for block in cluster._held.get(run, {}).values()})

    monkeypatch.setattr(kernel, "LARGE", 100)
    solver = {"algorithm": WORKING.get(affinity, "auto")}
    options = {"affinity": affinity, "solver_params": solver, "random_state": 0}
    here = DominantSets(3, **options).fit(ROWS)
    tensors_there = affinity == "cosine"
    data = of_tensors(ROWS) if tensors_there else chunked(ROWS)
    there = DominantSets(3, device=None if tensors_there else "cpu", **options).fit(data)
    assert_same_model(here, there)
    kinds = client.run(held_kinds, there.similarity_.rows._run)
    assert list(kinds.values()) == [["TensorBlock"]] * 2  # nobody is left without a share
    assert there.labels_.chunks == (CHUNKS,)
    np.testing.assert_array_equal(there.predict(ROWS[:100]), here.predict(ROWS[:100]))


@pytest.mark.subprocess
def test_a_worker_is_killed_in_the_middle(client):
    """What it held is made again from the array's graph, on the other one's device."""
    options = {"n_clusters": 3, "affinity": "sqeuclidean", "shift": 3_000.0, "device": "cpu", "assign": None}
    undisturbed = DominantSets(**options).fit(chunked(ROWS))
    client.wait_for_workers(2, timeout=60)
    killed = []

    def callback(progress):
        if progress.n_clusters == 1 and progress.n_iter >= 2 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    disturbed = DominantSets(callback=callback, **options).fit(chunked(ROWS))
    assert killed
    np.testing.assert_array_equal(disturbed.labels_.compute(), undisturbed.labels_.compute())
    for one, other in zip(disturbed.clusters_, undisturbed.clusters_, strict=True):
        np.testing.assert_array_equal(one.members, other.members)
        np.testing.assert_array_equal(one.weights, other.weights)
        assert (one.value, one.gap, one.margin) == (other.value, other.gap, other.margin)


@pytest.mark.subprocess
def test_every_worker_has_its_own_device(client):
    with pytest.raises(ValueError, match="every worker has its own; use 'cuda' with a Dask cluster"):
        DominantSets(2, affinity="cosine", device="cuda:1").fit(chunked(ROWS))
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="device='cuda' needs a CUDA device"):
            DominantSets(2, affinity="cosine", device="cuda").fit(chunked(ROWS))
