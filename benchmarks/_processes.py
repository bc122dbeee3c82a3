"""Processes that get a signal after so much processor time."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

FAILED, RAISED = 99, 98  # exit codes of a fork: an error, KeyboardInterrupt
Start = Callable[
    [Path], tuple[int, int]
]  # a file for all that is said -> process, and a pipe that tells of its beginning
PATIENCE = 120.0  # seconds after a signal
LAUNCH = """
import os, sys
from dominantsets.__main__ import main
os.write(int(sys.argv.pop(1)), b"x")
main()
"""


def forked(work: Callable[[], int]) -> Start:
    """A fork of this process, in which everything is loaded and compiled."""

    def start(said: Path) -> tuple[int, int]:
        ours, theirs = os.pipe()
        child = os.fork()
        if child:
            os.close(theirs)
            return child, ours
        code = FAILED
        try:
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                stream = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(stream, 1)
                os.dup2(stream, 2)
                os.write(theirs, b"x")
                code = work()
            except KeyboardInterrupt as stop:
                code = RAISED
                print("in", *(frame.name for frame in traceback.extract_tb(stop.__traceback__)))
            except SystemExit as done:
                code = int(done.code or 0)
            except BaseException:
                traceback.print_exc()
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        finally:  # whatever comes: what follows here is not this process's
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    return start


def fresh(arguments: Sequence[str]) -> Start:
    """The command in a new interpreter, from where Python calls ``main`` to the interpreter's end.

    It has all threads, as a user's has.
    """

    def start(said: Path) -> tuple[int, int]:
        ours, theirs = os.pipe()
        os.set_inheritable(theirs, True)
        open_file = (os.POSIX_SPAWN_OPEN, 1, said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, "-c", LAUNCH, str(theirs), *arguments],
            {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")},
            file_actions=[open_file, (os.POSIX_SPAWN_DUP2, 1, 2)],
            setsigdef=[signal.SIGINT],  # ignored where this script runs in the background
        )
        os.close(theirs)
        return child, ours

    return start


def processor(child: int) -> float:
    """Processor time of a process so far, of all its threads."""
    return time.clock_gettime((~child << 3) | 2)


def has_ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def begun(start: Start, said: Path) -> int:
    """A process that has begun its work."""
    child, pipe = start(said)
    os.read(pipe, 1)
    os.close(pipe)
    return child


def duration(start: Start, said: Path) -> float:
    """Processor time of a whole run from its beginning."""
    child = begun(start, said)
    began = processor(child)
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(said.read_text(encoding="utf-8", errors="replace"))
    return usage.ru_utime + usage.ru_stime - began


def stopped(start: Start, said: Path, after: float, number: int) -> tuple[int, float]:
    """Send a signal after so much time: the exit code (negative: died of it), and the time to the end.

    A process that waits for ever is killed, which is an exit code of its own.
    """
    child = begun(start, said)
    at = began = processor(child)
    while at - began < after and not has_ended(child):
        time.sleep(0.002)
        with contextlib.suppress(OSError):  # it has just ended
            at = processor(child)
    os.kill(child, number)
    until = time.monotonic() + PATIENCE
    while not has_ended(child):
        time.sleep(0.002)
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            break
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), max(0.0, usage.ru_utime + usage.ru_stime - at)
