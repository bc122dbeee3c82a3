"""
Groups of a network
===================

A graph is a similarity: the weights of its links. Here groups of unequal size are planted by networkx, with
more links inside than between; neither their number nor a resolution is told. Writes communities.png.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets
from dominantsets.plotting import plt

graph = nx.gaussian_random_partition_graph(300, 25, 15, 0.5, 0.02, seed=1)
planted = [graph.nodes[i]["block"] for i in graph]
A = nx.to_scipy_sparse_array(graph, dtype=np.float64)
model = DominantSets(affinity="precomputed").fit(graph)
print(f"{len(set(planted))} groups planted, {model.n_clusters_} found")
print(f"ARI {adjusted_rand_score(planted, model.labels_):.2f}")
for cluster in model.clusters_[:3]:
    print(cluster)

# %%
# The links, with nodes in a random order and in the order of the labels.

order = np.random.default_rng(0).permutation(300)
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for ax, rows, title in ((axes[0], order, "any order"), (axes[1], np.argsort(model.labels_), "by label")):
    ax.spy(A[rows][:, rows], markersize=0.6)
    ax.set(title=title, xticks=[], yticks=[])
figure.savefig("communities.png", dpi=90)

# %%
# Where groups are not so clear, say how coarse they should be. In Zachary's karate club everybody knows one
# of two people, and nothing stands out by itself; with a shift there are four groups, about as good by
# their modularity as those of Louvain's method, which climbs on it.

club = nx.karate_club_graph()
A = nx.to_scipy_sparse_array(club, weight=None, dtype=np.float64)
print("found without a shift:", DominantSets(affinity="precomputed").fit(A).n_clusters_)
labels = DominantSets(affinity="precomputed", shift=1.0).fit(A).labels_
groups = [set(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels)]
louvain = nx.community.louvain_communities(club, weight=None, seed=0)
for name, parts in (("dominant sets, shift=1", groups), ("Louvain", louvain)):
    print(f"{name}: {len(parts)} groups, modularity {nx.community.modularity(club, parts, weight=None):.3f}")
