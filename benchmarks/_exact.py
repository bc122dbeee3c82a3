"""Strict maxima in whole numbers: of the simplex, of capped weights, and evolutionarily stable strategies.

The entries of a problem are rationals (floats are), so a common multiple makes them whole, and elimination
without fractions (Bareiss) keeps them so: nothing is rounded, and sixty members take a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import Any, NamedTuple

import numpy as np

Rows = list[list[int]]
Move = tuple[int, int]  # weight goes to the first object from the second


def rational(a: Any) -> Fraction:
    """A float or a long double as a rational, exactly."""
    high = float(a)
    return Fraction(high) + Fraction(float(np.longdouble(a) - np.longdouble(high)))


def eliminated(M: Rows, k: int) -> Rows | None:
    """M with its first k unknowns eliminated, rows times positive numbers; None: a pivot is not positive.

    Pivots are the leading minors. So where M is symmetric, None means that its first k rows and columns are
    not positive definite, and what is left of the others is their Schur complement.
    """
    M, before = [row[:] for row in M], 1
    for c in range(k):
        pivot, upper = M[c][c], M[c]
        if pivot <= 0:
            return None
        for i in range(c + 1, len(M)):
            factor = M[i][c]
            M[i] = [(pivot * x - factor * y) // before for x, y in zip(M[i], upper, strict=True)]
        before = pivot
    return M


def solution(M: Rows, b: list[int]) -> tuple[list[int], int] | None:
    """z and d > 0 with M z = d b; None where a pivot is not positive."""
    n = len(M)
    done = eliminated([[*row, right] for row, right in zip(M, b, strict=True)], n)
    if done is None:
        return None
    d = done[n - 1][n - 1] if n else 1
    z = [0] * n
    for k in range(n - 1, -1, -1):
        known = sum(done[k][j] * z[j] for j in range(k + 1, n))
        z[k] = (d * done[k][n] - known) // done[k][k]
    return z, d


def determinant(M: Rows) -> int:
    M, before, sign = [row[:] for row in M], 1, 1
    for c in range(len(M)):
        row = next((i for i in range(c, len(M)) if M[i][c]), None)
        if row is None:
            return 0
        if row != c:
            M[c], M[row], sign = M[row], M[c], -sign
        for i in range(c + 1, len(M)):
            M[i] = [(M[c][c] * x - M[i][c] * y) // before for x, y in zip(M[i], M[c], strict=True)]
        before = M[c][c]
    return sign * before


def strictly_copositive(W: Rows) -> bool:
    """Keller: no principal submatrix has a determinant <= 0 and a last row of positive cofactors."""
    if any(W[i][i] <= 0 for i in range(len(W))):
        return False
    if min(map(min, W), default=0) >= 0 or eliminated(W, len(W)) is not None:
        return True
    for size in range(2, len(W) + 1):
        for rows in combinations(range(len(W)), size):
            M = [[W[i][j] for j in rows] for i in rows]
            if determinant(M) <= 0 and all(
                (-1) ** (size - 1 + j) * determinant([row[:j] + row[j + 1 :] for row in M[:-1]]) > 0
                for j in range(size)
            ):
                return False
    return True


class Face(NamedTuple):
    """The stationary point of a face: its objects, weights times ``d``, and all payoffs times ``d``."""

    objects: tuple[int, ...]
    weights: list[int]
    d: int
    payoffs: list[int]


class Form:
    """x'Bx over the simplex, or a game with payoffs B; weights up to 1/m where ``capped`` is given.

    B has the diagonal as it is subtracted: minus the shift, say.
    """

    def __init__(self, B: Iterable[Iterable[Fraction]]) -> None:
        rows = [list(row) for row in B]
        self.n, self.scale = len(rows), lcm(*(v.denominator for row in rows for v in row))
        self.B: Rows = [[int(v * self.scale) for v in row] for row in rows]
        self.symmetric = all(self.B[i][j] == self.B[j][i] for i in range(self.n) for j in range(i))
        self._known: dict[Any, bool] = {}

    @classmethod
    def of(cls, A: Any, diagonal: Sequence[Fraction]) -> Form:
        """Similarities (floats, long doubles or rationals) of different objects, and what the diagonal is."""
        n = len(A)
        exact = [[a if isinstance(a, Fraction) else rational(a) for a in row] for row in A]
        return cls([diagonal[i] if i == j else exact[i][j] for j in range(n)] for i in range(n))

    def bends(self, moves: Sequence[Move]) -> Rows:
        """Minus the form on combinations of moves; twice that of its symmetric part where it has another."""
        B = self.B

        def entry(g: Move, h: Move) -> int:
            return B[g[0]][h[1]] + B[g[1]][h[0]] - B[g[0]][h[0]] - B[g[1]][h[1]]

        if self.symmetric:
            return [[entry(g, h) for h in moves] for g in moves]
        return [[entry(g, h) + entry(h, g) for h in moves] for g in moves]

    def face(self, free: Sequence[int], capped: Sequence[int] = (), m: int = 1) -> Face | None:
        """The stationary point of a face on which the form is negative definite; None where it is not.

        ``capped`` objects have the weight 1/m.
        """
        base, others, B = free[0], free[1:], self.B
        moves = [(i, base) for i in others]
        C = self.bends(moves)
        if not self.symmetric:
            if eliminated(C, len(C)) is None:
                return None
            C = [[B[i][base] + B[base][j] - B[i][j] - B[base][base] for j in others] for i in others]
        left = m - len(capped)  # m times the weight of the free ones, all of it on one of them at first
        first = [left * B[i][base] + sum(B[i][c] for c in capped) for i in range(self.n)]
        solved = solution(C, [first[i] - first[base] for i in others])
        if solved is None:
            return None
        z, d = solved
        weights = [left * d - sum(z), *z]
        payoffs = [
            sum(B[i][j] * w for j, w in zip(free, weights, strict=True)) + d * sum(B[i][c] for c in capped)
            for i in range(self.n)
        ]
        return Face(tuple(free), weights, d, payoffs)

    def settled(self, members: Sequence[int], undecided: Sequence[int]) -> tuple[int, ...]:
        """Members of the maximum on members and undecided objects, one leaving or joining at a time.

        Where the form is negative definite on all of them this ends there; elsewhere it is only a guess.
        """
        support = sorted(members)
        for _ in range(4 * self.n):
            face = self.face(support)
            if face is None:
                break
            low = min(range(len(support)), key=face.weights.__getitem__)
            joins = [i for i in undecided if i not in support]
            best = max(joins, key=face.payoffs.__getitem__, default=support[0])
            if face.weights[low] <= 0:
                support.pop(low)
            elif face.payoffs[best] > face.payoffs[support[0]]:
                support = sorted([*support, best])
            else:
                break
        return tuple(support)

    def strict(self, members: Sequence[int], capped: Sequence[int] = (), m: int = 1) -> bool:
        """Whether these members (and those at the cap) are the support of a strict local maximum, or an ESS.

        That is so where no other object has a higher payoff (and none at the cap a lower one), and the form
        is negative for all moves among the members and for those that objects of equal payoff may make.
        """
        key = (tuple(members), tuple(capped), m)
        if key not in self._known:
            self._known[key] = self._strict(list(members), list(capped), m)
        return self._known[key]

    def _strict(self, members: list[int], capped: list[int], m: int) -> bool:
        free = [i for i in members if i not in capped]
        outside = [i for i in range(self.n) if i not in members]
        if not free:
            r = [sum(row[c] for c in capped) for row in self.B]
            least = min(r[c] for c in capped)
            most = max((r[i] for i in outside), default=least - 1)
            ties = [(i, c) for i in outside for c in capped if r[i] == r[c] == least]
            return most < least or (most == least and strictly_copositive(self.bends(ties)))
        face = self.face(free, capped, m)
        if face is None or min(face.weights) <= 0 or (m > 1 and max(face.weights) >= face.d):
            return False
        r, level = face.payoffs, face.payoffs[free[0]]
        if any(r[i] > level for i in outside) or any(r[c] < level for c in capped):
            return False
        ties = [(i, free[0]) for i in outside if r[i] == level]
        ties += [(free[0], c) for c in capped if r[c] == level]
        if not ties:
            return True
        left = eliminated(self.bends([*((i, free[0]) for i in free[1:]), *ties]), len(free) - 1)
        assert left is not None
        return strictly_copositive([row[len(free) - 1 :] for row in left[len(free) - 1 :]])

    def faces(self) -> Iterator[Face]:
        """Every face with a negative definite form and positive weights: a larger one has no other parts."""
        waiting = [(i,) for i in range(self.n)]
        while waiting:
            objects = waiting.pop()
            face = self.face(objects)
            if face is None:
                continue
            if min(face.weights) > 0:
                yield face
            waiting += [(*objects, i) for i in range(objects[-1] + 1, self.n)]

    def all_strict(self) -> list[tuple[int, ...]]:
        """The supports of all strict local maxima."""
        return [face.objects for face in self.faces() if self.strict(face.objects)]

    def best(self) -> Fraction:
        """The highest value: a highest point of fewest objects has a negative definite face."""
        return max(Fraction(face.payoffs[face.objects[0]], face.d * self.scale) for face in self.faces())

    def numbers(self, x: dict[int, Fraction]) -> tuple[Fraction, list[Fraction]]:
        """f and all payoffs at weights."""
        r = [sum((row[j] * w for j, w in x.items()), Fraction(0)) / self.scale for row in self.B]
        return sum((r[i] * w for i, w in x.items()), Fraction(0)), r
