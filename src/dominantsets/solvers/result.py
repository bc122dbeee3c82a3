"""What a solver returns."""

from __future__ import annotations

import enum
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dominantsets._typing import Floats, Ints

PROVEN = 1e-6  # largest global gap, in units of the cluster, up to which it is called the best


class Status(enum.Enum):
    """Why a solver stopped. Gap, value and margin are recomputed from the answer in every case."""

    CONVERGED = "converged"  # the recomputed gap is within tolerance
    STEADY = "steady"  # replicator dynamics moved by no more than tol, the gap is above tolerance
    STALLED = "stalled"  # no step makes progress in floating point, the gap is above tolerance
    DISSOLVED = "dissolved"  # a graph's shift exceeds its degrees: every object would gain by joining
    MAX_ITER = "max_iter"  # the budget of iterations is used up
    TIME_LIMIT = "time_limit"  # the budget of time is used up
    INTERRUPTED = "interrupted"  # Ctrl-C
    STOPPED = "stopped"  # the callback returned True

    @property
    def words(self) -> str:
        """How it ended, as one says it."""
        return _STATUS_WORDS[self]


class Step(enum.IntEnum):
    """What an iteration did. The first three are the paper's good steps."""

    TOWARD = 0  # Frank-Wolfe direction, optimal step size
    RETREAT = 1  # away direction, optimal step size
    EXCHANGE = 2  # pairwise direction, optimal step size
    DROP = 3  # truncated: an object left the support
    SWAP = 4  # truncated: one object took another's place
    JUMP = 5  # truncated Frank-Wolfe step (negative shifts only): all mass to one object
    REPLICATE = 6  # replicator dynamics
    SAFE = 7  # dual: the step that never descends
    ROUND = 9  # working set: a block solved, and one product with the whole similarity
    NEWTON = 8  # dual: Newton's step, or an extrapolation
    CAPPED = 10  # path-following: a step among weights that are at most the cap


class End(enum.Enum):
    """Why peeling ended."""

    N_CLUSTERS = "n_clusters"  # as many clusters as asked for
    ALL_ASSIGNED = "all_assigned"  # no object is left
    NO_SIMILARITY = "no_similarity"  # no positive similarity is left among the remaining objects
    MIN_CLUSTER_SIZE = "min_cluster_size"  # what is left gives only clusters that are smaller than asked for
    NOT_COHERENT = "not_coherent"  # the next cluster is hardly more alike than all the data
    TIME_LIMIT = "time_limit"  # the budget of time is used up
    INTERRUPTED = "interrupted"  # Ctrl-C
    STOPPED = "stopped"  # the callback returned True

    @property
    def words(self) -> str:
        """Why, as the rest of a sentence that begins with "it ended because"."""
        return _END_WORDS[self]


_STATUS_WORDS = {
    Status.CONVERGED: "converged",
    Status.STEADY: "hardly moved any more",
    Status.STALLED: "at the limit of rounding",
    Status.DISSOLVED: "shift too large",
    Status.MAX_ITER: "out of iterations",
    Status.TIME_LIMIT: "out of time",
    Status.INTERRUPTED: "interrupted",
    Status.STOPPED: "stopped by the callback",
}
_END_WORDS = {
    End.N_CLUSTERS: "all clusters asked for were found",
    End.ALL_ASSIGNED: "no object was left",
    End.NO_SIMILARITY: "nothing that was left had anything in common",
    End.MIN_CLUSTER_SIZE: "what was left gave only clusters smaller than min_cluster_size",
    End.NOT_COHERENT: "nothing else stood out more than chance would have it",
    End.TIME_LIMIT: "the time was up",
    End.INTERRUPTED: "it was interrupted",
    End.STOPPED: "the callback stopped it",
}
HALTS = {
    Status.TIME_LIMIT: End.TIME_LIMIT,
    Status.INTERRUPTED: End.INTERRUPTED,
    Status.STOPPED: End.STOPPED,
}
HALTING = tuple(HALTS)  # statuses that end a whole run


@dataclass(frozen=True, eq=False)
class Trace:
    """The state before each iteration, and the kind of step that it took.

    Attributes
    ----------
    value, gap : ndarray of float
        f + shift (the paper's f of the shifted similarity) and max(r) - f: the running numbers, not
        recomputed ones.
    support_size : ndarray of int
        Objects with a positive weight.
    step : ndarray of int8
        The :class:`Step` that was taken.
    seconds : ndarray of float
        Since the solve began. Compiled code makes many iterations at once, for about 50 ms; its time is
        spread evenly over them.
    """

    value: Floats
    gap: Floats
    support_size: Ints
    step: NDArray[np.int8]
    seconds: Floats

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        taken = f", {self.seconds[-1]:.3g} s" if len(self) else ""
        return f"Trace({len(self):,} iterations{taken})"

    def followed_by(self, other: Trace | None) -> Trace:
        """This trace and then another: that of the solver which took over."""
        if other is None:
            return self
        return Trace(
            value=np.concatenate([self.value, other.value]),
            gap=np.concatenate([self.gap, other.gap]),
            support_size=np.concatenate([self.support_size, other.support_size]),
            step=np.concatenate([self.step, other.step]),
            seconds=np.concatenate([self.seconds, other.seconds + (self.seconds[-1] if len(self) else 0.0)]),
        )

    def counts(self) -> dict[str, int]:
        """How many good, drop and swap steps were taken, in the paper's words."""
        n = np.bincount(self.step, minlength=max(Step) + 1)
        return {
            "good": int(n[Step.TOWARD] + n[Step.RETREAT] + n[Step.EXCHANGE]),
            "drop": int(n[Step.DROP]),
            "swap": int(n[Step.SWAP]),
        }


class Log:
    """The rows of a trace (f, gap, support size and step) as a solver makes them, with the time of each."""

    def __init__(self) -> None:
        self._began = self._last = time.perf_counter()
        self._rows: list[tuple[float, float, int, int]] = []
        self._seconds: list[float] = []

    def append(self, row: tuple[float, float, int, int]) -> None:
        """One iteration, just made."""
        self._last = time.perf_counter()
        self._seconds.append(self._last)
        self._rows.append(row)

    def extend(self, rows: Sequence[tuple[float, float, int, int]]) -> None:
        """Iterations that were made since the last ones."""
        now = time.perf_counter()
        self._seconds += np.linspace(self._last, now, len(rows) + 1)[1:].tolist()
        self._rows += rows
        self._last = now

    @property
    def last(self) -> tuple[float, float, int, int]:
        """The row that came last."""
        return self._rows[-1]

    def trace(self, shift: float) -> Trace:
        """All of them."""
        table = np.array(self._rows, dtype=np.float64).reshape(-1, 4)
        return Trace(
            value=table[:, 0] + shift,
            gap=table[:, 1],
            support_size=table[:, 2].astype(np.int64),
            step=table[:, 3].astype(np.int8),
            seconds=np.array(self._seconds, dtype=np.float64) - self._began,
        )


@dataclass(frozen=True, eq=False)
class DominantSet:
    r"""One cluster: a point x of the simplex that is (nearly) a local maximum, with its certificate.

    With :math:`f = x^T A x - \alpha |x|^2` and :math:`r = A x - \alpha x`, all recomputed from x:

    Attributes
    ----------
    members : ndarray of int
        The support of x, in increasing order.
    weights : ndarray of float
        Degrees of membership, which sum to 1, in the order of ``members``.
    value : float
        :math:`f + \alpha`, the objective in the convention of the paper.
    gap : float
        :math:`\max_i r_i - f \ge 0`; a stationary point has gap 0.
    margin : float
        f minus the largest r of an object outside; +inf where no object is outside. Positive: no
        outsider would gain by joining.
    strict : bool or None
        True: proved that x stands for a strict local maximum, a dominant set; its members are these, apart
        from objects that are ``undecided``. False: proved that no strict local maximum has these members (the
        Hessian is not negative definite on their face, or an object outside gains by joining). None: neither
        is proved, because the support is large, x is not yet nearly stationary, or rounding hides it.
    n_iter : int
        Iterations made.
    status : Status
        Why the solver stopped.
    trace : Trace or None
        What every iteration did, where it was asked for.
    shift : float
        The shift :math:`\alpha` that was used.
    algorithm : str
        The solver.
    center : ndarray or None
        For affinity "sqeuclidean" a cluster is a ball: its center, the weighted mean of the members.
    radius : float or None
        Its radius: an object joins where it lies within.
    global_gap : float or None
        No point of the simplex has a value more than this above: 0, up to rounding, for the global maximum.
        None where that is not known; see :func:`dominantsets.global_optimum`.
    unit : float
        :math:`\sum_i \kappa_i x_i^2`, where :math:`\kappa_i` is the shift plus the similarity of object i to
        itself (the largest similarity, where there is none). Tolerances are relative to it: unlike the value,
        it stays the same if a constant is added to all similarities and subtracted from the shift, and if
        one object lies far away.
    undecided : ndarray of int
        Objects for which rounding cannot tell whether they are members of the strict maximum: outsiders with
        a payoff that cannot be told from f, and members with a weight that cannot be told from 0.
    rounding : float or None
        How far f and each payoff may be off by rounding, at most. None where that is not known: for kernels,
        distances and functions, data that are not in memory, weighted objects and sets around seeds.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import solve
    >>> S = np.array([[0.0, 2, 2, 1], [2, 0, 2, 1], [2, 2, 0, 1], [1, 1, 1, 0]])
    >>> low, high = solve(S).margin_bounds  # each of three objects has the payoff 4/3, the fourth 1
    >>> low <= 1 / 3 <= high, high - low < 1e-12
    (True, True)
    """

    members: Ints
    weights: Floats
    value: float
    gap: float
    margin: float
    strict: bool | None
    n_iter: int
    status: Status
    trace: Trace | None = field(default=None, repr=False)
    shift: float = 0.0
    algorithm: str = ""
    center: Floats | None = field(default=None, repr=False)
    radius: float | None = None
    global_gap: float | None = None
    unit: float = 0.0
    undecided: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    rounding: float | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.members)

    def __repr__(self) -> str:
        return (
            f"DominantSet({len(self.members)} members, value={self.value:.6g}, gap={self.gap:.2g}, "
            f"margin={self.margin:.3g}, strict={self.strict}, {self.n_iter} iterations, "
            f"{self.status.value}{self._standing})"
        )

    @property
    def proven(self) -> bool:
        """Whether no point of the simplex has a higher value, up to a millionth of the unit."""
        return self.global_gap is not None and self.global_gap <= PROVEN * self.unit

    @property
    def _standing(self) -> str:
        if self.global_gap is None:
            return ""
        return ", proven best" if self.proven else f", at most {self.global_gap:.3g} below the best"

    def _enclosed(self, number: float, least: float = -np.inf) -> tuple[float, float] | None:
        """An interval around a difference of two payoffs."""
        if self.rounding is None:
            return None
        return max(least, number - 2.0 * self.rounding), number + 2.0 * self.rounding

    @property
    def gap_bounds(self) -> tuple[float, float] | None:
        """An interval that contains the gap of these weights in exact arithmetic; None where unknown."""
        return self._enclosed(self.gap, 0.0)

    @property
    def margin_bounds(self) -> tuple[float, float] | None:
        """An interval that contains the margin of these weights in exact arithmetic; None where unknown."""
        return self._enclosed(self.margin)

    @property
    def exemplar(self) -> int:
        """The member with the largest weight (ties: the lowest index)."""
        return int(self.members[int(np.argmax(self.weights))])

    @property
    def threshold(self) -> float:
        """The payoff f that an object must exceed to join."""
        return self.value - self.shift

    @property
    def relative_gap(self) -> float:
        """The gap in the unit in which ``tol`` is given."""
        return self.gap / self.unit if self.unit > 0 else (0.0 if self.gap <= 0 else np.inf)
