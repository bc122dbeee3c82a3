"""Rows that come in batches: a fit of all rows when it is needed, labels by its rule in between."""

from __future__ import annotations

import os
import pickle
import signal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, Status, as_similarity
from support import assert_clusters_certified, formula

X, Y = make_blobs(900, centers=6, n_features=3, cluster_std=0.8, random_state=3)


def streamed(rows, n_batches: int, **params) -> tuple[DominantSets, np.ndarray]:
    """The model after so many batches, and the labels that each batch got."""
    model, labels = DominantSets(**params), []
    for batch in np.array_split(np.arange(rows.shape[0]), n_batches):
        labels.append(model.partial_fit(rows[batch]).labels_)
        for name in ("probabilities_", "core_labels_", "memberships_"):
            assert getattr(model, name).shape == labels[-1].shape == (len(batch),)
    return model, np.concatenate(labels)


def assert_same_fit(model: DominantSets, whole: DominantSets) -> None:
    """The same labels and the same dominant sets, but for the numbers of the clusters."""
    assert model.n_clusters_ == whole.n_clusters_
    names = np.full(model.n_clusters_ + 1, -1)  # the last for -1
    for k, cluster in enumerate(model.clusters_):
        same = [
            j for j, other in enumerate(whole.clusters_) if np.array_equal(cluster.members, other.members)
        ]
        (names[k],) = same
        other = whole.clusters_[same[0]]
        np.testing.assert_array_equal(cluster.weights, other.weights)
        assert (cluster.gap, cluster.margin, cluster.shift) == (other.gap, other.margin, other.shift)
        row, expected = model.selection_.rows[k], whole.selection_.rows[same[0]]
        assert (row.members, row.labelled, row.shift) == (expected.members, expected.labelled, expected.shift)
    np.testing.assert_array_equal(names[model.labels_], whole.labels_)
    np.testing.assert_array_equal(names[model.core_labels_], whole.core_labels_)
    np.testing.assert_array_equal(model.memberships_, whole.memberships_)
    np.testing.assert_allclose(model.probabilities_, whole.probabilities_, rtol=1e-9)  # sums in another order
    np.testing.assert_array_equal(names[model.predict(X + 0.1)], whole.predict(X + 0.1))
    np.testing.assert_allclose(model.transform(X), whole.transform(X)[:, names[:-1]])


@pytest.mark.parametrize(
    "params",
    [
        {"affinity": "sqeuclidean"},
        {"affinity": "cosine"},
        {"affinity": "sqeuclidean", "n_clusters": 4},
        {"affinity": "sqeuclidean", "assign": "average"},
        {"affinity": "sqeuclidean", "assign": None},
        {"affinity": "sqeuclidean", "noise": "cores"},
        {"affinity": "sqeuclidean", "noise": 0.1},
    ],
)
def test_without_a_batch_it_is_a_fit_of_all_rows(params):
    model, _ = streamed(X, 7, **params)
    assert_same_fit(model.partial_fit(), DominantSets(**params).fit(X))


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("n_batches", [2, 3, 7, 30])
def test_certificates_hold_over_the_rows_of_the_last_fit(affinity, n_batches):
    """Computed again by plain NumPy. While there are few rows, that is more than half of all."""
    model, labels = streamed(X, n_batches, affinity=affinity)
    n = model.similarity_.n
    assert n > len(X) // 2
    assert model.n_clusters_ > 1
    for cluster in model.clusters_:
        assert cluster.status is Status.CONVERGED
        assert cluster.relative_gap <= 1e-10
        assert cluster.strict
    assert_clusters_certified(formula(affinity, X[:n]), model, model.predict(X[:n]), stationary=1e-9)
    assert model.membership_matrix_.shape == (n, model.n_clusters_)
    if affinity == "sqeuclidean":
        assert adjusted_rand_score(DominantSets(affinity=affinity).fit_predict(X), model.predict(X)) > 0.95
        assert adjusted_rand_score(Y[450:], labels[450:]) > 0.9


def test_a_cluster_that_no_later_row_exceeds_is_a_dominant_set_of_all_rows():
    """Proposition 1 of docs/streams.md, in both directions."""
    first, later = X[:600], X[600:][Y[600:] == 0]
    model = DominantSets(affinity="sqeuclidean", assign=None).fit(first)
    S = as_similarity(np.concatenate([first, later]), "sqeuclidean")
    A = S.toarray()
    below = (model.transform(later) <= [cluster.threshold for cluster in model.clusters_]).all(axis=0)
    assert below.sum() == 5
    for cluster, is_below in zip(model.clusters_, below, strict=True):
        kappa = model.similarity_.self_similarity + cluster.shift
        x = np.bincount(cluster.members, cluster.weights, minlength=len(A))
        r = A @ x + (S.self_similarity - kappa) * x  # another constant in the formula, the same κ
        assert (r.max() <= x @ r + 1e-9 * A.max()) == is_below


def test_a_batch_is_labelled_by_the_rule_of_the_last_fit():
    for params in ({}, {"assign": "average"}, {"assign": None}, {"noise": "cores"}):
        model = DominantSets(affinity="sqeuclidean", **params).partial_fit(X[:500])
        model.partial_fit(X[500:700])
        assert model.similarity_.n == 500
        np.testing.assert_array_equal(model.labels_, model.predict(X[500:700]))
        assert ((model.probabilities_ > 0) <= (model.labels_ >= 0)).all()
        assert model.assignment_rate_ == (model.labels_ >= 0).mean()


def test_a_row_that_comes_again_has_its_own_weight():
    """The ball gives max(0, p - f) / κ to members and others alike."""
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:500])
    cores, memberships = model.core_labels_, model.memberships_
    assert model.partial_fit(X[:300]).similarity_.n == 500
    np.testing.assert_array_equal(model.core_labels_, cores[:300])
    np.testing.assert_allclose(model.memberships_, memberships[:300], atol=1e-9)


def test_fits_are_made_when_rows_double_up_to_a_sample():
    model, fitted = DominantSets(affinity="sqeuclidean"), []
    rng = np.random.default_rng(0)
    for _ in range(12):
        model.partial_fit(rng.normal(size=(100, 2)) + 20.0 * rng.integers(2, size=(100, 1)))
        fitted.append(model.similarity_.n)
    assert fitted == [100, 200, 200, 400, 400, 400, 400, 800, 800, 800, 800, 800]
    large = rng.normal(size=(6_000, 2)) + 20.0 * rng.integers(2, size=(6_000, 1))
    model = DominantSets(affinity="sqeuclidean").partial_fit(large)
    for _ in range(3):  # the same rows again are in the same clusters
        assert model.partial_fit(large).similarity_.n == 6_000


def test_rows_of_one_distribution_seldom_cause_a_fit():
    """The error of all tests until rows double is 2 %; 40 streams of 9 batches may have 3 (p = 0.05)."""
    caused = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(950, 2)) + 12.0 * rng.integers(3, size=(950, 1))
        model = DominantSets(affinity="sqeuclidean").partial_fit(rows[:500])
        for batch in np.array_split(rows[500:], 9):
            model.partial_fit(batch)
        caused += model.similarity_.n > 500
    assert caused <= 3


@pytest.mark.parametrize("where", [0, 1, None])
def test_rows_in_other_clusters_than_before_cause_a_fit(where):
    """More rows of one group, or rows of none."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 2)) + 12.0 * rng.integers(2, size=(500, 1))
    batch = rng.normal(size=(100, 2)) + (-40.0 if where is None else 12.0 * where)
    model = DominantSets(affinity="sqeuclidean").partial_fit(rows)
    assert model.partial_fit(batch).similarity_.n == 600
    assert model.n_clusters_ == (3 if where is None else 2)


def test_a_new_group_becomes_a_cluster_and_the_others_keep_their_labels():
    old = Y < 4
    model = DominantSets().partial_fit(X[old])
    assert model.n_clusters_ == 4
    before = model.labels_
    for k in (4, 5):
        model.partial_fit(X[np.equal(Y, k)])
        assert model.n_clusters_ == k + 1
        assert (model.labels_ == k).mean() > 0.95
    assert (model.predict(X[old]) == before).mean() > 0.99
    model.partial_unfit(np.flatnonzero(before == 1))  # the last label fills the gap, no other moves
    assert model.n_clusters_ == 5
    for k in (0, 2, 3):
        assert (model.predict(X[old][before == k]) == k).mean() > 0.98


def test_as_many_clusters_as_asked_for():
    model = DominantSets(4).partial_fit(X[Y < 4])
    model.partial_fit(X[Y >= 4])
    assert model.n_clusters_ == 4


def test_one_group_first():
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[Y == 0])
    assert model.n_clusters_ == 1
    model.partial_fit(X[Y == 1])
    assert model.n_clusters_ == 2
    assert model.labels_.shape == ((Y == 1).sum(),)


def test_a_saved_stream_goes_on():
    one = DominantSets(affinity="sqeuclidean").partial_fit(X[:300])
    other = pickle.loads(pickle.dumps(one))
    for batch in (X[300:500], X[500:], None):
        one.partial_fit(batch)
        other.partial_fit(batch)
        np.testing.assert_array_equal(one.labels_, other.labels_)
        for a, b in zip(one.clusters_, other.clusters_, strict=True):
            np.testing.assert_array_equal(a.members, b.members)
            np.testing.assert_array_equal(a.weights, b.weights)


def test_the_callers_array_may_be_filled_again():
    buffer, model = np.empty((300, 3)), DominantSets(affinity="sqeuclidean")
    for k in range(3):
        buffer[:] = X[300 * k : 300 * (k + 1)]
        model.partial_fit(buffer)
    buffer[:] = 0.0
    assert_same_fit(model.partial_fit(), DominantSets(affinity="sqeuclidean").fit(X))


def test_sparse_rows_are_compared_by_direction():
    rows = sp.csr_array(np.maximum(X - X.mean(axis=0), 0.0) + 0.1 * (np.arange(3) == Y[:, None] % 3))
    model, _ = streamed(rows, 3)
    assert model.affinity_ == "cosine"
    assert model.affinity == "auto"
    assert "Rows come in batches" in str(model.choice_)
    assert "Rows come in batches" in str(model.selection_)
    assert_clusters_certified(formula("cosine", rows.toarray()), model.partial_fit(), stationary=1e-9)


def test_sparse_and_dense_batches_may_follow_each_other():
    for kinds in ((sp.csr_array, np.asarray), (np.asarray, sp.csr_array)):
        model = DominantSets(affinity="sqeuclidean")
        for make, rows in zip(kinds, (X[:450], X[450:]), strict=True):
            model.partial_fit(make(rows))
        assert_clusters_certified(formula("sqeuclidean", X), model.partial_fit(), stationary=1e-9)


def test_names_of_features_stay():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = DominantSets().partial_fit(frame[:400]).partial_fit(frame[400:])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame.rename(columns={"a": "z"}))


def test_a_batch_that_is_refused_changes_nothing():
    new = DominantSets(affinity="sqeuclidean")
    with pytest.raises(ValueError, match="NaN"):
        new.partial_fit(np.full((4, 3), np.nan))
    with pytest.raises(ValueError, match="there are none"):
        new.partial_fit()
    assert vars(new) == vars(DominantSets(affinity="sqeuclidean"))
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:450])
    before = dict(vars(model))
    with pytest.raises(ValueError, match="X has 2 features, but DominantSets is expecting 3 features"):
        model.partial_fit(X[450:, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((4, 3), np.nan))
    with pytest.raises(ValueError, match="takes rows in memory, got a LowRank"):
        model.partial_fit(model.similarity_)
    with pytest.raises(ValueError, match="max_time"):
        model.set_params(max_time="long").partial_unfit([3])
    model.set_params(max_time=None)
    assert vars(model) == before


@pytest.mark.parametrize(
    "params",
    [
        {"affinity": "rbf"},
        {"affinity": "precomputed"},
        {"affinity": "cosine", "affinity_params": {"equalize": True}},
        {"shift": 3.0},
        {"device": "cpu"},
        {"checkpoint": "file.npz"},
    ],
)
def test_what_has_no_stream(params):
    assert not hasattr(DominantSets(**params), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        DominantSets(**params).partial_fit(X)


def test_fit_forgets_the_stream():
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:450]).fit(X[450:])
    assert model.labels_.shape == (450,)
    model.partial_fit(X[:100])
    assert model.similarity_.n == 100
    weighed = DominantSets(affinity="sqeuclidean").fit(X[:100], sample_weight=np.arange(100))
    assert (weighed.partial_fit(X[:200]).counts_ == 1).all()


def test_each_batch_drops_its_share_of_the_earlier_rows():
    """Of a batch of 150 the product of what later ones leave, to within a few rows."""
    shares = [0.0, 0.3, 0.0, 0.5, 0.1, 0.0]
    model, rng = DominantSets(affinity="sqeuclidean", noise=None), np.random.default_rng(0)
    for number, share in enumerate(shares):  # each a group of its own
        model.partial_fit(rng.normal(size=(150, 2)) + 100.0 * number, forget=share)
    assert model.partial_fit().n_clusters_ == 6
    kept = np.bincount(model.labels_)[model.predict([[100.0 * number] * 2 for number in range(6)])]
    expected = [150 * np.prod(1.0 - np.array(shares[number + 1 :])) for number in range(6)]
    np.testing.assert_allclose(kept, expected, atol=4)
    for cluster in model.clusters_:
        assert cluster.status is Status.CONVERGED


def test_memory_stays_bounded_and_small_batches_are_forgotten_too():
    """1 / forget batches in the long run, however small they are."""
    for size in (1, 7, 60):
        model = DominantSets(affinity="sqeuclidean").partial_fit(X[:600])
        for k in range(90):
            model.partial_fit(X[600 + size * k % 60 :][:size], forget=0.2)
        assert model.partial_fit().similarity_.n == pytest.approx(size / 0.2, abs=4)


@pytest.mark.parametrize("forget", [-0.1, 1.0, np.nan, "some"])
def test_a_share_that_cannot_be_forgotten(forget):
    with pytest.raises(ValueError, match="forget must be"):
        DominantSets().partial_fit(X, forget=forget)


FORGOTTEN_TO_NOTHING = [[3, -2, 1], [-1, 1, -3, 4, -3, 2], [-2, 2, -1, 1, 1, 2, -1, -6, -2, 1]]


@given(
    st.sampled_from(["cosine", "sqeuclidean"]),
    st.sampled_from([0.0, 0.01, 0.1, 0.5]),
    st.integers(1, 2),
    st.lists(st.lists(st.integers(-2, 2), min_size=4, max_size=12), min_size=2, max_size=5),
)
@example("cosine", 0.1, 1, FORGOTTEN_TO_NOTHING)
@example("sqeuclidean", 0.1, 1, [np.sign(numbers).tolist() for numbers in FORGOTTEN_TO_NOTHING])
def test_integers_that_come_and_are_forgotten(affinity, forget, d, batches):
    """Never an error, whatever coincides, and the KKT conditions hold for the rows that are kept."""
    model = DominantSets(affinity=affinity)
    for numbers in batches:
        rows = np.array(numbers[: len(numbers) // d * d], dtype=float).reshape(-1, d)
        rows[~rows.any(axis=1)] = 1.0  # no direction
        model.partial_fit(rows, forget=forget)
    S = model.partial_fit().similarity_
    A = S.toarray()
    for cluster in model.clusters_:
        x = np.bincount(cluster.members, cluster.weights, minlength=len(A))
        r = A @ x - cluster.shift * x
        f, unit = float(x @ r), abs(float(x @ r)) + abs(S.self_similarity + cluster.shift)
        assert cluster.threshold == pytest.approx(f, abs=1e-8 * unit)
        assert r.max() <= f + 1e-8 * unit


def test_a_group_that_no_longer_comes_is_forgotten():
    model = DominantSets(affinity="sqeuclidean")
    model.partial_fit(X[Y < 3])
    assert model.n_clusters_ == 3
    for part in np.array_split(X[(Y == 1) | (Y == 2)], 9):
        model.partial_fit(part, forget=0.6)
    assert model.n_clusters_ == 2
    kept = DominantSets(affinity="sqeuclidean").partial_fit(X[Y < 3])
    for part in np.array_split(X[(Y == 1) | (Y == 2)], 9):
        kept.partial_fit(part)
    assert kept.n_clusters_ == 3


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine"])
def test_a_model_without_some_rows_is_that_of_the_others(affinity):
    """Nothing of what is removed is left: exact unlearning."""
    model = DominantSets(affinity=affinity).partial_fit(X[:600]).partial_fit(X[600:])
    gone = np.sort(np.random.default_rng(0).choice(900, 140, replace=False))
    left = np.setdiff1d(np.arange(900), gone)
    model.partial_unfit(gone)
    assert_same_fit(model, DominantSets(affinity=affinity).fit(X[left]))
    model.partial_fit(X[gone])  # the stream goes on
    assert model.partial_fit().similarity_.n == 900


def test_a_cluster_without_rows_is_gone():
    model = DominantSets(affinity="sqeuclidean").partial_fit(X)
    assert model.partial_unfit(np.flatnonzero(Y == 2)).n_clusters_ == 5
    assert adjusted_rand_score(Y[Y != 2], model.labels_) > 0.9


@pytest.mark.parametrize(
    ("rows", "words"),
    [([], "at least one"), ([0.5], "numbers of rows"), ([900], "row 900 is not one of the rows 0 to 899"),
     ([-1], "row -1 is not"), (np.arange(900), "no row would be left of 900")],
)  # fmt: skip
def test_rows_that_cannot_be_taken_out(rows, words):
    model = DominantSets(affinity="sqeuclidean")
    with pytest.raises(ValueError, match="there are none"):
        model.partial_unfit([0])
    model.partial_fit(X)
    with pytest.raises(ValueError, match=words):
        model.partial_unfit(rows)


def interrupting():
    """A callback that presses Ctrl-C once: the second press would raise."""
    presses = []

    def callback(progress):
        if not presses:
            presses.append(1)
            os.kill(os.getpid(), signal.SIGINT)

    return callback


@pytest.mark.parametrize("how", ["Ctrl-C", "max_time", "callback"])
def test_a_fit_that_ends_early_leaves_the_last_one(how):
    """The batch has labels; the next one fits all rows."""
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:400])
    before, expected = model.clusters_, model.predict(X[400:850])
    model.set_params(
        **{
            "Ctrl-C": {"callback": interrupting()},
            "max_time": {"max_time": 0.0},
            "callback": {"callback": lambda progress: True},
        }[how]
    )
    with (
        pytest.warns(ConvergenceWarning, match="ended early"),
        pytest.warns(UserWarning, match="the last one stays"),
    ):
        model.partial_fit(X[400:850])
    assert model.clusters_ is before
    np.testing.assert_array_equal(model.labels_, expected)
    model.set_params(callback=None, max_time=None).partial_fit(X[850:])
    assert model.labels_.shape == (50,)
    assert model.similarity_.n == 900


def test_a_first_fit_that_ends_early_is_made_again():
    model = DominantSets(affinity="sqeuclidean", max_time=0.0)
    with pytest.warns(ConvergenceWarning, match="ended early"):
        model.partial_fit(X[:800])
    model.set_params(max_time=None).partial_fit(X[800:])
    assert model.similarity_.n == 900
    assert model.n_clusters_ == 6
