"""The n-th allocation of memory fails, or all from the n-th on: in a fork, because libraries may crash."""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

try:
    import _testcapi as api
except ImportError:  # some distributions leave it out
    api = None

WHY = "_testcapi, by which allocations fail, is not part of this Python" if api is None else ""
SECONDS = 2.0  # of the processor, after which a run has hung
_CODES = ("passed", "done", "raised")
_PLACE = re.compile(r'File "(.*?)", line (\d+) in (\w+)')


class Outcome(NamedTuple):
    """What became of a run.

    ``kind`` is "passed" (all allocations failed from then on, and there was none), "done", "hung", "died" or
    the name of an error; ``said`` the error with its traceback, or where it hung or died.
    """

    kind: str
    said: str

    @property
    def place(self) -> str:
        """The library, file and function where a run hung or died."""
        found = _PLACE.search(self.said)
        if found is None:
            return "nowhere known"
        path, function = Path(found[1]), found[3]
        inside = path.parts[path.parts.index("site-packages") + 1 :] if "site-packages" in path.parts else ()
        ours = path.parts[path.parts.index("src") + 1 :] if "dominantsets" in path.parts else ()
        return f"{'/'.join(inside or ours) or 'Python, ' + path.name} ({function})"


def outcome(work: Callable[[], Any], n: int, forever: bool, said: Path) -> Outcome:
    """Run ``work`` where the allocation number ``n`` fails, and ``forever`` all that follow."""
    child = os.fork()
    if child == 0:
        _fail(work, n, forever, os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    words = said.read_text(encoding="utf-8", errors="replace")
    if code < 0:
        return Outcome("hung" if -code == signal.SIGPROF else "died", words)
    kind = _CODES[code]
    return Outcome(words.split("\n")[0] if kind == "raised" else kind, words)


def _fail(work: Callable[[], Any], n: int, forever: bool, said: int) -> None:
    """The life of a fork. What is needed while there is no memory is there before."""
    code, caught = 99, None
    try:
        faulthandler.enable(said)
        faulthandler.register(signal.SIGPROF, said, chain=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        api.set_nomemory(n, 0 if forever else n + 1)
        try:
            work()
            code = 0
            try:
                bytes(1000)
            except MemoryError:
                code = 1
        except BaseException as error:
            code, caught = 2, error
        api.remove_mem_hooks()
        if caught is not None:
            lines = [type(caught).__name__, str(caught), *traceback.format_exception(caught)]
            os.write(said, "\n".join(lines).encode())
    finally:  # whatever comes: what follows here is not this process's
        os._exit(code)


def outcomes(work: Callable[[], Any], said: Path, spread: int | None = None) -> Iterator[Outcome]:
    """The first, the second, ... allocation fails, alone and with all that follow, until there are no so many.

    Each outcome has to be looked at before the next run. ``spread``: steps grow by a share of n, 1 / spread.
    """
    n = 0
    while True:
        yield outcome(work, n, False, said)
        last = outcome(work, n, True, said)
        yield last
        if last.kind == "passed":
            return
        n += 1 if spread is None else max(1, n // spread)
