r"""Where many starts on a device begin: as sampling.py, without the features leaving it.

Uniform starts are the same as on a CPU. For a k-DPP the Nyström features of a uniform sample of up to 131,072
objects are made on the device, and the dual form draws from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils.random import sample_without_replacement
from torch import Tensor

from dominantsets._checks import check_choice
from dominantsets._typing import Ints
from dominantsets.clusters.sampling import LANDMARKS, RANK, SAMPLINGS, elementary, filled_up
from dominantsets.rows.tensors import host

DRAWN_FROM = 2**17  # objects that a k-DPP chooses from
MEDIAN_OF = 500  # objects whose distances set the kernel's width


def sample_on_device(problem: Any, k: int, sampling: str, random_state: np.random.RandomState) -> Ints:
    """Draw k different living objects (all of them, where they are fewer), in the order drawn."""
    alive = problem.n_alive
    k = min(k, alive)
    if check_choice("sampling", sampling, SAMPLINGS) == "uniform" or k == alive or k == 1:
        return np.asarray(problem.ranked(_ranks(alive, k, random_state)))
    pool = problem.ranked(np.sort(_ranks(alive, min(alive, DRAWN_FROM), random_state)))
    raw = problem.similarity.features.take(torch.from_numpy(pool).to(problem.device)).double()
    rows = raw - raw.mean(0)
    return np.asarray(pool[filled_up(draw(rows, k, random_state), k, pool.size, random_state)])


def _ranks(alive: int, k: int, random_state: np.random.RandomState) -> Ints:
    return np.asarray(sample_without_replacement(alive, k, random_state=random_state), dtype=np.int64)


def draw(X: Tensor, k: int, random_state: np.random.RandomState) -> Ints:
    """From the k-DPP of the Nyström form of the Gaussian kernel of X; fewer where its rank is lower."""
    some = X if len(X) <= MEDIAN_OF else X[_places(len(X), MEDIAN_OF, random_state, X)]
    squares = _squares(some, some)[tuple(torch.triu_indices(len(some), len(some), 1))]
    positive = squares[squares > 0]
    gamma = 1.0 / float(positive.quantile(0.5)) if len(positive) else 1.0
    marks = X[_places(len(X), min(LANDMARKS, len(X)), random_state, X)]
    values, vectors = torch.linalg.eigh(_squares(marks, marks).mul(-gamma).exp())
    kept = values > RANK * values[-1]
    root = vectors[:, kept] / values[kept].sqrt()
    F = torch.cat([_squares(part, marks).mul_(-gamma).exp_() @ root for part in torch.split(X, 2**14)])
    values, small = torch.linalg.eigh(F.T @ F)
    kept = values > RANK * values[-1]
    values, small = values[kept], small[:, kept]
    chosen = torch.from_numpy(elementary(host(values), min(k, len(values)), random_state)).to(X.device)
    return _projection(F @ (small[:, chosen] / values[chosen].sqrt()), random_state)


def _places(n: int, k: int, random_state: np.random.RandomState, X: Tensor) -> Tensor:
    return torch.from_numpy(np.asarray(random_state.choice(n, k, replace=False))).to(X.device)


def _squares(P: Tensor, Q: Tensor) -> Tensor:
    squares: Tensor = torch.linalg.vecdot(P, P)[:, None] + torch.linalg.vecdot(Q, Q)[None, :]
    return squares.sub_(P @ Q.T, alpha=2.0).clamp_min_(0.0)


def _projection(V: Tensor, random_state: np.random.RandomState) -> Ints:
    """Draw from the DPP of the projection V V': as in sampling.py, one object for each column."""
    k = V.shape[1]
    left = torch.linalg.vecdot(V, V)
    directions = torch.zeros((k, k), dtype=V.dtype, device=V.device)
    drawn = torch.zeros(k, dtype=torch.int64, device=V.device)
    uniform = torch.from_numpy(random_state.uniform(size=k)).to(V.device)
    for step in range(k):
        weights = left.clamp_min(0.0)
        weights[drawn[:step]] = 0.0
        edges = weights.cumsum(0)
        i = torch.searchsorted(edges, uniform[step] * edges[-1], right=True).clamp_max(len(V) - 1)
        drawn[step] = i
        row = V[i] - directions[:step].T @ (directions[:step] @ V[i])
        directions[step] = row / row.norm()
        left = left - (V @ directions[step]).square()
    return np.asarray(host(drawn))
