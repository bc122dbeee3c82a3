"""Two worker processes: the same clusters, also where workers die, join or hang, or Ctrl-C comes."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, End, Status, as_similarity, peel
from dominantsets.rows import cluster as on_cluster
from dominantsets.rows.chunks import InProcess
from dominantsets.similarity.low_rank import sqeuclidean
from support import assert_same_model, in_row_blocks, neighbor_graph

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.subprocess

CHUNKS = (1_500, 1, 999, 0, 2_500, 1_000)
X, _ = make_blobs(6_000, centers=6, n_features=6, cluster_std=2.0, random_state=0)
# a shift is given, so that the callback hears of the run itself and not of trials of resolutions
OPTIONS = {"n_clusters": 5, "shift": 20_000.0, "assign": None}


@pytest.fixture(scope="module")
def client():
    with dask.config.set({"distributed.comm.timeouts.connect": "10s"}):
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        )
        try:
            with distributed.Client(cluster) as client:
                yield client
        finally:
            cluster.close(timeout=20)


@pytest.fixture
def workers(client):
    """Two workers, whatever the test before did to them."""
    try:
        client.wait_for_workers(2, timeout=60)
    except TimeoutError:  # on a busy machine a killed one may not have come back
        client.restart(timeout=120)
    return client.run(os.getpid)


def chunked():
    return da.from_array(X, chunks=(CHUNKS, X.shape[1]))


@pytest.fixture(scope="module")
def undisturbed(client):
    return DominantSets(**OPTIONS).fit(chunked())


def assert_exactly(one, other):
    """Not to rounding: for one chunking every number is the same, whoever computed it."""
    np.testing.assert_array_equal(one.labels_.compute(), other.labels_.compute())
    np.testing.assert_array_equal(one.shifts_, other.shifts_)
    for a, b in zip(one.clusters_, other.clusters_, strict=True):
        np.testing.assert_array_equal(a.members, b.members)
        np.testing.assert_array_equal(a.weights, b.weights)
        for name in ("value", "gap", "margin", "strict", "status", "n_iter"):
            assert getattr(a, name) == getattr(b, name)


class Once:
    """A callback that does something once, in the middle of the second cluster."""

    def __init__(self, act):
        self.act, self.done = act, False

    def __call__(self, progress):
        if progress.n_clusters == 1 and progress.n_iter >= 2 and not self.done:
            self.done = True
            self.act()


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def test_the_same_labels_as_in_memory(undisturbed, workers):
    assert_same_model(DominantSets(**OPTIONS).fit(X), undisturbed)
    assert undisturbed.labels_.chunks == (CHUNKS,)
    homes = undisturbed.similarity_.rows._homes
    assert set(homes.values()) == set(workers)  # nobody is left without a share
    np.testing.assert_array_equal(undisturbed.predict(X), undisturbed.labels_.compute())


def test_the_same_numbers_as_in_this_process(undisturbed):
    """Who computes does not matter: neither the number of threads nor that it is another process."""
    blocks = da.from_array(X, chunks=(CHUNKS, 6)).to_delayed().ravel().tolist()
    here = InProcess(blocks, CHUNKS, 6, kept=True)
    run = peel(sqeuclidean(here), 5, shift=undisturbed.shifts_[0])
    for a, b in zip(run, undisturbed.clusters_, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
        assert (a.value, a.gap, a.margin) == (b.value, b.gap, b.margin)


@pytest.mark.parametrize(
    "options",
    [
        {"affinity": "cosine"},
        {"affinity": "laplacian", "solver_params": {"algorithm": "working-set"}, "shift": 3.0},
    ],
)
def test_other_kinds(client, options):
    some = X[:2_000]
    here = DominantSets(3, **options).fit(some)  # resolution and refinement too, but for the second one
    assert_same_model(here, DominantSets(3, **options).fit(da.from_array(some, chunks=(700, 6))))


def test_a_graph_in_row_blocks(client):
    A = neighbor_graph(2_000)
    # one shift for all: a graph in pieces is not searched for groups at their own shifts
    options = {"affinity": "precomputed", "shift": 0.9 * A.sum() / A.shape[0]}
    here = DominantSets(3, **options).fit(A)
    there = DominantSets(3, **options).fit(in_row_blocks(A, (500, 1_500)))
    assert_same_model(here, there)


def test_one_task_a_worker_and_round(client, workers, monkeypatch):
    S = as_similarity(da.from_array(X, chunks=(200, 6)).persist(), "sqeuclidean")
    tasks, submit = [], client.submit

    def counted(function, *args, **options):
        tasks.append(function)
        return submit(function, *args, **options)

    monkeypatch.setattr(client, "submit", counted)
    before = S.rows.n_rounds
    clusters = list(peel(S, 2, shift=500.0))
    assert len(tasks) == 2 * (S.rows.n_rounds - before)  # 30 chunks, 2 workers
    assert all(cluster.status is Status.CONVERGED for cluster in clusters)


def test_a_worker_is_killed(undisturbed, workers):
    victim = Once(lambda: kill(next(iter(workers.values()))))
    disturbed = DominantSets(callback=victim, **OPTIONS).fit(chunked())
    assert victim.done
    assert_exactly(undisturbed, disturbed)


def test_all_workers_are_killed(client, undisturbed, workers):
    """What they held is made again from the client: rows from the graph, the mask from its own."""
    victim = Once(lambda: [kill(pid) for pid in workers.values()])
    disturbed = DominantSets(callback=victim, **OPTIONS).fit(chunked())
    assert victim.done
    assert_exactly(undisturbed, disturbed)
    assert not set(client.run(os.getpid).values()) & set(workers.values())


@pytest.mark.parametrize("affinity", ["laplacian", "precomputed"])
def test_a_worker_is_killed_while_a_working_set_grows(client, workers, affinity):
    """Row sums, payoffs and rows that were fetched are made again too."""
    data = neighbor_graph(2_000) if affinity == "precomputed" else X[:1_500]
    solver = {"algorithm": "working-set"}
    options = {"affinity": affinity, "shift": 1.0, "solver_params": solver, "assign": None}
    there = in_row_blocks(data, (500, 1_500)) if affinity == "precomputed" else da.from_array(data, (500, 6))
    plain = DominantSets(3, **options).fit(there)
    done = []

    def callback(progress):
        if progress.n_clusters == 1 and not done:
            done.append(kill(next(iter(workers.values()))))

    disturbed = DominantSets(3, callback=callback, **options).fit(there)
    assert done
    assert_exactly(plain, disturbed)


def test_a_worker_joins(client, undisturbed, workers):
    cluster = client.cluster

    def more():
        cluster.scale(3)
        client.wait_for_workers(3, timeout=60)

    try:
        grown = DominantSets(callback=Once(more), **OPTIONS).fit(chunked())
        homes = set(grown.similarity_.rows._homes.values())
        assert len(homes) == 3  # the newcomer got its share
        assert_exactly(undisturbed, grown)
    finally:
        cluster.scale(2)
        deadline = time.monotonic() + 30
        while len(client.nthreads()) > 2 and time.monotonic() < deadline:
            time.sleep(0.1)


def test_a_round_that_times_out(client, undisturbed, workers):
    """A worker that hangs: its pieces are worked on elsewhere, also where the scheduler knows them on it."""
    address, pid = next(iter(workers.items()))
    kept = client.compute(chunked().to_delayed().ravel().tolist(), workers=[address])
    distributed.wait(kept)
    hang = Once(lambda: os.kill(pid, signal.SIGSTOP))
    # workers that have just started take seconds to import
    DominantSets(1, shift=1.0, affinity="sqeuclidean").fit(chunked())
    try:
        with dask.config.set({"dominantsets.round-timeout": 12}):
            disturbed = DominantSets(callback=hang, **OPTIONS).fit(chunked())
    finally:
        os.kill(pid, signal.SIGCONT)
    assert hang.done
    assert_exactly(undisturbed, disturbed)


@pytest.mark.parametrize("waiting", [False, True])
def test_ctrl_c(client, undisturbed, workers, waiting):
    """Between two passes, or while a round is under way: what was found is there, and so is the cluster."""

    def press():
        os.kill(os.getpid(), signal.SIGINT)

    def press_later():
        time.sleep(0.3)
        press()
        time.sleep(0.3)
        for pid in workers.values():
            os.kill(pid, signal.SIGCONT)

    def hold():  # no round ends before the workers go on, so Ctrl-C comes in the middle of one
        for pid in workers.values():
            os.kill(pid, signal.SIGSTOP)
        threading.Thread(target=press_later).start()

    act = hold if waiting else press
    with pytest.warns(UserWarning, match="fitting ended early"):
        broken = DominantSets(callback=Once(act), **OPTIONS).fit(chunked())
    assert broken.end_ is End.INTERRUPTED
    assert broken.n_clusters_ >= 1
    np.testing.assert_array_equal(broken.clusters_[0].weights, undisturbed.clusters_[0].weights)
    assert client.submit(sum, [1, 2], pure=False).result(timeout=20) == 3
    assert_exactly(undisturbed, DominantSets(**OPTIONS).fit(chunked()))


def test_a_checkpoint_is_taken_up_by_another_run(client, undisturbed, workers, tmp_path):
    path = str(tmp_path / "run.npz")
    with pytest.warns(UserWarning, match="ended early"):
        DominantSets(checkpoint=path, callback=lambda p: p.n_clusters == 3, **OPTIONS).fit(chunked())
    address, process = next(iter(workers.items()))
    kill(process)
    deadline = time.monotonic() + 60.0
    while address in client.scheduler_info()["workers"] and time.monotonic() < deadline:
        time.sleep(0.1)  # a worker that dies during a fit is another test's
    client.wait_for_workers(2, timeout=60)
    gc.collect()  # what the first run held is released now, not while the second asks for the same keys
    time.sleep(1.0)
    with dask.config.set(
        {"dominantsets.round-timeout": 30}
    ):  # a task that is lost all the same is made again
        resumed = DominantSets(checkpoint=path, **OPTIONS).fit(chunked())
    assert_exactly(undisturbed, resumed)


def test_bad_data_on_a_worker_are_refused_in_the_usual_sentence(client, workers):
    bad = X.copy()
    bad[4_321, 2] = np.inf
    with pytest.raises(ValueError, match="the features have NaN or infinite entries"):
        DominantSets(2, affinity="sqeuclidean").fit(da.from_array(bad, chunks=(1_000, 6)))


def test_workers_let_go_of_a_run_that_nobody_needs(client, workers):
    def holds(run):  # a function of the test's own travels whole, one of a module by its name
        return run in on_cluster._held

    model = DominantSets(2, shift=1e4, affinity="sqeuclidean").fit(da.from_array(X, chunks=(1_000, 6)))
    run = model.similarity_.rows._run
    assert all(client.run(holds, run).values())
    del model
    gc.collect()
    deadline = time.monotonic() + 20
    while any(client.run(holds, run).values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(client.run(holds, run).values())


def test_no_worker_left_is_a_sentence():
    """In a process of ours; Dask itself would wait for ever."""
    local = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    )

    def go() -> None:
        local.scale(0)
        while local.scheduler.workers:
            time.sleep(0.01)

    leave = Once(go)
    soon = dask.config.set({"dominantsets.round-timeout": 1})
    told = pytest.raises(RuntimeError, match="no worker any more, and none came within 1 s")
    with local, distributed.Client(local), soon, told:
        DominantSets(callback=leave, **OPTIONS).fit(chunked())
    assert leave.done


def test_a_result_that_never_comes_is_given_up(client):
    store = on_cluster.OnCluster(client, [], [], 1)
    never = client.submit(time.sleep, 3, pure=False)
    with dask.config.set({"dominantsets.round-timeout": 0.2}):
        assert store._gather([never]) == [None]
