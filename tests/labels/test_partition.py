"""From cores to labels: noise, refinement, new objects."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, as_similarity, estimator, peel
from dominantsets.labels.partition import noise_of
from support import CORNERS


@pytest.mark.parametrize(("noisy", "radii"), [(40, 1.0), (4, 1.75)])
def test_noise_by_the_definition(noisy, radii):
    """Much of it beyond 1.75 radii: all outside the balls; little of it: what is beyond."""
    rng = np.random.default_rng(0)
    turn, length = rng.uniform(0, 2 * np.pi, 200), np.sqrt(rng.random(200))
    disc = length[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    X = np.vstack([disc, rng.uniform(-30, 30, size=(noisy, 2))])
    S = as_similarity(X, "sqeuclidean")
    run = peel(S, 1, shift=200.0 - S.self_similarity)
    (found,) = run
    center = found.weights @ X[found.members]
    distances = np.linalg.norm(X - center, axis=1)
    radius = distances[found.members].max()
    noise, said, _ = noise_of(S, [found], run.labels)
    assert said == radii
    np.testing.assert_array_equal(noise, distances > radii * radius * (1.0 + 1e-9))
    copies = as_similarity(np.repeat([[0.0], [1.0]], 5, axis=0), "sqeuclidean")
    pairs = peel(copies, 2, shift=0.1)
    assert noise_of(copies, list(pairs), pairs.labels).outside is None  # no radius is known


def test_new_objects_that_are_far_are_noise():
    X, y = make_blobs(600, centers=CORNERS, random_state=1)
    for affinity in ("sqeuclidean", "rbf"):
        model = DominantSets(4, affinity=affinity).fit(X)
        assert (model.predict(X) == model.labels_).mean() > 0.99
        assert model.predict(np.array([[300.0, 300.0]]))[0] == -1
    everywhere = DominantSets(4, noise=None).fit(X)
    assert everywhere.predict(np.array([[300.0, 300.0]]))[0] >= 0
    assert adjusted_rand_score(y, model.labels_) > 0.95


@pytest.mark.parametrize("noise", ["auto", "payoff", 0.3, 0.5, None])
def test_training_objects_are_predicted_as_they_were_labelled(noise):
    X, _ = make_blobs(400, centers=CORNERS, cluster_std=2.0, random_state=0)
    model = DominantSets(4, noise=noise).fit(X)
    assert (model.predict(X) == model.labels_).mean() > 0.98
    assert (noise in ("auto", None)) == (model.assignment_rate_ > 0.95)


def test_ctrl_c_during_refinement_keeps_the_cores(monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    X, _ = make_blobs(200, centers=CORNERS, random_state=0)
    monkeypatch.setattr(estimator, "partition", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        model = DominantSets(4).fit(X)
    np.testing.assert_array_equal(model.labels_, model.cores_)
    assert model.n_clusters_ == 4
