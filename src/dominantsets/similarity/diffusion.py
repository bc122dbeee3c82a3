"""Similarity by where random walks on the graph of nearest neighbours lead."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from dominantsets._checks import check_int
from dominantsets._typing import Floats
from dominantsets.rows.memory import FormulaRows, InMemory, formula_rows
from dominantsets.similarity.formulas import COSINE
from dominantsets.similarity.low_rank import LowRank
from dominantsets.similarity.neighbors import Neighbors

COMPONENTS, STEPS = 20, 16  # benchmarks/quality.py says on what they were chosen
DENSE_LIMIT = 400  # objects up to which all eigenvectors are found at once
FAINT = 0.1  # eigenvalues below which a new object's coordinate is not scaled up


class Diffusion(LowRank):
    r"""Cosine of diffusion coordinates, plus 1.

    With G the symmetrised graph of the k nearest neighbours (:class:`Neighbors`) and P its random walk,
    :math:`P \psi_l = \lambda_l \psi_l`, an object i has the coordinates
    :math:`((1 + \lambda_l) / 2)^t \psi_l(i)`: t steps of a walk that rests every other time, without the
    constant :math:`\psi_0`. Objects are alike where walks from them lead to the same places, whatever the
    shape of the group: for images, embeddings and other data on curved surfaces. New objects get the
    mean of their neighbours' coordinates, divided by :math:`\lambda_l`.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> X = np.repeat([[0.0], [100.0]], 20, axis=0) + np.tile(np.arange(20.0), 2)[:, None]
    >>> S = as_similarity(X, "diffusion", n_neighbors=6, n_components=1)
    >>> round(S.entry(0, 19), 6), abs(round(S.entry(0, 20), 6))  # two groups, one coordinate
    (2.0, 0.0)
    """

    def __init__(
        self,
        X: Any,
        *,
        n_neighbors: int | None = None,
        n_components: int = COMPONENTS,
        steps: int = STEPS,
        n_jobs: int | None = None,
        search: str = "auto",
    ) -> None:
        count = check_int("n_components", n_components, at_least=1)
        steps = check_int("steps", steps, at_least=0)
        self._graph = Neighbors(X, n_neighbors=n_neighbors, n_jobs=n_jobs, search=search)
        walk, self._psi = _walk(self._graph.matrix, min(count, max(1, self._graph.n - 1)))
        self._weights = (0.5 * (1.0 + walk)) ** steps
        self._back = np.where(walk > FAINT, 1.0 / np.maximum(walk, FAINT), 1.0)
        super().__init__(InMemory(self._psi * self._weights), COSINE)
        self.n_features = X.shape[1]

    def arrivals(self, new: Any) -> FormulaRows:
        nearest = self._graph.neighbors_of(new)
        means = (nearest @ self._psi) / np.maximum(np.asarray(nearest.sum(axis=1)).reshape(-1, 1), 1.0)
        return formula_rows(means * self._back * self._weights, self.recipe)


def _walk(G: sp.csr_array, count: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues of the graph's random walk but for one 1, and their right eigenvectors."""
    n = G.shape[0]
    degrees = np.asarray(G.sum(axis=1)).ravel()
    roots = np.sqrt(np.maximum(degrees, 1e-300))
    halves = sp.diags_array(np.where(degrees > 0, 1.0 / roots, 0.0))
    N = sp.csr_array(halves @ G @ halves)
    constant = roots / np.linalg.norm(roots)
    if n <= max(DENSE_LIMIT, 3 * count):
        values, vectors = eigh(N.toarray() - np.multiply.outer(constant, constant))
        values, vectors = values[-count:], vectors[:, -count:]
    else:
        # a multiple eigenvalue 1 is a graph of several components: only the constant is taken out
        def times(x: Floats) -> Floats:
            x = x.ravel()
            return np.asarray(N @ x - constant * (constant @ x))

        operator = LinearOperator((n, n), matvec=times, dtype=np.float64)
        start = np.random.RandomState(0).uniform(-1.0, 1.0, n)
        values, vectors = eigsh(operator, count, which="LA", v0=start, ncv=min(n, 3 * count + 10), tol=1e-6)
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order] / roots[:, None] * np.sqrt(degrees.sum())
