r"""Whether a computed point stands for a strict maximum near it: the proof for caps, hyperedges and games.

Let P be the points with :math:`\sum_i x_i = 1` and :math:`0 \le x_i \le c`, where the cap c may be
infinite, and r(x) the payoffs (half the gradient of f, its gradient, or Bx). x is an *equilibrium* of P if,
for some level l, :math:`r_i = l` where :math:`x_i` lies between the bounds, :math:`r_i \le l` where it is 0
and :math:`r_i \ge l` where it is at the cap. Let x be any point of P, l any number, and :math:`p_i` the
least numbers for which x is an equilibrium with the payoffs r + p. Let R be a set with all objects between
the bounds, and :math:`P_R` the points of P that differ from x on R only.

**Theorem.** *Let* :math:`(r(y) - r(y'))^T (y - y') \le -\mu \sum \kappa_i (y_i - y'_i)^2` *for all y and y'
of* :math:`P_R`, *with* :math:`\mu > 0`. *Then* :math:`P_R` *has one equilibrium* :math:`x^* = x + z`, *and*

.. math:: \Big(\sum \kappa_i z_i^2\Big)^{1/2} \le \frac{|p|}{\mu}, \quad
   |p|^2 = \sum_{i \in R} p_i^2 / \kappa_i.

*Proof.* An equilibrium exists as :math:`P_R` is compact and convex and r continuous. As x* is one,
:math:`r(x^*)^T (x - x^*) \le 0`; as x is one with r + p, :math:`(r + p)^T (x^* - x) \le 0`. The sum is
:math:`(r(x^*) - r)^T z \ge p^T z`, so :math:`\mu \sum \kappa z^2 \le |p^T z|`, and Cauchy and Schwarz
do the rest. With p = 0 it says that there is only one. ∎

Where z moves no payoff by more than :math:`d_i`, some level of x* lies within :math:`b = \max_R (|r_i - l|
+ d_i)` of l: it is the payoff of the objects of R between the bounds, and where there are none, the payoffs
of R enclose it. So if every object outside R is on its side of l by more than :math:`b + d_i`, x* is an
equilibrium of P, strictly so outside R. Directions along which f does not fall at first order lie in R,
where it bends down: x* is a strict local maximum. In a game all best replies lie in R, where :math:`z^T B z
< 0`: x* is an ESS. Which objects of R have a positive weight is open for those with :math:`x_i \le |z_i|`:
these are ``undecided``.

Where f is not quadratic its Hessian may change by K times the distance. Let the bound :math:`\mu` hold at
x, and let :math:`D = 2 |p| / \mu` with :math:`K D \le \mu / 2`. Take for x* the maximum of f over the
points of :math:`P_R` up to D from x. The mean of the Hessian on the way there is bounded by :math:`3 \mu /
4`, so that the same lines put x* at most :math:`4 |p| / 3 \mu < D` away: it is a local maximum of
:math:`P_R`, and the Hessian there is bounded by :math:`\mu / 2`. For quadratic f a distance of D leaves
room for the rounding of these few numbers.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dominantsets._typing import Floats, Ints

EPS = float(np.finfo(np.float64).eps)
PROVABLE = 500  # objects up to which the curvature of a dense form is computed (it costs their cube)


class Form(Protocol):
    """What the proof asks about payoffs near x."""

    kappa: Floats

    def curvature(self, R: Ints) -> tuple[float, float]:
        """Bounds of the largest μ at x for directions among R, from below and from above."""

    def bend(self, R: Ints) -> float:
        """How much it may change per distance; 0 where payoffs are linear."""

    def reach(self, R: Ints, distance: float) -> Floats:
        """How far each payoff can move within a distance, up to what all of them move by."""


def strict_nearby(
    form: Form, x: Floats, r: Floats, error: Floats, cap: float = np.inf
) -> tuple[bool | None, Ints]:
    """Whether x stands for a strict maximum, and the objects that may or may not be members of it.

    Parameters
    ----------
    form : Form
        The payoffs near x.
    x, r : ndarray of shape (n,)
        Weights that sum to 1 up to rounding, and payoffs.
    error : ndarray of shape (n,)
        Bounds of what rounding does to r, that of x included.
    cap : float, default=inf
        The largest weight.

    Returns
    -------
    strict : bool or None
        True: x* exists and is strict. False: no strict maximum near x has the same objects between the
        bounds. None: neither is proved, or x is so far from x* that no member is certain.
    undecided : ndarray of int
        Objects for which it is open whether they have a positive weight at x*.
    """
    none, floor, roof = np.empty(0, dtype=np.int64), x <= 0.0, x >= cap
    free = ~(floor | roof)
    if free.any():
        level = float(np.average(r[free], weights=1.0 / form.kappa[free]))
    elif floor.any():
        level = 0.5 * float(r[floor].max() + r[roof].min())
    else:  # all at the cap: the only point there is
        return True, none
    off, chosen = r - level, free.copy()
    while True:
        R = np.flatnonzero(chosen)
        low, high = form.curvature(R)
        if not low > 0.0:
            sure = form.kappa * np.minimum(x, cap - x) > error  # between the bounds, however x is rounded
            return (False if high < 0.0 and sure[R].all() else None), none
        p = np.maximum(0.0, np.where(free, np.abs(off), np.where(floor, off, -off)) + error)[R]
        distance = 2.0 * float(np.sqrt(np.sum(np.square(p) / form.kappa[R]))) / low
        if not form.bend(R) * distance <= 0.5 * low:
            return None, none
        moves = form.reach(R, distance) + error
        band = moves + float((np.abs(off) + moves)[R].max(initial=0.0))
        ahead = np.where(floor, -off, off)  # how far an object outside R is on its side
        if (ahead < -band)[~chosen].any():
            return False, none
        unclear = ~chosen & (ahead <= band)
        if not unclear.any():
            # weights sum to 1 up to one rounding per member
            certain = x[R] > distance / np.sqrt(form.kappa[R]) + np.count_nonzero(x) * EPS
            return (True, R[~certain]) if certain.any() or (roof & ~chosen).any() else (None, none)
        chosen |= unclear


def curvature_on_face(B: Floats, error: float = 0.0) -> tuple[float, float]:
    r"""Bounds of the least :math:`-z^T B z / |z|^2` over :math:`\sum z = 0`, for a symmetric B.

    ``error`` is the relative error of the entries. One eigenvalue of the form without its means belongs to
    the vector of ones, and is moved out of the way.
    """
    size = len(B)
    if size < 2:
        return np.inf, np.inf
    norm = float(np.abs(B).sum(axis=0).max())
    means = B.mean(axis=0)
    C = means + means[:, None] - means.mean() - B + norm / size
    least = float(np.linalg.eigvalsh(C)[0])
    slack = (error + 8 * size * EPS) * norm  # rounding of the means, of C and of its eigenvalues
    return least - slack, least + slack
