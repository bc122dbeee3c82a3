"""Whether a group is more than chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from dominantsets.clusters.evidence import FALSE, Evidence, dimension, least_significant


@given(st.lists(st.floats(1e-6, 10.0), max_size=30))
def test_of_many_groups_those_are_significant_of_which_few_are_false(expected):
    """Benjamini and Hochberg, in their words: the largest i with p(i) <= q i / m; here m p is given."""
    m, last = len(expected), 0
    p = sorted(e / max(m, 1) for e in expected)
    for i in range(1, m + 1):
        if p[i - 1] <= FALSE * i / m * (1 + 1e-12):
            last = i
    level = least_significant([np.log(e) for e in expected])
    assert sum(np.log(e) <= level for e in expected) == last
    if last == 0:
        assert level == -np.inf


def neighbours(X, count=40):
    far, _ = NearestNeighbors(n_neighbors=count + 1).fit(X).kneighbors(X)
    return far[:, 1:]


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("draw", ["uniform", "normal"])
def test_the_dimension_of_samples(draw, d):
    rng = np.random.default_rng(100 + d)
    X = rng.random((4_000, d)) if draw == "uniform" else rng.normal(size=(4_000, d))
    assert dimension(neighbours(X)) == pytest.approx(d, rel=0.15)
    # in a space of more dimensions, turned
    turn = np.linalg.qr(rng.normal(size=(8, 8)))[0][:d]
    assert dimension(neighbours(X @ turn)) == pytest.approx(dimension(neighbours(X)), rel=1e-6)


@pytest.mark.parametrize("copies", [2, 4])
def test_copies_do_not_change_the_dimension(copies):
    X = np.random.default_rng(5).random((2_000, 3))
    many = dimension(neighbours(np.repeat(X, copies, axis=0)))
    assert many == pytest.approx(dimension(neighbours(X)), rel=0.05)


def test_where_all_are_copies_there_is_one_dimension():
    assert dimension(np.zeros((10, 5))) == 1.0


def test_more_is_less_likely_by_chance():
    """Larger groups, more persistent ones and sharper ones; and either test is enough."""
    evidence = Evidence(1_000, 3.0)
    assert evidence.flat == pytest.approx(3 / 5)
    assert evidence.of_persistence(2.0, 50) < evidence.of_persistence(1.0, 50)
    assert evidence.of_persistence(1.0, 500) < evidence.of_persistence(1.0, 50)
    sharp = evidence.of_sharpness(np.array([0.0, 0.3, 0.6, 0.6]), np.array([50, 50, 50, 500]))
    assert (np.diff(sharp) < 0).all()
    assert evidence.together(-3.0, -5.0) == pytest.approx(-5.0 + np.log(2.0))


@pytest.mark.parametrize("D", [1.0, 2.0, 9.0])
def test_expected_numbers_are_those_of_the_formulas(D):
    """log E_F = log(n / m) - 5 - 6 (F - x_D) and log E_s = log(n / m) - 0.4 z², as the module has them."""
    n, m = 500, np.array([4, 25, 100])
    evidence = Evidence(n, D)
    assert evidence.flat == pytest.approx(D / (D + 2))
    x = 0.15 + 1.7 * np.exp(-D / 7.5)
    for F in (0.0, 1.0, 4.0):
        assert evidence.of_persistence(F, 25) == pytest.approx(np.log(n / 25) - 5 - 6 * (F - x))
    for s in (0.05, 0.4, 0.9):
        z = (s * np.sqrt(m) + (np.sqrt(D) - 1.4) / 2) * np.sqrt(D * (D + 4)) / (D + 2)
        expected = np.log(n / m) - 0.4 * np.maximum(z, 0.0) ** 2
        np.testing.assert_allclose(evidence.of_sharpness(np.full(3, s), m), expected)
    # what is not sharp is no evidence, however many there are
    np.testing.assert_allclose(evidence.of_sharpness(np.array([-0.5, 0.0, -np.inf]), m), np.log(n / m))
    assert Evidence.together(-3.0, -7.0) == Evidence.together(-7.0, -3.0) == pytest.approx(-7.0 + np.log(2))


def test_those_are_significant_of_which_few_are_expected_by_chance():
    """The k-th of all counts where 0.02 k are expected: also where one before it does not."""
    assert least_significant(np.log([0.03, 0.5])) == -np.inf
    assert least_significant(np.log([0.01, 0.5])) == np.log(0.01)
    assert least_significant(np.log([0.055, 0.03, 0.02])) == np.log(0.055)
    assert least_significant(np.log([0.061, 0.045, 0.02])) == np.log(0.02)
    assert least_significant([]) == -np.inf


def test_the_dimension_is_levina_and_bickels():
    distances = np.sort(np.random.default_rng(0).random((20, 12)) + 0.01, axis=1)
    near = distances[:, :8]
    logs = np.log(near[:, -1:] / near[:, :-1]).mean(axis=1)
    assert dimension(distances) == pytest.approx(1.0 / logs.mean())
    # copies of an object are no neighbours, and those of a neighbour are one
    copies = np.sort(np.column_stack([np.zeros((20, 3)), distances, distances[:, 2]]), axis=1)
    assert dimension(copies) == pytest.approx(1.0 / logs.mean())
    assert dimension(np.zeros((5, 4))) == 1.0
    assert (
        dimension(np.column_stack([np.zeros((5, 2)), np.ones(5), np.full(5, 2.0)])) == 1.0
    )  # two are too few
    three = dimension(np.array([[1.0, 2.0, 4.0]]))
    assert three == pytest.approx(2.0 / (np.log(4.0) + np.log(2.0)))
    assert dimension(np.array([[1.0, 1.0 + 1e-6, 1.0 + 2e-6]])) == pytest.approx(1e3)  # at most
