"""Rows on a device: a block of them, which answers in torch, and the store that is one such block."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.rows import tensor_operations
from dominantsets.rows.base import Block, Mixture, Recipe, Round, Rows
from dominantsets.rows.tensor_features import Features, explain_oom, load
from dominantsets.rows.tensor_points import TensorPoints

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_room: dict[str, float] = {}  # how large blocks are where memory ran out, of their usual size
BLOCK_NUMBERS = {"cuda": 2**28, "cpu": 2**21}  # float64 numbers of one temporary
SMALLEST_ROOM = 2.0**-6  # of the usual size, below which blocks are not made
PIECE_BYTES = 2**25  # of a large result that come to the host at once
LARGE_SAMPLE = {"cuda": 48_000, "cpu": 0}  # objects of a sample, where groups are hardly seen in fewer
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
def fast_products() -> Iterator[None]:
    """float32 products in TF32 where the device has it; rounding is allowed for."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
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


class TensorBlock(Block):
    """Consecutive objects with rows on a device: what the operations in torch are asked of."""

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

    def do(self, operation: Any, *arguments: Any) -> Any:
        function, name = in_torch(operation), getattr(operation, "__name__", operation)
        self._features = self.features
        try:
            work = partial(function, self, *arguments)
            return in_smaller_blocks(work, self.device, f"the operation {name!r}")
        finally:
            self._features = self._features if self.kept else None

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


def in_torch(operation: Any) -> Callable[..., Any]:
    """The form in torch of an operation: by its name, or where a function of another room says it is."""
    if isinstance(operation, str):
        return getattr(tensor_operations, operation)  # type: ignore[no-any-return]
    return getattr(import_module(operation.in_torch), operation.__name__)  # type: ignore[no-any-return]


class TensorRows(Rows):
    """Rows on a device: resident, or streamed from the host in blocks."""

    home = "tensors"
    describable = 2**17

    def __init__(self, X: Any, device: Any = None) -> None:
        with explain_oom("the features"):
            features = load(X, device)
        super().__init__([features.n], features.d)
        self.block = TensorBlock(features)
        self.features, self.device = features, features.device
        self.large_sample = LARGE_SAMPLE[self.device.type]

    def _replies(self, asked: Round) -> list[Any]:
        return [self.block.do(asked.operation, *asked.common, *asked.extras[0])]

    def send(self, x: Any) -> Tensor:
        """A NumPy array, on the device."""
        return self.block.send(x)

    def split(self, objects: Ints, *others: NDArray[Any]) -> list[tuple[Any, ...]]:
        return [(objects, *others)]  # in whatever order they are

    def fetch(self, objects: Ints, operation: Any, *common: Any) -> Floats:
        return np.asarray(self.ask(operation, *common, each=[(np.asarray(objects),)])[0])

    def mix_each(self, recipe: Recipe, sets: Sequence[tuple[Ints, Floats]]) -> list[Mixture]:
        """In one round."""
        found: list[Mixture] = self.ask("mix_each", recipe, sets)[0] if sets else []
        return found

    def solver(self, algorithm: str, only: str) -> str:
        if algorithm not in ("auto", only):
            raise ValueError(
                f"algorithm={algorithm!r} does not run on a device, where this affinity has {only!r}; leave "
                "it out, or pass a NumPy array without device=."
            )
        return only

    def brought(self, new: Any) -> Any:
        return to_numpy(new.double()) if isinstance(new, Tensor) else new

    def points(self, rows: Floats, extra: Floats) -> TensorPoints:
        return TensorPoints(rows, extra, self.device)

    def like(self, new: Any, in_memory: Callable[[Any], Rows]) -> Rows:
        return TensorRows(new) if isinstance(new, Tensor) else super().like(new, in_memory)

    def order_of(self, operation: Any, *common: Any) -> Callable[[Ints], Ints]:
        order = torch.sort(self.ask(f"{operation}_there", *common)[0], stable=True).indices
        return lambda ranks: np.asarray(to_numpy(order[self.send(ranks)]))

    def described(self, recipe: Recipe, objects: Ints, operation: str = "take") -> Tensor:
        """Chosen rows as the formula sees them; they stay on the device."""
        seen = tensor_operations.local if operation == "take" else tensor_operations.kernel
        rows: Tensor = seen(self.block, recipe).at(self.send(objects))
        return rows

    def scatter(self, recipe: Recipe, objects: Ints, scale: Floats) -> Floats:
        return np.asarray(self.ask("scatter", recipe, objects, scale)[0])

    def extreme(self, recipe: Recipe, limit: float) -> tuple[float, int, int] | None:
        if self.n > limit:
            return None
        here, best = tensor_operations.local(self.block, recipe), (-np.inf, 0, 0)
        for first, raw in self.features.blocks(self.block.height(3 * self.d + 4096)):
            P = here.lift(raw) / here.root
            for second, other in self.features.blocks(4096):
                Q = here.lift(other) / here.root
                values = P @ Q.T
                if recipe.formula.has_bias:
                    squares = torch.linalg.vecdot(P, P)[:, None] + torch.linalg.vecdot(Q, Q)[None, :]
                    values = squares - 2.0 * values
                else:
                    values = -values
                at = int(values.argmax())
                found = float(values.view(-1)[at]), first + at // len(Q), second + at % len(Q)
                best = max(best, found, key=lambda one: one[0])
        return best if recipe.formula.has_bias else (-best[0], *best[1:])

    def __reduce__(self) -> Any:
        return TensorRows, (self.features.portable(), str(self.device))
