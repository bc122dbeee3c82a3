"""How functions are compiled, and what they are where Numba is told to compile none."""

from __future__ import annotations

import threading

import numba
import numpy as np
import pytest

from dominantsets.compiled import jit
from dominantsets.compiled.interrupts import Call


def test_without_compiling_all_of_it_is_plain_python(monkeypatch):
    """As under NUMBA_DISABLE_JIT=1."""
    monkeypatch.setattr(numba.core.config, "DISABLE_JIT", 1)

    def function(x):
        return x

    for how in ("compiled", "exact", "reassociated", "watchful"):
        assert getattr(jit, how)(function) is function
    assert jit._ordered(">", max) is max


def test_ctrl_c_is_found_among_the_causes_of_an_error():
    assert jit._is_from_ctrl_c(KeyboardInterrupt())
    assert not jit._is_from_ctrl_c(SystemError())
    assert not jit._is_from_ctrl_c(None)
    caused, during = SystemError(), SystemError()
    caused.__cause__ = ValueError()
    caused.__cause__.__context__ = KeyboardInterrupt()
    during.__context__ = KeyboardInterrupt()
    assert jit._is_from_ctrl_c(caused)
    assert jit._is_from_ctrl_c(during)


@pytest.mark.skipif(bool(numba.core.config.DISABLE_JIT), reason="nothing is compiled")
def test_a_call_says_that_it_goes_on_and_what_was_pressed_meanwhile(monkeypatch):
    """In the main thread, where signals come; while it compiles, it may be interrupted."""
    function, seen = jit.compiled(lambda x: x + 1), []
    compile_ = jit.CPUDispatcher._compile_for_args

    def compiling(self, *arguments, **named):
        seen.append(Call.inside)
        return compile_(self, *arguments, **named)

    monkeypatch.setattr(jit.CPUDispatcher, "_compile_for_args", compiling)
    assert function(1) == 2
    assert seen.pop() is False
    Call.inside = True  # of the main thread, whatever another one compiles
    try:
        thread = threading.Thread(target=lambda: function(1.5))
        thread.start()
        thread.join()
    finally:
        Call.inside = False
    assert seen.pop() is True
    seen.append(False)

    def called(self, *arguments):
        seen.append(Call.inside)
        Call.pressed = len(seen) == 3
        return arguments

    monkeypatch.setattr(jit, "_call", called)
    assert function(1) == (1,)
    with pytest.raises(KeyboardInterrupt):
        function(1)
    assert not Call.pressed  # once
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(function(1)))
    thread.start()
    thread.join()
    assert elsewhere == [(1,)]
    assert seen == [False, True, True, False]
    assert not Call.inside
    assert not Call.pressed


@pytest.mark.skipif(bool(numba.core.config.DISABLE_JIT), reason="nothing is compiled")
def test_a_call_goes_on_after_it_was_compiled(monkeypatch):
    """What is pressed then waits until it is over."""
    function, seen = jit.compiled(lambda x: x + 1), []
    call = jit._call

    def called(self, *arguments):
        out = call(self, *arguments)
        seen.append(Call.inside)
        return out

    monkeypatch.setattr(jit, "_call", called)
    assert function(1) == 2
    assert seen == [True]
    monkeypatch.setattr(jit, "_call", call)
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append((function(1.5), Call.inside)))
    thread.start()
    thread.join()
    assert elsewhere == [(2.5, False)]


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
