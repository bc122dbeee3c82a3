r"""Weights of objects: m copies of an object are one object whose kappa is divided by m.

Copies share a weight equally, because that costs least: :math:`\sum \kappa x_c^2 = \kappa x^2 / m` for their
sum x (docs/theory-weights.md). So a weight is another number on the diagonal, for any m > 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dominantsets._typing import Floats
from dominantsets.similarity import Similarity
from dominantsets.similarity.solving import Folded, alike_to_copies
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.result import DominantSet


def checked_weights(sample_weight: Any, n: int) -> Floats:
    """Weights as an array, if there is one for each object and they can be meant."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must be numbers, got {sample_weight!r}.") from None
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight needs one number for each of {n} objects, got shape {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise ValueError("sample_weight has negative, NaN or infinite entries; leave such objects out.")
    if not weights.any():
        raise ValueError("all weights are zero, so that no object is left.")
    return weights


def extra_of_weights(similarity: Similarity, weights: Floats, shift: float, extra: Any = None) -> Floats:
    """What is subtracted on the diagonal besides the shift: kappa / m - kappa, 0 where there is no weight.

    ``extra`` is what belongs to kappa of each object already: that of objects that are no seeds.
    """
    try:
        own = alike_to_copies(similarity, np.arange(similarity.n))
    except NotImplementedError:
        raise ValueError(
            "sample_weight needs a similarity that says how alike an object is to its copy; "
            f"{type(similarity).__name__} does not."
        ) from None
    kappa = own + shift if extra is None else own + shift + extra
    several = (weights > 0.0) & (weights != 1.0)
    least = float(kappa[several].min(initial=np.inf))
    if least <= 0.0:
        raise ValueError(
            f"sample_weight needs a shift above {shift - least:.6g} here, got {shift:.6g}: below it copies "
            "would not share a weight."
        )
    there = np.where(weights > 0.0, weights, 1.0)
    return np.asarray(kappa / there - own - shift)


def shift_around(similarity: Similarity, weights: Floats, top: float) -> float:
    """A shift of the others above which every dominant set meets the seeds, with weights.

    ``top`` is that of objects without: see docs/theory-seeds.md.
    """
    own = alike_to_copies(similarity, np.flatnonzero(weights))
    most = float(own.max())
    return max(1.0, float(weights.max())) * max(0.0, top + most) - float(own.min())


def chosen_with_weights(options: SolverOptions, similarity: Similarity, shift: float) -> SolverOptions:
    """The options with a solver that can have weights: not the exact one of trees."""
    if options.algorithm == "exact":
        raise ValueError("algorithm='exact' takes no weights; leave it at 'auto'.")
    return options.chosen_for(similarity, shift, 0)


def unfolded(cluster: DominantSet, folded: Folded) -> DominantSet:
    """A set of different objects as one of all of them: copies share a weight equally."""
    share = np.zeros(folded.counts.size)
    share[cluster.members] = cluster.weights / folded.counts[cluster.members]
    weights = share[folded.places]
    members = np.flatnonzero(weights)
    undecided = np.flatnonzero(np.isin(folded.places, cluster.undecided))
    return replace(cluster, members=members, weights=weights[members], undecided=undecided)
