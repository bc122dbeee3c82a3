"""The base class of similarities: what every solver asks of data.

What only some parts of the package ask stands beside it, one purpose per file, each as a function of a
similarity that kinds with a way of their own register with: :mod:`~dominantsets.similarity.bounds`
(certificates), :mod:`~dominantsets.similarity.solving` (special solvers, weights),
:mod:`~dominantsets.similarity.expansion` (global optima, seeds), :mod:`~dominantsets.similarity.arrivals`
(new objects), :mod:`~dominantsets.similarity.located` (groups of points and their labels) and
:mod:`~dominantsets.similarity.source` (where the data are).
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dominantsets._checks import require_memory
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import row_blocks
from dominantsets.rows.base import Rows

HASHED = 256  # objects with hashed similarities, where only a function can reach the data


def off_diagonal(block: Floats, rows: Ints, cols: Ints) -> Floats:
    """Set the entries where row and column are the same object to zero, in place."""
    block[np.equal.outer(rows, cols)] = 0.0
    return block


def evenly(objects: Ints, count: int) -> Ints:
    """Up to ``count`` of the objects, spread evenly over their order."""
    if objects.size <= count:
        return objects
    return objects[np.linspace(0, objects.size - 1, count).astype(np.int64)]


def hashed(*parts: Any) -> str:
    """A hash of arrays (read in chunks), and of the printed form of other values."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if not isinstance(part, np.ndarray):
            digest.update(str(part).encode())
            continue
        digest.update(f"{part.dtype} {part.shape}".encode())
        for rows in row_blocks(len(part), max(1, part.nbytes // max(1, len(part)))):
            digest.update(np.ascontiguousarray(part[rows]).tobytes())
    return digest.hexdigest()


class Similarity(ABC):
    r"""A symmetric similarity A of n objects with a zero diagonal.

    A solver of :math:`\max_x x^T (A - \alpha I) x` asks only the questions below. A new kind has to
    answer ``block`` and ``cross``; the rest follows from them, and is overridden where the kind knows a
    cheaper way. Everything comes back in float64, whatever the data are stored in.

    Attributes
    ----------
    n : int
        Number of objects.
    n_features : int
        Columns of what describes a new object: features, or similarities to the n objects.
    offset : float or None
        The constant that this kind adds to make similarities nonnegative (the M of M - D²).
    self_similarity : float or None
        The similarity of an object to a copy of itself (the mean over the objects, where it differs);
        the largest similarity where only a matrix is given; None for a graph, which has no such level.
    components : ndarray of int or None
        The component of each object where objects of different ones must not be put together.
    zero_means_unrelated : bool
        Whether a similarity of 0 means "not alike". For path-based similarity it is only the largest
        distance there is, and a shift joins such objects too.
    degrees_error : float
        Largest standard error of ``degrees`` where it was sampled; 0.0 where it is exact.
    bounded_by_self_similarity : bool
        Whether no two objects are more alike than ``self_similarity``.
    is_sparse : bool
        Whether most similarities are 0 and ``sparse_gradient`` finds the others without a look at all
        objects.
    structure : str
        What the objects are, which says how a fit goes: "points" of a feature space, as ``located`` gives
        them, "ellipses" (points, each cluster with a metric of its own, see ``for_cluster``), a "network"
        whose edges are the data, a "tree", or "graph" (the neighbors of points, or a graph in pieces).
    costs_all_pairs : bool
        Whether a product with all objects of a cluster costs as many similarities as there are pairs.
    rows : Rows or None
        The store of the rows that similarities are made of, where there is one.
    """

    n: int
    n_features: int
    offset: float | None = None
    self_similarity: float | None = None
    components: Ints | None = None
    zero_means_unrelated: bool = True
    degrees_error: float = 0.0
    bounded_by_self_similarity: bool = False
    is_sparse: bool = False
    structure: str = "points"
    costs_all_pairs: bool = True
    rows: Rows | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n:,} objects)"

    @property
    def in_memory(self) -> bool:
        """Whether what it is made of is in the memory of this process."""
        return self.rows is None or self.rows.home == "memory"

    @abstractmethod
    def block(self, rows: Ints, cols: Ints) -> Floats:
        """The dense block A[rows][:, cols], as a new array."""

    @abstractmethod
    def cross(self, new: Any, cols: Ints) -> Floats:
        """Similarities of new objects to the objects ``cols``, as a new array."""

    @property
    def stored(self) -> NDArray[Any] | None:
        """An n × n array with column i as row i off the diagonal, where one exists; never made."""
        return None

    def column(self, i: int) -> Floats:
        """The column A[:, i]."""
        return self.block(np.arange(self.n), np.array([i]))[:, 0]

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        """The product A x for an x that is ``weights`` on ``support`` (distinct) and 0 elsewhere."""
        out = np.zeros(self.n)
        every = np.arange(self.n)
        for part in row_blocks(support.size, 8 * 256):
            for rows in row_blocks(self.n, 8 * (part.stop - part.start)):
                out[rows] += self.block(every[rows], support[part]) @ weights[part]
        return out

    def sparse_gradient(self, support: Ints, weights: Floats) -> tuple[Ints, Floats]:
        """As ``gradient``, but only for the support and the objects with a similarity to it.

        Returns those objects, in increasing order, and their products. For kinds that are ``is_sparse``.
        """
        raise NotImplementedError(f"{type(self).__name__} is not a sparse similarity.")

    def degrees(self, random_state: int | np.random.RandomState | None = 0) -> Floats:
        """Row sums of A. Kinds for which they cost O(n²d) may sample: see ``degrees_error``."""
        return self.gradient(np.arange(self.n), np.ones(self.n))

    def largest(self) -> float:
        """The largest similarity, or an upper bound of it; all pairs are visited where nothing is known."""
        if self.bounded_by_self_similarity:
            assert self.self_similarity is not None
            return self.self_similarity
        every, top = np.arange(self.n), 0.0
        for rows in row_blocks(self.n, 8 * self.n):
            top = max(top, float(self.block(every[rows], every).max()))
        return top

    def self_similarities(self, objects: Ints) -> Floats:
        """The similarity of objects to copies of themselves; for kinds that have a ``self_similarity``."""
        if self.self_similarity is None:
            raise NotImplementedError(f"{type(self).__name__} has no similarity of an object to its copy.")
        return np.full(len(objects), self.self_similarity)

    def toarray(self) -> Floats:
        """All of A as a dense array: for tests and small n. Refused where it cannot fit memory."""
        require_memory(
            8 * self.n * self.n,
            f"a dense {self.n:,} × {self.n:,} similarity",
            "the solvers work without the matrix: pass the features, with affinity='sqeuclidean' say",
        )
        every = np.arange(self.n)
        return self.block(every, every)

    def solver(self, algorithm: str, shift: float, start: Any) -> str:
        """The solver that a name means for this kind ("auto": the best one); refused where there is none."""
        return "pairwise" if algorithm == "auto" else algorithm

    def for_cluster(self, k: int) -> Similarity:
        """The similarity of which cluster k is a dominant set: this one, unless each has its own."""
        return self

    def part(self, objects: Ints) -> Similarity | None:
        """That of some objects by themselves, where it costs less than to leave out all others; else None."""
        return None

    def fingerprint(self) -> str:
        """A hash of the data, by which a checkpoint knows them again."""
        some = evenly(np.arange(self.n), HASHED)
        return hashed(type(self).__name__, self.n, self.block(some, some))
