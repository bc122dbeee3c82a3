"""Claims checked without floating point: in rationals, and steps in 50 digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np

DIGITS = 50


def rational(a: np.longdouble) -> Fraction:
    """A long double as a rational, exactly."""
    high = float(a)
    return Fraction(high) + Fraction(float(a - np.longdouble(high)))


def eliminate(M: list[list[Fraction]], b: list[Fraction]) -> list[Fraction] | None:
    """The solution of M z = b for a positive definite M; None where M is not: a pivot is not positive."""
    n = len(M)
    M = [[*row, right] for row, right in zip(M, b, strict=True)]
    for k in range(n):
        if M[k][k] <= 0:
            return None
        for i in range(k + 1, n):
            factor = M[i][k] / M[k][k]
            if factor:
                M[i] = [x - factor * y for x, y in zip(M[i], M[k], strict=True)]
    z = [Fraction(0)] * n
    for k in range(n - 1, -1, -1):
        z[k] = (M[k][n] - sum((M[k][j] * z[j] for j in range(k + 1, n)), Fraction(0))) / M[k][k]
    return z


def strict(A: np.ndarray, shift: float, members: np.ndarray) -> bool:
    """Whether these members are the support of a strict maximum with a positive margin.

    In the basis e_k - e_0 of the face the form is -C; where C is positive definite the stationary point is
    x = e_0 + sum z_k (e_k - e_0) with C z the derivatives at e_0.
    """
    n, a = len(A), Fraction(shift)
    first, others = int(members[0]), [int(i) for i in members[1:]]

    def entry(i: int, j: int) -> Fraction:
        return -a if i == j else rational(A[i, j])

    corner = entry(first, first)
    edge = [entry(i, first) for i in others]
    C = [
        [-(entry(i, j) - edge[p] - edge[q] + corner) for q, j in enumerate(others)]
        for p, i in enumerate(others)
    ]
    z = eliminate(C, [e - corner for e in edge])
    if z is None:
        return False
    x = [1 - sum(z, Fraction(0)), *z]
    if min(x) <= 0:
        return False
    support = [first, *others]

    def payoff(i: int) -> Fraction:
        return sum((entry(i, j) * w for j, w in zip(support, x, strict=True)), Fraction(0))

    f = payoff(first)
    return all(payoff(i) < f for i in range(n) if i not in set(support))


class Steps:
    """The Frank-Wolfe rules of the paper from one object on, in 50 digits."""

    def __init__(self, A: np.ndarray, shift: float, rule: str, start: int) -> None:
        mpmath.mp.dps = DIGITS
        n = len(A)
        self.rule, self.unit = rule, mpmath.mpf(float(np.abs(A).max())) + abs(mpmath.mpf(shift))
        self.B = [[mpmath.mpf(float(A[i, j])) for j in range(n)] for i in range(n)]
        for i in range(n):
            self.B[i][i] = -mpmath.mpf(shift)
        self.x = [mpmath.mpf(int(i == start)) for i in range(n)]
        self.r = [row[start] for row in self.B]
        self.f = self.r[start]

    @property
    def gap(self) -> mpmath.mpf:
        return max(self.r) - self.f

    def step(self, tie: float = 1e-9) -> bool:
        """One step; False where none is left, or where rounding would choose between two."""
        r, f, x, B = self.r, self.f, self.x, self.B
        support = [i for i, w in enumerate(x) if w > 0]
        i, j = max(range(len(r)), key=r.__getitem__), min(support, key=r.__getitem__)
        near = tie * self.unit
        if r[i] - f <= near or sum(r[k] >= r[i] - near for k in range(len(r))) > 1:
            return False
        if self.rule != "fw" and sum(r[k] <= r[j] + near for k in support) > 1:
            return False
        if self.rule == "away" and abs((r[i] - f) - (f - r[j])) <= near and len(support) > 1:
            return False
        if self.rule == "pairwise":
            direction, rise, most = {i: 1, j: -1}, r[i] - r[j], x[j]
            bend, scale = B[i][i] + B[j][j] - 2 * B[i][j], 0
        elif self.rule == "fw" or r[i] - f >= f - r[j]:
            direction, rise, most, bend, scale = {i: 1}, r[i] - f, mpmath.mpf(1), B[i][i] - 2 * r[i] + f, -1
        else:
            direction, rise, most = {j: -1}, f - r[j], x[j] / (1 - x[j])
            bend, scale = f - 2 * r[j] + B[j][j], 1
        best = rise / -bend if bend < 0 else most + 1
        gamma = min(best, most)
        self.x = [(1 + scale * gamma) * w + gamma * direction.get(k, 0) for k, w in enumerate(x)]
        if best >= most:  # what leaves, leaves altogether
            gone = j if self.rule == "pairwise" or scale == 1 else None
            self.x = [
                mpmath.mpf(0) if k == gone or (scale == -1 and k != i) else w for k, w in enumerate(self.x)
            ]
        self.r = [mpmath.fdot(row, self.x) for row in B]
        self.f = mpmath.fdot(self.x, self.r)
        return True
