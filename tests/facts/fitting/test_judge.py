"""Which affinity is taken, and why."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dominantsets import DominantSetHierarchy, DominantSets


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
    assert "No affinity finds more than one cluster" in str(model.selection_)


def test_nothing_is_an_answer():
    X = np.random.default_rng(5).uniform(size=(500, 3))
    model = DominantSets(affinity="auto").fit(X)
    assert model.n_clusters_ == 1
    assert "No affinity finds more than one cluster" in str(model.selection_)


@pytest.mark.parametrize("n_clusters", [3, None])
def test_overlapping_ellipses_are_found_out(n_clusters):
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(250, 2)) * [4, 0.35] + [0, 2.2 * k] for k in range(3)])
    model = DominantSets(n_clusters).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(np.repeat(range(3), 250), model.labels_) > (
        0.9 if n_clusters is None else 0.97
    )


@pytest.mark.parametrize(("d", "n_clusters"), [(3, 4), (3, None), (20, 4), (20, None)])
def test_a_background_speaks_for_a_candidate(d, n_clusters):
    rng = np.random.default_rng(3)
    centres = rng.uniform(-12, 12, size=(4, d))
    y = np.append(np.repeat(range(4), 150), np.full(200, -1))
    X = np.vstack([centres[y[:600]] + rng.normal(size=(600, d)), rng.uniform(-16, 16, size=(200, d))])
    model = DominantSets(n_clusters).fit(X)
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
    assert model.choice_.taken.score == pytest.approx(
        max(c.score for c in model.choice_.candidates), abs=0.01
    )


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


def test_equal_rows_are_one_cluster():
    assert DominantSets().fit(np.ones((40, 2))).n_clusters_ == 1


def test_four_groups_of_six_are_four():
    rng = np.random.default_rng(0)
    y = np.repeat(range(4), 6)
    X = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])[y] + rng.normal(size=(24, 2))
    model = DominantSets().fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_groups_of_groups_are_no_answer_where_groups_are_clear():
    """One of eight groups is far from all others: two clusters are most separate, eight are as stable."""
    X, y = make_blobs(1_000, centers=8, n_features=5, cluster_std=2.0, random_state=0)
    model = DominantSets().fit(X)
    assert model.n_clusters_ == 8
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert max(c.score for c in model.choice_.candidates) > model.choice_.taken.score
    assert "clusters is clear (" in model.choice_.reason


def test_groups_that_overlap_are_counted_by_a_mixture():
    """Nine round groups, three deviations apart: no affinity sees nine by itself."""
    rng = np.random.default_rng(0)
    y = np.repeat(range(9), 100)
    X = 3.5 * np.array([[k % 3, k // 3] for k in y]) + rng.normal(size=(900, 2))
    model = DominantSets().fit(X)
    assert model.n_clusters_ == 9
    assert adjusted_rand_score(y, model.labels_) > 0.75  # the best rule has 0.83 on average


@pytest.mark.parametrize("seed", range(3))
def test_rounding_is_no_group(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(400, 2)) * rng.uniform(1.0, 4.0))
    assert DominantSets().fit(X).n_clusters_ == 1
    y = np.repeat(range(3), 150)
    X = np.round(np.array([[0, 0], [14, 0], [0, 14]])[y] + 2.0 * rng.normal(size=(450, 2)))
    model = DominantSets().fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_axes_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(80, 3)) * rng.uniform(0.5, 2.0) + rng.uniform(-6, 6, 3) for _ in "abcd"])
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    one, other = DominantSets().fit(X), DominantSets().fit(X @ turn)
    assert (one.affinity_, one.n_clusters_) == (other.affinity_, other.n_clusters_)
    assert adjusted_rand_score(one.labels_, other.labels_) == 1.0


def test_an_unknown_number_is_that_of_the_hierarchy():
    rng = np.random.default_rng(0)
    X = 3.5 * np.array([[k % 3, k // 3] for k in np.repeat(range(9), 100)]) + rng.normal(size=(900, 2))
    model, tree = DominantSets().fit(X), DominantSetHierarchy(affinity="auto").fit(X)
    assert tree.affinity_ == model.affinity_
    assert adjusted_rand_score(model.labels_, tree.labels_) > 0.95


def test_an_expected_agreement_for_what_was_compared():
    X, _ = make_blobs(300, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    found = DominantSets().fit(X).selection_
    assert found.expected_agreement.mean > 0.85
    assert found.expected_agreement.low <= found.expected_agreement.mean <= found.expected_agreement.high
    assert "Expected agreement" in str(found)
    one = DominantSets().fit(np.random.default_rng(0).normal(size=(300, 2))).selection_
    assert one.expected_agreement is None
    assert DominantSets(3, affinity="path").fit(X).selection_.expected_agreement is None
