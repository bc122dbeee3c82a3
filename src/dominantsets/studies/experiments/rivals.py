"""The paper's rivals, on the same similarities: normalised cut, power iteration, correlation clustering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering

from dominantsets.labels.correlation import correlation_clusters

STEPS = 1_000  # of the power iteration at most


def power_iteration(A: Any, k: int) -> Any:
    """Power Iteration Clustering (Lin and Cohen, 2010): k-means on one vector on its way to being constant.

    v ← Wv / |Wv|₁ with the rows of W adding up to 1, from the degrees, until the change itself hardly changes
    (10⁻⁵/n): by then groups have flattened out inside, and not yet between them.
    """
    degrees = np.asarray(A.sum(axis=1)).ravel()
    n, rows = degrees.size, np.where(degrees > 0, degrees, 1.0)
    v = degrees / degrees.sum()
    change = np.full(n, np.inf)
    for _ in range(STEPS):
        new = (A @ v) / rows
        new /= np.abs(new).sum()
        before, change, v = change, np.abs(new - v), new
        if np.abs(change - before).max() <= 1e-5 / n:
            break
    return KMeans(k, n_init=10, random_state=0).fit_predict((v * n)[:, None])


def normalised_cut(A: Any, k: int) -> Any:
    """The relaxed normalised cut (Shi and Malik, 2000), scikit-learn's, read off by pivoted QR."""
    model = SpectralClustering(k, affinity="precomputed", assign_labels="cluster_qr", random_state=0)
    return model.fit_predict(A)


def correlation(A: Any, k: int) -> Any:
    """Correlation clustering with the adaptive shift, up to k clusters, best of three orders."""
    return correlation_clusters(A, k, n_init=3).labels


RIVALS: dict[str, Callable[[Any, int], Any]] = {
    "normalised cut": normalised_cut,
    "power iteration": power_iteration,
    "correlation": correlation,
}
