"""The n-th operation on a file fails: it is opened, read, written, synced or renamed."""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OPERATIONS = ("open", "read", "write", "fsync", "rename")
ERRORS: dict[str, Callable[[], BaseException]] = {
    "ENOSPC": lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "EIO": lambda: OSError(errno.EIO, os.strerror(errno.EIO)),
    "EACCES": lambda: PermissionError(errno.EACCES, os.strerror(errno.EACCES)),
    "memory": lambda: MemoryError("no memory"),
}


class Fault:
    """Counts one kind of operation on files of a folder, and fails the n-th."""

    def __init__(self, folder: Path, operation: str, n: int, error: str) -> None:
        self.folder, self.operation, self.left = str(folder), operation, n
        self.error = ERRORS[error]
        self.happened = False

    def here(self, operation: str, path: object) -> None:
        if operation == self.operation and isinstance(path, str | os.PathLike):
            if os.fspath(path).startswith(self.folder):
                self.left -= 1
            if self.left == 0:
                self.happened, self.left = True, -1
                raise self.error()


@contextmanager
def failing(fault: Fault) -> Iterator[Fault]:
    """Within, Python's own ways to files go through the fault."""

    class Raw(io.FileIO):
        def write(self, data: Any) -> int:
            fault.here("write", self.name)
            return super().write(data)

        def readinto(self, buffer: Any) -> Any:
            fault.here("read", self.name)
            return super().readinto(buffer)

        def readall(self) -> bytes:
            fault.here("read", self.name)
            return super().readall()

    plain = io.open

    def opened(file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
               newline: Any = None, **rest: Any) -> Any:  # fmt: skip
        if not isinstance(file, str | os.PathLike) or not os.fspath(file).startswith(fault.folder):
            return plain(file, mode, buffering, encoding, errors, newline, **rest)
        fault.here("open", file)
        raw = Raw(os.fspath(file), mode.replace("b", "").replace("t", ""))
        kind = io.BufferedRandom if "+" in mode else io.BufferedReader if "r" in mode else io.BufferedWriter
        stream = kind(raw, 64)  # small, so that there are many writes
        return stream if "b" in mode else io.TextIOWrapper(stream, encoding, errors, newline)

    def watched(operation: str, function: Any, path_of: Callable[..., object]) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            fault.here(operation, path_of(*args, **options))
            return function(*args, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io, "open", opened)
        patch.setattr(builtins, "open", opened)
        patch.setattr(os, "fsync", watched("fsync", os.fsync, lambda *_: fault.folder))
        patch.setattr(os, "replace", watched("rename", os.replace, lambda source, *_: source))
        yield fault


def every_fault(folder: Path, operation: str, error: str, limit: int = 10_000) -> Iterator[Fault]:
    """The first, the second, ... operation fails, until there are no so many; each must be run once."""
    for n in range(1, limit):
        fault = Fault(folder, operation, n, error)
        with failing(fault):
            yield fault
        if not fault.happened:
            return
    raise AssertionError(f"more than {limit} operations")
