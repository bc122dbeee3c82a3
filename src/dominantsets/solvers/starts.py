"""Where a solver starts."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from dominantsets._checks import one_of
from dominantsets.similarity.base import Floats
from dominantsets.solvers.problem import Problem

STARTS = ("vertex", "barycenter")


def starting_point(problem: Problem, start: Any) -> Floats:
    """The point x0 of the simplex that ``start`` means.

    ``"vertex"`` is the paper's V: all mass on the object with the largest sum of similarities, ties to
    the lowest index. ``"barycenter"`` is its B: equal weights. An int is all mass on that object, an
    array is taken as weights.
    """
    x = np.zeros(problem.n)
    if isinstance(start, str):
        if one_of("start", start, STARTS) == "vertex":
            x[int(problem.degrees.argmax())] = 1.0
        else:
            x[problem.alive] = 1.0 / problem.n_alive
        return x
    if isinstance(start, numbers.Integral) and not isinstance(start, bool):
        i = int(start)
        if not 0 <= i < problem.n:
            raise ValueError(f"start={i} is not an object of 0 to {problem.n - 1}.")
        if not problem.alive[i]:
            raise ValueError(f"start={i} is an object that has been removed.")
        x[i] = 1.0
        return x
    try:
        weights = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"start={start!r} is neither 'vertex', 'barycenter', an object's number nor weights."
        ) from None
    if weights.shape != (problem.n,):
        raise ValueError(
            f"a start of weights needs one for each of {problem.n} objects, got shape {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("a start of weights must be finite and not negative.")
    weights = np.where(problem.alive, weights, 0.0)
    total = weights.sum()
    if total <= 0:
        raise ValueError("a start of weights needs a positive weight on an object still there.")
    return np.asarray(weights / total)
