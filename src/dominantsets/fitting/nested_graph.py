r"""The hierarchy of a network: its groups, each at its own shift, and where they merge.

A group x with the value :math:`f = x^T A x` is no equilibrium of :math:`x^T (A - \alpha I) x` any more where
the mixture y of another group gains against it, :math:`y^T A x > f - \alpha |x|^2`: above the shift
:math:`\alpha = (f - y^T A x) / |x|^2` (the :math:`\gamma` of Pavan and Pelillo, 2003, for one outsider that
is a group). Two groups merge at the smaller of their two such shifts; those that have no edge between them,
and no other node's groups, merge at the top.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Floats
from dominantsets.clusters.graph_groups import GraphGroup
from dominantsets.fitting.nested import NONE, Merge, Nested, Place, alone, elders
from dominantsets.labels.partition import Partition
from dominantsets.similarity.graph import Graph
from dominantsets.similarity.single_linkage import tree_of_graph
from dominantsets.solvers import DominantSet, Monitor
from dominantsets.solvers.result import End


def nested_graph(similarity: Graph, groups: list[GraphGroup], part: Partition, monitor: Monitor) -> Nested:
    """The hierarchy of a network.

    Parameters
    ----------
    similarity : Graph
        The network.
    groups : list of GraphGroup
        Its groups.
    part : Partition
        The labels of all nodes, and their rule.
    monitor : Monitor
        Its time limit ends the search; what has been found by then is used.

    Returns
    -------
    Nested
        The hierarchy. Nodes without an edge to any group are in none.
    """
    halt = End.TIME_LIMIT if monitor.out_of_time() else None
    if not groups:
        out = alone(similarity.n, None)
        out.halt = halt
        return out
    levels = _levels(similarity, groups)
    links = tree_of_graph(levels)
    top = float(max(levels.data.max(initial=-np.inf), max(group.shift_to for group in groups)))
    some = links.order[links.start]
    merges = []
    for k, sides in enumerate(zip(links.left, links.right, strict=True)):
        # the largest group of either side goes on; where it holds the other it is their ball
        one, two = sorted((int(some[side]) for side in sides), key=lambda j: -len(groups[j].core))
        merges.append(Merge(float(links.height[k]), one, two, NONE))
    root, splits = elders(np.full(len(groups), -np.inf), merges, top)
    places = {k: Place(group.shift_from, k) for k, group in enumerate(groups)}
    certain: dict[int, DominantSet | None] = {k: group.core for k, group in enumerate(groups)}
    out = Nested(root, splits, places, certain, part.labels, top)
    out.settle(lambda level: level, lambda _, ball: groups[ball].core if ball >= 0 else None)
    out.rule, out.halt = part.rule, halt
    return out


def _levels(similarity: Graph, groups: list[GraphGroup]) -> sp.csr_array:
    """The shifts at which pairs of groups merge, where they have an edge between them."""
    count = len(groups)
    indptr = np.concatenate([[0], np.cumsum([len(group.core) for group in groups])])
    members = np.concatenate([group.members for group in groups])
    weights = np.concatenate([group.weights for group in groups])
    X = sp.csr_array((weights, members, indptr), shape=(count, similarity.n))
    mutual = sp.coo_array(X @ similarity.matrix @ X.T)
    values = mutual.tocsr().diagonal()
    squares: Floats = np.array([float(group.weights @ group.weights) for group in groups])
    row, col = mutual.coords
    level = np.minimum((values[row] - mutual.data) / squares[row], (values[col] - mutual.data) / squares[col])
    apart = row != col
    return sp.csr_array((level[apart], (row[apart], col[apart])), shape=(count, count))
