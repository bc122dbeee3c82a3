"""One run of pytest that has all tests loaded, and forks: a fork has one module changed, and runs some tests.

Tests run once without a change, which says how long each takes and which functions it calls. What has been
loaded, compiled and collected until then costs no fork anything.
"""

from __future__ import annotations

import ast
import gc
import os
import resource
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol
from hypothesis.internal.conjecture.engine import ConjectureRunner

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dominantsets"
MEMORY = 6 * 2**30


class TooSlow(BaseException):
    """Of no class that a test or hypothesis would catch."""


class Called(NamedTuple):
    """What a test does that passes: its seconds of the processor, and file:function of those it calls."""

    seconds: float
    functions: frozenset[str]


class Forking:
    """The plugin: runs all tests once, then ``work`` with this object, which can say what a change does."""

    def __init__(self, longest: float, work: Callable[[Forking], None]) -> None:
        self._longest, self._work = longest, work
        self._items: dict[str, pytest.Item] = {}
        self.tests: dict[str, Called] = {}
        self.left_out: list[str] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for item in session.items:
            self._items[item.nodeid] = item
            seen: set[Any] = set()
            seconds, passed = self._timed(item, seen)
            if not passed or seconds > self._longest:  # what had to be compiled or loaded is there now
                seconds, passed = self._timed(item, seen)
            if passed:
                functions = frozenset(filter(None, map(_function, seen)))
                self.tests[item.nodeid] = Called(seconds, functions)
            else:
                self.left_out.append(item.nodeid)
        gc.collect()
        gc.freeze()
        self._work(self)
        return True

    def _timed(self, item: pytest.Item, seen: set[Any]) -> tuple[float, bool]:
        """How long a test takes, and whether it passes."""
        began = time.process_time()
        with _traced(seen):
            passed = _passes(item, self._longest)
        return time.process_time() - began, passed

    def killed(
        self, file: str, trees: Iterable[ast.AST], tests: list[list[str]], jobs: int = 1
    ) -> Iterator[bool]:
        """For each changed tree of a file, whether one of its tests fails or takes far longer; in order."""
        waiting = deque[tuple[int, float]]()
        for tree, some in zip(trees, tests, strict=True):
            if len(waiting) == jobs:
                yield _status(*waiting.popleft()) != 0
            waiting.append(self._start(file, tree, some))
        while waiting:
            yield _status(*waiting.popleft()) != 0

    def _start(self, file: str, tree: ast.AST, tests: list[str]) -> tuple[int, float]:
        """A child with the change, and until when it may take; its exit status is 0 where all tests pass."""
        total = sum(self.tests[name].seconds for name in tests)
        child = os.fork()
        if child:  # one that waits for ever takes no time of the processor
            return child, time.monotonic() + 120.0 + 30.0 * total
        status = 1
        try:
            _limit(10.0 + 5.0 * total)
            _forget_pools()
            _change(file, tree)
            ConjectureRunner.shrink_interesting_examples = lambda self: None  # any failure will do
            limits = {name: 2.0 + 4.0 * self.tests[name].seconds for name in tests}
            status = int(not all(_passes(self._items[name], limits[name]) for name in tests))
        finally:
            os._exit(status)


def _status(child: int, until: float) -> int:
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.005)


def run(paths: list[str], plain: bool, longest: float, work: Callable[[Forking], None]) -> None:
    """Load the tests of some paths, compiled code as plain Python or not; then do ``work``, all in a fork."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.environ.pop("DOMINANTSETS_DATA", None)
            if plain:
                os.environ["NUMBA_DISABLE_JIT"] = "1"
            os.chdir(ROOT)
            sys.dont_write_bytecode = False
            options = ["-q", "-s", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
            status = int(pytest.main([*options, "-W", "ignore", *paths], [Forking(longest, work)]))
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"the tests of {', '.join(paths)} could not be run.")


def _is_loading(frame: Any) -> bool:
    """Whether something is compiled or imported, which cannot be done again where it was stopped midway."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(("numba.", "importlib.", "_frozen_importlib")):
            return True
        frame = frame.f_back
    return False


@contextmanager
def _traced(seen: set[Any]) -> Iterator[None]:
    def call(frame: Any, event: str, argument: Any) -> None:
        seen.add(frame.f_code)

    sys.settrace(call)
    threading.settrace(call)
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]


def _function(code: Any) -> str:
    """file:function of a code object, the outermost one; empty for those of other packages."""
    if not code.co_filename.startswith(str(SOURCE)) or code.co_qualname == "<module>":
        return ""
    return f"{Path(code.co_filename).relative_to(SOURCE)}:{code.co_qualname.split('.<locals>')[0]}"


def _passes(item: pytest.Item, seconds: float) -> bool:
    """Whether a test passes within some seconds of the processor."""

    def stop(number: int, frame: Any) -> None:
        if not _is_loading(frame):
            raise TooSlow(item.nodeid)

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.5)
    try:
        with _silent():
            reports = runtestprotocol(item, log=False, nextitem=None)
        return all(report.passed for report in reports)
    except TooSlow:
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


@contextmanager
def _silent() -> Iterator[None]:
    """Nothing of what a test prints."""
    kept, null = (os.dup(1), os.dup(2)), os.open(os.devnull, os.O_WRONLY)
    for place in (1, 2):
        os.dup2(null, place)
    os.close(null)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for place, before in zip((1, 2), kept, strict=True):
            os.dup2(before, place)
            os.close(before)


def _forget_pools() -> None:
    """A fork has none of the threads that a pool of Dask's waits for."""
    dask = sys.modules.get("dask.threaded")
    if dask is not None:
        dask.default_pool = None
        dask.pools.clear()


def _limit(seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# a changed module ---------------------------------------------------------------------------------------


def _change(file: str, tree: ast.AST) -> None:
    """Make a module do what a changed tree says, also for those that have imported from it."""
    name = "dominantsets." + file.removesuffix(".py").replace("/", ".")
    live, new = sys.modules[name], ModuleType(name)
    new.__file__, new.__package__ = live.__file__, live.__package__
    sys.modules[name] = new  # dataclasses look there
    exec(compile(tree, str(live.__file__), "exec"), vars(new))  # type: ignore[arg-type]
    sys.modules[name] = live
    for key, value in vars(new).items():
        if not key.startswith("__"):
            _replace(vars(live), key, value)


def _replace(names: dict[str, Any], key: str, value: Any) -> None:
    """Functions and classes stay the same objects; anything else is replaced wherever it was imported."""
    old = names[key]
    if isinstance(old, type) and getattr(old, "__module__", "") == names.get("__name__"):
        for attribute, part in vars(value).items():
            _adopt(vars(old).get(attribute), part)
            if isinstance(part, int | float | tuple) and not attribute.startswith("_"):
                with suppress(AttributeError, TypeError):
                    setattr(old, attribute, part)
    elif not _adopt(old, value) and not isinstance(old, ModuleType | type):
        for module in [m for n, m in list(sys.modules.items()) if n.startswith("dominantsets")]:
            if vars(module).get(key) is old:
                setattr(module, key, value)


def _adopt(old: Any, new: Any) -> bool:
    """Give a function the code and the defaults of another; False where it is none."""
    one, other = _bare(old), _bare(new)
    if not (isinstance(one, FunctionType) and isinstance(other, FunctionType)):
        return isinstance(old, property) and _adopt(old.fget, new.fget)
    if one.__code__.co_filename == other.__code__.co_filename or one.__module__ == other.__module__:
        one.__code__, one.__defaults__, one.__kwdefaults__ = (
            other.__code__,
            other.__defaults__,
            other.__kwdefaults__,
        )
    return True


def _bare(thing: Any) -> Any:
    """The function within a classmethod, a cache or a context manager."""
    while not isinstance(thing, FunctionType) or hasattr(thing, "__wrapped__"):
        inner = getattr(thing, "__func__", None) or getattr(thing, "__wrapped__", None)
        if inner is None:
            break
        thing = inner
    return thing
