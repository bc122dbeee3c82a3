"""Parts of long compiled work, on as many threads as Numba may use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

from numba.core import config
from threadpoolctl import ThreadpoolController

WORK_BYTES = 2**25  # a temporary of a blocked operation; large enough for BLAS, small beside the data
GRAIN = 2**16  # entries below which a part is not worth a thread

N_THREADS: int = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
_T = TypeVar("_T")
_pools: dict[int, ThreadPoolExecutor] = {}  # by process: threads do not survive a fork


_here = threading.local()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Within, this thread's work is not split: others are busy, or sums must not depend on their number."""
    before = getattr(_here, "alone", False)
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = before


def thread_slices(n: int, grain: int = GRAIN) -> list[slice]:
    """Consecutive slices of range(n), one per thread, fewer where they would be small."""
    parts = 1 if getattr(_here, "alone", False) else max(1, min(N_THREADS, n // grain))
    ends = [n * k // parts for k in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


def parallel_map(work: Callable[[slice], _T], parts: list[slice]) -> list[_T]:
    """The results of a function that releases the GIL, for every part, in order."""
    if len(parts) == 1:
        return [work(parts[0])]
    return list(_pool().map(work, parts))


def _pool() -> ThreadPoolExecutor:
    here = os.getpid()
    if here not in _pools:
        _pools.clear()
        _pools[here] = ThreadPoolExecutor(N_THREADS, "dominantsets")
    return _pools[here]


@cache
def blas() -> Any:
    """Looks for the libraries that have threads of their own, once."""
    return ThreadpoolController()


def row_blocks(n: int, bytes_a_row: int, budget: int = WORK_BYTES) -> Iterator[slice]:
    """Consecutive slices of range(n), each with rows that together fit the budget."""
    size = max(1, budget // max(1, bytes_a_row))
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))
