"""The n-th allocation of memory fails, or all from the n-th on: in a fork, because libraries may crash."""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

try:
    import _testcapi as api
except ImportError:  # some distributions leave it out
    api = None

WHY = "_testcapi, by which allocations fail, is not part of this Python" if api is None else ""
SECONDS = 10.0  # of the processor, after which a run has hung
MANY = 1_000_000  # allocations
_CODES = {0: "passed", 1: "done", 3: "wrong"}
_PLACE = re.compile(r'File "(.*?)", line \d+,? in (\S+)')


class Outcome(NamedTuple):
    """What became of a run.

    ``kind`` is "passed" (all allocations failed from then on, and there was none), "done", "wrong", "hung",
    "died" or the name of an error; ``said`` the error with its traceback, or where it hung or died.
    """

    kind: str
    said: str

    @property
    def place(self) -> str:
        """The library, file and function where a run hung, died or failed."""
        places = _PLACE.findall(self.said)
        if not places:
            return "nowhere known"
        name, function = places[0 if self.kind in ("hung", "died") else -1]  # the innermost
        path = Path(name)
        inside = path.parts[path.parts.index("site-packages") + 1 :] if "site-packages" in path.parts else ()
        ours = path.parts[path.parts.index("src") + 1 :] if "dominantsets" in path.parts else ()
        return f"{'/'.join(inside or ours) or 'Python, ' + path.name} ({function})"


def outcome(
    work: Callable[[], Any],
    n: int,
    forever: bool,
    said: Path,
    seconds: float = SECONDS,
    right: Callable[[], bool] = lambda: True,
) -> Outcome:
    """Run ``work`` where the allocation number ``n`` fails, and ``forever`` all that follow.

    Where it is done, ``right`` says whether well.
    """

    def fail() -> int:
        code = 0
        api.set_nomemory(n, 0 if forever else n + 1)
        try:
            work()
            try:
                bytes(100)
            except MemoryError:
                code = 1
        finally:
            api.remove_mem_hooks()
        return code if right() else 3

    return forked(fail, said, seconds)


def forked(work: Callable[[], int], said: Path, seconds: float) -> Outcome:
    """What becomes of ``work``, which returns a number, in a fork with so many seconds of the processor."""
    child = os.fork()
    if child == 0:
        _live(work, os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), seconds)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    words = said.read_text(encoding="utf-8", errors="replace")
    if code < 0:
        return Outcome("hung" if -code == signal.SIGPROF else "died", words)
    return Outcome(words.split("\n")[0] if code == 2 else _CODES.get(code, f"code {code}"), words)


def _live(work: Callable[[], int], said: int, seconds: float) -> None:
    code = 99
    try:
        os.dup2(said, 2)
        faulthandler.enable(said)
        faulthandler.register(signal.SIGPROF, said, chain=True)  # and then it dies of it
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            code = work()
        except BaseException as error:
            lines = [type(error).__name__, str(error), *traceback.format_exception(error)]
            os.ftruncate(said, 0)
            os.write(said, "\n".join(lines).encode())
            code = 2
    finally:  # whatever comes: what follows here is not this process's
        os._exit(code)


def total(work: Callable[[], Any], said: Path) -> int:
    """How many allocations a run makes: what it leaves of many is counted."""

    def count() -> int:
        left = iter([None] * MANY)
        api.set_nomemory(MANY, 0)
        try:
            work()
            for _ in left:
                bytes(100)  # one allocation; large ones count twice
        except MemoryError:
            pass
        finally:
            api.remove_mem_hooks()
        os.write(2, str(left.__length_hint__()).encode())
        return 0

    return int(forked(count, said, SECONDS).said)
