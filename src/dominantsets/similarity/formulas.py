r"""Formulas of similarity between feature rows: pure arithmetic, the same for NumPy arrays and torch tensors.

Low rank. With v the rows as a formula sees them (centred, scaled to length 1, or as they are),

.. math:: a_{ij} = c\,v_i \cdot v_j + b_i + b_j + m \quad (i \ne j), \qquad b_i = -|v_i|^2 \text{ or } 0,

and on the diagonal the formula would have :math:`c|v_i|^2 + 2 b_i + m`. In the dual (docs/theory-dual.md) the
rows are :math:`u = \sqrt c\,v`.

Kernels. :math:`k(d(x_i, x_j))` of a distance d, 1 for a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from dominantsets._checks import check_real
from dominantsets._typing import Floats
from dominantsets.compiled import rows as compiled_rows
from dominantsets.rows.base import Sums

EXACT_LIMIT = 20_000  # objects up to which all pairs may be visited to find one exact number


@dataclass(frozen=True)
class Formula:
    """One low-rank similarity.

    Attributes
    ----------
    name : str
        The affinity.
    factor : float
        The c.
    centred, unit, has_bias : bool
        Whether rows are centred, scaled to length 1, and have a bias b.
    offset : float
        The m.
    """

    name: str
    factor: float
    centred: bool = False
    unit: bool = False
    has_bias: bool = False
    offset: float = 0.0

    @property
    def root(self) -> float:
        """The square root of the factor: u = root v."""
        return float(np.sqrt(self.factor))

    def bias(self, squares: Any) -> Any:
        """The b of rows with these squared lengths; None where there is none."""
        return -squares if self.has_bias else None

    def own(self, squares: Any) -> Any:
        """What the formula has on the diagonal, for rows with these squared lengths."""
        return 0.0 * squares + self.offset if self.has_bias else self.factor * squares + self.offset

    def diagonal(self, squares: Floats) -> Floats:
        """What the formula has on the diagonal; one number where all objects share it."""
        return np.full(1, self.offset) if self.has_bias else self.own(squares)

    def between(self, products: Any, p: Any, q: Any) -> Any:
        """Similarities from inner products of rows and their squared lengths; changes ``products``."""
        products *= self.factor
        products += self.offset
        if self.has_bias:
            products -= p[:, None]
            products -= q[None, :]
        return products

    def payoffs(self, products: Any, squares: Any, total: float, bias_sum: float) -> Any:
        """Sums of weights times similarity, from products with the weighted sum of rows."""
        out = self.factor * products + (self.offset * total + bias_sum)
        return out if not self.has_bias else out - squares * total

    def largest(self, longest: float) -> float:
        """A bound of the similarities of rows up to this long."""
        return float(self.own(longest**2))

    def total_degree(self, sums: Sums) -> float:
        """The sum of all similarities of different objects, from sums over those."""
        biases = -sums.squares if self.has_bias else 0.0
        inside = self.factor * float(sums.rows @ sums.rows)
        own = sums.objects * self.own(sums.squares / max(1.0, sums.objects))
        return inside + 2.0 * sums.objects * biases + self.offset * sums.objects**2 - float(own)

    def ball(self, mean: Floats, bias_sum: float, f: float) -> float | None:
        r"""The radius of the ball in which payoffs exceed f, where they are a ball.

        For M - D² a payoff is :math:`M - |y - c|^2 - v`, c the weighted mean and v the variance about it.
        """
        if not self.has_bias:
            return None
        variance = -bias_sum - float(mean @ mean)
        return float(np.sqrt(max(0.0, self.offset - variance - f)))

    def with_offset(self, offset: Any, pairs: Pairs) -> Formula:
        """The formula with the constant that a user asks for, if it makes similarities nonnegative."""
        if self.unit:
            return self
        if self.has_bias:
            return replace(self, offset=distance_offset(offset, pairs))
        return replace(self, offset=_product_offset(offset, pairs))


class Pairs(NamedTuple):
    """What is known of all pairs of rows.

    ``longest`` is the longest row's squared length, ``least`` gives the least feature. ``extreme`` visits all
    pairs, if their objects are no more than a limit, for the largest squared distance or the least product
    with the numbers of the two; None where that is not done.
    """

    n: int
    longest: float
    least: Callable[[], float]
    extreme: Callable[[float], tuple[float, int, int] | None]


SQEUCLIDEAN = Formula("sqeuclidean", 2.0, centred=True, has_bias=True)
COSINE = Formula("cosine", 1.0, unit=True, offset=1.0)
LINEAR = Formula("linear", 1.0)


def distance_offset(offset: Any, pairs: Pairs, root: bool = False) -> float:
    """The constant from which squared distances (with ``root``, distances) are subtracted.

    Where all objects are equal every distance is 0; a positive constant makes them one cluster.
    """

    def rooted(square: float) -> float:
        return float(np.sqrt(square)) if root else square

    bound = rooted(4.0 * pairs.longest)
    if isinstance(offset, str) and offset not in ("bound", "exact"):
        raise ValueError(f"offset={offset!r} is not known; choose 'bound', 'exact' or a number.")
    if offset is None or offset == "bound":
        return bound or 1.0
    if offset == "exact":
        found = pairs.extreme(np.inf)
        if found is None:
            raise ValueError(
                "offset='exact' looks at all pairs of objects, which is not done for Dask arrays; use "
                "offset='bound' or a number."
            )
        return rooted(found[0]) or 1.0
    M = check_real("offset", offset, at_least=0.0)
    if bound > M:  # the bound is always enough; below it only all pairs can tell
        found = pairs.extreme(EXACT_LIMIT)
        largest = bound if found is None else rooted(found[0])
        if largest * (1.0 - 1e-12) > M:
            raise ValueError(
                f"offset={M:g} is below {largest:g}, so that similarities could be negative; use "
                "offset='bound' or 'exact'."
            )
    return M


def _product_offset(offset: Any, pairs: Pairs) -> float:
    """The constant that is added to inner products."""
    bound = pairs.longest
    if isinstance(offset, str) and offset == "bound":
        return bound
    added = 0.0 if offset is None else check_real("offset", offset, at_least=0.0)
    if added >= bound or pairs.n == 1 or pairs.least() >= 0.0:
        return added
    remedy = f"pass offset='bound' (adds {bound:.6g}), or affinity='cosine'"
    found = pairs.extreme(EXACT_LIMIT)
    if found is None:
        raise ValueError(
            f"features of both signs may have negative inner products, and {pairs.n:,} objects are too many "
            f"to look at every pair; {remedy}."
        )
    smallest, i, j = found
    if smallest + added < 0:
        raise ValueError(
            f"the linear similarity of objects {i} and {j} is {smallest + added:.6g}, but similarities must "
            f"not be negative; {remedy}."
        )
    return added


@dataclass(frozen=True)
class Gaussian:
    r""":math:`\exp(-\gamma |p - q|^2)`; rows are centred first, which keeps digits."""

    gamma: float
    name: str = "rbf"
    centred: bool = True
    of_inner_products: bool = True  # whether ``of_products`` is there

    def between(self, P: Floats, Q: Floats) -> Floats:
        """Similarities of the rows of P to the rows of Q."""
        return self.of_products(P @ Q.T, np.square(P).sum(axis=1), np.square(Q).sum(axis=1))

    def of_products(self, products: Floats, p: Floats, q: Floats) -> Floats:
        """Similarities from inner products and squared lengths, in place."""
        compiled_rows.squares(products, p, q, -self.gamma)
        return np.exp(products, out=products)

    def distances(self, P: Floats, Q: Floats) -> Floats:
        """The distances that gamma multiplies."""
        return np.asarray(cdist(P, Q, "sqeuclidean"))


@dataclass(frozen=True)
class Laplacian:
    r""":math:`\exp(-\gamma |p - q|_1)`."""

    gamma: float
    name: str = "laplacian"
    centred: bool = False
    of_inner_products: bool = False

    def between(self, P: Floats, Q: Floats) -> Floats:
        """Similarities of the rows of P to the rows of Q."""
        out = self.distances(P, Q)
        out *= -self.gamma
        return np.exp(out, out=out)

    def distances(self, P: Floats, Q: Floats) -> Floats:
        """The distances that gamma multiplies."""
        out = np.empty((len(P), len(Q)))
        compiled_rows.city_block(np.ascontiguousarray(P), np.ascontiguousarray(Q), out)
        return out


@dataclass(frozen=True)
class Distance:
    """M - |p - q|."""

    M: float
    name: str = "euclidean"
    centred: bool = True
    of_inner_products: bool = False

    def between(self, P: Floats, Q: Floats) -> Floats:
        """Similarities of the rows of P to the rows of Q."""
        out: Floats = cdist(P, Q)
        np.subtract(self.M, out, out=out)
        return np.maximum(out, 0.0, out=out)  # rounding, for the farthest pair under offset="exact"


def one_over_median(distances: Floats) -> float:
    """One over the median of the positive distances of different objects."""
    upper = distances[np.triu_indices(len(distances), 1)]
    positive = upper[upper > 0]
    return 1.0 / float(np.median(positive)) if positive.size else 1.0
