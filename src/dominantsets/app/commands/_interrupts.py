"""Ctrl-C in commands: at once while Python imports and ends, else with what there is."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


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
