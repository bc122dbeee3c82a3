r"""Whether a group is more than chance: calibrated on data without structure.

Uniform and Gaussian data have groups, too, by chance; ``benchmarks/nulls.py`` counts them. With n objects of
dimension D there are about n / m places for a group of m, so that the expected number of chance groups that
are as persistent, or as sharp, is

.. math:: \log E_F = \log(n / m) - 5 - 6\,(F - x_D), \quad x_D = 0.15 + 1.7\,e^{-D / 7.5}

.. math:: \log E_s = \log(n / m) - 0.4\,z^2, \quad
          z = \bigl(s \sqrt m + (\sqrt D - 1.4) / 2\bigr) \sqrt{D (D + 4)} / (D + 2).

The second has a derivation. In constant density s is 0 with the standard error
:math:`(D + 2) / \sqrt{D (D + 4) m}` (the relative error of the second moment of m objects in a ball), the
tail is that of a normal distribution, a little heavier because s is the largest over many levels; the largest
scatter over all directions lies above that of one, by about :math:`\sqrt{D / m} / 2`. In the first,
persistence has no scale, so that its tail is exponential with the same rate for all sizes; the rate and the
level :math:`x_D` are fitted. Both were fitted on seeds that the tests do not use.

Of many groups those are significant whose number is such that at most 2 in 100 of them are expected by chance
(Benjamini and Hochberg, Controlling the false discovery rate, 1995).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dominantsets._typing import Floats, Ints

FALSE = 0.02  # false discovery rate: largest share of the significant groups that chance is expected to give
LOCAL = 8  # neighbours from which the dimension is found: more would look across small groups


class Evidence:
    """Expected numbers of chance groups among n objects of a dimension, as logarithms."""

    def __init__(self, n: int, dimension: float) -> None:
        self.n, self.dimension = n, dimension
        D = dimension
        self.flat = D / (D + 2.0)  # the exponent with which a ball in constant density grows
        self._error = (D + 2.0) / np.sqrt(D * (D + 4.0))

    def of_persistence(self, persistence: float, size: int) -> float:
        """Of groups of this size or more that stay the same as long."""
        usual = 0.15 + 1.7 * np.exp(-self.dimension / 7.5)
        return float(np.log(self.n / size) - 5.0 - 6.0 * (persistence - usual))

    def of_sharpness(self, sharpness: Floats, sizes: Ints) -> Floats:
        """Of groups of these sizes or more that are as sharp."""
        z = np.maximum(sharpness, 0.0) * np.sqrt(sizes) + 0.5 * (np.sqrt(self.dimension) - 1.4)
        z = np.maximum(np.where(sharpness > 0.0, z, 0.0), 0.0) / self._error
        return np.asarray(np.log(self.n / sizes) - 0.4 * z**2)

    @staticmethod
    def together(first: float, second: float) -> float:
        """Of groups that pass either of two tests as well as this one does."""
        return min(first, second) + float(np.log(2.0))


def least_significant(chances: Sequence[float] | Floats, rate: float = FALSE) -> float:
    """The largest expected number (a logarithm) of groups that are significant; -inf where none is.

    The j-th best counts where at most j times the rate of groups like it are expected by chance.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(np.exp(least_significant(np.log([0.001, 0.07, 0.5]), 0.05))), 6)
    0.07
    """
    ordered = np.sort(np.asarray(chances, dtype=np.float64))
    fine = np.flatnonzero(ordered <= np.log(rate * np.arange(1, ordered.size + 1)))
    return float(ordered[fine[-1]]) if fine.size else -np.inf


def dimension(distances: Floats) -> float:
    r"""The dimension of data, from the distances of objects to their nearest ones.

    Levina and Bickel's estimate: the mean of :math:`\log(T_k / T_j)` over the nearer ones is 1 / D wherever
    the density is constant. Inverses are averaged over the objects (MacKay and Ghahramani); copies of an
    object do not count as neighbours.
    """
    positive = np.where(distances > 1e-12 * max(float(distances.max()), 1e-300), distances, np.inf)
    positive = np.sort(positive, axis=1)
    again = positive[:, 1:] <= positive[:, :-1] * (1.0 + 1e-9)  # a neighbour and its copy are one
    positive[:, 1:][again] = np.inf
    positive = np.sort(positive, axis=1)[:, :LOCAL]
    count = np.isfinite(positive).sum(axis=1)
    enough = count > 2
    if not enough.any():
        return 1.0
    near, count = positive[enough], count[enough]
    farthest = near[np.arange(count.size), count - 1]
    ratios = np.where(np.isfinite(near), farthest[:, None] / near, 1.0)
    logs = np.log(ratios).sum(axis=1) / (count - 1)
    return float(1.0 / max(float(logs.mean()), 1e-3))
