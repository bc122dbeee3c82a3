"""What a solver may ask of data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dominantsets._checks import require_memory
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import row_blocks


def off_diagonal(block: Floats, rows: Ints, cols: Ints) -> Floats:
    """Set the entries where row and column are the same object to zero, in place."""
    block[np.equal.outer(rows, cols)] = 0.0
    return block


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
        Whether most similarities are 0 and ``sparse_gradient`` finds the others without a look at all objects.
    on_device : bool
        Whether the features are torch tensors, which have solvers of their own.
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
    on_device: bool = False

    @abstractmethod
    def block(self, rows: Ints, cols: Ints) -> Floats:
        """The dense piece A[rows][:, cols], as a new array."""

    @abstractmethod
    def cross(self, new: Any, cols: Ints) -> Floats:
        """Similarities of new objects to the objects ``cols``, as a new array."""

    @property
    def rounding(self) -> float:
        """What may be left of a similarity of 0: nothing, unless it is a difference from an offset."""
        return 0.0 if self.offset is None or self.self_similarity is None else 1e-13 * self.self_similarity

    @property
    def stored(self) -> NDArray[Any] | None:
        """An n × n array whose row i is column i off the diagonal, where one exists; never made."""
        return None

    def column(self, i: int) -> Floats:
        """The column A[:, i]."""
        return self.block(np.arange(self.n), np.array([i]))[:, 0]

    def entry(self, i: int, j: int) -> float:
        """The single similarity A[i, j]."""
        return float(self.block(np.array([i]), np.array([j]))[0, 0])

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
        raise NotImplementedError(f"{type(self).__name__} is not a local similarity.")

    def degrees(self, random_state: int | np.random.RandomState | None = 0) -> Floats:
        """Row sums of A. Kinds for which they cost O(n²d) may sample: see ``degrees_error``."""
        return self.gradient(np.arange(self.n), np.ones(self.n))

    def payoff(self, new: Any, support: Ints, weights: Floats) -> Floats:
        """The products of new objects' similarities with an x on ``support``."""
        n_new = new.shape[0]
        out = np.empty(n_new)
        for rows in row_blocks(n_new, 8 * max(1, support.size)):
            out[rows] = self.cross(new[rows], support) @ weights
        return out

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

    def self_similarities_of_new(self, new: Any) -> Floats:
        """The same for new objects."""
        return self.self_similarities(np.arange(new.shape[0]))

    def ball(self, support: Ints, weights: Floats, f: float) -> tuple[Floats, float] | None:
        """Center and radius of the objects that have a payoff above f, where they are a ball."""
        return None

    def toarray(self) -> Floats:
        """All of A as a dense array: for tests and small n. Refused where it cannot fit memory."""
        require_memory(
            8 * self.n * self.n,
            f"a dense {self.n:,} × {self.n:,} similarity",
            "the solvers work without the matrix: pass the features, with affinity='sqeuclidean' say",
        )
        every = np.arange(self.n)
        return self.block(every, every)
