"""Ctrl-C is a flag: who sees it, who may end it, and what is left of it."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress

import pytest

from dominantsets.compiled.interrupts import (
    Interrupted,
    all_or_nothing,
    answer,
    at_once,
    check,
    listening,
    pending,
    pressed,
)
from support import press_ctrl_c


def test_it_is_raised_where_it_is_looked_for():
    reached = []
    with pytest.raises(KeyboardInterrupt), listening():  # noqa: PT012
        check()
        press_ctrl_c()
        reached.append("after the press")
        check()
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not pressed()
    check()


def test_a_press_that_no_work_has_seen_is_raised_on_leaving():
    with pytest.raises(KeyboardInterrupt), listening(), listening():
        press_ctrl_c()
    with listening():
        press_ctrl_c()
        assert pressed()
    with pytest.raises(ZeroDivisionError), listening():  # noqa: PT012
        press_ctrl_c()
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_after_the_answer_work_goes_on():
    with listening():
        press_ctrl_c()
        assert pending()
        with listening():
            answer()
        check()
        assert not pending()
        assert pressed()
    with listening():  # nothing is left of it
        assert not pressed()
        answer()
        press_ctrl_c()
        assert pending()


def test_where_a_part_is_worth_nothing_a_seen_press_is_raised_too():
    with pytest.raises(KeyboardInterrupt), all_or_nothing(), listening():  # noqa: PT012
        press_ctrl_c()
        assert pressed()
    with listening():
        press_ctrl_c()
        assert pressed()


def test_the_second_press_is_pythons_own():
    with pytest.raises(KeyboardInterrupt), listening():  # noqa: PT012
        press_ctrl_c()
        assert pressed()
        press_ctrl_c()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_leave_signals_alone():
    seen = []

    def work():
        with listening():
            seen.append(signal.getsignal(signal.SIGINT))
        check()  # the press is the main thread's

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
    with listening():
        press_ctrl_c()
        assert pressed()
        thread = threading.Thread(target=lambda: seen.append(check()))
        thread.start()
        thread.join()
    assert seen == [signal.default_int_handler, None]


def test_a_handler_that_comes_meanwhile_stays():
    def mine(number, frame):
        pass

    with listening():
        signal.signal(signal.SIGINT, mine)
    assert signal.getsignal(signal.SIGINT) is mine


def test_in_a_long_call_the_first_press_raises():
    with pytest.raises(KeyboardInterrupt), listening(), at_once():  # noqa: PT012
        press_ctrl_c()
        time.sleep(60.0)
    # where Python drops it, as in finalizers
    with pytest.raises(Interrupted), listening(), at_once(), suppress(KeyboardInterrupt):
        press_ctrl_c()
