r"""Path-based similarity, solved exactly.

For :math:`A = \max(D) - D` with D the minimax distance, every dominant set is a subtree of the
single-linkage tree, and one pass over the merges finds them all. docs/theory-path.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dominantsets._checks import check_real
from dominantsets._typing import Floats, Ints
from dominantsets.compiled import tree as compiled_tree
from dominantsets.similarity import Path, as_similarity
from dominantsets.similarity.single_linkage import SingleLinkage
from dominantsets.similarity.solving import solving_of
from dominantsets.solvers.certificate import EPS, certify
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.options import SolverOptions
from dominantsets.solvers.problem import Outcome, Point, Problem
from dominantsets.solvers.result import DominantSet, Status

PIECE = 5_000_000  # leaves visited between two checks for Ctrl-C


class _Pass:
    """The upward pass for one shift and one mask: values of nodes, and which are maxima."""

    def __init__(self, tree: SingleLinkage, top: float, shift: float, alive: np.ndarray) -> None:
        self.tree = tree
        self.c = top + shift
        self._joins = (tree.left, tree.right)
        exact = Fraction(top) + Fraction(shift) == Fraction(self.c)
        rounding = 8.0 * EPS * (top + abs(shift))
        scale = _whole(tree.height, top, shift) if exact else 0.0
        self.value, self._gap, sure, fused, settled, self.stands, self.above, self.lowest = (
            compiled_tree.ascend_tree(
                tree.n, self.c, *self._joins, tree.height, alive, rounding, scale, exact
            )
        )
        self.kind, self.decided = compiled_tree.find_maxima(
            tree.n, *self._joins, tree.height, self._gap, sure, fused, settled, self.stands, self.above
        )
        self._face = fused & settled

    def maxima(self, weak: bool = False) -> Ints:
        """Nodes that are strict maxima (weak ones where there are none, or where they are asked for).

        Highest value first, ties by lowest member.
        """
        strict = np.flatnonzero(self.kind == compiled_tree.STRICT)
        nodes = np.flatnonzero(self.kind > 0) if weak or not strict.size else strict
        return nodes[np.lexsort((self.lowest[nodes], -self.value[nodes]))]

    def outcome(self, node: int, x: Floats, halt: Status | None = None, best: bool = False) -> Outcome:
        """What is known of a maximum before its payoffs are.

        The tree proves that f is strictly concave on the face, where no merge is so close to a tie that
        rounding could have made it one.
        """
        face = True if self._face[node] else None
        weak = self.strict(node) is False
        return Outcome(Point.of(x), 1, halt or Status.CONVERGED, face=face, weak=weak, best=best)

    def strict(self, node: int) -> bool | None:
        """Whether a maximum is strict, by the tie rule; None where rounding decides."""
        return bool(self.kind[node] == compiled_tree.STRICT) if self.decided[node] else None

    def weights(self, nodes: Ints) -> tuple[Floats, Ints]:
        """Weights of all objects in the maxima ``nodes``, and the node that each is a member of."""
        chosen = np.zeros(self.value.size, dtype=bool)
        chosen[nodes] = True
        return compiled_tree.spread(self.tree.n, *self._joins, self._gap, self.stands, chosen)


def _whole(height: Floats, top: float, shift: float) -> float:
    """A power of two that makes heights and the shift whole numbers below 2**26; 0.0: there is none.

    Below it c and what merges offer are exact, and fractions of few objects fit into 64 bits. Numbers that
    were rounded have more digits.
    """
    scale = math.ldexp(1.0, min(1023, 26 - math.frexp(max(top, abs(shift)))[1]))
    if (shift * scale) % 1.0 or (top * scale) % 1.0 or ((height * scale) % 1.0).any():
        return 0.0
    return scale


def best_within(similarity: Path, shift: float, alive: np.ndarray) -> tuple[Floats, float, Outcome]:
    """The maximum of highest value among some objects: its weights, f, and what the tree knows of it."""
    run = _Pass(similarity.tree, similarity.top, shift, alive)
    best = run.maxima()[:1]
    x, _ = run.weights(best)
    members = np.flatnonzero(x)
    payoffs = similarity.gradient(members, x[members])[members] - shift * x[members]
    return x, float(x[members] @ payoffs), run.outcome(int(best[0]), x)


def solve_exactly(problem: Problem, options: SolverOptions, monitor: Monitor) -> DominantSet:
    """The dominant set of highest value among the objects that are alive; the callback is called once."""
    similarity = solving_of(problem.similarity).require_path()
    run = _Pass(similarity.tree, similarity.top, problem.shift, problem.alive)
    best = run.maxima()[:1]
    # weak maxima, which ties make, are no dominant sets and may be higher
    above = float(run.value[run.maxima(weak=True)[0]] - run.value[best[0]])
    x, _ = run.weights(best)
    halt = monitor.report(1, float(run.value[best[0]]), 0.0, int(np.count_nonzero(x)))
    found = certify(problem, run.outcome(int(best[0]), x, halt, best=True), options)
    assert found.global_gap is not None
    return replace(found, strict=run.strict(int(best[0])), global_gap=found.global_gap + max(above, 0.0))


def path_clusters(S: Path, *, shift: float = 0.0, weak: bool = False) -> list[DominantSet]:
    r"""All dominant sets of a path-based similarity, exactly, in one pass over its tree.

    Every strict local maximum of :math:`x^T (A - \alpha I) x` over the simplex is a subtree of the
    single-linkage tree. So is the end of every flat segment of maxima that ties may make: a weak one.

    Parameters
    ----------
    S : Path
        From ``as_similarity(X, affinity="path")``.
    shift : float, default=0.0
        The shift :math:`\alpha`.
    weak : bool, default=False
        Whether to give weak maxima too. Where there are no strict ones they are given in any case.

    Returns
    -------
    list of DominantSet
        Highest value first, ties by the lowest member. They do not overlap. ``strict`` is True for a strict
        maximum and False for a weak one. An outsider with exactly the payoff f may leave a maximum strict;
        its ``margin`` is then 0. Ties of whole numbers (of up to 26 binary digits, in any unit that is a
        power of two) are decided exactly while fractions fit into 64 bits. Where rounding decides, ``strict``
        is None. Heights of the tree are taken as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity, path_clusters
    >>> S = as_similarity(np.array([[0.0], [1.0], [2.0], [7.0], [8.0]]), affinity="path")
    >>> [c.members.tolist() for c in path_clusters(S)]
    [[0, 1, 2], [3, 4]]
    """
    similarity: Path = solving_of(as_similarity(S)).require_path()
    return every_maximum(similarity, check_real("shift", shift), weak)[0]


def every_maximum(similarity: Path, shift: float, weak: bool = False) -> tuple[list[DominantSet], bool]:
    """As :func:`path_clusters`, and whether rounding left no node of the tree undecided."""
    tree = similarity.tree
    run = _Pass(tree, similarity.top, shift, np.ones(tree.n, dtype=bool))
    nodes = run.maxima(weak)
    weights, member = run.weights(nodes)
    r = compiled_tree.inner_payoffs(
        tree.n, similarity.top, tree.left, tree.right, tree.height, weights, member
    )
    r -= shift * weights
    sequence = np.argsort(member, kind="stable")
    starts = np.searchsorted(member[sequence], nodes)
    stops = np.searchsorted(member[sequence], nodes, side="right")
    clusters = []
    for node, start, stop in zip(nodes.tolist(), starts, stops, strict=True):
        members = sequence[start:stop]
        x, payoff = weights[members], r[members]
        f, unit = float(x @ payoff), max(0.0, run.c) * float(x @ x)
        above = int(run.above[node])
        # all members meet an outsider no lower than at the next merge, so its payoff is that merge's
        outside = similarity.top - float(tree.height[above - tree.n]) if above >= 0 else -np.inf
        clusters.append(
            DominantSet(
                members=members,
                weights=x,
                value=f + shift,
                gap=max(0.0, float(payoff.max()) - f, outside - f),
                margin=f - outside,
                strict=run.strict(node),
                n_iter=1,
                status=Status.CONVERGED,
                shift=shift,
                algorithm="exact",
                unit=unit,
            )
        )
    return clusters, bool(run.decided.all())


@dataclass(frozen=True, eq=False)
class PathSpectrum:
    """For which shifts each cluster of a single-linkage tree is a dominant set.

    Attributes
    ----------
    nodes : ndarray of int
        Nodes of the tree with at least two objects that are a dominant set for some shift.
    shift_from, shift_to : ndarray of float
        The node is a dominant set for shifts above the first and below the second (inf for a root). An end
        is rounded; use ``at`` for a shift that may be one.
    closed : ndarray of bool
        Whether it still is at the end itself: so where no neighbor ends there too. Ends that rounding
        cannot tell apart count as equal.
    sizes : ndarray of int
        Number of objects of each node.
    tree : SingleLinkage
        The tree.
    top : float
        The largest distance: similarity is ``top`` minus distance.
    """

    nodes: Ints
    shift_from: Floats
    shift_to: Floats
    closed: NDArray[np.bool_]
    sizes: Ints
    tree: SingleLinkage
    top: float

    def __repr__(self) -> str:
        return f"PathSpectrum({self.nodes.size:,} dominant sets over all shifts, of {self.tree.n:,} objects)"

    def members(self, node: int) -> Ints:
        """The objects of a node, in increasing order."""
        return self.tree.leaves(node)

    def at(self, shift: float) -> Ints:
        """The nodes (of at least two objects) that are dominant sets at a shift: one pass over the tree."""
        run = _Pass(self.tree, self.top, float(shift), np.ones(self.tree.n, dtype=bool))
        nodes = np.flatnonzero(run.kind == compiled_tree.STRICT)
        return nodes[nodes >= self.tree.n]


def path_spectrum(S: Path) -> PathSpectrum:
    r"""The whole resolution path of a path-based similarity: when each cluster exists.

    A node of the single-linkage tree with a higher parent is a dominant set for exactly one interval of
    shifts: from where its two sides have joined to where its own side joins the parent's other side. Each
    end is the root of a monotone function, found by Newton's method in a bracket. The cost is a few times
    the sum of all nodes' sizes: n log n for a balanced tree, n² for a chain.

    Parameters
    ----------
    S : Path
        From ``as_similarity(X, affinity="path")``.

    Returns
    -------
    PathSpectrum
        Nodes, and the shifts between which they are dominant sets.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity, path_spectrum
    >>> S = as_similarity(np.array([[0.0], [1.0], [3.0]]), affinity="path")
    >>> spectrum = path_spectrum(S)
    >>> [(spectrum.members(k).tolist(), a, b) for k, a, b in
    ...  zip(spectrum.nodes.tolist(), spectrum.shift_from.tolist(), spectrum.shift_to.tolist())]
    [([0, 1], -1.0, 1.0), ([0, 1, 2], 1.0, inf)]
    """
    similarity: Path = solving_of(as_similarity(S)).require_path()
    tree = similarity.tree
    n, m = tree.n, tree.left.size
    lower, upper = np.full(n + m, -np.inf), np.full(n + m, np.inf)
    inner = tree.parent[:n] >= 0
    upper[:n][inner] = tree.height[tree.parent[:n][inner] - n]
    sequence = compiled_tree.postorder(n, tree.left, tree.right, tree.parent)
    work = np.cumsum(tree.size[n:][sequence])
    u, du = np.empty(n + m), np.empty(n + m)
    first = 0
    while first < m:  # in parts, with a check for Ctrl-C between them
        done = work[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(work, done + PIECE)))
        compiled_tree.lifetimes(
            n, tree.left, tree.right, tree.height, tree.parent, tree.size, sequence,
            first, last, lower, upper, u, du,
        )  # fmt: skip
        first = last
    closed = compiled_tree.closed_ends(n, tree.left, tree.right, tree.height, tree.parent, tree.size, upper)
    nodes = np.arange(n, n + m)
    nodes = nodes[upper[nodes] > lower[nodes]]
    return PathSpectrum(
        nodes=nodes,
        shift_from=lower[nodes] - similarity.top,
        shift_to=upper[nodes] - similarity.top,
        closed=closed[nodes],
        sizes=tree.size[nodes],
        tree=tree,
        top=similarity.top,
    )
