"""Which affinity is taken, and why."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets
from dominantsets.clusters import choice
from dominantsets.clusters.choice import choose_affinity
from dominantsets.clusters.separation import conductances, neighbour_graph
from dominantsets.solvers import Monitor


def test_conductance_is_what_leaves_a_group():
    rng = np.random.default_rng(0)
    W = rng.random((12, 12)) * (rng.random((12, 12)) < 0.5)
    W = np.triu(W, 1) + np.triu(W, 1).T
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, -1, -1])
    cut, shares = conductances(sp.csr_array(W), labels)
    for k in range(3):
        mine = labels == k
        volume, rest = W[mine].sum(), W[~mine].sum()
        assert cut[k] == pytest.approx(W[np.ix_(mine, ~mine)].sum() / min(volume, rest))
        assert shares[k] == pytest.approx(volume / W.sum())


def test_the_graph_is_symmetric_and_knows_no_unit():
    X = np.random.default_rng(0).normal(size=(80, 3))
    X[40:50] = X[0]  # copies
    W = neighbour_graph(X)
    assert np.isfinite(W.data).all()
    assert (W.data >= 0.0).all()
    np.testing.assert_allclose(W.toarray(), W.toarray().T)
    np.testing.assert_allclose(neighbour_graph(1e6 * X).toarray(), W.toarray(), rtol=1e-6, atol=1e-12)


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


def test_nothing_is_an_answer():
    X = np.random.default_rng(5).normal(size=(500, 3))
    model = DominantSets(affinity="auto").fit(X)
    assert model.n_clusters_ == 1
    assert "apart and stable" in str(model.selection_)


def test_the_table_shows_all_candidates():
    X, _ = make_moons(200, noise=0.1, random_state=0)
    model = DominantSets(2, affinity="auto").fit(X)
    text = str(model.selection_)
    for candidate in model.choice_.candidates:
        assert candidate.affinity in text
    assert "<- taken" in text
    assert model.choice_.taken.score == max(c.score for c in model.choice_.candidates)


def test_the_order_of_the_rows_changes_nothing():
    X, _ = make_moons(300, noise=0.1, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    first, second = (DominantSets(affinity="auto").fit(rows) for rows in (X, X[order]))
    assert first.affinity_ == second.affinity_
    assert adjusted_rand_score(first.labels_[order], second.labels_) == 1.0


def test_a_candidate_that_fails_drops_out_with_a_note(monkeypatch):
    made = choice.as_similarity

    def failing(X, name, **params):
        if name == "diffusion":
            raise ValueError("no neighbours today")
        return made(X, name, **params)

    monkeypatch.setattr(choice, "as_similarity", failing)
    X, _ = make_blobs(200, centers=3, cluster_std=2.5, random_state=0)
    found = choose_affinity(X, 3, Monitor())
    assert [c.note for c in found.candidates if c.affinity == "diffusion"] == [
        "dropped out: no neighbours today"
    ]
    assert found.taken.affinity != "diffusion"


def test_what_cannot_be_looked_at_is_taken_as_it_is():
    X = sp.csr_array(np.random.default_rng(0).random((60, 5)))
    assert DominantSets(2, affinity="auto").fit(X).affinity_ == "cosine"
    few = DominantSets(2, affinity="auto").fit(np.array([[0.0], [0.1], [5.0]]))
    assert few.affinity_ == "sqeuclidean"
    with pytest.raises(ValueError, match="takes no parameters, got gamma"):
        DominantSets(2, affinity="auto", affinity_params={"gamma": 1.0}).fit(np.eye(9))
