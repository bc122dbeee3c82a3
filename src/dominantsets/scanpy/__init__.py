"""Dominant sets of cells, called as scanpy's tools are."""

from dominantsets.scanpy import tl

__all__ = ["tl"]
