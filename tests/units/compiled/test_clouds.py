"""One round of fitting clouds, against its plain form."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from dominantsets.compiled.clouds import expect


@settings(max_examples=40)
@given(
    st.integers(0, 10_000),
    st.integers(1, 30),
    st.integers(1, 6),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.sampled_from([np.inf, 0.5, 2.0, 20.0]),
)
def test_a_round_is_its_plain_form(seed, m, count, d, nearest, noisy, half):
    rng = np.random.default_rng(seed)
    rows, centres = rng.normal(size=(m, d)), rng.normal(size=(count, d))
    extra = rng.random(m) * rng.integers(0, 2)
    variances, shares = rng.random(count) + 0.1, rng.dirichlet(np.ones(count))
    levels, rest = -0.5 * d * np.log(variances), np.log(shares)
    behind = rng.normal(size=m) - 3.0 if noisy else np.full(m, -np.inf)
    sums, outside, power = np.zeros((count, 5 + d)), np.empty(m), half + 0.5 * d
    lengths = np.square(rows).sum(axis=1) + extra
    squares, rates = np.square(centres).sum(axis=1), 0.5 / variances
    likelihood = expect(
        rows @ centres.T, lengths, rows, squares, rates, levels, rest, behind, half, power, nearest, sums,
        outside,
    )  # fmt: skip
    t = np.square(rows[:, None] - centres).sum(axis=2) + extra[:, None]
    z, w = rates * t, np.ones_like(t)
    logs = levels - z
    if half < np.inf:  # Student's t: the mean of normal ones whose precision is drawn, w on average
        logs, w = levels - power * np.log1p(z / half), power / (half + z)
    mixed = logsumexp(logs + rest, axis=1)
    total = np.logaddexp(mixed, behind)
    np.testing.assert_allclose(likelihood, total.sum(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(outside, np.exp(behind - total), rtol=1e-8, atol=1e-12)
    if nearest:
        parts = (t.argmin(axis=1)[:, None] == np.arange(count)).astype(float)
    else:
        parts = np.exp(logs - logsumexp(logs, axis=1)[:, None])
    parts *= (1.0 - outside)[:, None]
    columns = [parts, parts * w * t, parts * z**2, parts * w, parts * (np.log(w) - w) * (half < np.inf)]
    columns = [column.sum(axis=0) for column in columns]
    expected = np.column_stack([*columns[:3], (parts * w).T @ rows, *columns[3:]])
    np.testing.assert_allclose(sums, expected, rtol=1e-7, atol=1e-9)


def test_nothing_is_lost_where_densities_are_beyond_floating_point():
    """Far from all clusters, and with shares of next to nothing: logarithms are what is added up."""
    rows, centres = np.array([[0.0], [60.0]]), np.array([[0.0], [1.0], [58.0], [1.0]])
    rates, levels = np.array([0.5, 0.5, 2.0, 0.5]), np.array([0.0, -3.0, 1.0, 0.0])
    rest = np.array([-900.0, 0.0, -900.0, -900.0])
    sums, outside = np.zeros((4, 6)), np.empty(2)
    squares = np.square(centres).sum(axis=1)
    behind = np.full(2, -np.inf)
    likelihood = expect(
        rows @ centres.T, np.square(rows).sum(axis=1), rows, squares, rates, levels, rest, behind, np.inf,
        np.inf, False, sums, outside,
    )  # fmt: skip
    logs = levels - rates * np.square(rows - centres[:, 0])
    np.testing.assert_allclose(likelihood, np.logaddexp.reduce(logs + rest, axis=1).sum(), rtol=1e-12)
    assert (outside == 0.0).all()
    parts = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
    np.testing.assert_allclose(sums[:, 0], parts.sum(axis=0), rtol=1e-12, atol=1e-17)
