r"""Mode labelling: an object belongs where its own climb ends (graph shift, Liu and Yan, 2010).

A run of a solver from every object, all mass on it, ends in some local maximum of
:math:`f(x) = x^T A x - \alpha |x|^2`, its mode; objects with the same mode are a cluster. The labels are then
a property of f and of the way a solver climbs, without an order in which clusters are removed, and clusters
may share members. n climbs are the price.

Two climbs have the same mode where their members and values agree: a weight of nearly 0 more or less, on
which rounding decides, must not make two of one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.multistart import sampled_start
from dominantsets.similarity import Similarity
from dominantsets.solvers import DominantSet, Monitor, SolverOptions, make_problem
from dominantsets.solvers.result import HALTS, End

BATCH = 256  # climbs between which equal modes are put together
TINY = 1e-6  # of the largest weight: members below it do not tell modes apart
SAME_VALUE, SAME_WEIGHTS = 1e-6, 0.99  # how alike two modes are that are one


class Climbs(NamedTuple):
    """The modes, those that most objects lead to first, and the mode of each object (-1: not climbed)."""

    modes: list[DominantSet]
    labels: Ints
    end: End


def check_climbs(options: SolverOptions, n_starts: int, checkpoint: Any) -> None:
    """Refuse what does not go with climbs from every object."""
    if not isinstance(options.start, str):
        raise ValueError("assign='mode' climbs from every object; start must be 'vertex' or 'barycenter'.")
    if n_starts > 1:
        raise ValueError(f"assign='mode' climbs from every object; leave n_starts at 1, got {n_starts}.")
    if checkpoint is not None:
        raise ValueError("assign='mode' keeps no checkpoint; leave checkpoint out, or assign at 'refine'.")


def climb_from_all(
    similarity: Similarity,
    shift: float,
    degrees: Floats,
    options: SolverOptions,
    monitor: Monitor,
    n_jobs: int | None = None,
) -> Climbs:
    """Climb from every object.

    Parameters
    ----------
    similarity : Similarity
        Of any kind.
    shift : float
        The shift of all climbs.
    degrees : ndarray of float
        Row sums of the similarity.
    options : SolverOptions
        The solver, chosen; "barycenter" starts with half of the mass on the object.
    monitor : Monitor
        Knows the time limit, Ctrl-C and the callback.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Climbs
        After Ctrl-C or at the time limit, of the objects that were climbed from until then.
    """
    n = similarity.n
    options.check_start(n, sampled_start(options))
    problem = make_problem(similarity, shift, degrees)
    labels, register, end = np.full(n, -1, dtype=np.int64), _Register(), End.ALL_ASSIGNED
    for first in range(0, n, BATCH):
        objects = np.arange(first, min(n, first + BATCH))
        monitor.n_clusters, monitor.n_left = len(register.modes), n - first
        found = problem.solve_many(objects, options, monitor, n_jobs)
        for i, mode in zip(objects.tolist(), found, strict=False):
            if mode.status in HALTS:
                end = HALTS[mode.status]
                break
            labels[i] = register.number(mode)
        if monitor.interrupted:
            end = End.INTERRUPTED
        if end is not End.ALL_ASSIGNED:
            break
    counts = np.bincount(labels[labels >= 0], minlength=len(register.modes))
    order = np.lexsort((-np.array([mode.value for mode in register.modes]), -counts))
    ranks = np.empty(order.size + 1, dtype=np.int64)  # the last place is for the label -1
    ranks[order], ranks[-1] = np.arange(order.size), -1
    return Climbs([register.modes[k] for k in order], ranks[labels], end)


class _Register:
    """Modes by their members, and by their weights where members that hardly count differ."""

    def __init__(self) -> None:
        self.modes: list[DominantSet] = []
        self._numbers: dict[bytes, int] = {}
        self._by_exemplar: dict[int, list[int]] = {}

    def number(self, mode: DominantSet) -> int:
        """The number of a mode, a new one where it is new."""
        name = mode.members[mode.weights > TINY * mode.weights.max()].tobytes()
        if name not in self._numbers:
            self._numbers[name] = self._alike(mode)
        return self._numbers[name]

    def _alike(self, mode: DominantSet) -> int:
        for i in mode.members.tolist():
            for k in self._by_exemplar.get(i, ()):
                if same_mode(mode, self.modes[k]):
                    return k
        self.modes.append(mode)
        self._by_exemplar.setdefault(mode.exemplar, []).append(len(self.modes) - 1)
        return len(self.modes) - 1


def same_mode(one: DominantSet, other: DominantSet) -> bool:
    """Whether values agree, and weights but for little."""
    unit = max(abs(one.value), abs(other.value), abs(one.shift))
    if abs(one.value - other.value) > SAME_VALUE * unit:
        return False
    _, a, b = np.intersect1d(one.members, other.members, assume_unique=True, return_indices=True)
    return float(np.minimum(one.weights[a], other.weights[b]).sum()) >= SAME_WEIGHTS


def typicality(similarity: Similarity, modes: list[DominantSet], labels: Ints) -> Floats:
    """The payoff of each object in its mode, as a share of the largest there; 0 for those without one."""
    shares = np.zeros(labels.size)
    for k, mode in enumerate(modes):
        mine = np.flatnonzero(labels == k)
        payoffs = similarity.gradient(mode.members, mode.weights)[mine]
        top = float(payoffs.max(initial=0.0))
        shares[mine] = np.clip(payoffs / top, 0.0, 1.0) if top > 0.0 else 1.0
    return shares
