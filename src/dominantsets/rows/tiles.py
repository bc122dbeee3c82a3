"""Lists of objects of many starts, side by side: tiles of equal size, each of one start.

A start may have ten candidates or a million. Cut into tiles of at most 1,024, filled up with objects that
count nothing, all of them are one array: sums over rows, then over the tiles of a start, in an order that
never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

SMALLEST, LARGEST = 32, 1024  # objects of a tile


class Sums:
    """Rows of numbers, one per start, that come in parts."""

    def __init__(self, s: int) -> None:
        self._s = s
        self._all: Tensor | None = None

    def add(self, starts: slice, rows: Tensor) -> None:
        """Add to the rows of some starts."""
        if self._all is None and len(rows) == self._s:
            self._all = rows
            return
        if self._all is None:
            self._all = torch.zeros((self._s, rows.shape[1]), dtype=rows.dtype, device=rows.device)
        self._all[starts] += rows

    @property
    def all(self) -> Tensor:
        """The sums of all starts."""
        assert self._all is not None
        return self._all


class Tiles:
    """Objects of s starts; ``objects`` is tiles × width, ``valid`` says which of them are meant."""

    def __init__(self, objects: Tensor, counts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """``objects`` are those of the first start, then those of the second, ..., as many as counted."""
        device = objects.device
        self.s = len(counts)
        self.counts = counts
        self.flat = objects
        mean = max(1, int(counts.sum()) // max(1, self.s))
        self.width = int(min(LARGEST, max(SMALLEST, 2 ** int(np.ceil(np.log2(mean))))))
        self.per_start = -(-counts // self.width)
        self.owner_here = np.repeat(np.arange(self.s), self.per_start)
        ends = np.cumsum(counts)
        self.first_tile = first_tile = np.cumsum(self.per_start) - self.per_start
        within = np.arange(len(self.owner_here)) - first_tile[self.owner_here]
        base = (ends - counts)[self.owner_here] + within * self.width
        left = ends[self.owner_here] - base
        layout = torch.from_numpy(np.stack([self.owner_here, base, left])).to(device)
        self.owner = layout[0]
        column = torch.arange(self.width, device=device)
        self.valid = column[None, :] < layout[2][:, None]
        self._places = (layout[1][:, None] + column[None, :]).clamp_(max=max(0, len(objects) - 1))
        self.objects = objects[self._places]
        self._one_each = bool((self.per_start == 1).all())
        self._lengths = None if self._one_each or self.s == 1 else torch.from_numpy(self.per_start).to(device)

    def __len__(self) -> int:
        return len(self.owner_here)

    def total(self, values: Tensor) -> Tensor:
        """Sums of each start, of values as wide as the tiles; what is not valid must be 0."""
        return self.add(values.sum(1))

    def add(self, of_tiles: Tensor) -> Tensor:
        """Sums of each start, of one number per tile."""
        if self._one_each:
            return of_tiles
        if self.s == 1:
            return of_tiles.sum(0, keepdim=True)
        return torch.segment_reduce(of_tiles, "sum", lengths=self._lengths, unsafe=True)

    def spread(self, numbers: Tensor) -> Tensor:
        """One number per object, in the order of the objects, laid out as the tiles are; 0 elsewhere."""
        return numbers[self._places] * self.valid

    def whose(self) -> Tensor:
        """The start of every object, in the order in which they came."""
        lengths = torch.from_numpy(self.counts).to(self.owner.device)
        return torch.repeat_interleave(lengths, output_size=len(self.flat))

    def parts(self, height: int) -> Iterator[tuple[slice, slice, Callable[[Tensor], Tensor]]]:
        """Slices of tiles, of the starts that own them, and what adds up rows of numbers, one per tile."""
        for begin in range(0, len(self), height):
            part = slice(begin, min(len(self), begin + height))
            owners = self.owner_here[part]
            starts = slice(int(owners[0]), int(owners[-1]) + 1)
            yield part, starts, self._adder(part, starts)

    def _adder(self, part: slice, starts: slice) -> Callable[[Tensor], Tensor]:
        if starts.stop - starts.start == 1:
            return lambda numbers: numbers.sum(0, keepdim=True)
        every = torch.arange(starts.start, starts.stop, device=self.owner.device)
        adding = (self.owner[part][None, :] == every[:, None]).double()
        return lambda numbers: adding @ numbers

    def chosen(self, which: Tensor) -> tuple[Tensor, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """The objects marked in ``which``, start after start, and how many each has."""
        counts = self.add(which.sum(1).double()).long().cpu().numpy()
        return self.objects[which], counts

    def outsiders(
        self, values: Iterator[tuple[int, Tensor, Tensor]], n: int
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Payoffs of all n objects in blocks of starts × rows, with those of each start's own at -inf."""
        members, order = torch.sort(self.flat)
        whose = self.whose()[order]
        at = 0
        for begin, block, constant in values:
            last = begin + block.shape[1] >= n
            end = len(members) if last else int(torch.searchsorted(members, begin + block.shape[1]))
            block[whose[at:end], members[at:end] - begin] = -torch.inf
            at = end
            yield block, constant
