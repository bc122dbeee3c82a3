"""Pieces of spanning trees, and their dominant sets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets


def test_curves_are_found_with_and_without_their_number():
    X, y = make_moons(400, noise=0.04, random_state=0)
    for k in (2, None):
        model = DominantSets(k, affinity="path", affinity_params={"min_samples": 5}).fit(X)
        assert adjusted_rand_score(y, model.labels_) == 1.0
        assert (model.predict(X) == model.labels_).all()
    assert "stronger" in str(model.selection_)


def test_single_far_objects_are_no_pieces():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 12.0, [[40.0, -40.0], [-60.0, 50.0]]])
    model = DominantSets(2, affinity="path").fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], 60), model.labels_[:120]) == 1.0
    for cluster in model.clusters_:
        assert not set(cluster.members) & {120, 121}


@pytest.mark.parametrize("n_clusters", [1, 5, 30])
def test_the_number_is_honoured_to_the_last_object(n_clusters):
    X = np.random.default_rng(2).normal(size=(30, 2))
    assert DominantSets(n_clusters, affinity="path").fit(X).n_clusters_ == n_clusters


@pytest.mark.parametrize("noise", [0.1, None, "cores"])
def test_noise_of_a_tree(noise):
    X, _ = make_moons(200, noise=0.06, random_state=0)
    model = DominantSets(2, affinity="path", noise=noise).fit(X)
    share = float((model.labels_ < 0).mean())
    assert share == {0.1: 0.1, None: 0.0, "cores": 1.0 - sum(map(len, model.clusters_)) / 200}[noise]
    assert ((model.probabilities_ > 0.0) == (model.labels_ >= 0)).all()
