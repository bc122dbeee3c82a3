"""Small problems with ties: drawn data, and the same problem as a matrix of rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from brute_force import Matrix, Maxima, maxima_of
from dominantsets import DominantSetList, Similarity, as_similarity

KINDS = ("sqeuclidean", "linear", "cosine")
NOISE = (0.0, 0.0, 0.0, 1e-10, 1e-13)
UNIT_ROWS = np.array([[3, 4], [4, 3], [5, 0], [0, 5], [-3, 4], [-4, -3], [3, -4], [-5, 0]])  # of length 5


def draw(rng: np.random.Generator, largest: int = 6) -> tuple[Similarity, float, Matrix]:
    """A similarity of few features, a shift, and A - shift I in rationals of the numbers that were given.

    Whole numbers, evenly spaced rows, copies, one far object, and hardly more than rounding added to them.
    """
    n, d = int(rng.integers(2, largest + 1)), int(rng.integers(1, 4))
    kind = KINDS[rng.choice(3, p=[0.7, 0.2, 0.1])]
    if kind == "cosine":  # cosines of these rows are rational, but the rows of length 1 are rounded
        X = UNIT_ROWS[rng.integers(len(UNIT_ROWS), size=n)].astype(float)
        shift = float(rng.integers(-1, 8)) / float(rng.choice([1, 5, 25]))
        cosines = [[Fraction(int(a @ b), 25) + 1 for b in X] for a in X]
        return as_similarity(X, "cosine"), shift, _shifted(cosines, shift)
    X = rng.integers(-3, 4, (n, d)).astype(float)
    step = 1.0
    if rng.random() < 0.3:  # evenly spaced: J is exactly 1 for kappa = step^2 m (m^2 - 1) / 6
        step = float(rng.choice([1.0, 2.0, 0.5, 0.05]))
        X = step * np.arange(n)[:, None] * np.ones((1, d)) / float(rng.choice([1.0, 3.0]))
    if rng.random() < 0.3:
        X = X[rng.integers(n, size=n)]  # copies
    edge = None
    if kind == "sqeuclidean" and rng.random() < 0.5:  # a symmetric set, and one object exactly on its sphere
        half = rng.integers(-2, 3, (int(rng.integers(1, 3)), d))
        out = rng.integers(-4, 5, (int(rng.integers(1, 3)), d))
        X = np.vstack([half, -half, np.zeros((int(rng.integers(0, 2)), d)), out]).astype(float)
        squares = np.square(X).sum(axis=1)
        n, edge = len(X), float((squares[-1] - squares[: len(X) - len(out)]).sum())
    if kind == "linear":
        X = np.abs(X)
    elif rng.random() < 0.15 and n > 2:
        X[0] = float(rng.choice([100.0, 1e4]))
    noise = float(rng.choice(NOISE))
    X = X + noise * rng.normal(size=X.shape) if kind == "sqeuclidean" else X
    rows = [[Fraction(float(v)) for v in row] for row in X]
    if kind == "linear":
        offset = float(rng.integers(1, 4))
        A = [[sum((a * b for a, b in zip(u, v, strict=True)), Fraction(offset)) for v in rows] for u in rows]
        shift = float(rng.integers(0, 20))
        return as_similarity(X, "linear", offset=offset), shift, _shifted(A, shift)
    D = [[sum(((a - b) ** 2 for a, b in zip(u, v, strict=True)), Fraction(0)) for v in rows] for u in rows]
    offset = float(np.ceil(float(max(map(max, D)))) + rng.integers(0, 3))
    kappa = float(
        rng.choice([rng.integers(1, 60) * step**2, rng.integers(2, 9) * (rng.integers(2, 9) ** 2 - 1)])
    )
    kappa = edge if edge is not None and edge > 0.0 else kappa
    shift = kappa - offset if edge is not None or rng.random() < 0.8 else float(rng.integers(0, 9))
    A = [[Fraction(offset) - v for v in row] for row in D]
    return as_similarity(X, "sqeuclidean", offset=offset), shift, _shifted(A, shift)


def draw_path(rng: np.random.Generator, largest: int = 6) -> tuple[Similarity, float, Matrix]:
    """As ``draw``, of a path-based similarity: few distances, in a unit that is rounded or not, and noise."""
    n = int(rng.integers(2, largest + 1))
    if rng.random() < 0.3:
        x = rng.integers(0, rng.integers(2, 12), n)
        D = np.abs(x[:, None] - x[None])
    else:
        D = rng.integers(0, rng.integers(2, 8), (n, n))
        D = np.triu(np.maximum(D, rng.random((n, n)) < 0.8), 1)
        D = D + D.T
    unit = float(rng.choice([1.0, 1.0, 0.125, 0.1, 1.0 / 3.0]))
    noise = np.triu(float(rng.choice(NOISE)) * rng.normal(size=(n, n)), 1)
    P = np.abs(unit * D + noise + noise.T)
    np.fill_diagonal(P, 0.0)
    shift = unit * float(rng.integers(-3, 16))
    S = as_similarity(P, "path", metric="precomputed")
    for k in range(n):  # minimax distances: no arithmetic, hence no rounding
        P = np.minimum(P, np.maximum(P[:, k][:, None], P[k][None]))
    top = float(P.max()) or 1.0
    A = [[Fraction(top) - Fraction(float(v)) for v in row] for row in P]
    return S, shift, _shifted(A, shift)


def _shifted(A: Matrix, shift: float) -> Matrix:
    return [[-Fraction(shift) if i == j else v for j, v in enumerate(row)] for i, row in enumerate(A)]


def complaints(found: DominantSetList, B: Matrix, maxima: Maxima | None = None) -> list[Any]:
    """What a list says and is not so: sets that are none, and, where it is complete, sets that it lacks."""
    strict = maxima_of(B)[0] if maxima is None else maxima
    wrong: list[Any] = []
    left = set(strict)
    for one in found:
        if not one.strict:
            continue
        members, undecided = set(one.members.tolist()), set(one.undecided.tolist())
        fits = [S for S in left if members - undecided <= set(S) <= members | undecided]
        if not fits:
            wrong.append(("none", sorted(members), sorted(undecided)))
            continue
        x = np.zeros(len(B))
        x[one.members] = one.weights
        near = [S for S in fits if np.abs(x - _dense(S, strict[S][0], len(B))).max() < 1e-4]
        if not near:
            wrong.append(("weights", sorted(members), fits))
            continue
        left.remove(near[0])
    if found.complete:
        wrong += [("missing", S) for S in left]
    return wrong


def _dense(S: tuple[int, ...], weights: list[Fraction], n: int) -> npt.NDArray[np.float64]:
    x = np.zeros(n)
    x[list(S)] = [float(w) for w in weights]
    return x
