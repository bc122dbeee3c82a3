"""One protocol for feature rows: a named operation over blocks of consecutive rows, with replies that add up.

A store keeps its rows in blocks: one in memory, many in Dask chunks (in this process or on workers, on the
host or on their devices), one on a device. A caller that needs all rows sends one operation to every block
and gets the replies in the order of the blocks. A block remembers what it has worked out, but nothing that
could not be worked out again: its rows come from where the data come from, and which of its objects are alive
from a :class:`Mask`. So a block may be lost at any time, and made again anywhere.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.interrupts import check
from dominantsets.compiled.threads import blas, single_threaded
from dominantsets.rows.points import Points

DESCRIBED = 2**25  # numbers of sparse rows that may become dense
LARGEST = 1e140  # features beyond it, or below its inverse, cannot be squared and summed
_T = TypeVar("_T")
_J = TypeVar("_J")
_F = TypeVar("_F", bound=Callable[..., Any])


class Recipe(NamedTuple):
    """What turns stored rows into the rows of a formula: all that a block needs besides its data."""

    name: str  # keeps what a block remembers of different similarities apart
    formula: Any  # a Formula, or a kernel's
    center: Floats | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and (self.name, self.formula) == (other.name, other.formula)

    def __hash__(self) -> int:
        return hash((self.name, self.formula))


class Survey(NamedTuple):
    """A first look at the rows of a block: sums, and the least and the largest feature of each column."""

    total: Floats
    finite: bool
    least: Floats
    most: Floats

    def __add__(self, other: Any) -> Survey:
        return Survey(
            self.total + other.total,
            self.finite and other.finite,
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
        )


class Sums(NamedTuple):
    """Sums over the objects of a block that are alive, for row sums of the similarity."""

    rows: Floats
    squares: float  # of the rows' lengths
    longest: float  # the largest of those squares
    objects: float
    shortest: float  # the smallest of those squares

    def __add__(self, other: Any) -> Sums:
        return Sums(
            self.rows + other.rows,
            self.squares + other.squares,
            max(self.longest, other.longest),
            self.objects + other.objects,
            min(self.shortest, other.shortest),
        )


class Mixture(NamedTuple):
    """Weights on some objects, as d + 2 numbers: the weighted sums of rows and of biases, of the weights."""

    rows: Floats
    bias_sum: float
    total: float

    def __add__(self, other: Any) -> Mixture:
        return Mixture(self.rows + other.rows, self.bias_sum + other.bias_sum, self.total + other.total)

    def normalised(self) -> Mixture:
        """The mixture with its weights scaled to sum to 1."""
        return Mixture(self.rows / self.total, self.bias_sum / self.total, 1.0)


class Tails(NamedTuple):
    """Tails of Student's t: the logarithm of a density is ``level - power log(-score)``.

    ``half`` are half of the degrees of freedom; ``scales`` make z, half of the squared distance in variances,
    of the fall of the score from that at the center of each cluster.
    """

    half: float
    power: float
    level: float
    scales: Floats


class Cores(NamedTuple):
    r"""Centres of feature space, and a score of objects for each: constant - rate × squared distance.

    A centre is a mixture of objects x; the squared distance of object i from it, in the unit of
    coordinates, is :math:`(s_{ii} - 2 \sum_j x_j s_{ij} + x^T S x) / 2`; ``inside`` are the last terms. With
    tails the score is no logarithm of a density, but orders clusters as these do.
    """

    mixtures: list[Any]
    inside: Floats
    rates: Floats
    constants: Floats
    tails: Tails | None = None

    def one(self, k: int) -> Cores:
        """Core k alone."""
        part = slice(k, k + 1)
        return Cores(
            self.mixtures[part], self.inside[part], self.rates[part], self.constants[part], self.tails
        )

    def logs(self, scores: Any, log: Callable[[Any], Any]) -> Any:
        """The logarithms of densities that highest scores mean."""
        return scores if self.tails is None else self.tails.level - self.tails.power * log(-scores)


class Block(ABC):
    """Consecutive objects: their rows, which of them are alive, and what has been worked out of them."""

    def __init__(
        self, read: Callable[[], Any], begin: int, size: int, *, kept: bool = True, owned: bool = False
    ) -> None:
        self.begin, self.size = begin, size
        self.kept = kept  # whether the rows stay in memory; else they are read each time
        self.owned = owned  # whether there is room for a centred copy of them
        self.alive = np.ones(size, dtype=bool)
        self.token: object = None  # the identity of the mask, and its version
        self.lock = threading.Lock()
        self._read = read
        self._memo: dict[str, tuple[object, Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"lock": None, "_memo": {}, "token": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = threading.Lock()

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
        if known is None or not (known[0] is key or known[0] == key):
            known = self._memo[name] = (key, make())
        value: _T = known[1]
        return value

    def remembers(self, name: str) -> bool:
        """Whether something was worked out under a name."""
        return name in self._memo

    def forget(self, prefix: str, keep: set[str]) -> list[Any]:
        """Drop what is remembered under names with a prefix, except some; return it for reuse."""
        gone = [name for name in self._memo if name.startswith(prefix) and name not in keep]
        return [self._memo.pop(name)[1] for name in gone]

    @abstractmethod
    def do(self, operation: Any, *arguments: Any) -> Any:
        """The reply to an operation, by its form for where the rows are."""

    def places(self, objects: Ints) -> Ints:
        """Where objects of this block stand in it."""
        return np.asarray(objects) - self.begin if self.begin else np.asarray(objects)


class Mask:
    """Which objects are alive, kept by the problem; blocks hear where their part has changed."""

    def __init__(self, n: int, begins: Ints) -> None:
        self.alive = np.ones(n, dtype=bool)
        self._name = uuid.uuid4().hex
        self._ends = np.append(begins[1:], n)
        self._versions = np.zeros(begins.size, dtype=np.int64)

    def remove(self, objects: Ints) -> None:
        """Mark objects as removed."""
        self.alive[objects] = False
        self._versions[np.unique(np.searchsorted(self._ends, objects, side="right"))] += 1

    def token(self, index: int) -> tuple[str, int]:
        """The version of the mask that a block must have to be up to date."""
        return self._name, int(self._versions[index])

    def bits(self, begin: int, size: int) -> NDArray[np.uint8]:
        """The mask of a block, eight objects per byte."""
        return np.packbits(self.alive[begin : begin + size])


class Job(NamedTuple):
    """What one block is asked: which mask it must have (bits where it has another one), and what else."""

    block: int
    token: object
    bits: NDArray[np.uint8] | None
    extra: tuple[Any, ...]


class Round(NamedTuple):
    """What blocks are asked: an operation, what all of them get, the mask, and what each gets besides."""

    operation: Any
    common: tuple[Any, ...]
    mask: Mask | None
    indices: Sequence[int]
    extras: list[tuple[Any, ...]]


def torch_form_in(module: str) -> Callable[[_F], _F]:
    """Says of an operation in which module its form in torch has the same name, for blocks on a device."""

    def mark(operation: _F) -> _F:
        operation.in_torch = module  # type: ignore[attr-defined]
        return operation

    return mark


def answer(block: Block, operation: Any, common: tuple[Any, ...], job: Job) -> Any:
    """The reply of one block; None where its mask is an old one and no new one was sent.

    On one thread: the sums of a block must not depend on how many threads a machine has.
    """
    with block.lock, single_threaded():
        if job.token is not None and block.token != job.token:
            if job.bits is None:
                return None
            block.alive = np.unpackbits(job.bits, count=block.size).astype(bool)
            block.token = job.token
        return block.do(operation, *common, *job.extra)


def side_by_side(work: Callable[[_J], _T], jobs: list[_J], threads: int) -> list[_T]:
    """Results of many jobs on a few threads, while BLAS uses one: its sums depend on that number."""
    with blas().limit(limits=1, user_api="blas"):
        few, found = min(threads, len(jobs)), list[_T]()
        with ThreadPoolExecutor(few) if few > 1 else nullcontext() as pool:
            for reply in map(work, jobs) if pool is None else pool.map(work, jobs):
                check()  # jobs that have not begun are dropped
                found.append(reply)
        return found


class Rows(ABC):
    """All rows of one data set.

    Attributes
    ----------
    home : str
        Where they are: "memory", "chunks" or "tensors".
    n, d : int
        Rows and columns of the data.
    begins, sizes : ndarray of int
        First object and number of objects of every block; none is empty.
    n_rounds : int
        How many times all blocks, or some of them, were asked.
    """

    home: str
    describable = 2**62  # objects of which rows may be fetched at once
    large_sample = 0  # objects of a sample that cost little here
    device: Any = None

    def __init__(self, sizes: Sequence[int], d: int) -> None:
        self.sizes = np.array([size for size in sizes if size], dtype=np.int64)
        self.begins = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)
        self.n, self.d = int(self.sizes.sum()), d
        self.n_rounds = 0

    def __len__(self) -> int:
        return len(self.sizes)

    def ask(
        self,
        operation: Any,
        *common: Any,
        mask: Mask | None = None,
        each: Sequence[tuple[Any, ...]] | None = None,
        which: Sequence[int] | None = None,
    ) -> list[Any]:
        """One round: ``operation(block, *common, *each[index])`` of every block, or of some, in order.

        The operation is the name of one that every store has, or a function of a module, which blocks on the
        host can run (and others, if it is marked with :func:`torch_form_in`); a reply of None is not allowed.
        """
        indices = range(len(self)) if which is None else [int(index) for index in which]
        self.n_rounds += 1
        extras = [() if each is None else each[index] for index in indices]
        return self._replies(Round(operation, common, mask, indices, extras)) if extras else []

    @abstractmethod
    def _replies(self, asked: Round) -> list[Any]:
        """All replies of a round."""

    def total(self, operation: Any, *common: Any, **options: Any) -> Any:
        """The sum of the replies of one round."""
        return reduce(add, self.ask(operation, *common, **options))

    def every(self, operation: Any, *common: Any, **options: Any) -> NDArray[Any]:
        """The replies of one round, each with an entry per object, as one array."""
        return np.concatenate(self.ask(operation, *common, **options))

    def fetch(self, objects: Ints, operation: Any, *common: Any) -> Floats:
        """Rows by number, in the order asked for, in one round over the blocks that have them."""
        objects = np.asarray(objects)
        order = np.argsort(objects, kind="stable")
        parts = self.split(objects[order])
        which = [k for k, (part,) in enumerate(parts) if len(part)]
        out = np.empty((len(objects), self.d))
        if which:
            out[order] = np.concatenate(self.ask(operation, *common, each=parts, which=which))
        return out

    def mix(self, recipe: Recipe, objects: Ints, weights: Floats) -> Mixture:
        """The weighted sums of rows and of biases, in one round over the blocks that have the objects."""
        each = self.split(objects, weights)
        which = None if len(each) == 1 else [k for k, part in enumerate(each) if len(part[0])]
        if which is not None and not which:
            return Mixture(np.zeros(self.d), 0.0, 0.0)
        mixture: Mixture = self.total("mix", recipe, each=each, which=which)
        return mixture

    def mix_each(self, recipe: Recipe, sets: Sequence[tuple[Ints, Floats]]) -> list[Mixture]:
        """The same of many sets of objects."""
        return [self.mix(recipe, objects, weights) for objects, weights in sets]

    def mask(self) -> Mask:
        """A mask in which all objects are alive."""
        return Mask(self.n, self.begins)

    def split(self, objects: Ints, *others: NDArray[Any]) -> list[tuple[Any, ...]]:
        """Objects in increasing order, and what belongs to them, for every block."""
        cuts = np.searchsorted(objects, self.begins[1:])
        parts = [np.split(array, cuts) for array in (objects, *others)]
        return list(zip(*parts, strict=True))

    def cut(self, *arrays: NDArray[Any]) -> list[tuple[Any, ...]]:
        """Arrays with an entry for each object, for every block."""
        return list(zip(*(np.split(array, self.begins[1:]) for array in arrays), strict=True))

    def check(self) -> None:
        """Refuse rows that no similarity can be made of."""
        require_finite(self._survey.finite)
        require_square(max(float(self._survey.most.max()), -float(self._survey.least.min())))

    def mean(self) -> Floats:
        """The mean of all rows, see :func:`kept_between`."""
        return kept_between(self._survey.total / self.n, self._survey.least, self._survey.most)

    def least(self) -> float:
        """The least feature."""
        return float(self._survey.least.min())

    @cached_property
    def _survey(self) -> Survey:
        found: Survey = self.total("survey")
        return found

    def extreme(self, recipe: Recipe, limit: float) -> tuple[float, int, int] | None:
        """Over all pairs: the largest squared distance (least product, of rows that are not centred)."""
        return None

    def solver(self, algorithm: str, only: str) -> str:
        """The name of a solver that can be had where the rows are; "auto" where all of them can."""
        return algorithm

    @property
    def dense(self) -> bool:
        """Whether rows are stored dense."""
        return True

    def describes(self, count: int) -> bool:
        """Whether so many rows tell objects apart: sparse ones would have to become dense for that."""
        return self.dense or count * self.d <= DESCRIBED

    def only_block(self) -> Block:
        """The block of a store that has only one, in memory."""
        raise NotImplementedError(f"rows in {self.home} are not one block in memory.")

    def brought(self, new: Any) -> Any:
        """The rows of new objects, brought to this process."""
        return new

    def like(self, new: Any, in_memory: Callable[[Any], Rows]) -> Rows:
        """A store of new rows, to be asked what these are asked; ``in_memory`` makes one in memory."""
        return in_memory(self.brought(new))

    def part(self, objects: Ints) -> Rows | None:
        """A store of some of the rows, where one costs less than what is asked of all rows; else None."""
        return None

    def points(self, rows: Floats, extra: Floats) -> Any:
        """Points of a sample, worked on where these rows are."""
        return Points(rows, extra)

    def order_of(self, operation: Any, *common: Any) -> Callable[[Ints], Ints]:
        """Which objects have given ranks by an operation with a number for each."""
        order = np.argsort(self.every(operation, *common), kind="stable")
        return order.__getitem__

    def products_between(self, recipe: Recipe, rows: Ints, cols: Ints) -> tuple[Any, Any, Any]:
        """Inner products of chosen rows with chosen rows, and the squared lengths of both."""
        P, Q = self.fetch(rows, "take", recipe), self.fetch(cols, "take", recipe)
        return P @ Q.T, np.square(P).sum(axis=1), np.square(Q).sum(axis=1)

    def products_with(self, recipe: Recipe, new: Any, cols: Ints) -> tuple[Floats, Floats]:
        """Inner products of new rows with chosen rows, and the squared lengths of those."""
        Q = self.fetch(cols, "take", recipe)
        return np.asarray(new.take(slice(None)) @ Q.T), np.square(Q).sum(axis=1)

    def described(self, recipe: Recipe, objects: Ints, operation: str = "take") -> Any:
        """Rows that tell objects apart, as arrays of the library that works on them."""
        return self.fetch(objects, operation, recipe)

    def kernel_distances(self, recipe: Recipe, objects: Ints) -> Floats:
        """What the kernel of a recipe is a function of, for all pairs of some objects."""
        P = self.fetch(objects, "kernel_take", recipe)
        distances: Floats = recipe.formula.distances(P, P)
        return distances

    def kernel_solver(self, algorithm: str, best: str, start: Any) -> str:
        """The solver of a kernel of many rows, refused where the start would cost all pairs of them."""
        return best if algorithm == "auto" else algorithm

    def scatter(self, recipe: Recipe, objects: Ints, scale: Floats) -> Floats:
        """Second moments of rows u about their mean, each with its scale, or the smaller form of them."""
        return np.asarray(scatter_of(recipe.formula.root * self.fetch(objects, "take", recipe), scale))

    def fingerprint(self) -> str:
        """A hash of the data, the same for the same blocks wherever they are."""
        digest = hashlib.blake2b(digest_size=16)
        for part in self.ask("fingerprint"):
            digest.update(part)
        return digest.hexdigest()

    def as_given(self, per_object: NDArray[Any]) -> Any:
        """An array with an entry for each object, as the caller's own data are kept."""
        return per_object

    def balance(self) -> None:  # noqa: B027 (nothing to do where no worker can come)
        """Between two clusters: give new workers a share of the blocks, where there are any."""


class Detached(Rows):
    """Stands for rows in a saved model: their number, and where they were."""

    def __init__(self, rows: Rows) -> None:
        super().__init__([rows.n], rows.d)
        self.home = rows.home

    def _replies(self, asked: Round) -> list[Any]:
        raise RuntimeError(
            f"a saved model keeps what new objects need, not its {self.n:,} training rows; fit it again for "
            "anything else."
        )

    def brought(self, new: Any) -> Any:
        return np.asarray(new.cpu()) if hasattr(new, "cpu") else new


def kept_between(mean: Floats, least: Any, most: Any) -> Floats:
    """A mean that has been rounded, between the least and the largest number that it is of.

    So the mean of equal numbers is that number. Else rows that are all equal would be centred to the rounding
    of their sum, which is another one wherever they are, and their similarity would be made of it.
    """
    return np.asarray(np.clip(mean, least, most), dtype=np.float64)


def scatter_of(rows: Any, scale: Any) -> Any:
    """Second moments of rows about their mean, or the smaller matrix with the same largest eigenvalue."""
    rows = rows - scale @ rows / scale.sum()
    rows = rows * (scale**0.5)[:, None]
    return rows.T @ rows if len(rows) >= rows.shape[1] else rows @ rows.T


def require_finite(finite: bool) -> None:
    """Refuse features with NaN or infinite entries."""
    if not finite:
        raise not_finite("features")


def not_finite(what: str) -> ValueError:
    """The error of numbers that are missing."""
    return ValueError(f"the {what} have NaN or infinite entries; impute or drop those rows first.")


def require_square(largest: float) -> None:
    """Refuse features with squares beyond the range of floating point, by the largest in size."""
    if largest > LARGEST or 0.0 < largest < 1.0 / LARGEST:
        raise ValueError(
            f"the largest feature is {largest:.3g} in size, and its square leaves the range of floating "
            "point; divide the features by it."
        )
