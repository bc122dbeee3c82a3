"""Frank-Wolfe and replicator dynamics: the paper's iterates, step by step."""

from __future__ import annotations

import numpy as np

from dominantsets import as_similarity
from support import features


def test_columns_of_features_are_computed_once_and_kept_within_bounds(monkeypatch):
    from dominantsets.similarity import kernel
    from dominantsets.solvers import Monitor, SolverOptions
    from dominantsets.solvers.api import HostProblem

    monkeypatch.setattr(kernel, "KEPT", 0)
    S = as_similarity(features(200), "rbf", gamma=0.02)
    options = SolverOptions("pairwise", max_iter=5_000)
    roomy = HostProblem(S, 2.0)
    tight = HostProblem(S, 2.0, cache_bytes=8 * 200 * 6)
    one = roomy.solve(options, Monitor())
    two = tight.solve(options, Monitor())
    assert one.n_iter > 200
    assert roomy.columns.n_computed <= 200
    assert len(tight.columns.array) == 6
    assert tight.columns.n_computed > 200  # it had to compute some again
    np.testing.assert_array_equal(one.members, two.members)
    np.testing.assert_array_equal(one.weights, two.weights)
