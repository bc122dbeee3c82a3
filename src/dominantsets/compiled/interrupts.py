"""Ctrl-C is a flag: a handler sets it, and long work looks at it where it can end.

An exception that may come at any instant breaks compiled calls and locks; a flag that is read between two
steps does not. The second press is Python's own: KeyboardInterrupt at once.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident, main_thread
from types import FrameType

_MAIN = main_thread().ident


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, raised where work has looked for it; a second press raises KeyboardInterrupt itself."""


class _Outermost:
    """What happened during the outermost call that listens."""

    depth = 0  # of calls that listen, one within another
    presses = 0
    seen = False  # whether any work has looked after the press
    answered = False  # whether the press has become a deadline: work goes on until then
    whole = False  # whether partial results are of no use
    at_once = False  # whether the first press raises, too


def _press(number: int, frame: FrameType | None) -> None:
    _Outermost.presses += 1
    if _Outermost.presses > 1 or _Outermost.at_once:
        signal.default_int_handler(number, frame)


@contextmanager
def listening() -> Iterator[None]:
    """Within, the first Ctrl-C sets a flag, and the second one raises KeyboardInterrupt at once.

    Leaving the outermost call raises KeyboardInterrupt where no work has looked at the flag. Does nothing
    outside the main thread, where signals do not arrive, and where SIGINT is ignored or the caller has a
    handler of its own.
    """
    outermost = _Outermost.depth == 0
    default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_main() or (outermost and not default):
        yield
        return
    if outermost:
        _Outermost.presses, _Outermost.seen, _Outermost.answered = 0, False, False
        signal.signal(signal.SIGINT, _press)
    _Outermost.depth += 1
    try:
        yield
    finally:
        _Outermost.depth -= 1
        if outermost and signal.getsignal(signal.SIGINT) is _press:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if _Outermost.presses and (_Outermost.whole or (outermost and not _Outermost.seen)):
        raise Interrupted


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Within, a call that Ctrl-C cut short raises KeyboardInterrupt, and returns no partial result."""
    before, _Outermost.whole = _Outermost.whole, True
    try:
        yield
    finally:
        _Outermost.whole = before


@contextmanager
def at_once() -> Iterator[None]:
    """Within, the first press raises KeyboardInterrupt, too: for a picture, which is drawn in one long call.

    No compiled function of ours runs there, and no lock is held. Where Python drops the exception, the flag
    is read at the end.
    """
    check()
    _Outermost.at_once = is_main()
    try:
        yield
    finally:
        _Outermost.at_once = False
    check()


def is_main() -> bool:
    """Whether this is the thread that signals come to."""
    return get_ident() == _MAIN


def pressed() -> bool:
    """Whether Ctrl-C came during the outermost call that listens."""
    came = _Outermost.depth > 0 and _Outermost.presses > 0
    _Outermost.seen = _Outermost.seen or came
    return came


def pending() -> bool:
    """Whether Ctrl-C came, and work has not been given a moment to return what there is."""
    return pressed() and not _Outermost.answered


def answer() -> None:
    """The press has become a deadline: ``pending`` is false from here on."""
    _Outermost.answered = pressed()


def check() -> None:
    """Raise Interrupted where Ctrl-C is pending: for loops whose half is worth nothing."""
    if is_main() and pending():
        raise Interrupted
