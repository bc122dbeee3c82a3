r"""Where many starts begin: objects drawn uniformly, or by a determinantal point process.

A k-DPP draws a set Y of k objects with probability proportional to :math:`\det L_Y`, so that objects that are
alike rarely come together. Here L is a Gaussian kernel, which is positive semidefinite by construction
(:math:`\max(D) - D` is not): of the features where there are any, else of the objects' similarities to up
to 64 landmarks. Its width is the median distance of a sample.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.random import sample_without_replacement

from dominantsets._checks import check_choice, warn
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import row_blocks
from dominantsets.similarity.formulas import one_over_median
from dominantsets.similarity.source import describable, describe
from dominantsets.solvers import Problem

EXACT_LIMIT = 1_500  # objects up to which L is formed and decomposed; above it Nyström features
LANDMARKS = 400  # of the Nyström features: their number bounds the rank
MEDIAN_OF = 500  # objects from which the kernel's width is estimated
RANK = 1e-10  # eigenvalues below this share of the largest are taken as zero
SAMPLINGS = ("uniform", "dpp")


def sample_starts(problem: Problem, k: int, sampling: str, random_state: np.random.RandomState) -> Ints:
    """Draw k different objects of those that are alive (all, where they are fewer), in the order drawn.

    Of objects that are not in memory a DPP sees a uniform sample.
    """
    alive = problem.n_alive
    k = min(k, alive)
    if check_choice("sampling", sampling, SAMPLINGS) == "uniform" or k == alive or k == 1:
        return problem.numbered(sample_without_replacement(alive, k, random_state=random_state))
    pool, seen = describable(problem.similarity), np.arange(alive)
    if alive > pool:
        seen = np.sort(sample_without_replacement(alive, pool, random_state=random_state))
    objects = problem.numbered(seen)
    chosen = k_dpp(describe(problem.similarity, objects), k, random_state)
    return objects[filled_up(chosen, k, objects.size, random_state)]


def filled_up(chosen: Ints, k: int, count: int, random_state: np.random.RandomState) -> Ints:
    """k of count places: those that a DPP has chosen, and uniform ones where its rank gave fewer."""
    if chosen.size == k:
        return chosen
    warn(
        f"only {chosen.size} of {k} starts can be drawn by the DPP, whose kernel has that rank (many "
        "objects are equal); the rest is drawn uniformly."
    )
    rest = np.setdiff1d(np.arange(count), chosen)
    return np.concatenate([chosen, random_state.choice(rest, k - chosen.size, replace=False)])


def library_of(X: Any) -> Any:
    """The library that X is an array of: NumPy or torch, which share the functions used below."""
    return sys.modules[type(X).__module__.partition(".")[0]]


def to_host(X: Any) -> Floats:
    """An array or tensor as a NumPy array on the host."""
    return np.asarray(X.cpu() if hasattr(X, "cpu") else X)


def k_dpp(X: Any, k: int, random_state: np.random.RandomState) -> Ints:
    """Draw from the k-DPP of the Gaussian kernel of the rows of X; fewer where its rank is lower.

    Up to 1,500 rows the kernel itself is decomposed. Above, it is replaced by its Nyström approximation
    on 400 landmarks, F F' with n × 400 features F; its eigenvectors come from the small matrix F'F
    (the dual form): O(n) memory for each landmark, no n × n matrix. X stays where it is.
    """
    xp = library_of(X)
    some = X if len(X) <= MEDIAN_OF else X[random_state.choice(len(X), MEDIAN_OF, replace=False)]
    gamma = one_over_median(to_host(_squares(some, some)))
    F = X if len(X) <= EXACT_LIMIT else _nystroem(X, gamma, random_state)
    values, vectors = xp.linalg.eigh(_gaussian(X, X, gamma) if F is X else F.T @ F)
    kept = values > RANK * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    chosen = elementary(to_host(values), min(k, len(values)), random_state)
    if F is X:
        return _projection(vectors[:, chosen], random_state)
    return _projection(F @ (vectors[:, chosen] / values[chosen] ** 0.5), random_state)


def _squares(P: Any, Q: Any) -> Any:
    """Squared distances of all rows."""
    if isinstance(P, np.ndarray):
        return cdist(P, Q, "sqeuclidean")
    return ((P * P).sum(1)[:, None] + (Q * Q).sum(1) - 2.0 * (P @ Q.T)).clip(min=0.0)


def _gaussian(P: Any, Q: Any, gamma: float) -> Any:
    return library_of(P).exp(-gamma * _squares(P, Q))


def _nystroem(X: Any, gamma: float, random_state: np.random.RandomState) -> Any:
    """Features F with F F' the Nyström approximation: C W^(-1/2), C the kernel's columns of the landmarks."""
    xp = library_of(X)
    marks = X[random_state.choice(len(X), min(LANDMARKS, len(X)), replace=False)]
    values, vectors = xp.linalg.eigh(_gaussian(marks, marks, gamma))
    kept = values > RANK * values[-1]
    root = vectors[:, kept] / values[kept] ** 0.5
    return xp.concatenate(
        [_gaussian(X[part], marks, gamma) @ root for part in row_blocks(len(X), 8 * len(marks))]
    )


def log_elementary(logs: Floats, k: int) -> Floats:
    r"""Logarithms of the elementary symmetric polynomials: entry [l, m] of the first m numbers, degree l.

    :math:`e_l(\lambda_1, ..., \lambda_m) = e_l(\lambda_1, ..., \lambda_{m-1}) + \lambda_m
    e_{l-1}(\lambda_1, ..., \lambda_{m-1})`; in log space, because products of hundreds leave floating point.
    """
    table = np.full((k + 1, logs.size + 1), -np.inf)
    table[0] = 0.0
    for degree in range(1, k + 1):
        table[degree, 1:] = np.logaddexp.accumulate(logs + table[degree - 1, :-1])
    return table


def elementary(values: Floats, k: int, random_state: np.random.RandomState) -> Ints:
    """Which k eigenvectors: a set with probability in proportion to the product of its eigenvalues."""
    logs = np.log(values)
    table = log_elementary(logs, k)
    chosen: list[int] = []
    left = k
    for m in range(values.size, 0, -1):
        if left == 0:
            break
        probability = np.exp(logs[m - 1] + table[left - 1, m - 1] - table[left, m])
        if left == m or random_state.uniform() < probability:
            chosen.append(m - 1)
            left -= 1
    return np.array(chosen, dtype=np.int64)


def _projection(V: Any, random_state: np.random.RandomState) -> Ints:
    """Draw from the DPP of the projection V V', V with orthonormal columns: one object for each column.

    An object is drawn in proportion to what is left of the squared length of its row once the directions of
    those drawn before are taken out; O(n) for each direction.
    """
    xp, k = library_of(V), V.shape[1]
    left, directions, drawn = (V * V).sum(1), 0.0 * V[:k], []
    for step, uniform in enumerate(random_state.uniform(size=k).tolist()):
        edges = left.clip(min=0.0).cumsum(0)
        i = xp.searchsorted(edges, uniform * edges[-1], side="right").clip(max=len(V) - 1)
        drawn.append(i)
        row = V[i] - directions[:step].T @ (directions[:step] @ V[i])
        directions[step] = row / (row @ row) ** 0.5
        left = left - (V @ directions[step]) ** 2
        left[i] = -1.0  # no object twice
    return np.array([int(i) for i in drawn], dtype=np.int64)
