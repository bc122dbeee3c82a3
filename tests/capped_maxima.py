"""Strict maxima of x'Bx over weights up to a cap: every pattern of bounds, in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from brute_force import Matrix, eliminate, solve, strictly_copositive

FLOOR, FREE, CAP = "0", "f", "c"


def strict_maxima(B: Matrix, cap: Fraction) -> list[list[Fraction]]:
    """The weights of all of them; at points without a free object ties count only where f is concave on them.

    KKT: payoffs are level on the free objects, not above at 0, not below at the cap. With objects T of that
    level at a bound, mass may only come to those at 0 and go from those at the cap: with the signs of the
    latter turned, the form that is left on T has to be strictly copositive.
    """
    n, found = len(B), []
    for pattern in product((FLOOR, FREE, CAP), repeat=n):
        zero, free, full = ([i for i in range(n) if pattern[i] == kind] for kind in (FLOOR, FREE, CAP))
        x = [cap if i in full else Fraction(0) for i in range(n)]
        if free:
            system = [[B[i][j] for j in free] + [Fraction(-1)] for i in free]
            system.append([Fraction(1)] * len(free) + [Fraction(0)])
            right = [-sum((B[i][j] * cap for j in full), Fraction(0)) for i in free]
            solution = solve(system, [*right, 1 - cap * len(full)])
            if solution is None or not all(0 < v < cap for v in solution[:-1]):
                continue
            for i, weight in zip(free, solution, strict=False):
                x[i] = weight
        elif cap * len(full) != 1:
            continue
        r = [sum((B[i][j] * x[j] for j in range(n)), Fraction(0)) for i in range(n)]
        if not free:
            high, low = max((r[i] for i in zero), default=None), min(r[i] for i in full)
            ties = [i for i in range(n) if r[i] == low] if high == low else [0]
            Q = [[-(B[i][j] - B[i][ties[0]] - B[ties[0]][j] + B[ties[0]][ties[0]]) for j in ties[1:]]
                 for i in ties[1:]]  # fmt: skip
            if (high is None or high <= low) and eliminate(Q, len(Q)) is not None:
                found.append(x)
            continue
        level = r[free[0]]
        if any(r[i] > level for i in zero) or any(r[i] < level for i in full):
            continue
        ties = [i for i in zero + full if r[i] == level]
        a, rest = free[0], free[1:] + ties
        sign = [-1 if i in full else 1 for i in rest]
        Q = [
            [-(B[i][j] - B[i][a] - B[a][j] + B[a][a]) * s * t for j, t in zip(rest, sign, strict=True)]
            for i, s in zip(rest, sign, strict=True)
        ]
        left = eliminate(Q, len(free) - 1)
        if left is not None and strictly_copositive(left):
            found.append(x)
    return found


def agree(members: set[int], undecided: set[int], support: set[int]) -> bool:
    """Whether members are those of a support, apart from undecided objects."""
    return members - undecided <= support <= members | undecided
