"""A process that does one piece of work after another, each under a limit of time and of memory.

Compiled code cannot be interrupted from within, so a limit on a fit needs a process that can be ended. One
for each fit would import and compile anew every time; so a process lives until a limit is passed, or it
crashes, and only then is another one started.
"""

from __future__ import annotations

import multiprocessing as mp
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from _contest import GIGABYTES, SECONDS, limit_memory

START = 300.0  # seconds in which a process must have imported and compiled what it needs
GRACE = 2.0  # seconds beside the limit, for what is not part of the fit: objects and labels on their way


@dataclass(frozen=True)
class Outcome:
    """What came of a piece of work.

    Attributes
    ----------
    value : object
        What the function returned; None where it failed.
    seconds : float
        How long it took.
    failed : str
        Why there is no value; empty where there is one.
    """

    value: Any
    seconds: float
    failed: str = ""


def plain(error: BaseException) -> str:
    """An error in a few words, without the names of files."""
    words = re.sub(r"\S*[/\\]\S*", "...", str(error)).split()
    return f"{type(error).__name__}: {' '.join(words)}"[:80]


def serve(pipe: Connection) -> None:
    """The child's life: a function and its arguments in, an outcome out."""
    warnings.simplefilter("ignore")
    limit_memory()
    while True:
        try:
            function, arguments = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        begin = time.perf_counter()
        try:
            out = Outcome(function(*arguments), time.perf_counter() - begin)
        except MemoryError:
            out = Outcome(None, time.perf_counter() - begin, f"more than {GIGABYTES} GB")
        except Exception as error:  # a method may fail in any way; the others go on
            out = Outcome(None, time.perf_counter() - begin, plain(error))
        pipe.send(out)


class Worker:
    """A child process, started when it is needed; ``prepare`` is called in each new one before any clock."""

    def __init__(self, prepare: Callable[..., Any] | None = None, *arguments: Any) -> None:
        self._prepare, self._arguments = prepare, arguments
        self._process: Any = None
        self._pipe: Any = None

    def _start(self) -> None:
        context = mp.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=serve, args=(other,), daemon=True)
        self._process.start()
        other.close()
        if self._prepare is not None:
            self._ask(self._prepare, self._arguments, START)  # a failure will show again in the work itself

    def _ask(self, function: Callable[..., Any], arguments: tuple[Any, ...], limit: float) -> Outcome:
        try:
            self._pipe.send((function, arguments))
            if self._pipe.poll(limit + GRACE):
                out: Outcome = self._pipe.recv()
                return out if out.seconds <= limit else Outcome(None, limit, f"more than {limit:g} s")
        except (EOFError, OSError):
            self.close()
            return Outcome(None, limit, "the process died")
        self.close(patience=0.0)
        return Outcome(None, limit, f"more than {limit:g} s")

    def call(self, function: Callable[..., Any], *arguments: Any, limit: float = SECONDS) -> Outcome:
        """The outcome of a function of some module, called in the child."""
        if self._process is None or not self._process.is_alive():
            self._start()
        if self._process is None:  # it did not survive its preparation
            return Outcome(None, limit, "the process died")
        return self._ask(function, arguments, limit)

    def close(self, patience: float = 5.0) -> None:
        """End the process, if there is one: it may tidy up for so many seconds, then it is killed."""
        if self._process is not None:
            self._pipe.close()  # which an idle process takes for its end
            self._process.join(patience)
            self._process.kill()
            self._process.join()
            self._process = None
