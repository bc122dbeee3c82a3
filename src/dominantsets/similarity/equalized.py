r"""Similarities by their rank alone (after Hou, Gao and Li, 2016, who equalise the histogram in bins).

.. math:: \bar a_{ij} = \frac{N(a_{ij}) - N_0}{N - N_0},

with :math:`N(v)` the number of pairs whose similarity is at most v, N all pairs and :math:`N_0` the pairs of
the least similarity: from 0 for these to 1 for the most alike, uniform in between. Ranks do not change under
an increasing map of the similarities, so neither does anything that is made of them: the width of a kernel,
say, is no parameter any more. On a graph the edges are ranked, and what is no edge stays none
(:math:`N_0 = 0`).

Up to 5,000 objects all pairs are ranked and kept. Above, 500 objects spread evenly over the rows stand for
all (125,000 pairs), and others are ranked among theirs; that is as invariant, because which objects they are
does not depend on the similarities. Up to 20,000 objects these ranks are kept too, in float32 and where
memory allows; above, every question computes what it needs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dominantsets._checks import memory_available
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import row_blocks
from dominantsets.similarity.base import Similarity, evenly, hashed, off_diagonal
from dominantsets.similarity.dense import Dense
from dominantsets.similarity.graph import Graph
from dominantsets.similarity.source import describe

KEPT = 5_000  # objects up to which all pairs are ranked, in 300 MB
SAMPLED = 500  # objects that stand for all, above
LARGE = 20_000  # objects up to which ranks are kept (1.6 GB), and from which the working set is the solver
TILE = 1_000  # side of the tiles in which they are made


class Levels(NamedTuple):
    """The different similarities that were seen, in increasing order, and their ranks from 0 to 1."""

    values: Floats
    ranks: Floats

    @classmethod
    def of(cls, seen: Floats, lowest: bool = True) -> tuple[Levels, Ints]:
        """The levels of similarities, and the level of each; ``lowest``: whether the least rank is 0."""
        values, which, counts = np.unique(seen, return_inverse=True, return_counts=True)
        below = np.cumsum(counts)
        least = int(below[0]) if lowest and values.size > 1 else 0
        return cls(values, (below - least) / (below[-1] - least)), which

    def rank(self, similarities: Floats) -> Floats:
        """The ranks of other similarities among these; 0 below all of them."""
        place = np.searchsorted(self.values, similarities, side="right")
        return np.concatenate([[0.0], self.ranks])[place]


class Equalized(Similarity):
    """Another similarity, by rank.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> A = np.array([[0.0, 9.0, 2.0], [9.0, 0.0, 4.0], [2.0, 4.0, 0.0]])
    >>> as_similarity(A, equalize=True).toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """

    self_similarity, bounded_by_self_similarity = 1.0, True

    def __init__(self, of: Similarity) -> None:
        if not of.in_memory or of.components is not None:
            raise ValueError(
                "equalize=True ranks all pairs, which needs rows in this process's memory and a way between "
                "any two objects; pass a NumPy array, or leave it out."
            )
        self.of, self.n, self.n_features = of, of.n, of.n_features
        self._dense: Dense | None = None
        free = memory_available()
        self._fits = of.n <= LARGE and (free is None or 2 * 4 * of.n**2 <= free)
        objects = np.arange(of.n) if of.n <= KEPT else evenly(np.arange(of.n), SAMPLED)
        upper = np.triu_indices(objects.size, 1)
        pairs = of.block(objects, objects)[upper]
        self.levels, which = Levels.of(pairs if pairs.size else np.zeros(1))
        if of.n <= KEPT:
            A = np.zeros((of.n, of.n))
            A[upper] = self.levels.ranks[which[: pairs.size]]
            self._dense = Dense.made_here(A + A.T, 1.0)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_dense": self._dense if self.n <= KEPT else None}

    @property
    def kept(self) -> Dense | None:
        """All ranks, where there are not too many; those of a sample are made when first asked for."""
        if self._dense is None and self._fits:
            A: Any = np.empty((self.n, self.n), dtype=np.float32)
            every = np.arange(self.n)
            for a in row_blocks(self.n, 1, TILE):
                for b in row_blocks(self.n, 1, TILE):
                    if b.start >= a.start:  # of two mirror images one is made
                        ranks = self.levels.rank(self.of.block(every[a], every[b]))
                        A[a, b], A[b, a] = ranks, ranks.T
            np.fill_diagonal(A, 0.0)
            self._dense = Dense.made_here(A, 1.0)
        return self._dense

    def solver(self, algorithm: str, shift: float, start: Any) -> str:
        name = "working-set" if algorithm == "auto" and self.n >= LARGE else algorithm
        return super().solver(name, shift, start)

    @property
    def stored(self) -> NDArray[Any] | None:
        return None if self.kept is None else self.kept.stored

    def block(self, rows: Ints, cols: Ints) -> Floats:
        if self.kept is not None:
            return self.kept.block(rows, cols)
        return off_diagonal(self.levels.rank(self.of.block(rows, cols)), np.asarray(rows), np.asarray(cols))

    def column(self, i: int) -> Floats:
        return super().column(i) if self.kept is None else self.kept.column(i)

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        kept = self.kept
        return super().gradient(support, weights) if kept is None else kept.gradient(support, weights)

    def cross(self, new: Any, cols: Ints) -> Floats:
        return self.levels.rank(self.of.cross(new, cols))

    def fingerprint(self) -> str:
        return hashed("equalized", self.of.fingerprint())


@describe.register(Equalized)
def _describe(similarity: Equalized, objects: Ints) -> Any:
    return describe(similarity.of, objects)


class EqualizedGraph(Graph):
    """The same edges, with their ranks as weights.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from dominantsets import as_similarity
    >>> A = sp.csr_array([[0.0, 9.0, 0.0], [9.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    >>> as_similarity(A, equalize=True).toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """

    def __init__(self, of: Graph) -> None:
        A = sp.csr_array(of.matrix.maximum(of.matrix.T))  # two that differ by rounding have one rank
        A.eliminate_zeros()
        self.levels, which = Levels.of(A.data.astype(np.float64), lowest=False)
        ranked = sp.csr_array((self.levels.ranks[which], A.indices, A.indptr), shape=A.shape)
        super().__init__(ranked)
        self.of, self.structure, self.n_features = of, of.structure, of.n_features

    def cross(self, new: Any, cols: Ints) -> Floats:
        given = self.of.cross(new, cols)
        return np.where(given > 0.0, self.levels.rank(given), 0.0)
