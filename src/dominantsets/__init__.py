"""Dominant set clustering: groups of objects more alike than anything outside, with proof.

Names are loaded when the first is asked for, so that ``dominantsets --help`` need not wait for Numba.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dominantsets._api import *  # noqa: F403

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name != "__all__" and name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    api = import_module("dominantsets._api")
    if name in api.__all__ or name == "__all__":
        return getattr(api, name)
    module = sys.modules.get(f"{__name__}.{name}")  # a room that came with them
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return module


def __dir__() -> list[str]:
    return sorted([*globals(), *__getattr__("__all__")])
