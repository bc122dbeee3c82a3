"""Where a solver starts."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets import solve
from support import random_similarity


@pytest.mark.parametrize("start", ["vertex", 3, np.eye(5)[2]], ids=["vertex", "index", "weights"])
def test_replicator_refuses_a_vertex(start):
    with pytest.raises(ValueError, match="a fixed point"):
        solve(random_similarity(5), algorithm="replicator", start=start)


def test_starts():
    A = random_similarity(9, seed=6)
    one_step = {"algorithm": "fw", "max_iter": 1}
    by_name = solve(A, start="vertex", **one_step)
    by_index = solve(A, start=int(A.sum(axis=0).argmax()), **one_step)
    np.testing.assert_array_equal(by_name.members, by_index.members)
    by_weights = solve(A, start=2 * np.eye(9)[4], **one_step)  # normalised
    np.testing.assert_array_equal(by_weights.members, solve(A, start=4, **one_step).members)
    for bad, words in [
        (9, "not an object"),
        (-1, "not an object"),
        ("vortex", "Did you mean 'vertex'"),
        (np.ones(8), "one for each of 9 objects"),
        (np.zeros(9), "not all 0"),
        (-np.ones(9), "finite, not negative"),
        (object(), "neither"),
    ]:
        with pytest.raises(ValueError, match=words):
            solve(A, start=bad)
