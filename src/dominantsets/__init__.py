"""Dominant set clustering: groups whose members are more alike than anything outside, with proof."""

from dominantsets.estimator import DominantSets
from dominantsets.peeling import End, Peeling, peel
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.solvers import (
    DominantSet,
    PathSpectrum,
    Progress,
    Status,
    Step,
    Trace,
    path_clusters,
    path_spectrum,
    solve,
)

__version__ = "0.1.0"

__all__ = [
    "DominantSet",
    "DominantSets",
    "End",
    "PathSpectrum",
    "Peeling",
    "Progress",
    "Similarity",
    "Status",
    "Step",
    "Trace",
    "as_similarity",
    "path_clusters",
    "path_spectrum",
    "peel",
    "solve",
]
