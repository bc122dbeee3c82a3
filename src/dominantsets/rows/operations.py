"""What a block of rows on the host can be asked: each operation is a function of a :class:`Block`.

They run where the block is, in this process or on a worker. :mod:`dominantsets.rows.tensor_operations` has
the same names for blocks on a device.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled import rows as compiled_rows
from dominantsets.compiled.threads import GRAIN, parallel_map, row_blocks, thread_slices
from dominantsets.rows.base import Block, Clusters, Cores, Mixture, Recipe, Sums, Survey
from dominantsets.rows.memory import PIECE_BYTES, FormulaRows, kernel_lengths, kernel_rows, local

_NOTHING, _NOBODY = np.empty(0), np.empty(0, dtype=bool)


# of all rows -------------------------------------------------------------------------------------------


def survey(block: Block) -> Survey:
    data = block.data
    total = data.sum(axis=0, dtype=np.float64)
    finite = bool(np.isfinite(total).all() or np.isfinite(data).all())
    return Survey(np.asarray(total), finite, float(data.min()), float(data.max()))


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
    values = here.rows.products(sums.rows, form, _NOBODY if everybody else block.alive)
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


# of partitions -----------------------------------------------------------------------------------------


class Placed(NamedTuple):
    """A round of refinement: the best cluster of each object, how well it fits, and the clusters' sums.

    A row of ``sums`` holds a cluster's sum of rows, of biases, and the number of its objects.
    """

    best: Ints
    fit: Floats
    sums: Floats


def cluster_sums(block: Block, recipe: Recipe, n_clusters: int, labels: Ints) -> Floats:
    """The sums of the clusters that labels stand for: rows, biases, objects."""
    here = local(block, recipe)
    d, scale = here.rows.d, here.rows.scale
    sums = np.zeros((n_clusters, d + 3))
    for k in range(n_clusters):
        members = np.flatnonzero(labels == k)
        share = np.ones(members.size) if scale is None else scale[members]
        sums[k, :d] = here.rows.plain_mix(members, share)
        sums[k, d], sums[k, d + 2] = share.sum(), members.size
        sums[k, d + 1] = here.norms[members].sum() if recipe.formula.has_bias else 0.0
    return _centred(here, sums)


def _centred(here: FormulaRows, sums: Floats) -> Floats:
    """From sums over stored rows, of their scales and their squared lengths, to those of the formula."""
    d, pending = here.rows.d, here.rows.pending
    rows = sums[:, :d] if pending is None else sums[:, :d] - np.multiply.outer(sums[:, d], pending)
    return np.column_stack([rows, -sums[:, d + 1], sums[:, d + 2]])


def place(block: Block, recipe: Recipe, clusters: Clusters, labels: Ints, outside: Flags = _NOBODY) -> Placed:
    """Each object into the cluster that it fits best, and the sums of the new clusters.

    Ties leave it where it is; what fits no cluster stays -1; ``outside`` (or nothing) takes no part.
    """
    here = local(block, recipe)
    rows, (K, d) = here.rows, clusters.V.shape
    scale = _NOTHING if rows.scale is None else rows.scale
    lengths = here.square_norms if recipe.formula.has_bias else _NOTHING
    shift = np.zeros(K) if rows.pending is None else clusters.V @ rows.pending
    best, fit = np.empty_like(labels), np.empty(rows.n)

    def work(part: slice) -> Floats:
        sums = np.zeros((K, d + 3))
        if rows.sparse:
            _place_sparse(here, clusters, shift, labels, outside, best, fit, sums, part)
        else:
            compiled_rows.place(
                rows.plain[part], np.column_stack([clusters.V, shift]), clusters.constants, -clusters.slopes,
                scale[part], lengths[part], labels[part], outside[part], best[part], fit[part], sums,
            )  # fmt: skip
        return sums

    grain = max(1, 8 * GRAIN // (d * K))
    sums = np.sum(parallel_map(work, thread_slices(labels.size, grain)), axis=0)
    return Placed(best, fit, _centred(here, sums))


def _place_sparse(
    here: FormulaRows, clusters: Clusters, shift: Floats, labels: Ints, outside: Flags, best: Ints,
    fit: Floats, sums: Floats, whole: slice,
) -> None:  # fmt: skip
    """Place CSR rows in their best clusters and sum those clusters, a block at a time."""
    rows, K = here.rows, len(clusters.V)
    V = np.ascontiguousarray(clusters.V.T)
    for piece in row_blocks(whole.stop - whole.start, 8 * K, PIECE_BYTES):
        part = slice(whole.start + piece.start, whole.start + piece.stop)
        X, mine = rows.stored(part), labels[part]
        scale = np.ones(mine.size) if rows.scale is None else rows.scale[part]
        values = scale[:, None] * (X @ V - shift) + clusters.constants
        lengths = here.norms[part] if here.formula.has_bias else np.zeros(mine.size)
        values -= np.multiply.outer(lengths, clusters.slopes)
        at = values.argmax(axis=1)
        every = np.arange(mine.size)
        top, home = values[every, at], values[every, np.maximum(mine, 0)]
        home = np.where(mine < 0, -np.inf, home)
        stays = (top <= 0.0) | ((mine >= 0) & (top <= home * (1.0 + 1e-12)))
        top, at = np.where(stays, home, top), np.where(stays, mine, at)
        if outside.size:
            top[outside[part]], at[outside[part]] = -np.inf, -1
        best[part], fit[part] = at, top
        inside = np.flatnonzero(at >= 0)
        chosen = (at[inside] == np.arange(K)[:, None]) * scale[inside]
        sums[:, : rows.d] += (X[inside].T @ chosen.T).T
        sums[:, rows.d] += chosen.sum(axis=1)
        sums[:, rows.d + 1] += np.bincount(at[inside], lengths[inside], K)
        sums[:, rows.d + 2] += np.bincount(at[inside], minlength=K)


def squared_radii(block: Block, recipe: Recipe, cores: Cores) -> Floats:
    """The squared distance of each object from the nearest core's centre, in radii of that core."""
    here, out = local(block, recipe), np.full(block.size, np.inf)
    own = here.diagonal
    for k, mixture in enumerate(cores.mixtures):
        added = recipe.formula.offset * mixture.total + mixture.bias_sum
        payoffs = here.rows.products(mixture.rows, here.form(mixture.rows, times=mixture.total, added=added))
        np.minimum(out, (own - 2.0 * payoffs + cores.inside[k]) / cores.squares[k], out=out)
    return out


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
