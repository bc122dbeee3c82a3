"""What a solver may ask of data: one file a kind, one base class."""

from dominantsets.similarity.base import Similarity
from dominantsets.similarity.factory import AFFINITIES, as_similarity
from dominantsets.similarity.graph import Graph
from dominantsets.similarity.kernel import Kernel
from dominantsets.similarity.low_rank import LowRank
from dominantsets.similarity.path import Path
from dominantsets.similarity.sharded import Sharded

__all__ = ["AFFINITIES", "Graph", "Kernel", "LowRank", "Path", "Sharded", "Similarity", "as_similarity"]
