"""Matrices as products of rows, and upper bounds of their eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dominantsets._typing import Floats

EPS = float(np.finfo(np.float64).eps)


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


def top_of(A: Floats, a: Floats) -> float:
    """The largest eigenvalue of A - (1 a' + a 1') / 2, rounded up."""
    values = np.linalg.eigvalsh(A - 0.5 * np.add.outer(a, a))
    return float(values[-1] + 1e-9 * np.abs(values).max())


def top_by_products(product_with: Callable[[Floats], Floats], n: int, rounds: int) -> float:
    r"""An upper bound of the largest eigenvalue of a matrix without negative entries.

    It is at most :math:`\max_i (A y)_i / y_i` for every y > 0, of which the smallest of some rounds counts.
    """
    y, top = np.ones(n), np.inf
    for _ in range(rounds):
        product = product_with(y)
        top = min(top, float((product / y).max(initial=0.0)))
        # half of the last y keeps it positive, and from swinging between two sides
        y = 0.5 * y + 0.5 * product / max(float(product.max(initial=0.0)), 1e-300)
    return top * (1.0 + 1e-9)
