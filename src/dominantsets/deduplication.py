r"""Groups of near copies: no chains, no threshold to tune, one object kept per group.

How far apart two copies may be depends on what surrounds them, so every pair is measured against its
background. With the distance e (1 - similarity, or the squared Euclidean distance) and the distance b from an
object to its 50th neighbor, the *nearness* of a pair is

.. math:: u_{ij} = 1 - e_{ij} / \min(b_i, b_j),

1 for identical objects and about 0 for a pair that is no closer than its surroundings. Groups are merged as
long as the mean nearness between two of them reaches a boundary t and no pair has less than t / 2; an object
leaves a group if its own mean nearness to the others is below t. So a chain, with ends far apart, is none.

The first groups, at ``start``, show two samples: the nearness of pairs within groups, and that of each object
to the nearest one outside its group. The boundary moves to where both medians are equally many deviations
away, but to no fewer than six from the outsiders. All of that is counted on the scale -log(1 - u), where a
difference is a ratio of distances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_array

from dominantsets._checks import check_choice, check_int, check_real, missing_extra, warn
from dominantsets._typing import Floats, Ints
from dominantsets.similarity.base import evenly
from dominantsets.similarity.factory import is_graph, matrix_of_graph

AFFINITIES = ("auto", "cosine", "euclidean", "jaccard", "precomputed")
FARTHEST = 0.25  # nearness below which no pair is looked at
DEVIATIONS = 6.0  # of -log(1 - u), from outsiders to the boundary at least (benchmarks/deduplicate.py)
COHESION = 0.5  # smallest nearness of two members of a group, as a share of the boundary
ROUNDS = 3  # most moves of the boundary; it rarely moves by 0.01 in the third
CLOSEST = 1.0 - 1e-9  # nearness of which a logarithm is taken
FEW = 10  # pairs in groups below which their deviation is not estimated
SAMPLE = 2_000  # objects whose nearest outsider is looked at
EXACT = 20_000  # dense rows up to which all pairs are compared
DRAWS = 6  # draws of pivots: two rows are compared if they have the same nearest one in any draw
PIVOTS = 2.0  # pivots per square root of the number of rows
PLANE = 32  # dimensions in which pivots are compared
WIDEST = 1_000  # objects of a component above which the boundary is raised until it falls apart
LARGEST = 1e30  # distance below that of a row to itself, which is set to infinity
BLOCK = 2**24  # numbers of a block of similarities: 64 MB


@dataclass(frozen=True, eq=False)
class Duplicates:
    """The result of :func:`deduplicate`; print it for a summary.

    Attributes
    ----------
    labels : ndarray of int of shape (n,)
        Group of each object; -1 for an object without a copy.
    groups : list of ndarray of int
        Members of each group, in increasing order; the groups in the order of their first members.
    keepers : ndarray of int
        The member of each group with the largest mean nearness to the others; the first one at a tie.
    scales : ndarray of float
        Similarity per group from which an object counts as a copy there.
    boundary : float
        Nearness from which an object counts as a copy, for all groups.
    drops : dict of str to ndarray
        One entry per dropped object: ``member``, its ``keeper``, their ``similarity`` (for Euclidean data
        minus the distance), and the certificate ``nearness``, the mean nearness of the member to all others
        of its group, which is never below ``boundary``.
    """

    labels: Ints
    groups: list[Ints] = field(repr=False)
    keepers: Ints = field(repr=False)
    scales: Floats = field(repr=False)
    boundary: float
    drops: dict[str, Any] = field(repr=False)

    @property
    def kept(self) -> Ints:
        """Objects that stay: the keepers and all objects without a copy."""
        stays = self.labels < 0
        stays[self.keepers] = True
        return np.flatnonzero(stays)

    def to_frame(self) -> Any:
        """Return the drops as a pandas data frame."""
        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            raise missing_extra("to_frame needs", "io", "pandas") from error
        return pd.DataFrame(self.drops)

    def __repr__(self) -> str:
        kept, n = self.kept.size, self.labels.size
        return f"Duplicates({len(self.groups):,} groups, {kept:,} of {n:,} objects kept)"

    def __str__(self) -> str:
        lines = [f"{self!r}; a copy has nearness {self.boundary:.2f} or more."]
        for m, k, s, u in zip(*(column[:3] for column in self.drops.values()), strict=True):
            lines.append(f"  {m} is dropped for {k}: similarity {s:.3f}, nearness to its group {u:.2f}")
        return "\n".join(lines)


def deduplicate(X: Any, affinity: str = "auto", *, start: float = 0.5, max_size: int = 50) -> Duplicates:
    """Find groups of near copies and keep one object of each.

    Parameters
    ----------
    X : array, sparse matrix, sequence of str or of sets, or graph
        Features, one row per object; texts, compared by the tf-idf of their character trigrams; sets of
        tokens; or, with ``affinity="precomputed"``, a sparse matrix or graph of similarities from 0 to 1.
    affinity : {"auto", "cosine", "euclidean", "jaccard", "precomputed"}, default="auto"
        How objects are compared. "auto" takes "jaccard" for sets, "precomputed" for a graph and "cosine"
        for everything else. "jaccard" takes the nonzero columns of a row for its tokens.
    start : float, default=0.5
        Nearness at which the search for the boundary begins. The result hardly depends on it, unless there
        are fewer than ten pairs of copies: then it is the boundary, if it is far enough from chance.
    max_size : int, default=50
        Most near copies of one object. The neighbor of this rank is the background of an object, so that a
        larger group falls into pieces. Identical objects count once.

    Returns
    -------
    Duplicates
        Groups, keepers, and a reason for each drop.

    Notes
    -----
    All pairs of texts, sets, sparse rows and up to 20,000 dense rows are compared. Two of more dense rows are
    compared if they have the same nearest pivot in one of six random draws of pivots, so that a few pairs are
    missed; a fixed seed draws.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import deduplicate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 50))
    >>> copies = X[:30] + 0.05 * rng.normal(size=(30, 50))
    >>> found = deduplicate(np.vstack([X, copies]))
    >>> found
    Duplicates(30 groups, 200 of 230 objects kept)
    >>> found.groups[0].tolist(), int(found.drops["member"][0])
    ([0, 200], 200)
    """
    check_choice("affinity", affinity, AFFINITIES)
    if not 0.0 < check_real("start", start) < 1.0:
        raise ValueError(f"start must be between 0 and 1, got {start}.")
    max_size = check_int("max_size", max_size, 2)
    objects = _objects(X, affinity)
    if not np.isfinite(objects.norms).all():
        raise ValueError("the squares of some rows are too large for their type; divide X by a constant.")
    first = objects.identical()
    unique, place = np.unique(first, return_inverse=True)
    data = objects.only(unique)
    search = _Search(data, min(max_size, (unique.size + 1) // 2))
    boundary = search.settled(start)
    crowded = int((search.background < (1.0 - boundary) * np.median(search.background)).sum())
    if crowded:  # their background may be their own copies
        warn(
            f"{crowded} objects have {search.rank} others that are unusually near: if these are copies, "
            f"raise max_size={max_size} above their number."
        )
    return _told(data, search, boundary, search.grouped(boundary), place)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows, compared by their cosine."""

    rows: Any
    norms: Floats

    @property
    def scale(self) -> float:
        """Distance below which there is nothing but rounding."""
        return 1e-5

    @property
    def comparable(self) -> Ints:
        """Rows that can equal others: a row of zeros has no direction and no token."""
        return np.flatnonzero(self.norms)

    def only(self, chosen: Ints) -> _Rows:
        """Some of the rows, in increasing order."""
        if chosen.size == self.norms.size:
            return self
        return replace(self, rows=self.rows[chosen], norms=self.norms[chosen])

    def identical(self) -> Ints:
        """The first row that is equal to each."""
        first, seen, rows = np.arange(self.norms.size), dict[int, int](), self.rows
        for i in self.comparable:
            part = slice(rows.indptr[i], rows.indptr[i + 1]) if sp.issparse(rows) else i
            keys = (rows.indices[part], rows.data[part]) if sp.issparse(rows) else (rows[i],)
            j = seen.setdefault(hash(tuple(key.tobytes() for key in keys)), int(i))
            if j != i and not (rows[[i]] != rows[[j]]).sum():
                first[i] = j
        return first

    def apart(self, a: Ints, b: Ints) -> Any:
        """Distances e of all objects of one list to all of another, as a dense block."""
        inner = self._products(a, b)
        inner = inner.toarray() if sp.issparse(inner) else inner
        return self._distances(inner, self.norms[a][:, None], self.norms[b][None, :])

    def _products(self, a: Ints, b: Ints) -> Any:
        one = self.rows[a]
        return one @ (one if a is b else self.rows[b]).T  # of one array with itself BLAS computes half

    def apart_of_pairs(self, a: Ints, b: Ints) -> Floats:
        """Distances e of pairs."""
        step = max(1, BLOCK // self.rows.shape[1])
        parts = [(a[k : k + step], b[k : k + step]) for k in range(0, a.size, step)]
        found = [self._distances(self._inner(i, j), self.norms[i], self.norms[j]) for i, j in parts]
        return np.concatenate([np.zeros(0), *found])

    def _inner(self, i: Ints, j: Ints) -> Any:
        if sp.issparse(self.rows):
            return np.asarray(self.rows[i].multiply(self.rows[j]).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", self.rows[i], self.rows[j])

    def _distances(self, inner: Any, one: Any, other: Any) -> Any:
        """Distances from inner products, which are lost, and norms."""
        inner /= np.where(one > 0.0, one, np.inf)
        inner /= np.where(other > 0.0, other, np.inf)
        return np.maximum(np.subtract(1.0, inner, out=inner), 0.0, out=inner)

    def told(self, e: Floats) -> Floats:
        """Distances as they are reported: similarities."""
        return 1.0 - e

    def flat(self, plane: Any) -> Any:
        """Rows drawn on a plane, of length 1."""
        flat = np.empty((self.norms.size, PLANE), dtype=np.float32)
        for k in range(0, len(flat), EXACT):
            flat[k : k + EXACT] = self.rows[k : k + EXACT] @ plane
        return flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), np.float32(1e-30))

    def neighbors(self, rank: int, looked: Any) -> Iterator[tuple[Ints, Ints, Floats, Ints, Floats]]:
        """Near pairs, and the distance of each object to its neighbor of a rank, block by block.

        Objects that are looked at have all neighbors up to that rank, the others only those near enough.
        """
        for rows, pool in _cells(self):
            step = max(1, BLOCK // pool.size)
            for some in (rows[k : k + step] for k in range(0, rows.size, step)):
                e = self.apart(pool if some.size == pool.size else some, pool)
                e[np.arange(some.size), np.searchsorted(pool, some)] = np.inf
                kth = min(rank, max(1, pool.size - 1)) - 1
                edge = np.partition(e, kth, axis=1)[:, kth]
                farthest = np.where(looked[some], edge, (1.0 - FARTHEST) * edge)
                near = e <= np.minimum(farthest, LARGEST)[:, None]  # no row is its own neighbor
                i, j = divmod(np.flatnonzero(near), pool.size)
                yield some[i], pool[j], e[i, j], some, edge


class _Tokens(_Rows):
    """Sets as rows of zeros and ones."""

    def _distances(self, inner: Any, one: Any, other: Any) -> Any:
        return 1.0 - inner / np.maximum(one * one + other * other - inner, 1.0)


class _Points(_Rows):
    """Rows, compared by their squared Euclidean distance."""

    @property
    def scale(self) -> float:
        return 1e-10 * float(self.norms.max()) ** 2

    @property
    def comparable(self) -> Ints:
        return np.arange(self.norms.size)

    def _distances(self, inner: Any, one: Any, other: Any) -> Any:
        return np.maximum(one * one + other * other - 2.0 * inner, 0.0)

    def told(self, e: Floats) -> Floats:
        return 0.0 - np.sqrt(e)  # no -0.0

    def flat(self, plane: Any) -> Any:
        return (self.rows @ plane).astype(np.float32)


class _Nodes(_Rows):
    """Nodes of a graph of similarities; no two of them are the same."""

    @property
    def comparable(self) -> Ints:
        return np.zeros(0, dtype=np.int64)

    def _products(self, a: Ints, b: Ints) -> Any:
        return self.rows[a][:, b]

    def _inner(self, i: Ints, j: Ints) -> Any:
        return np.asarray(self.rows[i, j]).ravel()

    def neighbors(self, rank: int, looked: Any) -> Iterator[tuple[Ints, Ints, Floats, Ints, Floats]]:
        i, j = (ends.astype(np.int64) for ends in self.rows.tocoo().coords)
        e, edge = 1.0 - self.rows.data, np.ones(self.norms.size)
        at = self.rows.indptr[:-1] + rank - 1
        full = at < self.rows.indptr[1:]
        edge[full] = e[np.lexsort((e, i))][at[full]]
        yield i, j, e, np.arange(edge.size), edge


def _objects(X: Any, affinity: str) -> _Rows:
    """What was given, checked."""
    if isinstance(X, str):
        raise ValueError("X is one text; pass a sequence of texts, one per object.")
    if is_graph(X):
        affinity = "precomputed" if affinity == "auto" else affinity
        X = matrix_of_graph(X, affinity)
    if hasattr(X, "to_list"):  # a pandas or polars column
        X = X.to_list()
    if isinstance(X, Sequence) and not len(X):
        raise ValueError("X is empty: there is nothing to compare.")
    head = X[0] if isinstance(X, Sequence) else None
    if isinstance(X, np.ndarray) and X.dtype.kind in "UO" and X.ndim == 1 and X.size:
        X, head = list(X), X[0]
    if isinstance(head, str):
        X = _trigrams(X)
    elif isinstance(head, set | frozenset):
        X, affinity = _indicators(X), "jaccard" if affinity == "auto" else affinity
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    X = sp.csr_array(X) if sp.issparse(X) else X
    if affinity == "precomputed":
        return _Nodes(_similarities(X), np.ones(X.shape[0]))
    if affinity == "jaccard":
        X = sp.csr_array(X != 0, dtype=np.float32)
        X.eliminate_zeros()
    kind = {"jaccard": _Tokens, "euclidean": _Points}.get(affinity, _Rows)
    if sp.issparse(X):
        X.sort_indices()
        return kind(X, np.sqrt(np.asarray(X.multiply(X).sum(axis=1))))
    X = np.ascontiguousarray(X, dtype=np.float64 if affinity == "euclidean" else X.dtype)
    return kind(X, np.sqrt(np.einsum("ij,ij->i", X, X)))


def _trigrams(texts: Any) -> sp.csr_array:
    """Texts as the tf-idf of their trigrams, in single precision."""
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("X mixes texts with other objects; pass a sequence of str only.")
    try:
        trigrams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), dtype=np.float32)
        return sp.csr_array(trigrams.fit_transform(texts))
    except ValueError as error:
        raise ValueError("no text in X has a letter: there is nothing to compare.") from error


def _indicators(sets: Any) -> sp.csr_array:
    """Sets of tokens as rows of zeros and ones."""
    if not all(isinstance(one, set | frozenset) for one in sets):
        raise ValueError("X mixes sets with other objects; pass a sequence of sets only.")
    places: dict[Any, int] = {}
    columns = [places.setdefault(token, len(places)) for one in sets for token in one]
    ends = np.cumsum([0, *map(len, sets)])
    return sp.csr_array((np.ones(len(columns)), columns, ends), shape=(len(sets), max(1, len(places))))


def _similarities(X: Any) -> sp.csr_array:
    """A matrix of similarities from 0 to 1, without its diagonal."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"similarities of pairs are a square matrix; X is {X.shape[0]} × {X.shape[1]}.")
    X = sp.csr_array(X, copy=True)
    X.sum_duplicates()
    if X.nnz and not (X.data.min() >= 0.0 and X.data.max() <= 1.0):
        raise ValueError(
            f"similarities must be from 0 to 1, got {X.data.min():g} to {X.data.max():g}; divide them by the "
            "largest one."
        )
    if abs(X - X.T).max() > 1e-6:
        raise ValueError("the similarities are not symmetric; pass (X + X.T) / 2.")
    X.setdiag(0.0)
    X.eliminate_zeros()
    return X


class _Search:
    """Near pairs of distinct objects, the background of each object, and groups at any boundary."""

    def __init__(self, data: _Rows, rank: int) -> None:
        n = data.norms.size
        self.data, self.rank, self.background = data, rank, np.full(n, np.inf)
        self.sample = evenly(np.arange(n), SAMPLE)
        looked = np.zeros(n, dtype=bool)
        looked[self.sample] = True
        pairs, seen = [_NONE], [_NONE]
        for i, j, e, rows, edge in data.neighbors(rank, looked):
            self.background[rows] = np.minimum(self.background[rows], edge)
            seen.append((i[looked[i]], j[looked[i]], e[looked[i]]))
            pairs.append((i[i < j], j[i < j], e[i < j]))
        np.maximum(self.background, data.scale, out=self.background)  # not what rounding leaves
        self.first, self.second, self.near = self._measured(pairs, FARTHEST)
        self.of, self.to, self.nearness = self._measured(seen, 0.0)

    def _measured(self, found: list[Any], least: float) -> tuple[Ints, Ints, Floats]:
        """Distinct pairs of at least some nearness; cells share pairs."""
        i, j, e = (np.concatenate(part) for part in zip(*found, strict=True))
        near = self._nearness(e, i, j)
        i, j, near = i[near >= least], j[near >= least], near[near >= least]
        _, once = np.unique(i * np.int64(self.background.size) + j, return_index=True)
        return i[once], j[once], near[once]

    def _nearness(self, e: Any, i: Any, j: Any) -> Any:
        return 1.0 - e / np.minimum(self.background[i], self.background[j])

    def of_pairs(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """Distances and nearness."""
        e = self.data.apart_of_pairs(i, j)
        return e, self._nearness(e, i, j)

    def settled(self, start: float) -> float:
        """The boundary."""
        boundary = start
        for _ in range(ROUNDS):
            groups = self.grouped(boundary)
            out = groups[self.of] != groups[self.to]
            outside = np.zeros(groups.size)
            np.maximum.at(outside, self.of[out], self.nearness[out])
            level, spread = _lower(_log(outside[self.sample]))
            inside = _log(self.near[groups[self.first] == groups[self.second]])
            at = level + DEVIATIONS * spread
            counted = inside.size >= FEW and spread > 0.0
            if counted:
                typical = float(np.median(inside))
                wide = 1.4826 * float(np.median(np.abs(inside - typical)))
                at = max(at, (level * wide + typical * spread) / (wide + spread))
            least = max(float(-np.expm1(-at)), FARTHEST)
            if not counted:
                return max(boundary, least)
            boundary = least
        return boundary

    def grouped(self, boundary: float) -> Ints:
        """The smallest member of the group of each object."""
        groups, limit = np.arange(self.background.size), np.full(self.near.size, boundary)
        while True:
            linked = self.near >= limit
            ends = (self.first[linked], self.second[linked])
            links = sp.coo_array((np.ones(ends[0].size, dtype=np.int8), ends), shape=(groups.size,) * 2)
            component = connected_components(links, directed=False)[1]
            sizes = np.bincount(component)
            wide = linked & (sizes[component[self.first]] > WIDEST)
            if not wide.any():
                break
            limit[wide] = np.nextafter((limit[wide] + 1.0) / 2.0, 2.0)  # in the end above 1: it falls apart
        lowest = np.full(sizes.size, groups.size)
        np.minimum.at(lowest, component, groups)
        groups[:] = lowest[component]
        # where all pairs are near, so is every mean
        full = np.bincount(component[ends[0]], minlength=sizes.size) == sizes * (sizes - 1) // 2
        order, stops = np.argsort(component, kind="stable"), np.cumsum(sizes)
        for k in np.flatnonzero(~full):
            members = order[stops[k] - sizes[k] : stops[k]]
            near = self._nearness(self.data.apart(members, members), members[:, None], members[None, :])
            np.fill_diagonal(near, 1.0)
            groups[members] = members
            for part in _parts((near + near.T) / 2.0, boundary):
                groups[members[part]] = members[part].min()
        return groups


_NONE = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))


def _parts(near: Floats, boundary: float) -> Iterator[Ints]:
    """Groups of objects by mean nearness, without members that are not near to the others."""
    near = np.where(near < COHESION * boundary, -float(len(near)), near)  # outweighs all others of its group
    tree = linkage(squareform(1.0 - near, checks=False), "average")
    labels = fcluster(tree, 1.0 - boundary, "distance")
    for label in range(1, labels.max() + 1):
        part = np.flatnonzero(labels == label)
        while part.size > 1:
            means = (near[np.ix_(part, part)].sum(axis=1) - 1.0) / (part.size - 1)
            if means.min() >= boundary:
                break
            part = np.delete(part, means.argmin())
        yield part


def _cells(data: _Rows) -> Iterator[tuple[Ints, Ints]]:
    """Objects, and those that they are compared with, in increasing order.

    All of them, or those that share a pivot: pivots are rows, compared in a plane drawn at random. Copies of
    sparse rows are too far apart for that: of 7,000 among 24,000 texts a fifth was missed.
    """
    n = data.norms.size
    if n <= EXACT or sp.issparse(data.rows):
        yield np.arange(n), np.arange(n)
        return
    rng = np.random.default_rng(0)
    for _ in range(DRAWS):
        plane = rng.normal(size=(data.rows.shape[1], PLANE)).astype(np.float32)
        flat = data.flat(plane)
        pivots = flat[rng.choice(n, int(PIVOTS * np.sqrt(n)), replace=False)]
        # the nearest pivot p has the largest <x, p> - |p|² / 2, which is one product with a column of ones
        half = -0.5 * np.einsum("ij,ij->i", pivots, pivots)
        pivots, flat = np.column_stack([pivots, half]).T, np.column_stack([flat, np.ones(n, np.float32)])
        cell, step = np.empty(n, dtype=np.int64), BLOCK // pivots.shape[1]
        for k in range(0, n, step):
            cell[k : k + step] = (flat[k : k + step] @ pivots).argmax(axis=1)
        order = np.argsort(cell, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(cell[order])) + 1):
            if members.size > 1:
                yield members, members


def _log(nearness: Floats) -> Floats:
    """The scale of decisions: its differences are ratios of distances."""
    return -np.log1p(-np.minimum(nearness, CLOSEST))


def _lower(values: Floats) -> tuple[float, float]:
    """The median and the deviation of a normal distribution with the same quantiles 0.05 and 0.25.

    Copies that are still missing make the upper half larger.
    """
    least, low = np.quantile(values, [0.05, 0.25])
    deviation = float(low - least) / (1.6449 - 0.6745)
    return float(low) + 0.6745 * deviation, deviation


def _told(objects: _Rows, search: _Search, boundary: float, group: Ints, place: Ints) -> Duplicates:
    """What is said of the groups; ``place`` is the distinct object that each is equal to."""
    n = place.size
    sizes = np.bincount(group[place], minlength=group.size)
    # nearness of distinct members to all others of their group
    many = np.flatnonzero(np.bincount(group, minlength=group.size)[group] > 1)
    ones = sp.csr_array((np.ones(many.size), (many, group[many])), shape=(group.size,) * 2)
    i, j = (ones @ ones.T).tocoo().coords
    i, j = i[i != j], j[i != j]
    near = search.of_pairs(i, j)[1]
    others = np.bincount(i, minlength=group.size)
    mean = np.where(others > 0, np.bincount(i, near, group.size) / np.maximum(others, 1), 1.0)
    # the keeper: of the largest mean nearness, then the first one
    order = np.lexsort((np.arange(n), -np.round(mean[place], 9), group[place]))
    keeper = np.full(group.size, -1)
    keeper[group[place][order][::-1]] = order[::-1]
    found = np.unique(group[place], return_index=True)[0]
    found = found[sizes[found] > 1]
    by_group = np.argsort(group[place], kind="stable")
    stops = np.cumsum(sizes)
    groups = [by_group[stops[g] - sizes[g] : stops[g]] for g in found]
    rank = np.argsort([members[0] for members in groups]) if groups else np.zeros(0, dtype=np.int64)
    groups, found = [groups[k] for k in rank], found[rank]
    number = np.full(group.size, -1)
    number[found] = np.arange(found.size)
    labels = number[group[place]]
    member = np.flatnonzero((labels >= 0) & (keeper[group[place]] != np.arange(n)))
    kept = keeper[group[place[member]]]
    apart = search.of_pairs(place[member], place[kept])[0]
    apart[place[member] == place[kept]] = 0.0
    widest = np.full(group.size, np.inf)
    np.minimum.at(widest, group, search.background)
    scales = objects.told((1.0 - min(boundary, 1.0)) * widest[found])
    drops = {
        "member": member,
        "keeper": kept,
        "similarity": objects.told(apart),
        "nearness": mean[place[member]],
    }
    return Duplicates(labels, groups, keeper[found], scales, boundary, drops)
