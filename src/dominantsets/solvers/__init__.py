"""Solvers: each takes a problem and returns a dominant set with its certificate."""

from dominantsets.solvers.api import ALGORITHMS, solve, solve_problem
from dominantsets.solvers.monitor import Callback, Monitor, Progress
from dominantsets.solvers.problem import Problem
from dominantsets.solvers.result import DominantSet, Status, Step, Trace

__all__ = [
    "ALGORITHMS",
    "Callback",
    "DominantSet",
    "Monitor",
    "Problem",
    "Progress",
    "Status",
    "Step",
    "Trace",
    "solve",
    "solve_problem",
]
