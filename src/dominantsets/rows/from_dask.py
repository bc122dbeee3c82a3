"""From a Dask array to rows in chunks: on the workers of the current client, or in this process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import scipy.sparse as sp

from dominantsets._checks import memory_available
from dominantsets.rows.chunks import ChunkRows, InProcess, array_of
from dominantsets.rows.foreign import torch_needed

KEPT_SHARE = 0.25  # of the free memory that all chunks together may take


def rows_of_dask(X: Any, graph: bool, device: Any = None) -> ChunkRows:
    """The rows of a Dask array of features, or of a graph in blocks of CSR rows."""
    X = array_of(X)
    sparse = sp.issparse(X._meta)
    if graph and device is not None:
        raise ValueError(f"a graph stays on the host: leave out device={str(device)!r}.")
    if graph and not sparse:
        raise ValueError(
            "a Dask array with affinity 'precomputed' must have blocks of scipy.sparse CSR rows (a graph); a "
            "dense n × n similarity does not scale: pass the features, with affinity='sqeuclidean' say."
        )
    if graph and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"a precomputed graph must be square, got shape {X.shape}; if it holds sparse features, they "
            "have to be dense here."
        )
    if sparse and not graph:
        raise ValueError(
            "sparse features in a Dask array are not supported; make the blocks dense with "
            "X.map_blocks(lambda block: block.toarray()), or pass a SciPy matrix."
        )
    where = None if device is None else str(device)
    return stored_in(X.to_delayed().ravel().tolist(), X.chunks[0], X.shape[1], where, X.nbytes)


def stored_in(
    chunks: Sequence[Any],
    sizes: Sequence[int],
    d: int,
    where: str | None = None,
    n_bytes: float | None = None,
) -> ChunkRows:
    """Chunks as rows: on the workers of the current client, or here."""
    client = _client()
    if client is not None:
        from dominantsets.rows.cluster import OnCluster  # only where there is a cluster

        rows: ChunkRows = OnCluster(client, chunks, sizes, d, where)
    else:
        room = KEPT_SHARE * (memory_available() or 0)
        if where is not None:
            with torch_needed():
                from dominantsets.rows.tensor_features import room_on
            room = room_on(where, room)
        size = 8.0 * sum(sizes) * d if n_bytes is None else n_bytes
        rows = InProcess(chunks, sizes, d, where, kept=size < room)
    rows.stored_again = stored_in
    return rows


def _client() -> Any:
    """The distributed client that is current here, if there is one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    try:
        return Client.current()
    except ValueError:
        return None
