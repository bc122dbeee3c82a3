"""What holds for every solver: certificates and properties."""

from __future__ import annotations

from typing import Any

import numpy as np

from dominantsets import DominantSet, Status, solve
from support import assert_certified

RULES = ("fw", "pairwise", "away")
REPLICATORS = ("replicator", "exponential-replicator")
FAMILY = ("inimdyn", "shrink-expand", "path-following")  # end at a stationary point, and never descend
METHODS = (*RULES, *REPLICATORS, *FAMILY, "working-set")


def run(A: Any, method: str, **options: Any) -> DominantSet:
    if method in REPLICATORS:
        options.setdefault("start", "barycenter")
        options.setdefault("max_iter", 2_000)
    elif method == "fw":
        options.setdefault("max_iter", 2_000)
    return solve(A, algorithm=method, **options)


def test_every_method_on_every_kind(kind):
    _, S, A, atol = kind
    for method in METHODS:
        limit = 500 if method in ("fw", *REPLICATORS) else 20_000
        cluster = run(S, method, shift=0.5 * A.max(), max_iter=limit)
        assert_certified(A, cluster, rounding=100 * atol / A.max())
        if method in ("working-set", *FAMILY):
            assert cluster.status is Status.CONVERGED
        if method in ("pairwise", "away"):
            assert cluster.status is Status.CONVERGED
            dense = run(A, method, shift=0.5 * A.max(), max_iter=20_000)
            np.testing.assert_array_equal(cluster.members, dense.members)
            np.testing.assert_allclose(cluster.weights, dense.weights, atol=1e-6)
