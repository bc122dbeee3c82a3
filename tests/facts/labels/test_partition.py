"""Labels of objects that are no points, as those of a tree are: noise, shares, new objects, Ctrl-C."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets
from support import CORNERS


def test_new_objects_that_are_far_are_noise():
    X, y = make_blobs(600, centers=CORNERS, random_state=1)
    for affinity in ("sqeuclidean", "rbf"):
        model = DominantSets(4, affinity=affinity).fit(X)
        assert (model.predict(X) == model.labels_).mean() > 0.99
        assert adjusted_rand_score(y, model.labels_) > 0.95
    assert DominantSets(4, affinity="sqeuclidean").fit(X).predict(np.array([[300.0, 300.0]]))[0] == -1
    everywhere = DominantSets(4, noise=None, affinity="sqeuclidean").fit(X)
    assert everywhere.predict(np.array([[300.0, 300.0]]))[0] >= 0


@pytest.mark.parametrize("noise", ["auto", "cores", 0.3, 0.5, None])
def test_training_objects_are_predicted_as_they_were_labelled(noise):
    X, _ = make_blobs(400, centers=CORNERS, cluster_std=2.0, random_state=0)
    model = DominantSets(4, noise=noise, affinity="sqeuclidean").fit(X)
    assert (model.predict(X) == model.labels_).mean() > 0.98
    if isinstance(noise, float):
        assert model.assignment_rate_ == pytest.approx(1.0 - noise, abs=1 / 400)
    elif noise == "cores":
        np.testing.assert_array_equal(model.labels_ >= 0, model.core_labels_ >= 0)
        assert model.assignment_rate_ < 1.0
    else:
        assert model.assignment_rate_ > 0.98
