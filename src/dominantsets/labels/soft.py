"""Soft labels: how likely an object is in each cluster, or in none; rows add up to 1.

The last column is noise. Mixtures have posteriors (:mod:`dominantsets.labels.mixture`). Groups of any shape
have votes: the label of an object has a half of them, its five nearest neighbors a tenth each. Clusters that
subsamples do not confirm are less likely than that: what they lack is shared by the sizes of all clusters.
"""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Floats, Ints

OWN = 0.5  # share of an object's own label in the votes, so that it has the most


def alone(labels: Ints, n_clusters: int) -> Floats:
    """All of each object in its cluster, or in noise."""
    out = np.zeros((labels.size, n_clusters + 1))
    out[np.arange(labels.size), labels] = 1.0  # -1 is the last column
    return out


def voted(labels: Ints, neighbors: Ints, n_clusters: int) -> Floats:
    """Votes of the objects themselves and of their neighbors' labels."""
    out = OWN * alone(labels, n_clusters)
    for column in neighbors.T:
        out[np.arange(labels.size), column] += (1.0 - OWN) / neighbors.shape[1]
    return out


def posteriors(logs: Floats, behind: Floats, before: Floats) -> Floats:
    """Posteriors of clusters with these logarithms of densities, and of noise.

    Noise has the logarithm ``behind``, and is compared with ``before``.
    """
    noise = np.exp(behind - np.logaddexp(behind, before))
    parts = np.exp(logs - logs.max(axis=1, keepdims=True))
    parts *= ((1.0 - noise) / parts.sum(axis=1))[:, None]
    return np.column_stack([parts, noise])


def as_stable(soft: Floats, labels: Ints, stability: float) -> Floats:
    """The same, drawn to the shares of the clusters as far as they are not stable."""
    t = min(1.0, max(0.0, stability))
    sizes = np.bincount(np.where(labels < 0, soft.shape[1] - 1, labels), minlength=soft.shape[1])
    return t * soft + (1.0 - t) * sizes / max(1, labels.size)


def as_labelled(soft: Floats, labels: Ints) -> Floats:
    """The same, but what is labelled noise for another reason than density is noise, and nothing else is."""
    soft = soft.copy()
    out = (labels < 0) & (soft[:, -1] < 0.5)
    soft[out] = 0.0
    soft[out, -1] = 1.0
    inside = (labels >= 0) & (soft[:, -1] > 0.5)
    soft[inside, :-1] *= (0.5 / (1.0 - soft[inside, -1]).clip(1e-300))[:, None]
    soft[inside, -1] = 0.5
    return soft
