"""Parts of a pass that look at most memory, or would take many kernels, each as one Triton kernel.

The plain forms in batch.py say what they compute, and stay: they serve CPUs, streamed features, and machines
without Triton. A plain sweep writes the n × s values, reads them for a comparison, and reads that for the
places; here a tile of values lives in registers, and only the candidates are written. The candidates' values
in float64 are made of rows that are read once, without a copy of them. A start's threshold is found by one
program that reads its candidates a few times, where the plain form takes fifty kernels.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from dominantsets.solvers.tiles import Tiles

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
ROWS, DEPTH = 128, 32  # objects and features of a tile of the sweep
_broken = False


def usable(device: torch.device) -> bool:
    """Whether the kernels can be tried here."""
    return device.type == "cuda" and not _broken and importlib.util.find_spec("triton") is not None


def tried(fused: Callable[[], _T], plain: Callable[[], _T]) -> _T:
    """The fused form, or the plain one where it cannot be compiled or run: once, then for good."""
    global _broken
    if _broken:
        return plain()
    try:
        return fused()
    except (torch.OutOfMemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # whatever a compiler or driver may say
        _broken = True
        _log.warning("Triton kernels are not used: %s: %s", type(error).__name__, str(error)[:500])
        return plain()


def above(
    X: Tensor,
    weights: Tensor,
    cut: Tensor,
    bias: Tensor,
    scale: Tensor | None,
    center: Tensor | None,
    limit: int,
) -> tuple[Tensor, Tensor] | None:
    """Objects i and starts k with scale_i (x_i - center)·weights_k + bias_i > cut_k, by start then object.

    None where there are more than ``limit``.
    """
    from dominantsets.solvers import triton_kernels as fused_kernels

    (n, d), s = X.shape, len(weights)
    columns = min(128, max(16, 1 << (s - 1).bit_length()))
    room = min(limit, n * s)
    keys = torch.empty(room, dtype=torch.int64, device=X.device)
    counter = torch.zeros(1, dtype=torch.int64, device=X.device)
    chunks = -(-s // columns)
    grid = (chunks * -(-n // ROWS),)
    fused_kernels.collect[grid](
        X, weights, cut, bias, bias if scale is None else scale, bias if center is None else center, keys,
        counter, n, s, d, room, chunks, HAS_SCALE=scale is not None, HAS_CENTER=center is not None, ROWS=ROWS,
        COLUMNS=columns, DEPTH=DEPTH, num_warps=8 if columns == 128 else 4, num_stages=3,
    )  # fmt: skip
    count = int(counter)
    if count > limit:
        return None
    keys = keys[:count].sort().values
    return keys & (2**32 - 1), (keys >> 32).to(torch.int32)


def products(X: Tensor, objects: Tensor, owner: Tensor, W: Tensor, center: Tensor) -> tuple[Tensor, Tensor]:
    """(x_i - center)·w and |x_i - center|² in float64, for tiles of objects and the w that owns each tile."""
    from dominantsets.solvers import triton_kernels as fused_kernels

    tiles, width = objects.shape
    out = torch.empty((tiles, width), dtype=torch.float64, device=X.device)
    squares = torch.empty_like(out)
    rows = min(64, width)
    grid: Any = (tiles * -(-width // rows),)
    fused_kernels.evaluate[grid](
        X, objects, owner, W, center, out, squares, X.shape[1], width, ROWS=rows, DEPTH=32, num_warps=4
    )
    return out, squares


def weigh(
    tiles: Tiles, products: Tensor, squares: Tensor, kind: str, numbers: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, int]:
    """As ``Batch._narrowed``, of what ``products`` gives; ``numbers`` are root, offset and shift."""
    from dominantsets.solvers import triton_kernels as fused_kernels

    layout = np.stack([tiles.first_tile * tiles.width, tiles.counts])
    sent = torch.from_numpy(layout).to(products.device)
    table = torch.empty((5, tiles.s), dtype=torch.float64, device=products.device)
    weights, inside = torch.empty_like(products), torch.empty_like(products)
    fused_kernels.narrow[(tiles.s,)](
        products, squares, sent, numbers, table, weights, inside, tiles.s, tiles.width,
        KIND=("sqeuclidean", "cosine", "linear").index(kind), BLOCK=4096, num_warps=16,
    )  # fmt: skip
    tau, bound, mass, spent, members = table
    return tau, bound, mass, spent, weights, inside, int(members.sum())
