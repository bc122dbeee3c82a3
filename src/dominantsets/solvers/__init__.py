"""One dominant set: solvers that take a problem and return the set with its certificate."""

from dominantsets.solvers.api import make_problem, solve
from dominantsets.solvers.branch_and_bound import GlobalOptimum
from dominantsets.solvers.global_optimum import global_optimum
from dominantsets.solvers.monitor import Callback, Monitor, Progress
from dominantsets.solvers.options import ALGORITHMS, SolverOptions
from dominantsets.solvers.problem import Point, Problem
from dominantsets.solvers.result import DominantSet, End, Status, Step, Trace
from dominantsets.solvers.tree import PathSpectrum, path_clusters, path_spectrum

__all__ = [
    "ALGORITHMS",
    "Callback",
    "DominantSet",
    "End",
    "GlobalOptimum",
    "Monitor",
    "PathSpectrum",
    "Point",
    "Problem",
    "Progress",
    "SolverOptions",
    "Status",
    "Step",
    "Trace",
    "global_optimum",
    "make_problem",
    "path_clusters",
    "path_spectrum",
    "solve",
]
