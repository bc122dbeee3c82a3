"""Features under a kernel that has no low-rank form: computed block by block, kept where they are few."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from dominantsets._checks import check_int, check_real, memory_available
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import GRAIN, parallel_map, row_blocks, single_threaded, thread_slices
from dominantsets.rows.arrays import ArrayRows, kernel_lengths, kernel_rows
from dominantsets.rows.base import Recipe, Rows
from dominantsets.rows.memory import InMemory
from dominantsets.rows.operations import Few
from dominantsets.similarity.arrivals import detached
from dominantsets.similarity.base import HASHED, Similarity, evenly, hashed, off_diagonal
from dominantsets.similarity.dense import Dense
from dominantsets.similarity.formulas import (
    Distance,
    Gaussian,
    Laplacian,
    Pairs,
    distance_offset,
    one_over_median,
)
from dominantsets.similarity.solving import Folded, Solving, fold, solving_of
from dominantsets.similarity.source import OfRows, release

SAMPLED_ABOVE = 20_000  # objects above which degrees are estimated
SAMPLE = 2_000  # objects from which degrees are estimated
MEDIAN_SAMPLE = 1_000  # objects from which a default gamma is estimated
LARGE = 20_000  # objects from which the working set is the faster solver: benchmarks/crossover.py
KEPT = 5_000  # objects up to which all similarities are kept, in 200 MB: benchmarks/kernels.py
TILE = 256  # side of the tiles in which they are made: of the cache, and small for a user's function


class _Matrix:
    """All similarities of few objects, once so many were asked for that making them all costs no more.

    It goes with no copy and no pickle: a copy begins without.
    """

    def __init__(self) -> None:
        self.dense: Dense | None = None
        self._asked = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Matrix, ()

    def after(self, pairs: int, kernel: Kernel) -> Dense | None:
        """The matrix, if it is there or these pairs make it worth while."""
        if self.dense is not None or kernel.n > KEPT or not kernel.in_memory:
            return self.dense
        with self._lock:  # threads that solve beside each other wait for one matrix
            self._asked += pairs
            if self.dense is None and 2 * self._asked >= kernel.n**2:  # of two mirror images one is made
                free = memory_available()
                if free is None or 2 * 8 * kernel.n**2 <= free:
                    self.dense = Dense.made_here(kernel.all_pairs(), kernel.self_similarity)
                self._asked = 0  # where memory is short it is looked at again after as many pairs
            return self.dense

    def drop(self) -> None:
        self.dense, self._asked = None, 0


class Kernel(OfRows):
    """A similarity computed from two sets of feature rows by a formula.

    Up to 5,000 objects in memory it makes the whole matrix once and answers from it, as soon as half as many
    similarities were asked for; where memory is short, and above, every question computes what it needs.
    Degrees are exact up to 20,000 objects. Above that they are estimated from 2,000 objects drawn
    without replacement, and ``degrees_error`` holds the largest standard error of the estimates.
    """

    taken_by = "kernel_take"

    def __init__(self, rows: Rows, formula: Any) -> None:
        rows.check()
        self.rows = rows
        self.n, self.n_features = rows.n, rows.d
        self._here: Kernel | None = None
        self._matrix = _Matrix()
        center = rows.mean() if formula.centred else None
        self.recipe = Recipe(uuid.uuid4().hex, formula, center)

    @property
    def gamma(self) -> float:
        """One over the scale of distances."""
        return float(self.formula.gamma)

    def brought_here(self) -> Kernel:
        """The same with its rows in this process."""
        if self._here is None:
            self._here = self.over(InMemory(self.rows_of(np.arange(self.n))), None)
        return self._here

    def solver(self, algorithm: str, shift: float, start: Any) -> str:
        if self.n < LARGE:
            return super().solver(algorithm, shift, start)
        return self.rows.kernel_solver(algorithm, "working-set", start)

    def over(self, rows: Rows, center: Floats | None) -> Kernel:
        """The same formula over other rows, of which this is the center."""
        light = copy(self)
        light.n, light.rows, light._here = rows.n, rows, None
        light.recipe = self.recipe._replace(name=uuid.uuid4().hex, center=center)
        return light

    @property
    def stored(self) -> NDArray[Any] | None:
        dense = self._matrix.dense
        return None if dense is None else dense.stored

    def all_pairs(self) -> Floats:
        """A new array of all similarities, each computed once and mirrored."""
        n, formula, every = self.n, self.formula, np.arange(self.n)
        rows = self.rows_of(every) if self.rows.dense else None
        lengths = self._lengths if formula.of_inner_products else None
        out = np.empty((n, n))

        def between(a: slice, b: slice) -> Floats:
            if lengths is None:
                assert rows is not None
                return np.asarray(formula.between(rows[a], rows[b]))
            products = self._arrays.gram(every[a], every[b]) if rows is None else rows[a] @ rows[b].T
            return np.asarray(formula.of_products(products, lengths[a], lengths[b]))

        parts = list(row_blocks(n, 1, TILE))
        tiles = [(a, b) for k, a in enumerate(parts) for b in parts[k:]]
        workers = min(len(tiles), len(thread_slices(n * n, GRAIN)))

        def work(mine: slice) -> None:
            for a, b in tiles[mine]:
                tile = between(a, b)
                out[b, a] = tile.T
                out[a, b] = tile

        parallel_map(work, [slice(k, len(tiles), workers) for k in range(workers)])
        np.fill_diagonal(out, 0.0)
        return out

    def column(self, i: int) -> Floats:
        kept = self._matrix.after(self.n, self)
        return super().column(i) if kept is None else kept.column(i)

    def block(self, rows: Ints, cols: Ints) -> Floats:
        rows, cols = np.asarray(rows), np.asarray(cols)
        kept = self._matrix.after(rows.size * cols.size, self)
        return self.computed(rows, cols) if kept is None else kept.block(rows, cols)

    def computed(self, rows: Ints, cols: Ints) -> Floats:
        """As ``block``, from the rows."""
        if self.in_memory and self.formula.of_inner_products:
            return off_diagonal(self._by_products(self._arrays, self._lengths, rows, cols), rows, cols)
        Q = self.rows_of(cols)
        out = np.empty((rows.size, cols.size))
        for part in row_blocks(rows.size, 8 * (cols.size + 2 * self.rows.d)):
            out[part] = self.formula.between(self.rows_of(rows[part]), Q)
        return off_diagonal(out, rows, cols)

    @property
    def _arrays(self) -> ArrayRows:
        return kernel_rows(self.rows.only_block(), self.recipe)

    @property
    def _lengths(self) -> Floats:
        return kernel_lengths(self.rows.only_block(), self.recipe)

    def _by_products(self, P: ArrayRows, p: Floats, rows: Ints, cols: Ints) -> Floats:
        """Similarities from inner products with rows in memory; sparse rows stay sparse."""
        Q, q, out = self._arrays, self._lengths[cols], np.empty((rows.size, cols.size))
        for part in row_blocks(rows.size, 8 * (cols.size + (0 if Q.sparse else 2 * self.rows.d))):
            products = P.gram(rows[part], cols, Q)
            out[part] = self.formula.of_products(products, p[rows[part]], q)
        return out

    def arrivals(self, new: Any) -> ArrayRows:
        """New objects as rows of the same space."""
        return ArrayRows(self.rows.brought(new), center=self.recipe.center)

    def cross(self, new: Any, cols: Ints) -> Floats:
        there, cols = self.arrivals(new), np.asarray(cols)
        if self.in_memory and self.formula.of_inner_products:
            return self._by_products(there, there.square_norms(), np.arange(there.n), cols)
        return np.asarray(self.formula.between(there.take(slice(None)), self.rows_of(cols)))

    def few(self, objects: Ints, weights: Floats) -> Few:
        """Objects with weights as they travel, in increasing order."""
        order = np.argsort(objects, kind="stable")
        objects, weights = np.asarray(objects)[order], np.asarray(weights)[order]
        rows = self.rows_of(objects) if self.rows.dense else np.empty((0, 0))
        return Few(objects, rows, weights)

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        kept = self._matrix.after(self.n * len(support), self)
        if kept is not None:
            return kept.gradient(np.asarray(support), np.asarray(weights))
        return self.rows.every("kernel_sums", self.recipe, self.few(support, weights))

    def degrees(self, random_state: int | np.random.RandomState | None = 0) -> Floats:
        if self.n <= SAMPLED_ABOVE:
            return super().degrees()
        chosen = np.sort(check_random_state(random_state).choice(self.n, SAMPLE, replace=False))
        few = self.few(chosen, np.ones(SAMPLE))
        mean, squares = self.rows.every("kernel_sums", self.recipe, few, True).T / SAMPLE
        variance = np.maximum(squares - mean**2, 0.0) * (1.0 - SAMPLE / self.n)
        self.degrees_error = float(np.sqrt(variance.max() / SAMPLE)) * self.n
        return np.asarray(mean * self.n)

    def representatives(self, count: int) -> Ints:
        """Up to so many objects spread evenly along a fixed direction, the same in whatever order."""
        if self.n <= count:
            return np.arange(self.n)
        along = self.rows.every(
            "kernel_project", self.recipe, np.random.RandomState(0).normal(size=self.rows.d)
        )
        order = np.argsort(along, kind="stable")
        return np.sort(order[np.linspace(0, self.n - 1, count).astype(np.int64)])


class KernelSolving(Solving):
    """Few rows in chunks are brought to this process: all pairs of them are visited anyway."""

    of: Kernel

    def posed(self, shift: float) -> tuple[str, Similarity]:
        few = self.of.rows.home == "chunks" and self.of.n < LARGE
        return "memory", self.of.brought_here() if few else self.of


solving_of.register(Kernel, KernelSolving)


@fold.register(Kernel)
def _folded(similarity: Kernel) -> Folded | None:
    """Every pair is computed, so that half the objects are a quarter of the work."""
    if not (similarity.in_memory and similarity.rows.dense):
        return None
    X = np.ascontiguousarray(similarity.rows_of(np.arange(similarity.n)))
    whole = X.view(np.dtype((np.void, X.itemsize * X.shape[1]))).ravel()
    _, first, places, counts = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
    if 2 * first.size > similarity.n:  # fewer than two copies of an object, on average
        return None
    light = similarity.over(InMemory(X[first]), None)
    light._matrix = _Matrix()
    return Folded(light, counts.astype(np.float64), places.ravel())


@release.register(Kernel)
def _release(similarity: Kernel) -> None:
    similarity._matrix.drop()


class _Scaled(Kernel):
    """A kernel of a distance times gamma, 1 for a copy; ``gamma=None`` takes one over a median distance."""

    self_similarity, bounded_by_self_similarity = 1.0, True

    def __init__(self, rows: Rows, formula: Any, gamma: float | None) -> None:
        super().__init__(rows, formula)
        if gamma is None:
            chosen = self.representatives(MEDIAN_SAMPLE)
            value = one_over_median(self.rows.kernel_distances(self.recipe, chosen))
        else:
            value = check_real("gamma", gamma)
            if value <= 0:
                raise ValueError(f"gamma must be positive, got {gamma!r}.")
        self.recipe = self.recipe._replace(formula=replace(formula, gamma=value))


@detached.register(_Scaled)
def _detached(similarity: _Scaled) -> Kernel:
    """The similarity with its rows in memory, to compare new objects with."""
    if similarity.in_memory:
        return similarity
    center = similarity.recipe.center
    rows = similarity.rows_of(np.arange(similarity.n)) + (0.0 if center is None else center)
    return similarity.over(InMemory(rows), center)


class Rbf(_Scaled):
    r"""Gaussian similarity :math:`\exp(-\gamma |x_i - x_j|^2)`.

    ``gamma=None`` takes one over the median squared distance of a sample of objects. Sparse features
    stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(np.array([[0.0], [1.0]]), affinity="rbf", gamma=1.0)
    >>> S.column(0).round(4)
    array([0.    , 0.3679])
    """

    def __init__(self, rows: Rows, *, gamma: float | None = None) -> None:
        super().__init__(rows, Gaussian(1.0), gamma)


class LaplacianKernel(_Scaled):
    r"""Laplacian similarity :math:`\exp(-\gamma |x_i - x_j|_1)`.

    ``gamma=None`` takes one over the median city-block distance of a fixed sample of objects.
    """

    def __init__(self, rows: Rows, *, gamma: float | None = None) -> None:
        super().__init__(_only_dense(rows, "laplacian"), Laplacian(1.0), gamma)


class Euclidean(Kernel):
    r"""Largest distance minus distance, :math:`M - |x_i - x_j|` with :math:`M = 2 \max_i |x_i - \bar x|`.

    ``offset="exact"`` takes the largest distance itself (all pairs are visited), a number is taken as M.
    """

    bounded_by_self_similarity = True

    def __init__(self, rows: Rows, *, offset: str | float = "bound") -> None:
        super().__init__(_only_dense(rows, "euclidean"), Distance(1.0))
        longest = float(self._lengths.max())
        pairs = Pairs(self.n, longest, rows.least, self._largest_square)
        self.offset = self.self_similarity = M = distance_offset(offset, pairs, root=True)
        self.recipe = self.recipe._replace(formula=Distance(M))

    def _largest_square(self, limit: float) -> tuple[float, int, int] | None:
        if self.n > limit:
            return None
        rows, norms, every, largest = self._arrays, self._lengths, np.arange(self.n), 0.0
        for part in row_blocks(self.n, 8 * self.n):
            squares = norms[part, None] + norms[None, :] - 2.0 * rows.gram(every[part], every)
            largest = max(largest, float(squares.max()))
        return largest, 0, 0


@dataclass(frozen=True)
class Function:
    """A user's function of two sets of rows."""

    function: Callable[[Any, Any], Any]
    centred: bool = False
    of_inner_products: bool = False

    def __str__(self) -> str:
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        return f"{getattr(self.function, '__module__', '')}.{name}"

    def between(self, P: Floats, Q: Floats) -> Floats:
        """Similarities of the rows of P to the rows of Q, checked."""
        out = np.asarray(self.function(P, Q), dtype=np.float64)
        if out.shape != (len(P), len(Q)):
            raise ValueError(
                f"the affinity function was given {len(P)} and {len(Q)} rows and returned an array of "
                f"shape {out.shape} instead of ({len(P)}, {len(Q)})."
            )
        if not np.isfinite(out).all() or (out.size and out.min() < 0):
            raise ValueError("the affinity function returned NaN, infinite or negative similarities.")
        return out.copy() if not out.flags.owndata or not out.flags.writeable else out


class Custom(Kernel):
    """A user's function of two sets of rows, which must be symmetric, finite and not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import chi2_kernel
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(np.array([[1.0, 0.0], [0.0, 1.0]]), affinity=chi2_kernel)
    >>> S.column(0).round(4)
    array([0.    , 0.1353])
    """

    def __init__(self, rows: Rows, function: Callable[[Any, Any], Any]) -> None:
        super().__init__(_only_dense(rows, "a callable"), Function(function))
        some = self.representatives(20)
        piece = self.computed(some, some)  # from the function: what is kept is symmetric in any case
        # an object's similarity to its copy, from blocks of a few rows: all of them where they are few
        chosen = self.representatives(SAMPLED_ABOVE)
        parts = np.array_split(chosen, -(-chosen.size // 16))
        own = [np.diag(self.formula.between(P, P)) for P in (self.rows_of(part) for part in parts)]
        self.self_similarity = float(np.mean(np.concatenate(own)))
        apart = float(np.abs(piece - piece.T).max())
        if apart > 1e-8 * float(piece.max()):
            raise ValueError(
                f"the affinity function is not symmetric: f(a, b) and f(b, a) differ by {apart:.6g} "
                "on a sample of the objects."
            )


class Indexed(Similarity):
    """A user's function of two arrays of object numbers, for data that only the user can reach."""

    def __init__(self, n: int, function: Callable[[Any, Any], Any]) -> None:
        self.n, self.n_features = check_int("the number of objects", n, at_least=1), 1
        self.function = function
        self._kernel = Custom(InMemory(np.arange(n, dtype=np.float64)[:, None]), self._numbered)
        self.self_similarity = self._kernel.self_similarity

    def _numbered(self, P: Floats, Q: Floats) -> Any:
        return self.function(P[:, 0].astype(np.int64), Q[:, 0].astype(np.int64))

    @property
    def stored(self) -> NDArray[Any] | None:
        return self._kernel.stored

    def column(self, i: int) -> Floats:
        with single_threaded():  # here and below: two threads might not be able to read the user's data
            return self._kernel.column(i)

    def block(self, rows: Ints, cols: Ints) -> Floats:
        with single_threaded():
            return self._kernel.block(rows, cols)

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        with single_threaded():
            return self._kernel.gradient(support, weights)

    def cross(self, new: Any, cols: Ints) -> Floats:
        return self._kernel.cross(new, cols)

    def fingerprint(self) -> str:
        some = evenly(np.arange(self.n), HASHED)  # from the function: the same bits whatever is kept
        similarities = self._kernel.computed(some, some)
        return hashed(Function(self.function), hashed(type(self).__name__, self.n, similarities))


@release.register(Indexed)
def _release_indexed(similarity: Indexed) -> None:
    release(similarity._kernel)


def _only_dense(rows: Rows, affinity: str) -> Rows:
    if not rows.dense:
        raise ValueError(
            f"affinity {affinity} needs dense features; sparse features work with 'linear', 'cosine', "
            "'sqeuclidean', 'rbf' and 'nearest_neighbors'."
        )
    return rows
