"""Random problems for soundness.py: what the library is given, and the same matrix in extended precision.

The matrix comes from the definition of each affinity in plain NumPy (long double, 64 bits of mantissa on
x86); of the library it takes only the constants that the library chose itself (offset, gamma). The graph of
nearest neighbours is the exception: its matrix is asked of the library, and only what is done with it is
checked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dominantsets import as_similarity

Long = np.longdouble
MATRICES = ("dense", "graph")
LOW_RANK = ("sqeuclidean", "cosine", "linear")
KERNELS = ("rbf", "laplacian", "euclidean")
KINDS = (*MATRICES, *LOW_RANK, *KERNELS, "path", "nearest_neighbors")
SPARSE = (*LOW_RANK, "rbf")  # affinities that take sparse rows
EXPONENTS = (0, 0, 0, 0, -8, 6, 140, -140)
LARGEST = 1e139  # of features: those of more than 1e140 in size are refused
STYLES = ("normal", "uniform", "integers", "tenths", "copies", "far", "grid")


class Case(NamedTuple):
    """One problem: what ``solve`` gets, the matrix by definition, and the largest number in it (unit)."""

    kind: str
    given: Any
    A: np.ndarray
    shift: float
    unit: float
    own: np.ndarray  # the similarity of each object to itself, which A has not on its diagonal


def numbers(rng: np.random.Generator, style: str, n: int, d: int) -> np.ndarray:
    """Features of one style; most have ties."""
    if style == "uniform":
        return rng.random((n, d))
    if style == "integers":
        return rng.integers(-3, 4, (n, d)).astype(float)
    if style == "tenths":
        return rng.integers(0, 8, (n, d)) / 10.0
    if style == "copies":
        return rng.normal(size=(max(1, n // 2), d))[rng.integers(0, max(1, n // 2), n)]
    if style == "far":
        return 1e6 + rng.normal(size=(n, d))
    if style == "grid":
        return np.stack(np.unravel_index(np.arange(n), (4, 4, 4, 4))[:d], axis=1).astype(float)
    return rng.normal(size=(n, d))


def matrix(rng: np.random.Generator, n: int) -> np.ndarray:
    """A symmetric similarity of numbers without sign, with a zero diagonal."""
    style = rng.integers(5)
    if style == 0:
        A = rng.random((n, n))
    elif style == 1:
        A = rng.integers(0, 5, (n, n)).astype(float)
    elif style == 2:
        A = rng.integers(0, 8, (n, n)) / 10.0
    elif style == 3:
        A = (rng.random((n, n)) < 0.6).astype(float)
    else:
        A = np.exp(3.0 * rng.normal(size=(n, n)))
    A = np.triu(A * (rng.random((n, n)) >= rng.choice([0.0, 0.3, 0.6])), 1)
    if not A.any() and n > 1:
        A[0, 1] = 1.0
    return A + A.T


def squares(X: np.ndarray) -> np.ndarray:
    return np.square(X[:, None, :] - X[None, :, :]).sum(axis=2)


def minimax(D: np.ndarray) -> np.ndarray:
    """The smallest of the longest steps over all chains between two objects."""
    P = D.copy()
    for k in range(len(P)):
        P = np.minimum(P, np.maximum.outer(P[:, k], P[k]))
    return P


def by_definition(kind: str, X: np.ndarray, S: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """The matrix of an affinity, its diagonal, and the largest number that its rounding is relative to."""
    Z = X.astype(Long)
    if kind == "sqeuclidean":
        A = Long(S.offset) - squares(Z)
    elif kind == "cosine":
        length = np.sqrt(np.square(Z).sum(axis=1))
        Z = np.divide(Z, length[:, None], out=np.zeros_like(Z), where=length[:, None] > 0)
        A = Z @ Z.T + Long(1)
    elif kind == "linear":
        A = Z @ Z.T + Long(S.offset)
    elif kind == "rbf":
        A = np.exp(-Long(S.gamma) * squares(Z))
    elif kind == "laplacian":
        A = np.exp(-Long(S.gamma) * np.abs(Z[:, None, :] - Z[None, :, :]).sum(axis=2))
    elif kind == "euclidean":
        A = np.maximum(Long(S.offset) - np.sqrt(squares(Z)), 0)
    elif kind == "path":
        A = Long(S.top) - minimax(np.sqrt(squares(Z)))
    else:
        A = S.toarray().astype(Long)
    own = A.diagonal().copy() if kind != "nearest_neighbors" else np.full(len(A), A.max())
    np.fill_diagonal(A, 0)
    unit = max(float(np.abs(A).max()), S.offset or 0.0)
    if kind in ("rbf", "laplacian"):  # the exponent is rounded first
        centred = np.abs(X - X.mean(axis=0)) if kind == "rbf" else np.abs(X)
        size = np.square(centred).sum(axis=1).max() if kind == "rbf" else 2.0 * centred.sum(axis=1).max()
        unit *= 1.0 + S.gamma * float(size)
    return A, own, unit


def draw(seed: int) -> Case | None:
    """Problem number ``seed``; None where the similarity is refused (no two objects are alike, say)."""
    rng = np.random.default_rng(seed)
    kind = KINDS[int(rng.integers(len(KINDS)))]
    n = int(rng.integers(2, 9)) if rng.random() < 0.7 else int(rng.integers(9, 41))
    exponent = int(rng.choice(EXPONENTS))
    if kind in MATRICES:
        A = matrix(rng, n) * 10.0**exponent
        if exponent == 0 and rng.random() < 0.2:
            A = A.astype(np.float32)
        given = sp.csr_array(A) if kind == "graph" else A
        exact = A.astype(Long)
        unit, own = float(exact.max()), np.full(n, exact.max())
    else:
        d = int(rng.integers(1, 5))
        style = str(rng.choice(STYLES))
        X = numbers(rng, style, n, d) * 10.0**exponent
        X *= min(1.0, LARGEST / max(float(np.abs(X).max()), 1e-300))
        X *= max(1.0, 1.0 / LARGEST / max(float(np.abs(X).max()), 1e-300)) if X.any() else 1.0
        params: dict[str, Any] = {}
        if kind == "linear":
            X, params = (np.abs(X), {}) if rng.random() < 0.5 else (X, {"offset": "bound"})
        if exponent == 0 and rng.random() < 0.2:
            X = X.astype(np.float32)
        if kind == "nearest_neighbors":
            params = {"n_neighbors": min(4, n - 1)}
        sparse = kind in SPARSE and rng.random() < 0.3
        if sparse and style != "far":
            X = X * (rng.random((n, d)) < 0.7)
        if not X.any():
            return None
        given = as_similarity(sp.csr_array(X) if sparse else X, kind, **params)
        exact, own, unit = by_definition(kind, X.astype(np.float64), given)
        if kind == "sqeuclidean" and (sparse or X.dtype == np.float32):
            # the centre enters as a correction there, which is rounded too
            length = float(np.sqrt(np.square(X.astype(np.float64)).sum(axis=1).max()))
            unit += 2.0 * length * (length if sparse else float(np.sqrt(unit)))
    if not float(exact.max()) > 1e-9 * unit:  # two objects: the offset is their distance
        return None
    top = float(exact.max())
    shift = float(rng.choice([0.0, 0.0, 0.1, 1.0, 2.0, 5.0, 30.0, -0.1, -0.5, -0.9, -2.0])) * top
    return Case(kind, given, exact, shift, max(unit, abs(shift)), own)
