"""What a block of rows on the host can be asked: each operation is a function of a :class:`Block`.

They run where the block is, in this process or on a worker. :mod:`dominantsets.rows.tensor_operations` has
the same names for blocks on a device.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import rows as compiled_rows
from dominantsets.compiled.threads import GRAIN, blas, parallel_map, row_blocks, thread_slices
from dominantsets.rows.arrays import EVERYBODY, PIECE_BYTES, kernel_lengths, kernel_rows, local
from dominantsets.rows.base import Block, Cores, Mixture, Recipe, Sums, Survey
from dominantsets.rows.rule import Rule

# of all rows -------------------------------------------------------------------------------------------


def survey(block: Block) -> Survey:
    data = block.data
    total = data.sum(axis=0, dtype=np.float64)
    finite = bool(np.isfinite(total).all() or np.isfinite(data).all())
    return Survey(np.asarray(total), finite, data.min(axis=0), data.max(axis=0))


def fingerprint(block: Block) -> bytes:
    """A hash of the rows as they are stored."""
    data = block.data
    digest = hashlib.blake2b(digest_size=16)
    for part in (data,) if isinstance(data, np.ndarray) else (data.data, data.indices, data.indptr):
        digest.update(f"{part.dtype} {part.shape}".encode())
        for rows in row_blocks(len(part), max(1, part.nbytes // max(1, len(part)))):
            digest.update(np.ascontiguousarray(part[rows]).tobytes())
    return digest.digest()


def measure(block: Block, recipe: Recipe, everybody: bool) -> Sums:
    """Sums of the rows that are alive (or of all), for row sums of the similarity."""
    here = local(block, recipe)
    alive = None if everybody or block.alive.all() else block.alive
    norms = here.square_norms if alive is None else here.square_norms[alive]
    return Sums(
        here.rows.total(alive), float(norms.sum()), float(norms.max(initial=0.0)), float(norms.size),
        float(norms.min(initial=np.inf)),
    )  # fmt: skip


def degrees(block: Block, recipe: Recipe, sums: Sums, everybody: bool = True) -> Floats:
    """Row sums of the similarity over what was summed; -inf for objects that are not alive."""
    here, formula = local(block, recipe), recipe.formula
    added = formula.offset * sums.objects - (sums.squares if formula.has_bias else 0.0)
    form = here.form(sums.rows, times=sums.objects, added=added)
    values = here.rows.products(sums.rows, form, EVERYBODY if everybody else block.alive)
    values -= here.diagonal
    return values


def largest_degree(block: Block, recipe: Recipe, sums: Sums) -> tuple[float, int, Floats]:
    """The object of a block with the largest row sum: the sum, its number, its row."""
    values = degrees(block, recipe, sums, everybody=False)
    best = int(values.argmax())
    return float(values[best]), block.begin + best, local(block, recipe).rows.take(np.array([best]))[0]


def diagonal(block: Block, recipe: Recipe) -> Floats:
    """What the formula would put on the diagonal, for each object."""
    here = local(block, recipe)
    return here.diagonal * np.ones(here.rows.n)


# of some rows ------------------------------------------------------------------------------------------


def take(block: Block, recipe: Recipe, objects: Ints) -> Floats:
    """The chosen rows, in float64."""
    return local(block, recipe).rows.take(block.places(objects))


def raw(block: Block, objects: Ints) -> Floats:
    """The chosen rows as they are stored, in float64."""
    return np.asarray(block.data[block.places(objects)], dtype=np.float64)


def apply(block: Block, work: Callable[[Any], tuple[Any, ...]], height: int) -> tuple[Any, ...]:
    """What a function of rows gives for all of them, in arrays; it is called with ``height`` at a time."""
    data = block.data
    return stacked([work(data[begin : begin + height]) for begin in range(0, block.size, height)])


def stacked(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Parts of arrays, put together."""
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def mix(block: Block, recipe: Recipe, objects: Ints, weights: Floats) -> Mixture:
    """The weighted sums of chosen rows and of their biases."""
    here, places = local(block, recipe), block.places(objects)
    bias = here.bias_of(places)
    bias_sum = 0.0 if bias is None else float(bias @ weights)
    return Mixture(here.rows.mix(places, weights), bias_sum, float(weights.sum()))


def gradient(block: Block, recipe: Recipe, mixture: Mixture, objects: Ints, weights: Floats) -> Floats:
    """A x of the block's objects, from the mixture of x; ``objects`` and ``weights`` are its part here."""
    here = local(block, recipe)
    added = recipe.formula.offset * mixture.total + mixture.bias_sum
    out = here.rows.products(mixture.rows, here.form(mixture.rows, times=mixture.total, added=added))
    compiled_rows.subtract_at(out, block.places(objects), here.diagonal, weights)
    return out


def products_of_columns(block: Block, recipe: Recipe, along: Floats) -> Floats:
    """W'W of the columns W = (u, (b - u · along) / 2, 1)."""
    here, d = local(block, recipe), along.size

    def work(whole: slice) -> Floats:
        out = np.zeros((d + 2, d + 2))
        for piece in row_blocks(whole.stop - whole.start, 8 * (d + 2), PIECE_BYTES):
            part = slice(whole.start + piece.start, whole.start + piece.stop)
            W = np.empty((piece.stop - piece.start, d + 2))
            np.multiply(here.rows.take(part), recipe.formula.root, out=W[:, :d])
            bias = recipe.formula.bias(here.square_norms[part])
            W[:, d] = (0.0 if bias is None else 0.5 * bias) - 0.5 * (W[:, :d] @ along)
            W[:, d + 1] = 1.0
            out += W.T @ W
        return out

    with blas().limit(limits=1, user_api="blas"):  # our threads are enough of them
        return np.asarray(sum(parallel_map(work, thread_slices(block.size, GRAIN // d))))


# of partitions -----------------------------------------------------------------------------------------


def nearest(block: Block, recipe: Recipe, cores: Cores) -> tuple[Ints, Floats]:
    """The core with the highest score of each object, and the score; nothing of size n × K is kept."""
    here, formula = local(block, recipe), recipe.formula
    rows, M = here.rows, np.array([mixture.rows for mixture in cores.mixtures])
    pending = 0.0 if rows.pending is None else M @ rows.pending
    best, top = np.empty(block.size, dtype=np.int64), np.empty(block.size)
    totals = np.array([mixture.total for mixture in cores.mixtures])
    biases = np.array([mixture.bias_sum for mixture in cores.mixtures])
    # score = constant - rate (own - 2 payoff + inside) / 2: products of the stored rows with V, and the rest
    V = np.ascontiguousarray((formula.factor * cores.rates[:, None] * M).T)
    fixed = cores.constants + cores.rates * (formula.offset * totals + biases - 0.5 * cores.inside)
    fixed_products = formula.factor * cores.rates * pending

    def work(whole: slice) -> None:
        for piece in row_blocks(whole.stop - whole.start, 8 * (len(M) + rows.d), PIECE_BYTES):
            part = slice(whole.start + piece.start, whole.start + piece.stop)
            stored = rows.stored(part) if rows.sparse else np.asarray(rows.plain[part], dtype=np.float64)
            values = stored @ V
            values -= fixed_products
            if rows.scale is not None:
                values *= rows.scale[part, None]
            values += fixed
            own = here.diagonal if here.diagonal.size == 1 else here.diagonal[part, None]
            values -= 0.5 * own * cores.rates
            if formula.has_bias:
                values -= np.multiply.outer(here.square_norms[part], cores.rates * totals)
            best[part] = values.argmax(axis=1)
            top[part] = values[np.arange(len(values)), best[part]]

    with blas().limit(limits=1, user_api="blas"):
        parallel_map(work, thread_slices(block.size, max(1, 8 * GRAIN // (rows.d * len(M)))))
    return best, top


def label(block: Block, recipe: Recipe, rule: Rule) -> tuple[Ints, Floats]:
    """The label of each object by a rule, and its probability."""
    return rule.decide(partial(nearest, block, recipe), rule.beyond, np.log, np.asarray)


# of kernels --------------------------------------------------------------------------------------------


class Few(NamedTuple):
    """Some objects with weights: their numbers in increasing order, their rows."""

    objects: Ints
    rows: Floats
    weights: Floats


def kernel_take(block: Block, recipe: Recipe, objects: Ints) -> Floats:
    """The chosen rows, in float64."""
    return kernel_rows(block, recipe).take(block.places(objects))


def kernel_project(block: Block, recipe: Recipe, along: Floats) -> Floats:
    """Products of all rows with one vector."""
    return kernel_rows(block, recipe).dot(along)


def between(block: Block, recipe: Recipe, part: slice, few: Few, cols: slice) -> Floats:
    """Similarities of some of a block's objects to some of a few; sparse rows (in memory) stay sparse."""
    rows, formula = kernel_rows(block, recipe), recipe.formula
    if not formula.of_inner_products:
        return np.asarray(formula.between(rows.take(part), few.rows[cols]))
    p, q = kernel_lengths(block, recipe)[part], few.rows[cols]
    if rows.sparse:
        mine, theirs = np.arange(part.start, part.stop), few.objects[cols]
        products, lengths = rows.gram(mine, theirs), kernel_lengths(block, recipe)[theirs]
    else:
        products, lengths = rows.take(part) @ q.T, np.einsum("ij,ij->i", q, q)
    return np.asarray(formula.of_products(products, p, lengths))


def kernel_sums(block: Block, recipe: Recipe, few: Few, squares: bool = False) -> Floats:
    """Weighted sums of similarities (second row: of their squares) to a few; an object has none to itself."""
    out = np.zeros((1 + squares, block.size))
    own = np.flatnonzero((few.objects >= block.begin) & (few.objects < block.begin + block.size))
    places = block.places(few.objects[own])
    columns = list(row_blocks(len(few.objects), 8, PIECE_BYTES // 64))

    def work(whole: slice) -> None:
        for cols in columns:  # blocks that stay in the cache while they are mapped and summed
            width = cols.stop - cols.start
            for piece in row_blocks(whole.stop - whole.start, 8 * width, PIECE_BYTES):
                part = slice(whole.start + piece.start, whole.start + piece.stop)
                table = between(block, recipe, part, few, cols)
                mine = (places >= part.start) & (places < part.stop) & (own >= cols.start) & (own < cols.stop)
                table[places[mine] - part.start, own[mine] - cols.start] = 0.0
                out[0, part] += table @ few.weights[cols]
                if squares:
                    out[1, part] += np.einsum("ij,ij->i", table, table)

    parallel_map(work, thread_slices(block.size, max(1, GRAIN // max(1, len(few.objects)))))
    return out[0] if not squares else out.T
