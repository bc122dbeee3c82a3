"""Which affinity is taken, and why."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import Choice, DominantSets, TriedAffinity, as_similarity
from dominantsets.fitting import contest as choice
from dominantsets.fitting import samples
from dominantsets.fitting.contest import choose, unseen
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
    whole = as_similarity(np.eye(4), "sqeuclidean")
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


def test_a_score_that_cannot_be_beaten_ends_the_contest():
    """Two far groups: stable, with no link between them. The score is at its upper bound."""
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0, 0.0], [90.0, 0.0]], 30, axis=0)
    made = DominantSets(2).fit(X).choice_
    assert made.candidates == [made.taken]
    assert made.taken.affinity == "sqeuclidean"
    assert made.taken.score == pytest.approx(1.0 - 0.04 * np.log(1e-6))


def test_what_a_candidate_is_worth(monkeypatch):
    """Stability and some separation if a number is given; else its square, and how far groups are apart."""
    X, y = make_blobs(120, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    sample = sample_of(X, None, False)
    for wanted in (None, 3):
        contest = choice._Contest(sample, wanted, Monitor())
        tried = contest._try(("sqeuclidean", {}))
        found = tried.candidate
        cut = conductances(sample.graph(), tried.labels)
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
