r"""Labels of the nodes of a network: members of the groups, and the nodes that are tied to one.

Node i has d edges, e of them to group k. If it belongs to k, each of its edges leads there with the
probability :math:`q_k`, the share of the group's edge ends that stay within the group; if it does not, with
the probability :math:`v_k`, the group's share of all edge ends (as in a random graph with these degrees). The
logarithm of the odds is

.. math:: e \log\frac{q_k}{v_k} + (d - e) \log\frac{1 - q_k}{1 - v_k} + \log\frac{n_k}{n_0},

with :math:`n_k` nodes in the group and :math:`n_0` nodes in none. A node is labelled with the group that has
the best odds if these are positive, and is noise otherwise. Members of the dominant sets keep their group.
Labels, shares and numbers are computed in turns, from the communities on, until no label changes. Where every
node is to have a label, odds below zero count as well, and nodes without an edge to a group join after their
neighbors.

Edges with weights count as their effective number, :math:`d = (\sum w)^2 / \sum w^2`, of which group k has
the share of its weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Floats, Ints
from dominantsets.labels.noise import is_share, without_noise
from dominantsets.labels.partition import Partition, Unbounded
from dominantsets.labels.soft import OWN, alone
from dominantsets.similarity.graph import Graph
from dominantsets.solvers import DominantSet

ROUNDS = 100  # of labels, after which they stay; a handful are usual


@dataclass(frozen=True, eq=False)
class ByEdges(Unbounded):
    """The group that a node is tied to by its edges.

    Parameters
    ----------
    labels : ndarray of int
        The group of each node, -1 for none.
    inside, ends, sizes : ndarray of shape (K,)
        q, v and the number of nodes of each group.
    outside : int
        Nodes in no group; 0 where every node is to have a label.
    given : ndarray of int, optional
        The labels of the nodes, where a share of them was left out.
    """

    labels: Ints
    inside: Floats
    ends: Floats
    sizes: Floats
    outside: int
    given: Ints | None = None

    def of_new(self, similarity: Graph, new: Any) -> Ints:
        """Labels of new nodes, from their edges; one with the edges of a node has the label of that node."""
        edges, A = sp.csr_array(new, dtype=np.float64), similarity.matrix
        labels = self.best(edges, np.full(edges.shape[0], -1), np.zeros(edges.shape[0]))
        drawn = np.random.RandomState(0).uniform(size=A.shape[0])  # sums of them tell rows apart
        known, sums = A @ drawn, edges @ drawn
        order = np.argsort(known, kind="stable")
        node = order[np.minimum(np.searchsorted(known[order], sums), order.size - 1)]
        same = np.flatnonzero(known[node] == sums)
        same = same[np.asarray(abs(A[node[same]] - edges[same]).sum(axis=1)).ravel() == 0.0]
        labels[same] = (self.labels if self.given is None else self.given)[node[same]]
        return labels

    def soft(self, similarity: Any, known: Ints, n_clusters: int, labels: Ints, new: Any) -> Floats:
        """A half for the label, and the shares of the edges that lead to each group for the other half."""
        edges = sp.csr_array(similarity.matrix if new is None else new, dtype=np.float64)
        groups = sp.csr_array((np.ones(known.size), (np.arange(known.size), known % (n_clusters + 1))))
        groups = sp.csr_array(groups, shape=(known.size, n_clusters + 1))
        shares, total = (edges @ groups).toarray(), np.asarray(edges.sum(axis=1)).ravel()
        whole = alone(labels, n_clusters)
        shares[total > 0.0] /= total[total > 0.0, None]
        return OWN * whole + (1.0 - OWN) * np.where(total[:, None] > 0.0, shares, whole)

    def best(self, edges: Any, own: Ints, shares: Floats) -> Ints:
        """The label of each row of edges; ``own`` is its label so far, ``shares`` that of all edge ends."""
        n, some = edges.shape[0], np.flatnonzero(self.labels >= 0)
        ones = np.ones(some.size)
        groups = sp.csr_array((ones, (some, self.labels[some])), shape=(edges.shape[1], self.sizes.size))
        weights, squares = (np.asarray(table.sum(axis=1)).ravel() for table in (edges, edges * edges))
        tied = sp.coo_array(edges @ groups)
        i, k, share = tied.row, tied.col, tied.data / weights[tied.row]
        count = np.square(weights[i]) / squares[i]
        v = np.clip(self.ends[k] - np.where(own[i] == k, shares[i], 0.0), 1e-12, 1.0 - 1e-12)
        q = self.inside[k]
        odds = count * (share * np.log(q / v) + (1.0 - share) * np.log((1.0 - q) / (1.0 - v)))
        odds += np.log(self.sizes[k] / max(1, self.outside))
        labels = np.full(n, -1, dtype=np.int64)
        order = np.lexsort((-k, odds))  # of equal odds the first group
        order = order[(odds[order] > 0.0) | (self.outside == 0)]
        labels[i[order]] = k[order]
        return labels


def label_by_edges(
    similarity: Graph, clusters: list[DominantSet], nodes: Ints, noise: float | str | None, every: bool
) -> Partition:
    """Labels of all nodes, how strongly they hold, and a rule for new ones.

    Parameters
    ----------
    similarity : Graph
        The graph.
    clusters : list of DominantSet
        Its groups. A node of several belongs to the one in which its payoff is largest, over the root of the
        value of the set.
    nodes : ndarray of int
        The group of each node that labels begin with, -1 for none.
    noise : float, "auto", "cores" or None
        With "auto" a node is noise if the odds are against every group; a number is a share of the nodes that
        is left out.
    every : bool
        Whether all nodes with a path to a group are to have a label.

    Returns
    -------
    Partition
        Probabilities are payoffs, that of the best member being 1.
    """
    n, A = similarity.n, similarity.matrix
    members, best = np.full(n, -1, dtype=np.int64), np.zeros(n)
    payoffs = [similarity.sparse_gradient(cluster.members, cluster.weights) for cluster in clusters]
    for k, (cluster, (objects, values)) in enumerate(zip(clusters, payoffs, strict=True)):
        mine = values[np.searchsorted(objects, cluster.members)]
        fits = mine / np.sqrt(max(float(cluster.weights @ mine), 1e-300))
        better = fits > best[cluster.members]
        members[cluster.members[better]], best[cluster.members[better]] = k, fits[better]
    begin = np.where(members < 0, nodes, members)
    rule = _settled(A, members, begin, len(clusters), every or noise is None or is_share(noise))
    labels, strength = rule.labels, np.zeros(n)
    for k, (cluster, (objects, values)) in enumerate(zip(clusters, payoffs, strict=True)):
        top = max(float(values[np.searchsorted(objects, cluster.members)].max()), 1e-300)
        here = labels[objects] == k
        strength[objects[here]] = np.clip(values[here] / top, 0.0, 1.0)
    out = float((labels < 0).mean())
    sentence = "no node is labelled noise."
    if out and rule.outside:
        sentence = f"{out:.0%} of the nodes are labelled noise: their edges do not tie them to a group."
    elif out:
        sentence = f"{out:.0%} of the nodes are labelled noise: no path leads from them to a group."
    if is_share(noise):
        labels, strength, sentence = without_noise(labels, strength, noise)
        rule = replace(rule, given=labels)
    return Partition(labels, strength, rule, sentence)


def _settled(A: Any, members: Ints, labels: Ints, n_groups: int, every: bool) -> ByEdges:
    """The rule whose labels no longer change; members of the groups keep theirs."""
    degrees = np.asarray(A.sum(axis=1)).ravel()
    shares = degrees / max(float(degrees.sum()), 1e-300)
    free = np.flatnonzero((members < 0) & (degrees > 0.0))
    edges = A[free].astype(np.float64)
    for number in range(members.size if every else ROUNDS):
        found = labels.copy()
        found[free] = _rule(A, labels, degrees, n_groups, every).best(edges, labels[free], shares[free])
        if number >= ROUNDS:  # only what has no label yet goes on
            found = np.where(labels >= 0, labels, found)
        if np.array_equal(found, labels):
            break
        labels = found
    return _rule(A, labels, degrees, n_groups, every)


def _rule(A: Any, labels: Ints, degrees: Floats, n_groups: int, every: bool) -> ByEdges:
    """Shares and numbers of groups with these labels."""
    ends, within = np.zeros(n_groups), np.zeros(n_groups)
    some = np.flatnonzero(labels >= 0)
    np.add.at(ends, labels[some], degrees[some])
    rows = np.repeat(np.arange(labels.size), np.diff(A.indptr))
    inner = (labels[rows] >= 0) & (labels[rows] == labels[A.indices])
    np.add.at(within, labels[rows[inner]], A.data[inner])
    unit = float(A.data.mean()) if A.nnz else 1.0  # an edge more inside, and one outside: no share is 0 or 1
    inside = (within + unit) / (ends + 2.0 * unit)
    sizes = np.maximum(np.bincount(labels[some], minlength=n_groups), 1).astype(np.float64)
    outside = 0 if every else max(1, int((labels < 0).sum()))
    return ByEdges(labels, inside, ends / max(float(degrees.sum()), 1e-300), sizes, outside)
