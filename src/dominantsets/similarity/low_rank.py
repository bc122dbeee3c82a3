"""Features with a similarity that is an inner product plus a constant for each object."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import require_memory
from dominantsets._typing import Floats, Ints
from dominantsets.rows.arrays import FormulaRows, formula_rows, local
from dominantsets.rows.base import DESCRIBED, Cores, Detached, Mixture, Recipe, Rows, Sums
from dominantsets.rows.memory import InMemory
from dominantsets.rows.rule import Rule
from dominantsets.similarity.arrivals import Arrivals, arrivals_of, detached
from dominantsets.similarity.base import Similarity, off_diagonal
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.expansion import EXPANDED, Expandable, Expansion, expandable
from dominantsets.similarity.formulas import COSINE, LINEAR, SQEUCLIDEAN, Formula, Pairs
from dominantsets.similarity.located import Coordinates, Located, Spread, located, of_rows
from dominantsets.similarity.solving import Solving, solving_of
from dominantsets.similarity.source import OfRows, RowBounds

CHEAP = 2**24  # products up to which the scatter of all objects is made only to see whether f is concave
WIDE = 512  # features above which points come from inner products: sparse rows stay sparse


class LowRank(OfRows):
    r"""Similarities :math:`a_{ij} = c\,v_i \cdot v_j + b_i + b_j + m` off the diagonal.

    Cosine, linear and squared Euclidean similarity are of this form, so that a product A x costs
    O(nd), whatever the size of the support of x:
    :math:`(A x)_i = c\,v_i \cdot \sum_j x_j v_j + (b_i + m) \sum_j x_j + \sum_j b_j x_j - a^0_{ii} x_i`
    with :math:`a^0_{ii} = c|v_i|^2 + 2 b_i + m` what the formula would put on the diagonal. Everything is
    asked of the rows in named operations, so that it does not matter where they are.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), affinity="cosine")
    >>> S.column(0)
    array([0., 1., 2.])
    """

    def __init__(self, rows: Rows, formula: Formula, offset: Any = None) -> None:
        rows.check()
        self.rows = rows
        self.n, self.n_features = rows.n, rows.d
        center = rows.mean() if formula.centred else None
        recipe = Recipe(uuid.uuid4().hex, formula, center)
        self.sums: Sums = rows.total("measure", recipe, True)
        pairs = Pairs(self.n, self.sums.longest, rows.least, lambda limit: rows.extreme(recipe, limit))
        formula = formula.with_offset(offset, pairs)
        self.recipe = recipe._replace(formula=formula)
        self.offset = formula.offset
        self.longest = float(np.sqrt(self.sums.longest))
        self.least_own = float(formula.own(self.sums.shortest))
        self.self_similarity = float(formula.own(self.sums.squares / self.n))

    def part(self, objects: Ints) -> LowRank | None:
        """The same similarity of some of the objects, where that costs less than to leave out the others."""
        rows = self.rows.part(objects)
        if rows is None:
            return None
        out = copy(self)
        out.rows, out.n = rows, rows.n
        out.recipe = self.recipe._replace(name=uuid.uuid4().hex)
        out.sums = rows.total("measure", out.recipe, True)
        out.longest = float(np.sqrt(out.sums.longest))
        out.least_own = float(self.formula.own(out.sums.shortest))
        return out

    @property
    def local(self) -> FormulaRows:
        """The rows themselves, where they are in memory."""
        return local(self.rows.only_block(), self.recipe)

    def solver(self, algorithm: str, shift: float, start: Any) -> str:
        least = self.least_own + shift
        if algorithm == "auto" and least <= 0.0:
            return super().solver(algorithm, shift, start)
        if not self.in_memory:
            require_concave(least, shift)
        chosen = self.rows.solver(algorithm, "dual")
        return "dual" if chosen == "auto" else chosen

    def jacobian_of(self, objects: Ints, kappa: Floats) -> Floats:
        """The matrix J of some objects, or a smaller one with the same eigenvalues above 0."""
        return self.rows.scatter(self.recipe, objects, np.broadcast_to(1.0 / kappa, objects.size))

    def scatter_over(self, kappa: float) -> float:
        r"""The trace of :math:`\sum (u_i - \bar u)(u_i - \bar u)^T / \kappa`: above J of any objects.

        It is inf where kappa is not known.
        """
        sums = self.sums
        trace = self.formula.factor * (sums.squares - float(sums.rows @ sums.rows) / self.n)
        return max(trace / kappa, 1e-300) if kappa > 0.0 else np.inf

    def block(self, rows: Ints, cols: Ints) -> Floats:
        rows, cols = np.asarray(rows), np.asarray(cols)
        products, p, q = self.rows.products_between(self.recipe, rows, cols)
        return off_diagonal(np.asarray(self.formula.between(products, p, q)), rows, cols)

    def column(self, i: int) -> Floats:
        return self.gradient(np.array([i]), np.ones(1))

    def mix(self, support: Ints, weights: Floats) -> Mixture:
        """The weighted sums of rows and of biases: one round."""
        return self.rows.mix(self.recipe, support, weights)

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        mixture = self.mix(support, weights)
        return self.rows.every("gradient", self.recipe, mixture, each=self.rows.split(support, weights))

    def degrees(self, random_state: int | np.random.RandomState | None = 0) -> Floats:
        return self.rows.every("degrees", self.recipe, self.sums)

    def largest(self) -> float:
        return float(self.formula.largest(self.longest))

    def self_similarities(self, objects: Ints) -> Floats:
        if self.formula.has_bias:
            return np.full(len(objects), self.offset)
        if len(objects) == self.n:
            return self.rows.every("diagonal", self.recipe)[objects]
        return np.asarray(self.formula.own(np.square(self.rows_of(objects)).sum(axis=1)))

    def moved(self, new: Any) -> Any:
        """New objects in the space of the rows, where that is not the features' own."""
        return new

    def arriving_rows(self, new: Any) -> FormulaRows:
        """New objects as rows of the same space."""
        return formula_rows(self.rows.brought(self.moved(new)), self.recipe)

    def cross(self, new: Any, cols: Ints) -> Floats:
        there, cols = self.arriving_rows(new), np.asarray(cols)
        products, q = self.rows.products_with(self.recipe, there.rows, cols)
        return np.asarray(self.formula.between(products, there.square_norms, q))

    def ball_of(self, mixture: Mixture, f: float) -> tuple[Floats, float] | None:
        """Center and radius of a cluster's ball, from the mixture of its members."""
        radius = self.formula.ball(mixture.rows, mixture.bias_sum, f)
        center = self.recipe.center
        return None if radius is None or center is None else (mixture.rows + center, radius)


class LowRankBounds(RowBounds):
    """Bounds from the lengths of rows."""

    of: LowRank

    @property
    def magnitude(self) -> float:
        return self.of.largest()

    def kappa_of(self, objects: Ints, shift: Any) -> Floats:
        if self.of.formula.has_bias or (self.of.formula.unit and self.of.sums.shortest > 0.0):
            return np.atleast_1d(self.of.least_own + shift)
        return np.asarray(self.of.self_similarities(objects) + shift)

    @property
    def encloses(self) -> bool:
        return self.of.in_memory

    def extents(self, radius: float | None, margin: float) -> tuple[float, float] | None:
        """Members of a ball are at most its diameter apart; an outsider at the margin lies just outside.

        Those farther out have a margin that grows with the square of their distance, so it is the nearest one
        that counts.
        """
        root = self.of.formula.root
        if radius is None:
            return 2.0 * root * self.of.longest, 2.0 * root * self.of.longest
        out = float(np.sqrt(radius**2 + max(margin, 0.0))) if np.isfinite(margin) else radius
        return 2.0 * root * radius, root * (radius + out)

    def ball(self, support: Ints, weights: Floats, f: float) -> tuple[Floats, float] | None:
        return self.of.ball_of(self.of.mix(support, weights), f) if self.of.formula.has_bias else None


class LowRankSolving(Solving):
    """By the dual, where each object alone is concave."""

    of: LowRank

    @property
    def all_sets_by(self) -> str:
        return "boxes" if self.of.n_features <= 3 else ""  # boxes of more features are too many

    def posed(self, shift: float) -> tuple[str, Similarity]:
        """By the dual where the rows are, if each object alone is concave; else as any similarity is."""
        return self.of.rows.home if self.of.least_own + shift > 0.0 else "memory", self.of

    def require_dual(self) -> LowRank:
        return self.of

    def concave(self, shift: float) -> bool:
        """By the trace of the scatter, from sums that are known; its eigenvalue only where that is cheap."""
        least, most = self.of.least_own + shift, float(self.of.formula.own(self.of.longest**2)) + shift
        if least <= 0.0 or self.of.n == 1:
            return self.of.n == 1
        trace = least * self.of.scatter_over(least)
        if trace <= 0.9 * least:
            return True
        n, d = self.of.n, self.of.n_features
        if trace >= most * min(d, n - 1) or n * d**2 > CHEAP:
            return False
        objects = np.arange(n)
        J = self.of.jacobian_of(objects, bounds_of(self.of).kappa_of(objects, shift))
        return float(np.linalg.eigvalsh(J)[-1]) < 1.0 - 1e-9


class LowRankExpandable(Expandable):
    """Any number of objects as the rows that they are."""

    of: LowRank

    def low_rank(self, objects: Ints, shift: float | Floats) -> bool:
        return float(np.min(self.of.self_similarities(objects) + shift)) > 0.0

    def expanded(
        self, objects: Ints, shift: float | Floats, purpose: str = "the global optimum"
    ) -> Expansion:
        require_memory(
            32 * objects.size * (self.of.n_features + 2),
            f"the search for {purpose} among {objects.size:,} objects",
            "it works on rows in memory, whatever they come from",
        )
        V = self.of.rows_of(objects)
        squares = np.einsum("ij,ij->i", V, V)
        own = self.of.formula.diagonal(squares)
        least = float(np.min(own + shift))
        if least <= 0.0 and objects.size <= EXPANDED:
            return super().expanded(objects, shift, purpose)
        if least <= 0.0:
            raise ValueError(
                f"{purpose} of more than {EXPANDED} objects needs a shift that is larger by "
                f"{-least:.6g} here: below it the problem is not concave along any single object."
            )
        bias = self.of.formula.bias(squares)
        bias = np.zeros(objects.size) if bias is None else bias
        return Expansion(self.of.formula.root * V, bias, own, self.of.formula.offset, 0.0)

    def top_outside(self, seeds: Ints) -> float:
        r"""From a (d + 2) × (d + 2) matrix: outside the seeds the matrix has a low-rank form too.

        With a the mean of the seeds' columns,
        :math:`a_{ij} - (a_i + a_j) / 2 = u_i \cdot u_j + t_i + t_j - \bar b` with
        :math:`2 t_i = b_i - u_i \cdot \bar u`, less what the formula has on the diagonal.
        """
        formula, V = self.of.formula, self.of.rows_of(seeds)
        d = V.shape[1]  # of the rows here, which need not be the features that were given
        if d > WIDE:
            return super().top_outside(seeds)
        mean = formula.root * V.mean(axis=0)
        bias = formula.bias(np.square(V).sum(axis=1))
        bias = np.zeros(seeds.size) if bias is None else bias
        V = formula.root * V
        mine = np.column_stack([V, 0.5 * (bias - V @ mean), np.ones(seeds.size)])
        G = self.of.rows.total("products_of_columns", self.of.recipe, mean) - mine.T @ mine
        K = np.eye(d + 2)
        K[d:, d:] = [[0.0, 1.0], [1.0, -bias.mean()]]
        values, vectors = np.linalg.eigh(G)
        half = vectors * np.sqrt(np.maximum(values, 0.0))
        eigenvalues = np.linalg.eigvalsh(half.T @ K @ half)
        return float(eigenvalues[-1] + 1e-9 * np.abs(eigenvalues).max()) - self.of.least_own


class LowRankArrivals(Arrivals):
    """A cluster is summarised by the weighted sums of its rows and biases."""

    of: LowRank

    def self_similarities(self, new: Any) -> Floats:
        return np.asarray(self.of.formula.own(self.of.arriving_rows(new).square_norms))

    def summarise(self, support: Ints, weights: Floats) -> Mixture:
        return self.of.mix(support, weights)

    def summarise_each(self, clusters: Sequence[tuple[Ints, Floats]]) -> list[Mixture]:
        return self.of.rows.mix_each(self.of.recipe, clusters)

    def payoff_of(self, new: Any, summary: Any) -> Floats:
        there = self.of.arriving_rows(new)
        products = there.rows.dot(summary.rows)
        out = self.of.formula.payoffs(products, there.square_norms, summary.total, summary.bias_sum)
        return np.asarray(out)

    def payoffs_in(self, part: Any, objects: Ints, support: Ints, weights: Floats) -> Floats:
        if part is None:
            return super().payoffs_in(part, objects, support, weights)
        nobody = part.rows.split(np.zeros(0, dtype=np.int64), np.zeros(0))
        mixture = self.of.mix(support, weights)
        return np.asarray(part.rows.every("gradient", part.recipe, mixture, each=nobody))


class LowRankPoints(Located):
    """Points are the rows themselves, wherever they are."""

    of: LowRank

    def sample(self, objects: Ints) -> Similarity:
        offset = None if self.of.formula.has_bias else self.of.offset
        return LowRank(InMemory(self.of.rows_of(objects)), self.of.formula, offset)

    def sample_limit(self, of_rows: int, of_matrix: int) -> int:
        return of_rows

    @property
    def large_sample(self) -> int:
        return self.of.rows.large_sample

    def scatter_limit(self, of_matrix: int, of_rows: int) -> int:
        return of_rows if self.of.n_features <= of_matrix else of_matrix

    def scatter(self, objects: Ints, own: Floats, scale: Floats, limit: int) -> Floats:
        if self.of.n_features > limit:
            return super().scatter(objects, own, scale, limit)
        return self.of.rows.scatter(self.of.recipe, objects, scale)

    def coordinates(self, objects: Ints) -> Coordinates:
        assert self.of.self_similarity is not None
        if self.of.n_features > WIDE:
            return super().coordinates(objects)
        rows = np.sqrt(0.5 * self.of.formula.factor) * self.of.rows_of(objects)
        return of_rows(rows, self.of.self_similarity)._replace(points=self.of.rows.points)

    def centres(self, objects: Ints, weights: sp.csr_array) -> list[Mixture]:
        if not self.of.rows.dense or objects.size * self.of.n_features > DESCRIBED:
            return super().centres(objects, weights)
        V = self.of.rows_of(objects)
        bias = self.of.formula.bias(np.square(V).sum(axis=1))
        sums = np.zeros(weights.shape[0]) if bias is None else weights @ bias
        pairs = zip(weights @ V, sums.tolist(), weights.sum(axis=1).tolist(), strict=True)
        return [Mixture(*one) for one in pairs]

    def nearest(self, cores: Cores) -> tuple[Ints, Floats]:
        parts = self.of.rows.ask("nearest", self.of.recipe, cores)
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def spread(self, random_state: int | np.random.RandomState | None = 0) -> Callable[[int], Ints]:
        return Spread(self.of.n, self.of.rows.order_of("degrees", self.of.recipe, self.of.sums))

    def label(self, rule: Rule) -> tuple[Ints, Floats]:
        parts: list[tuple[Ints, Floats]] = self.of.rows.ask("label", self.of.recipe, rule)
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def scores_of(self, new: Any, far: bool = False) -> Callable[[Cores], tuple[Ints, Floats]]:
        if new is None:
            return self.nearest
        here = self.of.rows.like(self.of.moved(new), InMemory)

        def nearest(cores: Cores) -> tuple[Ints, Floats]:
            found: tuple[Ints, Floats] = here.ask("nearest", self.of.recipe, cores)[0]
            return found

        return nearest

    def label_new(self, new: Any, rule: Rule) -> tuple[Ints, Floats]:
        here = self.of.rows.like(self.of.moved(new), InMemory)
        found: tuple[Ints, Floats] = here.ask("label", self.of.recipe, rule)[0]
        return found


bounds_of.register(LowRank, LowRankBounds)
solving_of.register(LowRank, LowRankSolving)
expandable.register(LowRank, LowRankExpandable)
arrivals_of.register(LowRank, LowRankArrivals)
located.register(LowRank, LowRankPoints)


@detached.register(LowRank)
def detached_low_rank(similarity: LowRank) -> LowRank:
    """Without rows: sums of them are enough for new objects."""
    light = copy(similarity)
    light.rows = Detached(similarity.rows)
    return light


def require_concave(least: float, shift: float) -> None:
    """Refuse a shift below which single objects are not concave; ``least`` is the least kappa."""
    if least <= 0.0:
        raise ValueError(
            f"algorithm='dual' needs a shift above {shift - least:.6g} here, got {shift:.6g}: below it the "
            "problem is not concave along any single object."
        )


def cosine(rows: Rows) -> LowRank:
    """Cosine of the angle between rows, plus 1: from 0 (opposite) to 2 (parallel)."""
    return LowRank(rows, COSINE)


def sqeuclidean(rows: Rows, *, offset: str | float = "bound") -> LowRank:
    r"""M minus the squared distance, with :math:`M = 4 \max_i |x_i - \bar x|^2 \ge \max D^2`.

    ``offset="exact"`` takes the largest squared distance itself (all pairs are visited), a number is
    taken as M.
    """
    return LowRank(rows, SQEUCLIDEAN, offset)


def linear(rows: Rows, *, offset: str | float | None = None) -> LowRank:
    r"""Inner products :math:`x_i \cdot x_j`, plus ``offset``.

    Products must not be negative. Where features have both signs, ``offset="bound"`` adds
    :math:`\max_i |x_i|^2`, which is always enough; a number adds that number.
    """
    return LowRank(rows, LINEAR, offset)
