"""Problems at the edge, each kind with its own exact check: ties, flat faces, far objects, all claims.

A kind draws a problem, asks the library, and yields what was claimed and whether that is so in rationals of
the floats that were given (hypergraphs: in 50 digits).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from _claims import Claim, Problem, answer, listed, of_matrix, of_path, of_rows, optimum, strictness
from _digits import strict_in_hypergraph
from _exact import Form
from dominantsets import (
    DominantSets,
    as_similarity,
    dominant_sets,
    global_optimum,
    path_clusters,
    path_spectrum,
    solve,
    solve_asymmetric,
    solve_hypergraph,
)

Rng = np.random.Generator
MATRIX_SOLVERS = ("auto", "pairwise", "away", "working-set", "inimdyn", "shrink-expand")
NODES = 500  # boxes: a search that needs more of them proves nothing, and there are many problems
NEAR = (0.0, 0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3)  # of the edge itself


# what is drawn ------------------------------------------------------------------------------------------


def any_of(rng: Rng, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def start_of(rng: Rng, n: int) -> Any:
    return any_of(rng, "vertex", "barycenter", int(rng.integers(n)), rng.dirichlet(np.ones(n)))


def integer_matrix(rng: Rng, n: int, most: int = 3) -> np.ndarray:
    A = np.triu(rng.integers(0, most + 1, (n, n)), 1).astype(float)
    A[0, 1] = max(A[0, 1], 1.0)
    return A + A.T


def integer_rows(rng: Rng) -> tuple[np.ndarray, Any, float, bool]:
    """A few whole rows under sqeuclidean or linear, with a shift that makes ties."""
    n, d = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    X, linear = rng.integers(-2, 3, (n, d)).astype(float), rng.random() < 0.3
    if not np.ptp(X, axis=0).any():
        X[0, 0] += 1.0
    offset = float(np.square(X).sum(axis=1).max() if linear else 4 * np.square(X).sum(axis=1).max())
    S = as_similarity(X, "linear" if linear else "sqeuclidean", offset=offset)
    return X, S, float(rng.integers(-int(offset) + 1, 9)), linear


# kinds --------------------------------------------------------------------------------------------------


def spaced(rng: Rng) -> Iterator[Claim]:
    """Evenly spaced numbers: at kappa = h² m (m² - 1) / 6 the face of m of them is flat, J = 1.

    Half of them as people have them: decimals, and a decimal shift that just meets it.
    """
    m, more, near, start = int(rng.integers(2, 13)), 0, 0.0, "vertex"
    h, first = any_of(rng, 1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.01), any_of(rng, 0.0, 0.3, 1.7, 10.1, 1e3)
    plain = rng.random() < 0.5
    if not plain:
        h, first, near = rng.random(), rng.normal(), any_of(rng, *NEAR)
        more, start = any_of(rng, 0, 0, 1, 3), start_of(rng, m)
    X = (first + h * np.arange(m + more))[:, None]
    S = as_similarity(X, "sqeuclidean")
    shift = h * h * m * (m * m - 1) / 6 * (1.0 + near) - S.offset
    shift = round(shift, 6) if plain else shift
    start = start if isinstance(start, (str, int)) else np.append(start, np.zeros(more))
    yield from answer(solve(S, shift=shift, start=start), of_rows(X, S, shift))


def thresholds(rng: Rng) -> Iterator[Claim]:
    """Rows around 0, and others just as far from it as the ball reaches: kappa = m |t|² - sum |x|².

    As drawn an outsider has exactly the payoff f; half of them are a little off.
    """
    d = int(rng.integers(1, 3))
    Y = rng.integers(-2, 3, (int(rng.integers(1, 3)), d)).astype(float)
    inside = np.vstack([Y, -Y, np.zeros((int(rng.integers(0, 2)), d))])
    t = rng.integers(0, 4, d).astype(float)
    t[0] = max(t[0], np.abs(Y).max() + 1.0)
    X = np.vstack([inside, t, *([-t] * int(rng.integers(0, 2))), *([t] * int(rng.integers(0, 2)))])
    kappa = float(len(inside) * t @ t - np.square(inside).sum())
    if rng.random() < 0.5:
        X = X + any_of(rng, 0.0, 1e-10, 1e-13) * rng.normal(size=X.shape)
        kappa *= 1.0 + any_of(rng, *NEAR)
    S = as_similarity(X, "sqeuclidean", offset=float(np.ceil(4 * np.square(X).sum(axis=1).max())))
    yield from features(rng, X, S, kappa - S.offset)


def integers(rng: Rng) -> Iterator[Claim]:
    """Whole rows at whole shifts."""
    X, S, shift, linear = integer_rows(rng)
    yield from features(rng, X, S, shift, linear)


def features(rng: Rng, X: np.ndarray, S: Any, shift: float, linear: bool = False) -> Iterator[Claim]:
    """One set, the best set and all sets of a few rows."""
    problem = of_rows(X, S, shift, linear)
    yield from answer(solve(S, shift=shift, start=start_of(rng, len(X))), problem)
    yield from listed(dominant_sets(S, shift=shift, max_nodes=NODES), problem)
    yield from optimum(global_optimum(S, shift=shift, max_nodes=NODES), problem)


def nearly_null(rng: Rng) -> Iterator[Claim]:
    """1 - PP' with a nearly null vector v of the face with components 0.6^k: large pivots, a larger inverse.

    The rows of P have length 1, and P'x = P'v = 0, so that all of x + s v is stationary. A small multiple of
    a row that is orthogonal to all others, added to each in proportion to u with u.v = 1 and u.x = 0, makes x
    the maximum. One weight of x is 0, and rounding of the matrix moves the maximum to either side. The start
    is inside, where payoffs as they are computed look most level.
    """
    n = int(rng.integers(10, 19))
    v = rng.choice([-1.0, 1.0], n) * 0.6 ** np.arange(n)
    v[0] = -v[1:].sum()
    x = rng.dirichlet(np.full(n, 5.0))
    steps = np.where(v != 0.0, -x / np.where(v != 0.0, v, 1.0), np.inf)
    x = x + steps[steps > 0.0].min() * v  # to the boundary
    both = np.column_stack([x, v])
    basis = np.linalg.qr(both)[0]
    P = rng.normal(size=(n, n))
    for _ in range(300):  # one condition and the other, in turn
        P -= basis @ (basis.T @ P)
        P /= np.linalg.norm(P, axis=1, keepdims=True)
    u = np.linalg.lstsq(both.T, np.array([0.0, 1.0]), rcond=None)[0]
    P += 10.0 ** rng.uniform(-6.5, -5.0) * np.outer(u, np.linalg.svd(P)[2][-1])
    P /= np.linalg.norm(P, axis=1, keepdims=True)
    A = np.triu(np.maximum(1.0 - P @ P.T, 0.0), 1)
    A += A.T
    inward = v if v[x.argmin()] > 0.0 else -v
    starts = np.maximum(x, 0.0) + 10.0 ** rng.uniform(-7.0, -3.0, 200)[:, None] / inward[x.argmin()] * inward
    starts = starts[starts.min(axis=1) > 0.0]
    if not len(starts):
        return
    slope = np.abs(starts @ A @ v) / starts.min(axis=1)
    start = starts[slope.argmin()]
    found = solve(A, start=start / start.sum(), tol=any_of(rng, 1e-8, 1e-10), max_iter=20_000)
    form = of_matrix(A, 0.0)
    yield from strictness(found, form.strict, form=form)


def far(rng: Rng) -> Iterator[Claim]:
    """Two groups of numbers, and one object far away, which makes the offset large but not kappa."""
    near, other = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    groups = [rng.normal(0.0, 0.5, near), rng.normal(6.0, 0.15, other)]
    distance = any_of(rng, 0.0, 1e3, 1e4, 1e5, 1e6)
    X = np.concatenate([*groups, [-distance] if distance else []])[:, None]
    S = as_similarity(X, "sqeuclidean")
    shift = any_of(rng, 0.5, 1.0, 2.0, 5.0) - S.offset
    yield from features(rng, X, S, shift)


def constants(rng: Rng) -> Iterator[Claim]:
    """A matrix, and the same with a constant that is added to it and taken off the shift: claims agree."""
    n = int(rng.integers(3, 8))
    A = integer_matrix(rng, n, 24) / 8.0
    shift, delta = rng.integers(-8, 17) / 8.0, 2.0 ** rng.integers(0, 24)  # so that no number is rounded
    start, algorithm = start_of(rng, n), any_of(rng, *MATRIX_SOLVERS)
    here = solve(A, shift=shift, start=start, algorithm=algorithm)
    moved = A + delta * (1.0 - np.eye(n))
    there = solve(moved, shift=shift - delta, start=start, algorithm=algorithm)
    yield from answer(here, of_matrix(A, shift))
    yield from answer(there, of_matrix(moved, shift - delta))
    if np.array_equal(here.members, there.members):
        yield "the same of both", {here.strict, there.strict} != {True, False}
    found = global_optimum(moved, shift=shift - delta, max_nodes=NODES)
    yield from optimum(found, of_matrix(moved, shift - delta))


def matrices(rng: Rng) -> Iterator[Claim]:
    """Whole numbers and tenths, with ties."""
    n = int(rng.integers(2, 8))
    A = integer_matrix(rng, n) / any_of(rng, 1.0, 10.0)
    shift = float(any_of(rng, 0.0, 1.0, 2.0, 3.0, -1.0, 0.5)) * any_of(rng, 1.0, 0.1)
    found = solve(A, shift=shift, start=start_of(rng, n), algorithm=any_of(rng, *MATRIX_SOLVERS))
    yield from answer(found, of_matrix(A, shift))


def hypergraphs(rng: Rng) -> Iterator[Claim]:
    """Two edges that share all but one object have a segment of maxima; others have ties."""
    if rng.random() < 0.5:
        edges, omega, n = [(0, 1, 2), (0, 1, 3)], any_of(rng, [1.0, 1.0], [1.0, 1.0 + 1e-12], [2.0, 1.0]), 4
    else:
        n = int(rng.integers(4, 7))
        every = list(combinations(range(n), 3))
        chosen = rng.permutation(len(every))[: int(rng.integers(2, 6))]
        edges, omega = [every[k] for k in chosen], rng.integers(1, 4, len(chosen)).astype(float).tolist()
    start, algorithm = rng.dirichlet(np.ones(n)), any_of(rng, "pairwise", "pairwise", "baum-eagon")
    found = solve_hypergraph(edges, omega, n=n, start=start, algorithm=algorithm)
    x = np.zeros(n)
    x[found.members] = found.weights
    yield from strictness(found, lambda support: strict_in_hypergraph(edges, omega, n, support, x))


def capped(rng: Rng) -> Iterator[Claim]:
    """No weight above 1/m."""
    if rng.random() < 0.5:
        X, S, shift, linear = integer_rows(rng)
        problem, given = of_rows(X, S, shift, linear), S
    else:
        given, shift = integer_matrix(rng, int(rng.integers(3, 7))), float(rng.integers(0, 5))
        problem = of_matrix(given, shift)
    m = int(rng.integers(2, problem.n))
    start = any_of(rng, "vertex", "barycenter", int(rng.integers(problem.n)))
    found = solve(given, shift=shift, min_members=m, start=start)

    def is_strict(support: tuple[int, ...]) -> bool:
        held = range(min(m, len(support)) + 1)
        return any(
            problem.strict(support, at_cap, m)
            for k in held
            if (k < m and k < len(support)) or k == m == len(support)
            for at_cap in combinations(support, k)
        )

    yield from strictness(found, is_strict)
    yield "weights", bool(np.min(found.weights) > 0.0)


def around_seeds(rng: Rng) -> tuple[Any, np.ndarray, float, float, Problem]:
    """A similarity, seeds, the shift, the larger one of the others, and the problem that this makes."""
    if rng.random() < 0.5:
        X, S, shift, linear = integer_rows(rng)
        n, given = len(X), S
    else:
        given, shift = integer_matrix(rng, int(rng.integers(3, 7))), float(rng.integers(0, 4))
        n = len(given)
    seeds = np.sort(rng.permutation(n)[: int(rng.integers(1, n))])
    larger = shift + float(rng.integers(0, 5))
    more = [Fraction(0) if i in seeds else Fraction(larger) - Fraction(shift) for i in range(n)]
    if isinstance(given, np.ndarray):
        problem = of_matrix(given, shift, more=more)
    else:
        problem = of_rows(X, S, shift, linear, more=more)
    return given, seeds, shift, larger, problem


def seeded(rng: Rng) -> Iterator[Claim]:
    """Seeds: the others have a larger shift, and where it is not given every set meets its seeds."""
    given, seeds, shift, larger, problem = around_seeds(rng)
    yield from answer(solve(given, shift=shift, seeds=seeds, seed_shift=larger), problem)
    found = solve(given, shift=shift, seeds=seeds)
    if found.status.value == "converged":
        yield "meets its seeds", bool(np.isin(seeds, found.members).any())


def welded(rng: Rng) -> Iterator[Claim]:
    """Seeds that have equal weights are one object in their place: its numbers are means of theirs."""
    given, seeds, shift, larger, problem = around_seeds(rng)
    found = solve(given, shift=shift, seeds=seeds, seed_shift=larger, weld=True)
    B, others, k = problem.B, [i for i in range(problem.n) if i not in seeds], len(seeds)
    rows = [[Fraction(B[i][j]) for j in others] + [Fraction(sum(B[i][q] for q in seeds), k)] for i in others]
    last = [Fraction(sum(B[q][j] for q in seeds), k) for j in others]
    own = Fraction(sum(B[p][q] for p in seeds for q in seeds), k * k)
    form = Form([*rows, [*last, own]])

    def is_strict(support: tuple[int, ...]) -> bool:
        inside = np.isin(seeds, support)
        merged = [k for k, i in enumerate(others) if i in support] + [len(others)] * bool(inside.all())
        return bool(inside.all() or not inside.any()) and form.strict(merged)

    yield from strictness(found, is_strict)


def weighted(rng: Rng) -> Iterator[Claim]:
    """Objects that stand for several: kappa / m in place of kappa."""
    if rng.random() < 0.5:
        X, S, shift, linear = integer_rows(rng)
        plain, given = of_rows(X, S, shift, linear), S
    else:
        given, shift = integer_matrix(rng, int(rng.integers(3, 7))), float(rng.integers(0, 4))
        plain = of_matrix(given, shift)
    if min(plain.kappa) <= 0:
        return
    m = rng.choice([0.5, 1.0, 1.0, 2.0, 3.0], plain.n)
    more = [k / Fraction(float(w)) - k for k, w in zip(plain.kappa, m, strict=True)]
    if isinstance(given, np.ndarray):
        problem = of_matrix(given, shift, more=more)
    else:
        problem = of_rows(X, S, shift, linear, more=more)
    yield from answer(solve(given, shift=shift, sample_weight=m), problem)


def games(rng: Rng) -> Iterator[Claim]:
    """Asymmetric similarities of whole numbers, some of them a little off."""
    n = int(rng.integers(3, 6))
    A = rng.integers(0, 4, (n, n)).astype(float)
    if rng.random() < 0.3:
        A += any_of(rng, 1e-12, 1e-10, 1e-9) * rng.random((n, n))
    np.fill_diagonal(A, 0.0)
    shift = float(any_of(rng, 0.0, 0.0, 1.0, 0.5))
    found = solve_asymmetric(A, shift=shift, start=any_of(rng, "vertex", "barycenter", int(rng.integers(n))))
    yield from strictness(found, of_matrix(A, shift).strict, "stable")


def paths(rng: Rng) -> Iterator[Claim]:
    """Whole numbers under path-based similarity: all sets, the best one, and for which shifts each is one."""
    X = rng.integers(0, int(rng.integers(4, 10)), (int(rng.integers(2, 8)), 1)).astype(float)
    if not np.ptp(X):
        X[0] += 1.0
    tenths = rng.random() < 0.2
    X *= 0.1 if tenths else 1.0
    S = as_similarity(X, "path")
    shift = float(rng.integers(-6, 9)) * any_of(rng, 1.0, 0.5) * (0.1 if tenths else 1.0)
    problem = of_path(X, S, shift)
    clusters, every = path_clusters(S, shift=shift), problem.all_strict()
    for one in clusters:
        yield from strictness(one, problem.strict)
    yield from answer(solve(S, shift=shift), problem)
    yield from listed(dominant_sets(S, shift=shift), problem)
    yield from optimum(global_optimum(S, shift=shift), problem)
    if not tenths:  # these are rounded in the tree already
        there = {tuple(one.members.tolist()) for one in clusters}
        yield "path_clusters", there.issuperset(every)
        spectrum = path_spectrum(S)
        at = {tuple(spectrum.members(int(node)).tolist()) for node in spectrum.at(shift)}
        yield "path_spectrum.at", at == {support for support in every if len(support) > 1}


def overlaps(rng: Rng) -> Iterator[Claim]:
    """Sets that share too much are left out: then a list is not complete."""
    X = np.sort(rng.integers(0, 16, (int(rng.integers(4, 8)), 1)).astype(float), axis=0)
    if not np.ptp(X):
        return
    S = as_similarity(X, any_of(rng, "sqeuclidean", "path"))
    found = dominant_sets(S, max_overlap=any_of(rng, 0.0, 0.3), max_nodes=NODES)
    problem = of_path(X, S, 0.0) if hasattr(S, "top") else of_rows(X, S, 0.0)
    yield from listed(found, problem)


def trivial(rng: Rng) -> Iterator[Claim]:
    """Larger matrices with few nodes: f + shift is at most (a + shift)(1 - 1/n), with a the largest entry."""
    n, shift = int(rng.integers(12, 40)), float(any_of(rng, 0.0, 0.5, 3.0))
    A = np.triu(rng.random((n, n)), 1)
    A += A.T
    found = global_optimum(A, shift=shift, max_nodes=8)
    most = (A.max() + shift) * (1.0 - 1.0 / n)
    yield "no trivial bound is lower", found.bound <= most * (1.0 + 1e-9)


def streams(rng: Rng) -> Iterator[Claim]:
    """One column under cosine has the similarities 0 and 2 only; old batches fade."""
    model = DominantSets(affinity=any_of(rng, "cosine", "sqeuclidean"))
    try:
        for _ in range(3):
            rows = rng.integers(-6, 7, (int(rng.integers(3, 11)), 1)).astype(float)
            model.partial_fit(rows, forget=0.1)
        ended = len(model.clusters_) >= 0
    except ValueError as error:
        ended = "sample_weight" not in str(error)
    yield "no error", ended


KINDS: dict[str, Callable[[Rng], Iterator[Claim]]] = {
    "evenly spaced": spaced,
    "exact thresholds": thresholds,
    "whole rows": integers,
    "nearly null faces": nearly_null,
    "a far object": far,
    "a constant added": constants,
    "whole matrices": matrices,
    "hypergraphs": hypergraphs,
    "capped": capped,
    "seeds": seeded,
    "welded seeds": welded,
    "weights": weighted,
    "games": games,
    "paths": paths,
    "overlaps": overlaps,
    "trivial bounds": trivial,
    "streams": streams,
}


def claims(kind: str, seed: int) -> Iterator[Claim]:
    """What is claimed of problem number ``seed`` of a kind, and whether it is so."""
    return KINDS[kind](np.random.default_rng([seed, list(KINDS).index(kind)]))
