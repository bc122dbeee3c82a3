"""Objects that are kept in pieces of consecutive rows, here or elsewhere.

Whoever asks sends one function to every piece and gets the results in the order of the pieces. A piece
remembers what it has worked out, but nothing that could not be worked out again: its rows come from where the
data come from, and who of its objects is still there from the :class:`Mask` of whoever asks. So a piece may
be lost at any time, and made again anywhere.
"""

from __future__ import annotations

import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from dominantsets._typing import Ints
from dominantsets.compiled.threads import N_THREADS, single_threaded

_T = TypeVar("_T")
_J = TypeVar("_J")


class Piece:
    """Consecutive objects: their rows, who of them is still there, and what has been worked out of them."""

    def __init__(self, read: Callable[[], Any], begin: int, size: int, *, kept: bool = True) -> None:
        self.begin, self.size = begin, size
        self.kept = kept  # whether the rows stay in memory; else they are read each time
        self.alive = np.ones(size, dtype=bool)
        self.token: object = None  # whose mask this is, and which
        self.lock = threading.Lock()
        self._read = read
        self._memo: dict[str, tuple[object, Any]] = {}

    @property
    def data(self) -> Any:
        """The rows as they were given: a contiguous array, or CSR."""
        return self._read()

    @property
    def n_alive(self) -> int:
        return int(np.count_nonzero(self.alive))

    def recall(self, name: str, key: object, make: Callable[[], _T]) -> _T:
        """What was worked out under a name before, if it was for the same key; else it is now."""
        known = self._memo.get(name)
        if known is None or known[0] != key:
            known = self._memo[name] = (key, make())
        value: _T = known[1]
        return value

    def remembers(self, name: str) -> bool:
        """Whether something was worked out under a name."""
        return name in self._memo

    def forget(self, prefix: str, keep: set[str]) -> list[Any]:
        """Drop what is remembered under names with a prefix, but for some; what it was, to be used again."""
        gone = [name for name in self._memo if name.startswith(prefix) and name not in keep]
        return [self._memo.pop(name)[1] for name in gone]

    def places(self, objects: Ints) -> Ints:
        """Where objects of this piece stand in it."""
        return np.asarray(objects) - self.begin


class Mask:
    """Who is still there, kept by whoever asks; pieces are told where theirs has changed."""

    def __init__(self, n: int, begins: Ints) -> None:
        self.alive = np.ones(n, dtype=bool)
        self._name = uuid.uuid4().hex
        self._ends = np.append(begins[1:], n)
        self._versions = np.zeros(begins.size, dtype=np.int64)

    def remove(self, objects: Ints) -> None:
        """Take objects out."""
        self.alive[objects] = False
        self._versions[np.unique(np.searchsorted(self._ends, objects, side="right"))] += 1

    def token(self, index: int) -> tuple[str, int]:
        """What a piece must have to be up to date."""
        return self._name, int(self._versions[index])

    def bits(self, begin: int, size: int) -> NDArray[np.uint8]:
        """The mask of a piece, eight objects a byte."""
        return np.packbits(self.alive[begin : begin + size])


class Job(NamedTuple):
    """What one piece is asked: which mask it must have (bits where it has another one), and what else."""

    piece: int
    token: object
    bits: NDArray[np.uint8] | None
    extra: tuple[Any, ...]


def answer(piece: Piece, function: Callable[..., _T], common: tuple[Any, ...], job: Job) -> _T | None:
    """One piece's result; None where its mask is an old one and no new one was sent.

    On one thread: the sums of a piece must not depend on how many threads a machine has.
    """
    with piece.lock, single_threaded():
        if job.token is not None and piece.token != job.token:
            if job.bits is None:
                return None
            piece.alive = np.unpackbits(job.bits, count=piece.size).astype(bool)
            piece.token = job.token
        return function(piece, *common, *job.extra)


def side_by_side(work: Callable[[_J], _T], jobs: list[_J], threads: int) -> list[_T]:
    """Results of many jobs on a few threads, while BLAS keeps to one: its sums depend on their number."""
    with _blas().limit(limits=1, user_api="blas"):
        if min(threads, len(jobs)) <= 1:
            return [work(job) for job in jobs]
        with ThreadPoolExecutor(min(threads, len(jobs))) as pool:
            return list(pool.map(work, jobs))


@cache
def _blas() -> Any:
    return ThreadpoolController()


class Pieces(ABC):
    """All pieces of one data set.

    Attributes
    ----------
    n, d : int
        Rows and columns of the data.
    begins, sizes : ndarray of int
        First object and number of objects of every piece; none is empty.
    n_rounds : int
        How many times all pieces, or some of them, were asked.
    """

    def __init__(self, sizes: Sequence[int], d: int) -> None:
        self.sizes = np.array([size for size in sizes if size], dtype=np.int64)
        self.begins = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)
        self.n, self.d = int(self.sizes.sum()), d
        self.n_rounds = 0

    def __len__(self) -> int:
        return len(self.sizes)

    def mask(self) -> Mask:
        """Everybody is there."""
        return Mask(self.n, self.begins)

    def holders(self, objects: Ints) -> Ints:
        """The piece of each object."""
        return np.asarray(np.searchsorted(self.begins, objects, side="right") - 1)

    def split(self, objects: Ints, *others: NDArray[Any]) -> list[tuple[Any, ...]]:
        """Objects in increasing order, and what belongs to them, for every piece."""
        cuts = np.searchsorted(objects, self.begins[1:])
        parts = [np.split(array, cuts) for array in (objects, *others)]
        return list(zip(*parts, strict=True))

    def ask(
        self,
        function: Callable[..., _T],
        *common: Any,
        mask: Mask | None = None,
        each: Sequence[tuple[Any, ...]] | None = None,
        which: Sequence[int] | None = None,
    ) -> list[_T]:
        """One round: ``function(piece, *common, *each[index])`` of every piece, or of some, in order.

        The function is one of a module, so that it can be named elsewhere; a result of None is not allowed.
        """
        indices = list(range(len(self))) if which is None else [int(index) for index in which]
        if not indices:
            return []
        self.n_rounds += 1
        extras = [() if each is None else each[index] for index in indices]
        return self._round(function, common, mask, indices, extras)

    @abstractmethod
    def _round(
        self,
        function: Callable[..., _T],
        common: tuple[Any, ...],
        mask: Mask | None,
        indices: list[int],
        extras: list[tuple[Any, ...]],
    ) -> list[_T]:
        """All results of a round."""

    def balance(self) -> None:  # noqa: B027 (nothing to do where nobody can come)
        """Between two clusters: give newcomers a share of the pieces, where there are any."""


class Here(Pieces):
    """Pieces in this process, a few at a time."""

    def __init__(
        self, reads: Sequence[Callable[[], Any]], sizes: Sequence[int], d: int, *, kept: bool
    ) -> None:
        super().__init__(sizes, d)
        present = [read for read, size in zip(reads, sizes, strict=True) if size]
        self._pieces = [
            Piece(read, int(begin), int(size), kept=kept)
            for read, begin, size in zip(present, self.begins, self.sizes, strict=True)
        ]

    def _round(
        self,
        function: Callable[..., _T],
        common: tuple[Any, ...],
        mask: Mask | None,
        indices: list[int],
        extras: list[tuple[Any, ...]],
    ) -> list[_T]:
        def work(index: int, extra: tuple[Any, ...]) -> _T:
            piece = self._pieces[index]
            token = None if mask is None else mask.token(index)
            bits = None
            if mask is not None and piece.token != token:
                bits = mask.bits(piece.begin, piece.size)
            result = answer(piece, function, common, Job(index, token, bits, extra))
            assert result is not None
            return result

        return side_by_side(lambda both: work(*both), list(zip(indices, extras, strict=True)), N_THREADS)
