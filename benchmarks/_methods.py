"""The contestants, each with its defaults: ours, and what users have.

A method that cannot do without the number of clusters is told it; ours is fitted with it and without. On
graphs, those run that take one: ours, and of scikit-learn's spectral and agglomerative clustering and
HDBSCAN. EVoC, Genie and lumbermark are installed for the benchmark only (packages evoc, genieclust and
lumbermark); EVoC compares directions (it was made for embeddings), so points in the plane are not what it
is for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np

POINTS, GRAPH = "points", "graph"


@dataclass(frozen=True)
class Method:
    """A contestant.

    Attributes
    ----------
    fit : callable
        Labels of objects, given them and the number of clusters (None where it is not told).
    told : bool
        Whether it is told the number.
    on : tuple of str
        What it takes.
    package : str
        The distribution to install, where that is not scikit-learn or ours.
    module : str
        Its name in Python.
    """

    fit: Callable[[Any, int | None], np.ndarray]
    told: bool
    on: tuple[str, ...] = (POINTS,)
    package: str = ""
    module: str = ""

    @property
    def installed(self) -> bool:
        return not self.module or find_spec(self.module) is not None


def default(X: Any, k: int | None) -> np.ndarray:
    """The call of a user who sets nothing: the affinity is chosen."""
    from dominantsets import DominantSets

    return DominantSets(k).fit(X).labels_


def ours(X: Any, k: int | None) -> np.ndarray:
    """One affinity for all points, on which constants can be chosen: most families have round groups."""
    import scipy.sparse as sp

    from dominantsets import DominantSets

    if sp.issparse(X):
        return DominantSets(k, affinity="precomputed").fit(X).labels_
    return DominantSets(k, affinity="sqeuclidean").fit(X).labels_


def kmeans(X: Any, k: int | None) -> np.ndarray:
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=10, random_state=0).fit_predict(X)


def mixture(X: Any, k: int | None) -> np.ndarray:
    from sklearn.mixture import GaussianMixture

    return GaussianMixture(k, covariance_type="full", random_state=0).fit_predict(X)


def hdbscan_5(X: Any, k: int | None) -> np.ndarray:
    return _hdbscan(X, 5)


def hdbscan_15(X: Any, k: int | None) -> np.ndarray:
    return _hdbscan(X, 15)


def _hdbscan(X: Any, smallest: int) -> np.ndarray:
    import scipy.sparse as sp
    from sklearn.cluster import HDBSCAN

    if sp.issparse(X):
        return HDBSCAN(min_cluster_size=smallest, metric="precomputed").fit_predict(distances(X))
    return HDBSCAN(min_cluster_size=smallest, copy=True).fit_predict(X)


def spectral(X: Any, k: int | None) -> np.ndarray:
    from sklearn.cluster import SpectralClustering

    return SpectralClustering(k, affinity="precomputed", random_state=0).fit_predict(X)


def agglomerative(X: Any, k: int | None) -> np.ndarray:
    from sklearn.cluster import AgglomerativeClustering

    return AgglomerativeClustering(k, metric="precomputed", linkage="average").fit_predict(distances(X))


def evoc(X: Any, k: int | None) -> np.ndarray:
    from evoc import EVoC

    dimensions = min(4, X.shape[1])  # 4 is its default, and more than there are features is refused
    return EVoC(node_embedding_dim=dimensions, random_state=0).fit_predict(X)


def genie(X: Any, k: int | None) -> np.ndarray:
    from genieclust import Genie

    return Genie(k).fit_predict(X)


def lumbermark(X: Any, k: int | None) -> np.ndarray:
    from lumbermark import Lumbermark

    return Lumbermark(k).fit_predict(X)


def distances(A: Any) -> np.ndarray:
    """For methods that want a matrix of them: 1 for no edge, 0 for the heaviest."""
    D = 1.0 - A.toarray() / A.max()
    np.fill_diagonal(D, 0.0)
    return D


BOTH = (POINTS, GRAPH)
METHODS: dict[str, Method] = {
    "default": Method(default, told=False),
    "ours": Method(ours, told=False, on=BOTH),
    "HDBSCAN 5": Method(hdbscan_5, told=False, on=BOTH),
    "HDBSCAN 15": Method(hdbscan_15, told=False, on=BOTH),
    "EVoC": Method(evoc, told=False, package="evoc", module="evoc"),
    "default K": Method(default, told=True),
    "ours K": Method(ours, told=True, on=BOTH),
    "KMeans K": Method(kmeans, told=True),
    "GMM K": Method(mixture, told=True),
    "Genie K": Method(genie, told=True, package="genieclust", module="genieclust"),
    "lumbermark K": Method(lumbermark, told=True, package="lumbermark", module="lumbermark"),
    "spectral K": Method(spectral, told=True, on=(GRAPH,)),
    "agglomerative K": Method(agglomerative, told=True, on=(GRAPH,)),
}
OURS, OURS_TOLD = "ours", "ours K"


def fit(name: str, X: Any, k: int | None) -> np.ndarray:
    """Labels by a method's name, which is what travels to another process."""
    return np.asarray(METHODS[name].fit(X, k), dtype=np.int32)


def warm_up(name: str) -> None:
    """Fit a few objects, so that nothing is imported or compiled while a clock runs."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    P = np.vstack([c + rng.normal(size=(100, 4)) for c in (0.0, 20.0, 40.0)])
    k = 3 if METHODS[name].told else None
    if POINTS in METHODS[name].on:
        fit(name, P, k)
    if GRAPH in METHODS[name].on:
        fit(name, sp.csr_array(np.repeat(np.repeat(np.eye(3), 100, 0), 100, 1) - np.eye(300)), k)


def versions() -> dict[str, str]:
    """Of the packages that are installed for the benchmark only."""
    out = {}
    for package in {m.package: None for m in METHODS.values() if m.package}:
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            out[package] = "not installed"
    return out
