"""Weights of neighbours, and the hash that draws samples."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets.compiled.embedding import mixed, weigh


@pytest.mark.parametrize("total", [1.5, 3.0, 5.0, 7.5])
def test_weights_are_exponential_and_sum_to_what_is_asked(total):
    """Also where the bandwidth is larger than the range of the distances."""
    distances = np.sort(np.random.default_rng(0).random((6, 8)), axis=1) + 2.0
    out = np.empty((6, 8))
    weigh(distances, total, out)
    np.testing.assert_allclose(out.sum(axis=1), total, rtol=1e-9)
    logs, away = -np.log(out), distances - distances[:, :1]
    assert (logs[:, 0] == 0.0).all()
    np.testing.assert_allclose(
        logs[:, 1:] / away[:, 1:], (logs[:, -1:] / away[:, -1:]).repeat(7, axis=1), rtol=1e-9
    )


@pytest.mark.parametrize("ties", [1, 2, 3, 5])
def test_where_as_many_are_equally_near_as_the_sum_asks_for_the_others_have_nothing(ties):
    distances = np.array([[1.0] * ties + [2.0, 3.0]])
    out = np.empty_like(distances)
    weigh(distances, 3.0, out)
    assert (out[0, :ties] == 1.0).all()
    if ties < 3:
        assert out.sum() == pytest.approx(3.0)
    else:
        assert (out[0, ties:] == 0.0).all()


def test_the_hash_is_splitmix64():
    """Its first three numbers from the state 0, as published by its authors (Steele, Lea and Flood, 2014)."""
    golden = 0x9E3779B97F4A7C15
    states = [np.uint64(k * golden % 2**64) for k in (1, 2, 3)]
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    with np.errstate(over="ignore"):
        assert [int(mixed(state)) for state in states] == expected
