"""Groups that fill up a number."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets


def test_a_small_group_is_found_before_a_large_one_is_halved():
    rng = np.random.default_rng(1)
    sizes = [400, 300, 5]
    centres = np.array([[0.0, 0.0, 0.0], [20.0, 0.0, 0.0], [0.0, 30.0, 0.0]])
    y = np.repeat(range(3), sizes)
    X = centres[y] + rng.normal(size=(sum(sizes), 3))
    assert adjusted_rand_score(y, DominantSets(3, noise=None, affinity="sqeuclidean").fit(X).labels_) == 1.0


def test_telling_the_number_does_not_halve_large_groups():
    """Sizes by Zipf's law: those that stand alone stay as they are, the others are small."""
    rng = np.random.default_rng(4)
    sizes = np.maximum(9, 600 // np.arange(1, 21))
    centres = rng.uniform(-60.0, 60.0, size=(20, 4))
    y = np.repeat(range(20), sizes)
    X = centres[y] + rng.normal(size=(y.size, 4))
    told, alone = DominantSets(20, affinity="sqeuclidean").fit(X), DominantSets(affinity="sqeuclidean").fit(X)
    assert told.n_clusters_ == 20
    assert adjusted_rand_score(y, told.labels_) >= adjusted_rand_score(y, alone.labels_) - 0.01
