"""Rows of features wherever they are: some of them are looked at, and similarities are made of all."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dominantsets._checks import memory_available
from dominantsets._typing import Floats, Ints
from dominantsets.rows.base import Rows
from dominantsets.rows.foreign import is_tensor, shared
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.factory import FROM_ROWS, is_dask, rows_of

SINGLE = ("float16", "bfloat16", "float32")  # types of numbers that are float32 in this process
SHARE = 0.25  # largest fraction of the free memory that rows of this process may take


class Data:
    """Rows of features: an array, a memmap, a CSR matrix, a Dask array or a tensor.

    Parameters
    ----------
    X : array, sparse matrix, Dask array or tensor of shape (n, n_features)
        The rows.
    device : str or torch.device, optional
        Where to work on them.
    whole : bool, default=False
        Whether a fit has to be one of all rows.

    Attributes
    ----------
    X : array, sparse matrix, Dask array or tensor
        The rows.
    is_elsewhere : bool
        Whether similarities work on rows that are not in the memory of this process.
    rows : Rows
        The rows as similarities have them.
    """

    def __init__(self, X: Any, device: Any = None, *, whole: bool = False) -> None:
        self.X, self.device, self.whole = X, device, whole
        self.is_elsewhere = device is not None or is_elsewhere(X)
        self._known: dict[str, Similarity] = {}
        self._divided: dict[bytes, Data] = {}

    @cached_property
    def rows(self) -> Rows:
        """The rows as similarities have them."""
        return rows_of(self.X, self.device)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.rows.n if is_dask(self.X) else int(self.X.shape[0])

    @property
    def d(self) -> int:
        """How many features they have."""
        return self.rows.d if self.is_elsewhere else int(self.X.shape[1])

    def similarity(self, affinity: str) -> Similarity:
        """The similarity of all rows by the default parameters of an affinity; it is made once."""
        if affinity not in self._known:
            self._known[affinity] = FROM_ROWS[affinity](self.rows)
        return self._known[affinity]

    def take(self, objects: Ints) -> Any:
        """Some rows, in the memory of this process."""
        X, single = self.X, str(self.X.dtype).rpartition(".")[2] in SINGLE
        if is_dask(X) or is_tensor(X):
            return self.rows.fetch(objects, "raw").astype(np.float32 if single else np.float64, copy=False)
        return np.asarray(X[objects]) if isinstance(X, np.memmap) else X[objects]

    def room(self) -> float:
        """How many rows may be taken."""
        free = memory_available()
        return np.inf if free is None else SHARE * free / (8.0 * self.d)

    def divided(self, scale: Floats) -> Data:
        """The same with each column divided by its scale."""
        name = scale.tobytes()
        if name not in self._divided:
            self._divided[name] = Data(divided(self.X, scale), self.device, whole=self.whole)
        return self._divided[name]


def is_elsewhere(X: Any) -> bool:
    """Whether rows are those of a Dask array or a tensor."""
    return is_dask(X) or is_tensor(X)


def divided(X: Any, scale: Floats) -> Any:
    """Rows with each column divided by its scale, where they are."""
    if is_dask(X):
        return X.map_blocks(lambda chunk: divided(shared(chunk), scale), dtype=np.float64)
    if not is_tensor(X):
        return X / scale
    wide = X.double() if str(X.dtype) == "torch.float64" else X.float()
    return wide / wide.new_tensor(scale)


def in_memory(X: Any) -> Any:
    """Rows of a tensor or a Dask array, in the memory of this process."""
    data = Data(X)
    return data.take(np.arange(data.n)) if data.is_elsewhere else X
