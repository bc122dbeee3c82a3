"""Features on a device: rows as torch stores them, and how they get there."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import torch.utils.dlpack
from torch import Tensor

from dominantsets.compiled.threads import GRAIN, N_THREADS, parallel_map, thread_slices

STORED = (
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip
SENT = ("float16", "float32", "float64", "int8", "uint8", "bool")  # arrays of NumPy that may go to a device
STREAM_BYTES = 2**28  # of the host's rows that travel at once, where they do not fit the device
BUFFERS = 3  # of that size: one on the bus, one being filled, one between
READERS = 8  # threads that fill them: a bus takes what several cores copy
PART_BYTES = 2**20  # of rows, below which a thread of its own is not worth while
RESIDENT_SHARE = 0.7  # of a device's free memory that features may take


class Features:
    """Rows of features on a device, in the precision that they came in."""

    stored: Any = None  # all of them, where they are on the device
    n: int
    d: int

    def __init__(self, X: Tensor) -> None:
        self.stored = self._X = X
        self.n, self.d = X.shape
        self.device, self.dtype = X.device, X.dtype

    def blocks(self, height: int) -> Iterator[tuple[int, Tensor]]:
        """All rows in order, at most ``height`` at a time, with the number of the first."""
        for begin in range(0, self.n, height):
            yield begin, self._X[begin : begin + height]

    def take(self, objects: Tensor) -> Tensor:
        """The chosen rows."""
        return self._X[objects]

    def portable(self) -> Any:
        """The rows as they can be saved."""
        return self._X


class _Buffer:
    """Host memory that rows travel through to a device, filled by several threads; pinned for a card."""

    def __init__(self, height: int, like: Features, pool: Executor, threads: int, lane: Any) -> None:
        self._memory = torch.empty((height, like.d), dtype=like.dtype, pin_memory=lane is not None)
        self._pool, self._threads, self._lane, self._device = pool, threads, lane, like.device
        self._parts: list[Future[None]] = []
        self._copied: Any = None  # the event after which it may be filled again
        self._count = 0

    def fill(self, rows: np.ndarray[Any, Any]) -> None:
        """Begin to copy rows into it, once what it held before has been copied to the device."""
        there, copied, self._count = self._memory.numpy(), self._copied, len(rows)

        def copy(begin: int, end: int) -> None:
            if copied is not None:
                copied.synchronize()
            np.copyto(there[begin:end], rows[begin:end])

        parts = min(self._threads, max(1, rows.nbytes // PART_BYTES))
        ends = [len(rows) * k // parts for k in range(parts + 1)]
        self._parts = [self._pool.submit(copy, begin, end) for begin, end in pairwise(ends)]

    @property
    def filled(self) -> bool:
        return all(part.done() for part in self._parts)

    def send(self) -> Tensor:
        """The rows on the device, when they are all here; a card copies them while it does other work."""
        for part in self._parts:
            part.result()
        host = self._memory[: self._count]
        if self._lane is None:
            return host.to(self._device, copy=True)  # the rows must be the caller's own
        with torch.cuda.stream(self._lane):
            block = host.to(self._device, non_blocking=True)
            # threads that wait for it sleep
            self._copied = self._lane.record_event(torch.cuda.Event(blocking=True))
        now = torch.cuda.current_stream(self._device)
        now.wait_event(self._copied)
        block.record_stream(now)  # it was made on the lane, and may not be used again before this is done
        return block


class Streamed(Features):
    """Rows of a host array (a memmap) that do not fit the device.

    They come in blocks through a few buffers of pinned memory: while the device works on one block, the next
    is on the bus, and threads fill the buffers of those after it.
    """

    def __init__(self, X: np.ndarray[Any, Any], device: torch.device) -> None:
        self._rows = X
        self.n, self.d = X.shape
        self.device, self.dtype = device, torch.from_numpy(np.empty(0, dtype=X.dtype)).dtype

    def blocks(self, height: int) -> Iterator[tuple[int, Tensor]]:
        height = max(1, min(height, self.n, STREAM_BYTES // (self.d * self._rows.dtype.itemsize)))
        card = self.device.type == "cuda"
        lane = torch.cuda.Stream(self.device) if card else None
        begins, threads = list(range(0, self.n, height)), min(READERS, N_THREADS)
        with ThreadPoolExecutor(threads) as pool:
            buffers = [_Buffer(height, self, pool, threads, lane) for _ in begins[:BUFFERS]]

            def fill(number: int) -> None:
                if number < len(begins):
                    begin = begins[number]
                    buffers[number % BUFFERS].fill(self._rows[begin : begin + height])

            def send(number: int) -> Tensor:
                block = buffers[number % BUFFERS].send()
                fill(number + BUFFERS)
                return block

            for number in range(BUFFERS):
                fill(number)
            ahead: Tensor | None = None
            for number, begin in enumerate(begins):
                block = send(number) if ahead is None else ahead
                following = number + 1
                ready = following < len(begins) and buffers[following % BUFFERS].filled
                ahead = send(following) if ready else None
                yield begin, block

    def take(self, objects: Tensor) -> Tensor:
        chosen = objects.cpu().numpy()
        rows = np.empty((len(chosen), self.d), dtype=self._rows.dtype)

        def work(part: slice) -> None:
            # mode="raise" would make a copy more
            np.take(self._rows, chosen[part], axis=0, out=rows[part], mode="clip")

        parallel_map(work, thread_slices(len(chosen), max(1, GRAIN // self.d)))
        return torch.from_numpy(rows).to(self.device)

    def portable(self) -> Any:
        return self._rows


def from_dlpack(X: Any) -> Tensor:
    """A tensor with the memory of another library's array."""
    out: Tensor = torch.utils.dlpack.from_dlpack(X)
    return out


def chosen_device(device: Any) -> torch.device:
    """The device that is meant, if it is there."""
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device={device!r} is not a device; use 'cuda', 'cuda:0' or 'cpu'.") from error
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device={device!r} needs a CUDA device, and torch {torch.__version__} sees none; use "
            "device=None for the CPU path, or install a torch built for your driver."
        )
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"device={device!r} is not there: torch sees {torch.cuda.device_count()} device(s).")
    if chosen.type not in ("cuda", "cpu"):
        raise ValueError(f"device={device!r} is not supported: sums need float64; use 'cuda' or 'cpu'.")
    return chosen


def room_on(device: Any, of_host: float) -> float:
    """Bytes of features that may stay on a device; the host's own are given."""
    target = chosen_device(device)
    return RESIDENT_SHARE * float(torch.cuda.mem_get_info(target)[0]) if target.type == "cuda" else of_host


def load(X: Any, device: Any = None) -> Features:
    """Features where they are (a tensor), or brought to the device; checked but for their numbers."""
    if isinstance(X, Tensor):
        if device is not None and not _same(X.device, chosen_device(device)):
            raise ValueError(
                f"the features are on {X.device} and device={str(device)!r} names another one; move them "
                f"with X.to({str(device)!r}) or leave device out."
            )
        if X.layout is not torch.strided or X.dtype not in STORED:
            raise ValueError(
                f"features as a {X.dtype} {X.layout} tensor are not supported; use dense float16, bfloat16, "
                "float32, float64, int8, uint8 or bool."
            )
        _check_shape(X)
        chosen_device(X.device)
        X = X.detach().contiguous()
        return Features(X.view(torch.uint8) if X.dtype == torch.bool else X)  # codes of 0 and 1
    _check_shape(X)
    target = chosen_device(device)
    if str(X.dtype) not in SENT:
        raise ValueError(f"features of dtype {X.dtype} cannot go to a device; use {', '.join(SENT)}.")
    X = X.view(np.uint8) if X.dtype == np.bool_ else X
    if X.nbytes > room_on(target, 0.0 if isinstance(X, np.memmap) else np.inf):
        return Streamed(X, target)
    return Features(_brought(X, target))


def _brought(X: np.ndarray[Any, Any], device: torch.device) -> Tensor:
    """A copy on the device, made in blocks."""
    source = Streamed(X, device)
    with explain_oom(f"features of {X.nbytes / 1e9:,.1f} GB"):
        out = torch.empty(X.shape, dtype=source.dtype, device=device)
    for begin, block in source.blocks(X.shape[0]):
        out[begin : begin + len(block)] = block
    return out


def _same(one: torch.device, other: torch.device) -> bool:
    return one.type == other.type and (one.index is None or other.index is None or one.index == other.index)


def _check_shape(X: Any) -> None:
    if X.ndim != 2:
        raise ValueError(
            f"features must be 2-D, one row per object, got {X.ndim} dimension(s); reshape a single feature "
            "with X.reshape(-1, 1)."
        )
    if 0 in X.shape:
        raise ValueError(f"features of shape {tuple(X.shape)} are empty: there is nothing to cluster.")


@contextmanager
def explain_oom(purpose: str) -> Iterator[None]:
    """Say what did not fit where a device runs out of memory."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        free, total = torch.cuda.mem_get_info()
        raise MemoryError(
            f"{purpose} did not fit the device, which has {free / 1e9:,.1f} of {total / 1e9:,.1f} GB free; "
            "use fewer starts, store the features as float16, or pass a np.memmap with device='cuda', which "
            "streams them."
        ) from error
