"""Tests in a fork of this process, in which the libraries are loaded already: which functions they reach, and
whether they fail once a module is changed.
"""

from __future__ import annotations

import ast
import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import _pytest.config
import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dominantsets"
MEMORY = 6 * 2**30


class TooSlow(BaseException):
    """Of no class that a test or hypothesis would catch."""


class Limited:
    """Fails a test that takes more than its seconds; runs the chosen ones, in their order."""

    def __init__(self, seconds: Callable[[str], float], chosen: list[str] | None = None) -> None:
        self._seconds, self._chosen = seconds, chosen

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._chosen is not None:
            by_name = {item.nodeid: item for item in items}
            items[:] = [by_name[name] for name in self._chosen]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        yield from self._watch(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        yield from self._watch(item)

    def _watch(self, item: pytest.Item) -> Iterator[None]:
        def stop(number: int, frame: Any) -> None:
            raise TooSlow(item.nodeid)

        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, self._seconds(item.nodeid), 0.5)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)


class Reached:
    """Notes for each test that passes its seconds, and the functions of the package that it calls."""

    def __init__(self) -> None:
        self.tests: dict[str, dict[str, Any]] = {}
        self.left_out: list[str] = []
        self._seen: set[Any] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._seen, self._passed, began = set(), True, time.process_time()
        sys.settrace(self._call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            if self._passed:
                self.tests[item.nodeid] = {
                    "seconds": round(time.process_time() - began, 3),
                    "functions": sorted(filter(None, map(_function, self._seen))),
                }
            else:
                self.left_out.append(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._passed &= report.passed

    def _call(self, frame: Any, event: str, argument: Any) -> None:
        self._seen.add(frame.f_code)


def _function(code: Any) -> str:
    """file:function of a code object, the outermost one; empty for those of other packages."""
    if not code.co_filename.startswith(str(SOURCE)) or code.co_qualname == "<module>":
        return ""
    return f"{Path(code.co_filename).relative_to(SOURCE)}:{code.co_qualname.split('.<locals>')[0]}"


class Changed:
    """Imports one module from a changed tree."""

    def __init__(self, name: str, path: Path, tree: ast.AST) -> None:
        self._name, self._path, self._tree = name, path, tree

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, origin=str(self._path)) if name == self._name else None  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> None:
        """None: as usual."""

    def exec_module(self, module: Any) -> None:
        module.__file__ = str(self._path)
        exec(compile(self._tree, str(self._path), "exec"), vars(module))  # type: ignore[arg-type]


def load() -> None:
    """Load once, before the forks, what every test would load, but nothing of the package."""
    for name in (
        "hypothesis",
        "networkx",
        "numba",
        "pandas",
        "scipy.io",
        "scipy.sparse.csgraph",
        "scipy.stats",
    ):
        importlib.import_module(name)
    for name in ("sklearn.cluster", "sklearn.datasets", "sklearn.metrics", "sklearn.mixture", "dask.array"):
        importlib.import_module(name)
    for plugin in _pytest.config.default_plugins:
        importlib.import_module(f"_pytest.{plugin}")
    importlib.import_module("numba").njit(lambda x: x + 1.0)(1.0)  # loads what compiling and its caches need
    sys.dont_write_bytecode = False
    gc.freeze()


def reach(paths: list[str], plain: bool, seconds: float) -> dict[str, Any]:
    """The tests of some files that pass within their seconds, and the functions that they reach."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:

        def work() -> int:
            reached = Reached()
            _run(paths, [reached, Limited(lambda name: seconds)])
            content = {"tests": reached.tests, "left out": reached.left_out}
            Path(out.name).write_text(json.dumps(content), encoding="utf-8")
            return 0

        _forked(work, plain, 1e5)
        return json.loads(Path(out.name).read_text(encoding="utf-8") or '{"tests": {}, "left out": []}')  # type: ignore[no-any-return]


def killed(file: str, tree: ast.AST | None, tests: dict[str, float], plain: bool) -> bool:
    """Whether one of the tests (with their seconds) fails or takes far longer once the file is changed."""

    def work() -> int:
        if tree is not None:
            name = "dominantsets." + file.removesuffix(".py").replace("/", ".")
            sys.meta_path.insert(0, Changed(name, SOURCE / file, tree))  # type: ignore[arg-type]
        paths = sorted({name.split("::")[0] for name in tests})
        return _run(["-x", *paths], [Limited(lambda name: 2.0 + 4.0 * tests[name], list(tests))])

    return _forked(work, plain, 10.0 + 3.0 * sum(tests.values())) != 0


def _run(arguments: list[str], plugins: list[Any]) -> int:
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore"]
    return int(pytest.main([*options, *arguments], plugins=plugins))


def _forked(work: Callable[[], int], plain: bool, seconds: float) -> int:
    """The exit status of a child that works, without output, within limits of time and memory."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if "MUTANTS_LOUD" not in os.environ:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 1)
                os.dup2(null, 2)
            os.environ.pop("DOMINANTSETS_DATA", None)
            if plain:  # compiled code as plain Python
                import numba

                os.environ["NUMBA_DISABLE_JIT"] = "1"
                numba.core.config.DISABLE_JIT = 1
            os.chdir(ROOT)
            status = work()
        finally:
            os._exit(status)
    waits = time.monotonic() + 60.0 + 10.0 * seconds  # one that waits for ever takes no time of the processor
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > waits:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
