"""Local maxima of a standard quadratic problem by trying every support, in exact rational arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

Matrix = list[list[Fraction]]


def minimax(D: Any) -> list[list[int]]:
    """All-pairs minimax distances by the Floyd-Warshall recursion."""
    n = len(D)
    P = [[int(v) for v in row] for row in D]
    for k, i, j in itertools.product(range(n), repeat=3):
        P[i][j] = min(P[i][j], max(P[i][k], P[k][j]))
    return P


def solve(M: Matrix, b: list[Fraction]) -> list[Fraction] | None:
    """Gauss-Jordan elimination; None for a singular matrix."""
    n = len(M)
    A = [[*row, right] for row, right in zip(M, b, strict=True)]
    for c in range(n):
        pivot = next((r for r in range(c, n) if A[r][c] != 0), None)
        if pivot is None:
            return None
        A[c], A[pivot] = A[pivot], A[c]
        A[c] = [v / A[c][c] for v in A[c]]
        for r in range(n):
            if r != c and A[r][c] != 0:
                A[r] = [x - A[r][c] * y for x, y in zip(A[r], A[c], strict=True)]
    return [A[r][n] for r in range(n)]


def determinant(M: Matrix) -> Fraction:
    M = [row[:] for row in M]
    product = Fraction(1)
    for c in range(len(M)):
        pivot = next((r for r in range(c, len(M)) if M[r][c] != 0), None)
        if pivot is None:
            return Fraction(0)
        if pivot != c:
            M[c], M[pivot] = M[pivot], M[c]
            product = -product
        product *= M[c][c]
        for r in range(c + 1, len(M)):
            factor = M[r][c] / M[c][c]
            M[r] = [x - factor * y for x, y in zip(M[r], M[c], strict=True)]
    return product


def strictly_copositive(W: Matrix) -> bool:
    """Keller's criterion, over all principal submatrices."""
    for size in range(1, len(W) + 1):
        for rows in itertools.combinations(range(len(W)), size):
            M = [[W[i][j] for j in rows] for i in rows]
            cofactors = [
                (-1) ** (size - 1 + j)
                * (determinant([row[:j] + row[j + 1 :] for row in M[:-1]]) if size > 1 else Fraction(1))
                for j in range(size)
            ]
            if all(c > 0 for c in cofactors) and determinant(M) <= 0:
                return False
    return True


def eliminate(Q: Matrix, k: int) -> Matrix | None:
    """Schur complement of the first k variables; None where they are not positive definite."""
    Q = [row[:] for row in Q]
    for c in range(k):
        if Q[c][c] <= 0:
            return None
        for i in range(c + 1, len(Q)):
            factor = Q[i][c] / Q[c][c]
            Q[i] = [x - factor * y for x, y in zip(Q[i], Q[c], strict=True)]
    return [row[k:] for row in Q[k:]]


Maxima = dict[tuple[int, ...], tuple[list[Fraction], Fraction]]


def local_maxima(D: Any, shift: Any) -> tuple[Maxima, set[tuple[int, ...]]]:
    """Maxima for similarities max(D) - D: strict ones (value: f + shift), and supports of weak ones."""
    n = len(D)
    top = max(max(row) for row in D)
    B = [[Fraction(-shift) if i == j else Fraction(top - D[i][j]) for j in range(n)] for i in range(n)]
    strict, weak = maxima_of(B)
    return {S: (x, f + shift) for S, (x, f) in strict.items()}, weak


def maxima_of(B: Matrix) -> tuple[Maxima, set[tuple[int, ...]]]:
    """Strict local maxima of x'Bx over the simplex (support: weights and value), and supports of weak ones.

    For each support the KKT system is solved; with T the outsiders that have the payoff f, the point is
    a strict maximum if the form -z'Bz is positive for all z with free entries on the support and entries
    >= 0 on T that sum to 0, which eliminating the free entries turns into strict copositivity on T.
    """
    n = len(B)
    strict, weak = {}, set()
    for size in range(1, n + 1):
        for S in itertools.combinations(range(n), size):
            system = [[B[i][j] for j in S] + [Fraction(-1)] for i in S]
            system.append([Fraction(1)] * size + [Fraction(0)])
            solution = solve(system, [Fraction(0)] * size + [Fraction(1)])
            if solution is None or any(v <= 0 for v in solution[:size]):
                continue
            x, f = solution[:size], solution[size]
            r = [sum((B[i][j] * w for j, w in zip(S, x, strict=True)), Fraction(0)) for i in range(n)]
            if max(r) > f:
                continue
            T = [i for i in range(n) if r[i] == f and i not in S]
            a, free = S[0], [*S[1:], *T]
            Q = [[-(B[i][j] - B[i][a] - B[a][j] + B[a][a]) for j in free] for i in free]
            W = eliminate(Q, size - 1)
            if W is None:
                continue
            if strictly_copositive(W):
                strict[S] = (x, f)
            else:
                for i in range(len(W)):  # copositive, as good as: strictly so with a little added
                    W[i][i] += Fraction(1, 10**6)
                if strictly_copositive(W):
                    weak.add(S)
    return strict, weak


def margin(D: list[list[int]], shift: int, S: tuple[int, ...], x: list[Fraction]) -> Fraction | float:
    """f minus the largest payoff of an object outside S; inf where there is none."""
    top = max(max(row) for row in D)
    outside = [i for i in range(len(D)) if i not in S]
    if not outside:
        return float("inf")

    def payoff(i: int) -> Fraction:
        return sum(
            (w * (-shift if i == j else top - D[i][j]) for j, w in zip(S, x, strict=True)), Fraction(0)
        )

    return payoff(S[0]) - max(payoff(i) for i in outside)


def equilibria(B: Matrix) -> dict[tuple[int, ...], tuple[list[Fraction], bool]]:
    """Symmetric Nash equilibria of a game (support: weights, and whether they are ESS), one for each support.

    Supports with more than one equilibrium are left out: none of those is an ESS.
    """
    n, found = len(B), {}
    for size in range(1, n + 1):
        for S in itertools.combinations(range(n), size):
            system = [[B[i][j] for j in S] + [Fraction(-1)] for i in S]
            system.append([Fraction(1)] * size + [Fraction(0)])
            solution = solve(system, [Fraction(0)] * size + [Fraction(1)])
            if solution is None or any(v <= 0 for v in solution[:size]):
                continue
            x, f = solution[:size], solution[size]
            r = [sum((B[i][j] * w for j, w in zip(S, x, strict=True)), Fraction(0)) for i in range(n)]
            if max(r) > f:
                continue
            ties = [i for i in range(n) if r[i] == f and i not in S]
            a, free = S[0], [*S[1:], *ties]
            half = [[(B[i][j] + B[j][i]) / 2 for j in range(n)] for i in range(n)]
            Q = [[-(half[i][j] - half[i][a] - half[a][j] + half[a][a]) for j in free] for i in free]
            W = eliminate(Q, size - 1)
            found[S] = (x, W is not None and strictly_copositive(W))
    return found
