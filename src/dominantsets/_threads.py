"""Parts of long compiled work, on as many threads as Numba may use."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar

from numba.core import config

GRAIN = 2**16  # entries below which a part is not worth a thread

N_THREADS: int = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
_T = TypeVar("_T")
_pools: dict[int, ThreadPoolExecutor] = {}  # by process: threads do not survive a fork


_here = threading.local()


@contextmanager
def alone() -> Iterator[None]:
    """Within, work of this thread is not split: others work beside it, or sums must not depend on them."""
    before = getattr(_here, "alone", False)
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = before


def split(n: int, grain: int = GRAIN) -> list[slice]:
    """Consecutive slices of range(n), one a thread, fewer where they would be small."""
    parts = 1 if getattr(_here, "alone", False) else max(1, min(N_THREADS, n // grain))
    ends = [n * k // parts for k in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


def each(work: Callable[[slice], _T], parts: list[slice]) -> list[_T]:
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
