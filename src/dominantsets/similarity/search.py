"""Search for nearest neighbours: exact, or by inverted lists on principal axes and then true distances."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import randomized_svd

from dominantsets._checks import check_choice
from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled import nearest as _nearest
from dominantsets.compiled.threads import N_THREADS, blas, row_blocks, thread_slices
from dominantsets.rows.base import side_by_side
from dominantsets.rows.foreign import is_tensor

EXACT_WORK = 10**11  # products n² d up to which "auto" looks at all pairs: a few seconds
FEW_FEATURES = 10  # up to which a tree makes the exact search fast for any number of objects
SLACK = 1e-6  # distances by lists are in float32
AXES = 64  # principal axes on which candidates are found
SAMPLE = 10_000  # objects from which the axes come
ROUNDS = 8  # of k-means, for the lists' centres
TRAINING = 50  # objects for each list in those rounds
PROBES = 24  # lists looked at, or 2, 4 or 8 times as many
ENOUGH = 0.95  # share of the true neighbours found with which no more are looked at
CROWDED = 4  # times the mean size above which a list is cut
CANDIDATES = 3  # for each neighbour asked for, of which true distances are taken
BLOCK = 2**22  # bytes of a block of products
SPLIT = 5_000  # rows per thread from which a tree is asked by several of them
ON_DEVICE = {"cuda": 2**16, "cpu": 0}  # objects up to which rows there are compared with all of them
KEPT = 2**22  # neighbors of all objects that are remembered
CHECKED = 200  # objects whose true neighbours are found, to say how many the search finds


_asked = threading.local()


@contextmanager
def searched_once() -> Iterator[None]:
    """Within, a search that is asked for the neighbors of the same array again remembers them.

    The array must not change meanwhile. What is remembered is that of this thread.
    """
    _asked.known = {}
    try:
        yield
    finally:
        _asked.known = None


def make_search(X: Any, k: int, search: str = "auto", n_jobs: int | None = None) -> Exact | Lists:
    """A search for the k nearest, as ``search`` says: "exact", "approximate" or "auto"."""
    n, d = X.shape
    dear = n * n * d > EXACT_WORK and d > FEW_FEATURES and not sp.issparse(X)
    if check_choice("search", search, ("auto", "exact", "approximate")) == "auto":
        search = "approximate" if dear else "exact"
    if search == "exact":
        return Exact(X, k, n_jobs)
    if sp.issparse(X):
        raise ValueError("search='approximate' needs dense features; use search='exact' for sparse ones.")
    return Lists(X, k)


class Search:
    """A search that is made when first asked for, and again after unpickling: files hold features only once.

    Attributes
    ----------
    rows : array
        The objects.
    recall : float
        Which share of the nearest is found, measured on some objects.
    slack : float
        By what share distances may be too small or too large.
    """

    def __init__(self, X: Any, k: int, search: str, n_jobs: int | None) -> None:
        self.rows, self._asked = X, (k, search, n_jobs)
        self._made: Exact | Lists | None = None
        self._own: tuple[Floats, Ints] | None = None
        self._there: Any = None  # the objects on a device
        self.recall, self.slack = self._index.recall, self._index.slack

    @property
    def _index(self) -> Exact | Lists:
        if self._made is None:
            self._made = make_search(self.rows, *self._asked)
        return self._made

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": None, "_own": None, "_there": None}

    def kneighbors(self, X: Any = None) -> tuple[Floats, Ints]:
        """Distances to the nearest of some rows, and which they are; of the objects without themselves.

        The rows may be a tensor where :meth:`may_be_there`.
        """
        if X is None:
            return self._of_objects()
        known = getattr(_asked, "known", None)
        if known is None:
            return self._of_new(X)
        name = id(self), id(X)
        if name not in known:
            known[name] = (X, self._of_new(X))  # the array stays, and so does its number
        found: tuple[Floats, Ints] = known[name][1]
        return found

    def _of_objects(self) -> tuple[Floats, Ints]:
        if self._own is not None:
            return self._own
        found = self._index.kneighbors()
        if found[1].size <= KEPT:
            self._own = found
        return found

    def _of_new(self, X: Any) -> tuple[Floats, Ints]:
        if not is_tensor(X):
            return self._index.kneighbors(X)
        if self._there is None or self._there.device != X.device:
            from dominantsets.rows.tensor_points import Landmarks

            self._there = Landmarks(self.rows, self._asked[0], X.device)
        found: tuple[Floats, Ints] = self._there.kneighbors(X)
        return found

    def may_be_there(self, device: str | None) -> bool:
        """Whether rows on a kind of device are compared with the objects on it; for None, on any."""
        most = max(ON_DEVICE.values()) if device is None else ON_DEVICE[device]
        return not sp.issparse(self.rows) and self.rows.shape[0] <= most

    def leave(self) -> None:
        """Keep no objects on a device."""
        self._there = None

    def copies(self, new: Any, nearest: Ints) -> Flags:
        """Which new rows are copies of the objects nearest to them."""
        if is_tensor(new):
            return np.asarray(self.kneighbors(new)[0][:, 0] == 0.0)  # there they are found from differences
        theirs = self.rows[nearest]
        if sp.issparse(theirs):
            return np.asarray(np.asarray(abs(theirs - new).sum(axis=1)).ravel() == 0.0)
        return np.asarray((np.asarray(theirs) == np.asarray(new)).all(axis=1))


class Exact:
    """The k nearest objects of each, by scikit-learn's search."""

    recall, slack = 1.0, 0.0

    def __init__(self, X: Any, k: int, n_jobs: int | None = None) -> None:
        self._search = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(X)
        self._n_jobs = n_jobs

    def kneighbors(self, X: Any = None) -> tuple[Floats, Ints]:
        """Distances and numbers of the k nearest of each row, the nearest first.

        Of the objects themselves, without themselves, where X is None.
        """
        rows = self._search.n_samples_fit_ if X is None else X.shape[0]
        several = self._n_jobs is None and len(thread_slices(rows, SPLIT)) > 1
        self._search.n_jobs = N_THREADS if several else self._n_jobs
        distances, nearest = self._search.kneighbors(X)
        return distances.astype(np.float64, copy=False), nearest


class Lists:
    """The k nearest objects of each, nearly: of those in the lists nearest to its own.

    Objects are put into about √n lists by k-means on their principal axes. The objects of a list are compared
    with those of the 24 lists nearest to it (more, where that finds less than 95 %), by blocks of inner
    products on the axes; the best 3 k by their true distances. Everything is the same in every run and for
    any number of threads.

    Attributes
    ----------
    recall : float
        The share of the true k nearest that is found, for 200 of the objects.
    """

    slack = SLACK

    def __init__(self, X: Any, k: int) -> None:
        self._k = k
        self._center = X.mean(axis=0, dtype=np.float64)  # float32 keeps more digits near 0
        rows = self._rows(X)
        with blas().limit(limits=1, user_api="blas"):
            self._axes = _axes(rows)
            short = self._shortened(rows)
            names, self._centers = _lists(short)
        self._order = np.argsort(names, kind="stable")
        self._ends = _ends(names, len(self._centers))
        self._full, self._short = rows[self._order], short[self._order]
        self._squares = np.square(self._short).sum(axis=1)
        self.recall = self._look_far_enough()

    def _rows(self, X: Any) -> Any:
        return np.ascontiguousarray(X - self._center, dtype=np.float32)

    def _shortened(self, rows: Any) -> Any:
        axes = self._axes
        return rows if axes is None else _in_blocks(lambda part: rows[part] @ axes, len(rows))

    def kneighbors(self, X: Any = None) -> tuple[Floats, Ints]:
        """As that of :class:`Exact`, nearly."""
        if X is None:
            order, own = self._order, np.arange(self._order.size)
            squares, nearest = self._search(self._full, self._short, own, self._ends)
        else:
            rows = self._rows(X)
            short = self._shortened(rows)
            names = _nearest_center(short, self._centers)
            order, own = np.argsort(names, kind="stable"), np.full(len(rows), -1)
            ends = _ends(names, len(self._centers))
            squares, nearest = self._search(rows[order], short[order], own, ends)
        distances, found = np.empty(squares.shape), np.empty(nearest.shape, dtype=np.int64)
        distances[order] = np.sqrt(squares)
        found[order] = self._order[nearest]
        return distances, found

    def _search(self, full: Any, short: Any, own: Ints, ends: Ints) -> tuple[Any, Ints]:
        """The same for rows that are sorted by list; objects are numbered by their place in the lists."""
        sizes = np.diff(self._ends)
        lists = [b for b in range(sizes.size) if ends[b + 1] > ends[b]]
        nearest = np.empty((len(full), self._k), dtype=np.int64)
        squares = np.empty((len(full), self._k), dtype=np.float32)

        def look(b: int) -> None:
            away = np.square(self._centers - self._centers[b]).sum(axis=1)
            near = np.argsort(away, kind="stable")
            enough = int(np.searchsorted(sizes[near].cumsum(), self._k + 1)) + 1
            near = np.sort(near[: max(self._probes, enough)])
            among = np.concatenate([np.arange(self._ends[a], self._ends[a + 1]) for a in near])
            others, lengths = self._short[among].T, self._squares[among]
            for part in row_blocks(ends[b + 1] - ends[b], 4 * among.size):
                here = slice(ends[b] + part.start, ends[b] + part.stop)
                best = np.empty((here.stop - here.start, CANDIDATES * self._k), dtype=np.int64)
                mine = np.searchsorted(among, own[here])
                _nearest.smallest(short[here] @ others, lengths, np.where(own[here] < 0, -1, mine), best)
                best = np.where(best < 0, -1, among[best])
                _nearest.rerank(full[here], self._full, own[here], best, nearest[here], squares[here])

        side_by_side(look, lists, N_THREADS)
        return squares, nearest

    def _look_far_enough(self) -> float:
        """Set how many lists are looked at; the share of some objects' true neighbours that is found then."""
        n, k = len(self._full), self._k
        some = np.sort(np.random.RandomState(0).permutation(n)[:CHECKED])
        none = np.full(some.size, -1)

        def best(part: slice) -> Ints:
            out = np.empty((some.size, CANDIDATES * k), dtype=np.int64)
            squares = np.square(self._full[part]).sum(axis=1)
            _nearest.smallest(self._full[some] @ self._full[part].T, squares, none, out)
            return np.where(out < 0, -1, out + part.start)

        near = np.hstack(side_by_side(best, list(row_blocks(n, 4 * CHECKED, BLOCK)), N_THREADS))
        nearest, true = np.empty((some.size, k), dtype=np.int64), np.empty((some.size, k), dtype=np.float32)
        _nearest.rerank(self._full[some], self._full, some, near, nearest, true)
        ends = _ends(np.searchsorted(self._ends, some, side="right") - 1, self._ends.size - 1)
        for self._probes in (PROBES, 2 * PROBES, 4 * PROBES, 8 * PROBES):
            found, _ = self._search(self._full[some], self._short[some], some, ends)
            recall = float((found <= true[:, -1:]).mean())  # of those equally far any will do
            if recall >= ENOUGH:
                break
        return recall


def _axes(rows: Any) -> Any:
    """The principal axes of a sample, as columns; None where there are few features."""
    if rows.shape[1] <= 2 * AXES:
        return None
    some = np.random.RandomState(0).permutation(len(rows))[:SAMPLE]
    _, _, axes = randomized_svd(rows[some], AXES, n_iter=2, random_state=0)
    return np.ascontiguousarray(axes.T, dtype=np.float32)


def _lists(rows: Any) -> tuple[Ints, Any]:
    """The list of each row, and the lists' centres."""
    n = len(rows)
    count = max(1, int(np.sqrt(n)))
    some = rows[np.random.RandomState(0).permutation(n)[: TRAINING * count]]
    centers = some[:count].copy()
    for _ in range(ROUNDS):
        centers = _means(some, _nearest_center(some, centers), centers)
    names = _nearest_center(rows, centers)
    names = _cut(rows, names, CROWDED * n // count)
    return names, _means(rows, names, np.zeros((int(names.max()) + 1, rows.shape[1]), dtype=np.float32))


def _cut(rows: Any, names: Ints, limit: int) -> Ints:
    """Lists without crowded ones: these are cut along the axis on which their objects differ most."""
    order = np.argsort(names, kind="stable")
    parts = []
    for members in np.split(order, np.bincount(names).cumsum()[:-1]):
        pieces = -(-members.size // limit)
        if pieces > 1:
            widest = rows[members].var(axis=0).argmax()
            members = members[np.argsort(rows[members, widest], kind="stable")]
        parts += [part for part in np.array_split(members, max(1, pieces)) if part.size]
    for name, members in enumerate(parts):
        names[members] = name
    return names


def _means(rows: Any, names: Ints, before: Any) -> Any:
    """The mean of each list, or what it was before where it is empty."""
    counts = np.bincount(names, minlength=len(before))
    order = np.argsort(names, kind="stable")
    out = before.copy()
    for b, members in enumerate(np.split(order, counts.cumsum()[:-1])):
        if members.size:
            out[b] = rows[members].mean(axis=0)
    return out


def _nearest_center(rows: Any, centers: Any) -> Ints:
    half = 0.5 * np.square(centers).sum(axis=1)
    names: Ints = _in_blocks(
        lambda part: (half - rows[part] @ centers.T).argmin(axis=1), len(rows), len(centers)
    )
    return names


def _ends(names: Ints, count: int) -> Ints:
    return np.concatenate([[0], np.bincount(names, minlength=count).cumsum()])


def _in_blocks(work: Callable[[slice], Any], n: int, width: int = AXES) -> Any:
    """The parts of an array with an entry for each row, made on all threads and put together."""
    return np.concatenate(side_by_side(work, list(row_blocks(n, 4 * width, BLOCK)), N_THREADS))
