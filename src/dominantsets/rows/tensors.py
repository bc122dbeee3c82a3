"""Rows on a device: blocks of them that answer in torch, and the store that is one such block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dominantsets._typing import Floats, Ints
from dominantsets.rows import tensor_operations
from dominantsets.rows.base import Mixture, Recipe, Round, Rows
from dominantsets.rows.tensor_block import DeviceBlock, in_smaller_blocks, to_numpy
from dominantsets.rows.tensor_features import explain_oom, load
from dominantsets.rows.tensor_formulas import kernel, local
from dominantsets.rows.tensor_points import TensorPoints

LARGE_SAMPLE = {"cuda": 48_000, "cpu": 0}  # objects of a sample, where groups are hardly seen in fewer


class TensorBlock(DeviceBlock):
    """Consecutive objects with rows on a device, which answer in torch."""

    def do(self, operation: Any, *arguments: Any) -> Any:
        function, name = in_torch(operation), getattr(operation, "__name__", operation)
        self._features = self.features
        try:
            work = partial(function, self, *arguments)
            return in_smaller_blocks(work, self.device, f"the operation {name!r}")
        finally:
            self._features = self._features if self.kept else None


def in_torch(operation: Any) -> Callable[..., Any]:
    """The form in torch of an operation: by its name, or where a function of another room says it is."""
    if isinstance(operation, str):
        return getattr(tensor_operations, operation)  # type: ignore[no-any-return]
    return getattr(import_module(operation.in_torch), operation.__name__)  # type: ignore[no-any-return]


class TensorRows(Rows):
    """Rows on a device: resident, or streamed from the host in blocks."""

    home = "tensors"
    describable = 2**17

    def __init__(self, X: Any, device: Any = None) -> None:
        with explain_oom("the features"):
            features = load(X, device)
        super().__init__([features.n], features.d)
        self.block = TensorBlock(features)
        self.features, self.device = features, features.device
        self.large_sample = LARGE_SAMPLE[self.device.type]

    def _replies(self, asked: Round) -> list[Any]:
        return [self.block.do(asked.operation, *asked.common, *asked.extras[0])]

    def send(self, x: Any) -> Tensor:
        """A NumPy array, on the device."""
        return self.block.send(x)

    def split(self, objects: Ints, *others: NDArray[Any]) -> list[tuple[Any, ...]]:
        return [(objects, *others)]  # in whatever order they are

    def fetch(self, objects: Ints, operation: Any, *common: Any) -> Floats:
        return np.asarray(self.ask(operation, *common, each=[(np.asarray(objects),)])[0])

    def mix_each(self, recipe: Recipe, sets: Sequence[tuple[Ints, Floats]]) -> list[Mixture]:
        """In one round."""
        found: list[Mixture] = self.ask("mix_each", recipe, sets)[0] if sets else []
        return found

    def solver(self, algorithm: str, only: str) -> str:
        if algorithm not in ("auto", only):
            raise ValueError(
                f"algorithm={algorithm!r} does not run on a device, where this affinity has {only!r}; leave "
                "it out, or pass a NumPy array without device=."
            )
        return only

    def brought(self, new: Any) -> Any:
        return to_numpy(new.double()) if isinstance(new, Tensor) else new

    def part(self, objects: Ints) -> TensorRows:
        return TensorRows(self.features.take(self.send(objects)))

    def points(self, rows: Floats, extra: Floats) -> TensorPoints:
        return TensorPoints(rows, extra, self.device)

    def like(self, new: Any, in_memory: Callable[[Any], Rows]) -> Rows:
        return TensorRows(new) if isinstance(new, Tensor) else super().like(new, in_memory)

    def order_of(self, operation: Any, *common: Any) -> Callable[[Ints], Ints]:
        order = torch.sort(self.ask(f"{operation}_there", *common)[0], stable=True).indices
        return lambda ranks: np.asarray(to_numpy(order[self.send(ranks)]))

    def described(self, recipe: Recipe, objects: Ints, operation: str = "take") -> Tensor:
        """Chosen rows as the formula sees them; they stay on the device."""
        seen = local if operation == "take" else kernel
        rows: Tensor = seen(self.block, recipe).at(self.send(objects))
        return rows

    def scatter(self, recipe: Recipe, objects: Ints, scale: Floats) -> Floats:
        return np.asarray(self.ask("scatter", recipe, objects, scale)[0])

    def extreme(self, recipe: Recipe, limit: float) -> tuple[float, int, int] | None:
        if self.n > limit:
            return None
        here, best = local(self.block, recipe), (-np.inf, 0, 0)
        for first, raw in self.features.blocks(self.block.height(3 * self.d + 4096)):
            P = here.lift(raw) / here.root
            for second, other in self.features.blocks(4096):
                Q = here.lift(other) / here.root
                values = P @ Q.T
                if recipe.formula.has_bias:
                    squares = torch.linalg.vecdot(P, P)[:, None] + torch.linalg.vecdot(Q, Q)[None, :]
                    values = squares - 2.0 * values
                else:
                    values = -values
                at = int(values.argmax())
                found = float(values.view(-1)[at]), first + at // len(Q), second + at % len(Q)
                best = max(best, found, key=lambda one: one[0])
        return best if recipe.formula.has_bias else (-best[0], *best[1:])

    def __reduce__(self) -> Any:
        return TensorRows, (self.features.portable(), str(self.device))
