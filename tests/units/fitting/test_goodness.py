"""The density without a shape against its formula, and which clouds win."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets.fitting import goodness
from dominantsets.fitting.goodness import Cloud, Shapeless, best_cloud, others
from dominantsets.solvers import Monitor


@pytest.mark.parametrize("n", [4, 12, 80])
@pytest.mark.parametrize("d", [1, 3])
def test_it_is_the_mean_of_kernels_as_wide_as_the_tenth_distance(n, d):
    rng = np.random.default_rng(n)
    X, new = rng.normal(size=(n, d)), rng.normal(size=(5, d))
    D = np.sqrt(np.square(X[:, None] - X).sum(axis=2))
    unit = np.sort(D, axis=1)[:, min(10, n - 1)]  # itself is the first

    def density(at, width, left_out=None):
        """The logarithm; no more than the 60 nearest kernels reach an object."""
        far = np.linalg.norm(X - at, axis=1)
        order = [i for i in np.argsort(far) if i != left_out][: min(60, n - 1)]
        wide = width * unit[order]
        kernels = np.exp(-0.5 * (far[order] / wide) ** 2) / (2.0 * np.pi * wide**2) ** (d / 2.0)
        return np.log(kernels.sum() / (n - (left_out is not None)))

    own = {w: np.mean([density(X[i], w, i) for i in range(n)]) for w in goodness.WIDTHS}
    best = max(own, key=own.get)
    np.testing.assert_allclose(Shapeless(X).density(new), [density(at, best) for at in new], rtol=1e-9)


def cloud(lifts, is_round=True):
    return Cloud(None, "", is_round, np.zeros(1, int), np.asarray(lifts, dtype=float), 1.0)


def test_significant_is_two_standard_errors():
    lifts = np.array([1.0, 3.0, 1.0, 3.0])  # mean 2, standard error 1 / 2
    assert (cloud(lifts).lift, cloud(lifts).error) == (2.0, 0.5)
    assert cloud(lifts - 0.9).is_significant
    assert not cloud(lifts - 1.0).is_significant
    assert cloud(lifts).beats(cloud(np.full(4, 0.9)))
    assert not cloud(lifts).beats(cloud(np.full(4, 1.0)))


def test_objects_that_are_not_in_a_part():
    assert others(6, np.array([0, 3, 4])).tolist() == [1, 2, 5]


def parts_of(n):
    return [np.flatnonzero(np.arange(n) % 2 == k) for k in range(2)]


def test_round_clouds_win_unless_long_ones_explain_more():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = rng.normal(size=(300, 2)) + 12.0 * y[:, None]
    found = best_cloud(X, parts_of(300), [("some", y, True)], Monitor())
    assert found.is_round
    assert found.start == "some"
    assert found.is_significant
    assert found.stability == 1.0
    assert (found.labels == y).all()
    assert found.lifts.shape == (300,)
    long = best_cloud(X * [1.0, 30.0], parts_of(300), [("some", y, True)], Monitor())
    assert not long.is_round
    # only where round ones are asked for
    assert not best_cloud(X, parts_of(300), [("some", y, False)], Monitor()).is_round
    # the groups that explain more are taken, wherever they stand in the list
    mixed = rng.permutation(y)
    for order in ([("bad", mixed, True), ("good", y, True)], [("good", y, True), ("bad", mixed, True)]):
        best = best_cloud(X, parts_of(300), order, Monitor())
        assert (best.labels == y).all() or (best.labels == 1 - y).all()
    assert best_cloud(X, parts_of(300), [("none", np.full(300, -1), True)], Monitor()) is None
    assert best_cloud(X, parts_of(300), [], Monitor()) is None


def test_a_background_is_tried_where_some_are_noise():
    rng = np.random.default_rng(1)
    y = np.concatenate([np.repeat([0, 1], 120), np.full(60, -1)])
    X = np.vstack(
        [rng.normal(size=(120, 2)), rng.normal(size=(120, 2)) + 15.0, rng.uniform(-15, 30, (60, 2))]
    )
    order = rng.permutation(300)
    found = best_cloud(X[order], parts_of(300), [("some", y[order], True)], Monitor())
    noisy = found.labels < 0
    assert 30 < noisy.sum() < 75
    assert (y[order][noisy] < 0).mean() > 0.9
    clean = best_cloud(X[order], parts_of(300), [("some", np.maximum(y[order], 0), True)], Monitor())
    assert (clean.labels >= 0).all()
    assert found.lift > clean.lift
