"""Samples on which affinities are compared: points, words and distances, each with candidates of its own."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.scales import SAMPLE_A_CLUSTER, chosen
from dominantsets.fitting.separation import neighbour_graph
from dominantsets.rows.rounding import distinct, unrounded
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.similarity.base import evenly
from dominantsets.similarity.data import Data
from dominantsets.similarity.factory import ANYWHERE
from dominantsets.similarity.located import located

SAMPLE = 2_000  # objects on which candidates are tried, and SAMPLE_A_CLUSTER for each cluster asked for
MANY = 10  # dimensions above which an embedding in few is tried, and densities are poor
# Objects up to which trees, by the number of features, walks and places take seconds: more are placed.
TREES = ((3, 1_000_000), (6, 200_000), (10, 50_000), (np.inf, 20_000))
WALKS, PLACES = 20_000, 200_000
SHAPES = ("path", "diffusion", "embedding")  # affinities of groups of any shape
LANDMARKS = 50_000  # largest number of objects that are fitted where others are placed, but for trees
FEWEST = 20_000  # and the smallest, however little memory is free
SEEN = 100_000, 2**25  # rows and numbers from which units are found
UNIT = 1e-3  # by which the lengths of unit vectors may differ from 1
UNLIKE = 10.0  # largest spread of a column over the median one, from which units are unlike
DECILES = np.linspace(0.0, 1.0, 11)

Way = tuple[str, dict[str, Any]]


class Sample(Protocol):
    """Some of the objects, and the ways in which they may be alike.

    Attributes
    ----------
    n : int
        Objects of the sample.
    is_part : bool
        Whether there are objects outside the sample.
    rows : ndarray or None
        Coordinates to which mixtures may be fitted: of few dimensions.
    whole : Similarity or None
        All objects, in round clusters; None where they are the sample, or many.
    """

    n: int
    is_part: bool
    rows: Floats | None
    whole: Similarity | None

    def ways(self, n_clusters: int | None) -> list[Way]:
        """The affinities to try for a number of clusters; the first is taken where nothing is compared."""

    def similarity(self, way: Way, objects: Ints | None = None) -> Similarity:
        """The similarity of all objects of the sample, or of some."""

    def order(self) -> Ints:
        """The objects in an order that does not depend on the one they came in."""

    def graph(self) -> sp.csr_array:
        """The graph of their neighbors, on which clusters are judged."""

    def fitted(self, way: Way) -> Ints | None:
        """The objects of which a fit with an affinity is made; None for all of them."""


class Rows:
    """Some rows of features."""

    rows: Floats | None = None

    def __init__(self, X: Any, n_clusters: int | None, round_: str) -> None:
        self._data = X if isinstance(X, Data) else Data(X)
        everything = self._data.similarity(round_)
        self._spread = located(everything).spread()
        self._some = self._data.take(self._spread(_size(n_clusters)))
        self.n, self._n_all, self._d = self._some.shape[0], everything.n, self._data.d
        self.is_part = self.n < self._n_all
        self.whole: Similarity | None = everything if self.is_part else None

    def _sensible(self, ways: list[Way]) -> list[Way]:
        """Those to try: for groups of any shape on some objects only where no affinity takes all of them."""
        whole = [way for way in ways if self._n_all <= self._most(way)]
        if self._data.whole:
            return whole
        if any(way[0] in SHAPES for way in whole):
            return [way for way in ways if way in whole or way[0] not in SHAPES]
        return ways

    def _most(self, way: Way) -> float:
        """The objects up to which all are fitted."""
        return np.inf

    def fitted(self, way: Way) -> Ints | None:
        most = self._most(way)
        if way[0] in ANYWHERE or self._data.whole or self._n_all <= most:
            return None
        most = most if way[0] == "path" else min(most, LANDMARKS)
        return self._spread(int(max(FEWEST, min(most, self._data.room()))))

    def similarity(self, way: Way, objects: Ints | None = None) -> Similarity:
        rows = self._some if objects is None else self._some[objects]
        return as_similarity(rows, way[0], **way[1])


class PointSample(Rows):
    """Some dense rows: round clusters, paths, random walks, ellipses, and places of few dimensions."""

    def __init__(self, X: Any, n_clusters: int | None) -> None:
        super().__init__(X, n_clusters, "sqeuclidean")
        some = np.asarray(self._some, dtype=np.float64)
        self._some = unrounded(some)[distinct(some)]
        if len(self._some) < self.n:  # copies count once, so that the number of all rows is that of these
            self.n, self.is_part = len(self._some), False
        self.rows = self._some if self._d <= MANY else None

    def ways(self, n_clusters: int | None) -> list[Way]:
        d = self._d
        ways: list[Way] = [("sqeuclidean", {}), ("path", {"min_samples": 5})]
        if d > 1:  # on a line every gap is a border to walks
            ways.append(("diffusion", {} if n_clusters is None else {"n_components": n_clusters}))
        if n_clusters is not None and d <= MANY:
            ways.append(("ellipses", {}))
        if d > MANY:
            ways.append(("embedding", {}))
        return self._sensible(ways)

    def _most(self, way: Way) -> float:
        if way[0] == "path":
            return next(most for features, most in TREES if self._d <= features)
        if way[0] == "ellipses" and not self._data.is_elsewhere:
            return np.inf
        return {"diffusion": WALKS, "embedding": PLACES, "ellipses": PLACES}.get(way[0], np.inf)

    def order(self) -> Ints:
        """By the distance from the mean: no matter how the axes lie."""
        away = np.square(self._some - self._some.mean(axis=0)).sum(axis=1)
        return np.lexsort((*self._some.T[::-1], np.round(away / (away.max() or 1.0), 9)))

    def graph(self) -> sp.csr_array:
        return neighbour_graph(self._some, density=self.rows is not None)


class WordSample(Rows):
    """Some sparse rows, or vectors of one length: directions, and places of few dimensions."""

    def __init__(self, X: Any, n_clusters: int | None) -> None:
        super().__init__(X, n_clusters, "cosine")
        self._places = WALKS if sp.issparse(self._data.X) else PLACES

    def ways(self, n_clusters: int | None) -> list[Way]:
        ways: list[Way] = [("cosine", {})]
        number = {} if n_clusters is None else {"n_components": n_clusters}
        ways.append(("diffusion", {"metric": "cosine", **number}))
        ways.append(("embedding", {"metric": "cosine"}))
        return self._sensible(ways)

    def _most(self, way: Way) -> float:
        return {"diffusion": WALKS, "embedding": self._places}.get(way[0], np.inf)

    def order(self) -> Ints:
        sums = np.asarray(self._some.sum(axis=1)).ravel()
        squares = self._some.multiply(self._some) if sp.issparse(self._some) else np.square(self._some)
        return np.lexsort((np.asarray(squares.sum(axis=1)).ravel(), sums))

    def graph(self) -> sp.csr_array:
        return neighbour_graph(normalize(self._some), density=False)


class DistanceSample:
    """Some objects of a matrix of distances: round clusters, paths, and near neighbors."""

    rows: Floats | None = None
    whole: Similarity | None = None

    def __init__(self, D: Any, n_clusters: int | None) -> None:
        some = chosen(np.asarray(D.sum(axis=1)).ravel(), _size(n_clusters))
        self._some = np.asarray(D[np.ix_(some, some)], dtype=np.float64)
        self.n = len(some)
        self.is_part = self.n < len(D)

    def ways(self, n_clusters: int | None) -> list[Way]:
        several = ["sqeuclidean", "path", "euclidean", "rbf"]
        return [("precomputed_distance", {"then": then}) for then in several]

    def similarity(self, way: Way, objects: Ints | None = None) -> Similarity:
        D = self._some if objects is None else self._some[np.ix_(objects, objects)]
        return as_similarity(D, way[0], **way[1])

    def order(self) -> Ints:
        return np.argsort(self._some.sum(axis=1), kind="stable")

    def graph(self) -> sp.csr_array:
        return neighbour_graph(self._some, metric="precomputed")

    def fitted(self, way: Way) -> None:
        """None: all distances are there."""


def _size(n_clusters: int | None) -> int:
    return max(SAMPLE, SAMPLE_A_CLUSTER * (n_clusters or 0))


def sample_of(X: Any, n_clusters: int | None, distances: bool) -> Sample:
    """The sample that suits what ``fit`` was given."""
    if distances:
        return DistanceSample(X, n_clusters)
    return WordSample(X, n_clusters) if has_words(X) else PointSample(X, n_clusters)


def scale_of(X: Any) -> Floats | None:
    """The standard deviations of columns of unlike units; None if no column dominates.

    They are those of at most 100,000 rows, spread evenly over all. A column dominates if its standard
    deviation is more than ten times the median one, and so is its typical width: the median distance between
    neighboring deciles, which neither far objects nor gaps between clusters change. Constant columns do not
    count and have 1 here; pixels and principal components stay below ten.

    Examples
    --------
    >>> import numpy as np
    >>> scale_of(np.array([[0.0, 0.0, 7.0], [2.0, 200.0, 7.0]]))
    array([  1., 100.,   1.])
    >>> scale_of(np.array([[0.0, 0.0], [2.0, 3.0]])) is None
    True
    """
    data = X if isinstance(X, Data) else Data(X)
    rows, numbers = SEEN
    count = min(data.n, rows, max(SAMPLE, numbers // data.d))
    X = data.X if count == data.n and not data.is_elsewhere else data.take(evenly(np.arange(data.n), count))
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.std(X, axis=0, dtype=np.float64)
    if not np.isfinite(spread).all() or not _dominates(spread):
        return None
    widths = np.median(np.diff(np.quantile(X, DECILES, axis=0), axis=0), axis=0)
    # few values have no width between most of their deciles
    return np.where(spread > 0.0, spread, 1.0) if _dominates(np.where(widths > 0.0, widths, spread)) else None


def _dominates(spread: Floats) -> bool:
    """Whether one column spreads far more than the median one; of two in the middle the smaller counts."""
    some = spread[spread > 0.0]
    return bool(some.size) and bool(some.max() > UNLIKE * np.quantile(some, 0.5, method="lower"))


def has_words(X: Any) -> bool:
    """Whether rows are sparse, or vectors of one length in many dimensions."""
    data = X if isinstance(X, Data) else Data(X)
    if sp.issparse(data.X):
        return True
    if data.d <= MANY:
        return False
    lengths = np.linalg.norm(data.take(np.arange(min(data.n, SAMPLE))), axis=1)
    return bool(np.abs(lengths - 1.0).max() < UNIT)
