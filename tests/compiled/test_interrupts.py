"""Ctrl-C is noted while compiled code runs, and raised afterwards."""

from __future__ import annotations

import signal
import sys
import threading
import time

import pytest
from llvmlite import binding

from dominantsets.compiled import interrupts
from dominantsets.compiled.interrupts import Call, DeferredInterrupt, kept


def press():
    signal.raise_signal(signal.SIGINT)


def test_it_is_raised_where_it_is_asked_for_and_once():
    with DeferredInterrupt() as hold:
        hold.check()
        press()
        with pytest.raises(KeyboardInterrupt):
            hold.check()
        hold.check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        press()


def test_it_is_raised_on_leaving():
    with pytest.raises(KeyboardInterrupt), DeferredInterrupt():
        press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_exception_is_not_replaced():
    def work():
        press()
        raise ValueError("of the work")

    with pytest.raises(ValueError, match="of the work"), DeferredInterrupt():
        work()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_callers_stays():
    pressed = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        mine = signal.getsignal(signal.SIGINT)
        with DeferredInterrupt():
            assert signal.getsignal(signal.SIGINT) is mine
            press()
        assert pressed == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_signals_alone():
    seen = []

    def work():
        with DeferredInterrupt() as hold:
            hold.check()
            seen.append(signal.getsignal(signal.SIGINT))
        seen.append("left without an error")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler, "left without an error"]


# while a run goes on ------------------------------------------------------------------------------------


def test_in_a_compiled_call_it_waits():
    assert not Call.inside
    assert not Call.pressed
    with kept():
        assert signal.getsignal(signal.SIGINT) is interrupts.press
        with pytest.raises(KeyboardInterrupt):
            press()
        assert not Call.pressed
        Call.inside = True
        try:
            press()
            assert Call.pressed
        finally:
            Call.inside = Call.pressed = False
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_neither_other_threads_nor_handlers_of_the_callers_are_touched():
    seen, hook = [], sys.unraisablehook

    def work():
        with kept():
            seen.extend([signal.getsignal(signal.SIGINT), sys.unraisablehook])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler, hook]
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        mine = signal.getsignal(signal.SIGINT)
        with kept():
            assert signal.getsignal(signal.SIGINT) is mine
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_lock_of_llvm_is_given_back():
    """Ctrl-C as LLVM's lock has just been taken: without a wait for it nobody would ever have it again."""
    presses, given_back = [], list

    def taken():
        if not presses:
            presses.append(1)
            press()

    binding.ffi.register_lock_callback(taken, given_back)
    try:
        with pytest.raises(KeyboardInterrupt), kept():  # noqa: PT012
            binding.get_default_triple()
            while True:
                time.sleep(0.001)
    finally:
        binding.ffi.unregister_lock_callback(taken, given_back)
    assert presses == [1]
    other = threading.Thread(target=binding.get_default_triple, daemon=True)
    other.start()
    other.join(20.0)
    assert not other.is_alive()
