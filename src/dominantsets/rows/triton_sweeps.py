"""Products of all rows with many points, as one Triton kernel each: a tile of them lives in registers.

The plain forms (``TensorDual._above``, ``Scores.plainly``) say what is computed, and stay: they
serve CPUs, streamed features, and machines without Triton. They write the n × s values and read them again;
here a program reads its rows once, goes through all points, and writes only what is asked for. Products are
rounded (TF32, or float16 where the features are exact in it); who calls allows for that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

ROWS, COLUMNS = 128, 64  # of a tile: objects and points
WHOLE = {True: 256, False: 128}  # features up to which a program keeps its rows, in float16 or not
DEPTH = {True: 64, False: 32}  # features at a time beyond that, in float16 or not
REGIONS = 64  # counters: hits of one are appended one after another
APART = 16  # int64 numbers from one counter to the next: each has a line of memory of its own
EXACT_IN_HALF = ("torch.float16", "torch.int8", "torch.uint8")  # numbers that float16 holds as they are


class _Sent(NamedTuple):
    """The points as a kernel takes them, and the sizes of its tiles."""

    weights: Any
    sizes: Any
    grid: tuple[int]
    options: dict[str, Any]


def _sent(X: Any, weights: Any, scale: Any, center: Any) -> _Sent:
    (n, d), s = X.shape, len(weights)
    narrow = str(X.dtype) in EXACT_IN_HALF and center is None
    sizes = weights.abs().amax(1).clamp_min(1e-30)
    if narrow:  # rounded to 11 bits, as TF32 rounds them
        weights = (weights / sizes[:, None]).half()
    columns = min(COLUMNS, max(16, 1 << (s - 1).bit_length()))
    whole = d <= WHOLE[narrow]
    options = {
        "chunks": -(-s // columns), "HAS_SCALE": scale is not None, "HAS_CENTER": center is not None,
        "NARROW": narrow, "WHOLE": whole, "ROWS": ROWS, "COLUMNS": columns,
        "DEPTH": max(16, 1 << (d - 1).bit_length()) if whole else DEPTH[narrow],
        "num_warps": 4, "num_stages": 2 if whole else 3,
    }  # fmt: skip
    return _Sent(weights.contiguous(), sizes, (-(-n // ROWS),), options)


def above(
    X: Any, weights: Any, cut: Any, bias: Any, scale: Any, center: Any, limit: int
) -> tuple[Any, Any] | None:
    """Objects i and starts k with scale_i (x_i - center)·weights_k + bias_i > cut_k, by start then object.

    None where there are more than ``limit``, or one region would have more than its share by a quarter.
    """
    (n, d), s = X.shape, len(weights)
    sent = _sent(X, weights, scale, center)
    most = -(-sent.grid[0] // REGIONS) * ROWS * s  # all that a region may have
    room = int(min(1.25 * limit / REGIONS + 1024, most))
    counters = torch.zeros((REGIONS, APART), dtype=torch.int64, device=X.device)
    keys = counters.new_empty((REGIONS, room))
    collect[sent.grid](
        X, sent.weights, sent.sizes, cut, bias, bias if scale is None else scale,
        bias if center is None else center, keys, counters, n, s, d, room, REGIONS, APART, **sent.options,
    )  # fmt: skip
    counts = counters[:, 0].tolist()
    if max(counts) > room or sum(counts) > limit:
        return None
    found = torch.cat([keys[region, :count] for region, count in enumerate(counts)]).sort().values
    return found & (2**32 - 1), (found >> 32).int()


def best(
    X: Any, weights: Any, fixed: Any, slope: Any, numbers: Any, scale: Any, center: Any
) -> tuple[Any, Any]:
    """For each object i the point k with the largest score, and by how much it exceeds the second largest.

    The score is scale_i (x_i - center)·weights_k + fixed_k + slope_k numbers_i.
    """
    (n, d), s = X.shape, len(weights)
    sent = _sent(X, weights, scale, center)
    which, margin = torch.empty(n, dtype=torch.int64, device=X.device), sent.sizes.new_empty(n)
    rank[sent.grid](
        X, sent.weights, sent.sizes, fixed, slope, numbers, numbers if scale is None else scale,
        numbers if center is None else center, which, margin, n, s, d, **sent.options,
    )  # fmt: skip
    return which, margin


def matched(X: Any, which: Any, W: Any, center: Any) -> tuple[Any, Any]:
    """(x_i - center)·w and |x_i - center|² in float64, for each object and the w that is its own."""
    n, d = X.shape
    out, squares = W.new_empty(n), W.new_empty(n)
    rows = 64
    multiply[(-(-n // rows),)](X, which, W, center, out, squares, n, d, ROWS=rows, DEPTH=32, num_warps=4)
    return out, squares


@triton.jit
def stored(
    X, center, rows, row_ok, depth, d, HAS_CENTER: tl.constexpr, NARROW: tl.constexpr
):  # fmt: skip
    """Some features of some rows, as they are multiplied."""
    ok = depth < d
    x = tl.load(X + rows[:, None] * d + depth[None, :], mask=row_ok[:, None] & ok[None, :], other=0)
    x = x.to(tl.float16 if NARROW else tl.float32)
    if HAS_CENTER:
        x = x - tl.load(center + depth, mask=ok, other=0.0)[None, :]
    return x


@triton.jit
def points(weights, columns, s, depth, d):
    """Some features of some points, a column each."""
    ok = (columns < s)[None, :] & (depth < d)[:, None]
    return tl.load(weights + columns[None, :] * d + depth[:, None], mask=ok, other=0.0)


@triton.jit
def products(
    X, x, weights, sizes, stretch, center, rows, row_ok, columns, s, d,
    HAS_SCALE: tl.constexpr, HAS_CENTER: tl.constexpr, NARROW: tl.constexpr, WHOLE: tl.constexpr,
    DEPTH: tl.constexpr,
):  # fmt: skip
    """Some rows times some points; ``x`` are the rows, or their first features."""
    depth = tl.arange(0, DEPTH)
    values = tl.dot(x, points(weights, columns, s, depth, d), input_precision="tf32")
    if not WHOLE:
        for begin in range(DEPTH, d, DEPTH):
            more = stored(X, center, rows, row_ok, begin + depth, d, HAS_CENTER, NARROW)
            w = points(weights, columns, s, begin + depth, d)
            values = tl.dot(more, w, values, input_precision="tf32")
    if NARROW:
        values = values * tl.load(sizes + columns, mask=columns < s, other=0.0)[None, :]
    if HAS_SCALE:
        values = values * stretch[:, None]
    return values


@triton.jit
def collect(
    X, weights, sizes, cut, bias, scale, center, keys, counters, n, s, d, room, regions, apart, chunks,
    HAS_SCALE: tl.constexpr, HAS_CENTER: tl.constexpr, NARROW: tl.constexpr, WHOLE: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Append start · 2³² + object where a value exceeds the start's cut."""
    tile = tl.program_id(0)
    rows = tile.to(tl.int64) * ROWS + tl.arange(0, ROWS)
    row_ok = rows < n
    x = stored(X, center, rows, row_ok, tl.arange(0, DEPTH), d, HAS_CENTER, NARROW)
    low = tl.load(bias + rows, mask=row_ok, other=-float("inf"))
    stretch = low
    if HAS_SCALE:
        stretch = tl.load(scale + rows, mask=row_ok, other=0.0)
    region = tile % regions
    counter = counters + region * apart
    out = keys + region.to(tl.int64) * room
    for chunk in range(chunks):
        columns = chunk * COLUMNS + tl.arange(0, COLUMNS)
        column_ok = columns < s
        values = products(
            X, x, weights, sizes, stretch, center, rows, row_ok, columns, s, d,
            HAS_SCALE, HAS_CENTER, NARROW, WHOLE, DEPTH,
        )  # fmt: skip
        values = values + low[:, None]
        hit = values > tl.load(cut + columns, mask=column_ok, other=float("inf"))[None, :]
        of_row = tl.sum(hit.to(tl.int32), 1)
        # atomic additions of rows: few have a hit, and hardly any more than one
        base = tl.atomic_add(
            counter + tl.zeros((ROWS,), dtype=tl.int32), of_row.to(tl.int64), mask=of_row > 0, sem="relaxed"
        )
        if tl.max(of_row, 0) > 1:
            place = base[:, None] + tl.cumsum(hit.to(tl.int32), 1) - 1
            key = columns[None, :].to(tl.int64) * 4294967296 + rows[:, None]
            tl.store(out + place, key, mask=hit & (place < room))
        else:
            start = tl.sum(tl.where(hit, columns[None, :], 0), 1).to(tl.int64)
            tl.store(out + base, start * 4294967296 + rows, mask=(of_row > 0) & (base < room))


@triton.jit
def rank(
    X, weights, sizes, fixed, slope, numbers, scale, center, which, margin, n, s, d, chunks,
    HAS_SCALE: tl.constexpr, HAS_CENTER: tl.constexpr, NARROW: tl.constexpr, WHOLE: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """The point with the largest score of each object, and how far it is above the second."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    row_ok = rows < n
    x = stored(X, center, rows, row_ok, tl.arange(0, DEPTH), d, HAS_CENTER, NARROW)
    along = tl.load(numbers + rows, mask=row_ok, other=0.0)
    stretch = along
    if HAS_SCALE:
        stretch = tl.load(scale + rows, mask=row_ok, other=0.0)
    first = tl.full((ROWS,), -float("inf"), tl.float32)
    second = tl.full((ROWS,), -float("inf"), tl.float32)
    where = tl.zeros((ROWS,), dtype=tl.int32)
    for chunk in range(chunks):
        columns = chunk * COLUMNS + tl.arange(0, COLUMNS)
        column_ok = columns < s
        values = products(
            X, x, weights, sizes, stretch, center, rows, row_ok, columns, s, d,
            HAS_SCALE, HAS_CENTER, NARROW, WHOLE, DEPTH,
        )  # fmt: skip
        values += along[:, None] * tl.load(slope + columns, mask=column_ok, other=0.0)[None, :]
        values += tl.load(fixed + columns, mask=column_ok, other=-float("inf"))[None, :]
        here, at = tl.max(values, 1, return_indices=True)
        rest = tl.max(tl.where(tl.arange(0, COLUMNS)[None, :] == at[:, None], -float("inf"), values), 1)
        second = tl.maximum(tl.maximum(tl.minimum(first, here), second), rest)
        where = tl.where(here > first, chunk * COLUMNS + at, where)
        first = tl.maximum(first, here)
    tl.store(which + rows, where.to(tl.int64), mask=row_ok)
    tl.store(margin + rows, first - second, mask=row_ok)


@triton.jit
def multiply(X, which, W, center, out, squares, n, d, ROWS: tl.constexpr, DEPTH: tl.constexpr):
    """Products and squared lengths of all rows, in float64."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    ok = rows < n
    mine = tl.load(which + rows, mask=ok, other=0)
    total = tl.zeros((ROWS,), dtype=tl.float64)
    square = tl.zeros((ROWS,), dtype=tl.float64)
    for begin in range(0, d, DEPTH):
        depth = begin + tl.arange(0, DEPTH)
        both = ok[:, None] & (depth < d)[None, :]
        x = tl.load(X + rows[:, None] * d + depth[None, :], mask=both, other=0)
        w = tl.load(W + mine[:, None] * d + depth[None, :], mask=both, other=0.0)
        away = x.to(tl.float64) - tl.load(center + depth, mask=depth < d, other=0.0)[None, :]
        total += tl.sum(away * w, 1)
        square += tl.sum(away * away, 1)
    tl.store(out + rows, total, mask=ok)
    tl.store(squares + rows, square, mask=ok)
