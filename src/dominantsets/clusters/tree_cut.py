r"""The groups of a path-based similarity: pieces of its spanning tree, each with its dominant set.

A spanning tree is cut at its longest edge that leaves enough on both sides, again and again: at least a
quarter of what a piece would have if all were equal. Only objects inside the tree are counted: those at its
tips are where single far objects hang on. How strong a cut is, is the logarithm of its edge over the median
edge of the pieces on its two sides, whichever is longer. Data without structure have cuts, too:
``benchmarks/nulls.py`` counts them. In D dimensions hardly one in fifty is stronger than

.. math:: \tau_D = 0.02 + 2.6\,e^{-0.55 D} + 30\,e^{-3.2 D}, \qquad
          \tau_D = 0.01 + 1.6\,e^{-0.95 D} + 30\,e^{-3.2 D},

and :math:`0.6 / \sqrt n` more; the second with mutual reachability (``min_samples`` above 1), which evens out
the edges. Where no number is asked for, cuts are made as long as they are stronger than that, and than 0.3 of
the strongest; with mutual reachability in more than 2.4 dimensions, where there are no curves,
:math:`e^{1.5 (D - 2.4)}` times less. The last counts that is clearly stronger than the next ones: a curve has
many cuts that are about equally strong.

The dominant set of a piece is the largest subtree of single linkage that lies in it and is one at some shift:
by docs/theory-path.md that is known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.clusters import evidence
from dominantsets.clusters.modes import LEAST
from dominantsets.compiled import cuts as compiled_cuts
from dominantsets.similarity import Path
from dominantsets.similarity.single_linkage import SingleLinkage
from dominantsets.solvers import DominantSet, Monitor, SolverOptions, make_problem
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.problem import Outcome
from dominantsets.solvers.tree import best_within

SHARE = 0.25  # of n / k inner objects that a cut leaves on both sides
CLEARLY = 0.12  # by which the last cut must be stronger than the next AHEAD ones
AHEAD = 2
WEAK = 0.3  # of the strongest cut, below which none is made in up to CURVES dimensions
CURVES = 2.4
FULL = 5.0  # strength from which a cut is as strong as any
MOST = 200  # clusters, where no number is asked for
BISECTIONS = 60  # to find a shift


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of the tree.

    Attributes
    ----------
    core : DominantSet
        Its dominant set.
    node : int
        The node of single linkage that has its members.
    size : int
        Objects of the piece.
    strength : float
        That of the cut which made it; of the first piece, of the strongest cut (nan without cuts).
    """

    core: DominantSet
    node: int
    size: int
    strength: float


@dataclass(frozen=True, eq=False)
class TreeCut:
    """A tree in pieces.

    Attributes
    ----------
    pieces : list of Piece
        The largest first.
    labels : ndarray of int
        The piece of each object; -1 where a forest has more trees than pieces were asked for, or trees of
        fewer than 8 objects where no number was.
    strengths : list of float
        Of all cuts, in their order, and of some that were not made.
    least : float
        The strength that chance cuts hardly reach.
    """

    pieces: list[Piece]
    labels: Ints
    strengths: list[float]
    least: float


def cut_tree(
    similarity: Path,
    n_clusters: int | None,
    min_cluster_size: int,
    options: SolverOptions,
    monitor: Monitor,
    background: Flags | None = None,
    level: float = 0.0,
) -> TreeCut:
    """The groups of a path-based similarity.

    Parameters
    ----------
    similarity : Path
        The similarity.
    n_clusters : int, optional
        How many pieces; without it, as many as there are cuts that are more than chance.
    min_cluster_size : int
        Pieces whose dominant set is smaller are left out.
    options : SolverOptions
        Those of the dominant sets.
    monitor : Monitor
        At its time limit no more dominant sets are looked for.
    background : ndarray of bool, optional
        Objects that are noise: they count nowhere, and are in no dominant set.
    level : float
        Where no number is asked for, no edge is cut that is shorter: it is one within a group.

    Returns
    -------
    TreeCut
        The pieces.
    """
    tree, n = similarity.tree, similarity.n
    behind = np.zeros(n, dtype=bool) if background is None else background
    dimension = _dimension(similarity, np.flatnonzero(~behind))
    least = _by_chance(n - int(behind.sum()), dimension, similarity.min_samples)
    forest = compiled_cuts.root_forest(n, *tree.ends)
    weights, lasting = (
        _inner(tree, behind),
        np.flatnonzero(tree.height > (level if n_clusters is None else 0.0))[::-1],
    )
    first = tree.n_components
    wanted = min(n, MOST if n_clusters is None else n_clusters)
    asked = max(0, wanted - first) + (AHEAD if n_clusters is None else 0)
    share, edges = SHARE, np.empty(0, dtype=np.int64)
    while True:
        edges, roots = compiled_cuts.sized_cuts(*forest, weights, lasting, min(asked, n - first), share)
        if n_clusters is None or edges.size >= min(asked, n - first):
            break
        share = 0.5 * share if share > 1e-4 else 0.0
        if share == 0.0 and (weights == 1.0).all():
            if lasting.size == tree.height.size:
                break
            lasting = np.arange(tree.height.size)[::-1]  # copies of an object part last
        weights = weights if share > 0.0 else np.ones(n)
    strengths = _strengths(tree, forest, edges, weights, behind, least if n_clusters is None else -np.inf)
    if n_clusters is None:
        beyond = max(0.0, dimension - CURVES) if similarity.min_samples > 1 else 0.0
        edges = edges[: _number(strengths, least, WEAK * float(np.exp(-1.5 * beyond)))]
        roots = compiled_cuts.sized_cuts(*forest, weights, edges, edges.size, 0.0)[1]
    labels = _by_size(roots, behind, wanted, LEAST if n_clusters is None else 1, _lengths(tree, roots))
    return _with_cores(
        similarity, labels, behind, edges, strengths, least, min_cluster_size, options, monitor
    )


def _inner(tree: SingleLinkage, behind: Flags) -> Floats:
    """1 for objects inside the tree, 0 at its tips and behind; copies of an object are one place."""
    u, v = tree.ends
    copies = int(np.searchsorted(tree.height, 0.0, side="right"))
    place = compiled_cuts.sized_cuts(
        *compiled_cuts.root_forest(tree.n, u[:copies], v[:copies]), np.ones(tree.n), np.arange(0), 0, 0.0
    )[1]
    degree = np.bincount(place[np.concatenate([u[copies:], v[copies:]])], minlength=tree.n)
    inner = ((degree[place] > 1) & ~behind).astype(np.float64)
    return inner if inner.sum() > 0.25 * (tree.n - behind.sum()) else (~behind).astype(np.float64)


def _strengths(
    tree: SingleLinkage,
    forest: tuple[Ints, Ints, Ints, Ints],
    edges: Ints,
    weights: Floats,
    behind: Flags,
    least: float,
) -> list[float]:
    """Of each cut, when it was made; a few more than are stronger than ``least`` one after another."""
    out: list[float] = []
    weak, (u, v) = 0, tree.ends
    left = ~(behind[u] | behind[v])
    for k, edge in enumerate(edges.tolist()):
        left[edge] = False
        piece = compiled_cuts.sized_cuts(*forest, weights, edges[: k + 1], k + 1, 0.0)[1]
        sides = [tree.height[left & (piece[u] == piece[end])] for end in (u[edge], v[edge])]
        length = float(tree.height[edge])
        # between two single objects a cut is no stronger than any other edge would be
        typical = max((float(np.median(side)) for side in sides if side.size), default=length)
        out.append(float(np.log(length / typical)) if typical > 0.0 else (np.inf if length > 0.0 else 0.0))
        weak += weak > 0 or out[-1] < least
        if weak > AHEAD:
            break
    return out


def _number(strengths: list[float], least: float, weak: float = WEAK) -> int:
    """How many cuts are more than chance, and than a share of the strongest."""
    found, strongest = 0, 0.0
    for k, strength in enumerate(strengths):
        strongest = max(strongest, strength)
        if not strength > max(least, weak * min(strongest, FULL)):
            break
        if strength > max(strengths[k + 1 : k + 1 + AHEAD], default=-np.inf) + CLEARLY:
            found = k + 1
    return found


def _lengths(tree: SingleLinkage, roots: Ints) -> Floats:
    """The length of the edges in each object's piece, added up from the shortest: in any order of rows."""
    u, v = tree.ends
    inside = roots[u] == roots[v]
    return np.asarray(np.bincount(roots[u[inside]], weights=tree.height[inside], minlength=tree.n)[roots])


def _by_size(roots: Ints, behind: Flags, wanted: int, least: int, lengths: Floats) -> Ints:
    """Pieces by number, the largest first, of these the shortest; -1 beyond those wanted, and in small trees.

    Only pieces of the same size and length are in the order of their rows.
    """
    _, first, piece = np.unique(roots, return_index=True, return_inverse=True)
    sizes = np.bincount(piece.reshape(-1), weights=~behind)
    order = np.lexsort((first, lengths[first], -sizes))
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    labels = rank[piece.reshape(-1)]
    large = max(1, int(np.count_nonzero(sizes >= least)))
    return np.where(labels < min(wanted, large), labels, -1)


def _with_cores(
    similarity: Path,
    labels: Ints,
    behind: Flags,
    edges: Ints,
    strengths: list[float],
    least: float,
    min_cluster_size: int,
    options: SolverOptions,
    monitor: Monitor,
) -> TreeCut:
    """The dominant set of each piece: the largest subtree within it that is one at some shift."""
    tree, n = similarity.tree, similarity.n
    pure = compiled_cuts.pure_nodes(n, tree.left, tree.right, np.where(behind, -1, labels))
    made = np.full(labels.max() + 1, max(strengths[: edges.size], default=np.nan))
    for k, edge in enumerate(edges.tolist()):
        for end in tree.ends:
            made[labels[end[edge]]] = strengths[k]
    pieces: list[Piece] = []
    kept = np.full(labels.max() + 2, -1, dtype=np.int64)
    for k in range(labels.max() + 1):
        if pieces and monitor.out_of_time():
            break
        nodes = np.flatnonzero(pure == k)
        node = int(nodes[np.lexsort((-nodes, tree.size[nodes]))[-1]])
        core, node = _dominant(similarity, node, options)
        if len(core) >= min_cluster_size:
            kept[k] = len(pieces)
            pieces.append(Piece(core, node, int(np.count_nonzero(labels == k)), float(made[k])))
    return TreeCut(pieces, kept[labels], strengths, least)


def _dominant(similarity: Path, node: int, options: SolverOptions) -> tuple[DominantSet, int]:
    """The dominant set of a node, at a shift at which it is one; else that of its larger side.

    A node is a dominant set from where its own sides have joined to where it joins more: too small a shift
    gives less than the node, too large a one would take in others, so that a shift between is found by
    bisection of its logarithm. A single object always is one.
    """
    tree, top = similarity.tree, similarity.top
    while True:
        parent, members = int(tree.parent[node]), tree.leaves(node)
        outside = top - float(tree.height[parent - tree.n]) if parent >= 0 else -np.inf
        alive = np.zeros(tree.n, dtype=bool)
        alive[members] = True
        low, high = 1e-12 * top, 4.0 * tree.n * top  # kappa, the similarity of an object to its copy + shift
        for _ in range(BISECTIONS):
            shift = float(np.sqrt(low * high)) - top
            x, f, outcome = best_within(similarity, shift, alive)
            if np.count_nonzero(x) < members.size:
                low = shift + top
            elif f <= outside:
                high = shift + top
            else:
                return certified(similarity, shift, outcome, options), node
        if node < tree.n:
            return certified(similarity, shift, outcome, options), node
        sides = int(tree.left[node - tree.n]), int(tree.right[node - tree.n])
        node = max(sides, key=lambda side: int(tree.size[side]))


def certified(similarity: Path, shift: float, outcome: Outcome, options: SolverOptions) -> DominantSet:
    """The certificate of weights at a shift, over all objects."""
    return certify(make_problem(similarity, shift), outcome, options.chosen_for(similarity, shift))


def _by_chance(n: int, dimension: float, min_samples: int) -> float:
    """The strength that hardly any cut of data without structure has."""
    level, height, rate = (0.02, 2.6, 0.55) if min_samples == 1 else (0.01, 1.6, 0.95)
    curves = 30.0 * float(np.exp(-3.2 * dimension))
    return level + curves + height * float(np.exp(-rate * dimension)) + 0.6 / float(np.sqrt(n))


def _dimension(similarity: Path, objects: Ints) -> float:
    """That of some objects, from the nearest ones of each."""
    near = similarity.near(objects)
    return 2.0 if near is None else evidence.dimension(near)
