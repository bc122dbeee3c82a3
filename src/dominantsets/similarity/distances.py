"""Similarity from a matrix of distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import check_choice, require_memory
from dominantsets._typing import Floats, Ints
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.dense import Dense, checked_distances
from dominantsets.similarity.path import REACH, Path


class FromDistances(Dense):
    r"""M - D, M - D² or :math:`\exp(-\gamma D^2)`, with :math:`1 / \gamma` the mean of the D².

    M is the largest of the D or D². New objects come as rows of distances to the n objects.
    """

    def __init__(self, D: Floats, then: str) -> None:
        n = len(D)
        require_memory(8 * n * n, f"the {n:,} × {n:,} similarities", "use then='path', which needs O(n)")
        self.then, self._top = then, float(D.max(initial=0.0)) or 1.0
        self._gamma = 1.0 / (float(np.square(D, dtype=np.float64).mean()) or 1.0)
        A = self._of(D)
        np.fill_diagonal(A, 0.0)
        own = {"euclidean": self._top, "sqeuclidean": self._top**2, "rbf": 1.0}[then]
        self.__dict__.update(Dense.made_here(0.5 * (A + A.T), own).__dict__)
        self.bounded_by_self_similarity = True

    def _of(self, D: Floats) -> Floats:
        """Similarities from distances."""
        if self.then == "euclidean":
            return np.asarray(self._top - D, dtype=np.float64)
        squares = np.square(D, dtype=np.float64)
        return np.asarray(
            self._top**2 - squares if self.then == "sqeuclidean" else np.exp(-self._gamma * squares)
        )

    def cross(self, new: Any, cols: Ints) -> Floats:
        D = np.asarray(new.toarray() if sp.issparse(new) else new, dtype=np.float64)
        return self._of(D[:, np.asarray(cols)])


def from_distances(D: Any, *, then: str = "euclidean", min_samples: int = REACH) -> Similarity:
    """Similarity from a matrix of distances.

    ``then="path"``: minimax distances, for groups of any shape (with mutual reachability by ``min_samples``;
    a sparse graph of distances always takes this, without it); ``"sqeuclidean"`` (M - D²) and ``"euclidean"``
    (M - D): round groups; ``"rbf"``: the same, far objects all alike.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> D = np.abs(np.subtract.outer([0.0, 1.0, 5.0], [0.0, 1.0, 5.0]))
    >>> as_similarity(D, "precomputed_distance").toarray()[0]
    array([0., 4., 0.])
    """
    check_choice("then", then, ("path", "sqeuclidean", "euclidean", "rbf"))
    if sp.issparse(D):
        return Path(D, metric="precomputed")
    if then == "path":
        return Path(D, metric="precomputed", min_samples=min(min_samples, max(1, len(D))))
    return FromDistances(checked_distances(D), then)
