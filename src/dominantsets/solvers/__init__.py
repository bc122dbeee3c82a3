"""Solvers: each takes a problem and returns a dominant set with its certificate."""

from dominantsets.solvers.api import ALGORITHMS, solve, solve_from, solve_problem
from dominantsets.solvers.chunk_problem import pose
from dominantsets.solvers.monitor import Callback, Monitor, Progress
from dominantsets.solvers.problem import Point, Problem
from dominantsets.solvers.result import DominantSet, Status, Step, Trace
from dominantsets.solvers.tree import PathSpectrum, path_clusters, path_spectrum

__all__ = [
    "ALGORITHMS",
    "Callback",
    "DominantSet",
    "Monitor",
    "PathSpectrum",
    "Point",
    "Problem",
    "Progress",
    "Status",
    "Step",
    "Trace",
    "path_clusters",
    "path_spectrum",
    "pose",
    "solve",
    "solve_from",
    "solve_problem",
]
