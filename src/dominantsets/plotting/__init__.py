"""Pictures: displays with ``from_estimator`` and ``ax=``, as in scikit-learn.

The only place that imports matplotlib.
"""

from dominantsets.plotting._style import NOISE, PALETTE, Circle, color_of, plt
from dominantsets.plotting.clusters import ClusterDisplay, MembershipDisplay, SimilarityDisplay
from dominantsets.plotting.hierarchy import HierarchyDisplay
from dominantsets.plotting.images import SegmentationDisplay
from dominantsets.plotting.runs import TraceDisplay, TrajectoryDisplay

__all__ = [
    "NOISE",
    "PALETTE",
    "Circle",
    "ClusterDisplay",
    "HierarchyDisplay",
    "MembershipDisplay",
    "SegmentationDisplay",
    "SimilarityDisplay",
    "TraceDisplay",
    "TrajectoryDisplay",
    "color_of",
    "plt",
]
