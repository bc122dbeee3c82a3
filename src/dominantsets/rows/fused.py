"""Triton's kernels where they can be used, with plain torch behind them."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable
from typing import Any, TypeVar

import torch

FUSED = True  # whether kernels are used where they can be
broken = False  # whether they have failed
_log = logging.getLogger(__name__)
_T = TypeVar("_T")


def usable(device: torch.device) -> bool:
    """Whether Triton's kernels can be tried here."""
    there = device.type == "cuda" and importlib.util.find_spec("triton") is not None
    return FUSED and not broken and there


def with_fallback(fused: Callable[[], Any], plain: Callable[[], _T]) -> _T:
    """The fused form, or the plain one where it cannot be compiled or run: once, then for good."""
    global broken
    if broken:
        return plain()
    try:
        found: _T = fused()
        return found
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # whatever a compiler or driver may say
        broken = True
        _log.warning("Triton kernels are not used: %s: %s", type(error).__name__, str(error)[:500])
        return plain()


def kernels() -> Any:
    """The module of kernels for some objects."""
    from dominantsets.rows import triton_kernels  # imports triton

    return triton_kernels


def sweeps() -> Any:
    """The module of kernels over all objects."""
    from dominantsets.rows import triton_sweeps  # imports triton

    return triton_sweeps
