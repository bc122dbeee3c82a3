r"""What is proved of f on the simplex of some objects R: is it concave, and how far away is its maximum?

Let x be a point of that simplex, and let :math:`|p_i| \le E` be a change of payoffs with which x satisfies
the first-order conditions exactly: :math:`r_i + p_i = c` for members, at most c for the others of R. Where f
is strictly concave there, it has one maximum :math:`x^*`, and :math:`z = x^* - x` has

.. math:: Q(z) = -z^T B z \le -p \cdot z,

because x maximises :math:`f + 2 p \cdot y`: the first-order conditions of both points add up to this. So a
lower bound of Q on directions that sum to 0 is an upper bound of z (docs/theory-dual.md, Proposition 4).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dtrtri

from dominantsets._typing import Floats

EPS = float(np.finfo(np.float64).eps)
SMALL, LARGE = 1e-250, 1e300  # between them numbers round to relative errors, and norms do not overflow


class Face(NamedTuple):
    """What is proved of a face; all bounds are multiples of E.

    ``concave`` is True or False where that is proved, else None. Then ``weights`` bound :math:`|z_i|`, and
    ``outside`` how much the payoffs of objects outside R rise above the members' level on the way.
    """

    concave: bool | None
    weights: Floats
    outside: float


OPEN, BENT = Face(None, np.empty(0), np.inf), Face(False, np.empty(0), np.inf)


def low_rank_face(room: float, kappa: Floats, count: int, inner: float, outer: float) -> Face:
    r"""The face of low-rank similarities, where :math:`Q(z) = \sum \kappa_i z_i^2 - |U^T z|^2`.

    ``room`` is how far the eigenvalues of J are proved to lie below 1 (0: it is open; -1: one lies above);
    kappa may be one number for all ``count`` objects. ``inner`` bounds the distance between rows of R,
    ``outer`` that of others from these. From
    :math:`Q \ge room \sum \kappa_i z_i^2` follows :math:`|U^T z| \le E \sqrt{\sum 1 / \kappa_i} / room`.
    Weights are a positive part over kappa, of values that move with :math:`u_i \cdot U^T z` and a level that
    moves with means of these and of p: the difference is at most :math:`2 E + inner\,|U^T z|`.
    """
    if room <= 0.0:
        return BENT if room < 0.0 else OPEN
    moved = np.sqrt(np.sum(1.0 / kappa) * (count / kappa.size)) / room
    return Face(True, (2.0 + inner * moved) / kappa, 2.0 + outer * moved)


def matrix_face(B: Floats, error: float, largest: float) -> Face:
    r"""The face of any similarities: B is their block with minus the shifts on the diagonal, up to an error.

    In the basis :math:`e_k - e_0` minus B is a matrix C of one row less. What rounding may do to C and to its
    Cholesky factor L is subtracted from its diagonal first; so :math:`|C^{-1}| \le |L^{-1}|^2`. It is the
    norm of the inverse that counts: a matrix may be nearly singular while no pivot is small.
    """
    if len(B) == 1:
        return Face(True, np.zeros(1), 0.0)
    if not SMALL < float(np.abs(B).max()) < LARGE:
        return OPEN
    C, slack = _form(B, error)
    factor = _factor(C, -slack)
    if factor is None:
        return OPEN if _factor(C, 2.0 * slack) is not None else BENT
    inverse, _ = dtrtri(factor, lower=1)
    sizes, others = np.abs(inverse), len(C)
    norm = min(float(np.square(sizes).sum()), float(sizes.sum(axis=0).max() * sizes.sum(axis=1).max()))
    moved = np.full(others + 1, 2.0 * norm * np.sqrt(others))
    moved[0] *= np.sqrt(others)  # that weight moves by minus the sum of the others
    return Face(True, moved, largest * float(moved.sum()))


def negative_definite_on_face(B: Floats, error: float = 0.0) -> bool:
    r"""Whether :math:`z^T B z < 0` is proved for all :math:`z \ne 0` with :math:`\sum z = 0`."""
    C, slack = _form(B, error)
    return not C.size or _factor(C, -slack) is not None


def _form(B: Floats, error: float) -> tuple[Floats, float]:
    """Minus B in the basis e_k - e_0, and by how much, as a norm, it and its Cholesky factor may be off.

    The factor is that of a matrix which differs, entry by entry, by at most (m + 1) eps / 2 times the product
    of two roots of the diagonal (Higham, Accuracy and Stability of Numerical Algorithms, Theorem 10.3).
    """
    C = -(B[1:, 1:] - B[1:, :1] - B[:1, 1:] + B[0, 0])
    m, most = len(C), float(np.abs(B).max(initial=0.0))
    return C, 4.0 * m * (error + EPS * most) + (m + 2.0) * EPS * max(float(np.trace(C)), 1e-300)


def _factor(C: Floats, raised: float) -> Floats | None:
    """The Cholesky factor of C with a number added to its diagonal; None where there is none."""
    A = C.copy()
    A[np.diag_indices_from(A)] += raised
    try:
        return np.asarray(cholesky(A, lower=True, check_finite=False))
    except LinAlgError:
        return None
