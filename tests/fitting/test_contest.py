"""Which affinity is taken, and why."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dominantsets import Choice, DominantSets, TriedAffinity
from dominantsets.fitting import contest as choice
from dominantsets.fitting import samples
from dominantsets.fitting.contest import choose, unseen
from dominantsets.fitting.samples import sample_of
from dominantsets.fitting.separation import conductances, neighbour_graph
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


def test_a_background_that_parts_do_not_find_is_none():
    doubtful = TriedAffinity("sqeuclidean", noise=0.6, noise_stability=0.2)
    assert doubtful.is_noise_doubtful
    X, _ = make_blobs(300, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    noise = np.random.default_rng(0).uniform(-20, 20, size=(150, 2))
    model = DominantSets(3).fit(np.vstack([X, noise]))
    assert (model.labels_ < 0).any()
    model.choice_ = replace(model.choice_, taken=doubtful)
    assert model._noise_asked is None


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


def test_a_candidate_that_fails_drops_out_with_a_note(monkeypatch):
    made = samples.as_similarity

    def failing(X, name, **params):
        if name == "diffusion":
            raise ValueError("no neighbours today")
        return made(X, name, **params)

    monkeypatch.setattr(samples, "as_similarity", failing)
    X, _ = make_blobs(200, centers=3, cluster_std=2.5, random_state=0)
    found = choose(sample_of(X, 3, False), 3, Monitor())
    assert [c.note for c in found.candidates if c.affinity == "diffusion"] == [
        "dropped out: no neighbours today"
    ]
    assert found.taken.affinity != "diffusion"


def test_what_cannot_be_looked_at_is_taken_as_it_is():
    few = DominantSets(2, affinity="auto").fit(np.array([[0.0], [0.1], [5.0]]))
    assert few.affinity_ == "sqeuclidean"
    with pytest.raises(ValueError, match="takes no parameters, got gamma"):
        DominantSets(2, affinity="auto", affinity_params={"gamma": 1.0}).fit(np.eye(9))


def test_a_choice_is_printed_as_a_table():
    taken = TriedAffinity("path", {}, 3, -4.0, 0.9, 1.25, 0.5, 0.1)
    other = TriedAffinity("diffusion", {"then": "balls"}, 2, -1.0, 0.8)
    dropped = TriedAffinity("rbf", note="too slow")
    shown = Choice(taken, [taken, other, dropped], 90, "Because.")
    assert repr(shown) == "Choice(path, of 3 tried; print it for the table)"
    _, first, second, third, last = str(shown).splitlines()
    assert first.split() == ["path", "3", "-4.00", "0.90", "1.25", "+0.50", "10%", "<-", "taken"]
    assert second.split() == ["balls", "2", "-1.00", "0.80", "-", "-", "0%"]
    assert third.split() == ["rbf", "too", "slow"]
    assert last == "Because."
    assert not taken.is_noise_doubtful
    assert TriedAffinity("a", noise_stability=0.49).is_noise_doubtful
    assert not TriedAffinity("a", noise_stability=0.5).is_noise_doubtful
    assert unseen("rbf", "Why.").taken.affinity == "rbf"


@pytest.mark.parametrize("count", [50, 51])
def test_more_groups_than_a_sample_can_show_are_balls(count, monkeypatch):
    """Where balls of all objects find more than half of a hundred, nothing is compared on a sample."""
    whole = SimpleNamespace(spread=lambda _: None)
    some = SimpleNamespace(n=5_000, whole=whole, balls="sqeuclidean")
    monkeypatch.setattr(choice, "Scales", lambda *_: SimpleNamespace(balls=[None] * count))
    monkeypatch.setattr(choice, "_balls", lambda sample: (sample.balls, {}))
    compared = Choice(TriedAffinity("path"), [], 0, "Compared.")
    monkeypatch.setattr(choice, "_Contest", lambda *_: SimpleNamespace(decide=lambda: compared))
    found = choose(some, None, Monitor())
    if count == 50:
        assert found is compared
        return
    assert (found.taken.affinity, found.taken.n_clusters, found.n_objects) == ("sqeuclidean", 51, 5_000)
    assert found.candidates == [found.taken]
    assert "51 groups, too many for a sample" in found.reason
    assert choose(some, 7, Monitor()) is compared  # a number that was asked for is looked for on the sample


def test_what_a_candidate_is_worth(monkeypatch):
    """Stability and some separation if a number is given; else its square, and how far groups are apart."""
    X, y = make_blobs(120, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    sample = sample_of(X, None, False)
    for wanted in (None, 3):
        contest = choice._Contest(sample, wanted, Monitor())
        tried = contest._try(("sqeuclidean", {}))
        found = tried.candidate
        cut, _ = conductances(sample.graph(), tried.labels)
        assert adjusted_rand_score(y, tried.labels) > 0.95
        assert found.separation == pytest.approx(float(np.log(cut).mean()))
        apart = float((np.log(sample.apart) - np.log(cut)).sum())
        score = found.stability**2 * apart if wanted is None else found.stability - 0.04 * found.separation
        assert found.score == pytest.approx(score)
        assert 0.9 < found.stability <= 1.0
        assert (found.noise, found.noise_stability) == (0.0, 1.0)
        assert contest._separation(np.zeros(120, dtype=int))[0] == 0.0  # one group is apart from nobody
        contest._tried.append(tried)
        with monkeypatch.context() as patch:
            patch.setattr(choice, "CLOUDS", 1.0)
            assert contest._clouds() is None  # it would take too long
    two = (
        choice._Contest(sample_of(X[y < 2], None, False), None, Monitor())._try(("sqeuclidean", {})).candidate
    )
    assert two.n_clusters == 2
    assert two.score > 0.0  # two are groups, too
    late = choice._Contest(sample, 3, Monitor(0.0)).decide()
    assert late.reason == "The time was up before all were tried: balls."
    assert late.taken.affinity == "sqeuclidean"
