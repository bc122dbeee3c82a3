"""Whether a group is more than chance."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets import DominantSets


@pytest.mark.parametrize("draw", ["uniform", "normal"])
@pytest.mark.parametrize(("n", "d"), [(60, 2), (300, 1), (300, 7), (1_000, 2), (1_000, 30), (3_000, 4)])
def test_data_without_structure_are_one_cluster(draw, n, d):
    """Seeds that are used nowhere else."""
    found = []
    for seed in (770_001, 770_002, 770_003):
        rng = np.random.default_rng([seed, n, d])
        X = rng.random((n, d)) if draw == "uniform" else rng.normal(size=(n, d))
        model = DominantSets(affinity="sqeuclidean").fit(X)
        found.append(model.n_clusters_)
        assert model.n_clusters_ >= 1
        if model.n_clusters_ == 1:
            assert (model.labels_ == 0).all()
            assert "they are one" in model.selection_.reason
    assert found == [1, 1, 1]
