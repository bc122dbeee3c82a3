"""Rows of Dask arrays: in their chunks, in this process or on the workers of a cluster.

With a current ``distributed.Client`` the chunks stay on its workers, see :mod:`dominantsets.rows.cluster`.
Without one they are worked on in this process, a few at a time: kept where they fit a quarter of the free
memory (or the device), else read again in every round. A chunk that is a tensor, and any chunk where a device
is named, becomes a block on that device; it is asked the same, and answers in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dominantsets._checks import missing_extra
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import N_THREADS
from dominantsets.rows.base import Block, Job, Round, Rows, answer, side_by_side
from dominantsets.rows.foreign import is_tensor, shared, torch_needed
from dominantsets.rows.memory import HostBlock

KEPT_ROWS = 20_000  # rows of a kernel's working sets that stay here


def laid_out(block: Any) -> Any:
    """A chunk as the compiled sums need it: float32 or float64, rows one after another, or CSR."""
    wanted = np.float32 if block.dtype in (np.float16, np.float32) else np.float64
    if sp.issparse(block):
        A = sp.csr_array(block)
        A = A if A.dtype == wanted else A.astype(wanted)
        if not A.has_canonical_format:
            A = A.copy()
            A.sum_duplicates()
        return A
    return np.ascontiguousarray(np.asarray(block), dtype=wanted)


def block_of(
    read: Callable[[], Any], begin: int, size: int, device: str | None, *, kept: bool = True
) -> Block:
    """A block of the rows that ``read`` gives, on a device where one is named or where they are a tensor."""
    first = shared(read())
    if device is None and not is_tensor(first):
        rows = laid_out(first) if kept else None
        again = (lambda: rows) if kept else (lambda: laid_out(shared(read())))
        return HostBlock(again, begin, size, kept=kept)
    with torch_needed():
        from dominantsets.rows.tensor_features import SENT, load
        from dominantsets.rows.tensors import TensorBlock

    def brought(chunk: Any) -> Any:
        ready = is_tensor(chunk) or str(chunk.dtype) in SENT
        return load(chunk if ready else laid_out(chunk), device)

    return TensorBlock(brought(first), begin, None if kept else lambda: brought(shared(read())))


class ChunkRows(Rows):
    """Rows in chunks, in this process or on workers; ``where`` is the device that they are brought to."""

    home = "chunks"
    describable = 20_000

    stored_again: Callable[..., ChunkRows]  # how a copy is made where it is loaded, see ``from_dask``

    def __init__(self, chunks: Sequence[Any], sizes: Sequence[int], d: int, where: str | None = None) -> None:
        super().__init__(sizes, d)
        self._where = where
        self.chunk_sizes = tuple(int(size) for size in sizes)
        self._chunks = [chunk for chunk, size in zip(chunks, sizes, strict=True) if size]
        self._known: dict[str, dict[int, Floats]] = {}

    def __reduce__(self) -> Any:
        return self.stored_again, (self._chunks, self.sizes.tolist(), self.d, self._where)

    def fetch(self, objects: Ints, operation: Any, *common: Any) -> Floats:
        if operation != "kernel_take":
            return super().fetch(objects, operation, *common)
        # a solver asks for the rows of its working set again and again
        recipe = common[0]
        known = self._known.get(recipe.name, {})
        missing = np.array([i for i in np.asarray(objects).tolist() if i not in known], dtype=np.int64)
        if missing.size > KEPT_ROWS:
            return super().fetch(objects, operation, *common)
        if len(known) + missing.size > 2 * KEPT_ROWS:
            known, missing = {}, np.unique(objects)
        if missing.size:
            found = super().fetch(missing, operation, *common)
            known.update(zip(missing.tolist(), found, strict=True))
        self._known[recipe.name] = known
        return np.array([known[i] for i in np.asarray(objects).tolist()]).reshape(-1, self.d)

    def solver(self, algorithm: str, only: str) -> str:
        if algorithm not in ("auto", only):
            raise ValueError(
                f"algorithm={algorithm!r} needs columns of the whole similarity, which Dask arrays do not "
                f"give; use {only!r} (or 'auto') here."
            )
        return only

    def kernel_solver(self, algorithm: str, best: str, start: Any) -> str:
        if (isinstance(start, str) and start == "barycenter") or np.ndim(start) > 0:
            raise ValueError(
                "a start of many objects costs all pairs of them under a kernel; for Dask arrays use "
                "start='vertex' or an object's number."
            )
        return self.solver(algorithm, best)

    def as_given(self, per_object: NDArray[Any]) -> Any:
        """A Dask array with the chunks of the input."""
        return in_chunks(per_object, self.chunk_sizes)

    def brought(self, new: Any) -> Any:
        return computed(new) if hasattr(new, "compute") else new


class InProcess(ChunkRows):
    """Chunks in this process, a few at a time."""

    def __init__(
        self, chunks: Sequence[Any], sizes: Sequence[int], d: int, where: str | None = None, *, kept: bool
    ) -> None:
        super().__init__(chunks, sizes, d, where)
        self._kept = kept
        self._blocks: dict[int, Block] = {}

    def _replies(self, asked: Round) -> list[Any]:
        mask = asked.mask

        def work(job: tuple[int, tuple[Any, ...]]) -> Any:
            index, extra = job
            block, token, bits = self._block(index), None, None
            if mask is not None:
                token = mask.token(index)
                bits = None if block.token == token else mask.bits(block.begin, block.size)
            return answer(block, asked.operation, asked.common, Job(index, token, bits, extra))

        return side_by_side(work, list(zip(asked.indices, asked.extras, strict=True)), N_THREADS)

    def _block(self, index: int) -> Block:
        """A block, made when it is first asked: its chunk says what it is."""
        if index not in self._blocks:
            chunk, begin, size = self._chunks[index], int(self.begins[index]), int(self.sizes[index])
            self._blocks[index] = block_of(
                lambda: chunk.compute(scheduler="synchronous"), begin, size, self._where, kept=self._kept
            )
        return self._blocks[index]


def in_chunks(per_object: NDArray[Any], sizes: tuple[int, ...]) -> Any:
    """An array with an entry for each object, as a Dask array."""
    import dask.array as da  # only where there is Dask

    return da.from_array(per_object, chunks=(sizes,))


def computed(X: Any) -> NDArray[Any]:
    """The rows of a Dask array, brought to this process."""
    from dask.base import compute

    chunks = [shared(chunk) for chunk in compute(*array_of(X).to_delayed().ravel())]
    return np.concatenate([chunk.cpu().double().numpy() if is_tensor(chunk) else chunk for chunk in chunks])


def read_later(
    read: Callable[..., Any], pieces: Sequence[tuple[tuple[Any, ...], tuple[int, int], str]]
) -> Any:
    """A Dask array of rows that are read when asked for: arguments, shape and type of each piece."""
    try:
        import dask.array as da
        from dask.delayed import delayed
    except ModuleNotFoundError as error:
        raise missing_extra("Parquet files larger than memory need", "dask", "dask") from error
    parts = [
        da.from_delayed(delayed(read, pure=True)(*arguments), shape, dtype=dtype)
        for arguments, shape, dtype in pieces
    ]
    rows: Any = da.concatenate(parts)
    return rows


def array_of(X: Any) -> Any:
    """A 2-D array of numbers with known chunks, whole rows in each."""
    try:
        import dask.array as da
    except ModuleNotFoundError as error:
        raise missing_extra("Dask arrays need", "dask", "dask") from error

    if not isinstance(X, da.Array):
        raise ValueError(
            f"a Dask {type(X).__name__} cannot be clustered as it is; make it an array with known chunks: "
            "X.to_dask_array(lengths=True)."
        )
    if X.ndim != 2:
        raise ValueError(f"a Dask array must have 2 dimensions, one row per object, got {X.ndim}.")
    if np.isnan(X.shape).any():
        raise ValueError(
            "the chunks of the Dask array have unknown sizes; call X.compute_chunk_sizes() first."
        )
    if 0 in X.shape:
        raise ValueError(f"features of shape {X.shape} are empty: there is nothing to cluster.")
    if getattr(X.dtype, "kind", "f") not in "biuf":  # those of tensors are looked at where the chunks are
        raise ValueError(f"a Dask array must hold real numbers, got dtype {X.dtype}.")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
