"""The parts of a device pass that read the most memory or take many kernels, as one Triton kernel each.

The plain forms in tensor_dual.py and tensor_points.py say what they compute, and stay: they serve CPUs,
streamed features, and machines without Triton. A plain sweep writes the n × s values, reads them for a
comparison, and reads that for the places; here a tile of values lives in registers, and only the candidates
are written. The candidates' values in float64 are made of rows that are read once, without a copy of them.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

ROWS = 128  # objects of a tile of the sweep
EXACT_IN_HALF = ("torch.float16", "torch.int8", "torch.uint8")  # numbers that float16 holds as they are


def above(
    X: Any, weights: Any, cut: Any, bias: Any, scale: Any, center: Any, limit: int, counter: Any
) -> tuple[Any, Any] | None:
    """Objects i and starts k with scale_i (x_i - center)·weights_k + bias_i > cut_k, by start then object.

    None where there are more than ``limit``; ``counter`` is one int64 zero on the device.
    """
    (n, d), s = X.shape, len(weights)
    narrow = str(X.dtype) in EXACT_IN_HALF and center is None
    sizes = weights.abs().amax(1).clamp_min(1e-30)
    if narrow:  # rounded to 11 bits, as TF32 rounds them
        weights = (weights / sizes[:, None]).half()
    columns = min(128, max(16, 1 << (s - 1).bit_length()))
    room = min(limit, n * s)
    keys = counter.new_empty(room)
    chunks = -(-s // columns)
    grid = (chunks * -(-n // ROWS),)
    collect[grid](
        X, weights, sizes, cut, bias, bias if scale is None else scale, bias if center is None else center,
        keys, counter, n, s, d, room, chunks, HAS_SCALE=scale is not None, HAS_CENTER=center is not None,
        NARROW=narrow, ROWS=ROWS, COLUMNS=columns, DEPTH=64 if narrow else 32,
        num_warps=8 if columns == 128 else 4, num_stages=3,
    )  # fmt: skip
    count = int(counter)
    if count > limit:
        return None
    keys = keys[:count].sort().values
    return keys & (2**32 - 1), (keys >> 32).int()


def products(X: Any, objects: Any, owner: Any, W: Any, center: Any) -> tuple[Any, Any]:
    """(x_i - center)·w and |x_i - center|² in float64, for tiles of objects and the w that owns each tile."""
    tiles, width = objects.shape
    out, squares = W.new_empty((tiles, width)), W.new_empty((tiles, width))
    rows = min(64, width)
    grid: Any = (tiles * -(-width // rows),)
    evaluate[grid](
        X, objects, owner, W, center, out, squares, X.shape[1], width, ROWS=rows, DEPTH=32, num_warps=4
    )
    return out, squares


def radius(t: Any, kappa: Any, r2: Any, passes: int) -> Any:
    """``tensor_points._plain_radius``, every row by one program."""
    out = kappa.new_empty(len(t))
    shrink[(len(t),)](
        t, kappa.contiguous(), r2.contiguous(), out, t.shape[1], passes, BLOCK=4096, num_warps=8
    )
    return out


@triton.jit
def collect(
    X, weights, sizes, cut, bias, scale, center, keys, counter, n, s, d, room, chunks,
    HAS_SCALE: tl.constexpr, HAS_CENTER: tl.constexpr, NARROW: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Append start · 2³² + object where a value exceeds the start's cut."""
    program = tl.program_id(0)
    chunk = program % chunks  # neighbours share their rows
    tile = program // chunks
    rows = tile.to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = chunk * COLUMNS + tl.arange(0, COLUMNS)
    row_ok, column_ok = rows < n, columns < s
    values = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for begin in range(0, d, DEPTH):
        depth = begin + tl.arange(0, DEPTH)
        depth_ok = depth < d
        x = tl.load(X + rows[:, None] * d + depth[None, :], mask=row_ok[:, None] & depth_ok[None, :], other=0)
        x = x.to(tl.float16 if NARROW else tl.float32)
        if HAS_CENTER:
            x = x - tl.load(center + depth, mask=depth_ok, other=0.0)[None, :]
        w = tl.load(
            weights + columns[None, :] * d + depth[:, None],
            mask=column_ok[None, :] & depth_ok[:, None],
            other=0.0,
        )
        values = tl.dot(x, w, values, input_precision="tf32")
    if NARROW:
        values = values * tl.load(sizes + columns, mask=column_ok, other=0.0)[None, :]
    if HAS_SCALE:
        values = values * tl.load(scale + rows, mask=row_ok, other=0.0)[:, None]
    values = values + tl.load(bias + rows, mask=row_ok, other=-float("inf"))[:, None]
    level = tl.load(cut + columns, mask=column_ok, other=float("inf"))
    hit = (values > level[None, :]).to(tl.int32)
    in_row = tl.sum(hit, 1)
    total = tl.sum(in_row, 0)
    if total > 0:
        base = tl.atomic_add(counter, total.to(tl.int64))
        before = tl.cumsum(in_row, 0) - in_row
        place = base + before[:, None] + tl.cumsum(hit, 1) - hit
        key = columns[None, :].to(tl.int64) * 4294967296 + rows[:, None]
        tl.store(keys + place, key, mask=(hit > 0) & (place < room))


@triton.jit
def evaluate(
    X, objects, owner, W, center, out, squares, d, width, ROWS: tl.constexpr, DEPTH: tl.constexpr
):  # fmt: skip
    """Products and squared lengths of chosen rows, in float64."""
    program = tl.program_id(0)
    parts = tl.cdiv(width, ROWS)
    tile = program // parts
    columns = (program % parts) * ROWS + tl.arange(0, ROWS)
    ok = columns < width
    at = tile.to(tl.int64) * width + columns
    rows = tl.load(objects + at, mask=ok, other=0)
    start = tl.load(owner + tile)
    total = tl.zeros((ROWS,), dtype=tl.float64)
    square = tl.zeros((ROWS,), dtype=tl.float64)
    for begin in range(0, d, DEPTH):
        depth = begin + tl.arange(0, DEPTH)
        depth_ok = depth < d
        x = tl.load(X + rows[:, None] * d + depth[None, :], mask=ok[:, None] & depth_ok[None, :], other=0.0)
        mean = tl.load(center + depth, mask=depth_ok, other=0.0)
        w = tl.load(W + start * d + depth, mask=depth_ok, other=0.0)
        away = x.to(tl.float64) - mean[None, :]
        total += tl.sum(away * w[None, :], 1)
        square += tl.sum(away * away, 1)
    tl.store(out + at, total, mask=ok)
    tl.store(squares + at, square, mask=ok)


@triton.jit
def shrink(t, kappa, r2, out, m, passes, BLOCK: tl.constexpr):
    """The squared radius at which the sum of max(0, radius - t) over a row is kappa, sought from r2 on."""
    row = tl.program_id(0)
    first = t + row.to(tl.int64) * m
    size, radius = tl.load(kappa + row), tl.load(r2 + row)
    radius = tl.where(radius > 0.0, radius, float("inf"))
    lanes = tl.arange(0, BLOCK)
    last, left = tl.full([], -1, tl.int32), passes
    while left > 0:
        counts = tl.zeros((BLOCK,), dtype=tl.int32)
        totals = tl.zeros((BLOCK,), dtype=tl.float64)
        least = totals + float("inf")
        for begin in range(0, m, BLOCK):
            here = tl.load(first + begin + lanes, mask=begin + lanes < m, other=float("inf"))
            inside = here < radius
            counts += inside.to(tl.int32)
            totals += tl.where(inside, here, 0.0)
            least = tl.minimum(least, here)
        count = tl.sum(counts, 0)
        found = (size + tl.sum(totals, 0)) / tl.maximum(count, 1).to(tl.float64)
        found = tl.where(count > 0, found, tl.min(least, 0) + size)
        done = (count == last) & (count > 0)
        radius = tl.where(done, radius, found)
        last = count
        left = tl.where(done, 0, left - 1)
    tl.store(out + row, radius)
