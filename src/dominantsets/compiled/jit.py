"""How functions are compiled, and the two reductions that need a special form.

Numba's disk cache notices a change of a function's own file only: a cached caller of a changed function in
another file would go stale. So compiled functions that call each other share a file, and what is here
changes rarely.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numba
from numba import types
from numba.core import config
from numba.core.event import Listener, register, unregister
from numba.extending import intrinsic

_F = TypeVar("_F", bound=Callable[..., Any])
_log = logging.getLogger(__name__)

# Reductions over r vectorise only where the compiler may ignore NaN and signed zeros. Infinities are
# used on purpose (removed objects have r = -inf), so "ninf" must not be promised.
FASTMATH = {"nnan", "nsz", "contract"}


def compiled(function: _F, fastmath: bool | set[str] = FASTMATH) -> _F:
    """Compile a function for the GIL-free fast path, cached on disk where a cache can be written."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath}
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder for the cache is writable: slower start, same result
        _say()
        return numba.njit(**options)(function)  # type: ignore[no-any-return]


@cache
def _say() -> None:
    _log.warning(
        "no folder is writable for compiled code, so that every process compiles anew (some seconds); set "
        "NUMBA_CACHE_DIR to one that is."
    )


def exact(function: _F) -> _F:
    """Compile without the promise that there are no NaN: for functions that look for them."""
    return compiled(function, fastmath=False)


def _ordered(symbol: str, plain: Callable[[float, float], float]) -> Any:
    """Larger or smaller of two floats, in the one form that LLVM turns into a vector reduction.

    Where NUMBA_DISABLE_JIT asks for plain Python there is no LLVM, and Python's own function does it.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return plain

    def typed(typingctx: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            flags = ("nnan", "nsz")
            first = builder.fcmp_ordered(symbol, args[0], args[1], flags=flags)
            return builder.select(first, args[0], args[1], flags=flags)

        return types.float64(types.float64, types.float64), generate

    return intrinsic(typed)


larger = _ordered(">", max)
smaller = _ordered("<", min)


def reassociated(function: _F) -> _F:
    """Compile so that sums may be taken in another order: vector code, error still of rounding size."""
    return compiled(function, fastmath=FASTMATH | {"reassoc"})


def watchful(function: _F) -> _F:
    """Compile with sums in any order, but without the promise that there are no NaN."""
    return compiled(function, fastmath={"reassoc"})


class _First(Listener):
    """Calls once, where something is compiled."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, event: Any) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def on_end(self, event: Any) -> None:
        """Nothing: only that it begins is worth a word."""


@cache
def say_that_it_compiles() -> None:
    """Log once per process that compiling takes a while."""
    _log.warning(
        "compiling for this machine (up to 30 s); later fits, also in other processes, load it from the disk."
    )


_listeners: list[_First] = []  # the outermost one has the word


@contextmanager
def telling(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` once if anything is compiled inside, and not just loaded from the disk.

    Inside another one, it is left to that one.
    """
    if _listeners:
        yield
        return
    _listeners.append(_First(tell))
    register("numba:compile", _listeners[0])  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        unregister("numba:compile", _listeners.pop())  # type: ignore[no-untyped-call]
