"""Rows in memory: the store of one block."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import row_blocks
from dominantsets.rows import operations
from dominantsets.rows.arrays import kernel_lengths, kernel_rows, local, mean_row
from dominantsets.rows.base import Block, Mask, Recipe, Round, Rows


@cache
def named(operation: Any) -> Callable[..., Any]:
    """The operation on the host that a name stands for; functions stand for themselves."""
    if not isinstance(operation, str):
        found: Callable[..., Any] = operation
        return found
    return getattr(operations, operation)  # type: ignore[no-any-return]


class HostBlock(Block):
    """Consecutive objects with rows on the host."""

    def do(self, operation: Any, *arguments: Any) -> Any:
        return named(operation)(self, *arguments)


class _Stored:
    """An array of rows, as a callable that returns it."""

    def __init__(self, X: Any) -> None:
        self.X = X

    def __call__(self) -> Any:
        return self.X


class InMemory(Rows):
    """Rows of an array, a memmap or a CSR matrix: one block, worked on by all threads."""

    home = "memory"

    def __init__(self, X: Any) -> None:
        super().__init__([X.shape[0]], X.shape[1])
        self.block = HostBlock(_Stored(X), 0, X.shape[0], owned=True)

    @property
    def data(self) -> Any:
        """The stored rows."""
        return self.block.data

    def _replies(self, asked: Round) -> list[Any]:
        if asked.mask is not None:
            self.block.alive = asked.mask.alive
        return [named(asked.operation)(self.block, *asked.common, *asked.extras[0])]

    def split(self, objects: Ints, *others: NDArray[Any]) -> list[tuple[Any, ...]]:
        return [(objects, *others)]  # in whatever order they are

    def cut(self, *arrays: NDArray[Any]) -> list[tuple[Any, ...]]:
        return [arrays]

    def total(
        self, operation: Any, *common: Any, each: Any = ((),), mask: Mask | None = None, which: Any = None
    ) -> Any:
        """Without the detour of a round: small data are asked tens of thousands of times per second."""
        self.n_rounds += 1
        if mask is not None:
            self.block.alive = mask.alive
        return named(operation)(self.block, *common, *each[0])

    every = total

    def fetch(self, objects: Ints, operation: Any, *common: Any) -> Floats:
        return np.asarray(self.ask(operation, *common, each=[(np.asarray(objects),)])[0])

    def check(self) -> None:
        """Features in memory were checked when they came."""

    def mean(self) -> Floats:
        return mean_row(self.data)

    def least(self) -> float:
        return float(self.data.min())

    @property
    def dense(self) -> bool:
        return not sp.issparse(self.data)

    def only_block(self) -> Block:
        return self.block

    def products_between(self, recipe: Recipe, rows: Ints, cols: Ints) -> tuple[Any, Any, Any]:
        here = local(self.block, recipe)
        norms = here.square_norms if recipe.formula.has_bias else here.norms  # asked for with a bias only
        p, q = (norms[rows], norms[cols]) if recipe.formula.has_bias else (norms, norms)
        return here.rows.gram(rows, cols), p, q

    def products_with(self, recipe: Recipe, new: Any, cols: Ints) -> tuple[Floats, Floats]:
        here = local(self.block, recipe)
        return new.gram(np.arange(new.n), cols, here.rows), here.square_norms[cols]

    def kernel_distances(self, recipe: Recipe, objects: Ints) -> Floats:
        rows = kernel_rows(self.block, recipe)
        if not rows.sparse:
            return super().kernel_distances(recipe, objects)
        norms = kernel_lengths(self.block, recipe)[objects]
        return np.asarray(norms[:, None] + norms[None, :] - 2.0 * rows.gram(objects, objects))

    def extreme(self, recipe: Recipe, limit: float) -> tuple[float, int, int] | None:
        if self.n > limit:
            return None
        here = local(self.block, recipe)
        every, norms, best = np.arange(self.n), here.square_norms, (-np.inf, 0, 0)
        for part in row_blocks(self.n, 8 * self.n):
            values = -here.rows.gram(every[part], every)
            if recipe.formula.has_bias:
                values *= 2.0
                values += norms[part, None]
                values += norms[None, :]
            i, j = np.unravel_index(int(values.argmax()), values.shape)
            best = max(best, (float(values[i, j]), part.start + int(i), int(j)), key=lambda found: found[0])
        return best if recipe.formula.has_bias else (-best[0], *best[1:])
