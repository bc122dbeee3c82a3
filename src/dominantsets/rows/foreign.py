"""Arrays of other libraries, taken where they are; none of these is imported to find out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dominantsets._checks import missing_extra

ON_HOST = 1  # the number that DLPack has for memory of the host


def is_tensor(X: Any) -> bool:
    """Whether X is a torch tensor; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def shared(X: Any) -> Any:
    """X, or where it is another library's array (CuPy, JAX), one of torch or NumPy with the same memory."""
    if isinstance(X, np.ndarray) or is_tensor(X) or not hasattr(X, "__dlpack_device__"):
        return X
    if X.__dlpack_device__()[0] == ON_HOST:
        return np.from_dlpack(X)
    with torch_needed():
        from dominantsets.rows.tensor_features import from_dlpack
    return from_dlpack(X)


@contextmanager
def torch_needed() -> Iterator[None]:
    """Around an import of what needs torch: says how to get it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_extra("features on a device need", "gpu", "torch") from error
