"""Ctrl-C between compiled calls, never inside, and never dropped."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any


class DeferredInterrupt:
    """While it is entered, Ctrl-C is noted; ``check`` (or leaving) then raises KeyboardInterrupt.

    Does nothing outside the main thread, where signals do not arrive.
    """

    def __init__(self) -> None:
        self._noted = False
        self._before: Any = None
        self._active = False

    def __enter__(self) -> DeferredInterrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            # a handler that the caller has installed stays in place
            if self._before in (signal.default_int_handler, press):
                signal.signal(signal.SIGINT, self._note)
                self._active = True
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = True

    def check(self) -> None:
        """Raise KeyboardInterrupt where Ctrl-C has been noted."""
        if self._noted:
            self._noted = False
            raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._before)
        if kind is None:
            self.check()


AGAIN = 0.002  # seconds after which a Ctrl-C that was dropped comes again


class Call:
    """Whether the main thread is in a compiled call, and whether Ctrl-C has come meanwhile."""

    inside = False
    pressed = False


def press(number: int, frame: FrameType | None) -> None:
    """The handler of Ctrl-C while a run goes on: at once, or after what must not be broken off."""
    if Call.inside:
        Call.pressed = True
    elif _in_compiler(frame):
        _thread.start_new_thread(_again, (threading.get_ident(),))
    else:
        signal.default_int_handler(number, frame)


def _in_compiler(frame: FrameType | None) -> bool:
    """Whether Numba or LLVM is at work, if only to free memory that a collection has found.

    Both take locks by functions of Python: where one of these ends between the lock and its caller, nobody
    gives the lock back, and every thread that compiles or loads compiled code waits for ever.
    """
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(("llvmlite.", "numba.")):
            return True
        frame = frame.f_back
    return False


def _again(main: int) -> None:
    """Ctrl-C once more, a little later."""
    time.sleep(AGAIN)
    if hasattr(signal, "pthread_kill"):  # which ends a wait, too
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


@contextmanager
def kept() -> Iterator[None]:
    """Within, Ctrl-C is neither dropped nor raised in the middle of a compiled call.

    Python prints and forgets exceptions in ``__del__`` and in callbacks of weak references, also a
    KeyboardInterrupt. Where a collection of garbage takes long, most signals that come meanwhile end so: they
    come again. Numba makes results into Python's objects by functions of Python, and goes on where one of
    them was interrupted, with what is not there. Does nothing outside the main thread, where signals do not
    arrive, and leaves a handler that the caller has installed in place.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, main, handler = sys.unraisablehook, threading.get_ident(), signal.getsignal(signal.SIGINT)

    def hook(dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):  # within the hook it would be dropped again
            _thread.start_new_thread(_again, (main,))  # takes no lock that somebody may hold here
        else:
            before(dropped)

    try:
        sys.unraisablehook = hook
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, press)
        yield
    finally:
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = before
