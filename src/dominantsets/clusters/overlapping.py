"""All dominant sets of one similarity, which may overlap: with proof where it can be had, else by search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import check_choice, check_int, check_real
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.interrupts import listening
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.similarity.solving import solving_of
from dominantsets.solvers import (
    Callback,
    DominantSet,
    Monitor,
    Point,
    SolverOptions,
    make_problem,
)
from dominantsets.solvers.enumeration import survey
from dominantsets.solvers.options import check_run
from dominantsets.solvers.result import HALTS, End, Status
from dominantsets.solvers.tree import every_maximum

METHODS = ("auto", "complete", "deflate", "tabu", "multistart")
PATIENCE, MAX_NODES = 8, 100_000


@dataclass(frozen=True, eq=False)
class DominantSetList:
    """Dominant sets of one problem, highest value first.

    Attributes
    ----------
    clusters : list of DominantSet
        The sets, which may overlap.
    hits : ndarray of int
        How often each was found.
    complete : bool
        Whether it is proved that these are all dominant sets, and that each is one. Objects for which
        rounding cannot tell whether they are members are in the ``undecided`` of their set.
    method : str
        How they were found.
    n : int
        Number of objects.
    end : End or None
        Why the search ended early; None where it did not.
    n_left_out : int
        Sets that were found, but left out because they share more than ``max_overlap`` with a better one.
    """

    clusters: list[DominantSet]
    hits: Ints
    complete: bool
    method: str
    n: int
    end: End | None = None
    n_left_out: int = 0

    def __repr__(self) -> str:
        proof = "all there are" if self.complete else "perhaps not all"
        if self.n_left_out:
            proof = f"{self.n_left_out:,} more left out for their overlap"
        return f"DominantSetList({len(self)} dominant sets of {self.n:,} objects, {proof})"

    def __len__(self) -> int:
        return len(self.clusters)

    def __iter__(self) -> Iterator[DominantSet]:
        return iter(self.clusters)

    def __getitem__(self, k: int) -> DominantSet:
        return self.clusters[k]

    def memberships(self) -> sp.csr_array:
        """Weights of all objects (rows) in all sets (columns)."""
        sizes = [len(one) for one in self.clusters]
        columns = np.repeat(np.arange(len(sizes)), sizes)
        rows = (
            np.concatenate([one.members for one in self.clusters]) if sizes else np.empty(0, dtype=np.int64)
        )
        weights = np.concatenate([one.weights for one in self.clusters]) if sizes else np.empty(0)
        return sp.csr_array((weights, (rows, columns)), shape=(self.n, len(sizes)))

    def overlaps(self) -> Floats:
        """Shared members over all members, of every pair of sets (Jaccard)."""
        inside = self.memberships()
        inside.data[:] = 1.0
        shared = (inside.T @ inside).toarray()
        sizes = shared.diagonal()
        return np.asarray(shared / np.maximum(sizes[:, None] + sizes[None, :] - shared, 1.0))


class Deflated(Similarity):
    r"""A similarity less :math:`\lambda \sum_k d_k d_k^T`: what is like sets that are known is worth less."""

    def __init__(self, similarity: Similarity, columns: Floats, strength: float) -> None:
        self._similarity, self._d, self._strength = similarity, columns, strength
        self.n, self.n_features = similarity.n, similarity.n

    def block(self, rows: Ints, cols: Ints) -> Floats:
        out = self._similarity.block(rows, cols)
        out -= self._strength * (self._d[rows] @ self._d[cols].T) * (np.not_equal.outer(rows, cols))
        return out

    def cross(self, new: Any, cols: Ints) -> Floats:
        raise NotImplementedError("what is less than a similarity is of the objects themselves only.")

    def column(self, i: int) -> Floats:
        out = self._similarity.column(i) - self._strength * (self._d @ self._d[i])
        out[i] = 0.0
        return np.asarray(out)

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        out = self._similarity.gradient(support, weights)
        out -= self._strength * (self._d @ (weights @ self._d[support]))
        out[support] += self._strength * np.square(self._d[support]).sum(axis=1) * weights
        return np.asarray(out)


class _Search:
    """The sets found so far, from whatever starts."""

    def __init__(
        self, similarity: Similarity, shift: float, options: SolverOptions, monitor: Monitor
    ) -> None:
        self.similarity, self.shift, self.options, self.monitor = similarity, shift, options, monitor
        self.problem = make_problem(similarity, shift)
        self.clusters: list[DominantSet] = []
        self.hits: list[int] = []
        self._places: dict[bytes, int] = {}  # by members: no two strict maxima have the same ones
        self.end: End | None = None

    @property
    def halted(self) -> bool:
        """Whether to look for no more."""
        if self.end is None and self.monitor.out_of_time():
            self.end = End.TIME_LIMIT
        return self.end is not None

    def take(self, found: DominantSet) -> bool:
        """Whether a set is new; what is no strict maximum is none."""
        self.end = self.end or HALTS.get(found.status)
        if found.status is not Status.CONVERGED or found.strict is False:
            return False
        k = self._places.setdefault(found.members.tobytes(), len(self.clusters))
        if k < len(self.clusters):
            self.hits[k] += 1
            return False
        self.clusters.append(found)
        self.hits.append(1)
        return True

    def polished(self, x: Point) -> bool:
        return self.take(self.problem.solve_from(x, self.options, self.monitor))

    def deflate(self, patience: int) -> None:
        """Solve with what is known made worth less, then climb on f itself; more so where that is old."""
        self.take(self.problem.solve(self.options, self.monitor))
        misses, strength = 0, 2.0
        while misses < patience and self.clusters and not self.halted:
            columns = np.zeros((self.similarity.n, len(self.clusters)))
            for k, one in enumerate(self.clusters):
                columns[one.members, k] = one.weights / float(one.weights @ one.weights)
            unit = strength * max(max(one.value, one.threshold) for one in self.clusters)
            less = make_problem(
                Deflated(self.similarity, columns, unit),
                self.shift,
                extra=unit * np.square(columns).sum(axis=1),
            )
            inner = replace(self.options, algorithm="pairwise", tol=1e-6, start="vertex")
            reached = less.solve(inner, self.monitor)
            self.end = self.end or HALTS.get(reached.status)
            new = self.polished(Point(reached.members, reached.weights))
            misses, strength = (0, 2.0) if new else (misses + 1, 2.0 * strength)

    def tabu(self, patience: int) -> None:
        """Solve among objects of no set yet, then climb among all (after Chakeri)."""
        left, misses = make_problem(self.similarity, self.shift), 0
        while misses < patience and left.n_alive > 1 and not self.halted:
            reached = left.solve(self.options, self.monitor)
            misses = 0 if self.polished(Point(reached.members, reached.weights)) else misses + 1
            left.remove(reached.members)

    def multistart(self, patience: int) -> None:
        """Climb from objects in an order that spreads over all of them, until so many in a row are old."""
        misses = 0
        for i in np.random.RandomState(0).permutation(self.similarity.n):
            if misses >= patience or self.halted:
                break
            found = self.problem.solve(self.options, self.monitor, int(i))
            misses = 0 if self.take(found) else misses + 1


@listening()
def dominant_sets(
    S: Any,
    *,
    shift: float = 0.0,
    method: str = "auto",
    max_overlap: float = 1.0,
    patience: int = PATIENCE,
    max_nodes: int = MAX_NODES,
    max_time: float | None = None,
    callback: Callback | None = None,
) -> DominantSetList:
    r"""Find many dominant sets of the same objects; they may overlap.

    Strict local maxima of :math:`x^T (A - \alpha I) x` over the simplex of *all* objects, unlike those of
    :func:`peel`, each of which is one of what is left.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A precomputed similarity A, or what :func:`as_similarity` returned.
    shift : float, default=0.0
        The shift :math:`\alpha`, as in :func:`solve`.
    method : {"auto", "complete", "deflate", "tabu", "multistart"}, default="auto"
        "complete": all of them, with proof (docs/theory-all.md): path-based similarity, and sqeuclidean,
        cosine and linear with up to three features. "deflate": what is like known sets is made worth
        less, then the solver climbs on f itself. "tabu": starts among objects of no set yet. "multistart":
        starts at objects in random order. "auto" is "complete" where that can be had, "tabu" for graphs, else
        "deflate".
    max_overlap : float, default=1.0
        Leave out sets that share more than this (Jaccard) with a better one. A list from which sets were
        left out is not complete; ``n_left_out`` counts them.
    patience : int, default=8
        Old answers in a row after which a search ends.
    max_nodes : int, default=100_000
        Boxes after which "complete" gives up, with ``complete=False``.
    max_time : float, optional
        Seconds after which the search ends.
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop.

    Returns
    -------
    DominantSetList
        The sets, highest value first, each with its certificate; ``complete`` says whether these are proved
        to be all. "complete" lists only sets that are proved to be strict maxima, and where a tie or rounding
        leaves open whether there is another one, ``complete`` is False. The other methods may list sets whose
        ``strict`` is None: they converged, and neither is proved.

    Examples
    --------
    Two groups that share an object: both have it.

    >>> import numpy as np
    >>> from dominantsets import dominant_sets
    >>> A = np.zeros((5, 5))
    >>> A[:3, :3] = A[2:, 2:] = 1.0
    >>> np.fill_diagonal(A, 0.0)
    >>> [one.members.tolist() for one in dominant_sets(A)]
    [[0, 1, 2], [2, 3, 4]]
    """
    check_run(shift, max_time)
    check_choice("method", method, METHODS)
    overlap = check_real("max_overlap", max_overlap, at_least=0.0)
    check_int("patience", patience, at_least=1)
    check_int("max_nodes", max_nodes, at_least=1)
    similarity, shift, monitor = as_similarity(S), float(shift), Monitor(max_time, callback)
    how = solving_of(similarity).all_sets_by
    if method == "complete" and not how:
        raise ValueError(
            "method='complete' needs path-based similarity, or at most 3 features under 'sqeuclidean', "
            "'cosine' or 'linear'; use 'deflate'."
        )
    if method == "auto":  # among objects with few neighbours what is worth less is soon nowhere: tabu goes on
        method = "complete" if how else "tabu" if similarity.is_sparse else "deflate"
    monitor.n_left = similarity.n
    options = SolverOptions().chosen_for(similarity, shift, 0)
    if method == "complete" and how == "tree":
        clusters, decided = every_maximum(solving_of(similarity).require_path(), shift)
        strict = [one for one in clusters if one.strict]
        return _sorted(strict, [1] * len(strict), decided, method, similarity.n, overlap)
    if method == "complete":
        surveyed = survey(make_problem(similarity, shift), options, monitor, max_nodes)
        hits = [1] * len(surveyed.clusters)
        return _sorted(surveyed.clusters, hits, surveyed.complete, method, similarity.n, overlap)
    search = _Search(similarity, shift, options, monitor)
    ways: dict[str, Callable[[int], None]] = {
        "deflate": search.deflate,
        "tabu": search.tabu,
        "multistart": search.multistart,
    }
    ways[method](patience)
    found = _sorted(search.clusters, search.hits, False, method, similarity.n, overlap)
    return replace(found, end=End.INTERRUPTED if monitor.interrupted else search.end)


def _sorted(
    clusters: list[DominantSet], hits: list[int], complete: bool, method: str, n: int, max_overlap: float
) -> DominantSetList:
    """Highest value first, without those that share too much with a better one."""
    # values that differ by rounding are equal: the lowest member decides
    values = [float(f"{one.value:.12g}") for one in clusters]
    order = sorted(range(len(clusters)), key=lambda k: (-values[k], int(clusters[k].members[0])))
    every = DominantSetList(
        [clusters[k] for k in order], np.array(hits, dtype=np.int64)[order], complete, method, n
    )
    if max_overlap >= 1.0 or not clusters:
        return every
    shared = every.overlaps()
    kept: list[int] = []
    for k in range(len(every)):
        if all(shared[k, j] <= max_overlap for j in kept):
            kept.append(k)
    dropped = len(every) - len(kept)
    return replace(
        every,
        clusters=[every[k] for k in kept],
        hits=every.hits[kept],
        complete=complete and not dropped,
        n_left_out=dropped,
    )
