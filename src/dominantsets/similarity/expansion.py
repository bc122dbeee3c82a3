"""Similarities as products of rows, and upper bounds of their eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.faces import EPS

FEW = 1_000  # objects up to which a bound of the largest eigenvalue is that eigenvalue
ROUNDS, LOOKED_AT = 8, 20_000  # products that a bound of the largest eigenvalue takes; one, if they are dear
EXPANDED = 300  # objects up to which a matrix is written as products of rows, one for each eigenvector


class Expansion(NamedTuple):
    r"""Similarities as :math:`u_i \cdot u_j + b_i + b_j + m` off the diagonal, objects one after another.

    ``own`` is what this has on the diagonal, one number where all share it; ``error`` bounds what any entry
    is off.
    """

    rows: Floats
    bias: Floats
    own: Floats
    offset: float
    error: float


def by_eigenvectors(A: Floats, shift: float | Floats) -> Expansion:
    """A matrix with a zero diagonal as products of rows, with ``own + shift > 0``."""
    values, vectors = np.linalg.eigh(A)
    size = max(float(np.abs(values).max()), float(np.abs(shift).max()), 1e-300)
    own = max(-float(values[0]), 1e-3 * size - float(np.min(shift)))
    rows = vectors * np.sqrt(np.maximum(values + own, 0.0))
    off = rows @ rows.T - A
    off[np.diag_indices_from(off)] -= own
    error = float(np.abs(off).max()) + 4 * len(A) * EPS * (size + own)
    return Expansion(rows, np.zeros(len(A)), np.full(1, own), 0.0, error)


@dataclass
class Expandable:
    """A similarity written out as rows: for searches of the global optimum, of all sets, and for seeds."""

    of: Similarity

    def low_rank(self, objects: Ints, shift: float | Floats) -> bool:
        """Whether ``expanded`` writes any number of objects as rows of few columns."""
        return False

    def expanded(
        self, objects: Ints, shift: float | Floats, purpose: str = "the global optimum"
    ) -> Expansion:
        """Some objects in low-rank form with ``own + shift > 0``: here by eigenvectors of their matrix."""
        if objects.size > EXPANDED:
            raise ValueError(
                f"{purpose} of a {type(self.of).__name__} similarity is looked for among at most "
                f"{EXPANDED} objects, got {objects.size:,}; features with affinity 'sqeuclidean', 'cosine' "
                "or 'linear' and path-based similarity have no such limit."
            )
        return by_eigenvectors(self.of.block(objects, objects), shift)

    def top_outside(self, seeds: Ints) -> float:
        r"""A shift of the others above which every dominant set meets the seeds (docs/theory-seeds.md).

        An upper bound of :math:`x^T C x / |x|^2` for :math:`x \ge 0` on the others, with
        :math:`C = A - (1 a^T + a 1^T) / 2` and a the mean of the seeds' columns: its largest eigenvalue, for
        few objects. Else that of A, which has no negative entries, so that it is at most
        :math:`\max_i (A y)_i / y_i` for every y > 0, of which the smallest of some rounds counts.
        """
        others = np.setdiff1d(np.arange(self.of.n), seeds, assume_unique=True)
        if others.size <= FEW:
            a = self.of.block(others, seeds).mean(axis=1)
            values = np.linalg.eigvalsh(self.of.block(others, others) - 0.5 * np.add.outer(a, a))
            return float(values[-1] + 1e-9 * np.abs(values).max())
        y, top = np.ones(others.size), np.inf
        for _ in range(1 if self.of.costs_all_pairs and self.of.n > LOOKED_AT else ROUNDS):
            product = self.of.gradient(others, y)[others]
            top = min(top, float((product / y).max(initial=0.0)))
            # half of the last y keeps it positive, and from swinging between two sides
            y = 0.5 * y + 0.5 * product / max(float(product.max(initial=0.0)), 1e-300)
        return top * (1.0 + 1e-9)


@singledispatch
def expandable(similarity: Similarity) -> Expandable:
    """The expansion of a similarity; a kind with a cheaper one registers it here."""
    return Expandable(similarity)
