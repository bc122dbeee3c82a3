"""Weights in ``fit``: what stands for m objects is fitted as m copies, which are then made one again.

Scales, noise and the choice of an affinity are about how many objects there are where, so that the answer is
that of the repeated rows, to the last bit. Copies share their weight equally (docs/theory-weights.md): added
up, it is a dominant set of the weighted objects, with the same value, gap and margin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.fitting.placing import Placing
from dominantsets.labels.partition import memberships_of
from dominantsets.rows.foreign import is_tensor
from dominantsets.similarity import Similarity
from dominantsets.similarity.data import Data
from dominantsets.similarity.factory import PRECOMPUTED, is_dask, is_graph
from dominantsets.similarity.source import as_given
from dominantsets.solvers import DominantSet
from dominantsets.solvers.weights import checked_weights

MOST = 2_000_000  # copies, unless there are more objects


def counts_of(weights: Floats) -> Ints:
    """How many copies of each object there are.

    Whole numbers are meant as they are. Others are rounded, so that every run of objects has the copies that
    it weighs, to one; those that add up to less than one for an object say only how objects compare, and are
    scaled to one on average.

    Parameters
    ----------
    weights : ndarray
        None of them negative, some positive.

    Returns
    -------
    ndarray of int
        One number for each object.

    Examples
    --------
    >>> import numpy as np
    >>> counts_of(np.array([3.0, 0.0, 1.0]))
    array([3, 0, 1])
    >>> counts_of(np.array([0.5, 0.5, 1.5, 1.5]))
    array([0, 1, 1, 2])
    """
    total, least = float(weights.sum()), float(np.count_nonzero(weights))
    if total <= max(MOST, least) and (weights == np.rint(weights)).all():
        return weights.astype(np.int64)
    wanted = np.rint(min(max(total, least), max(float(MOST), least)))
    ends = np.cumsum(weights) * (wanted / total)
    ends[-1] = wanted
    return np.asarray(np.diff(np.floor(ends + 1e-9).astype(np.int64), prepend=0))


def without_direction(X: Any, affinity: Any, params: dict[str, Any] | None) -> Flags | None:
    """Which rows in memory have no direction, where directions are compared; None if all have one."""
    words = affinity == "auto" and sp.issparse(X)
    directions = words or affinity == "cosine" or (params or {}).get("metric") == "cosine"
    if not (
        isinstance(affinity, str) and directions and isinstance(X, (np.ndarray, sp.sparray, sp.spmatrix))
    ):
        return None
    if X.ndim != 2 or not np.issubdtype(X.dtype, np.number):
        return None  # refused by who takes it
    empty = ~X.any(axis=1) if isinstance(X, np.ndarray) else np.asarray(abs(X).sum(axis=1)).ravel() == 0
    return np.asarray(empty) if np.any(empty) else None


def _rows(X: Any) -> Any:
    """X as what has rows: lists become arrays, and sparse matrices CSR."""
    if sp.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


@dataclass(frozen=True, eq=False)
class Copies:
    """Objects, some of them several times.

    Attributes
    ----------
    counts : ndarray of int
        How many copies each object has.
    objects : ndarray of int
        The object of each copy.
    pairwise : bool
        Whether columns are objects too.
    placed : bool
        Whether objects without a copy are there all the same: they have the labels that ``predict`` gives.
    """

    counts: Ints
    objects: Ints
    pairwise: bool = False
    placed: bool = False

    @classmethod
    def of(cls, sample_weight: Any, X: Any, affinity: Any) -> Copies | None:
        """The copies of rows that are in memory; None where every object is there once."""
        if isinstance(X, Similarity) or is_dask(X) or is_tensor(X) or isinstance(affinity, Similarity):
            raise ValueError(
                f"fit takes sample_weight with rows in memory, not with a {type(X).__name__}; solve and peel "
                "take it for every similarity."
            )
        if is_graph(X):
            raise ValueError(
                "fit takes sample_weight with a sparse matrix, not with a graph; pass its matrix, such as "
                "nx.to_scipy_sparse_array(graph), with affinity='precomputed'."
            )
        pairwise = isinstance(affinity, str) and affinity in PRECOMPUTED
        n = _rows(X).shape[0]
        counts = counts_of(checked_weights(sample_weight, n))
        if (counts == 1).all():
            return None
        return cls(counts, np.repeat(np.arange(n), counts), pairwise)

    @classmethod
    def only(cls, some: Ints, n: int) -> Copies:
        """Some of n objects, in increasing order; the others are placed by ``predict``."""
        return cls(np.bincount(some, minlength=n), some, placed=True)

    @property
    def firsts(self) -> Ints:
        """The first copy of each object that has one."""
        return np.flatnonzero(np.diff(self.objects, prepend=-1))

    @property
    def present(self) -> Ints:
        """Objects that have a copy."""
        return np.flatnonzero(self.counts)

    @property
    def absent(self) -> Ints:
        """Objects that have none."""
        return np.flatnonzero(self.counts == 0)

    def rows(self, X: Any, affinity: Any) -> Any:
        """X with all copies; two are as alike as any two objects are, and in a graph have no edge."""
        if not self.pairwise:
            return _safe_indexing(_rows(X), self.objects)
        if sp.issparse(X):
            return sp.csr_array(X)[self.objects][:, self.objects]
        A = np.array(X, dtype=np.float64)
        if A.ndim == 2 and A.shape[0] == A.shape[1] and affinity == "precomputed":
            np.fill_diagonal(A, -np.inf)
            np.fill_diagonal(A, A.max(initial=0.0))
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            return A  # refused by who takes it
        repeated = A[np.ix_(self.objects, self.objects)]
        np.fill_diagonal(repeated, 0.0)
        return repeated

    def without(self, X: Any) -> Any:
        """The rows of objects that have no copy."""
        return _safe_indexing(_rows(X), self.absent)

    def columns(self, X: Any) -> Any:
        """Similarities of new objects to the objects as those to all copies."""
        return X[:, self.objects] if self.pairwise else X

    def fold(self, values: Any, absent: Any) -> Any:
        """Of each object what its copies have alike, and ``absent`` where there are none."""
        out = np.empty(self.counts.size, dtype=values.dtype)
        out[self.present], out[self.absent] = values[self.firsts], absent
        return out

    def fold_objects(self, copies: Ints) -> Ints:
        """The objects whose first copies are among these, in increasing order."""
        return np.sort(self.objects[np.intersect1d(copies, self.firsts)])

    def fold_cluster(self, cluster: DominantSet) -> DominantSet:
        """The same set of objects, the weights of copies added up."""
        members, inverse = np.unique(self.objects[cluster.members], return_inverse=True)
        weights = np.zeros(members.size)
        np.add.at(weights, inverse, cluster.weights)
        undecided = np.unique(self.objects[cluster.undecided])
        return replace(cluster, members=members, weights=weights, undecided=undecided, rounding=None)

    def unfold_cluster(self, cluster: DominantSet) -> DominantSet:
        """The same set of copies, which share a weight equally."""
        share = np.zeros(self.counts.size)
        share[cluster.members] = cluster.weights / self.counts[cluster.members]
        members = self.copies_of(cluster.members)
        return replace(cluster, members=members, weights=share[self.objects[members]], rounding=None)

    def copies_of(self, objects: Ints) -> Ints:
        """All copies of some objects."""
        copies = np.flatnonzero(np.isin(self.objects, objects))
        if not copies.size:
            which = "that were placed by predict" if self.placed else "of weight 0"
            raise ValueError(f"there is no set around objects {which}: {objects.tolist()}.")
        return copies


class Weighted:
    """An estimator with clusters whose objects may have weights."""

    @property
    def counts_(self: Any) -> Ints:
        """How many copies stood for each object of a fit with ``sample_weight``."""
        check_is_fitted(self)
        if not hasattr(self, "_copies"):
            return np.ones(self._n_objects, dtype=np.int64)
        return self._copies.counts  # type: ignore[no-any-return]

    def _fold_rows(self: Any, data: Data, fitted: Ints | None) -> Copies | None:
        """What was fitted to rows that came here from elsewhere, or to some of all, as a fit of all."""
        copies = None if fitted is None else Copies.only(fitted, data.n)
        if copies is not None:
            self._fold(copies, data)
        self._came_here = data.is_elsewhere
        if is_dask(data.X):
            self._chunks = tuple(data.X.chunks[0])
            for name in ("labels_", "core_labels_", "memberships_", "probabilities_"):
                setattr(self, name, as_given(self.similarity_, getattr(self, name), self._chunks))
        return copies

    def _fold(self: Any, copies: Copies, X: Any) -> None:
        """What was fitted to copies, as one of the objects; those without a copy are like new ones."""
        absent = copies.absent
        labels, cores = copies.fold(self.labels_, -1), copies.fold(self.core_labels_, -1)
        probabilities = copies.fold(self.probabilities_, 0.0)
        if copies.placed:
            there, typical = Placing.of(self).everywhere(X)
            labels[absent], probabilities[absent] = there[absent], typical[absent]
            self.selection_ = self.selection_.placed(labels)
        self._copies = copies
        if copies.pairwise:
            self.n_features_in_ = copies.counts.size
        if absent.size and not copies.placed:
            labels[absent] = self.predict(copies.without(X))
        self.labels_, self.core_labels_, self.probabilities_ = labels, cores, probabilities
        self.clusters_ = [copies.fold_cluster(cluster) for cluster in self.clusters_]
        self.exemplars_ = np.array([cluster.exemplar for cluster in self.clusters_], dtype=np.int64)
        self.memberships_ = memberships_of(self.clusters_, cores)
        self.assignment_rate_ = float((labels >= 0).mean())
