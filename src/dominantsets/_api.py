"""The public names, loaded when the first of them is asked for; those of the studies, each by itself."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dominantsets.clusters.minimum_size import guaranteed_shift, sufficient_shift
from dominantsets.clusters.multistart import MultiStart, Pass, multistart
from dominantsets.clusters.overlapping import DominantSetList, dominant_sets
from dominantsets.clusters.peeling import Peeling, peel
from dominantsets.clusters.shift import Candidate, Resolution
from dominantsets.estimator import DominantSets
from dominantsets.hierarchy import DominantSetHierarchy, Group
from dominantsets.labels.correlation import Correlation, correlation_clusters
from dominantsets.labels.margins import label_margins
from dominantsets.rows.parquet import parquet_rows
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.solvers import (
    DominantSet,
    End,
    GlobalOptimum,
    PathSpectrum,
    Progress,
    Status,
    Step,
    Trace,
    global_optimum,
    path_clusters,
    path_spectrum,
    solve,
)
from dominantsets.solvers.asymmetric import Equilibrium, solve_asymmetric

if TYPE_CHECKING:
    from dominantsets.studies.destabilise import destabilise
    from dominantsets.studies.hypergraph import solve_hypergraph
    from dominantsets.studies.phases import Trajectory, trajectory
    from dominantsets.studies.trajectory import Cut

STUDIES = {  # module of each name
    "Cut": "trajectory",
    "Trajectory": "phases",
    "destabilise": "destabilise",
    "solve_hypergraph": "hypergraph",
    "trajectory": "phases",
}

# Plainer names for what is too general at the top of a package.
StopReason, MultiStartPass, StepKind = End, Pass, Step
HierarchyNode, ShiftCandidate = Group, Candidate

__all__ = [
    "Candidate",
    "Correlation",
    "Cut",
    "DominantSet",
    "DominantSetHierarchy",
    "DominantSetList",
    "DominantSets",
    "End",
    "Equilibrium",
    "GlobalOptimum",
    "Group",
    "HierarchyNode",
    "MultiStart",
    "MultiStartPass",
    "Pass",
    "PathSpectrum",
    "Peeling",
    "Progress",
    "Resolution",
    "ShiftCandidate",
    "Similarity",
    "Status",
    "Step",
    "StepKind",
    "StopReason",
    "Trace",
    "Trajectory",
    "as_similarity",
    "correlation_clusters",
    "destabilise",
    "dominant_sets",
    "global_optimum",
    "guaranteed_shift",
    "label_margins",
    "multistart",
    "parquet_rows",
    "path_clusters",
    "path_spectrum",
    "peel",
    "solve",
    "solve_asymmetric",
    "solve_hypergraph",
    "sufficient_shift",
    "trajectory",
]


def __getattr__(name: str) -> Any:
    if name not in STUDIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"dominantsets.studies.{STUDIES[name]}"), name)
