"""Which shift is chosen, and how many clusters there are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, homogeneity_score

from dominantsets import Candidate, DominantSets, End, as_similarity, peel
from dominantsets.clusters import shift
from dominantsets.clusters.shift import SHARES, Scale, choose_shift
from dominantsets.similarity.located import Located, located
from dominantsets.solvers import Monitor
from dominantsets.studies.experiments import newsgroups
from support import CORNERS


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "linear", "rbf"])
def test_a_restricted_similarity_is_that_of_the_chosen_objects(affinity):
    rows = np.random.default_rng(0).random((60, 3)) + 0.1
    S, chosen = as_similarity(rows, affinity), np.arange(0, 60, 3)
    sub = located(S).sample(chosen)
    difference = sub.toarray() - S.block(chosen, chosen)
    off = ~np.eye(20, dtype=bool)
    # M may differ: it is only a shift
    np.testing.assert_allclose(difference[off], difference[0, 1], atol=1e-9)
    if affinity != "sqeuclidean":
        np.testing.assert_allclose(difference, 0.0, atol=1e-9)


def test_a_resolution_is_in_proportion_to_n_and_knows_no_unit():
    X, _ = make_blobs(1_200, centers=CORNERS, random_state=0)
    S, twice = as_similarity(X, "sqeuclidean"), as_similarity(np.repeat(X, 2, axis=0), "sqeuclidean")
    kappa = S.self_similarity + Scale(S, S.degrees()).shift(0.01)
    assert twice.self_similarity + Scale(twice, twice.degrees()).shift(0.01) == pytest.approx(
        2.0 * kappa, rel=0.15
    )
    scaled = as_similarity(10.0 * X + 3.0, "sqeuclidean")
    assert scaled.self_similarity + Scale(scaled, scaled.degrees()).shift(0.01) == pytest.approx(
        100.0 * kappa
    )
    first = DominantSets(4, affinity="sqeuclidean").fit(X)
    np.testing.assert_array_equal(
        first.labels_, DominantSets(4, affinity="sqeuclidean").fit(10.0 * X + 3.0).labels_
    )


@pytest.mark.parametrize("n", [2, 3, 40])
def test_a_shift_by_its_definition(n):
    """c n (p - q) - p, of few objects more; q is the lower quartile of every second one with the others."""
    S = as_similarity(np.random.default_rng(n).random((n, 2)), "rbf", gamma=3.0)
    A, degrees = S.toarray(), S.degrees()
    order = np.argsort(degrees)
    q = np.quantile(A[np.ix_(order[::2], order[1::2])], 0.25)
    scale = Scale(S, degrees)
    assert scale.spread == pytest.approx(1.0 - q)
    kappa = 0.7 * np.sqrt(1_000 / n) * n * (1.0 - q)
    assert scale.shift(0.7) == pytest.approx(kappa - 1.0)
    assert Scale(as_similarity(np.ones((1, 2)), "rbf"), np.zeros(1)).shift(0.7) == 0.0
    # objects that differ in their own similarity: each alone must stay concave
    linear = as_similarity(np.random.default_rng(0).random((30, 2)) + 0.1, "linear")
    least = linear.self_similarities(np.arange(30)).min()
    own = linear.self_similarity
    assert Scale(linear, linear.degrees()).shift(1e-9) == pytest.approx(-least + 0.1 * (own - least))


def test_which_resolution_is_chosen():
    """Fewer clusters with 0.85 of the best score; of those the smallest shift with 0.95 of their best."""

    def chosen(*tried, wanted=None):
        candidates = [Candidate(0.1, -k, clusters, 1.0, score) for k, (clusters, score) in enumerate(tried)]
        return shift._choose(candidates, wanted)[0]

    assert chosen((2, 0.86), (3, 1.0), (4, 0.9)) == 0
    assert chosen((2, 0.84), (3, 1.0), (4, 0.9)) == 1
    assert chosen((2, 0.96), (2, 0.96), (2, 1.0), (2, 0.951), (2, 0.94)) == 3
    assert chosen((0, 0.0), (0, 0.0)) == 1  # none has a cluster
    assert chosen((2, 1.0), (3, 0.2), (3, 0.1), wanted=4) == 1  # the most there are
    for shares in (shift.SHARES, shift.SHARES_OF_DEGREE):
        assert list(shares) == sorted(shares, reverse=True)
    assert shift.SHARES_OF_DEGREE[0] < 1.0
    assert shift.SHARES_OF_DEGREE[-1] == 0.0


def test_on_how_many_objects_resolutions_are_compared(monkeypatch):
    X, _ = make_blobs(60, centers=CORNERS, random_state=0)
    S = as_similarity(X, "rbf")
    seen, sample = [], Located.sample
    monkeypatch.setattr(Located, "sample", lambda self, some: seen.append(some) or sample(self, some))
    assert choose_shift(S, S.degrees(), 4, monitor=Monitor()).n_objects == 60
    assert not seen  # all of them, as they are
    monkeypatch.setattr(shift, "SAMPLE", 30)
    monkeypatch.setattr(shift, "SAMPLE_OF_MATRIX", 30)
    monkeypatch.setattr(shift, "SAMPLE_A_CLUSTER", 2)
    found = choose_shift(S, S.degrees(), 4, monitor=Monitor())
    assert found.n_objects == seen[0].size == 30
    scale = Scale(S, S.degrees())  # shifts are those of all objects
    assert [c.shift for c in found.candidates] == [scale.shift(share) for share in SHARES]
    few = as_similarity(X[:4], "rbf")
    assert len(choose_shift(few, few.degrees(), 2, monitor=Monitor()).candidates) == len(SHARES)
    fewer = as_similarity(X[:3], "rbf")
    assert choose_shift(fewer, fewer.degrees(), 2, monitor=Monitor()).reason == "too little to compare."


def test_the_choice_of_one_shift_can_be_read():
    """One shift for all clusters: the smallest one with nearly the highest score."""
    X, _ = make_blobs(1_000, centers=CORNERS, random_state=0)
    S = as_similarity(X, "path")
    resolution = choose_shift(S, S.degrees(), 4, monitor=Monitor())
    assert resolution.shift in [c.shift for c in resolution.candidates]
    assert len(resolution.candidates) == len(SHARES)
    able = [c for c in resolution.candidates if c.n_clusters == 4]
    best = max(c.score for c in able)
    assert resolution.shift == min(c.shift for c in able if c.score >= 0.95 * best)
    assert "chosen" in str(resolution)
    assert "given." in DominantSets(4, shift=3.0, affinity="sqeuclidean").fit(X[:100]).selection_.reason


def assert_pure(model, y, least):
    """Groups that are found by themselves may be parts of classes, but not of several classes."""
    core = model.core_labels_ >= 0
    assert homogeneity_score(y[core], model.core_labels_[core]) > least
    assert model.n_clusters_ <= 5 * len(set(y))


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.usefixtures("data_folder")
def test_groups_of_newsgroups_are_pure_and_refined_well(k):
    X, y = newsgroups.features(k, seed=0)
    model = DominantSets(affinity="cosine").fit(X)
    assert model.n_clusters_ >= 2
    assert_pure(model, y, 0.75)
    refined = DominantSets(5, affinity="cosine").fit(X)
    cores = DominantSets(5, affinity="cosine", assign="average").fit(X)
    reached = adjusted_rand_score(y, refined.labels_)
    assert reached > adjusted_rand_score(y, cores.labels_)  # the paper's post-assignment
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    means = KMeans(5, n_init=10, random_state=0).fit_predict(unit)
    assert reached > adjusted_rand_score(y, means) - 0.02
    assert refined.assignment_rate_ > 0.95


def test_a_graph_gets_the_largest_shift_with_enough_clusters():
    """Of one shift for all clusters, which graphs in pieces and neighbours of points have."""
    blocks = [np.ones((m, m)) for m in (12, 10, 8, 6, 5, 4)]
    A = sp.csr_array(sp.block_diag(blocks))
    A.setdiag(0.0)
    mean, S = A.sum() / A.shape[0], as_similarity(A)
    for k in (2, 6):
        found = choose_shift(S, S.degrees(), k, monitor=Monitor())
        tried = found.candidates
        assert tried[-1].n_clusters == k
        assert all(c.n_clusters < k for c in tried[:-1])
        assert found.shift == pytest.approx(tried[-1].share * mean)
        for c in tried:
            assert c.n_clusters == len(list(peel(S, k, shift=c.shift)))
    pairs = as_similarity(sp.csr_array(100.0 * np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]])))
    two = choose_shift(pairs, pairs.degrees(), 2, monitor=Monitor())
    assert [c.n_clusters for c in two.candidates] == [2]
    assert two.candidates[0].shift == pytest.approx(90.0)
    assert choose_shift(S, S.degrees(), None, monitor=Monitor()).shift == pytest.approx(0.9 * mean)


def test_a_callback_ends_the_comparison_of_resolutions_too():
    X, _ = make_blobs(3_000, centers=CORNERS, random_state=0)
    with pytest.warns(UserWarning, match="ended early"):
        model = DominantSets(4, affinity="rbf", callback=lambda progress: True).fit(X)
    assert model.end_ is End.STOPPED
    resolution = choose_shift(
        model.similarity_,
        model.similarity_.degrees(),
        4,
        monitor=Monitor(None, lambda p: True),
    )
    assert resolution.halt is End.STOPPED
