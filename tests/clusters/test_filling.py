"""Groups that fill up a number."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets
from dominantsets.clusters.filling import Explained
from dominantsets.similarity.base import Coordinates


def sample(X):
    return Coordinates(np.ascontiguousarray(X), np.zeros(len(X)), 0.0)


def test_what_a_group_adds_is_the_difference_of_two_sums():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 3)), rng.normal(size=(5, 3)) * 0.1 + 6.0])
    explained = Explained(sample(X), 3.0, X[:1] * 0.0, np.array([3.0]), np.array([1.0]))
    before = explained.levels.copy()
    np.testing.assert_allclose(before, -np.square(X).sum(axis=1) / 2.0)  # share 1, variance 1
    some, t, group, gain = explained.about(44)
    assert set(some) <= set(range(40, 45))
    centre = X[some].mean(axis=0)
    np.testing.assert_allclose(t, np.square(X - centre).sum(axis=1), atol=1e-9)
    logs = np.log(some.size / 45) - 1.5 * np.log(group.variance) - t / (2.0 * group.variance)
    np.testing.assert_allclose(gain, np.maximum(logs - before, 0.0).sum())
    explained.add(t, group)
    np.testing.assert_allclose(explained.levels.sum() - before.sum(), gain)


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
