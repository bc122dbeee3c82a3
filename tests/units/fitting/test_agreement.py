"""What agreement is expected of a stability."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dominantsets.fitting.agreement import expected


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_the_more_stable_the_more_agreement(one, other):
    low, high = sorted((one, other))
    assert 0.0 <= expected(low).mean <= expected(high).mean < 1.0
    for found in (expected(low), expected(high)):
        assert 0.0 <= found.low <= found.high <= 1.0


@pytest.mark.parametrize("t", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_the_formula(t):
    odds = float(t / (1 - t)) ** 0.64 / math.exp(1.09)
    assert expected(float(t)).mean == pytest.approx(odds / (1.0 + odds))
    assert "80%" in str(expected(float(t)))


def test_no_partition_is_certain():
    assert expected(1.0) == expected(0.995)
    assert expected(0.0).mean == expected(-0.3).mean == 0.0
