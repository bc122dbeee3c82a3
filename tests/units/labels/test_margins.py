"""How far labels are from others: averages by hand, and what no small change of similarities can do."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from dominantsets import DominantSet, DominantSets, Status, as_similarity, label_margins, peel
from dominantsets.labels.average import assign_by_average
from support import cliques, features, neighbor_graph, path, random_similarity


def a_set(members, weights):
    """Weights on some objects, whatever they are."""
    weights = np.asarray(weights, dtype=float)
    return DominantSet(np.asarray(members), weights / weights.sum(), 0.0, 0.0, 0.0, None, 0, Status.CONVERGED)


def scores_by_hand(A, i, sets):
    """The average similarity of an object to each set without itself, of numbers of any kind."""
    out = []
    for members, weights in sets:
        others = [(j, w) for j, w in zip(members, weights, strict=True) if j != i]
        total = sum(w for _, w in others)
        out.append(sum(w * A[i][j] for j, w in others) / total if total else None)
    return out


def margins_by_hand(matrices, labels, sets):
    """From one matrix for each set."""
    out = np.full(len(labels), np.nan)
    for i, k in enumerate(labels):
        scores = [scores_by_hand(A, i, [one])[0] for A, one in zip(matrices, sets, strict=True)]
        if k >= 0 and scores[k] is not None:
            others = [s for at, s in enumerate(scores) if at != k and s is not None]
            out[i] = (scores[k] - max(others, default=-np.inf)) / 2
    return out


def sets_of(clusters):
    return [(c.members.tolist(), c.weights.tolist()) for c in clusters]


def sets_by_label(labels):
    return [(np.flatnonzero(labels == k).tolist(), [1] * (labels == k).sum()) for k in range(max(labels) + 1)]


def test_every_kind_of_similarity(kind):
    _, S, A, atol = kind
    rng = np.random.default_rng(5)
    labels = rng.integers(-1, 3, size=60)
    clusters = [a_set(np.sort(rng.permutation(60)[:m]), rng.random(m)) for m in (1, 12, 40)]
    found = label_margins(S, labels, clusters)
    by_hand = margins_by_hand([A] * 3, labels, sets_of(clusters))
    np.testing.assert_allclose(found, by_hand, atol=60 * atol, rtol=0)
    found = label_margins(S, labels)
    by_hand = margins_by_hand([A] * 3, labels, sets_by_label(labels))
    np.testing.assert_allclose(found, by_hand, atol=60 * atol, rtol=0)


@st.composite
def labelled(draw):
    """Whole similarities of a few objects, weights of sets that share nothing, and labels; all exact."""
    n = draw(st.integers(3, 9))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    A = np.triu(rng.integers(0, 9, (n, n)), 1)
    K = int(rng.integers(2, min(4, n + 1)))
    home = np.concatenate([np.arange(K), rng.integers(-1, K, size=n - K)])
    weights = rng.integers(1, 5, size=n)
    sets = [(np.flatnonzero(home == k).tolist(), weights[home == k].tolist()) for k in range(K)]
    return A + A.T, rng.integers(-1, K, size=n), sets, rng


def highest(A, i, sets):
    """The sets with the highest score of an object."""
    scores = scores_by_hand(A, i, sets)
    top = max(s for s in scores if s is not None)
    return [k for k, s in enumerate(scores) if s == top]


@given(labelled())
def test_no_smaller_change_gives_another_label_and_a_larger_one_does(problem):
    """In rational numbers: any change below the margin, the worst one just below it, and just above it."""
    A, labels, sets, rng = problem
    n = len(A)
    found = label_margins(A.astype(float), labels, [a_set(*one) for one in sets])
    exact = [[Fraction(int(v)) for v in row] for row in A]
    for i, k in enumerate(labels.tolist()):
        scores = scores_by_hand(exact, i, sets)
        if k < 0 or scores[k] is None:
            assert np.isnan(found[i])
            continue
        others = [at for at in range(len(sets)) if at != k and scores[at] is not None]
        if not others:
            assert np.isposinf(found[i])
            continue
        other = max(others, key=scores.__getitem__)
        margin = (scores[k] - scores[other]) / 2
        assert found[i] == pytest.approx(float(margin), abs=1e-12)
        if margin <= 0:
            assert highest(exact, i, sets) != [k]
            continue
        for _ in range(3):
            E = np.triu(rng.integers(-999, 1000, (n, n)), 1)
            E = [[Fraction(int(v), 1000) * margin for v in row] for row in E + E.T]
            changed = [[a + e for a, e in zip(*rows, strict=True)] for rows in zip(exact, E, strict=True)]
            assert highest(changed, i, sets) == [k]
        for factor, kept in ((Fraction(999, 1000), True), (Fraction(1001, 1000), False)):
            changed = [row[:] for row in exact]
            for members, sign in ((sets[k][0], -1), (sets[other][0], 1)):
                for j in members:
                    if j != i:
                        changed[i][j] += sign * factor * margin
                        changed[j][i] = changed[i][j]
            assert (k in highest(changed, i, sets)) is kept


@given(st.integers(0, 10_000))
def test_labels_by_average_stay_where_they_are(seed):
    """The library's own rule, again on similarities that all have changed by less than the least margin."""
    A = random_similarity(30, seed) + 0.5 - 0.5 * np.eye(30)
    S = as_similarity(A)
    clusters = list(peel(S, 3, shift=0.3))
    cores = np.full(30, -1)
    for k, cluster in enumerate(clusters):
        cores[cluster.members] = k
    left = np.flatnonzero(cores < 0)
    assume(left.size and len(clusters) > 1)
    labels = assign_by_average(S, clusters, cores)
    alike = [a_set(c.members, np.ones(len(c))) for c in clusters]
    margins = label_margins(S, labels, alike)[left]
    assert margins.min() >= -1e-15
    least = 0.999 * float(margins.min())
    E = np.triu(np.random.default_rng(seed).uniform(-least, least, A.shape), 1) if least > 0.0 else 0.0 * A
    again = as_similarity(np.maximum(A + E + E.T, 0.0))
    np.testing.assert_array_equal(assign_by_average(again, clusters, cores), labels)


X, _ = make_blobs(120, centers=3, cluster_std=1.6, random_state=2)
FITS = {
    "sqeuclidean": (X, {}),
    "cosine": (X, {}),
    "linear": (X + 12.0, {"shift": 90.0}),
    "rbf": (X, {}),
    "ellipses": (X, {}),
    "path": (X, {}),
    "nearest_neighbors": (X, {}),
    "auto": (X, {}),
    "precomputed": (neighbor_graph(200), {"noise": None}),
    "average": (X, {"assign": "average"}),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fitted_model(name):
    rows, params = FITS[name]
    affinity = "sqeuclidean" if name == "average" else name
    model = DominantSets(3, affinity=affinity, **params).fit(rows)
    found = model.label_margins()
    clusters = model.clusters_
    if name == "average":
        clusters = [a_set(c.members, np.ones(len(c))) for c in clusters]
        assert found[model.core_labels_ < 0].min() >= 0.0
    matrices = [model.similarity_.for_cluster(k).toarray() for k in range(len(clusters))]
    by_hand = margins_by_hand(matrices, model.labels_, sets_of(clusters))
    np.testing.assert_allclose(found, by_hand, rtol=1e-9, atol=1e-9 * matrices[0].max())


def test_the_table_has_the_least_margin_of_each_cluster_when_it_was_asked_for():
    model = DominantSets(3, affinity="sqeuclidean", noise=0.1).fit(X)
    before = str(model.selection_)
    assert "margin" not in before
    margins = model.label_margins()
    assert np.isnan(margins[model.labels_ < 0]).all()
    least = [margins[model.labels_ == k].min() for k in range(3)]
    assert [row.margin for row in model.selection_.rows] == least
    lines = str(model.selection_).splitlines()
    assert lines[0].endswith(" least margin")
    assert [float(line.split()[-1]) for line in lines[1:4]] == pytest.approx(least, rel=1e-4)
    assert lines[4:] == before.splitlines()[4:]


@pytest.mark.parametrize("library", ["dask.array", "torch"])
def test_rows_elsewhere(library):
    module = pytest.importorskip(library)
    rows = module.from_array(X, chunks=((70, 50), 2)) if library == "dask.array" else module.tensor(X)
    for affinity in ("sqeuclidean", "rbf"):
        expected = DominantSets(3, affinity=affinity, noise=None).fit(X).label_margins()
        model = DominantSets(3, affinity=affinity, noise=None).fit(rows)
        found = model.label_margins()
        assert type(found) is type(model.labels_)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("assign", ["refine", "average"])
def test_weights_are_copies(assign):
    counts = np.random.default_rng(0).integers(0, 4, size=len(X))
    model = DominantSets(3, affinity="sqeuclidean", assign=assign).fit(X, sample_weight=counts)
    repeated = DominantSets(3, affinity="sqeuclidean", assign=assign).fit(np.repeat(X, counts, axis=0))
    found = model.label_margins()
    assert np.isnan(found[counts == 0]).all()
    np.testing.assert_allclose(np.repeat(found, counts), repeated.label_margins(), rtol=1e-9, atol=1e-9)


def test_a_stream_has_them_once_all_rows_are_fitted():
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:80]).partial_fit(X[80:])
    with pytest.raises(ValueError, match=r"all 120 rows of the stream: call partial_fit\(\) first"):
        model.label_margins()
    found = model.partial_fit().label_margins()
    whole = DominantSets(affinity="sqeuclidean").fit(X).label_margins()
    np.testing.assert_allclose(found, whole, rtol=1e-9)


def test_a_saved_model_has_no_rows():
    model = pickle.loads(pickle.dumps(DominantSets(3, affinity="sqeuclidean").fit(X)))
    with pytest.raises(RuntimeError, match="not its 120 training rows"):
        model.label_margins()


def test_who_has_no_other():
    """No label, one cluster, a cluster of one object, one without objects, and what cannot be reached."""
    A = random_similarity(5, 1)
    assert np.isnan(label_margins(A, np.full(5, -1))).all()
    assert np.isposinf(label_margins(A, np.zeros(5, dtype=int))).all()
    found = label_margins(A, [0, 1, 1, 3, 3])
    assert np.isnan(found[0])
    assert found[3] == pytest.approx((A[3, 4] - max(A[3, 0], A[3, [1, 2]].mean())) / 2)
    D = sp.coo_array(([1.0, 1.0], ([0, 2], [1, 3])), shape=(5, 5)).tocsr()
    S = as_similarity(D + D.T, "path", metric="precomputed")
    np.testing.assert_array_equal(label_margins(S, [0, 0, 1, 1, -1]), [np.inf] * 4 + [np.nan])
    np.testing.assert_array_equal(label_margins(S, [0, 0, 1, 1, 1]), [np.inf] * 2 + [np.nan] * 3)
    assert np.isneginf(label_margins(S, [0, 1, 1, 1, -1])[1])
    assert np.isfinite(label_margins(path(np.abs(np.subtract.outer([0.0, 1, 5, 6], [0.0, 1, 5, 6]))),
                                     [0, 0, 1, 1])).all()  # fmt: skip
    with pytest.warns(UserWarning, match="no cluster was found"):
        empty = DominantSets(affinity="precomputed", min_cluster_size=31).fit(cliques([30]))
    assert np.isnan(empty.label_margins()).all()


@pytest.mark.parametrize(
    ("labels", "words"),
    [([0, 1], r"one for each of 4 objects, got int64 of shape \(2,\)"),
     ([0.0, 1.0, 0.0, 1.0], "whole numbers, one for each of 4 objects, got float64"),
     ([0, 0, 2, 1], "label 2 has no cluster: there are 2")],
)  # fmt: skip
def test_labels_that_cannot_be_meant(labels, words):
    with pytest.raises(ValueError, match=words):
        label_margins(random_similarity(4), labels, [a_set([0, 1], [1, 1]), a_set([2], [1])])


def test_the_margin_is_in_the_unit_of_the_similarity():
    """Scaled with it, and the same if a constant is added to all similarities."""
    S = as_similarity(features(40), "rbf", gamma=0.05)
    A, labels = S.toarray(), np.arange(40) % 3
    margins = label_margins(A, labels)
    np.testing.assert_allclose(label_margins(7.0 * A, labels), 7.0 * margins)
    np.testing.assert_allclose(label_margins(A + 3.0 - 3.0 * np.eye(40), labels), margins, atol=1e-13)
