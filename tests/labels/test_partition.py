"""Labels of objects that are no points, as those of a tree are: noise, shares, new objects, Ctrl-C."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, End, as_similarity, peel
from dominantsets.clusters import find
from dominantsets.labels.partition import _noise, label_by_fit
from dominantsets.solvers import Monitor
from support import CORNERS, vector


@pytest.mark.parametrize("kind", ["sqeuclidean", "path"])
@pytest.mark.parametrize(("noisy", "radii"), [(40, 1.0), (4, 1.75)])
def test_noise_by_the_definition(kind, noisy, radii):
    """Much of it beyond 1.75 radii: all outside the balls; little of it: what is beyond."""
    rng = np.random.default_rng(0)
    turn, length = rng.uniform(0, 2 * np.pi, 200), np.sqrt(rng.random(200))
    disc = length[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    S = as_similarity(np.vstack([disc, rng.uniform(-30, 30, size=(noisy, 2))]), kind)
    run = peel(S, 1, shift=200.0 - S.self_similarity)
    (found,) = run
    # squared distances of feature space: s_ii - 2 (Sx)_i + x'Sx, with s_ii on the diagonal
    full, x = S.toarray() + np.diag(S.diagonal()), vector(found, S.n)
    squares = S.diagonal() - 2.0 * full @ x + x @ full @ x
    radius = np.sqrt(squares[found.members].max())
    noise, said, balls = _noise(S, [found], run.labels)
    assert said == radii
    outside = (squares > (radii * radius) ** 2 * (1.0 + 1e-9)) & (run.labels < 0)
    np.testing.assert_array_equal(noise, outside)
    assert 0 < outside.sum() < S.n
    assert balls is not None
    copies = as_similarity(np.repeat([[0.0], [1.0]], 5, axis=0), kind)
    pairs = peel(copies, 2, shift=0.1)
    assert _noise(copies, list(pairs), pairs.labels)[0] is None  # no radius is known


def test_a_share_of_a_partition_is_left_out():
    """Those that fit their clusters least get -1, as many as asked for."""
    X, _ = make_blobs(200, centers=CORNERS, random_state=0)
    S = as_similarity(X, "path")
    run = peel(S, 4, shift=1.0)
    clusters = list(run)
    every = label_by_fit(S, clusters, run.labels, None, Monitor())
    some = label_by_fit(S, clusters, run.labels, 0.25, Monitor())
    assert (every.labels >= 0).all()
    assert ((every.probabilities > 0) & (every.probabilities <= 1)).all()
    for k in range(len(clusters)):
        assert every.probabilities[every.labels == k].max() == pytest.approx(1.0)
    least = np.quantile(every.probabilities, 0.25)
    np.testing.assert_array_equal(some.labels < 0, every.probabilities < least)
    np.testing.assert_array_equal(some.probabilities == 0.0, some.labels < 0)
    assert "25%" in some.sentence


def test_new_objects_that_are_far_are_noise():
    X, y = make_blobs(600, centers=CORNERS, random_state=1)
    for affinity in ("sqeuclidean", "rbf"):
        model = DominantSets(4, affinity=affinity).fit(X)
        assert (model.predict(X) == model.labels_).mean() > 0.99
        assert adjusted_rand_score(y, model.labels_) > 0.95
    assert DominantSets(4, affinity="sqeuclidean").fit(X).predict(np.array([[300.0, 300.0]]))[0] == -1
    everywhere = DominantSets(4, noise=None, affinity="sqeuclidean").fit(X)
    assert everywhere.predict(np.array([[300.0, 300.0]]))[0] >= 0


@pytest.mark.parametrize("noise", ["auto", "cores", "payoff", 0.3, 0.5, None])
def test_training_objects_are_predicted_as_they_were_labelled(noise):
    X, _ = make_blobs(400, centers=CORNERS, cluster_std=2.0, random_state=0)
    model = DominantSets(4, noise=noise, affinity="sqeuclidean").fit(X)
    assert (model.predict(X) == model.labels_).mean() > 0.98
    if isinstance(noise, float):
        assert model.assignment_rate_ == pytest.approx(1.0 - noise, abs=1 / 400)
    elif noise in ("cores", "payoff"):
        np.testing.assert_array_equal(model.labels_ >= 0, model.core_labels_ >= 0)
        assert model.assignment_rate_ < 1.0
    else:
        assert model.assignment_rate_ > 0.98


@pytest.mark.parametrize(
    ("affinity", "name"), [("sqeuclidean", "label_by_clouds"), ("path", "label_by_pieces")]
)
def test_ctrl_c_during_the_labelling_keeps_the_cores(affinity, name, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    X, _ = make_blobs(200, centers=CORNERS, random_state=0)
    monkeypatch.setattr(find, name, interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        model = DominantSets(4, affinity=affinity).fit(X)
    np.testing.assert_array_equal(model.labels_, model.core_labels_)
    np.testing.assert_array_equal(model.probabilities_, model.memberships_)
    assert model.n_clusters_ == 4
    assert model.end_ is End.INTERRUPTED
    assert model.predict(X).max() == 3
