"""What alike means: one file per kind, one base class."""

from dominantsets.similarity.base import Similarity
from dominantsets.similarity.factory import AFFINITIES, as_similarity
from dominantsets.similarity.path import Path

__all__ = ["AFFINITIES", "Path", "Similarity", "as_similarity"]
