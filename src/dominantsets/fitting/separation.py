r"""How well groups are apart: conductance on a graph of neighbours in which dense places count more.

Objects i and j that are neighbours (10 nearest) are linked by

.. math:: V_{ij} = \exp(-d_{ij}^2 / (s_i s_j)) / (s_i s_j),

with :math:`s_i` the distance to the 7th. The conductance of a group is the weight of the links that leave it,
over all its links or those of the rest, whichever have less. Noise, where distances are long, has next to no
weight in it. In many dimensions the second factor is left out: hardly anything is dense there but copies of
one object, and these would have all the weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from dominantsets._typing import Floats, Ints

NEIGHBOURS, UNIT = 10, 7  # links of an object, and the neighbour whose distance is its unit
LEAST = 1e-6  # conductance below which groups are as well apart as can be


def neighbour_graph(X: Any, metric: str = "euclidean", density: bool = True) -> sp.csr_array:
    """The graph of some rows; of objects with these distances for ``metric="precomputed"``.

    ``density``: whether dense places count more.
    """
    n = X.shape[0]
    count = min(NEIGHBOURS, n - 1)
    far, who = NearestNeighbors(n_neighbors=count, metric=metric).fit(X).kneighbors()
    unit = far[:, min(UNIT, count) - 1]
    typical = float(np.median(unit)) or float(unit.max(initial=0.0)) or 1.0
    unit = np.maximum(unit, 1e-3 * typical) / typical  # copies of an object have no distance
    scale = unit[:, None] * unit[who]
    weights = np.exp(-np.square(far / typical) / scale) / (scale if density else 1.0)
    rows = np.repeat(np.arange(n), count)
    graph = sp.csr_array((weights.ravel(), (rows, who.ravel())), shape=(n, n))
    return sp.csr_array(graph.maximum(graph.T))


def conductances(graph: sp.csr_array, labels: Ints) -> Floats:
    """The conductance of each group, at least 1e-6."""
    groups = int(labels.max(initial=-1)) + 1
    some = np.flatnonzero(labels >= 0)
    member = sp.csr_array((np.ones(some.size), (some, labels[some])), shape=(labels.size, groups))
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    total = float(degrees.sum())
    volumes = np.asarray(member.T @ degrees).ravel()
    inside = np.asarray(member.multiply(graph @ member).sum(axis=0)).ravel()
    less = np.maximum(np.minimum(volumes, total - volumes), 1e-300)
    cut = np.where(total - volumes > 0.0, np.maximum(volumes - inside, 0.0) / less, 1.0)
    return np.clip(cut, LEAST, 1.0)
