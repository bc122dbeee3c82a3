"""Numbers on a device: how many at once, how they come and go, and blocks of rows that are there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dominantsets._typing import Ints
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.rows.base import Block
from dominantsets.rows.tensor_features import Features, explain_oom

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_room: dict[str, float] = {}  # how large blocks are where memory ran out, of their usual size
BLOCK_NUMBERS = {"cuda": 2**28, "cpu": 2**21}  # float64 numbers of one temporary
SMALLEST_ROOM = 2.0**-6  # of the usual size, below which blocks are not made
PIECE_BYTES = 2**25  # of a large result that come to the host at once
REMEMBERED = 4  # similarities of one set of rows of which measurements are kept


def allowed(numbers: dict[str, int], device: torch.device) -> int:
    """How many numbers may be held at once: as stated for a card of 128 GiB, fewer for smaller ones."""
    stated = numbers[device.type]
    if device.type != "cuda":
        return stated
    return int(stated * min(1.0, _memory_of(device) / 2**37) * _room.get(str(device), 1.0))


@cache
def _memory_of(device: torch.device) -> int:
    return int(torch.cuda.get_device_properties(device).total_memory)


def in_smaller_blocks(work: Callable[[], _T], device: torch.device, purpose: str) -> _T:
    """The result of work on a device; where memory runs out, done again in blocks of half the size.

    The device's blocks stay as small as they have become: who else uses it will not be gone soon.
    """
    while True:
        try:
            with explain_oom(purpose):
                return work()
        except MemoryError:
            room = _room.get(str(device), 1.0)
            if room <= SMALLEST_ROOM:
                raise
        _room[str(device)] = 0.5 * room  # outside the handler, which holds on to what did not fit
        _log.warning("%s did not fit %s: again in blocks of %.3g of their size.", purpose, device, 0.5 * room)
        torch.cuda.empty_cache()


@contextmanager
def fast_products(precision: str = "high") -> Iterator[None]:
    """float32 products in TF32 where the device has it; rounding is allowed for. "highest": not in TF32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def to_numpy_pinned(x: Tensor) -> Any:
    """A tensor as a NumPy array to copy from: through pinned memory, which torch keeps for the next time."""
    if x.device.type == "cpu":
        return to_numpy(x)
    out = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
    return to_numpy(out.copy_(x))


def to_numpy(x: Tensor) -> Any:
    """A tensor as a NumPy array on the host."""
    x = x.detach()
    return x.cpu().numpy() if x.device.type == "cpu" or x.nbytes <= PIECE_BYTES else in_pieces(x)


def in_pieces(x: Tensor) -> Any:
    """A large tensor on the host: through a little pinned memory, onto pages that several threads touch."""
    flat, piece = x.contiguous().view(-1), PIECE_BYTES // x.element_size()
    on_card = x.device.type == "cuda"
    staged = torch.empty(min(piece, flat.numel()), dtype=x.dtype, pin_memory=on_card)
    out = np.empty(flat.numel(), dtype=staged.numpy().dtype)
    for begin in range(0, flat.numel(), piece):
        here = flat[begin : begin + piece]
        host = staged[: len(here)].copy_(here).numpy()

        def work(part: slice, begin: int = begin, host: NDArray[Any] = host) -> None:
            np.copyto(out[begin + part.start : begin + part.stop], host[part])

        parallel_map(work, thread_slices(len(host)))
    return out.reshape(x.shape)


def sent_in_pieces(x: NDArray[Any], device: torch.device) -> Tensor:
    """A large array on a device: through a little pinned memory that several threads fill."""
    flat, piece = x.reshape(-1), PIECE_BYTES // x.itemsize
    kind, on_card = torch.from_numpy(flat[:0]).dtype, device.type == "cuda"
    out = torch.empty(flat.size, dtype=kind, device=device)
    staged = [torch.empty(min(piece, flat.size), dtype=kind, pin_memory=on_card) for _ in range(2)]
    copied: list[Any] = [None, None]  # events after which a buffer may be filled again
    for number, begin in enumerate(range(0, flat.size, piece)):
        here, turn = flat[begin : begin + piece], number % 2
        if copied[turn] is not None:
            copied[turn].synchronize()
        host = staged[turn][: here.size].numpy()

        def work(part: slice, here: NDArray[Any] = here, host: NDArray[Any] = host) -> None:
            np.copyto(host[part], here[part])

        parallel_map(work, thread_slices(here.size))
        out[begin : begin + here.size].copy_(staged[turn][: here.size], non_blocking=True)
        if on_card:
            copied[turn] = torch.cuda.current_stream(device).record_event()
    return out.view(x.shape)


class DeviceBlock(Block):
    """Consecutive objects with rows on a device: what the operations in torch work on."""

    def __init__(
        self, features: Features, begin: int = 0, again: Callable[[], Features] | None = None
    ) -> None:
        """``again`` reads the rows anew, where there is no room to keep them."""
        super().__init__(again or (lambda: features), begin, features.n, kept=again is None)
        self.n, self.d, self.device = features.n, features.d, features.device
        self._features = features if again is None else None
        self._measured: dict[str, Any] = {}

    @property
    def features(self) -> Features:
        """The rows; where there is no room to keep them, they are read for every operation."""
        return self._read() if self._features is None else self._features

    def measured(self, name: str, make: Callable[[], _T]) -> _T:
        """What was worked out under a name before; of the last few names."""
        if name not in self._measured:
            while len(self._measured) >= REMEMBERED:
                self._measured.pop(next(iter(self._measured)))
            self._measured[name] = make()
        found: _T = self._measured[name]
        return found

    def living(self) -> Tensor | None:
        """Which objects are alive, on the device; None where all are."""
        whole = bool(self.alive.all())
        return None if whole else self.recall("alive", self.token, lambda: self.send(self.alive))

    def height(self, columns: int) -> int:
        """Rows of a part with so many float64 numbers each."""
        return max(1, allowed(BLOCK_NUMBERS, self.device) // max(1, columns))

    def send(self, x: Any) -> Tensor:
        """A NumPy array, on the device."""
        x = np.ascontiguousarray(x)
        if self.device.type == "cuda" and x.nbytes > PIECE_BYTES:
            return sent_in_pieces(x, self.device)
        return torch.as_tensor(x, device=self.device)

    def at(self, objects: Ints) -> Tensor:
        """Where objects of this block stand in it, on the device."""
        return self.send(self.places(objects))

    def host(self, x: Tensor) -> NDArray[Any]:
        """A tensor, as a NumPy array."""
        out: NDArray[Any] = to_numpy(x)
        return out
