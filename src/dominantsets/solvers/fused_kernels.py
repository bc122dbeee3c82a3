"""Triton kernels; see fused.py, which alone imports this."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def collect(
    X, weights, cut, bias, scale, center, keys, counter, n, s, d, room, chunks,
    HAS_SCALE: tl.constexpr, HAS_CENTER: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
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
        x = tl.load(
            X + rows[:, None] * d + depth[None, :], mask=row_ok[:, None] & depth_ok[None, :], other=0.0
        ).to(tl.float32)
        if HAS_CENTER:
            x = x - tl.load(center + depth, mask=depth_ok, other=0.0)[None, :]
        w = tl.load(
            weights + columns[None, :] * d + depth[:, None],
            mask=column_ok[None, :] & depth_ok[:, None],
            other=0.0,
        )
        values = tl.dot(x, w, values, input_precision="tf32")
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
