"""Features on a device, as torch holds them: stored rows, and how they get there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
import torch.utils.dlpack
from numpy.typing import NDArray
from torch import Tensor

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.rows import tensor_operations
from dominantsets.rows.base import Mixture, Recipe, Round, Rows
from dominantsets.rows.tensor_points import TensorPoints

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_room: dict[str, float] = {}  # how large blocks are where memory ran out, of their usual size
BLOCK_NUMBERS = {"cuda": 2**28, "cpu": 2**21}  # float64 numbers of one temporary
STORED = (
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip
SENT = ("float16", "float32", "float64", "int8", "uint8", "bool")  # arrays of NumPy that may go to a device
SMALLEST_ROOM = 2.0**-6  # of the usual size, below which blocks are not made
PIECE_BYTES = 2**25  # of a large result that come to the host at once
STREAM_BYTES = 2**28  # of the host's rows that travel at once, where they do not fit the device
LARGE_SAMPLE = {"cuda": 48_000, "cpu": 0}  # objects of a sample, where groups are hardly seen in fewer
REMEMBERED = 4  # similarities of one set of rows of which measurements are kept
RESIDENT_SHARE = 0.7  # of a device's free memory that features may take


def allowed(numbers: dict[str, int], device: torch.device) -> int:
    """How many numbers may be held at once: as stated for a card of 128 GiB, fewer for smaller ones."""
    stated = numbers[device.type]
    if device.type != "cuda":
        return stated
    total = torch.cuda.get_device_properties(device).total_memory
    return int(stated * min(1.0, total / 2**37) * _room.get(str(device), 1.0))


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


class Features:
    """Rows of features on a device, in the precision that they came in."""

    stored: Any = None  # all of them, where they are on the device

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


class Streamed(Features):
    """Rows of a host array (a memmap) that do not fit the device.

    They come in blocks through pinned memory; the next block is read while the device works on this one.
    """

    def __init__(self, X: np.ndarray[Any, Any], device: torch.device) -> None:
        self._rows = X
        self.n, self.d = X.shape
        self.device, self.dtype = device, torch.from_numpy(np.empty(0, dtype=X.dtype)).dtype

    def blocks(self, height: int) -> Iterator[tuple[int, Tensor]]:
        height = max(1, min(height, self.n, STREAM_BYTES // (self.d * self._rows.dtype.itemsize)))
        pinned = self.device.type == "cuda"
        buffers = [torch.empty((height, self.d), dtype=self.dtype, pin_memory=pinned) for _ in range(2)]

        def read(begin: int, buffer: Tensor) -> Tensor:
            end = min(self.n, begin + height)
            np.copyto(buffer.numpy()[: end - begin], self._rows[begin:end])
            return buffer[: end - begin]

        with ThreadPoolExecutor(1) as reader:
            waiting = reader.submit(read, 0, buffers[0])
            for number, begin in enumerate(range(0, self.n, height)):
                host = waiting.result()
                if begin + height < self.n:
                    waiting = reader.submit(read, begin + height, buffers[(number + 1) % 2])
                # blocking: the buffer is free when it is read into again. On a CPU the rows must be ours.
                yield begin, host.to(self.device, copy=True)

    def take(self, objects: Tensor) -> Tensor:
        rows = np.asarray(self._rows[objects.cpu().numpy()])
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
    if target.type == "cuda":
        free = torch.cuda.mem_get_info(target)[0]
        if X.nbytes > RESIDENT_SHARE * free:
            return Streamed(X, target)
    elif isinstance(X, np.memmap):
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


class TensorRows(Rows):
    """Rows on a device: resident, or streamed from the host in blocks."""

    home = "tensors"
    describable = 2**17

    def __init__(self, X: Any, device: Any = None) -> None:
        with explain_oom("the features"):
            self.features = load(X, device)
        super().__init__([self.features.n], self.features.d)
        self.device = self.features.device
        self.large_sample = LARGE_SAMPLE[self.device.type]
        self._memo: dict[str, Any] = {}

    def recall(self, name: str, make: Callable[[], Any]) -> Any:
        """What was worked out under a name before; of the last few names."""
        if name not in self._memo:
            while len(self._memo) >= REMEMBERED:
                self._memo.pop(next(iter(self._memo)))
            self._memo[name] = make()
        return self._memo[name]

    def _replies(self, asked: Round) -> list[Any]:
        operation = getattr(tensor_operations, asked.operation)

        def work() -> list[Any]:
            return [operation(self, *asked.common, *asked.extras[0])]

        return in_smaller_blocks(work, self.device, f"the operation {asked.operation!r}")

    def height(self, columns: int) -> int:
        """Rows of a block with so many float64 numbers each."""
        return max(1, allowed(BLOCK_NUMBERS, self.device) // max(1, columns))

    def send(self, x: Any) -> Tensor:
        """A NumPy array, on the device."""
        return torch.as_tensor(np.ascontiguousarray(x), device=self.device)

    def host(self, x: Tensor) -> NDArray[Any]:
        """A tensor, as a NumPy array."""
        out: NDArray[Any] = to_numpy(x)
        return out

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
        return lambda ranks: np.asarray(self.host(order[self.send(ranks)]))

    def described(self, recipe: Recipe, objects: Ints, operation: str = "take") -> Tensor:
        """Chosen rows as the formula sees them; they stay on the device."""
        seen = tensor_operations.local if operation == "take" else tensor_operations.kernel
        rows: Tensor = seen(self, recipe).at(self.send(objects))
        return rows

    def scatter(self, recipe: Recipe, objects: Ints, scale: Floats) -> Floats:
        return np.asarray(self.ask("scatter", recipe, objects, scale)[0])

    def extreme(self, recipe: Recipe, limit: float) -> tuple[float, int, int] | None:
        if self.n > limit:
            return None
        here, best = tensor_operations.local(self, recipe), (-np.inf, 0, 0)
        for first, raw in self.features.blocks(self.height(3 * self.d + 4096)):
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
