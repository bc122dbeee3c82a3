"""Clusters at scales of their own: what a time limit and Ctrl-C leave."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, End
from support import unequal


def test_a_callback_ends_it():
    X, _ = unequal(1_500)
    with pytest.warns(UserWarning, match="ended early"):
        model = DominantSets(4, affinity="rbf", callback=lambda progress: True).fit(X)
    assert model.end_ is End.STOPPED


@pytest.mark.parametrize("sizes", [(2, 2), (2, 2, 2), (3, 2)])
def test_pairs_where_there_is_no_room_for_more(sizes):
    X = np.concatenate([20.0 * k + np.arange(size) for k, size in enumerate(sizes)])[:, None]
    labels = DominantSets(len(sizes), affinity="sqeuclidean").fit(X).labels_
    parts = np.split(labels, np.cumsum(sizes)[:-1])
    assert [len(set(part)) for part in parts] == [1] * len(sizes)
    assert sorted(part[0] for part in parts) == list(range(len(sizes)))


@pytest.mark.parametrize("far", [5.0, 9.0, 100.0])
def test_three_and_three(far):
    """Right angles, so that two objects are as far from the third: none of them is left at the edge."""
    corner = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]])
    X = np.concatenate([corner, corner + far])
    labels = DominantSets(2, affinity="sqeuclidean").fit(X).labels_
    assert len(set(labels[:3])) == len(set(labels[3:])) == 1
    assert labels[0] != labels[3]
    assert labels.min() == 0


@pytest.mark.parametrize("sizes", [(5, 2), (3, 2), (2, 4), (4, 2, 3), (2, 2, 2)])
@pytest.mark.parametrize("d", [1, 3])
def test_few_objects_far_apart_are_the_clusters_that_were_asked_for(sizes, d):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = 20.0 * y[:, None] + np.random.default_rng(0).uniform(size=(y.size, d))
    labels = DominantSets(len(sizes)).fit(X).labels_
    assert adjusted_rand_score(y, labels) == 1.0
    assert labels.min() == 0  # too few to tell noise
