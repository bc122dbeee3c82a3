"""What commands share: how they end, and the choices of the library, spelled out.

Exit codes: 0 done, 2 bad input or usage, 3 stopped early with partial results, 130 Ctrl-C.
"""

from __future__ import annotations

import sys
from typing import Literal

import typer

PARTIAL, INTERRUPTED = 3, 130
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")

# spelled out for the type checker and the help page; a test holds them against the library's own lists
Format = Literal["csv", "tsv", "parquet", "npy", "npz", "mtx", "edges", "graphml"]
Affinity = Literal[
    "auto",
    "sqeuclidean",
    "cosine",
    "linear",
    "rbf",
    "laplacian",
    "euclidean",
    "nearest_neighbors",
    "diffusion",
    "embedding",
    "ellipses",
    "path",
]
Conversion = Literal["auto", "max", "gaussian", "path"]
Algorithm = Literal[
    "auto",
    "fw",
    "pairwise",
    "away",
    "inimdyn",
    "replicator",
    "exponential-replicator",
    "trajectory",
    "shrink-expand",
    "path-following",
    "working-set",
    "dual",
    "exact",
]
Assign = Literal["refine", "average", "correlation", "mode", "none"]
Which = Literal["all", "synthetic", "newsgroups", "image", "multistart", "theory", "family"]
LogLevel = Literal["debug", "info", "warning", "error"]


def fail(sentence: str) -> typer.Exit:
    """One sentence on stderr, and the exit code of bad input."""
    sys.stderr.write(f"dominantsets: {' '.join(str(sentence).split())}\n")
    return typer.Exit(2)
