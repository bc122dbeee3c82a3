"""Samples on which affinities are compared: points, words and distances, each with candidates of its own."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.scales import SAMPLE_A_CLUSTER, chosen
from dominantsets.fitting.separation import neighbour_graph
from dominantsets.similarity import Similarity, as_similarity

SAMPLE = 2_000  # objects on which candidates are tried, and SAMPLE_A_CLUSTER for each cluster asked for
MANY = 10  # dimensions above which an embedding in few is tried, and densities are poor
# Objects up to which trees, by the number of features, walks and places take seconds.
TREES = ((3, 1_000_000), (6, 200_000), (10, 50_000), (np.inf, 20_000))
WALKS, PLACES = 20_000, 200_000
# Conductance from which groups are not apart. In few dimensions chosen on curves; in many, 5 groups of one
# topic, of a sphere or of a cap have 0.38 and more (benchmarks/nulls.py), whatever the affinity.
APART_IN_FEW, APART_IN_MANY = 0.12, 0.35
UNIT = 1e-3  # by which the lengths of unit vectors may differ from 1

Way = tuple[str, dict[str, Any]]


class Sample(Protocol):
    """Some of the objects, and the ways in which they may be alike.

    Attributes
    ----------
    n : int
        Objects of the sample.
    balls : str
        The affinity whose clusters are balls: what is taken where nothing speaks for another one.
    ways : list of (str, dict)
        Affinities that are tried, with their parameters, the cheapest first.
    apart : float
        Conductance from which a group is not apart from others.
    rows : ndarray or None
        Coordinates to which clouds may be fitted: of few dimensions.
    whole : Similarity or None
        All objects, as balls have them; None where they are the sample, or many.
    """

    n: int
    balls: str
    apart: float
    ways: list[Way]
    rows: Floats | None
    whole: Similarity | None

    def similarity(self, way: Way, objects: Ints | None = None) -> Similarity:
        """The similarity of all objects of the sample, or of some."""

    def order(self) -> Ints:
        """The objects in an order that does not depend on the one they came in."""

    def graph(self) -> sp.csr_array:
        """The graph of their neighbours, on which groups are judged."""


class Rows:
    """Some rows of features."""

    rows: Floats | None = None

    def __init__(self, X: Any, n_clusters: int | None, balls: str) -> None:
        size = _size(n_clusters)
        self.balls = balls
        everybody = as_similarity(X, balls)
        self._some = X[chosen(everybody.degrees(), size)]
        self.n = self._some.shape[0]
        self.whole: Similarity | None = everybody if self.n < everybody.n else None

    def similarity(self, way: Way, objects: Ints | None = None) -> Similarity:
        rows = self._some if objects is None else self._some[objects]
        return as_similarity(rows, way[0], **way[1])


class PointSample(Rows):
    """Some dense rows: round groups, paths, random walks, and places of few dimensions."""

    def __init__(self, X: Any, n_clusters: int | None) -> None:
        super().__init__(X, n_clusters, "sqeuclidean")
        self._some = np.asarray(self._some, dtype=np.float64)
        n, d = X.shape
        self.rows = self._some if d <= MANY else None
        self.apart = APART_IN_FEW if d <= MANY else APART_IN_MANY
        self.ways: list[Way] = [("sqeuclidean", {})]
        if n <= next(most for features, most in TREES if d <= features):
            # of equally stable ones the first is taken: balls if round
            self.ways.insert(0 if n_clusters is None else 1, ("path", {"min_samples": 5}))
        if n_clusters is not None and d <= MANY:
            self.ways.append(("ellipses", {}))
        if n <= WALKS and d > 1:  # on a line every gap is a border to walks
            self.ways.append(("diffusion", {} if n_clusters is None else {"n_components": n_clusters}))
        if d > MANY and n <= PLACES:
            self.ways.append(("embedding", {}))

    def order(self) -> Ints:
        """By the features, the first one first: no matter in which order objects come, or in which units.

        A rotation changes it, and with it the parts whose answers are compared: where two affinities are
        nearly as good, it may change which one is taken.
        """
        return np.lexsort(self._some.T[::-1])

    def graph(self) -> sp.csr_array:
        return neighbour_graph(self._some, density=self.rows is not None)


class WordSample(Rows):
    """Some sparse rows, or vectors of one length: directions, and places of few dimensions."""

    def __init__(self, X: Any, n_clusters: int | None) -> None:
        super().__init__(X, n_clusters, "cosine")
        self.apart, self.ways = APART_IN_MANY, list[Way]([("cosine", {})])
        number = {} if n_clusters is None else {"n_components": n_clusters}
        if X.shape[0] <= WALKS:
            self.ways.append(("diffusion", {"metric": "cosine", **number}))
        if X.shape[0] <= (WALKS if sp.issparse(X) else PLACES):
            self.ways.append(("embedding", {"metric": "cosine"}))

    def order(self) -> Ints:
        sums = np.asarray(self._some.sum(axis=1)).ravel()
        squares = self._some.multiply(self._some) if sp.issparse(self._some) else np.square(self._some)
        return np.lexsort((np.asarray(squares.sum(axis=1)).ravel(), sums))

    def graph(self) -> sp.csr_array:
        return neighbour_graph(normalize(self._some), density=False)


class DistanceSample:
    """Some objects of a matrix of distances: paths, round groups, and near neighbours."""

    rows: Floats | None = None
    whole: Similarity | None = None

    def __init__(self, D: Any, n_clusters: int | None) -> None:
        size = _size(n_clusters)
        some = chosen(np.asarray(D.sum(axis=1)).ravel(), size)
        self._some = np.asarray(D[np.ix_(some, some)], dtype=np.float64)
        self.n, self.balls, self.apart = len(some), "precomputed_distance", APART_IN_FEW
        round_, first = ["sqeuclidean", "euclidean", "rbf"], 0 if n_clusters is None else 1
        several = [*round_[:first], "path", *round_[first:]]
        self.ways: list[Way] = [(self.balls, {"then": then}) for then in several]

    def similarity(self, way: Way, objects: Ints | None = None) -> Similarity:
        D = self._some if objects is None else self._some[np.ix_(objects, objects)]
        return as_similarity(D, way[0], **way[1])

    def order(self) -> Ints:
        return np.argsort(self._some.sum(axis=1), kind="stable")

    def graph(self) -> sp.csr_array:
        return neighbour_graph(self._some, metric="precomputed")


def _size(n_clusters: int | None) -> int:
    return max(SAMPLE, SAMPLE_A_CLUSTER * (n_clusters or 0))


def sample_of(X: Any, n_clusters: int | None, distances: bool) -> Sample:
    """The sample that suits what ``fit`` was given."""
    if distances:
        return DistanceSample(X, n_clusters)
    return WordSample(X, n_clusters) if has_words(X) else PointSample(X, n_clusters)


def has_words(X: Any) -> bool:
    """Whether rows are sparse, or vectors of one length in many dimensions."""
    if sp.issparse(X):
        return True
    if X.shape[1] <= MANY:
        return False
    lengths = np.linalg.norm(X[: min(len(X), SAMPLE)], axis=1)
    return bool(np.abs(lengths - 1.0).max() < UNIT)
