"""Ctrl-C in commands: at once while Python imports and ends, else with what there is."""

from __future__ import annotations

import _thread
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

AGAIN = 0.05  # seconds after which Ctrl-C is repeated


@contextmanager
def at_work() -> Iterator[None]:
    """Within, Ctrl-C is a KeyboardInterrupt, even where it ends the process before and after (``main``)."""
    quick = signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    try:
        if quick:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    finally:
        if quick:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def at_work_until_pressed() -> Iterator[Callable[[], None]]:
    """At work where a part of a fit is worth nothing: Ctrl-C is repeated until it has ended the block.

    A fit answers Ctrl-C with what it has found, and its caller goes on; so do the next ones, until the signal
    comes outside of all of them. Yields a function that raises KeyboardInterrupt once Ctrl-C has come, for
    where results of such fits would be kept.
    """
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    over = threading.Event()

    def repeat() -> None:
        select.select([ours], [], [])
        while not over.wait(AGAIN):
            _thread.interrupt_main()

    def check() -> None:
        if select.select([ours], [], [], 0.0)[0]:
            raise KeyboardInterrupt

    def hook(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):  # which is repeated
            usual(dropped)

    usual = sys.unraisablehook
    repeater = threading.Thread(target=repeat, daemon=True)
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)  # a byte for each signal
    repeater.start()
    with at_work():
        try:
            sys.unraisablehook = hook
            yield check
        except Exception:
            check()  # libraries in C may make another error of a KeyboardInterrupt
            raise
        finally:
            over.set()
            sys.unraisablehook = usual
            signal.set_wakeup_fd(before)
            theirs.send(b"\0")
            repeater.join()
            ours.close()
            theirs.close()
