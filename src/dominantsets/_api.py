"""The public names, loaded when the first of them is asked for; those of the studies, each by itself."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dominantsets.auditing import Audit, AuditedCluster, audit
from dominantsets.clusters.minimum_size import guaranteed_shift, sufficient_shift
from dominantsets.clusters.multistart import MultiStart, Pass, multistart
from dominantsets.clusters.overlapping import DominantSetList, dominant_sets
from dominantsets.clusters.peeling import Peeling, peel
from dominantsets.clusters.proof_file import certify
from dominantsets.clusters.shift import Candidate, Resolution
from dominantsets.communities import dominant_set_communities
from dominantsets.deduplication import Duplicates, deduplicate
from dominantsets.estimator import DominantSets
from dominantsets.fitting.agreement import Agreement
from dominantsets.fitting.judge import Choice, TriedAffinity
from dominantsets.fitting.selection import Selection
from dominantsets.hierarchy import DominantSetHierarchy, Group
from dominantsets.labels.margins import label_margins
from dominantsets.labels.why import Why
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
from dominantsets.tables import TablePreparer

if TYPE_CHECKING:
    from dominantsets.studies.correlation import Correlation, correlation_clusters
    from dominantsets.studies.destabilise import destabilise
    from dominantsets.studies.graph_shift import GraphShift, graph_shift
    from dominantsets.studies.hypergraph import solve_hypergraph
    from dominantsets.studies.phases import Trajectory, trajectory
    from dominantsets.studies.trajectory import Cut

STUDIES = {  # module of each name
    "Correlation": "correlation",
    "Cut": "trajectory",
    "GraphShift": "graph_shift",
    "Trajectory": "phases",
    "correlation_clusters": "correlation",
    "destabilise": "destabilise",
    "graph_shift": "graph_shift",
    "solve_hypergraph": "hypergraph",
    "trajectory": "phases",
}

__all__ = [
    "Agreement",
    "Audit",
    "AuditedCluster",
    "Candidate",
    "Choice",
    "Correlation",
    "Cut",
    "DominantSet",
    "DominantSetHierarchy",
    "DominantSetList",
    "DominantSets",
    "Duplicates",
    "End",
    "Equilibrium",
    "GlobalOptimum",
    "GraphShift",
    "Group",
    "MultiStart",
    "Pass",
    "PathSpectrum",
    "Peeling",
    "Progress",
    "Resolution",
    "Selection",
    "Similarity",
    "Status",
    "Step",
    "TablePreparer",
    "Trace",
    "Trajectory",
    "TriedAffinity",
    "Why",
    "as_similarity",
    "audit",
    "certify",
    "correlation_clusters",
    "deduplicate",
    "destabilise",
    "dominant_set_communities",
    "dominant_sets",
    "global_optimum",
    "graph_shift",
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
