"""Which affinity is taken, and why."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dominantsets import DominantSets


@pytest.mark.parametrize("n_clusters", [2, None])
def test_curves_and_rings_are_found_out(n_clusters):
    for X, y in (
        make_moons(400, noise=0.06, random_state=1),
        make_circles(500, noise=0.05, factor=0.4, random_state=1),
    ):
        model = DominantSets(n_clusters, affinity="auto").fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.99
        assert model.affinity_ in ("path", "diffusion")
        assert model.n_clusters_ == 2


def test_round_groups_that_overlap_stay_round():
    X, y = make_blobs(900, centers=4, cluster_std=1.3, n_features=6, random_state=2)
    model = DominantSets(4, affinity="auto").fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.97
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_one_cloud_is_an_answer():
    X = np.random.default_rng(5).normal(size=(500, 3))
    model = DominantSets(affinity="auto").fit(X)
    assert model.n_clusters_ == 1
    assert "1 round clouds explain" in str(model.selection_)


def test_nothing_is_an_answer():
    X = np.random.default_rng(5).uniform(size=(500, 3))
    model = DominantSets(affinity="auto").fit(X)
    assert model.n_clusters_ == 1
    assert "apart and stable" in str(model.selection_)


@pytest.mark.parametrize("n_clusters", [3, None])
def test_overlapping_ellipses_are_found_out(n_clusters):
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(250, 2)) * [4, 0.35] + [0, 2.2 * k] for k in range(3)])
    model = DominantSets(n_clusters).fit(X)
    assert model.affinity_ == "ellipses"
    assert adjusted_rand_score(np.repeat(range(3), 250), model.labels_) > 0.97
    assert n_clusters or model.choice_.taken.explains > 0.0


@pytest.mark.parametrize(("d", "n_clusters"), [(3, 4), (3, None), (20, 4), (20, None)])
def test_a_background_speaks_for_clouds(d, n_clusters):
    rng = np.random.default_rng(3)
    centres = rng.uniform(-12, 12, size=(4, d))
    y = np.append(np.repeat(range(4), 150), np.full(200, -1))
    X = np.vstack([centres[y[:600]] + rng.normal(size=(600, d)), rng.uniform(-16, 16, size=(200, d))])
    model = DominantSets(n_clusters).fit(X)
    assert model.affinity_ in ("sqeuclidean", "ellipses")
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert "background" in model.choice_.reason


@pytest.mark.parametrize("seed", range(4))
def test_a_number_given_takes_the_most_stable_and_separate_groups(seed):
    """No other candidate is at least as stable and as far apart, with one of the two better."""
    rng = np.random.default_rng(seed)
    X = np.vstack(
        [rng.normal(size=(60, 2)) * rng.uniform(0.3, 2.0, 2) + rng.uniform(-6, 6, 2) for _ in "abc"]
    )
    made = DominantSets(3).fit(X).choice_
    assert len(made.candidates) == 4
    assert made.taken.n_clusters == 3
    if all(c.noise == 0.0 for c in made.candidates):
        for c in made.candidates:
            better = c.stability >= made.taken.stability and c.separation <= made.taken.separation
            assert not better or (c.stability, c.separation) == (made.taken.stability, made.taken.separation)


def test_topics_are_found_out_from_words():
    """Documents of words from a topic of their own and from what is common to all."""
    rng = np.random.default_rng(0)
    common = 1.0 / np.arange(1, 801)
    topics = rng.dirichlet(0.03 * 800 * common / common.sum(), size=4)
    y = np.repeat(range(4), 100)
    X = np.array([rng.multinomial(80, 0.5 * topics[k] + 0.5 * common / common.sum()) for k in y])
    model = DominantSets(4).fit(sp.csr_array(X, dtype=float))
    assert {c.affinity for c in model.choice_.candidates} == {"cosine", "diffusion", "embedding"}
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert (model.predict(sp.csr_array(X, dtype=float)) == model.labels_).mean() > 0.9


@pytest.mark.parametrize("n_clusters", [2, None])
def test_distances_become_what_suits_them(n_clusters):
    X, y = make_moons(300, noise=0.05, random_state=0)
    curves = DominantSets(n_clusters, affinity="precomputed_distance").fit(pairwise_distances(X))
    assert curves.affinity_params_ == {"then": "path"}
    assert adjusted_rand_score(y, curves.labels_) == 1.0
    X, y = make_blobs(300, centers=[(0, 0), (5, 0)], random_state=0)
    D = pairwise_distances(X)
    balls = DominantSets(n_clusters, affinity="precomputed_distance").fit(D)
    assert balls.affinity_params_["then"] != "path"
    assert adjusted_rand_score(y, balls.labels_) > 0.97
    np.testing.assert_array_equal(balls.predict(D), balls.labels_)


def test_what_is_given_is_not_chosen():
    X, _ = make_moons(200, noise=0.05, random_state=0)
    given = DominantSets(2, affinity="path", affinity_params={"min_samples": 3}).fit(X)
    assert (given.affinity_, given.affinity_params_, given.choice_) == ("path", {"min_samples": 3}, None)
    for params in ({"shift": 0.0}, {"solver_params": {"algorithm": "pairwise"}}):
        model = DominantSets(2, **params).fit(X)
        assert model.affinity_ == "sqeuclidean"
        assert model.choice_.reason == "A shift or an algorithm is given: nothing was compared."
    again = given.set_params(affinity="auto", affinity_params=None).fit(X)
    assert again.choice_ is not None


def test_the_table_shows_all_candidates():
    X, _ = make_moons(200, noise=0.1, random_state=0)
    model = DominantSets(2, affinity="auto").fit(X)
    text = str(model.selection_)
    for candidate in model.choice_.candidates:
        assert candidate.affinity in text
    assert "<- taken" in text
    if not model.choice_.taken.explains > 0.0:
        assert model.choice_.taken.score == max(c.score for c in model.choice_.candidates)


def test_the_order_of_the_rows_changes_nothing():
    X, _ = make_moons(300, noise=0.1, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    first, second = (DominantSets(affinity="auto").fit(rows) for rows in (X, X[order]))
    assert first.affinity_ == second.affinity_
    assert adjusted_rand_score(first.labels_[order], second.labels_) == 1.0


def test_what_cannot_be_looked_at_is_taken_as_it_is():
    few = DominantSets(2, affinity="auto").fit(np.array([[0.0], [0.1], [5.0]]))
    assert few.affinity_ == "sqeuclidean"
    with pytest.raises(ValueError, match="takes no parameters, got gamma"):
        DominantSets(2, affinity="auto", affinity_params={"gamma": 1.0}).fit(np.eye(9))
