"""Small checks shared by all modules, so that one mistake gets the same message everywhere."""

from __future__ import annotations

import difflib
import math
import numbers
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

_PACKAGE = str(Path(__file__).parent)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that led here, however deep the call was."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    """Whether a frame is of this package, or of what scikit-learn wraps around ``fit``."""
    wrapped = str(frame.f_globals.get("__name__", "")).startswith("sklearn.callback")
    return wrapped or frame.f_code.co_filename.startswith(_PACKAGE)


def check_choice(name: str, value: object, valid: Iterable[str]) -> str:
    """Return value if it is one of the valid names, else raise an error that suggests the closest one."""
    names = list(valid)
    if isinstance(value, str) and value in names:
        return value
    close = difflib.get_close_matches(str(value), names, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(repr(v) for v in names)
    raise ValueError(f"{name}={value!r} is not known; choose one of {listed}.{hint}")


def check_int(name: str, value: Any, at_least: int) -> int:
    """Return value as an int that is at least ``at_least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}.")
    return int(value)


def check_real(name: str, value: Any, at_least: float | None = None) -> float:
    """Return value as a finite float, at least ``at_least`` where that is given."""
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not ok or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}.")
    if at_least is not None and value < at_least:
        raise ValueError(f"{name} must be at least {at_least:g}, got {value!r}.")
    return float(value)


def missing_extra(need: str, extra: str, module: str) -> ModuleNotFoundError:
    """The error that names the extra which brings a module."""
    return ModuleNotFoundError(
        f'{need} the extra {extra!r}; install it with: pip install "dominantsets[{extra}]"', name=module
    )


def memory_available() -> int | None:
    """Bytes that a new array may take without swapping, or None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


_SIGNS = ("can't allocate", "without setting an exception", "without exception set")


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether memory is what is missing: Python says of a lock that it "can't allocate" it, NumPy nothing."""
    of_it = isinstance(error, SystemError) and isinstance(error.__cause__ or error.__context__, MemoryError)
    return of_it or isinstance(error, MemoryError) or any(sign in str(error) for sign in _SIGNS)


@contextmanager
def memory_explained(sentence: str) -> Iterator[None]:
    """Within, a lack of memory is a MemoryError that says something."""
    try:
        yield
    except Exception as error:
        if is_lack_of_memory(error) and not (isinstance(error, MemoryError) and str(error)):
            raise MemoryError(sentence) from error
        raise


NO_MEMORY = "there is not enough memory; free some, or use a part of the data."


def require_memory(n_bytes: int, purpose: str, instead: str) -> None:
    """Refuse an allocation that the machine cannot hold, before it is tried."""
    free = memory_available()
    if free is not None and n_bytes > free:
        raise MemoryError(
            f"{purpose} needs {n_bytes / 1e9:,.1f} GB and {free / 1e9:,.1f} GB are free; {instead}."
        )
