"""Claims checked in 50 digits, where numbers are not rational: hypergraphs, the first steps of solvers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np

DIGITS = 50
SAME = 1e-25  # numbers nearer than this, half of the digits, are taken as equal
NEAR = 1e-2  # how far from the answer its maximum may be, in weights


def strict_in_hypergraph(
    edges: Sequence[Sequence[int]], omega: Sequence[float], n: int, members: Sequence[int], x0: Any
) -> bool:
    """Whether the hypergraph has a strict maximum with these members near x0: by Newton's method on the face.

    Second-order conditions decide; a maximum that only higher derivatives show counts as none. Among objects
    of equal payoff only what is plain counts: a form without negative entries, or a definite one.
    """
    mpmath.mp.dps = DIGITS
    members = list(members)
    x = _stationary(edges, omega, n, members, x0)
    if x is None or min(x) <= SAME or max(abs(w - x0[i]) for w, i in zip(x, members, strict=True)) > NEAR:
        return False
    r, H = _derivatives(edges, omega, n, members, x)
    base, outside = members[0], [i for i in range(n) if i not in members]
    if any(r[i] > r[base] + SAME for i in outside):
        return False
    moving = [*members[1:], *(i for i in outside if abs(r[i] - r[base]) <= SAME)]
    Q = [[H[i][base] + H[base][j] - H[i][j] - H[base][base] for j in moving] for i in moving]
    W = _eliminated(Q, len(members) - 1)
    if W is None:
        return False
    plain = all(w > (SAME if i == j else -SAME) for i, row in enumerate(W) for j, w in enumerate(row))
    return plain or _eliminated(W, len(W)) is not None


def _stationary(
    edges: Sequence[Sequence[int]], omega: Sequence[float], n: int, members: list[int], x0: Any
) -> Any:
    """The stationary point of the face that Newton's method has from x0; None where it has none."""
    m = len(members)
    x = mpmath.matrix([mpmath.mpf(float(x0[i])) for i in members])
    for _ in range(100):
        r, H = _derivatives(edges, omega, n, members, x)
        f = mpmath.fdot(x, [r[i] for i in members])
        system = mpmath.matrix(m + 1)
        for p in range(m):
            for q in range(m):
                system[p, q] = H[members[p]][members[q]]
            system[p, m], system[m, p] = -1, 1
        right = mpmath.matrix([f - r[i] for i in members] + [1 - mpmath.fsum(x)])
        try:
            step = mpmath.lu_solve(system, right)
        except (ZeroDivisionError, TypeError):  # what mpmath raises where no pivot is left
            return None
        x = x + step[:m]
        size = mpmath.norm(step[:m], mpmath.inf)
        if size > 1:
            return None
        if size < mpmath.mpf(10) ** -(DIGITS - 12):
            return x
    return None


def _eliminated(Q: list[list[Any]], k: int) -> list[list[Any]] | None:
    """The Schur complement of the first k unknowns; None where they are not positive definite."""
    Q = [row[:] for row in Q]
    for c in range(k):
        if Q[c][c] <= SAME:
            return None
        for i in range(c + 1, len(Q)):
            factor = Q[i][c] / Q[c][c]
            Q[i] = [a - factor * b for a, b in zip(Q[i], Q[c], strict=True)]
    return [row[k:] for row in Q[k:]]


def _derivatives(
    edges: Sequence[Sequence[int]], omega: Sequence[float], n: int, members: list[int], x: Any
) -> tuple[list[Any], list[list[Any]]]:
    """First and second derivatives of the sum over edges of omega times the product of weights."""
    weight = dict(zip(members, x, strict=True))
    r, H = [mpmath.mpf(0)] * n, [[mpmath.mpf(0)] * n for _ in range(n)]
    for edge, w in zip(edges, omega, strict=True):
        for i in edge:
            r[i] += w * mpmath.fprod(weight.get(k, 0) for k in edge if k != i)
            for j in edge:
                if j != i:
                    H[i][j] += w * mpmath.fprod(weight.get(k, 0) for k in edge if k not in (i, j))
    return r, H


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
