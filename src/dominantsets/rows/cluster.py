"""Chunks of Dask arrays on the workers of a ``distributed.Client``: a round is one task per worker.

A worker keeps the blocks it was given in a table of its own, so that a task needs no chunk sent along. What
it keeps can be made again: where a worker is lost, its task runs elsewhere and finds blocks missing;
these are loaded by another worker from the array's own graph, with the mask that the client has. Results are
put together in the order of the chunks, so that nothing depends on which worker computed what.
"""

from __future__ import annotations

import pickle
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from dominantsets.compiled.interrupts import check
from dominantsets.rows.base import Block, Job, Mask, Round, answer, side_by_side
from dominantsets.rows.chunks import ChunkRows, block_of

ATTEMPTS = 6  # rounds that are tried again before the cluster is given up
ROUND_TIMEOUT = 600.0  # seconds; dask.config "dominantsets.round-timeout"
GLANCE = 0.2  # seconds between checks for Ctrl-C, and that the workers are still there
FULL = 1.25  # of its fair share of the rows: what a worker is given because it has them already


# On a worker: the blocks it holds, by run.
_held: dict[str, dict[int, Block]] = {}
_door = threading.Lock()


class _Place(NamedTuple):
    block: int
    begin: int
    size: int


class _Answers(NamedTuple):
    """A worker's results; blocks that it does not have, or that have an old mask, are missing.

    Pickled here, into one string of bytes: Dask sends every array on its own, and hundreds of small
    ones took ten times as long.
    """

    results: bytes
    missing: list[int]


def _hold(run: str, device: str | None, places: list[_Place], *chunks: Any) -> str:
    """On a worker: keep blocks; their rows are arguments of this task."""
    for place, chunk in zip(places, chunks, strict=True):
        block = block_of(partial(_itself, chunk), place.begin, place.size, device)
        with _door:
            _held.setdefault(run, {})[place.block] = block
    return _address()


def _itself(chunk: Any) -> Any:
    return chunk


def _work(run: str, asked: bytes) -> _Answers:
    """On a worker: one task for all its blocks, side by side on its threads."""
    operation: Any
    common: tuple[Any, ...]
    jobs: list[Job]
    operation, common, jobs = pickle.loads(asked)
    with _door:
        mine = dict(_held.get(run, {}))

    def one(job: Job) -> Any:
        return answer(mine[job.block], operation, common, job) if job.block in mine else None

    results = side_by_side(one, jobs, _n_threads())
    found = {job.block: result for job, result in zip(jobs, results, strict=True) if result is not None}
    return _Answers(pickle.dumps(found, protocol=5), [job.block for job in jobs if job.block not in found])


def _forget(run: str, indices: list[int] | None = None) -> bool:
    """On a worker: let go of a run, or of some of its blocks."""
    with _door:
        if indices is None:
            _held.pop(run, None)
        else:
            for index in indices:
                _held.get(run, {}).pop(index, None)
    return True


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _n_threads() -> int:
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def _release(futures: Iterable[Any]) -> None:
    """Give futures up now, not when they are collected: Python drops a Ctrl-C that comes in ``__del__``."""
    for future in futures:
        future.release()


def _let_go(client: Any, run: str, homes: dict[int, str]) -> None:
    """Ask the workers to drop what they keep for a run, without waiting for them."""
    if getattr(client, "status", None) != "running":
        return
    from distributed import fire_and_forget

    for worker in set(homes.values()):
        key = f"dominantsets-forget-{uuid.uuid4().hex}"
        fire_and_forget(
            client.submit(_forget, run, key=key, workers=[worker], allow_other_workers=True, pure=False)
        )


def _are_done(futures: list[Any], deadline: float) -> bool:
    """Whether all are done, after a glance at most; Ctrl-C ends the wait."""
    from distributed import wait

    check()
    try:
        wait(futures, timeout=max(0.0, min(GLANCE, deadline - time.monotonic())))
    except TimeoutError:
        return False
    return True


class OnCluster(ChunkRows):
    """Chunks on the workers of a ``distributed.Client``."""

    def __init__(
        self, client: Any, chunks: Sequence[Any], sizes: Sequence[int], d: int, where: str | None = None
    ) -> None:
        super().__init__(chunks, sizes, d, where)
        if where is not None and ":" in where:
            raise ValueError(
                f"device={where!r} names one device, and every worker has its own; use "
                f"{where.partition(':')[0]!r} with a Dask cluster."
            )
        self._client = client
        self._run = uuid.uuid4().hex
        self._homes: dict[int, str] = {}  # the worker of each block
        self._told: dict[int, object] = {}  # the mask that it has
        self._shunned: set[str] = set()  # workers that did not answer in time
        weakref.finalize(self, _let_go, client, self._run, self._homes)

    @property
    def _timeout(self) -> float:
        import dask

        return float(dask.config.get("dominantsets.round-timeout", ROUND_TIMEOUT))

    def _replies(self, asked: Round) -> list[Any]:
        operation, indices = asked.operation, asked.indices
        extra = dict(zip(indices, asked.extras, strict=True))
        results: dict[int, Any] = {}
        for _ in range(ATTEMPTS):
            left = [index for index in indices if index not in results]
            if not left:
                break
            self._settle([index for index in left if index not in self._homes])
            by_worker: dict[str, list[Job]] = {}
            for index in left:
                if index in self._homes:
                    by_worker.setdefault(self._homes[index], []).append(
                        self._job(index, asked.mask, extra[index])
                    )
            tasks = {
                worker: (self._run, pickle.dumps((operation, asked.common, jobs), protocol=5))
                for worker, jobs in by_worker.items()
            }
            for worker, answers in self._submit(_work, tasks).items():
                if answers is None:  # late, or lost: its blocks are looked for elsewhere
                    self._lose([job.block for job in by_worker[worker]])
                    continue
                found = pickle.loads(answers.results)
                results.update(found)
                self._lose(answers.missing)
                self._told.update(
                    (job.block, job.token)
                    for job in by_worker[worker]
                    if job.block in found and job.token is not None
                )
        missing = [index for index in indices if index not in results]
        if missing:
            raise RuntimeError(
                f"{len(missing)} of {len(self)} chunks could not be worked on in {ATTEMPTS} attempts: "
                "workers were lost, or did not answer in time (dask.config 'dominantsets.round-timeout')."
            )
        return [results[index] for index in indices]

    def _job(self, index: int, mask: Mask | None, extra: tuple[Any, ...]) -> Job:
        if mask is None:
            return Job(index, None, None, extra)
        token, bits = mask.token(index), None
        if self._told.get(index) != token:
            bits = mask.bits(int(self.begins[index]), int(self.sizes[index]))
        return Job(index, token, bits, extra)

    def _lose(self, indices: list[int]) -> None:
        for index in indices:
            self._homes.pop(index, None)
            self._told.pop(index, None)

    def _submit(self, function: Callable[..., Any], tasks: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        """One task per worker; None for those that came too late or were lost on the way.

        Where a worker is lost, the scheduler runs a task on another one, which finds nothing.
        """
        from distributed import KilledWorker

        futures = {
            worker: self._client.submit(
                function,
                *arguments,
                key=f"dominantsets-{uuid.uuid4().hex}",
                workers=[worker],
                allow_other_workers=True,
                pure=False,
            )
            for worker, arguments in tasks.items()
        }
        try:
            self._wait(futures)
            done = {worker: future for worker, future in futures.items() if future.status == "finished"}
            for future in futures.values():
                if future.status == "error" and not isinstance(future.exception(), KilledWorker):
                    future.result()  # a mistake of ours or of the data, not of the cluster
            answers = dict(zip(done, self._gather(list(done.values())), strict=True))
        finally:  # also on Ctrl-C: nothing of ours stays behind
            late = [future for future in futures.values() if not future.done()]
            if late:
                self._client.cancel(late, force=True)
            _release(futures.values())
        return {worker: answers.get(worker) for worker in futures}

    def _wait(self, futures: dict[str, Any]) -> None:
        """Wait until all tasks are done, their workers are lost, or it is too late.

        A task of a lost worker runs on another one, unless there was no other at that moment.
        """
        deadline = time.monotonic() + self._timeout
        while not _are_done(list(futures.values()), deadline):
            waiting = {worker for worker, future in futures.items() if not future.done()}
            if not waiting & set(self._client.nthreads()):
                return
            if time.monotonic() >= deadline:
                self._shunned |= waiting
                return

    def _gather(self, futures: list[Any]) -> list[Any]:
        """Results that are there; a worker may be lost before the result of a finished task has arrived.

        Dask would then wait for another one, for ever where there is none.
        """
        from concurrent.futures import CancelledError

        try:
            found = self._client.sync(
                lambda: self._client.gather(futures, asynchronous=True), callback_timeout=self._timeout
            )
            return list(found)
        except (CancelledError, KeyError, OSError):
            return [None] * len(futures)

    def _settle(self, indices: list[int]) -> None:
        """Assign blocks to workers, if possible to those that have their rows, which then keep them."""
        if not indices:
            return
        from dask.graph_manipulation import clone

        workers = self._workers()  # without one, nothing would ever be computed
        wanted, only = [self._chunks[index] for index in indices], {}
        if self._shunned:
            # Under keys of their own: under the old ones the scheduler may know them to be on a worker that
            # hangs, and whoever is to hold them would wait for it in vain, and be shunned too.
            wanted, only = list(clone(*wanted)), {"workers": workers}
        chunks = self._client.compute(wanted, **only)
        deadline = time.monotonic() + self._timeout
        while not _are_done(chunks, deadline):
            if time.monotonic() >= deadline:
                return
        for chunk in chunks:
            if chunk.status != "finished":
                chunk.result()  # the data themselves cannot be had
        has = self._client.who_has(chunks)
        holders = [list(has.get(chunk.key, ())) for chunk in chunks]
        groups = self._shares(indices, holders)
        tasks = {}
        for worker, mine in groups.items():
            places = [
                _Place(indices[k], int(self.begins[indices[k]]), int(self.sizes[indices[k]])) for k in mine
            ]
            tasks[worker] = (self._run, self._where, places, *(chunks[k] for k in mine))
        for worker, address in self._submit(_hold, tasks).items():
            if address is not None:
                self._homes.update({indices[k]: address for k in groups[worker]})
        _release(chunks)

    def _shares(self, indices: list[int], holders: list[list[str]]) -> dict[str, list[int]]:
        """Which worker gets which of the blocks: one that has its rows, unless it has many already."""
        workers = self._workers()
        load = dict.fromkeys(workers, 0)
        for index, worker in self._homes.items():
            if worker in load:
                load[worker] += int(self.sizes[index])
        fair = FULL * self.n / len(workers)
        groups: dict[str, list[int]] = {}
        for k, index in enumerate(indices):
            size = int(self.sizes[index])
            near = [w for w in holders[k] if w in load and (load[w] == 0 or load[w] + size <= fair)]
            worker = min(near or workers, key=lambda w: load[w])
            load[worker] += size
            groups.setdefault(worker, []).append(k)
        return groups

    def _workers(self) -> list[str]:
        """Workers that are there, in a fixed order; those that were late only where there are no others."""
        workers = sorted(self._client.nthreads())
        if not workers:
            try:
                self._client.wait_for_workers(1, timeout=self._timeout)
            except TimeoutError as error:
                raise RuntimeError(
                    f"there is no worker any more, and none came within {self._timeout:g} s (dask.config "
                    "'dominantsets.round-timeout'); start one and fit again, or name a checkpoint before."
                ) from error
            workers = sorted(self._client.nthreads())
        return [worker for worker in workers if worker not in self._shunned] or workers

    def balance(self) -> None:
        """Workers that have nothing yet take over blocks of those that have several."""
        workers = self._workers()
        idle = [worker for worker in workers if worker not in self._homes.values()]
        if not idle or not self._homes:
            return
        by_worker: dict[str, list[int]] = {}
        for index, worker in sorted(self._homes.items()):
            by_worker.setdefault(worker, []).append(index)
        fair = self.n / len(workers)
        moved: dict[str, list[int]] = {}
        for worker, indices in by_worker.items():
            load = sum(int(self.sizes[index]) for index in indices)
            while len(indices) > 1 and load - int(self.sizes[indices[-1]]) >= 0.75 * fair:
                index = indices.pop()
                load -= int(self.sizes[index])
                moved.setdefault(worker, []).append(index)
        for worker, indices in moved.items():
            self._submit(_forget, {worker: (self._run, indices)})
            self._lose(indices)
        self._settle([index for indices in moved.values() for index in indices])
