"""Graphs of networkx and igraph, and tables of cells."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dominantsets import DominantSets, as_similarity, deduplicate, dominant_set_communities
from dominantsets.scanpy.tl import dominant_sets


def cliques(name="weight"):
    """Two complete graphs of 6 and 8 nodes, joined by one weak edge, and a node by itself."""
    graph = nx.disjoint_union(nx.complete_graph(6), nx.complete_graph(8))
    graph.add_edge(0, 6)
    nx.set_edge_attributes(graph, 2.0, name)
    graph.add_node("alone")
    return graph


COMMUNITIES = [set(range(6, 14)), set(range(6)), {"alone"}]


def test_communities_are_a_partition():
    graph = cliques()
    found = dominant_set_communities(graph)
    assert found == COMMUNITIES
    assert nx.community.is_partition(graph, found)
    assert dominant_set_communities(graph, n_communities=2) == COMMUNITIES
    assert dominant_set_communities(nx.relabel_nodes(graph, str)) == [set(map(str, s)) for s in COMMUNITIES]


def test_another_attribute_is_the_weight():
    graph = nx.complete_graph(12)
    for i, j in graph.edges:
        graph[i][j]["strength"] = 1.0 if (i < 5) == (j < 5) else 0.01
    assert dominant_set_communities(graph, "strength", n_communities=2) == [set(range(5, 12)), set(range(5))]


def test_a_graph_without_edges_has_a_set_per_node():
    graph = nx.empty_graph(3)
    graph.add_edge(1, 1)  # a node is not its own neighbor
    assert sorted(map(sorted, dominant_set_communities(graph))) == [[0], [1], [2]]


def test_directed_edges_count_in_both_directions():
    graph = nx.gn_graph(3, create_using=nx.DiGraph)
    for first in (0, 6):
        graph.add_edges_from((first + i, first + (i + step) % 6) for i in range(6) for step in (1, 2))
    found = dominant_set_communities(graph)
    both = nx.Graph()
    both.add_nodes_from(graph)
    for i, j in graph.edges:
        both.add_edge(i, j, weight=float(graph.has_edge(i, j)) + graph.has_edge(j, i))
    assert len(found) == 2
    assert found == dominant_set_communities(both)
    with pytest.raises(ValueError, match="distances are symmetric"):
        DominantSets(affinity="precomputed_distance").fit(graph)


def test_a_component_too_small_for_a_community_is_a_set():
    graph = nx.disjoint_union(cliques(), nx.path_graph(3))
    found = dominant_set_communities(graph)
    assert nx.community.is_partition(graph, found)
    assert all(nx.is_connected(graph.subgraph(nodes)) for nodes in found)


def test_attributes_of_another_name_are_noticed():
    graph = cliques("strength")
    for use in (DominantSets().fit, lambda G: as_similarity(G), dominant_set_communities):
        with pytest.warns(UserWarning, match="no attribute 'weight'.*they have 'strength'"):
            use(graph)
    dominant_set_communities(graph, weight=None)  # says nothing: warnings are errors


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        (nx.Graph(), "no nodes"),
        (np.eye(3), "must be a graph"),
    ],
)
def test_what_is_no_graph_gets_a_sentence(graph, sentence):
    with pytest.raises(ValueError, match=sentence):
        dominant_set_communities(graph)


def test_igraph_gives_what_networkx_gives():
    igraph = pytest.importorskip("igraph")
    graph = nx.convert_node_labels_to_integers(cliques())
    same = igraph.Graph.from_networkx(graph)
    assert dominant_set_communities(same) == dominant_set_communities(graph)
    assert (DominantSets().fit(same).labels_ == DominantSets().fit(graph).labels_).all()
    assert (as_similarity(same).block(range(15), range(15)) == nx.to_numpy_array(graph)).all()
    assert deduplicate(igraph.Graph.Full(4)).labels.size == 4
    ring = igraph.Graph(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)], directed=True)
    assert dominant_set_communities(ring, n_communities=2) == [{0, 1, 2}, {3, 4, 5}]
    with pytest.raises(ValueError, match="no nodes"):
        DominantSets().fit(igraph.Graph())
    with pytest.warns(UserWarning, match="they have 'strength'"):
        as_similarity(igraph.Graph.from_networkx(cliques("strength")))


@pytest.fixture
def cells():
    """40 cells of each of three types: 30 genes, of which 10 are marks of one type; the type is known."""
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(0)
    kind = np.repeat(["a", "b", "c"], 40)
    X = rng.normal(size=(120, 30)) + 8.0 * (kind[:, None] == np.repeat(["a", "b", "c"], 10))
    adata = anndata.AnnData(X, obs=pd.DataFrame({"kind": kind}, index=[f"cell {k}" for k in range(120)]))
    adata.obsm["X_pca"] = X[:, ::5]
    within = sp.block_diag([np.ones((40, 40)) - np.eye(40)] * 3, format="csr")
    adata.obsp["connectivities"], adata.uns["neighbors"] = within, {"connectivities_key": "connectivities"}
    return adata


@pytest.mark.parametrize("options", [{}, {"use_rep": "X"}, {"neighbors_key": "neighbors"}])
def test_cells_get_clusters_and_probabilities(cells, options, tmp_path):
    dominant_sets(cells, 3, **options)
    found = cells.obs["dominant_sets"]
    assert found.dtype == "category"
    assert (cells.obs.groupby("kind")["dominant_sets"].nunique() == 1).all()
    assert found.nunique() == 3
    assert cells.obs["dominant_sets_probability"].between(0.0, 1.0).all()
    assert set(cells.obsp) == {"connectivities"}
    cells.write_h5ad(tmp_path / "cells.h5ad")


def test_cells_that_are_noise_have_no_cluster(cells):
    params = {"affinity": "sqeuclidean", "noise": 0.1}
    dominant_sets(cells, key_added="sets", **params)
    labels = DominantSets(**params).fit(cells.obsm["X_pca"]).labels_
    assert (labels < 0).any()
    assert (cells.obs["sets"].isna() == (labels < 0)).all()
    assert cells.uns["sets"]["params"] == {"use_rep": "X_pca", **params}
    assert "cluster" in cells.uns["sets"]["selection"]


def test_an_anndata_elsewhere_gets_a_sentence(cells):
    for use in (DominantSets().fit, as_similarity):
        with pytest.raises(ValueError, match=r"X is an AnnData; call dominantsets\.scanpy\.tl"):
            use(cells)
    with pytest.raises(ValueError, match="has no 'X_umap', it has X_pca"):
        dominant_sets(cells, use_rep="X_umap")
    with pytest.raises(ValueError, match="has no 'nearest'"):
        dominant_sets(cells, neighbors_key="nearest")
