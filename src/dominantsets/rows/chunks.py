"""Dask arrays: what becomes of them.

With a ``distributed.Client`` in sight the chunks stay on its workers, see
:mod:`dominantsets.rows.cluster`. Without one they are worked on in this process, a few at a time:
kept where they fit a quarter of the free memory, else read again in every round.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dominantsets._checks import memory_available, missing_extra
from dominantsets.rows.base import Here, Pieces
from dominantsets.rows.cluster import OnCluster, laid_out
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.sharded import ShardedLowRank
from dominantsets.similarity.sharded_graph import ShardedGraph
from dominantsets.similarity.sharded_kernel import ShardedKernel

LOW_RANK, KERNELS = ("sqeuclidean", "cosine", "linear"), ("rbf", "laplacian")
KNOWN = (*LOW_RANK, *KERNELS, "precomputed")


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, without importing Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def similarity_of(X: Any, affinity: Any, params: dict[str, Any]) -> Similarity:
    """The similarity of a Dask array; parameters are taken as checked."""
    X = _array(X, affinity)
    sparse = sp.issparse(X._meta)
    if affinity == "precomputed" and not sparse:
        raise ValueError(
            "a Dask array with affinity 'precomputed' must have blocks of scipy.sparse CSR rows (a graph); a "
            "dense n × n similarity does not scale: pass the features, with affinity='sqeuclidean' say."
        )
    if affinity == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"a precomputed graph must be square, got shape {X.shape}; if it holds sparse features, they "
            "have to be dense here."
        )
    if affinity != "precomputed" and sparse:
        raise ValueError(
            "sparse features in a Dask array are not supported; make the blocks dense with "
            "X.map_blocks(lambda block: block.toarray()), or pass a SciPy matrix."
        )
    pieces, present = pieces_of(X), _Presenter(X.chunks[0])
    if affinity == "precomputed":
        return ShardedGraph(pieces, present)
    if affinity in KERNELS:
        return ShardedKernel(pieces, present, affinity, params.get("gamma"))
    return ShardedLowRank(pieces, present, affinity, params.get("offset", _default_offset(affinity)))


def _default_offset(affinity: str) -> str | None:
    return "bound" if affinity == "sqeuclidean" else None


def _array(X: Any, affinity: Any) -> Any:
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
    if not isinstance(affinity, str) or affinity not in KNOWN:
        listed = ", ".join(repr(name) for name in KNOWN)
        raise ValueError(f"affinity={affinity!r} is not available for Dask arrays; choose one of {listed}.")
    if X.ndim != 2:
        raise ValueError(f"a Dask array must have 2 dimensions, one row an object, got {X.ndim}.")
    if np.isnan(X.shape).any():
        raise ValueError(
            "the chunks of the Dask array have unknown sizes; call X.compute_chunk_sizes() first."
        )
    if 0 in X.shape:
        raise ValueError(f"features of shape {X.shape} are empty: there is nothing to cluster.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"a Dask array must hold real numbers, got dtype {X.dtype}.")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def pieces_of(X: Any) -> Pieces:
    """The chunks of a Dask array: on the workers of the current client, or here."""
    client = _client()
    blocks = X.to_delayed().ravel().tolist()
    if client is not None:
        return OnCluster(client, blocks, X.chunks[0], X.shape[1])
    free = memory_available()
    kept = free is not None and X.nbytes < free / 4
    reads = [_Read(block, kept) for block in blocks]
    return Here(reads, X.chunks[0], X.shape[1], kept=kept)


def _client() -> Any:
    """The distributed client that is current here, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    try:
        return Client.current()
    except ValueError:
        return None


class _Presenter:
    """From an array with an entry for each object to a Dask array with the chunks of the input."""

    def __init__(self, chunks: tuple[int, ...]) -> None:
        self._chunks = chunks

    def __call__(self, array: NDArray[Any]) -> Any:
        import dask.array as da

        return da.from_array(array, chunks=(self._chunks,))


class _Read:
    """The rows of a block, computed in this process; kept where they fit."""

    def __init__(self, block: Any, kept: bool) -> None:
        self._block, self._kept = block, kept
        self._rows: Any = None

    def __call__(self) -> Any:
        if self._rows is not None:
            return self._rows
        rows = laid_out(self._block.compute(scheduler="synchronous"))
        if self._kept:
            self._rows = rows
        return rows
