r"""Whether a point is an evolutionarily stable strategy (ESS): the certificate of asymmetric similarities.

With B the payoffs (similarities, minus the shift on the diagonal), x is an ESS where
:math:`x^T B x \ge y^T B x` for all y, and :math:`x^T B y > y^T B y` for those y that do as well. With S the
support of x and E, its extended support, the objects of payoff f, that is the case if and only if x is a Nash
equilibrium and

.. math:: -z^T B z > 0 \quad \text{for all } z \ne 0, \; \sum z = 0, \; z_i \ge 0 \text{ on } E \setminus S,
   \; z_i = 0 \text{ outside } E.

Where E = S, B + Bᵀ has to be negative definite on the face. Else the objects of S are eliminated, and what is
left on E∖S has to be strictly copositive.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dominantsets._typing import Floats, Ints
from dominantsets.solvers.certificate import EPS

TESTED = 12  # objects of E∖S up to which all their subsets are looked at


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
    objects, m = np.concatenate([support, ties]), support.size - 1
    C = B[np.ix_(objects, objects)]
    C = 0.5 * (C + C.T)
    Q = -(C[1:, 1:] - C[1:, :1] - C[:1, 1:] + C[0, 0])  # in the basis e_k - e_0
    rounding = 8 * EPS * objects.size * max(float(np.abs(C).max()), 1e-300)
    inside, across, W = Q[:m, :m], Q[:m, m:], Q[m:, m:]
    if m:
        try:
            factor = cho_factor(inside - rounding * np.eye(m), lower=True)
        except LinAlgError:
            return False
        W = W - across.T @ cho_solve(factor, across)
    return strictly_copositive(W, rounding)


def strictly_copositive(W: Floats, rounding: float = 0.0) -> bool | None:
    r"""Whether :math:`v^T W v > 0` for all :math:`v \ge 0` other than 0; None where it is too large to tell.

    The least value on the simplex is taken on at some support, and at the smallest of these it is the one
    solution of :math:`W_J v = \lambda 1, \sum v = 1`; so all supports are tried.
    """
    if len(W) == 0:
        return True
    if float(W.diagonal().min()) <= rounding:
        return False
    if float(W.min()) >= 0.0:
        return True
    try:
        cho_factor(W - rounding * np.eye(len(W)))
    except LinAlgError:
        pass
    else:
        return True
    if len(W) > TESTED:
        return None
    for size in range(2, len(W) + 1):
        for J in combinations(range(len(W)), size):
            system = np.zeros((size + 1, size + 1))
            system[:size, :size] = W[np.ix_(J, J)]
            system[:size, size], system[size, :size] = -1.0, 1.0
            try:
                *v, level = np.linalg.solve(system, np.eye(size + 1)[size])
            except np.linalg.LinAlgError:
                continue
            if min(v) > 0.0 and level <= rounding:
                return False
    return True
