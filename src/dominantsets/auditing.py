r"""An audit of the clusters of any method: would each be a dominant set, and which objects would not stay?

The *core* of a cluster C is the dominant set among its own members at the scale at which it has nine tenths
of them: a wrong member or two are no part of it. From there a solver climbs among all objects. The larger the
shift, the larger the dominant set D that it reaches: bisection finds the scale at which D has as many members
as C, and the most similar D on the way counts. Its F1 score is the *cohesion* of C: 1 where C is a dominant
set at its own scale.

The *gain* of an object at C compares it with the edge of the core, whatever the scale: with its payoff p, the
payoff f of the outermost member and the similarity s to its own copy it is :math:`(p - f) / (s - f)`. For
M - D² that is :math:`(\rho^2 - d^2) / (\rho^2 + v)`, d the distance from the center, ρ the radius and v the
variance of the core. It is positive inside, 0 on the edge and negative outside. An object would move if
another cluster gives it a larger gain.

Two clusters have a *valley* between them if there are fewer objects half way than at either one: objects are
placed by the difference of their payoffs, so that the medians of the clusters lie at -1 and 1, and those near
-1, 0 and 1 are counted. A cluster is two if the halves into which it falls have a significant valley; a pair
of clusters is one if there is no valley.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.cluster import KMeans

from dominantsets._checks import check_int
from dominantsets._typing import Flags, Floats, Ints
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.similarity.base import evenly
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.dense import Dense
from dominantsets.similarity.factory import PRECOMPUTED
from dominantsets.solvers import DominantSet, solve

STEPS = 16  # of the bisection of scales
CORE = 0.9  # share of a cluster's members in its core
SMALL = 5  # objects below which all members are in the core
MOST = 2_000  # largest number of members from which a core and halves are made: more are thinned out evenly
FEW = 12  # objects below which it is not asked whether a cluster is two, or a pair one
NEAR = 0.3  # half width of the places where objects are counted, where medians lie at -1 and 1
FLAT = 0.5  # objects half way, as a share of those at the smaller cluster, from which there is no valley
HALF = 0.1  # smallest share of a cluster that is a half of it: a few wrong members are none
CHANCE = 0.01  # largest probability of a valley by chance from which a cluster is two
DRAWN = 1_000  # largest number of objects of a draw of structureless data


@dataclass(frozen=True, eq=False)
class AuditedCluster:
    """What an audit found of one cluster.

    Attributes
    ----------
    label : int or str
        Its label.
    size : int
        Objects with this label.
    cohesion : float
        F1 score of the cluster and ``found``: 1 if it is a dominant set at its own scale.
    found : DominantSet
        The dominant set that is reached from the cluster, at the scale at which they are most similar.
    leave : ndarray of int
        Members that another cluster gives a larger gain.
    join : ndarray of int
        Objects of other clusters or of none that would join this one.
    is_two : bool or None
        Whether the cluster falls into two groups; None where it has fewer than 12 objects.
    """

    label: Any
    size: int
    cohesion: float
    found: DominantSet
    leave: Ints = field(repr=False)
    join: Ints = field(repr=False)
    is_two: bool | None

    @property
    def is_dominant(self) -> bool:
        """Whether the cluster is a dominant set at its own scale, with proof."""
        return self.cohesion == 1.0 and bool(self.found.strict)


@dataclass(frozen=True, eq=False)
class Audit:
    """The result of :func:`audit`; print it for the table.

    Attributes
    ----------
    clusters : list of AuditedCluster
        One entry per label, in increasing order.
    suggested : ndarray of shape (n,)
        Labels after all moves.
    urgency : ndarray of float of shape (n,)
        For an object that would move, how much more gain it has at its new cluster; else 0 or less.
    pairs : list of tuple of two labels
        Labels of clusters that are one group.
    score : float
        Mean cohesion of the clusters, by their sizes.
    null : ndarray of float
        The same for partitions of structureless data (for a matrix: for labels at random).
    """

    clusters: list[AuditedCluster]
    suggested: Any
    urgency: Floats
    pairs: list[tuple[Any, Any]]
    score: float
    null: Floats = field(repr=False)

    @property
    def p_value(self) -> float:
        """Share of draws of the null with a score as high, this one counted."""
        return float(1 + np.count_nonzero(self.null >= self.score)) / (1 + self.null.size)

    @property
    def moves(self) -> Ints:
        """Objects that would move, the most urgent first."""
        return np.argsort(-self.urgency, kind="stable")[: np.count_nonzero(self.urgency > 0.0)]

    def __repr__(self) -> str:
        return (
            f"Audit({len(self.clusters)} clusters, score={self.score:.3f}, p={self.p_value:.2g}, "
            f"{self.moves.size} objects would move)"
        )

    def __str__(self) -> str:
        lines = [
            f"{'label':>6} {'size':>7} {'cohesion':>8} {'dominant':>8} {'leave':>6} {'join':>6} {'two':>6}"
        ]
        for c in self.clusters:
            two = "-" if c.is_two is None else "yes" if c.is_two else "no"
            lines.append(
                f"{c.label!s:>6} {c.size:7d} {c.cohesion:8.2f} {'yes' if c.is_dominant else 'no':>8} "
                f"{c.leave.size:6d} {c.join.size:6d} {two:>6}"
            )
        null = "no draws of structureless data"
        if self.null.size:
            null = (
                f"structureless data: {self.null.min():.3f} to {self.null.max():.3f} in {self.null.size} "
                f"draws, p = {self.p_value:.2g}"
            )
        lines.append(f"Score {self.score:.3f} ({null}).")
        divided = [str(c.label) for c in self.clusters if c.is_two]
        if divided:
            lines.append(f"Divide: {', '.join(divided)}.")
        if self.pairs:
            lines.append(f"Join: {', '.join(f'{a} and {b}' for a, b in self.pairs)}.")
        count = self.moves.size
        lines.append(
            f"{count} of {self.suggested.size} objects would move." if count else "No object would move."
        )
        return "\n".join(lines)


def audit(
    X: Any,
    labels: Any,
    *,
    affinity: Any = "sqeuclidean",
    affinity_params: dict[str, Any] | None = None,
    n_draws: int = 19,
    random_state: int = 0,
) -> Audit:
    """Judge the clusters of any method, or of people.

    Each cluster is compared with the dominant set that is reached from it at its own scale. The result says
    how similar they are, which objects would leave, which would join, whether a cluster is two groups, and
    which pairs of clusters are one.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_features)
        The rows; for ``affinity="precomputed"`` the similarities of all pairs.
    labels : array of int or str of shape (n,)
        The cluster of each object; a negative number for none.
    affinity : str or callable, default="sqeuclidean"
        How similarity comes from X, see :func:`as_similarity`: ``"path"`` for groups of any shape.
    affinity_params : dict, optional
        Its parameters.
    n_draws : int, default=19
        Draws of structureless data that the score is compared with, cut into as many clusters by k-means:
        by turns of a normal and a uniform distribution with the covariance of X. For a matrix, labels are
        permuted. 0: none.
    random_state : int, default=0
        Seed of these draws. Nothing else is random.

    Returns
    -------
    Audit
        To be printed, with an entry for each cluster.

    Examples
    --------
    Two groups of which one object has the wrong label.

    >>> import numpy as np
    >>> from dominantsets import audit
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [11.0], [12.0], [13.0]])
    >>> found = audit(X, [0, 0, 0, 1, 1, 1, 1, 1], n_draws=0)
    >>> found.moves, found.suggested
    (array([3]), array([0, 0, 0, 0, 1, 1, 1, 1]))
    """
    draws = check_int("n_draws", n_draws, at_least=0)
    similarity = as_similarity(X, affinity, **(affinity_params or {}))
    if similarity.structure == "ellipses":
        raise ValueError("audit compares clusters in one metric; use affinity='sqeuclidean' or 'path'.")
    given, names, places = _checked(labels, similarity.n)
    cores = [_core(similarity, np.flatnonzero(places == k)) for k in range(names.size)]
    judged = [_nearest_set(similarity, np.flatnonzero(places == k), core) for k, core in enumerate(cores)]
    two = [_is_two(similarity, np.flatnonzero(places == k)) for k in range(names.size)]
    gains = np.column_stack([_gains(similarity, core) for core in cores])
    gains[:, np.array(two, dtype=bool)] = -np.inf  # the core of two groups is neither
    suggested, urgency = _moves(gains, places)
    clusters = [
        AuditedCluster(
            names[k].item() if hasattr(names[k], "item") else names[k],
            int(np.count_nonzero(places == k)),
            one.cohesion,
            one.found,
            np.flatnonzero((places == k) & (urgency > 0.0)),
            np.flatnonzero((places != k) & (suggested == k)),
            two[k],
        )
        for k, one in enumerate(judged)
    ]
    others = [_means_of_others(similarity, core) for core in cores]
    pairs = [(a, b) for a, b in _neighbors(gains, places) if _is_one(others[b] - others[a], places, a, b)]
    sizes = np.array([c.size for c in clusters])
    score = float(np.average([c.cohesion for c in clusters], weights=sizes))
    null = _null(X, similarity, places, affinity, affinity_params, draws, random_state)
    moved = np.where(suggested >= 0, names[np.maximum(suggested, 0)], given)
    named = [(clusters[a].label, clusters[b].label) for a, b in pairs]
    return Audit(clusters, moved, urgency, named, score, null)


def _checked(labels: Any, n: int) -> tuple[Any, Any, Ints]:
    """Labels as an array, the names of clusters, and the number of each object's cluster, -1 for none."""
    found = np.asarray(labels)
    if found.shape != (n,) or found.dtype.kind not in "iubUSO":
        raise ValueError(
            f"labels must be whole numbers or names, one per object ({n}), got {found.dtype} of shape "
            f"{found.shape}."
        )
    kept = found >= 0 if found.dtype.kind in "iub" else np.ones(n, dtype=bool)
    if not kept.any():
        raise ValueError("there is no cluster to audit: all labels are negative.")
    names, numbers = np.unique(found[kept], return_inverse=True)
    places = np.full(n, -1)
    places[kept] = numbers
    return found, names, places


class _Core(NamedTuple):
    """A dominant set among the members of a cluster, and the least payoff of its members: its edge."""

    members: Ints
    weights: Floats
    f: float


class _Nearest(NamedTuple):
    """The dominant set that is most similar to a cluster, and its F1 score."""

    found: DominantSet
    cohesion: float


def _inside(similarity: Similarity, objects: Ints) -> Floats:
    """The similarities of some objects; those between components are no less than the least."""
    A = np.asarray(similarity.block(objects, objects))
    lost = ~np.isfinite(A)
    if lost.any():
        A[lost] = 0.0
    return A


def _core(similarity: Similarity, members: Ints) -> _Core:
    """By bisection of the scale κ, among the members alone."""
    chosen = evenly(members, MOST)
    A = _inside(similarity, chosen)
    level = float(A.max(initial=0.0))
    if chosen.size == 1 or level <= 0.0:
        edge = 0.0 if similarity.self_similarity is None else similarity.self_similarity
        return _Core(chosen, np.full(chosen.size, 1.0 / chosen.size), edge)
    wanted = chosen.size if chosen.size < SMALL else int(CORE * chosen.size)
    own = bounds_of(similarity).level or level
    low, high, best = 1e-6 * own, 4.0 * chosen.size * own, None
    alone = Dense.made_here(A, own)
    for _ in range(STEPS):
        kappa = float(np.sqrt(low * high))
        found = solve(alone, shift=kappa - own, start="barycenter")
        if best is None or abs(len(found) - wanted) < abs(len(best) - wanted):
            best = found
        if len(found) == wanted:
            break
        low, high = (kappa, high) if len(found) < wanted else (low, kappa)
    assert best is not None
    payoffs = A[np.ix_(best.members, best.members)] @ best.weights
    if similarity.self_similarity is not None:
        payoffs += similarity.self_similarities(chosen[best.members]) * best.weights
    return _Core(chosen[best.members], best.weights, float(payoffs.min()))


def _nearest_set(similarity: Similarity, members: Ints, core: _Core) -> _Nearest:
    """By bisection of the scale κ, from the core of a cluster, among all objects."""
    level, start = bounds_of(similarity).level or 1.0, np.zeros(similarity.n)
    start[core.members] = core.weights
    low, high = 1e-6 * level, 4.0 * similarity.n * level
    if similarity.self_similarity is None:  # of a network, whose shift is at least 0
        low = level
    best: _Nearest | None = None
    for _ in range(STEPS):
        kappa = float(np.sqrt(low * high))
        found = solve(similarity, shift=kappa - level, start=start)
        shared = np.intersect1d(found.members, members, assume_unique=True).size
        score = 2.0 * shared / (len(found) + members.size)
        if best is None or score > best.cohesion:
            best = _Nearest(found, score)
        if score == 1.0:
            break
        low, high = (kappa, high) if len(found) < members.size else (low, kappa)
    assert best is not None
    return best


def _means_of_others(similarity: Similarity, core: _Core) -> Floats:
    """The mean similarity of each object to a core, itself left out: no member makes its own place."""
    p = np.asarray(similarity.gradient(core.members, core.weights), dtype=np.float64)
    p[core.members] /= np.maximum(1.0 - core.weights, 1e-12)
    return p


def _gains(similarity: Similarity, core: _Core) -> Floats:
    """How far each object is inside the edge of a core, in units that do not depend on its scale."""
    p = np.asarray(similarity.gradient(core.members, core.weights), dtype=np.float64)
    if similarity.self_similarity is None:
        return np.asarray(p / max(core.f, 1e-300) - 1.0)
    own = similarity.self_similarities(np.arange(similarity.n))
    p[core.members] += own[core.members] * core.weights
    room = np.maximum(own - core.f, 1e-12 * np.abs(own).max())
    return np.asarray((p - core.f) / room)


def _moves(gains: Floats, places: Ints) -> tuple[Ints, Floats]:
    """The cluster of each object after all moves, and how much more gain it has there than at home."""
    every, inside = np.arange(places.size), places >= 0
    home = np.where(inside, gains[every, np.maximum(places, 0)], 0.0)  # without a cluster: only inside one
    two = np.asarray(np.isneginf(gains).all(axis=0))
    home[two[np.maximum(places, 0)] & inside] = np.inf  # first it has to be divided
    others = gains.copy()
    others[every[inside], places[inside]] = -np.inf
    best = others.argmax(axis=1)
    top = others[every, best]
    with np.errstate(invalid="ignore"):  # no path leads anywhere
        urgency = np.nan_to_num(top - home, nan=-1.0, posinf=1.0, neginf=-1.0)
    return np.where(urgency > 0.0, best, places), urgency


def _counts(s: Floats, side: Flags) -> tuple[int, int]:
    """How many objects lie half way between two clusters, and at the one with fewer, by a coordinate."""
    a, b = float(np.median(s[~side])), float(np.median(s[side]))
    if not np.isfinite(b - a) or b <= a:
        return 1, 1
    t = (2.0 * s - a - b) / (b - a)
    at = [int(np.count_nonzero(np.abs(t - place) < NEAR)) for place in (-1.0, 0.0, 1.0)]
    return at[1], min(at[0], at[2])


def _is_one(s: Floats, places: Ints, a: int, b: int) -> bool:
    """Whether there is no valley between two clusters."""
    objects = np.flatnonzero((places == a) | (places == b))
    side = places[objects] == b
    if min(np.count_nonzero(side), np.count_nonzero(~side)) < FEW:
        return False
    half_way, at_smaller = _counts(s[objects], side)
    return half_way >= FLAT * at_smaller


def _is_two(similarity: Similarity, members: Ints) -> bool | None:
    """Whether the halves of a cluster have a significant valley between them."""
    if members.size < FEW:
        return None
    chosen = evenly(members, MOST)
    A = _inside(similarity, chosen)
    np.fill_diagonal(A, bounds_of(similarity).level)
    means = A.mean(axis=0)
    C = A - means - means[:, None] + means.mean()
    side = np.linalg.eigh(C)[1][:, -1] > 0.0
    s = np.zeros(chosen.size)
    for _ in range(STEPS):
        if min(np.count_nonzero(side), np.count_nonzero(~side)) < max(FEW / 2, HALF * chosen.size):
            return False
        s = C[:, side].mean(axis=1) - C[:, ~side].mean(axis=1)
        middle = 0.5 * (float(s[side].mean()) + float(s[~side].mean()))
        if np.array_equal(s > middle, side):
            break
        side = s > middle
    half_way, at_smaller = _counts(s, side)
    return bool(binom.cdf(half_way, half_way + at_smaller, 0.5) < CHANCE)


def _neighbors(gains: Floats, places: Ints) -> list[tuple[int, int]]:
    """Each cluster with the one that gives its objects the largest gain in the median."""
    pairs = set()
    if gains.shape[1] > 1:
        for k in range(gains.shape[1]):
            middle = np.median(gains[places == k], axis=0)
            middle[k] = -np.inf
            other = int(middle.argmax())
            if np.isfinite(middle[other]) and not np.isneginf(gains[:, k]).all():
                pairs.add((min(k, other), max(k, other)))
    return sorted(pairs)


def _null(
    X: Any,
    similarity: Similarity,
    places: Ints,
    affinity: Any,
    params: dict[str, Any] | None,
    draws: int,
    seed: int,
) -> Floats:
    """Scores of clusters in structureless data."""
    rng, count = np.random.RandomState(seed), int(places.max()) + 1
    rows = (
        None
        if affinity in PRECOMPUTED or isinstance(X, Similarity) or sp.issparse(X)
        else np.asarray(X, float)
    )
    out = np.empty(draws)
    if rows is not None and draws:
        _, lengths, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
        lengths = lengths / np.sqrt(len(rows))
    for draw in range(draws):
        if rows is None:
            out[draw] = _score(similarity, rng.permutation(places))
            continue
        size = min(len(rows), DRAWN)
        shape = (size, lengths.size)
        drawn = rng.normal(size=shape) if draw % 2 == 0 else rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), shape)
        drawn = (drawn * lengths) @ axes
        labels = np.zeros(size, dtype=np.int64)
        if count > 1:
            labels = np.asarray(KMeans(count, n_init=1, random_state=seed).fit(drawn).labels_, dtype=np.int64)
        out[draw] = _score(as_similarity(drawn, affinity, **(params or {})), labels)
    return out


def _score(similarity: Similarity, places: Ints) -> float:
    """Mean cohesion by size."""
    clusters = [np.flatnonzero(places == k) for k in range(int(places.max()) + 1)]
    clusters = [members for members in clusters if members.size]
    found = [_nearest_set(similarity, members, _core(similarity, members)).cohesion for members in clusters]
    return float(np.average(found, weights=[members.size for members in clusters]))
