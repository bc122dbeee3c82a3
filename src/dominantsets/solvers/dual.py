r"""The dual: a dominant set of low-rank features is d + 1 numbers.

With :math:`a_{ij} = u_i \cdot u_j + b_i + b_j + m` off the diagonal and :math:`\kappa_i` what the formula
has on it plus the shift, the problem is :math:`\max |U^T x|^2 + 2 b^T x - \sum \kappa_i x_i^2` over the
simplex (up to a constant), and a stationary point has

.. math:: x_i = \max(0, u_i \cdot w + b_i - \tau) / \kappa_i, \qquad w = U^T x,

with :math:`\tau` set by :math:`\sum x = 1`. So the unknowns are w and tau. The step
:math:`w \leftarrow U^T x(w)` never lowers f (docs/theory-dual.md); Newton's method on
:math:`U^T x(w) = w` within a trust region makes it fast. One pass over the features an iteration,
whatever the size of the support.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotrs

from dominantsets import _arrays
from dominantsets.similarity import LowRank, Similarity
from dominantsets.similarity.base import Floats, Ints, spans
from dominantsets.similarity.rows import PIECE_BYTES
from dominantsets.solvers.certificate import EPS, scale_of
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.problem import Problem
from dominantsets.solvers.result import Status, Step, Trace

DENSE_LIMIT = 2_000  # unknowns up to which Newton's matrix is factorised
STRETCH = 8.0  # how many times its length a step may be taken where it does not close in
MEMORY = 6  # steps that the extrapolation above that remembers


@dataclass
class _Point:
    """x(w) for one w, and what follows from it."""

    w: Floats
    members: Ints
    weights: Floats
    image: Floats  # U'x(w), the safe step's target
    f: float
    tau: float

    @property
    def residual(self) -> Floats:
        return self.image - self.w


class Dual:
    """The problem in its d + 1 unknowns."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.similarity = similarity = require_low_rank(problem.similarity)
        self.kappa = similarity.self_similarity + problem.shift
        least = float(self.kappa[problem.alive].min())
        if least <= 0.0:
            raise ValueError(
                f"algorithm='dual' needs a shift above {problem.shift - least:.6g} here, got "
                f"{problem.shift:.6g}: below it the problem is not concave along any single object."
            )
        self.root = float(np.sqrt(similarity.factor))
        self.reach = self.root * float(np.sqrt(similarity.square_norms.max()))
        self._keep = np.empty(problem.n, dtype=np.int64)
        self._spread: _Spread | None = None

    def image(self, members: Ints, weights: Floats) -> Floats:
        """U'x."""
        return self.root * self.similarity.rows.mix(members, weights)

    def at(self, w: Floats) -> _Point:
        """One pass over the features: x(w)."""
        similarity = self.similarity
        s = similarity.rows.dot(w)
        s *= self.root
        if similarity.bias is not None:
            s += similarity.bias
        tau, count = _arrays.threshold(s, self.kappa, self.problem.alive, self._keep)
        members = self._keep[:count].copy()
        kappa = self.kappa[members]
        weights = (s[members] - tau) / kappa
        weights /= weights.sum()
        image = self.image(members, weights)
        f = float(image @ image) + (similarity.offset or 0.0) - float(kappa @ weights**2)
        if similarity.bias is not None:
            f += 2.0 * float(similarity.bias[members] @ weights)
        return _Point(w, members, weights, image, f, tau)

    def spread(self, members: Ints) -> _Spread:
        """How x(w) answers to w while its support stays the same; the last one is kept."""
        if self._spread is None or not np.array_equal(self._spread.members, members):
            self._spread = _Spread(self, members)
        return self._spread


class _Spread:
    r"""The Jacobian J = C C' of w -> U'x(w) on a support.

    The columns of C are the members' rows minus their mean (weighted by 1/kappa), over the root of kappa.
    I - J and the smaller I - C'C are positive definite together; the smaller one is kept.
    """

    def __init__(self, dual: Dual, members: Ints) -> None:
        self._dual, self.members = dual, members
        self._rows = rows = dual.similarity.rows
        inverse = 1.0 / dual.kappa[members]
        self._mean = dual.image(members, inverse) / inverse.sum()
        self._halves = np.sqrt(inverse)
        self.small = members.size < rows.d
        self._columns: Floats | None = None
        if self.small and not rows.sparse:
            self._columns = ((dual.root * rows.take(members) - self._mean) * self._halves[:, None]).T
            self.matrix = self._columns.T @ self._columns
        elif self.small:
            G = dual.root**2 * rows.gram(members, members)
            G -= np.add.outer(cross := dual.root * rows.dot(self._mean)[members], cross)
            G += self._mean @ self._mean
            self.matrix = G * np.multiply.outer(self._halves, self._halves)
        else:
            self.matrix = np.zeros((rows.d, rows.d))
            for part in spans(members.size, 16 * rows.d, PIECE_BYTES):  # pieces that stay in the cache
                piece = (dual.root * rows.take(members[part]) - self._mean) * self._halves[part, None]
                self.matrix += piece.T @ piece

    def down(self, g: Floats) -> Floats:
        """C'g."""
        if self._columns is not None:
            return np.asarray(self._columns.T @ g)
        products = self._dual.root * self._rows.dot(g)[self.members]
        return np.asarray(self._halves * (products - self._mean @ g))

    def up(self, v: Floats) -> Floats:
        """C v."""
        if self._columns is not None:
            return np.asarray(self._columns @ v)
        v = self._halves * v
        return np.asarray(self._dual.image(self.members, v) - self._mean * v.sum())

    def step(self, g: Floats, radius: float) -> tuple[Floats, bool]:
        """Solve (I - J) step = g within a ball: (step, whether I - J is positive definite).

        Where I - J is indefinite its eigenvalues are taken by their size, which points uphill along every
        one of them; where the step is longer than the radius they are raised until it is not.
        """
        # LAPACK itself: for small clusters the usual wrappers take longer than the factorisation
        factor, failed = dpotrf(self._identity_minus(1.0), lower=1, overwrite_a=1)
        definite = failed == 0
        if definite:
            if self.small:
                step = g + self.up(dpotrs(factor, self.down(g), lower=1)[0])
            else:
                step = dpotrs(factor, g, lower=1)[0]
            if step @ step <= radius * radius:
                return step, True
        values, vectors = eigh(self.matrix, check_finite=False)
        if self.small:  # eigenvectors of J are those of C'C under C; J is 0 across them
            kept = values > 1e-13 * max(float(values[-1]), 1e-300)
            values, vectors = values[kept], vectors[:, kept] / np.sqrt(values[kept])
            along = vectors.T @ self.down(g)
            rest = g - self.up(vectors @ along)
        else:
            along, rest = vectors.T @ g, np.zeros_like(g)
        sizes, across = np.maximum(np.abs(1.0 - values), 1e-12), float(rest @ rest)
        mu = 0.0
        for _ in range(100):
            length = np.sqrt(float(np.square(along / (sizes + mu)).sum()) + across / (1.0 + mu) ** 2)
            if length <= radius:
                break
            mu = max(1.5 * mu, 1e-12, (length / radius - 1.0) * (mu + float(sizes.min())))
        step = vectors @ (along / (sizes + mu))
        return (self.up(step) if self.small else step) + rest / (1.0 + mu), definite

    def definite(self) -> bool:
        """Whether I - J is positive definite, beyond rounding: a proof of a strict maximum on the face."""
        slack = 4 * EPS * len(self.matrix) * max(1.0, float(np.abs(self.matrix).max()))
        return bool(dpotrf(self._identity_minus(1.0 - slack), lower=1, overwrite_a=1)[1] == 0)

    def _identity_minus(self, one: float) -> Floats:
        out = np.negative(self.matrix)
        out[np.diag_indices(len(out))] += one
        return out


def applies(similarity: LowRank, shift: float) -> bool:
    """Whether every object alone is concave, which the dual needs: so for every shift >= 0, but oddities."""
    return bool((similarity.self_similarity + shift > 0.0).all())


def require_low_rank(similarity: Similarity) -> LowRank:
    """The similarity, if it has the structure that the dual needs."""
    if not isinstance(similarity, LowRank):
        raise ValueError(
            "algorithm='dual' needs features with affinity 'sqeuclidean', 'cosine' or 'linear', got a "
            f"{type(similarity).__name__} similarity, whose columns are not a low-rank product."
        )
    return similarity


class _Extrapolation:
    """Anderson's extrapolation of the safe steps, where Newton's matrix would be too large."""

    def __init__(self) -> None:
        self.images: list[Floats] = []
        self.residuals: list[Floats] = []

    def step(self, point: _Point) -> Floats:
        self.images = [*self.images[-MEMORY:], point.image]
        self.residuals = [*self.residuals[-MEMORY:], point.residual]
        if len(self.residuals) < 2:
            return point.residual
        differences = np.column_stack([r - point.residual for r in self.residuals[:-1]])
        shares, *_ = np.linalg.lstsq(differences, -point.residual, rcond=1e-10)
        moves = np.column_stack([i - point.image for i in self.images[:-1]])
        return np.asarray(point.residual + moves @ shares)


class _Climb:
    """A run: where it stands, how far it dares to step, and what it has recorded."""

    def __init__(self, dual: Dual, w: Floats) -> None:
        self.dual = dual
        self.point = dual.at(w)
        self.passes = 1
        self.radius = 2.0 * float(np.linalg.norm(self.point.residual))
        self.stretch = 1.0
        self.stale = 0
        self.rows: list[tuple[float, float, int, int]] = []
        self._extrapolation = _Extrapolation()

    def until(self, tol: float, max_iter: int, monitor: Monitor) -> Status:
        shift, dual = self.dual.problem.shift, self.dual
        while True:
            point = self.point
            length = float(np.linalg.norm(point.residual))
            # r_i differs from what x(w) would make it by u_i · residual, so this bounds the gap
            bound = 2.0 * dual.reach * length
            unit = max(abs(point.f), abs(shift), dual.reach * float(np.linalg.norm(point.w)))
            if bound <= tol * scale_of(point.f, shift) or bound <= 4 * EPS * unit:
                return Status.CONVERGED
            if self.stale >= 3:
                return Status.STALLED
            if self.passes >= max_iter:
                return Status.MAX_ITER
            halt = monitor.look_up(self.passes, point.f + shift, bound, point.members.size)
            if halt is not None:
                return halt
            self.advance(length, 4 * EPS * unit)

    def advance(self, length: float, rounding: float) -> None:
        """One accepted step: Newton's where f does not fall, else the safe one."""
        before = self.point
        smaller = min(before.members.size, self.dual.similarity.rows.d)
        if smaller <= DENSE_LIMIT:
            step, _ = self.dual.spread(before.members).step(before.residual, max(self.radius, length))
        else:
            step = self._extrapolation.step(before)
        step *= self.stretch
        stride = float(np.linalg.norm(step))
        after, kind = self.dual.at(before.w + step), Step.NEWTON
        self.passes += 1
        shorter = float(np.linalg.norm(after.residual)) < length
        if after.f > before.f + rounding or (after.f >= before.f - rounding and shorter):
            if stride > 0.9 * self.radius:
                self.radius = 4.0 * stride
            # A climb along a nearly flat ridge goes on in one direction: dare more each time, up to a
            # limit that keeps it in its basin; where Newton's method converges, its step is the right one.
            closing = float(np.linalg.norm(after.residual)) < 0.5 * length
            self.stretch = 1.0 if closing else min(STRETCH, 2.0 * self.stretch)
        else:
            self.radius, self.stretch = 0.25 * stride, 1.0
            after, kind = self.dual.at(before.image), Step.SAFE
            self.passes += 1
            shorter = float(np.linalg.norm(after.residual)) < length
        risen = after.f > before.f + rounding or shorter
        self.stale = 0 if risen else self.stale + 1
        self.rows.append((before.f, 2.0 * self.dual.reach * length, before.members.size, int(kind)))
        self.point = after


def solve_dual(
    problem: Problem,
    x: Floats,
    *,
    tol: float,
    max_iter: int,
    monitor: Monitor,
    trace: bool = False,
) -> tuple[Floats, int, Status, Trace | None, bool | None]:
    """Newton's method with safe steps from x: (weights, passes, status, trace, definite on the face)."""
    dual = Dual(problem)
    start = np.flatnonzero(x)
    run = _Climb(dual, dual.image(start, x[start]))
    try:
        status = run.until(tol, max_iter, monitor)
    except KeyboardInterrupt:  # between two passes: the last accepted point is whole
        status = Status.INTERRUPTED
    out = np.zeros(problem.n)
    out[run.point.members] = run.point.weights
    smaller = min(run.point.members.size, dual.similarity.rows.d)
    face = dual.spread(run.point.members).definite() if smaller <= DENSE_LIMIT else None
    return out, run.passes, status, Trace.from_rows(run.rows, problem.shift) if trace else None, face
