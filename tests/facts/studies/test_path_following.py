"""Path-following: the projection, the capped problem of a level, and where the path ends."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets import Status, solve
from support import assert_certified, neighbor_graph, random_similarity


@pytest.mark.parametrize("growth", [1.2, 2.0, 50.0])
def test_the_path_ends_at_a_stationary_point_and_never_descends(growth):
    A = neighbor_graph(300, seed=1)
    params = {"growth": growth}
    cluster = solve(A, algorithm="path-following", algorithm_params=params, shift=0.1, trace=True)
    assert cluster.status is Status.CONVERGED
    assert_certified(A.toarray(), cluster, stationary=1e-9)
    values = np.append(cluster.trace.value, cluster.value)
    assert np.diff(values).min() >= -1e-12
    assert cluster.trace.support_size[0] == 300


def test_equal_row_sums_are_a_fixed_point_and_the_certificate_says_so():
    ring = np.roll(np.eye(8), 1, axis=0) + np.roll(np.eye(8), -1, axis=0)
    cluster = solve(ring, algorithm="path-following")
    assert len(cluster) == 8
    assert cluster.strict is False


def test_it_takes_no_start_and_a_growth_above_one():
    A = random_similarity(6)
    with pytest.raises(ValueError, match="takes no start; leave it out"):
        solve(A, algorithm="path-following", start=3)
    with pytest.raises(ValueError, match="growth must be above 1"):
        solve(A, algorithm="path-following", algorithm_params={"growth": 1.0})
