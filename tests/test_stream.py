"""Rows that come in batches."""

from __future__ import annotations

import os
import pickle
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, End, Status
from dominantsets.fitting.stream import is_surprising, take_in
from support import assert_certified, formula

X, Y = make_blobs(900, centers=6, n_features=3, cluster_std=0.8, random_state=3)


def streamed(rows, n_batches: int, **params) -> tuple[DominantSets, np.ndarray]:
    """The model after so many batches, and the labels that each batch got."""
    model, labels = DominantSets(**params), []
    for batch in np.array_split(np.arange(rows.shape[0]), n_batches):
        labels.append(model.partial_fit(rows[batch]).labels_)
        assert labels[-1].shape == model.probabilities_.shape == (len(batch),)
    return model, np.concatenate(labels)


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("n_batches", [2, 3, 7, 30])
def test_every_certificate_holds_over_all_rows_seen(affinity, n_batches):
    """Computed again by plain NumPy: as good as those of a fit, however the rows came."""
    model, labels = streamed(X, n_batches, affinity=affinity)
    whole = DominantSets(affinity=affinity).fit(X)
    A = formula(affinity, X)
    assert model.n_clusters_ > 1
    for cluster in model.clusters_:
        assert cluster.status is Status.CONVERGED
        assert cluster.relative_gap <= 1e-10
        assert cluster.strict
        assert_certified(A, cluster, stationary=1e-9)
    worst = min(whole.clusters_, key=len)
    assert all(len(cluster) > 0.3 * len(worst) for cluster in model.clusters_)
    assert model.membership_matrix_.shape == (len(X), model.n_clusters_)
    if affinity == "sqeuclidean":
        assert model.n_clusters_ == whole.n_clusters_
        assert adjusted_rand_score(whole.labels_, model.predict(X)) > 0.95
        assert adjusted_rand_score(Y[450:], labels[450:]) > 0.9


def test_what_no_object_of_a_batch_exceeds_stays_as_it_is():
    """Batches of one blob only: the others keep their weights, and have a margin over all rows."""
    first, later = X[:600], X[600:][Y[600:] == 0]
    model = DominantSets(affinity="sqeuclidean").partial_fit(first)
    before = list(model.clusters_)
    model.partial_fit(later)
    A = formula("sqeuclidean", np.concatenate([first, later]))
    same = 0
    for old, new in zip(before, model.clusters_, strict=True):
        assert_certified(A, new, stationary=1e-9)
        if (Y[:600][old.members] != 0).all():
            same += 1
            np.testing.assert_array_equal(old.members, new.members)
            np.testing.assert_array_equal(old.weights, new.weights)
            assert new.n_iter == old.n_iter
            assert new.margin <= old.margin
            assert new.radius == old.radius
        else:
            assert len(new) > len(old)
    assert same == 5


def test_a_touched_ball_begins_as_it_was():
    """With the objects that came into it, the weights are those of the same ball: (r² - t) / κ'."""
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:600])
    batch, S = X[600:], model.similarity_
    for k, cluster in enumerate(model.clusters_):
        kappa = S.offset + cluster.shift
        arrival = take_in(cluster, model.transform(batch)[:, k], 600, 0.0, kappa, 1e-10)
        inside = np.maximum(cluster.radius**2 - np.square(X - cluster.center).sum(axis=1), 0.0)
        expected = inside / inside.sum()
        x = np.bincount(arrival.start.support, arrival.start.weights, minlength=len(X))
        np.testing.assert_allclose(x, expected, atol=1e-9)
        assert S.offset + arrival.cluster.shift == pytest.approx(inside.sum(), rel=1e-9)


def test_a_new_group_becomes_a_cluster():
    old = Y < 4
    model = DominantSets().partial_fit(X[old])
    assert model.n_clusters_ == 4
    for k in (4, 5):
        model.partial_fit(X[np.equal(Y, k)])
        assert model.n_clusters_ == k + 1
        assert (model.labels_ == k).mean() > 0.95
    rows = np.concatenate([X[old], X[Y == 4], X[Y == 5]])
    for cluster in model.clusters_:
        assert_certified(formula("sqeuclidean", rows), cluster, stationary=1e-9)


def test_as_many_clusters_as_asked_for():
    model = DominantSets(4).partial_fit(X[Y < 4])
    model.partial_fit(X[Y >= 4])
    assert model.n_clusters_ == 4


def test_one_group_first():
    """While nothing stands out all rows are looked at again."""
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[Y == 0])
    assert model.n_clusters_ == 1
    model.partial_fit(X[Y == 1])
    assert model.n_clusters_ == 2
    assert model.labels_.shape == ((Y == 1).sum(),)


def histograms(cores: np.ndarray) -> np.ndarray:
    """Of the first 1,000 objects and of the others, from -1 on."""
    return np.array([np.bincount(part + 1, minlength=4) for part in (cores[:1_000], cores[1_000:])])


def test_what_is_surprising():
    rng = np.random.default_rng(0)
    shares = [0.1, 0.2, 0.3, 0.4]
    draws = rng.choice(4, p=shares, size=(2_000, 1_500)) - 1
    # rows of one distribution are surprising as often as was said
    assert 0.01 < np.mean([is_surprising(histograms(cores), 0.02) for cores in draws]) < 0.03
    for k in range(-1, 3):  # one category more or less than before
        cores = draws[0].copy()
        cores[1_000:1_120] = k
        assert is_surprising(histograms(cores), 0.02)
    assert not is_surprising(np.array([[3, 4], [0, 0]]), 0.02)  # nobody came since


def test_a_saved_stream_goes_on():
    one = DominantSets(affinity="sqeuclidean").partial_fit(X[:300])
    other = pickle.loads(pickle.dumps(one))
    for batch in (X[300:600], X[600:]):
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
    for cluster in model.clusters_:
        assert_certified(formula("sqeuclidean", X), cluster, stationary=1e-9)


def test_sparse_rows_are_compared_by_direction():
    rows = sp.csr_array(np.maximum(X - X.mean(axis=0), 0.0) + 0.1 * (np.arange(3) == Y[:, None] % 3))
    model, _ = streamed(rows, 3)
    assert model.affinity_ == "cosine"
    for cluster in model.clusters_:
        assert_certified(formula("cosine", rows.toarray()), cluster, stationary=1e-9)


def test_sparse_and_dense_batches_may_follow_each_other():
    for kinds in ((sp.csr_array, np.asarray), (np.asarray, sp.csr_array)):
        model = DominantSets(affinity="sqeuclidean")
        for make, rows in zip(kinds, (X[:450], X[450:]), strict=True):
            model.partial_fit(make(rows))
        for cluster in model.clusters_:
            assert_certified(formula("sqeuclidean", X), cluster, stationary=1e-9)


@pytest.mark.parametrize("assign", ["average", None])
def test_other_assignments(assign):
    model, _ = streamed(X, 3, affinity="sqeuclidean", assign=assign)
    np.testing.assert_array_equal(model.labels_, model.predict(X[600:]))


def test_a_batch_that_is_refused_changes_nothing():
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:450])
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match="X has 2 features, but DominantSets is expecting 3 features"):
        model.partial_fit(X[450:, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((4, 3), np.nan))
    assert model.__dict__ == before
    with pytest.raises(ValueError, match="takes rows in memory, got a LowRank"):
        model.partial_fit(model.similarity_)


def test_an_error_half_way_changes_nothing():
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:450])
    before = dict(model.__dict__)

    def broken(*_):
        raise KeyboardInterrupt

    model._set_labels = broken
    changed = dict(model.__dict__)
    with pytest.raises(KeyboardInterrupt):
        model.partial_unfit([3])
    assert model.__dict__ == changed
    del model._set_labels
    assert model.__dict__ == before
    model.partial_fit(X[450:800])
    waiting = dict(model.__dict__)
    model._set_labels = broken
    with pytest.raises(KeyboardInterrupt):
        model.clusters_  # noqa: B018 (asking for it brings it up to date)
    del model._set_labels
    assert model.__dict__ == waiting
    for cluster in model.clusters_:
        assert_certified(formula("sqeuclidean", X[:800]), cluster, stationary=1e-9)


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


def weighted_kkt(A: np.ndarray, own: float, cluster, weights: np.ndarray) -> None:
    """Level payoffs inside, none higher outside, where row i stands for weights[i] objects: κ / m."""
    x = np.bincount(cluster.members, cluster.weights, minlength=len(A))
    kappa = own + cluster.shift
    r = A @ x + own * x - kappa / weights * x
    f = float(x @ r)
    assert cluster.threshold == pytest.approx(f, abs=1e-8 * (abs(f) + kappa))
    assert r.max() <= f + 1e-8 * (abs(f) + kappa)
    assert np.abs(r[cluster.members] - f).max() <= 1e-7 * (abs(f) + kappa)


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine"])
def test_rows_are_worth_less_with_every_batch(affinity):
    """The certificates are those of rows with weights; old rows are dropped in the end."""
    model, sizes = DominantSets(affinity=affinity), []
    for batch in np.array_split(X, 6):
        sizes.append(len(batch))
        model.partial_fit(batch, forget=0.2)
    weights = np.repeat(0.8 ** np.arange(5, -1, -1.0), sizes)
    A = model.similarity_.toarray()
    for cluster in model.clusters_:
        assert cluster.status is Status.CONVERGED
        weighted_kkt(A, model.similarity_.self_similarity, cluster, weights)
    gone = DominantSets(affinity=affinity)
    for batch in np.array_split(X, 6):
        gone.partial_fit(batch, forget=0.85)
    assert gone.similarity_.n == 150 * 4  # 0.15 to the power of 3 is above a thousandth, to that of 4 below


@pytest.mark.parametrize("asked", [False, True])
def test_every_batch_has_a_share_of_its_own(asked):
    """A row has the product of what all later batches leave, whether clusters are asked for in between."""
    model = DominantSets(affinity="sqeuclidean")
    shares = [0.0, 0.3, 0.0, 0.5]
    for batch, share in zip(np.array_split(X, 4), shares, strict=True):
        model.partial_fit(batch, forget=share)
        assert not asked or model.clusters_
    weights = np.repeat([0.7 * 0.5, 0.5, 0.5, 1.0], len(X) // 4)
    A = model.similarity_.toarray()
    for cluster in model.clusters_:
        weighted_kkt(A, model.similarity_.self_similarity, cluster, weights)


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
    """Never an error, whatever coincides, and the KKT conditions hold for the rows with their weights."""
    model, sizes = DominantSets(affinity=affinity), []
    for numbers in batches:
        rows = np.array(numbers[: len(numbers) // d * d], dtype=float).reshape(-1, d)
        rows[~rows.any(axis=1)] = 1.0  # no direction
        sizes.append(len(rows))
        model.partial_fit(rows, forget=forget)
    S = model.similarity_
    weights = np.repeat((1.0 - forget) ** np.arange(len(sizes) - 1, -1, -1.0), sizes)
    for cluster in model.clusters_:
        weighted_kkt(S.toarray(), S.self_similarity, cluster, weights)


@pytest.mark.parametrize("affinity", ["cosine", "sqeuclidean"])
def test_copies_stay_a_dominant_set_however_long_they_are_forgotten(affinity):
    """Their ball has no radius, and kappa falls with every batch: it must not vanish beside rounding."""
    model = DominantSets(affinity=affinity)
    signs = np.tile([1.0, 1.0, -1.0, 1.0, -1.0, -1.0], 3)[:, None]
    for _ in range(30):
        model.partial_fit(signs, forget=0.1)
    weights = np.repeat(0.9 ** np.arange(29, -1, -1.0), len(signs))
    rows = np.tile(signs[:, 0], 30)
    assert model.n_clusters_ == 2
    for cluster in model.clusters_:
        # the Hessian on the face is diagonal, -kappa / m
        assert model.similarity_.self_similarity + cluster.shift > 0.0
        assert cluster.margin > 0.0
        assert cluster.strict is not False
        assert np.unique(rows[cluster.members]).size == 1
        # copies share by their weights: kappa x / m is the same for all
        expected = weights[cluster.members] / weights[cluster.members].sum()
        np.testing.assert_allclose(cluster.weights, expected, rtol=1e-2)
        weighted_kkt(model.similarity_.toarray(), model.similarity_.self_similarity, cluster, weights)


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
def test_rows_are_taken_out_again(affinity):
    """Certificates over what is left; clusters without a member that went keep their weights."""
    model = DominantSets(affinity=affinity).partial_fit(X[:600]).partial_fit(X[600:])
    before, rng = list(model.clusters_), np.random.default_rng(0)
    gone = np.sort(rng.choice(900, 40, replace=False))
    gone = np.union1d(gone[~np.isin(gone, before[0].members)], before[-1].members[::3])
    left = np.setdiff1d(np.arange(900), gone)
    model.partial_unfit(gone)
    A = formula(affinity, X[left])
    assert model.similarity_.n == left.size
    assert model.labels_.size == np.count_nonzero(left >= 600)
    for cluster in model.clusters_:
        assert cluster.status is Status.CONVERGED
        assert cluster.relative_gap <= 1e-10
        x = np.bincount(cluster.members, cluster.weights, minlength=left.size)
        r = model.similarity_.toarray() @ x - cluster.shift * x
        assert r.max() <= x @ r + 1e-9 * (A.max() + abs(cluster.shift))
    np.testing.assert_array_equal(left[model.clusters_[0].members], before[0].members)
    np.testing.assert_array_equal(model.clusters_[0].weights, before[0].weights)
    model.partial_fit(X[gone])  # the stream goes on
    assert model.similarity_.n == 900


def test_a_cluster_of_which_nobody_is_left_is_gone():
    model = DominantSets(affinity="sqeuclidean").partial_fit(X)
    assert model.partial_unfit(np.flatnonzero(Y == 2)).n_clusters_ == 5
    assert adjusted_rand_score(Y[Y != 2], model.predict(X[Y != 2])) > 0.9


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


def test_clusters_wait_until_somebody_asks():
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:500])
    known = model.clusters_
    model.partial_fit(X[500:700]).partial_fit(X[700:])
    assert "clusters_" not in vars(model)
    saved = pickle.loads(pickle.dumps(model))
    assert sum(map(len, model.clusters_)) > sum(map(len, known))
    for a, b in zip(model.clusters_, saved.clusters_, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
    with pytest.raises(AttributeError, match="no attribute 'nonsense_'"):
        model.nonsense_  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'clusters_'"):
        DominantSets().clusters_  # noqa: B018


def interrupting():
    """A callback that presses Ctrl-C once: the second press would raise."""
    presses = []

    def callback(progress):
        if not presses:
            presses.append(1)
            os.kill(os.getpid(), signal.SIGINT)

    return callback


@pytest.mark.parametrize("how", ["Ctrl-C", "max_time", "callback"])
def test_a_batch_that_ends_early_is_gone_on_with(how):
    """What is there has honest certificates; the next batch brings all of them to the end."""
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:450])
    n_clusters = model.n_clusters_
    model.set_params(
        **{
            "Ctrl-C": {"callback": interrupting()},
            "max_time": {"max_time": 0.0},
            "callback": {"callback": lambda progress: True},
        }[how]
    )
    model.partial_fit(X[450:800])
    with pytest.warns(ConvergenceWarning, match="ended early"):
        assert len(model.clusters_) == n_clusters
    assert model.end_ in (End.INTERRUPTED, End.TIME_LIMIT, End.STOPPED)
    assert model.n_clusters_ == n_clusters
    assert model.labels_.shape == (350,)
    assert any(cluster.status is not Status.CONVERGED for cluster in model.clusters_)
    for cluster in model.clusters_:
        assert_certified(formula("sqeuclidean", X[:800]), cluster)
    model.set_params(callback=None, max_time=None).partial_fit(X[800:])
    assert model.n_clusters_ == n_clusters
    for cluster in model.clusters_:
        assert cluster.status is Status.CONVERGED
        assert_certified(formula("sqeuclidean", X), cluster, stationary=1e-9)
