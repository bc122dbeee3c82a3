"""What an answer claims, against the exact problem: each claim by its name, and whether it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np

from _exact import Form

EPS = float(np.finfo(np.float64).eps)
SLACK = 64.0  # rounding of a number, in eps times the largest number of the problem
PROVEN = Fraction(1e-6)  # of the unit: how far below the best a proven answer may be
EVERY = 8  # objects up to which all supports are looked at
MANY = 8  # undecided objects up to which every choice among them is tried

Claim = tuple[str, bool]


class Problem(Form):
    """A form with the shift in it, and kappa: the shift plus the similarity of each object to itself."""

    def __init__(self, A: Any, shift: Fraction, own: list[Fraction], more: list[Fraction] | None = None):
        n = len(own)
        exact = [[Fraction(v) for v in row] for row in A]
        self.shift = shift
        self.shifts = [shift + v for v in more or [Fraction(0)] * n]
        self.kappa = [self.shifts[i] + own[i] for i in range(n)]
        super().__init__([-self.shifts[i] if i == j else exact[i][j] for j in range(n)] for i in range(n))

    @cached_property
    def highest(self) -> Fraction:
        """The largest f of all points."""
        return self.best()

    @cached_property
    def slack(self) -> Fraction:
        """What rounding may do to a number."""
        most = Fraction(max(abs(v) for row in self.B for v in row), self.scale)
        return Fraction(SLACK * EPS) * max(most, abs(self.shift))

    def at(self, found: Any) -> tuple[Fraction, Fraction, Fraction]:
        """f, the gap and the unit at the weights of an answer."""
        given = [Fraction(float(w)) for w in found.weights]
        whole = sum(given, Fraction(0))
        x = {int(i): w / whole for i, w in zip(found.members, given, strict=True)}
        f, r = self.numbers(x)
        unit = sum((self.kappa[i] * w * w for i, w in x.items()), Fraction(0))
        return f, max(r) - f, max(unit, Fraction(0))


def whole(X: Any) -> list[list[Fraction]]:
    return [[Fraction(float(v)) for v in row] for row in X]


def of_rows(X: np.ndarray, S: Any, shift: float, linear: bool = False, **more: Any) -> Problem:
    """M - D² or x'y + M of rows."""
    rows, M = whole(X), Fraction(float(S.offset))
    if linear:
        A = [[sum((a * b for a, b in zip(x, y, strict=True)), M) for y in rows] for x in rows]
    else:
        A = [[M - sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in rows] for x in rows]
    return Problem(A, Fraction(shift), [A[i][i] for i in range(len(rows))], **more)


def of_matrix(A: np.ndarray, shift: float, **more: Any) -> Problem:
    return Problem(whole(A), Fraction(shift), [Fraction(float(A.max()))] * len(A), **more)


def of_path(X: np.ndarray, S: Any, shift: float) -> Problem:
    """Top less the smallest longest step between two numbers; distances are floats, as a tree has them."""
    x, n = [float(v) for v in X[:, 0]], len(X)
    D = [[Fraction(abs(a - b)) for b in x] for a in x]
    for k in range(n):
        D = [[min(D[i][j], max(D[i][k], D[k][j])) for j in range(n)] for i in range(n)]
    top = Fraction(float(S.top))
    return Problem([[top - d for d in row] for row in D], Fraction(shift), [top] * n)


def undecided_of(found: Any) -> list[int]:
    """Objects that rounding cannot place; versions before this field take them as placed."""
    return [int(i) for i in getattr(found, "undecided", ())]


def supports_of(found: Any, form: Form | None = None) -> Iterator[tuple[int, ...]]:
    """The supports that an answer may stand for: its members, with or without any undecided object.

    Where these are many, the maximum of the form among all of them says which.
    """
    members, open_ones = {int(i) for i in found.members}, undecided_of(found)
    core = members.difference(open_ones)
    sizes = range(len(open_ones) + 1) if len(open_ones) <= MANY else (0, len(open_ones))
    for some in chain.from_iterable(combinations(open_ones, k) for k in sizes):
        if core.union(some):
            yield tuple(sorted(core.union(some)))
    yield tuple(sorted(members))
    if len(open_ones) > MANY and form is not None:
        yield form.settled(sorted(members), open_ones)


def strictness(
    found: Any,
    is_strict: Callable[[tuple[int, ...]], bool],
    word: str = "strict",
    form: Form | None = None,
) -> Iterator[Claim]:
    """True: a strict maximum has these members, up to undecided ones. False: none has just these."""
    claim = getattr(found, word)
    if claim is True:
        yield word, any(map(is_strict, supports_of(found, form)))
    elif claim is False:
        yield f"not {word}", not is_strict(tuple(int(i) for i in found.members))


def answer(found: Any, problem: Problem, tol: float = 1e-10) -> Iterator[Claim]:
    """What a DominantSet claims: convergence, strictness, and how much better another point may be."""
    yield from strictness(found, problem.strict, form=problem)
    f, gap, unit = problem.at(found)
    if found.status.value == "converged":
        yield "converged", gap <= Fraction(tol) * unit + problem.slack
    if found.global_gap is not None and problem.n <= EVERY:
        yield "best", problem.highest - f <= Fraction(float(found.global_gap)) + problem.slack
        if found.proven:
            yield "proven", problem.highest - f <= PROVEN * unit + problem.slack


def optimum(found: Any, problem: Problem) -> Iterator[Claim]:
    """What a GlobalOptimum and its cluster claim; the bound has what rounding may do in it already."""
    yield from answer(found.cluster, problem)
    yield "bound", problem.highest + problem.shift <= Fraction(float(found.bound))
    if found.proven:
        f, _, unit = problem.at(found.cluster)
        yield "proven best", problem.highest - f <= PROVEN * unit + problem.slack


def listed(found: Any, problem: Problem) -> Iterator[Claim]:
    """What a DominantSetList and its sets claim: every strict maximum is one of them."""
    for one in found.clusters:
        yield from strictness(one, problem.strict, form=problem)
    if found.complete:
        there = {support for one in found.clusters for support in supports_of(one)}
        yield "complete", there.issuperset(problem.all_strict())
