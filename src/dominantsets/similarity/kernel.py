"""Features under a kernel that has no low-rank form: computed piece by piece, never kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from dominantsets._checks import check_int, check_real
from dominantsets._typing import Floats, Ints
from dominantsets.compiled import dual as _rows
from dominantsets.compiled.threads import GRAIN, parallel_map, row_blocks, thread_slices
from dominantsets.rows.memory import PIECE_BYTES, Rows, mean_row
from dominantsets.similarity.base import Similarity, off_diagonal
from dominantsets.similarity.low_rank import distance_offset

SAMPLED_ABOVE = 20_000  # objects above which degrees are estimated
SAMPLE = 2_000  # objects that an estimate of the degrees looks at
MEDIAN_SAMPLE = 1_000  # objects whose distances set a default gamma


class Kernel(Similarity):
    """A similarity computed from two sets of feature rows.

    Degrees are exact up to 20,000 objects. Above that they are estimated from 2,000 objects drawn
    without replacement, and ``degrees_error`` holds the largest standard error of the estimates.
    """

    rows: Rows

    @abstractmethod
    def between(self, P: Floats, Q: Floats) -> Floats:
        """Similarities of the rows of P to the rows of Q."""

    def block(self, rows: Ints, cols: Ints) -> Floats:
        rows, cols = np.asarray(rows), np.asarray(cols)
        Q = self.rows.take(cols)
        out = np.empty((rows.size, cols.size))
        for part in row_blocks(rows.size, 8 * (cols.size + 2 * self.rows.d)):
            out[part] = self.between(self.rows.take(rows[part]), Q)
        return off_diagonal(out, rows, cols)

    def cross(self, new: Any, cols: Ints) -> Floats:
        arrivals = Rows(new, center=self.rows.center)
        return self.between(arrivals.take(slice(None)), self.rows.take(np.asarray(cols)))

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        out, every = np.empty(self.n), np.arange(self.n)
        columns = list(row_blocks(support.size, 8, PIECE_BYTES // 64))

        def work(part: slice) -> None:
            for chunk in columns:  # pieces that stay in the cache while they are mapped and summed
                cols, shares = support[chunk], weights[chunk]
                for rows in row_blocks(part.stop - part.start, 8 * max(1, cols.size), PIECE_BYTES):
                    place = slice(part.start + rows.start, part.start + rows.stop)
                    share = self.block(every[place], cols) @ shares
                    if chunk.start == 0:
                        out[place] = share
                    else:
                        out[place] += share

        parallel_map(work, thread_slices(self.n, max(1, GRAIN // max(1, support.size))))
        return out

    def degrees(self, random_state: int | np.random.RandomState | None = 0) -> Floats:
        if self.n <= SAMPLED_ABOVE:
            return super().degrees()
        chosen = check_random_state(random_state).choice(self.n, SAMPLE, replace=False)
        every, chosen = np.arange(self.n), np.sort(chosen)
        total, squares = np.zeros(self.n), np.zeros(self.n)

        def work(part: slice) -> None:
            for rows in row_blocks(part.stop - part.start, 8 * SAMPLE, PIECE_BYTES):
                place = slice(part.start + rows.start, part.start + rows.stop)
                piece = self.block(every[place], chosen)
                total[place] = piece.sum(axis=1)
                squares[place] = np.einsum("ij,ij->i", piece, piece)

        parallel_map(work, thread_slices(self.n))
        mean = total / SAMPLE
        variance = np.maximum(squares / SAMPLE - mean**2, 0.0) * (1.0 - SAMPLE / self.n)
        self.degrees_error = float(np.sqrt(variance.max() / SAMPLE)) * self.n
        return mean * self.n


def gaussian(P: Floats, Q: Floats, gamma: float) -> Floats:
    """exp(-gamma |p - q|²) of all rows of P and Q."""
    return _gaussian_of(P @ Q.T, np.square(P).sum(axis=1), np.square(Q).sum(axis=1), gamma)


def _gaussian_of(products: Floats, p: Floats, q: Floats, gamma: float) -> Floats:
    _rows.squares(products, p, q, -gamma)
    return np.exp(products, out=products)


def laplacian(P: Floats, Q: Floats, gamma: float) -> Floats:
    """exp(-gamma |p - q|_1) of all rows of P and Q."""
    out = np.empty((len(P), len(Q)))
    _rows.city_block(np.ascontiguousarray(P), np.ascontiguousarray(Q), out)
    out *= -gamma
    return np.exp(out, out=out)


class Rbf(Kernel):
    r"""Gaussian similarity :math:`\exp(-\gamma |x_i - x_j|^2)`.

    ``gamma=None`` takes one over the median squared distance of a sample of objects. Sparse features
    stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(np.array([[0.0], [1.0]]), affinity="rbf", gamma=1.0)
    >>> round(S.entry(0, 1), 4)
    0.3679
    """

    def __init__(self, X: Any, *, gamma: float | None = None) -> None:
        self.rows = Rows(X, center=mean_row(X))
        self.n, self.n_features = self.rows.n, self.rows.d
        self._norms = self.rows.square_norms()
        self.self_similarity, self.bounded_by_self_similarity = 1.0, True
        if gamma is None:
            chosen = representatives(self.rows, MEDIAN_SAMPLE)
            norms = self._norms[chosen]
            squares = norms[:, None] + norms[None, :] - 2.0 * self.rows.gram(chosen, chosen)
            self.gamma = one_over_median(squares)
        else:
            self.gamma = positive(gamma)

    def _map(self, products: Floats, p: Floats, q: Floats) -> Floats:
        """From inner products and squared lengths to similarities, in place."""
        return _gaussian_of(products, p, q, self.gamma)

    def block(self, rows: Ints, cols: Ints) -> Floats:
        rows, cols = np.asarray(rows), np.asarray(cols)
        out = np.empty((rows.size, cols.size))
        for part in row_blocks(rows.size, 8 * (cols.size + (0 if self.rows.sparse else 2 * self.rows.d))):
            products = self.rows.gram(rows[part], cols)
            out[part] = self._map(products, self._norms[rows[part]], self._norms[cols])
        return off_diagonal(out, rows, cols)

    def cross(self, new: Any, cols: Ints) -> Floats:
        arrivals, cols = Rows(new, center=self.rows.center), np.asarray(cols)
        products = arrivals.gram(np.arange(arrivals.n), cols, self.rows)
        return self._map(products, arrivals.square_norms(), self._norms[cols])

    def between(self, P: Floats, Q: Floats) -> Floats:
        return gaussian(P, Q, self.gamma)


class Laplacian(Kernel):
    r"""Laplacian similarity :math:`\exp(-\gamma |x_i - x_j|_1)`.

    ``gamma=None`` takes one over the median city-block distance of a fixed sample of objects.
    """

    def __init__(self, X: Any, *, gamma: float | None = None) -> None:
        self.rows = Rows(_only_dense(X, "laplacian"))
        self.n, self.n_features = self.rows.n, self.rows.d
        self.self_similarity, self.bounded_by_self_similarity = 1.0, True
        if gamma is None:
            P = self.rows.take(representatives(self.rows, MEDIAN_SAMPLE))
            self.gamma = one_over_median(cdist(P, P, "cityblock"))
        else:
            self.gamma = positive(gamma)

    def between(self, P: Floats, Q: Floats) -> Floats:
        return laplacian(P, Q, self.gamma)


class Euclidean(Kernel):
    r"""Largest distance minus distance, :math:`M - |x_i - x_j|` with :math:`M = 2 \max_i |x_i - \bar x|`.

    ``offset="exact"`` takes the largest distance itself (all pairs are visited), a number is taken as M.
    """

    def __init__(self, X: Any, *, offset: str | float = "bound") -> None:
        X = _only_dense(X, "euclidean")
        self.rows = Rows(X, center=mean_row(X))
        self.n, self.n_features = self.rows.n, self.rows.d
        self._M = distance_offset(self.rows, self.rows.square_norms(), offset, power=1)
        self.offset = self.self_similarity = self._M
        self.bounded_by_self_similarity = True

    def between(self, P: Floats, Q: Floats) -> Floats:
        out: Floats = cdist(P, Q)
        np.subtract(self._M, out, out=out)
        return np.maximum(out, 0.0, out=out)  # rounding, for the farthest pair under offset="exact"


class Custom(Kernel):
    """A user's function of two sets of rows, which must be symmetric, finite and not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import chi2_kernel
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(np.array([[1.0, 0.0], [0.0, 1.0]]), affinity=chi2_kernel)
    >>> round(S.entry(0, 1), 4)
    0.1353
    """

    def __init__(self, X: Any, function: Callable[[Any, Any], Any]) -> None:
        self.rows = Rows(_only_dense(X, "a callable"))
        self.n, self.n_features = self.rows.n, self.rows.d
        self.function = function
        self._check()

    def between(self, P: Floats, Q: Floats) -> Floats:
        out = np.asarray(self.function(P, Q), dtype=np.float64)
        if out.shape != (len(P), len(Q)):
            raise ValueError(
                f"the affinity function was given {len(P)} and {len(Q)} rows and returned an array of "
                f"shape {out.shape} instead of ({len(P)}, {len(Q)})."
            )
        if not np.isfinite(out).all() or (out.size and out.min() < 0):
            raise ValueError("the affinity function returned NaN, infinite or negative similarities.")
        return out.copy() if not out.flags.owndata or not out.flags.writeable else out

    def _check(self) -> None:
        some = representatives(self.rows, 20)
        piece = self.block(some, some)
        # an object's similarity to its copy, from blocks of a few rows: all of them where they are few
        chosen = representatives(self.rows, SAMPLED_ABOVE)
        parts = np.array_split(chosen, -(-chosen.size // 16))
        own = [np.diag(self.between(P, P)) for P in (self.rows.take(part) for part in parts)]
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
        self._kernel = Custom(np.arange(n, dtype=np.float64)[:, None], self._numbered)
        self.self_similarity = self._kernel.self_similarity

    def _numbered(self, P: Floats, Q: Floats) -> Any:
        return self.function(P[:, 0].astype(np.int64), Q[:, 0].astype(np.int64))

    def block(self, rows: Ints, cols: Ints) -> Floats:
        return self._kernel.block(rows, cols)

    def cross(self, new: Any, cols: Ints) -> Floats:
        return self._kernel.cross(new, cols)


def _only_dense(X: Any, affinity: str) -> Any:
    if sp.issparse(X):
        raise ValueError(
            f"affinity {affinity} needs dense features; sparse features work with 'linear', 'cosine', "
            "'sqeuclidean', 'rbf' and 'nearest_neighbors'."
        )
    return X


def positive(gamma: Any) -> float:
    value = check_real("gamma", gamma)
    if value <= 0:
        raise ValueError(f"gamma must be positive, got {gamma!r}.")
    return value


def representatives(rows: Rows, k: int) -> Ints:
    """Up to k objects spread evenly along a fixed direction: the same whatever the objects' order."""
    return np.arange(rows.n) if rows.n <= k else evenly(rows.dot(direction(rows.d)), k)


def direction(d: int) -> Floats:
    """A fixed direction along which objects are spread."""
    return np.random.RandomState(0).normal(size=d)


def evenly(along: Floats, k: int) -> Ints:
    """k objects spread evenly by their place along a direction."""
    order = np.argsort(along, kind="stable")
    return np.sort(order[np.linspace(0, along.size - 1, k).astype(np.int64)])


def one_over_median(distances: Floats) -> float:
    """One over the median of the positive distances of different objects."""
    upper = distances[np.triu_indices(len(distances), 1)]
    positive = upper[upper > 0]
    return 1.0 / float(np.median(positive)) if positive.size else 1.0
