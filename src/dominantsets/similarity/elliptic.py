"""Squared distances in metrics of the clusters' own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import check_choice
from dominantsets._typing import Floats, Ints
from dominantsets.rows.memory import InMemory
from dominantsets.similarity.arrivals import Arrivals, arrivals_of, detached
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.formulas import SQEUCLIDEAN
from dominantsets.similarity.low_rank import LowRank, LowRankArrivals, detached_low_rank

STARTS = ("sqeuclidean", "path", "diffusion")  # whose groups are tried as a start
DIMENSIONS = 50  # more have more products than a covariance can be had of


class InMetric(LowRank):
    r"""M - D² with :math:`D_{ij} = |(x_i - x_j) T|`: squared distances in the metric :math:`T T^T`."""

    def __init__(self, X: Floats, transform: Floats, offset: float) -> None:
        self.transform = transform
        super().__init__(InMemory(np.asarray(X @ transform)), SQEUCLIDEAN, offset)

    def moved(self, new: Any) -> Floats:
        return np.asarray(new @ self.transform)


class Elliptic(LowRank):
    r"""Squared distances, of which every cluster has a metric of its own.

    Cluster k is a dominant set of the similarity :math:`M - |(x_i - x_j) T_k|^2`, with :math:`T_k T_k^T` the
    inverse of the cluster's covariance, scaled so that volumes stay what they are: what is long in one
    direction is round there. The metrics come from a mixture of normal clouds
    (:mod:`dominantsets.labels.ellipses`) that begins at the groups of another affinity; until they are known
    all clusters share the metric.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        The rows.
    start : {"auto", "sqeuclidean", "path", "diffusion"}, default="auto"
        The affinity whose groups the mixture begins with; "auto": the one that ends best, by Bayes'
        information criterion.

    Attributes
    ----------
    metrics : ndarray of shape (n_clusters, n_features, n_features)
        The :math:`T_k`.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import DominantSets
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(200, 2)) * [5, 0.4] + [0, 3 * k] for k in range(2)])
    >>> model = DominantSets(2, affinity="ellipses").fit(X)
    >>> bool((model.labels_[:200] != model.labels_[200:]).all())
    True
    """

    structure = "ellipses"

    def __init__(self, X: Any, *, start: str = "auto") -> None:
        self.start = check_choice("start", start, ("auto", *STARTS))
        if sp.issparse(X):
            raise ValueError("affinity='ellipses' needs dense features; sparse ones work with 'cosine'.")
        if X.shape[1] > DIMENSIONS:
            raise ValueError(
                f"affinity='ellipses' takes at most {DIMENSIONS} features, got {X.shape[1]}: reduce them, or "
                "use affinity='sqeuclidean' or 'embedding'."
            )
        self.features: Any = X
        self.metrics: Floats = np.empty((0, X.shape[1], X.shape[1]))
        self._light: dict[int, Similarity] = {}
        self._top = 0.0
        super().__init__(InMemory(X), SQEUCLIDEAN, "bound")

    @property
    def starts(self) -> tuple[str, ...]:
        """The affinities whose groups are tried."""
        return STARTS if self.start == "auto" else (self.start,)

    def settle(self, metrics: Floats) -> None:
        """From now on cluster k has the k-th metric; M is the same for all, so that they can be compared."""
        self.metrics, self._light = metrics, {}
        middle = self.features.mean(axis=0)
        self._top = max(
            4.0 * float(np.square((self.features - middle) @ transform).sum(axis=1).max())
            for transform in metrics
        )

    def for_cluster(self, k: int) -> Similarity:
        """Whole where the rows are there; else what new objects need."""
        if k >= len(self.metrics):
            return self
        if self.features is None:
            return self._light[k]
        whole = InMetric(self.features, self.metrics[k], self._top)
        self._light.setdefault(k, detached(whole))
        return whole


class EllipticArrivals(LowRankArrivals):
    """Each cluster is summarised in its own metric."""

    def summarise_each(self, clusters: Sequence[tuple[Ints, Floats]]) -> list[Any]:
        return Arrivals.summarise_each(self, clusters)


arrivals_of.register(Elliptic, EllipticArrivals)


@detached.register(Elliptic)
def _detached(similarity: Elliptic) -> LowRank:
    for k in range(len(similarity.metrics)):
        if k not in similarity._light:
            similarity.for_cluster(k)
    light = detached_low_rank(similarity)
    light.__dict__["features"] = None
    return light
