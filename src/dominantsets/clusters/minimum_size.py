r"""Shifts under which no cluster is small.

A stationary point with a support of s < n members, all others having payoffs :math:`r_j \ge 0`, needs
:math:`f \ge 0`. But :math:`f \le \max(a) (1 - |x|^2) - \alpha |x|^2` and :math:`|x|^2 \ge 1/s`, so
:math:`s f \le (s - 1) \max(a) - \alpha`: above :math:`(k - 1) \max(a)` no support of k members or fewer is
stationary, unless it is all that is left. docs/theory-size.md has the whole of it, with the gap.
"""

from __future__ import annotations

import numpy as np

from dominantsets._checks import check_int
from dominantsets._typing import Floats
from dominantsets.clusters.peeling import Peeling
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.similarity.bounds import bounds_of
from dominantsets.solvers import Monitor, SolverOptions
from dominantsets.solvers.result import HALTS

CLOSE = 1.05  # ratio of kappa at which the search stops
LEAST = 1e-4  # of the guaranteed kappa, where the search begins


def guaranteed_shift(similarity: Similarity, size: int) -> float:
    r"""A shift under which every cluster has ``size`` members, or is all that is left.

    Just above :math:`(\text{size} - 2) \max(a)`, where an upper bound of the largest similarity serves;
    beyond it by a millionth of that similarity, so that the gap of a converged cluster does not matter.

    Parameters
    ----------
    similarity : Similarity
        Of any kind.
    size : int
        The smallest number of members, at least 2.

    Returns
    -------
    float
        The shift.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity, guaranteed_shift, peel
    >>> S = as_similarity(np.random.default_rng(0).random((50, 2)), "rbf")
    >>> len(next(peel(S, 3, shift=guaranteed_shift(S, 10)))) >= 10
    True
    """
    least = check_int("size", size, at_least=1)
    return (max(0, least - 2) + (1e-6 if least > 1 else 0.0)) * as_similarity(similarity).largest()


def sufficient_shift(
    similarity: Similarity,
    size: int,
    n_clusters: int | None = None,
    *,
    degrees: Floats | None = None,
    tol: float = 1e-8,
    max_iter: int = 100_000,
    cutoff: float = 2e-12,
    monitor: Monitor | None = None,
) -> float:
    r"""A small shift under which every cluster found has ``size`` members, or is all that is left.

    The guaranteed shift is for the worst case; on most data a fraction of it is enough. Bisection on
    :math:`\kappa`, the similarity of an object to its copy plus the shift, peels the data about ten times,
    until a shift is sufficient and one with a :math:`\kappa` 5 % smaller is not.

    Parameters
    ----------
    similarity : Similarity
        Of any kind.
    size : int
        The smallest number of members.
    n_clusters : int, optional
        How many clusters are looked at; without it, as many as :func:`peel` finds.
    degrees : ndarray, optional
        Row sums, where they are known.
    tol : float, default=1e-8
        Relative gap at which a cluster counts as converged.
    max_iter : int, default=100_000
        Largest number of iterations for a cluster.
    cutoff : float, default=2e-12
        Members have a weight above it.
    monitor : Monitor, optional
        Knows the time limit, Ctrl-C and the callback; when it ends the search, the best shift so far is
        returned.

    Returns
    -------
    float
        The shift.
    """
    monitor = Monitor() if monitor is None else monitor
    similarity = as_similarity(similarity)
    options = SolverOptions(tol=tol, max_iter=max_iter, cutoff=cutoff)
    level = bounds_of(similarity).level
    high = guaranteed_shift(similarity, size) + level
    low = max(LEAST * high, 1e-12)
    halted = False

    def sufficient(kappa: float) -> bool:
        nonlocal halted
        shift = kappa - level
        run = Peeling(
            similarity,
            n_clusters,
            shift=shift,
            options=options.chosen_for(similarity, shift),
            monitor=monitor,
            degrees=None if degrees is None else degrees.copy(),
        )
        left = similarity.n
        for found in run:
            if len(found) < min(size, left):
                return False
            left -= len(found)
        halted = run.end in HALTS.values()
        return not halted

    if sufficient(low):
        return low - level
    while high > CLOSE * low and not halted:
        middle = float(np.sqrt(low * high))
        if sufficient(middle):
            high = middle
        else:
            low = middle
    return high - level
