"""Communities of a graph, as networkx's own functions return them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from dominantsets.estimator import DominantSets
from dominantsets.similarity.factory import is_graph, matrix_of_graph


def dominant_set_communities(
    G: Any, weight: str | None = "weight", *, n_communities: int | None = None
) -> list[set[Hashable]]:
    """Find the communities of a graph, with the signature of networkx's functions for communities.

    Parameters
    ----------
    G : networkx.Graph or igraph.Graph
        The graph; several edges between two nodes add up, those in opposite directions too.
    weight : str or None, default="weight"
        The edge attribute with the similarity of two nodes, 1 for an edge without it; None: all edges count
        1.
    n_communities : int, optional
        The number of communities; estimated if None.

    Returns
    -------
    list of set
        Disjoint sets that hold all nodes (of igraph: their numbers), the largest first. Nodes that no path
        joins to a community are a set per connected component.

    Examples
    --------
    >>> import networkx as nx
    >>> from dominantsets import dominant_set_communities
    >>> graph = nx.connected_caveman_graph(4, 8)
    >>> [len(nodes) for nodes in dominant_set_communities(graph)]
    [8, 8, 8, 8]
    """
    if not is_graph(G):
        raise ValueError(f"G must be a graph of networkx or igraph, got a {type(G).__name__}.")
    nodes = list(range(G.vcount())) if hasattr(G, "vcount") else list(G)
    matrix = matrix_of_graph(G, "precomputed", weight)
    matrix.setdiag(0.0)
    matrix.eliminate_zeros()
    linked = np.flatnonzero(np.diff(matrix.indptr))
    labels = np.full(len(nodes), -1)
    component = connected_components(matrix, directed=False)[1]
    if linked.size:
        model = DominantSets(n_communities, affinity="precomputed", noise=None)
        labels[linked] = model.fit(matrix[linked][:, linked]).labels_
    found: dict[Any, set[Hashable]] = {}
    for node, label, piece in zip(nodes, labels, component, strict=True):
        found.setdefault(label if label >= 0 else (piece,), set()).add(node)
    return sorted(found.values(), key=len, reverse=True)
