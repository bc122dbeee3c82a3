"""Plain NumPy forms of the paper's algorithms, written from its pseudocode and nothing else.

They work on the shifted matrix (the paper's way: the shift is added to every off-diagonal entry),
while the library keeps minus the shift on the diagonal.
"""

from __future__ import annotations

import itertools

import numpy as np


def shifted(A: np.ndarray, shift: float) -> np.ndarray:
    """The paper's regularised similarity."""
    return A + shift * (1.0 - np.eye(len(A)))


def vertex(A: np.ndarray) -> np.ndarray:
    x = np.zeros(len(A))
    x[A.sum(axis=1).argmax()] = 1.0
    return x


def barycenter(A: np.ndarray) -> np.ndarray:
    return np.full(len(A), 1.0 / len(A))


def frank_wolfe(A: np.ndarray, rule: str, x: np.ndarray, t: int, eps: float = 0.0) -> list[np.ndarray]:
    """Algorithms 2, 3 and 4: the iterates x_0, x_1, ..."""
    x = x.copy()
    r = A @ x
    f = r @ x
    iterates = [x.copy()]
    for _ in range(t):
        i = int(np.argmax(r))
        support = np.flatnonzero(x > 0)
        j = int(support[np.argmin(r[support])])
        if r[i] - f <= eps or (rule != "fw" and i == j):
            break
        toward = rule == "fw" or (rule == "away" and r[i] - f >= f - r[j])
        x, r, f = _step(A, "toward" if toward else rule, x, r, f, i, j)
        iterates.append(x.copy())
    return iterates


def _step(
    A: np.ndarray, kind: str, x: np.ndarray, r: np.ndarray, f: float, i: int, j: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """One step to i, away from j, or from j to i."""
    x = x.copy()
    if kind == "pairwise":
        optimum = (r[i] - r[j]) / (2 * A[i, j]) if A[i, j] > 0 else np.inf
        gamma = min(x[j], optimum)
        f = f + 2 * gamma * (r[i] - r[j]) - 2 * gamma**2 * A[i, j]
        x[i] += gamma
        x[j] = x[j] - gamma if gamma < x[j] else 0.0
        r = r + gamma * (A[:, i] - A[:, j])
    elif kind == "toward":
        gamma = (r[i] - f) / (2 * r[i] - f)
        f = (1 - gamma) ** 2 * f + 2 * gamma * (1 - gamma) * r[i]
        x = (1 - gamma) * x
        x[i] += gamma
        r = (1 - gamma) * r + gamma * A[:, i]
    else:
        largest = x[j] / (1 - x[j])
        gamma = largest
        if 2 * r[j] - f > 0:
            gamma = min(largest, (f - r[j]) / (2 * r[j] - f))
        f = (1 + gamma) ** 2 * f - 2 * gamma * (1 + gamma) * r[j]
        x = (1 + gamma) * x
        x[j] = x[j] - gamma if gamma < largest else 0.0
        r = (1 + gamma) * r - gamma * A[:, j]
    return x, r, f


def successors(A: np.ndarray, rule: str, x: np.ndarray, tie: float) -> list[np.ndarray]:
    """All points to which one step may lead, where payoffs that are less than ``tie`` apart count as equal.

    Rounding decides between them, and two programs round differently. None at a stationary point.
    """
    r = A @ x
    f = x @ r
    support = np.flatnonzero(x > 0)
    if r.max() - f <= tie:
        return []
    found = []
    for i in np.flatnonzero(r >= r.max() - tie):
        for j in support[r[support] <= r[support].min() + tie]:
            kinds = {"fw": ["toward"], "pairwise": ["pairwise"]}.get(rule)
            if kinds is None:
                more = (r[i] - f) - (f - r[j])
                kinds = [*(["toward"] if more >= -tie else []), *(["away"] if more <= tie else [])]
            found += [
                _step(A, kind, x, r, f, int(i), int(j))[0] for kind in kinds if i != j or kind == "toward"
            ]
    return found


def replicator(A: np.ndarray, x: np.ndarray, t: int, eps: float = 0.0) -> list[np.ndarray]:
    """Equation (2), until two iterates are at most eps apart."""
    iterates = [x.copy()]
    for _ in range(t):
        r = A @ x
        new = x * r / (x @ r)
        iterates.append(new.copy())
        if np.linalg.norm(new - x) <= eps:
            break
        x = new
    return iterates


def exponential_replicator(A: np.ndarray, x: np.ndarray, t: int, rate: float) -> list[np.ndarray]:
    """Weights times exp(rate (Ax) / x'Ax), normalised; the rate is halved while the value would fall."""
    iterates, k = [x.copy()], rate
    for _ in range(t):
        r, f = A @ x, x @ A @ x
        while True:
            new = x * np.exp(k * r / f)
            new /= new.sum()
            if new @ A @ new >= f * (1 - 1e-15):
                break
            k /= 2
        x, k = new, min(rate, 2 * k)
        iterates.append(x.copy())
    return iterates


def expansion(B: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, float]:
    """Shrink and expand's direction v - (sum v) x, and the longest step along it that is allowed."""
    r = B @ x
    v = np.where((x == 0) & (r > max(0.0, x @ r)), r - x @ r, 0.0)  # neighbours that would gain
    return v - v.sum() * x, 1.0 / v.sum()


def infection_immunization(A: np.ndarray, x: np.ndarray, t: int) -> list[np.ndarray]:
    """InImDyn with the pure strategy selection function (Rota Bulo, Pelillo and Bomze, 2011).

    Written in the terms of that paper: pi(y | x) is the payoff of strategy y against x. A pure
    strategy tau with pi(tau - x | x) > 0 infects x; one with pi(tau - x | x) < 0 and x_tau > 0 is
    immunised against by its co-strategy. The one with the largest |pi| is selected, and the share
    delta is the largest for which the newcomer still gains.
    """
    n = len(A)
    x = x.copy()
    iterates = [x.copy()]
    for _ in range(t):
        payoff = A @ x - x @ A @ x
        infective = int(np.argmax(payoff))
        present = np.flatnonzero(x > 0)
        weak = int(present[np.argmin(payoff[present])])
        if payoff[infective] <= 0:
            break
        if payoff[infective] >= -payoff[weak]:
            y = np.eye(n)[infective]
        else:
            y = (x - x[weak] * np.eye(n)[weak]) / (1 - x[weak])
        z = y - x
        curvature = z @ A @ z
        delta = 1.0 if curvature >= 0 else min(1.0, -(z @ A @ x) / curvature)
        new = x + delta * z
        if delta == 1.0:
            new[y == 0] = 0.0
        x = new
        iterates.append(x.copy())
    return iterates


def maximal_cliques(adjacency: np.ndarray) -> set[frozenset[int]]:
    """All maximal cliques of a small graph, by trying every set of nodes."""
    n = len(adjacency)
    cliques = [
        frozenset(c)
        for size in range(1, n + 1)
        for c in itertools.combinations(range(n), size)
        if all(adjacency[i, j] for i, j in itertools.combinations(c, 2))
    ]
    return {c for c in cliques if not any(c < other for other in cliques)}
