"""How work is cut into parts, and that parts come back in order."""

from __future__ import annotations

import os
import threading

import pytest

from dominantsets.compiled import threads


@pytest.mark.parametrize("n", [0, 1, 9, 10, 19, 20, 21, 35, 1000])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_slices_are_as_many_as_threads_and_none_is_small(n, n_threads, monkeypatch):
    monkeypatch.setattr(threads, "N_THREADS", n_threads)
    parts = threads.thread_slices(n, grain=10)
    assert [k for part in parts for k in range(part.start, part.stop)] == list(range(n))
    sizes = [part.stop - part.start for part in parts]
    assert len(parts) == (min(n_threads, n // 10) or 1)
    assert max(sizes) - min(sizes) <= 1
    with threads.single_threaded():
        assert threads.thread_slices(n, grain=10) == [slice(0, n)]
        with threads.single_threaded():
            pass
        assert threads.thread_slices(n, grain=10) == [slice(0, n)]  # what is within does not end it
    assert threads.thread_slices(n, grain=10) == parts


def test_a_grain_is_what_a_thread_is_worth(monkeypatch):
    monkeypatch.setattr(threads, "N_THREADS", 2)
    assert len(threads.thread_slices(2 * threads.GRAIN - 1)) == 1
    assert len(threads.thread_slices(2 * threads.GRAIN)) == 2


def test_a_new_thread_may_split_its_work(monkeypatch):
    monkeypatch.setattr(threads, "N_THREADS", 3)
    found = []
    other = threading.Thread(target=lambda: found.append(len(threads.thread_slices(300, grain=10))))
    other.start()
    other.join()
    assert found == [3]


def test_results_come_in_the_order_of_the_parts(monkeypatch):
    monkeypatch.setattr(threads, "N_THREADS", 3)
    monkeypatch.setattr(threads, "_pools", {})
    parts = threads.thread_slices(300, grain=10)
    meeting = threading.Barrier(3, timeout=20)

    def work(part):
        meeting.wait()  # ends only where all three are worked on at once
        return part.start, threading.current_thread() is threading.main_thread()

    assert threads.parallel_map(work, parts) == [(part.start, False) for part in parts]
    here = threads._pools[os.getpid()]
    assert threads._pool() is here  # kept
    monkeypatch.setattr(os, "getpid", lambda: -1)  # as after a fork, where its threads are gone
    assert threads._pool() is not here
    assert list(threads._pools) == [-1]
    threads._pool().shutdown()
    here.shutdown()
    # one part is worked on by whoever asks
    assert threads.parallel_map(lambda part: threading.current_thread(), [slice(0, 1)]) == [
        threading.current_thread()
    ]


@pytest.mark.parametrize(
    ("n", "bytes_a_row", "budget"), [(10, 1, 3), (10, 2, 3), (9, 5, 3), (4, 0, 3), (0, 1, 3)]
)
def test_blocks_of_rows_fit_their_budget(n, bytes_a_row, budget):
    blocks = list(threads.row_blocks(n, bytes_a_row, budget))
    assert [k for block in blocks for k in range(block.start, block.stop)] == list(range(n))
    largest = max(1, budget // max(1, bytes_a_row))
    assert all(block.stop - block.start == largest for block in blocks[:-1])
    assert all(0 < block.stop - block.start <= largest for block in blocks)
