"""Features under a kernel that has no low-rank form: computed piece by piece, never kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from dominantsets._checks import real
from dominantsets.similarity.base import Floats, Ints, Similarity, off_diagonal, spans
from dominantsets.similarity.low_rank import distance_offset
from dominantsets.similarity.rows import Rows, mean_row

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
        for part in spans(rows.size, 8 * (cols.size + 2 * self.rows.d)):
            out[part] = self.between(self.rows.take(rows[part]), Q)
        return off_diagonal(out, rows, cols)

    def cross(self, new: Any, cols: Ints) -> Floats:
        arrivals = Rows(new, center=self.rows.center)
        return self.between(arrivals.take(slice(None)), self.rows.take(np.asarray(cols)))

    def degrees(self, random_state: int | np.random.RandomState | None = 0) -> Floats:
        if self.n <= SAMPLED_ABOVE:
            return super().degrees()
        chosen = check_random_state(random_state).choice(self.n, SAMPLE, replace=False)
        every, chosen = np.arange(self.n), np.sort(chosen)
        total, squares = np.zeros(self.n), np.zeros(self.n)
        for rows in spans(self.n, 8 * SAMPLE):
            piece = self.block(every[rows], chosen)
            total[rows] = piece.sum(axis=1)
            squares[rows] = np.einsum("ij,ij->i", piece, piece)
        mean = total / SAMPLE
        variance = np.maximum(squares / SAMPLE - mean**2, 0.0) * (1.0 - SAMPLE / self.n)
        self.degrees_error = float(np.sqrt(variance.max() / SAMPLE)) * self.n
        return mean * self.n


class Rbf(Kernel):
    r"""Gaussian similarity :math:`\exp(-\gamma |x_i - x_j|^2)`.

    ``gamma=None`` takes one over the median squared distance of a fixed sample of objects.

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
        self.n = self.rows.n
        self.gamma = _median_rule(self, "sqeuclidean") if gamma is None else _positive(gamma)
        self.peak = 1.0

    def between(self, P: Floats, Q: Floats) -> Floats:
        out = P @ Q.T
        out *= -2.0
        out += np.einsum("ij,ij->i", P, P)[:, None]
        out += np.einsum("ij,ij->i", Q, Q)[None, :]
        np.maximum(out, 0.0, out=out)
        out *= -self.gamma
        return np.exp(out, out=out)


class Laplacian(Kernel):
    r"""Laplacian similarity :math:`\exp(-\gamma |x_i - x_j|_1)`.

    ``gamma=None`` takes one over the median city-block distance of a fixed sample of objects.
    """

    def __init__(self, X: Any, *, gamma: float | None = None) -> None:
        self.rows = Rows(_only_dense(X, "laplacian"))
        self.n = self.rows.n
        self.gamma = _median_rule(self, "cityblock") if gamma is None else _positive(gamma)
        self.peak = 1.0

    def between(self, P: Floats, Q: Floats) -> Floats:
        out: Floats = cdist(P, Q, "cityblock")
        out *= -self.gamma
        return np.exp(out, out=out)


class Euclidean(Kernel):
    r"""Largest distance minus distance, :math:`M - |x_i - x_j|` with :math:`M = 2 \max_i |x_i - \bar x|`.

    ``offset="exact"`` takes the largest distance itself (all pairs are visited), a number is taken as M.
    """

    def __init__(self, X: Any, *, offset: str | float = "bound") -> None:
        X = _only_dense(X, "euclidean")
        self.rows = Rows(X, center=mean_row(X))
        self.n = self.rows.n
        self._M = distance_offset(self.rows, self.rows.square_norms(), offset, power=1)
        self.offset = self.peak = self._M

    def between(self, P: Floats, Q: Floats) -> Floats:
        out: Floats = cdist(P, Q)
        return np.subtract(self._M, out, out=out)


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
        self.n = self.rows.n
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
        some = np.unique(np.linspace(0, self.n - 1, min(self.n, 20)).astype(np.int64))
        piece = self.block(some, some)
        self.peak = float(piece.max())
        apart = float(np.abs(piece - piece.T).max())
        if apart > 1e-8 * float(piece.max()):
            raise ValueError(
                f"the affinity function is not symmetric: f(a, b) and f(b, a) differ by {apart:.6g} "
                "on a sample of the objects."
            )


class Indexed(Similarity):
    """A user's function of two arrays of object numbers, for data that only the user can reach."""

    def __init__(self, n: int, function: Callable[[Any, Any], Any]) -> None:
        self.n = n
        self.function = function
        self._kernel = Custom(np.arange(n, dtype=np.float64)[:, None], self._numbered)
        self.peak = self._kernel.peak

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


def _positive(gamma: Any) -> float:
    value = real("gamma", gamma)
    if value <= 0:
        raise ValueError(f"gamma must be positive, got {gamma!r}.")
    return value


def _median_rule(kernel: Kernel, metric: str) -> float:
    chosen = np.random.RandomState(0).permutation(kernel.n)[:MEDIAN_SAMPLE]
    P = kernel.rows.take(np.sort(chosen))
    distances = cdist(P, P, metric)[np.triu_indices(len(P), 1)]
    positive = distances[distances > 0]
    return 1.0 / float(np.median(positive)) if positive.size else 1.0
