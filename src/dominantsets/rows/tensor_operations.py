"""What rows on a device can be asked: the operations of :mod:`dominantsets.rows.operations`, in torch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.members import joined
from dominantsets.rows.base import Cores, Mixture, Recipe, Sums, Survey, scatter_of
from dominantsets.rows.operations import Few, stacked
from dominantsets.rows.rule import Rule
from dominantsets.rows.tensor_block import DeviceBlock
from dominantsets.rows.tensor_formulas import kernel, local
from dominantsets.rows.tensor_scores import Scores
from dominantsets.rows.tiles import Tiles

HALVES = (torch.float16, torch.bfloat16, torch.float32)  # types that NumPy has in float32
PLACES = 4_096  # of the argument of a beta function, between which it is taken as straight


def survey(rows: DeviceBlock) -> Survey:
    total = torch.zeros(rows.d, dtype=torch.float64, device=rows.device)
    least, most = torch.full_like(total, torch.inf), torch.full_like(total, -torch.inf)
    for _, raw in rows.features.blocks(rows.height(2 * rows.d)):
        total += raw.sum(0, dtype=torch.float64)
        low, high = torch.aminmax(raw, dim=0)
        least, most = torch.minimum(least, low), torch.maximum(most, high)
    told = rows.host(torch.stack([total, least, most]))
    return Survey(told[0], bool(np.isfinite(told[0]).all()), told[1], told[2])


def fingerprint(rows: DeviceBlock) -> bytes:
    """A hash of the rows as they are stored."""
    digest = hashlib.blake2b(f"{rows.features.dtype} {rows.n} {rows.d}".encode(), digest_size=16)
    for _, raw in rows.features.blocks(rows.height(rows.d)):
        digest.update(rows.host(raw.contiguous().view(torch.uint8)).tobytes())
    return digest.digest()


def measure(rows: DeviceBlock, recipe: Recipe, everybody: bool) -> Sums:
    here, alive = local(rows, recipe), None if everybody else rows.living()
    total = torch.zeros(rows.d, dtype=torch.float64, device=rows.device)
    squares, longest, shortest = here.squares, here.longest_square, here.shortest_square
    if alive is not None:
        squares, longest, shortest = 0.0, 0.0, np.inf
    for begin, raw in rows.features.blocks(rows.height(3 * rows.d)):
        there = raw if alive is None else raw[alive[begin : begin + len(raw)]]
        u = here.lift(there)
        total += u.sum(0)
        if alive is not None and len(u):
            norms = here.square_lengths(u)
            squares += float(norms.sum())
            longest, shortest = max(longest, float(norms.max())), min(shortest, float(norms.min()))
    count = rows.n if alive is None else rows.n_alive
    return Sums(rows.host(total) / here.root, squares, longest, float(count), shortest)


def degrees(rows: DeviceBlock, recipe: Recipe, sums: Sums) -> Floats:
    return rows.host(degrees_there(rows, recipe, sums))


def degrees_there(rows: DeviceBlock, recipe: Recipe, sums: Sums) -> Tensor:
    """Row sums over what was summed; they stay on the device."""
    here = local(rows, recipe)
    bias_sum = -sums.squares if recipe.formula.has_bias else 0.0
    return here.swept(here.root * rows.send(sums.rows), bias_sum, sums.objects).sub_(here.own())


def largest_degree(rows: DeviceBlock, recipe: Recipe, sums: Sums) -> tuple[float, int, Floats]:
    values, alive = degrees_there(rows, recipe, sums), rows.living()
    if alive is not None:
        values.masked_fill_(~alive, -torch.inf)
    top = values.max()
    best = int(torch.nonzero(values == top)[0, 0]) + rows.begin  # ties to the lowest number
    return float(top), best, take(rows, recipe, np.array([best]))[0]


def diagonal(rows: DeviceBlock, recipe: Recipe) -> Floats:
    return rows.host(local(rows, recipe).own())


def take(rows: DeviceBlock, recipe: Recipe, objects: Ints) -> Floats:
    here = local(rows, recipe)
    return rows.host(here.at(rows.at(objects)) / here.root)


def raw(rows: DeviceBlock, objects: Ints) -> Floats:
    return rows.host(rows.features.take(rows.at(objects)).double())


def apply(rows: DeviceBlock, work: Callable[[Any], tuple[Any, ...]], height: int) -> tuple[Any, ...]:
    """The function is called with rows on the host, unless it says that they may stay where they are."""
    wide = torch.float32 if rows.features.dtype in HALVES else torch.float64
    stays = getattr(work, "stays", None)
    send = (lambda block: block) if stays is not None and stays(rows.device.type) else rows.host
    return stacked([work(send(block.to(wide))) for _, block in rows.features.blocks(height)])


def mix(rows: DeviceBlock, recipe: Recipe, objects: Ints, weights: Floats) -> Mixture:
    here = local(rows, recipe)
    mixed, bias_sum = here.mixture(rows.at(objects), rows.send(weights))
    return Mixture(rows.host(mixed) / here.root, float(bias_sum), float(weights.sum()))


def mix_each(rows: DeviceBlock, recipe: Recipe, sets: Sequence[tuple[Ints, Floats]]) -> list[Mixture]:
    here = local(rows, recipe)
    objects, counts = joined([objects for objects, _ in sets]), np.array([len(one[0]) for one in sets])
    tiles = Tiles(rows.at(objects), counts)
    weights = tiles.spread(rows.send(joined([weights for _, weights in sets])))
    mixed, bias_sums = map(rows.host, here.mixtures(tiles, weights))
    totals = [float(weights.sum()) for _, weights in sets]
    return [Mixture(*one) for one in zip(mixed / here.root, bias_sums.tolist(), totals, strict=True)]


def gradient(rows: DeviceBlock, recipe: Recipe, mixture: Mixture, objects: Ints, weights: Floats) -> Floats:
    here, places = local(rows, recipe), rows.at(objects)
    out = here.swept(here.root * rows.send(mixture.rows), mixture.bias_sum, mixture.total)
    out[places] -= here.own_at(places) * rows.send(weights)
    return rows.host(out)


def products_of_columns(rows: DeviceBlock, recipe: Recipe, along: Floats) -> Floats:
    here, d = local(rows, recipe), len(along)
    out = torch.zeros((d + 2, d + 2), dtype=torch.float64, device=rows.device)
    for _, u, bias in here.lifted(4 * (d + 2)):
        t = -(u @ rows.send(along)) if bias is None else bias - u @ rows.send(along)
        W = torch.cat([u, 0.5 * t[:, None], torch.ones_like(t)[:, None]], 1)
        out += W.T @ W
    return rows.host(out)


def nearest(rows: DeviceBlock, recipe: Recipe, cores: Cores) -> tuple[Ints, Floats]:
    best, top = Scores(local(rows, recipe), cores).best()
    return rows.host(best), rows.host(top)


def label(rows: DeviceBlock, recipe: Recipe, rule: Rule) -> tuple[Ints, Floats]:
    here, tails = local(rows, recipe), rule.cores.tails

    def beyond(z: Tensor) -> Tensor:
        if tails is None:
            a = torch.full((), 0.5 * rule.dimension, dtype=torch.float64, device=rows.device)
            out: Tensor = torch.special.gammaincc(a, z)
            return out
        # torch has no incomplete beta function: between places that are even in its argument, a straight line
        places = np.linspace(0.0, 1.0, PLACES + 1)
        with np.errstate(divide="ignore"):
            table = rows.send(rule.beyond(tails.half / places - tails.half))
        place = PLACES * tails.half / (tails.half + z)
        below = place.long().clamp_(max=PLACES - 1)
        return torch.lerp(table[below], table[below + 1], place - below)

    labels, probabilities = rule.decide(lambda c: Scores(here, c).best(), beyond, torch.log, rows.send)
    return rows.host(labels), rows.host(probabilities)


def scatter(rows: DeviceBlock, recipe: Recipe, objects: Ints, scale: Floats) -> Floats:
    return rows.host(scatter_of(local(rows, recipe).at(rows.at(objects)), rows.send(scale)))


def kernel_take(rows: DeviceBlock, recipe: Recipe, objects: Ints) -> Floats:
    return rows.host(kernel(rows, recipe).at(rows.at(objects)))


def kernel_project(rows: DeviceBlock, recipe: Recipe, along: Floats) -> Floats:
    direction = rows.send(along)
    return rows.host(torch.cat([block @ direction for _, block in kernel(rows, recipe).blocks(1)]))


def kernel_sums(rows: DeviceBlock, recipe: Recipe, few: Few, squares: bool = False) -> Floats:
    weights = rows.send(few.weights)
    out = kernel(rows, recipe).summed(rows.send(few.rows), weights, squares)
    mine = np.flatnonzero((few.objects >= rows.begin) & (few.objects < rows.begin + rows.n))
    places = rows.at(few.objects[mine])
    out[0, places] -= weights[rows.send(mine)]  # an object has none to itself
    if squares:
        out[1, places] -= 1.0
    return rows.host(out[0] if not squares else out.T)
