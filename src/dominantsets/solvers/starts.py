"""Where a solver starts."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from dominantsets._checks import check_choice, warn
from dominantsets._typing import Floats
from dominantsets.solvers.problem import Point, Problem

STARTS = ("vertex", "barycenter")


def check_start(start: Any, algorithm: str, n: int) -> None:
    """Refuse a start that cannot be meant, or that the algorithm cannot use, before any long work."""
    if isinstance(start, str):
        vertex = check_choice("start", start, STARTS) == "vertex"
    elif isinstance(start, numbers.Integral) and not isinstance(start, bool):
        if not 0 <= int(start) < n:
            raise ValueError(f"start={start} is not an object of 0 to {n - 1}.")
        vertex = True
    else:
        vertex = np.count_nonzero(weights_of(start, n)) == 1
    if algorithm == "exact" and not isinstance(start, str):
        raise ValueError("algorithm='exact' finds every dominant set and takes no start; leave it out.")
    if algorithm == "replicator" and vertex and n > 1:
        raise ValueError(
            "algorithm='replicator' cannot start at a vertex: with all mass on one object every other "
            "weight is 0 and stays 0 (a fixed point); use start='barycenter' or positive weights."
        )
    if algorithm == "fw" and isinstance(start, str) and start == "barycenter":
        warn(
            "algorithm='fw' never takes an object out of the support, so that from "
            "start='barycenter' every object stays in the cluster; use start='vertex', or "
            "algorithm='pairwise' or 'away'."
        )


def weights_of(start: Any, n: int) -> Floats:
    try:
        weights = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"start={start!r} is neither 'vertex', 'barycenter', an object's number nor weights."
        ) from None
    if weights.shape != (n,):
        raise ValueError(f"a start of weights needs one for each of {n} objects, got shape {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("a start of weights must be finite, not negative and not all 0.")
    return weights


def starting_point(problem: Problem, start: Any) -> Point:
    """The point x0 of the simplex that ``start`` means.

    ``"vertex"`` is the paper's V: all mass on the object with the largest sum of similarities, ties to
    the lowest index. ``"barycenter"`` is its B: equal weights. An int is all mass on that object, an
    array is taken as weights. Taken as checked.
    """
    if isinstance(start, str) and start == "vertex":
        return Point(np.array([problem.vertex()]), np.ones(1))
    if isinstance(start, str):
        living = problem.living()
        return Point(living, np.full(living.size, 1.0 / living.size))
    if isinstance(start, numbers.Integral):
        return Point(np.array([int(start)]), np.ones(1))
    weights, living = weights_of(start, problem.n), problem.living()
    return Point.of(np.bincount(living, weights[living], problem.n).astype(np.float64))
