r"""Where many starts begin: objects drawn uniformly, or by a determinantal point process.

A k-DPP draws a set Y of k objects with probability proportional to :math:`\det L_Y`, so that objects that are
alike rarely come together. Here L is a Gaussian kernel, which is positive semidefinite by construction
(:math:`\max(D) - D` is not): of the features where there are any, else of the objects' similarities to up
to 64 landmarks. Its width is the median distance of a sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist
from sklearn.utils.random import sample_without_replacement

from dominantsets._checks import check_choice, warn
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import row_blocks
from dominantsets.similarity import Kernel, LowRank, Sharded, Similarity
from dominantsets.similarity.sharded import ShardedLowRank
from dominantsets.similarity.sharded_kernel import ShardedKernel

EXACT_LIMIT = 1_500  # objects up to which L is formed and decomposed; above it Nyström features
LANDMARKS = 400  # of the Nyström features: their number bounds the rank
PROFILES = 64  # objects to which similarities describe an object that has no features
RANK = 1e-10  # eigenvalues below this share of the largest are taken as zero
VISIBLE = 20_000  # objects in pieces that a DPP sees
SAMPLINGS = ("uniform", "dpp")


def sample_starts(
    similarity: Similarity,
    there: NDArray[np.bool_],
    k: int,
    sampling: str,
    random_state: np.random.RandomState,
) -> Ints:
    """Draw k different objects of those that are there (all, where they are fewer), in the order drawn.

    Of objects in pieces a DPP sees 20,000, drawn uniformly, where there are more.
    """
    count = int(np.count_nonzero(there))
    k = min(k, count)
    if check_choice("sampling", sampling, SAMPLINGS) == "uniform" or k == count or k == 1:
        return _numbered(there, sample_without_replacement(count, k, random_state=random_state))
    if isinstance(similarity, Sharded) and count > VISIBLE:
        seen = np.sort(sample_without_replacement(count, VISIBLE, random_state=random_state))
        alive = _numbered(there, seen)
    else:
        alive = np.flatnonzero(there)
    return alive[filled_up(k_dpp(describe(similarity, alive), k, random_state), k, alive.size, random_state)]


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


def _numbered(there: NDArray[np.bool_], places: Ints) -> Ints:
    """The objects at given places among those that are there, without a list of all of them."""
    width = 2**16
    counts = np.add.reduceat(there, np.arange(0, there.size, width), dtype=np.int64)
    ends = np.cumsum(counts)
    blocks = np.searchsorted(ends, places, side="right")
    out = np.empty(len(places), dtype=np.int64)
    for block in np.unique(blocks):
        mine, begin = blocks == block, block * width
        inside = np.flatnonzero(there[begin : begin + width])
        out[mine] = begin + inside[places[mine] - (ends[block] - counts[block])]
    return out


def describe(similarity: Similarity, objects: Ints) -> Floats:
    """Rows that tell objects apart: their features, or their similarities to landmarks."""
    if isinstance(similarity, (ShardedLowRank, ShardedKernel)):
        return similarity.rows_of(objects)
    if isinstance(similarity, (LowRank, Kernel)) and not similarity.rows.sparse:
        return similarity.rows.take(objects)
    marks = objects[np.linspace(0, objects.size - 1, min(PROFILES, objects.size)).astype(np.int64)]
    return similarity.block(objects, marks)


def k_dpp(X: Floats, k: int, random_state: np.random.RandomState) -> Ints:
    """Draw from the k-DPP of the Gaussian kernel of the rows of X; fewer where its rank is lower.

    Up to 1,500 rows the kernel itself is decomposed. Above, it is replaced by its Nyström approximation
    on 400 landmarks, F F' with n × 400 features F, whose eigenvectors come from the small matrix F'F
    (the dual form): O(n) memory for each landmark, no n × n matrix.
    """
    gamma = _one_over_median_square(X, random_state)
    if len(X) <= EXACT_LIMIT:
        values, vectors = np.linalg.eigh(_gaussian(X, X, gamma))
        kept = values > RANK * values[-1]
        values, vectors = values[kept], vectors[:, kept]
    else:
        F = _nystroem(X, gamma, random_state)
        values, small = np.linalg.eigh(F.T @ F)
        kept = values > RANK * values[-1]
        values, vectors = values[kept], small[:, kept]
    k = min(k, values.size)
    chosen = elementary(values, k, random_state)
    if len(X) <= EXACT_LIMIT:
        return _projection(vectors[:, chosen], random_state)
    return _projection(F @ (vectors[:, chosen] / np.sqrt(values[chosen])), random_state)


def _gaussian(P: Floats, Q: Floats, gamma: float) -> Floats:
    out: Floats = cdist(P, Q, "sqeuclidean")
    out *= -gamma
    return np.exp(out, out=out)


def _one_over_median_square(X: Floats, random_state: np.random.RandomState) -> float:
    some = X if len(X) <= 500 else X[random_state.choice(len(X), 500, replace=False)]
    squares = pdist(some, "sqeuclidean")
    squares = squares[squares > 0]
    return 1.0 / float(np.median(squares)) if squares.size else 1.0


def _nystroem(X: Floats, gamma: float, random_state: np.random.RandomState) -> Floats:
    """Features F with F F' the Nyström approximation: C W^(-1/2), C the kernel's columns of the landmarks."""
    marks = X[random_state.choice(len(X), min(LANDMARKS, len(X)), replace=False)]
    values, vectors = np.linalg.eigh(_gaussian(marks, marks, gamma))
    kept = values > RANK * values[-1]
    root = vectors[:, kept] / np.sqrt(values[kept])
    F = np.empty((len(X), root.shape[1]))
    for part in row_blocks(len(X), 8 * len(marks)):
        F[part] = _gaussian(X[part], marks, gamma) @ root
    return F


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


def _projection(V: Floats, random_state: np.random.RandomState) -> Ints:
    """Draw from the DPP of the projection V V', V with orthonormal columns: one object for each column.

    An object is drawn in proportion to what is left of the squared length of its row once the directions of
    those drawn before are taken out; O(n) for each direction.
    """
    n, k = V.shape
    left = np.einsum("ij,ij->i", V, V)
    directions = np.zeros((k, k))
    drawn = np.empty(k, dtype=np.int64)
    for step in range(k):
        weights = np.maximum(left, 0.0)
        weights[drawn[:step]] = 0.0
        drawn[step] = i = int(random_state.choice(n, p=weights / weights.sum()))
        row = V[i] - directions[:step].T @ (directions[:step] @ V[i])
        directions[step] = row / np.linalg.norm(row)
        left -= np.square(V @ directions[step])
    return drawn
