"""What a device pass asks of candidates, and balls of a sample, as one Triton kernel each.

The plain forms in tensor_dual.py and tensor_points.py say what they compute, and stay: they serve CPUs,
streamed features, and machines without Triton. The candidates' values in float64 are made of rows that are
read once, without a copy of them, and so are sums over supports.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

FEW_TILES = 8  # that a program goes through


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


def moments(
    X: Any, tiles: Any, weights: Any, inside: Any, W: Any, center: Any, root: Any, unit: bool, numbers: int
) -> tuple[Any, Any]:
    """Sums of weights times u and of ``inside`` times u (in float64), and of inside (u - w)(u - w)'.

    A program goes through a few tiles of one start, so many that what all of them have summed is about
    ``numbers``; this is added in the order of the tiles. ``root`` is one number in float64 on the device:
    Triton takes numbers of Python as float32.
    """
    d, most = X.shape[1], tiles.per_start
    few = max(FEW_TILES, -(-len(tiles) * d * d // numbers))
    parts = -(-most // few)
    owner = np.repeat(np.arange(tiles.s), parts)
    first = tiles.first_tile[owner] + few * (np.arange(len(owner)) - (np.cumsum(parts) - parts)[owner])
    spans = np.stack([first, np.minimum(first + few, (tiles.first_tile + most)[owner])], 1)
    sums, second = W.new_empty((len(owner), 2 * d)), X.new_empty((len(owner), d * d), dtype=torch.float32)
    accumulate[(len(owner),)](
        X, tiles.objects, tiles.owner, weights, inside, W, center, torch.from_numpy(spans).to(X.device), sums,
        second, root, d, tiles.width, UNIT=unit, ROWS=32, DEPTH=max(16, 1 << (d - 1).bit_length()),
        num_warps=8, num_stages=2,
    )  # fmt: skip
    if tiles.s == 1:
        return sums.sum(0, keepdim=True), second.sum(0, keepdim=True)
    lengths = torch.from_numpy(parts).to(X.device)
    return tuple(torch.segment_reduce(x, "sum", lengths=lengths, unsafe=True) for x in (sums, second))


def radius(t: Any, kappa: Any, r2: Any, passes: int) -> Any:
    """``tensor_points._plain_radius``, every row by one program."""
    out = kappa.new_empty(len(t))
    shrink[(len(t),)](
        t, kappa.contiguous(), r2.contiguous(), out, t.shape[1], passes, BLOCK=4096, num_warps=8
    )
    return out


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
def accumulate(
    X, objects, owner, weights, inside, W, center, spans, sums, second, root, d, width,
    UNIT: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Sums over the members of some tiles of one start."""
    program = tl.program_id(0)
    factor = tl.load(root)
    first, last = tl.load(spans + 2 * program), tl.load(spans + 2 * program + 1)
    depth = tl.arange(0, DEPTH)
    ok = depth < d
    mean = tl.load(center + depth, mask=ok, other=0.0)
    w = tl.load(W + tl.load(owner + first) * d + depth, mask=ok, other=0.0)
    image = tl.zeros((ROWS, DEPTH), dtype=tl.float64)
    average = tl.zeros((ROWS, DEPTH), dtype=tl.float64)
    products = tl.zeros((DEPTH, DEPTH), dtype=tl.float32)
    for at in range(first * width, last * width, ROWS):
        lanes = at + tl.arange(0, ROWS)
        share, inverse = tl.load(weights + lanes), tl.load(inside + lanes)
        rows = tl.load(objects + lanes)
        member = (inverse > 0.0)[:, None] & ok[None, :]
        u = tl.load(X + rows[:, None] * d + depth[None, :], mask=member, other=0).to(tl.float64)
        u = (u - mean[None, :]) * factor
        if UNIT:
            square = tl.sum(u * u, 1)
            u = u / tl.sqrt(tl.where(square > 0.0, square, 1.0))[:, None]
        image += share[:, None] * u
        average += inverse[:, None] * u
        about = ((u - w[None, :]) * tl.sqrt(inverse)[:, None]).to(tl.float32)
        # tensor cores would cut the last 13 bits off: rounded to nearest, sums have no bias
        about = ((about.to(tl.int32, bitcast=True) + 4096) & -8192).to(tl.float32, bitcast=True)
        products = tl.dot(tl.trans(about), about, products, input_precision="tf32")
    out = sums + program * 2 * d + depth
    tl.store(out, tl.sum(image, 0), mask=ok)
    tl.store(out + d, tl.sum(average, 0), mask=ok)
    place = depth[:, None] * d + depth[None, :]
    tl.store(second + program.to(tl.int64) * d * d + place, products, mask=ok[:, None] & ok[None, :])


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
