"""How functions are compiled, and what they are where Numba is told to compile none."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from dominantsets.compiled import jit


def test_without_compiling_all_of_it_is_plain_python(monkeypatch):
    """As under NUMBA_DISABLE_JIT=1."""
    monkeypatch.setattr(numba.core.config, "DISABLE_JIT", 1)

    def function(x):
        return x

    for how in ("compiled", "exact", "reassociated", "watchful"):
        assert getattr(jit, how)(function) is function
    assert jit._ordered(">", max) is max


@pytest.mark.skipif(bool(numba.core.config.DISABLE_JIT), reason="nothing is compiled")
def test_what_each_way_of_compiling_promises():
    """Infinities are used on purpose, so that nobody promises that there are none."""

    def function(x):
        return x

    flags = {how: getattr(jit, how)(function).targetoptions["fastmath"] for how in _WAYS}
    assert flags == _WAYS
    assert all(getattr(jit, how)(function).targetoptions["nogil"] for how in _WAYS)
    cached, fresh = (type(made._cache) for made in (jit.compiled(function), numba.njit(function)))
    assert cached is not fresh  # kept on the disk


_WAYS = {
    "compiled": {"nnan", "nsz", "contract"},
    "exact": False,
    "reassociated": {"nnan", "nsz", "contract", "reassoc"},
    "watchful": {"reassoc"},
}


@pytest.mark.skipif(bool(numba.core.config.DISABLE_JIT), reason="nothing is compiled")
def test_the_larger_and_the_smaller_of_two():
    larger, smaller = jit._ordered(">", max), jit._ordered("<", min)

    @numba.njit
    def both(a, b):
        return larger(a, b), smaller(a, b)

    assert both(1.0, 2.0) == both(2.0, 1.0) == (2.0, 1.0)
    assert both(-np.inf, 0.0) == (0.0, -np.inf)


@pytest.mark.skipif(bool(numba.core.config.DISABLE_JIT), reason="nothing is compiled")
def test_compiling_is_told_once_and_only_within():
    told = []
    function = numba.njit(lambda x: x + 1)
    with jit.telling(lambda: told.append(1)):
        assert not told
        function(1)
        function(1.0)  # compiled once more, and not told
        assert told == [1]
    function(np.zeros(2))
    assert told == [1]


@pytest.mark.skipif(bool(numba.core.config.DISABLE_JIT), reason="nothing is compiled")
def test_within_another_one_the_outer_has_the_word():
    said = []
    with jit.telling(lambda: said.append("outer")), jit.telling(lambda: said.append("inner")):
        numba.njit(lambda x: x + 2)(1)
    assert said == ["outer"]
    with jit.telling(lambda: said.append("later")):
        numba.njit(lambda x: x + 3)(1)
    assert said == ["outer", "later"]
