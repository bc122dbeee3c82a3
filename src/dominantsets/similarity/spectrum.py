r"""The slowest modes of a random walk on a graph, and how many groups they tell of.

With W the weights of a graph and d its degrees, :math:`N = D^{-1/2} W D^{-1/2}` has the eigenvalues of the
walk :math:`P = D^{-1} W`. A walk in a group that it seldom leaves has an eigenvalue :math:`\lambda` near 1,
and :math:`\mu = 1 - \lambda` says how seldom: K groups have K values near 0, then there is a gap.

The eigenvectors are found in one of three ways, whichever is cheapest: all of them for few objects; by
solving with :math:`(1 + \epsilon) I - N`, where the graph is in small pieces or of few dimensions, so that
its factors stay sparse (K groups are K eigenvalues that hardly differ, which a Lanczos method without it
takes long to tell apart, or misses); else by subspace iteration with Chebyshev polynomials, which damp
:math:`[-1, b]`: where the factors would fill up, walks mix fast, and few rounds do.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, qr
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from dominantsets._typing import Floats
from dominantsets.compiled.interrupts import check

DENSE_LIMIT = 400  # objects up to which all eigenvectors are found at once
FACTOR_WORK = 2e9  # multiplications up to which a graph is factored, if its pieces were full
FLAT = 3  # features up to which factors of any neighbour graph stay sparse
RIDGE = 1e-5  # added to the matrix that is factored, which has an eigenvalue 0
ROUNDS, CLOSE = 100, 1e-7  # of subspace iteration, and the residual at which it ends
ROUGH = 0.01  # residual over the rate at which it ends where only a gap is looked for
FIRST, LAST = 64, 512  # eigenvalues that are looked at for a gap: so many, then twice as many, up to so many
GAP = 6.0  # from one rate to the next: 4, and half as much again for chance (benchmarks/diffusion.py)
SLOWER = 1.0 / 3.0  # of the rate of one cloud: that of flat and lopsided ones was never below 0.44 of it
LEAST = 1e-12  # rates below are rounding


def normalised(W: sp.csr_array) -> tuple[sp.csr_array, Floats]:
    """The matrix N of a graph, and the roots of its degrees (an object without edges counts as 1)."""
    degrees = np.asarray(W.sum(axis=1)).ravel()
    roots = np.sqrt(np.where(degrees > 0.0, degrees, 1.0))
    halves = sp.diags_array(1.0 / roots)
    return sp.csr_array(halves @ W @ halves), roots


def slowest(
    N: sp.csr_array, count: int, n_features: int, *, rough: float = 0.0, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """The largest eigenvalues of N, falling, and their eigenvectors.

    ``rough`` is an error of the rates, over the rates, that is small enough; ``start`` is near the vectors.
    """
    n = N.shape[0]
    if n <= max(DENSE_LIMIT, 3 * count):
        values, vectors = eigh(N.toarray(), subset_by_index=[n - count, n - 1])
    elif n_features <= FLAT or _work(N) <= FACTOR_WORK:
        values, vectors = _by_factors(N, count)
    else:
        values, vectors = _by_filter(N, count, rough, start)
    order = np.argsort(-values, kind="stable")
    return np.minimum(values[order], 1.0), vectors[:, order]


def _work(N: sp.csr_array) -> float:
    """Multiplications of a factorisation, if the pieces of the graph were full; faint edges join pieces."""
    strong = N.copy()
    strong.data = np.where(strong.data > 1e-3, strong.data, 0.0)
    strong.eliminate_zeros()
    sizes = np.bincount(connected_components(strong, directed=False)[1])
    return float((sizes.astype(np.float64) ** 3).sum())


def _start(n: int, count: int) -> Floats:
    return np.random.RandomState(0).uniform(-1.0, 1.0, (n, count))


def _orthonormal(V: Floats) -> Floats:
    return np.asarray(qr(V, mode="economic", overwrite_a=True, check_finite=False)[0])


def _by_factors(N: sp.csr_array, count: int) -> tuple[Floats, Floats]:
    n = N.shape[0]
    L = sp.csc_array(sp.eye_array(n) * (1.0 + RIDGE) - N)
    factors = splu(L, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})

    def solve(b: Floats) -> Floats:
        check()
        return np.asarray(factors.solve(b))

    inverse = LinearOperator((n, n), matvec=solve, dtype=np.float64)
    start = _start(n, 1)[:, 0]
    values, vectors = eigsh(L, count, sigma=0.0, OPinv=inverse, v0=start, tol=1e-9)
    return 1.0 + RIDGE - values, vectors


def _by_filter(N: sp.csr_array, count: int, rough: float, start: Floats | None) -> tuple[Floats, Floats]:
    n = N.shape[0]
    block = min(n, count + max(8, count // 4))
    V = _orthonormal(_start(n, block) if start is None else start[:, :block])
    bound = 0.0
    values = np.zeros(block)
    for _ in range(ROUNDS):
        V = _orthonormal(_filtered(N, V, bound))
        image = N @ V
        values, turn = eigh(V.T @ image)
        V, image = V @ turn, image @ turn
        residuals = np.linalg.norm(image - V * values, axis=0)[-count:]
        if (residuals <= np.maximum(rough * (1.0 - values[-count:]), CLOSE)).all():
            break
        bound = max(float(values[0]), -0.9)
    return values[-count:], V[:, -count:]


def _filtered(N: sp.csr_array, V: Floats, bound: float) -> Floats:
    """Chebyshev's polynomial of N that is small on [-1, bound] and large above, times V."""
    half, middle = 0.5 * (1.0 + bound), 0.5 * (bound - 1.0)
    growth = np.arccosh(max((1.0 - middle) / half, 1.0 + 1e-9))
    degree = int(np.clip(np.ceil(8.0 / growth), 4, 200))  # values at 1 grow about e^8-fold
    before, now = V, (N @ V - middle * V) / half
    for _ in range(degree - 1):
        check()
        before, now = now, 2.0 * (N @ now - middle * now) / half - before
    return np.asarray(now)


def slowest_by_gap(N: sp.csr_array, n_features: int, one: float) -> tuple[Floats, Floats]:
    """As many of the slowest modes as ``number_of_groups`` says, at least one."""
    n = N.shape[0]
    count = min(n, FIRST)
    while True:
        values, vectors = slowest(N, count, n_features, rough=ROUGH)
        mu = 1.0 - values
        found = number_of_groups(mu, one)
        seen = 8 * found <= 7 * count and mu[-1] >= SLOWER * one  # what comes after the groups, too
        if seen or count >= min(n, LAST):
            return slowest(N, found, n_features, start=vectors)
        count = min(2 * count, n, LAST)


def number_of_groups(mu: Floats, one: float) -> int:
    r"""How many groups rates of leaving tell of; ``mu`` rises, ``one`` is that of a cloud without groups.

    The rates of a flat piece rise step by step: :math:`\mu_k \propto k^2` on an interval, so that the second
    is 4 times the first, as the third is on a ring; the steps are smaller in more dimensions, and no larger
    for several pieces together that are alike. So a rate 6 times the one before it is a gap. The last gap
    counts: groups of groups have gaps of their own.

    Groups that touch have no such gap. They are still told from one cloud if their walk is slower: without
    a gap, the number is that of the rates below a third of ``one``, the slowest rate of normally
    distributed objects that have the same covariance.
    """
    mu = np.maximum(mu, LEAST)
    gaps = np.flatnonzero(mu[2:] >= GAP * mu[1:-1])
    if gaps.size:
        return int(gaps[-1]) + 2
    return max(1, int(np.count_nonzero(mu < SLOWER * one)))
