"""Ctrl-C between compiled calls, never inside: an exception there would bring the process down."""

from __future__ import annotations

import signal
import threading
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
            if self._before is signal.default_int_handler:
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
