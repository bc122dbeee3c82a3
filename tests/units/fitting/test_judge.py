"""Which affinity is taken, and why."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import Choice, DominantSets, TriedAffinity
from dominantsets.clusters.scales import Scales
from dominantsets.fitting import judge, samples
from dominantsets.fitting.judge import choose, unseen
from dominantsets.fitting.samples import sample_of
from dominantsets.fitting.separation import conductances, neighbour_graph
from dominantsets.solvers import Monitor


def test_the_graph_is_symmetric_and_knows_no_unit():
    X = np.random.default_rng(0).normal(size=(80, 3))
    X[40:50] = X[0]  # copies
    W = neighbour_graph(X)
    assert np.isfinite(W.data).all()
    assert (W.data >= 0.0).all()
    np.testing.assert_allclose(W.toarray(), W.toarray().T)
    np.testing.assert_allclose(neighbour_graph(1e6 * X).toarray(), W.toarray(), rtol=1e-6, atol=1e-12)


def test_a_background_that_parts_do_not_find_is_none():
    doubtful = TriedAffinity("sqeuclidean", noise=0.6, noise_stability=0.2)
    assert doubtful.is_noise_doubtful
    X, _ = make_blobs(300, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    noise = np.random.default_rng(0).uniform(-20, 20, size=(150, 2))
    model = DominantSets(3).fit(np.vstack([X, noise]))
    assert (model.labels_ < 0).any()
    model.choice_ = replace(model.choice_, taken=doubtful)
    assert model._noise_asked is None


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


def test_a_choice_is_printed_as_a_table():
    taken = TriedAffinity("path", {}, 3, -4.0, 0.9, 1.25, 0.1)
    other = TriedAffinity("diffusion", {"then": "rbf"}, 2, -1.0, 0.8)
    dropped = TriedAffinity("cosine", note="too slow")
    shown = Choice(taken, [taken, other, dropped], 90, "Because.")
    assert repr(shown) == "Choice(path, of 3 tried; print it for the table)"
    _, first, second, third, why, agreement = str(shown).splitlines()
    assert first.split() == ["path", "3", "-4.00", "0.90", "10%", "1.25", "<-", "taken"]
    assert second.split() == ["rbf", "2", "-1.00", "0.80", "0%", "-"]
    assert third.split() == ["cosine", "too", "slow"]
    assert why == "Because."
    assert agreement == str(shown.expected_agreement)
    assert not taken.is_noise_doubtful
    assert TriedAffinity("a", noise_stability=0.49).is_noise_doubtful
    assert not TriedAffinity("a", noise_stability=0.5).is_noise_doubtful
    assert unseen("rbf", "Why.").taken.affinity == "rbf"


@pytest.mark.parametrize("count", [50, 51])
def test_more_groups_than_a_sample_can_show_are_round(count, monkeypatch):
    """Where round clusters of all objects are more than fifty, nothing is compared on a sample."""
    monkeypatch.setattr(samples, "SAMPLE", 60)
    monkeypatch.setattr(judge, "Scales", lambda *_: SimpleNamespace(balls=[None] * count))
    X, _ = make_blobs(90, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    found = choose(sample_of(X, None, False), None, Monitor())
    assert ("too many for a sample" in found.reason) == (count > 50)
    if count > 50:
        assert (found.taken.affinity, found.taken.n_clusters, found.n_clusters) == ("sqeuclidean", 51, None)
    given = choose(sample_of(X, 7, False), 7, Monitor())  # a number that is given is looked for on the sample
    assert given.taken.n_clusters == 7


def test_the_score_of_a_candidate():
    """Stability, separation and log k, from the labels that the affinity gives, made again here."""
    X, y = make_blobs(120, centers=[(0, 0), (6, 0), (0, 6)], random_state=0)
    sample = sample_of(X, 3, False)
    found = next(c for c in choose(sample, 3, Monitor()).candidates if c.affinity == "path")
    labels = DominantSets(3, affinity="path", affinity_params={"min_samples": 5}, noise=None).fit(X).labels_
    cut = np.log(conductances(neighbour_graph(X), labels)).mean()
    order, random = sample.order(), np.random.RandomState(0)
    order = order[random.permutation(120)]
    parts = [np.sort(np.roll(order, -start)[:84]) for start in (0, 60)]
    again = [
        DominantSets(3, affinity="path", affinity_params={"min_samples": 5}).fit(X[part]).labels_
        for part in parts
    ]
    stability = np.mean(
        [adjusted_rand_score(labels[p], other) for p, other in zip(parts, again, strict=True)]
    )
    assert adjusted_rand_score(y, labels) > 0.3
    assert found.separation == pytest.approx(cut)
    assert found.stability == pytest.approx(stability)
    assert found.score == pytest.approx(stability + 0.1 * np.log(3) - 0.04 * cut)
    assert (found.noise, found.noise_stability) == (0.0, 1.0)


def test_unknown_numbers_are_those_of_affinities_and_of_a_mixture():
    X, _ = make_blobs(300, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    made = choose(sample_of(X, None, False), None, Monitor())
    assert {c.n_clusters for c in made.candidates} == {3}
    assert [c.affinity for c in made.candidates] == ["sqeuclidean", "path", "diffusion", "ellipses"]
    assert made.taken is made.candidates[0]  # all are alike: the first
    assert (made.n_clusters, made.taken.score) == (3, max(c.score for c in made.candidates))
    late = choose(sample_of(X, None, False), None, Monitor(0.0))
    assert late.reason == "The time was up before all were tried: round clusters."
    assert late.taken.affinity == "sqeuclidean"


def test_of_a_part_an_affinity_finds_its_own_number(monkeypatch):
    """Small groups do not show in a sample: what finds its number by itself is asked for none."""
    monkeypatch.setattr(samples, "SAMPLE", 200)
    X, _ = make_moons(500, noise=0.05, random_state=0)
    made = choose(sample_of(X, None, False), None, Monitor())
    assert made.taken.n_clusters == 2
    assert made.n_clusters is None


@pytest.mark.parametrize(("options", "trees"), [({}, 1), ({"min_cluster_size": 3}, 2)])
def test_the_groups_of_all_objects_are_found_once(options, trees, monkeypatch):
    """The choice looks for them, and the fit takes them if it asks for the same; then they are let go."""
    X, _ = make_blobs(3_000, centers=60, n_features=12, random_state=0)
    plain, made = DominantSets(affinity="sqeuclidean", **options).fit(X), []
    look = Scales._look
    monkeypatch.setattr(Scales, "_look", lambda self, *args: made.append(self.n) or look(self, *args))
    model = DominantSets(**options).fit(X)
    assert made.count(3_000) == trees
    assert model.affinity_ == "sqeuclidean"
    assert "_kept_scales" not in vars(model.similarity_)
    np.testing.assert_array_equal(model.labels_, plain.labels_)


def test_a_fit_of_some_objects_must_be_clearly_better(monkeypatch):
    """Round groups are as good by walks; half circles are not, and only some of their objects are fitted."""
    monkeypatch.setattr(samples, "TREES", ((np.inf, 100),))
    monkeypatch.setattr(samples, "WALKS", 100)
    monkeypatch.setattr(samples, "FEWEST", 200)
    clouds, y = make_blobs(600, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    choice = DominantSets(3).fit(clouds).choice_
    assert any(c.title == "diffusion" for c in choice.candidates)
    assert choice.fitted is None
    circles, y = make_moons(600, noise=0.05, random_state=0)
    model = DominantSets(2).fit(circles)
    assert 200 <= len(model.choice_.fitted) < 600
    assert adjusted_rand_score(y, model.labels_) == 1.0
