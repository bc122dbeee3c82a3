"""Sums over dense rows against their plain forms."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets.compiled import rows
from support import frozen


def test_sums_of_rows():
    rng = np.random.default_rng(0)
    A, weights = rng.normal(size=(5, 7)), np.array([1.0, 0.0, -2.0, 0.5, 0.0])
    out = np.ones(7)
    rows.add_all_rows(frozen(A), weights, out)
    np.testing.assert_allclose(out, 1.0 + weights @ A, atol=1e-14)
    A[1] = np.nan  # a row of weight 0 is not read
    rows.add_all_rows(frozen(A), weights, out)
    assert np.isfinite(out).all()


def test_distances_of_all_pairs():
    rng = np.random.default_rng(1)
    P, Q = rng.normal(size=(4, 3)), rng.normal(size=(6, 3))
    out = np.empty((4, 6))
    rows.city_block(P, Q, out)
    np.testing.assert_allclose(out, np.abs(P[:, None] - Q).sum(axis=2), rtol=1e-14)
    products = P @ Q.T
    rows.squares(products, np.square(P).sum(axis=1), np.square(Q).sum(axis=1), 0.5)
    np.testing.assert_allclose(products, 0.5 * np.square(P[:, None] - Q).sum(axis=2), rtol=1e-12)
    below = np.array([[1.0 + 1e-9]])  # what rounding makes of two equal rows
    rows.squares(below, np.ones(1), np.ones(1), 3.0)
    assert below[0, 0] == 0.0


@pytest.mark.parametrize("values", [np.array([3.0]), np.arange(5.0)], ids=["one for all", "one each"])
def test_what_is_subtracted_at_places(values):
    places, weights, out = np.array([4, 1]), np.array([0.5, 2.0]), np.ones(5)
    rows.subtract_at(out, places, values, weights)
    expected = np.ones(5)
    expected[places] -= np.broadcast_to(values, 5)[places] * weights
    np.testing.assert_array_equal(out, expected)
    two = np.zeros(2)
    rows.subtract_at(two, np.array([1]), np.array([3.0, 5.0]), np.ones(1))  # two are one each, too
    assert two.tolist() == [0.0, -5.0]


@pytest.mark.parametrize("bins", [1, 2, 5, 8])
@pytest.mark.parametrize("shared", [True, False])
def test_a_histogram_is_that_of_its_bins(bins, shared):
    rng = np.random.default_rng(bins)
    s, edges = rng.normal(size=40), np.sort(rng.normal(size=bins))
    s[:bins] = edges  # what lies on an edge belongs to the bin below
    inverse = np.array([0.7]) if shared else rng.random(40)
    counted = rows.histogram(s, inverse, edges)
    share = np.broadcast_to(inverse, 40)
    ends = [*edges[1:], np.inf]
    for k in range(bins):
        inside = (s > edges[k]) & (s <= ends[k])
        expected = [inside.sum(), share[inside].sum(), ((s - edges[0]) * share)[inside].sum()]
        np.testing.assert_allclose(counted[:, k], expected, atol=1e-12)


def test_removed_objects_have_no_payoff():
    r = np.array([1.0, -2.0, 3.0])
    rows.mask(r, np.array([True, False, True]))
    assert r.tolist() == [1.0, -np.inf, 3.0]
