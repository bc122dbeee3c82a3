r"""How well clusters will agree with the true groups, from their stability.

On generated sets the mean adjusted Rand index between what :mod:`dominantsets.fitting.judge` takes
and the true groups is close to

.. math:: \frac{1}{1 + e^{1.09}\,((1 - t) / t)^{0.64}},

with t the stability of the partition. Both numbers, and the intervals, come from the even seeds of
``benchmarks/judge.py``; docs/choosing.md shows what the formula says of the odd ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple

BASE, SLOPE = 1.09, 0.64
LARGEST = 0.995  # stability of two subsamples: no partition is certain
INTERVALS = (  # up to each agreement, the quantiles 0.1 and 0.9 of the adjusted Rand index
    (0.3, 0.0, 0.44),
    (0.5, 0.0, 0.83),
    (0.7, 0.02, 0.94),
    (0.85, 0.22, 0.99),
    (1.0, 0.67, 1.0),
)


class Agreement(NamedTuple):
    """The adjusted Rand index with the true groups that is to be expected.

    Attributes
    ----------
    mean : float
        Its mean.
    low, high : float
        The interval in which four of five such partitions have it.
    """

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"Expected agreement with the true groups: {self.mean:.2f} (adjusted Rand index; 80% of such "
            f"partitions have {self.low:.2f} to {self.high:.2f})."
        )


def expected(stability: float) -> Agreement:
    """The agreement of a partition with this stability.

    Examples
    --------
    >>> expected(0.9).mean < expected(0.99).mean
    True
    """
    t = min(stability, LARGEST)
    mean = 0.0 if t <= 0.0 else 1.0 / (1.0 + math.exp(BASE) * ((1.0 - t) / t) ** SLOPE)
    low, high = next((low, high) for most, low, high in INTERVALS if mean <= most)
    return Agreement(mean, low, high)
