"""A precomputed dense matrix, used where it lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dominantsets._checks import require_memory, warn
from dominantsets._typing import Floats, Ints
from dominantsets.compiled import matrices as _arrays
from dominantsets.compiled import passes
from dominantsets.compiled.threads import parallel_map, thread_slices
from dominantsets.similarity.arrivals import Arrivals, arrivals_of
from dominantsets.similarity.base import Similarity, hashed, off_diagonal

# How far a_ij and a_ji may lie apart, relative to the largest entry.
SYMMETRY_TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}
# Side of the tiles in which a_ij is compared with a_ji: of the cache, and of a page of a file.
TILE, TILE_ON_DISK = 128, 512
LOOKED_AT = 64  # objects whose triangles say whether a matrix holds distances


class Dense(Similarity):
    """A similarity stored as an n × n array, float32 or float64; a memmap is read page by page.

    The array is never copied for its values: a diagonal that is not zero is ignored by every
    operation instead of being overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(np.array([[0.0, 2.0], [2.0, 0.0]]))
    >>> S.column(0)
    array([0., 2.])
    """

    def __init__(self, A: NDArray[Any]) -> None:
        _check_shape(A)
        tile = TILE_ON_DISK if isinstance(A, np.memmap) else TILE
        self._A = _laid_out(A)
        self.n = self.n_features = self._A.shape[0]
        self.self_similarity, self.bounded_by_self_similarity = _checked_largest(self._A, tile), True
        self._diagonal = np.asarray(self._A.diagonal(), dtype=np.float64)
        if not np.isfinite(self._diagonal).all():
            raise ValueError("the similarity has NaN or infinite entries on its diagonal.")
        n_self = np.count_nonzero(self._diagonal)
        if n_self:
            warn(
                f"{n_self} of {self.n} diagonal entries of the similarity are not zero; "
                "they are taken as zero (an object is not its own neighbour)."
            )

    @classmethod
    def made_here(cls, A: Floats, self_similarity: float | None) -> Dense:
        """Around similarities of our own, symmetric with a zero diagonal: they need no check."""
        out = cls.__new__(cls)
        out._A = _laid_out(A)
        out.n = out.n_features = A.shape[0]
        out.self_similarity, out._diagonal = self_similarity, np.zeros(A.shape[0])
        return out

    @property
    def stored(self) -> NDArray[Any]:
        return self._A

    def block(self, rows: Ints, cols: Ints) -> Floats:
        out = np.empty((len(rows), len(cols)))
        _arrays.take_block(self._A, np.asarray(rows), np.asarray(cols), out)
        return out

    def cross(self, new: Any, cols: Ints) -> Floats:
        chosen = new[:, np.asarray(cols)]
        chosen = chosen.toarray() if sp.issparse(chosen) else chosen
        return np.array(chosen, dtype=np.float64)

    def column(self, i: int) -> Floats:
        column: Floats = self._A[i].astype(np.float64)
        column[i] = 0.0
        return column

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        if self._A.dtype == np.float64 and support.size > self.n // 2:
            x = np.zeros(self.n)  # one BLAS product: reads a little more, on every core
            x[support] = weights
            out: Floats = self._A @ x
        else:
            out = np.zeros(self.n)
            passes.add_rows(self._A, support, weights, out)
        out[support] -= self._diagonal[support] * weights
        return out

    def fingerprint(self) -> str:
        return hashed(self._A)

    def toarray(self) -> Floats:
        every = np.arange(self.n)
        return off_diagonal(self._A.astype(np.float64), every, every)


class DenseArrivals(Arrivals):
    """Rows of similarities to all objects."""

    of: Dense

    def arriving(self, new: Any) -> Any:
        """The similarity of an object to itself becomes its self-similarity: diagonals are ignored."""
        if sp.issparse(new):
            return new
        A = self.of.stored
        rows = np.ascontiguousarray(new, dtype=A.dtype)
        known = {hash(row.tobytes()): j for j, row in enumerate(A)}
        names = [known.get(hash(row.tobytes()), -1) for row in rows]
        own = [(i, j) for i, j in enumerate(names) if j >= 0 and np.array_equal(rows[i], A[j])]
        filled = np.array(new, dtype=np.float64)
        for i, j in own:
            filled[i, j] = self.of.self_similarity
        return filled


arrivals_of.register(Dense, DenseArrivals)


def checked_distances(D: Any) -> Any:
    """A dense matrix of distances in the layout of the kernels, refused where it is not one."""
    D = np.asarray(D)
    if D.ndim != 2 or D.shape[0] != D.shape[1] or D.shape[0] == 0:
        raise ValueError(f"a matrix of distances must be square and not empty, got shape {D.shape}.")
    D = _laid_out(D)
    bad, least, _, _, apart, k, m, most = _arrays.inspect_square(D, TILE)
    if bad or least < 0:
        raise ValueError("the matrix of distances has NaN, infinite or negative entries.")
    if apart > SYMMETRY_TOLERANCE[D.dtype] * most:
        raise ValueError(
            f"the matrix of distances is not symmetric: entries ({k}, {m}) and ({m}, {k}) differ by "
            f"{apart:.6g}."
        )
    if np.any(D.diagonal() != 0):
        warn("the diagonal of the matrix of distances is not zero; it is taken as zero.")
    return D


def _check_shape(A: NDArray[Any]) -> None:
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(
            f"a precomputed similarity must be square, got shape {A.shape}; if the rows are features, "
            "choose a features affinity such as affinity='sqeuclidean'."
        )
    if A.shape[0] == 0:
        raise ValueError("a similarity of 0 objects has nothing to cluster.")


def _laid_out(A: NDArray[Any]) -> NDArray[Any]:
    """The one layout the kernels are compiled for: C order, float32 or float64, read-only."""
    if np.iscomplexobj(A):
        raise ValueError("the similarity is complex; similarities must be real numbers.")
    A = np.asarray(A)
    wanted = np.float32 if A.dtype in (np.float16, np.float32) else np.float64
    if A.flags.f_contiguous and not A.flags.c_contiguous:
        A = A.T  # symmetric, so the same matrix
    if A.dtype != wanted or not A.flags.c_contiguous:
        require_memory(
            A.size * np.dtype(wanted).itemsize,
            f"a {np.dtype(wanted).name} copy of the {A.shape[0]:,} × {A.shape[0]:,} similarity",
            "store it as a C-ordered float32 or float64 array, which is used in place",
        )
        try:
            A = np.ascontiguousarray(A, dtype=wanted)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the similarity does not hold numbers: {error}.") from error
    view = A.view()
    view.flags.writeable = False
    return view


def _checked_largest(A: NDArray[Any], tile: int) -> float:
    """Refuse what is not a similarity; the largest entry otherwise."""
    tolerance = SYMMETRY_TOLERANCE[A.dtype]
    workers = len(thread_slices(A.size, TILE * TILE * 16))
    rounds = [slice(k, A.shape[0], workers) for k in range(workers)]  # the work of a row of tiles shrinks
    seen = np.array(parallel_map(lambda part: _arrays.glance_square(A, tile, part.start, workers), rounds))
    least, most, apart, stain = seen[:, 0].min(), seen[:, 1].max(), seen[:, 2].max(), seen[:, 3].sum()
    if stain == 0.0 and least >= 0.0 and apart <= tolerance * most and (most > 0.0 or A.shape[0] == 1):
        return float(most)
    bad, least, i, j, apart, k, m, most = _arrays.inspect_square(A, tile)  # slower: says where
    if bad:
        raise ValueError(
            f"the similarity has NaN or infinite entries ({bad} pairs of objects); "
            "use 0 for pairs that are not known."
        )
    if least < 0:
        raise ValueError(
            f"the similarity has negative entries, such as {least:.6g} at ({i}, {j}); "
            "add a constant to the off-diagonal entries, or pass a distance D as max(D) - D."
        )
    if apart > tolerance * most:
        raise ValueError(
            f"the similarity is not symmetric: entries ({k}, {m}) and "
            f"({m}, {k}) differ by {apart:.6g}, more than the allowed "
            f"{tolerance * most:.6g} ({tolerance:g} of the largest entry); symmetrise it with "
            "(A + A.T) / 2, or take it as it is with solve_asymmetric."
        )
    if A.shape[0] > 1 and most == 0:
        raise ValueError("all similarities are zero, so there is nothing to cluster.")
    return most


def warn_of_distances(A: NDArray[Any]) -> None:
    r"""Warn where a matrix that is taken for similarities looks like distances.

    Distances have a zero diagonal and :math:`d_{ij} \le d_{ik} + d_{kj}`. Similarities break that wherever
    two objects are alike and a third one is like neither. Triangles of an even sample are looked at; where no
    entry is more than twice another all of them hold, and nothing can be told; nor from fewer than 6 objects.
    """
    n = A.shape[0]
    some = np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.int64)
    D = np.asarray(A[np.ix_(some, some)], dtype=np.float64)
    if n < 6 or D.diagonal().any():
        return
    apart = D + np.diag(np.full(len(D), np.inf))
    far = float(np.median(apart[np.triu_indices(len(D), 1)]))
    if 2.0 * float(np.median(apart.min(axis=1))) > far:
        return
    detour = np.min(D[:, None, :] + D[None, :, :], axis=2)
    if (detour * (1.0 + 1e-9) >= D).all():
        warn(
            "the matrix looks like distances (its diagonal is 0, and no way is shorter than the direct one), "
            "and 'precomputed' takes it for similarities, the larger the more alike; pass "
            "affinity='precomputed_distance' if it holds distances."
        )
