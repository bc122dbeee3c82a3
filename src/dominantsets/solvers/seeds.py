"""Dominant sets around seeds: a larger shift for all other objects, and a start at the seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dominantsets._checks import check_real, warn
from dominantsets._typing import Floats, Ints
from dominantsets.similarity import Similarity
from dominantsets.similarity.expansion import expandable
from dominantsets.solvers.capped import boxed, certified, climb
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.result import DominantSet, Status
from dominantsets.solvers.weights import shift_around


def checked_seeds(seeds: Any, n: int) -> Ints:
    """The seeds in increasing order, if they are objects."""
    given = np.asarray(seeds)
    whole = np.issubdtype(given.dtype, np.integer)
    if given.ndim > 1 or not given.size or not whole:
        raise ValueError(f"seeds must be numbers of objects, at least one, got {seeds!r}.")
    chosen = np.unique(given.astype(np.int64))
    if chosen[0] < 0 or chosen[-1] >= n:
        wrong = chosen[0] if chosen[0] < 0 else chosen[-1]
        raise ValueError(f"seed {wrong} is not an object of 0 to {n - 1}.")
    return chosen


def extra_of_others(
    similarity: Similarity, seeds: Ints, shift: float, seed_shift: Any, weights: Floats | None = None
) -> Floats:
    """What is subtracted on the diagonal besides the shift: nothing for seeds, what is missing for others."""
    if weights is not None and not weights[seeds].all():
        raise ValueError(f"seed {seeds[weights[seeds] == 0.0][0]} has the weight 0, which leaves it out.")
    if isinstance(seed_shift, str) and seed_shift != "auto":
        raise ValueError(f"seed_shift={seed_shift!r} is neither 'auto' nor a number.")
    if seeds.size == similarity.n:
        return np.zeros(similarity.n)
    if not isinstance(seed_shift, str):
        asked = check_real("seed_shift", seed_shift)
    else:
        top = expandable(similarity).top_outside(seeds)
        asked = top if weights is None else shift_around(similarity, weights, top)
    extra = np.full(similarity.n, max(0.0, asked - shift))
    extra[seeds] = 0.0
    return extra


def started_at(options: SolverOptions, seeds: Ints, n: int) -> SolverOptions:
    """The options with a start at the seeds, where none was given."""
    if options.algorithm == "exact":
        raise ValueError("algorithm='exact' is for sets without seeds; leave it at 'auto'.")
    if not isinstance(options.start, str) or options.start != "vertex":
        return options
    if seeds.size == 1 and options.algorithm != "replicator":
        return replace(options, start=int(seeds[0]))
    weights = np.zeros(n)
    if options.algorithm == "replicator":  # objects without a weight would never come in
        weights += 1.0 / n
    weights[seeds] += 1.0 / seeds.size
    return replace(options, start=weights)


def say_if_lost(found: DominantSet, seeds: Ints) -> None:
    """Warn where a set has none of its seeds: the shift of the others was too small."""
    if found.status is Status.CONVERGED and not np.isin(seeds, found.members).any():
        warn(
            f"the set has none of its {seeds.size} seeds: seed_shift is too small; raise it, or leave it at "
            "'auto'."
        )


def solve_welded(
    similarity: Similarity, seeds: Ints, extra: Floats, shift: float, options: SolverOptions, monitor: Monitor
) -> DominantSet:
    """The set around seeds that have equal weights: all of them are members, or none."""
    n = similarity.n
    others = np.setdiff1d(np.arange(n), seeds, assume_unique=True)
    part, shifts = np.full(n, others.size), shift + extra  # the weld comes last
    part[others] = np.arange(others.size)
    dual = boxed(similarity, part, shifts, 1.0, "a set with all seeds")
    start = np.zeros(others.size + 1)
    start[-1] = 1.0
    point, passes, status = climb(dual, start, shift, options, monitor)
    found = certified(similarity, dual, part, point.x, shifts, shift, 1, options.tol)
    return replace(found, n_iter=passes, status=found.status if status is Status.CONVERGED else status)
