r"""The dual: a dominant set of low-rank features is d + 1 numbers.

With :math:`a_{ij} = u_i \cdot u_j + b_i + b_j + m` off the diagonal and :math:`\kappa_i` what the formula
has on it plus the shift, the problem is :math:`\max |U^T x|^2 + 2 b^T x - \sum \kappa_i x_i^2` over the
simplex (up to a constant), and a stationary point has

.. math:: x_i = \max(0, u_i \cdot w + b_i - \tau) / \kappa_i, \qquad w = U^T x,

with :math:`\tau` set by :math:`\sum x = 1`. So the unknowns are w and tau. The step
:math:`w \leftarrow U^T x(w)` never lowers f (docs/theory-dual.md); Newton's method on
:math:`U^T x(w) = w` within a trust region makes it fast. One pass over the features per iteration,
whatever the size of the support.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dsyevd

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import passes
from dominantsets.compiled.threads import GRAIN, blas, parallel_map, row_blocks, thread_slices
from dominantsets.rows.arrays import PIECE_BYTES
from dominantsets.similarity.faces import EPS
from dominantsets.similarity.low_rank import require_concave
from dominantsets.similarity.solving import solving_of
from dominantsets.solvers.problem import Problem

SMALL = 2**17  # numbers of a feature matrix up to which a pass is one compiled call, on one thread
COMPILED_LIMIT = 48  # features up to which Newton's matrix is summed by compiled code, above by BLAS
DENSE_LIMIT = 2_000  # unknowns up to which Newton's matrix is factorised


class Iterate:
    """x(w) for one w, as far as an ascent needs it."""

    def __init__(self, w: Floats, tau: float, size: int, image: Floats, f: float, unit: float) -> None:
        self.w, self.tau, self.size, self.f = w, tau, size, f
        self.unit = unit  # one over the sum of 1 / kappa: not above the unit of x(w), by Cauchy and Schwarz
        self.image = image  # U'x(w), the safe step's target
        self.residual = image - w
        self.length = math.sqrt(self.residual @ self.residual)


class DualPoint(Iterate):
    """x(w) for one w, with its members and their weights."""

    def __init__(
        self, w: Floats, tau: float, members: Ints, weights: Floats, image: Floats, f: float, inverse: Floats
    ) -> None:
        super().__init__(w, tau, int(members.size), image, f, 1.0 / passes.mass_of(inverse, members))
        self.members, self.weights = members, weights

    @property
    def parts(self) -> tuple[Floats, float, Ints, Floats, Floats, float]:
        """The arguments that it was made of, but for kappa."""
        return self.w, self.tau, self.members, self.weights, self.image, self.f


class Dual:
    """The problem in its d + 1 unknowns."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.similarity = similarity = solving_of(problem.similarity).require_dual()
        self.local = local = similarity.local
        self.rows = rows = local.rows
        self.shift, self.d = problem.shift, rows.d
        kappa = local.diagonal + problem.shifts
        least = float(kappa.min())
        if least <= 0.0 and kappa.size == problem.n:
            least = float(kappa[problem.alive].min())
            kappa = np.maximum(kappa, least)  # removed objects do not matter
        require_concave(least, problem.shift)
        self.inv_kappa = np.divide(1.0, kappa, out=kappa)  # one number where all have the same
        self.offset, self.root = similarity.formula.offset, similarity.formula.root
        self.reach, self.scatter = self.root * similarity.longest, similarity.scatter_over(least)
        self.center = np.zeros(rows.d) if rows.pending is None else rows.pending
        self.form = local.form(np.zeros(rows.d), factor=self.root)  # constant 0
        self.keep = np.empty(problem.n, dtype=np.int64)
        self._s = np.empty(problem.n)  # kept: the pages of a new array cost more than a product
        self._guess: Ints = self.keep[:0]
        self.small = not rows.sparse and rows.d <= COMPILED_LIMIT and rows.n * rows.d <= SMALL
        self._jacobian: _SupportJacobian | None = None

    def inv_kappa_of(self, members: Ints) -> Floats:
        """1 / kappa of chosen objects."""
        inv_kappa = self.inv_kappa
        return inv_kappa[members] if inv_kappa.size > 1 else np.full(members.size, inv_kappa[0])

    def image(self, members: Ints, weights: Floats) -> Floats:
        """The product U'x."""
        return np.asarray(self.root * self.rows.mix(members, weights))

    def at(self, w: Floats) -> DualPoint:
        """One pass over the features: x(w)."""
        rows, form, inverse, offset = self.rows, self.form, self.inv_kappa, self.offset
        if self.small:
            tau, members, weights, image, f = passes.small_pass(
                rows.plain, w, form, self.center, inverse, self.problem.alive, self._guess, self.keep
            )
            self._guess = members
            return DualPoint(w, tau, members, weights, image, f + offset, inverse)
        s = rows.products(w, form._replace(constant=float(self.center @ w)), self.problem.alive, self._s)
        tau, count = self._locate(s)
        self._guess = members = self.keep[:count].copy()
        weights, scaled = np.empty(count), np.empty(count)
        sums = parallel_map(
            lambda part: passes.weigh(s, tau, form, inverse, members[part], weights[part], scaled[part]),
            thread_slices(count),
        )
        total, square, lean, reach = (sum(column) for column in zip(*sums, strict=True))
        if not total > 0.0:
            # kappa is below the rounding of s: the members are level, and share the weight as one over kappa
            level = np.ones(s.size)
            total, square, lean, reach = passes.weigh(level, 0.0, form, inverse, members, weights, scaled)
        weights /= total
        image = self.root / total * (rows.plain_mix(members, scaled) - reach * self.center)
        f = float(image @ image) + offset - square / total**2 + 2.0 * lean / total
        return DualPoint(w, tau, members, weights, image, f, inverse)

    def _locate(self, s: Floats) -> tuple[float, int]:
        """tau, and how many objects exceed it: they stand in ``keep``, in order."""
        inverse, keep, parts = self.inv_kappa, self.keep, thread_slices(s.size)
        low = passes.level(s, inverse, self._guess)
        counts = parallel_map(lambda part: passes.sweep(s, inverse, low, part.start, part.stop, keep), parts)
        count = 0
        for part, found in zip(parts, counts, strict=True):
            keep[count : count + found] = keep[part.start : part.start + found]
            count += found
        return passes.narrow(s, inverse, keep, count)

    def jacobian(self, point: DualPoint) -> _SupportJacobian | None:
        """The Jacobian of U'x(w) at a point; None where that matrix would be too large."""
        return self.jacobian_on(point.members, point.w) if min(point.size, self.d) <= DENSE_LIMIT else None

    def jacobian_on(self, members: Ints, about: Floats) -> _SupportJacobian:
        """The Jacobian of U'x(w) while the support stays the same; the last one is kept."""
        if self._jacobian is None or not np.array_equal(self._jacobian.members, members):
            self._jacobian = _SupportJacobian(self, members, about)
        return self._jacobian


def rounding_of_jacobian(J: Floats, count: int) -> float:
    """How far J, a sum of ``count`` products, and a Cholesky factor of I - J may be off, as a norm."""
    return 4.0 * EPS * (count + len(J) + 16.0) * max(1.0, float(np.trace(J)))


class Jacobian:
    """The Jacobian J of w -> U'x(w) while the support stays the same, a d × d matrix."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix
        self.small = False
        self._compact = len(matrix) <= COMPILED_LIMIT

    def rmatvec(self, g: Floats) -> Floats:
        """C'g, where J = C C' is kept in its small form C'C."""
        raise NotImplementedError

    def matvec(self, v: Floats) -> Floats:
        """The product C v."""
        raise NotImplementedError

    def step(self, g: Floats, radius: float) -> tuple[Floats, bool]:
        """Solve (I - J) step = g within a ball: (step, whether I - J is positive definite).

        Where I - J is indefinite its eigenvalues are taken by their size, which points uphill along every
        one of them; where the step is longer than the radius they are raised until it is not.
        """
        if self._compact:
            return passes.newton(self.matrix, g, radius)
        # LAPACK itself: for small clusters the usual wrappers take longer than the factorisation
        factor, failed = dpotrf(self._identity_minus(1.0), lower=1, overwrite_a=1)
        definite = failed == 0
        if definite:
            if self.small:
                step = g + self.matvec(dpotrs(factor, self.rmatvec(g), lower=1)[0])
            else:
                step = dpotrs(factor, g, lower=1)[0]
            if step @ step <= radius * radius:
                return step, True
        return self._step_by_eigenvalues(g, radius), definite

    def _step_by_eigenvalues(self, g: Floats, radius: float) -> Floats:
        """The step by eigenvalues."""
        values, vectors, _ = dsyevd(self.matrix)
        if self.small:  # eigenvectors of J are those of C'C under C; J is 0 across them
            kept = values > 1e-13 * max(float(values[-1]), 1e-300)
            values, vectors = values[kept], vectors[:, kept] / np.sqrt(values[kept])
            along = vectors.T @ self.rmatvec(g)
            rest = g - self.matvec(vectors @ along)
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
        return (self.matvec(step) if self.small else step) + rest / (1.0 + mu)

    def room(self, count: int) -> float:
        """How far J's eigenvalues, a sum over ``count`` members, are proved below 1: see ``passes.room``."""
        slack = rounding_of_jacobian(self.matrix, count)
        if self._compact:
            return passes.room(self.matrix, slack)
        for least in passes.ROOMS:
            if dpotrf(self._identity_minus(1.0 - least - slack), lower=1, overwrite_a=1)[1] == 0:
                return least
        above = dpotrf(self._identity_minus(1.0 + 2.0 * slack), lower=1, overwrite_a=1)[1] != 0
        return -1.0 if above else 0.0

    def _identity_minus(self, one: float) -> Floats:
        out = np.negative(self.matrix)
        out[np.diag_indices(len(out))] += one
        return out


class _SupportJacobian(Jacobian):
    r"""The Jacobian J = C C' of w -> U'x(w) on a support.

    The columns of C are the members' rows minus their mean (weighted by 1/kappa), over the root of kappa.
    I - J and the smaller I - C'C are positive definite together; the smaller one is kept.
    """

    def __init__(self, dual: Dual, members: Ints, about: Floats) -> None:
        # only parts of the dual, which keeps this: a reference cycle would keep its arrays
        self._root, self.members = dual.root, members
        self._rows = rows = dual.rows
        self.small = members.size < rows.d
        self._compact = not self.small and rows.d <= COMPILED_LIMIT
        self._columns: Floats | None = None
        if self._compact and not rows.sparse:
            self.matrix = self._compiled(dual, about)
            return
        inverse = dual.inv_kappa_of(members)
        self._mean = dual.image(members, inverse) / inverse.sum()
        self._halves = np.sqrt(inverse)
        if self.small and not rows.sparse:
            self._columns = ((dual.root * rows.take(members) - self._mean) * self._halves[:, None]).T
            self.matrix = self._columns.T @ self._columns
        elif self.small:
            G = dual.root**2 * rows.gram(members, members)
            G -= np.add.outer(cross := dual.root * rows.dot(self._mean)[members], cross)
            G += self._mean @ self._mean
            self.matrix = G * np.multiply.outer(self._halves, self._halves)
        else:
            self.matrix = self._by_products(dual)

    def _by_products(self, dual: Dual) -> Floats:
        """J by products of pieces of C, which stay in the cache; each thread has some of them."""
        d, members = self._rows.d, self.members
        about, halves = self._mean / dual.root, dual.root * self._halves

        def summed(whole: slice) -> Floats:
            out = np.zeros((d, d))
            for part in row_blocks(whole.stop - whole.start, 16 * d, PIECE_BYTES):
                here = slice(whole.start + part.start, whole.start + part.stop)
                piece = self._rows.take(members[here])
                piece -= about
                piece *= halves[here, None]
                out += piece.T @ piece
            return out

        parts = thread_slices(members.size, max(1, 64 * GRAIN // d))
        if len(parts) == 1:
            return summed(parts[0])
        with blas().limit(limits=1, user_api="blas"):  # our threads are enough of them
            return np.asarray(sum(parallel_map(summed, parts)))

    def _compiled(self, dual: Dual, about: Floats) -> Floats:
        """J from the moments of the members' rows about a point near their mean."""
        d, members = self._rows.d, self.members
        plain = self._rows.plain

        def summed(part: slice) -> tuple[float, Floats, Floats]:
            first, second = np.zeros(d), np.zeros((d, d))
            mass = passes.moments(
                plain, members[part], dual.form, dual.center, about, dual.inv_kappa, first, second
            )
            return mass, first, second

        (mass, first, second), *others = parallel_map(summed, thread_slices(members.size, GRAIN // d))
        for more_mass, more_first, more_second in others:
            mass += more_mass
            first += more_first
            second += more_second
        passes.centred(mass, first, second)
        return second

    def rmatvec(self, g: Floats) -> Floats:
        """The product C'g."""
        if self._columns is not None:
            return np.asarray(self._columns.T @ g)
        products = self._root * self._rows.dot(g)[self.members]
        return np.asarray(self._halves * (products - self._mean @ g))

    def matvec(self, v: Floats) -> Floats:
        """The product C v."""
        if self._columns is not None:
            return np.asarray(self._columns @ v)
        v = self._halves * v
        return np.asarray(self._root * self._rows.mix(self.members, v) - self._mean * v.sum())
