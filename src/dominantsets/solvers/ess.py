r"""Whether a point is an evolutionarily stable strategy (ESS), in rational arithmetic on the numbers given.

With B the payoffs (similarities, minus the shift on the diagonal), x is an ESS where
:math:`x^T B x \ge y^T B x` for all y, and :math:`x^T B y > y^T B y` for those y that do as well. With S the
support of x and E, its extended support, the objects of payoff f, that is the case if and only if x is a Nash
equilibrium and

.. math:: -z^T B z > 0 \quad \text{for all } z \ne 0, \; \sum z = 0, \; z_i \ge 0 \text{ on } E \setminus S,
   \; z_i = 0 \text{ outside } E.

Where E = S, B + Bᵀ has to be negative definite on the face. Else the objects of S are eliminated, and what
is left on E∖S has to be strictly copositive. Whether a payoff is f, or a pivot 0, no rounded number can
tell: small supports are therefore tested in fractions.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets._typing import Floats, Ints
from dominantsets.solvers.nearby import EPS

EXACT = 12  # members up to which a support is tested: fractions of 53-bit numbers then take some 20 ms
TIES = 8  # objects of E∖S up to which all their subsets are looked at: 255 small systems

Rationals = NDArray[Any]  # of Fraction


class Exact(NamedTuple):
    """Members with a positive weight, their weights, outsiders of the same payoff, whether it is an ESS."""

    support: Ints
    weights: Floats
    ties: Ints
    stable: bool | None


def equilibrium_in_rationals(B: Floats, support: Ints) -> Exact | None:
    """The point of level payoffs on a support, and whether it is an ESS.

    Objects without a positive weight there are left out, and it is computed anew. Where there is no such
    point, or more than one, the support has no ESS, and there are no weights. None: the support is too
    large.
    """
    while True:
        if not 0 < support.size <= EXACT:
            return None
        level = _level(as_rationals(B[np.ix_(support, support)]))
        if level is None:
            return Exact(support, np.empty(0), np.empty(0, dtype=np.int64), False)
        x, f = level[:-1], level[-1]
        if (x > 0).all():
            break
        support = support[x > 0]
    weights = x.astype(np.float64)
    r = B[:, support] @ weights
    error = EPS * (2 * support.size + 4) * (np.abs(B[:, support]) @ weights)
    off = r - float(f)
    near = np.setdiff1d(np.flatnonzero(np.abs(off) <= 2.0 * error), support)
    exactly = as_rationals(B[np.ix_(near, support)]) @ x - f
    ties = near[exactly == 0]
    if (off > 2.0 * error).any() or (exactly > 0).any():
        return Exact(support, weights, ties, False)
    return Exact(support, weights, ties, stable_against_ties(B, support, ties))


def stable_against_ties(B: Floats, support: Ints, ties: Ints) -> bool | None:
    """Whether the form above is positive; None where there are too many ties to look at.

    Parameters
    ----------
    B : ndarray of shape (n, n)
        Payoffs, the diagonal included.
    support : ndarray of int
        The objects with a weight.
    ties : ndarray of int
        Those without one that have the same payoff.

    Returns
    -------
    bool or None
        Whether a Nash equilibrium with these is an ESS.
    """
    objects = np.concatenate([support, ties])
    C = as_rationals(B[np.ix_(objects, objects)])
    C = C + C.T
    Q = C[1:, :1] + C[:1, 1:] - C[1:, 1:] - C[0, 0]  # twice the form, in the basis e_k - e_0
    W = _without_first(Q, support.size - 1)
    return False if W is None else strictly_copositive(W)


def strictly_copositive(W: Rationals) -> bool | None:
    r"""Whether :math:`v^T W v > 0` for all :math:`v \ge 0` other than 0; None where it is too large to tell.

    The least value on the simplex is taken on at some support, and at the smallest of these it is the one
    solution of :math:`W_J v = \lambda 1, \sum v = 1`; so all supports are tried. As the diagonal is positive,
    :math:`\lambda \le 0` needs a negative entry in every row of :math:`W_J`.
    """
    size = len(W)
    if (W.diagonal() <= 0).any():
        return False
    if (W >= 0).all() or _without_first(W, size) is not None:
        return True
    if size > TIES:
        return None
    for J in (list(chosen) for k in range(2, size + 1) for chosen in combinations(range(size), k)):
        part = W[np.ix_(J, J)]
        if (part < 0).any(axis=1).all():
            level = _level(part)
            if level is not None and (level[:-1] > 0).all() and level[-1] <= 0:
                return False
    return True


def as_rationals(M: Any) -> Rationals:
    """An array of floats as what they are, exactly."""
    return np.vectorize(Fraction, otypes=[object])(M) if M.size else np.empty(M.shape, dtype=object)


def _level(M: Rationals) -> Rationals | None:
    r"""The v and :math:`\lambda` with :math:`M v = \lambda 1, \sum v = 1`; None where they are not unique."""
    n = len(M) + 1
    A = as_rationals(np.zeros((n, n + 1), dtype=np.int64))
    A[:-1, :-2], A[:-1, -2], A[-1, :-2], A[-1, -1] = M, Fraction(-1), Fraction(1), Fraction(1)
    for c in range(n):
        pivot = next((row for row in range(c, n) if A[row, c] != 0), None)
        if pivot is None:
            return None
        A[[c, pivot]] = A[[pivot, c]]
        A[c] /= A[c, c]
        others = np.arange(n) != c
        A[others] -= np.outer(A[others, c], A[c])
    return np.asarray(A[:, n])


def _without_first(Q: Rationals, count: int) -> Rationals | None:
    """The Schur complement of the first rows; None where their part is not positive definite."""
    for _ in range(count):
        if Q[0, 0] <= 0:
            return None
        Q = Q[1:, 1:] - np.outer(Q[1:, 0], Q[0, 1:]) / Q[0, 0]
    return Q
