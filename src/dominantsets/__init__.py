"""Dominant set clustering: groups whose members are more alike than anything outside, with proof."""

from dominantsets.estimator import DominantSets
from dominantsets.peeling import End, Peeling, peel
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.solvers import DominantSet, Progress, Status, Step, Trace, solve

__version__ = "0.1.0"

__all__ = [
    "DominantSet",
    "DominantSets",
    "End",
    "Peeling",
    "Progress",
    "Similarity",
    "Status",
    "Step",
    "Trace",
    "as_similarity",
    "peel",
    "solve",
]
