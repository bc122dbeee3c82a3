r"""Boxes that prove a bound of f over the simplex, to be checked without a search.

With the rows u of low-rank similarities, biases b and :math:`w = U^T x`, Proposition 1 of
docs/theory-global.md without its last two sums is

.. math:: f(x) \le m - |p|^2 + \max_{y \in \Delta} (2 s^T y - \sum \kappa_i y_i^2) + |w - p|^2,
   \qquad s = U p + b,

for any p. Taken in the middle of a box, :math:`|w - p|^2` is at most the sum of the squares of its half
widths. Boxes are halved until this is small enough. The search of :mod:`~dominantsets.solvers.boxes` needs
far fewer of them; what it proves with them takes pages to check, and this takes three lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints

WORK = 4e8  # numbers that are looked at before the proof is given up: some seconds
MOST = 50_000  # boxes in a file


class Boxes(NamedTuple):
    """A tree of boxes, parents first and left sides first: the axis that is cut (-1: none), and where."""

    axis: list[int]
    cut: list[float]


def prove(U: Floats, b: Floats, kappa: Floats, constant: float, target: float) -> Boxes | None:
    """Boxes around all points :math:`U^T x`, none with an f above ``target``; None if it takes too many.

    Parameters
    ----------
    U : ndarray of shape (n, d)
        The rows.
    b, kappa : ndarray of shape (n,)
        Biases, and what is subtracted per squared weight; positive.
    constant : float
        The m of the formula.
    target : float
        The bound.

    Examples
    --------
    Two copies at each of two places, which are 2 apart: M - D² with M = 4, and f is at most 2.

    >>> import numpy as np
    >>> U = np.sqrt(2.0) * np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> found = prove(U, np.full(4, -1.0), np.full(4, 4.0), 4.0, 2.001)
    >>> found.axis[0], found.cut[0]
    (0, 0.0)
    >>> prove(U, np.full(4, -1.0), np.full(4, 4.0), 4.0, 1.9) is None  # which is false
    True
    """
    boxes, stack = Boxes([], []), [(U.min(axis=0), U.max(axis=0))]
    most = min(MOST, int(WORK / (U.size + 32 * len(U))))
    while stack:
        low, high = stack.pop()
        if len(boxes.axis) + len(stack) >= most:
            return None
        half = 0.5 * (high - low)
        if _highest(U, b, kappa, low + half) + constant + float(np.square(half).sum()) <= target:
            boxes.axis.append(-1)
            boxes.cut.append(0.0)
            continue
        j = int(half.argmax())
        middle = float(low[j] + half[j])
        if not low[j] < middle < high[j]:
            return None
        boxes.axis.append(j)
        boxes.cut.append(middle)
        left, right = high.copy(), low.copy()
        left[j] = right[j] = middle
        stack += [(right, high), (low, left)]
    return boxes


def _highest(U: Floats, b: Floats, kappa: Floats, p: Floats) -> float:
    """The bound at p, without the constant: any tau gives one, the best solves one equation."""
    s = U @ p + b
    order: Ints = np.argsort(-s)
    inverse = 1.0 / kappa[order]
    tau = float(((np.cumsum(s[order] * inverse) - 1.0) / np.cumsum(inverse)).max())
    return 2.0 * tau + float((np.square(np.maximum(s - tau, 0.0)) / kappa).sum()) - float(p @ p)
