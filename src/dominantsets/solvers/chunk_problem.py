"""Low-rank features in chunks, solved by the dual: the mask is here, blocks are asked for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.interrupts import Interrupted
from dominantsets.rows.base import Sums
from dominantsets.similarity.low_rank import require_concave
from dominantsets.solvers.api import HALF, HostProblem
from dominantsets.solvers.certificate import certify
from dominantsets.solvers.chunk_dual import ChunkDual, ChunkPoint
from dominantsets.solvers.chunk_pass import PointSpec
from dominantsets.solvers.monitor import Monitor
from dominantsets.solvers.newton import NewtonAscent, ascend_many
from dominantsets.solvers.options import SolverOptions, weights_of
from dominantsets.solvers.problem import Outcome, Point, Recomputed
from dominantsets.solvers.result import DominantSet


class ChunkProblem(HostProblem):
    """A :class:`Problem` in chunks; of the row sums only the largest is fetched, with its object's row."""

    def __init__(self, similarity: Any, shift: float, degrees: Any = None) -> None:
        self.mask = similarity.rows.mask()
        super().__init__(similarity, shift)
        self._sums: Sums | None = similarity.sums
        self._top: tuple[float, int, Floats] | None = None

    def _everybody(self) -> Any:
        return self.mask.alive

    @property
    def sums(self) -> Sums:
        """Sums of the rows that are still there, for row sums of the similarity."""
        if self._sums is None:
            rows, recipe = self.similarity.rows, self.similarity.recipe
            self._sums = rows.total("measure", recipe, False, mask=self.mask)
        return self._sums

    @property
    def top(self) -> tuple[float, int, Floats]:
        """The largest row sum, its object (ties to the lowest number), and that object's row."""
        if self._top is None:
            rows, recipe = self.similarity.rows, self.similarity.recipe
            found = rows.ask("largest_degree", recipe, self.sums, mask=self.mask)
            self._top = max(found, key=lambda one: (one[0], -one[1]))
        return self._top

    def vertex(self) -> int:
        return self.top[1]

    def largest_degree(self) -> float:
        return self.top[0]

    def total_degree(self) -> float:
        return float(self.similarity.formula.total_degree(self.sums))

    def remove(self, members: Ints) -> None:
        self.mask.remove(members)
        self.n_alive -= len(members)
        self.recompute_degrees()

    def recompute_degrees(self) -> None:
        self._sums = self._top = None

    def thread_copy(self) -> ChunkProblem:
        return self

    def image(self, start: Any) -> Floats:
        """U'x of a start: "vertex", "barycenter", an object or weights."""
        root = self.similarity.formula.root
        if isinstance(start, str) and start == "vertex":
            return np.asarray(root * self.top[2])
        if isinstance(start, str):
            return np.asarray(root * self.sums.rows / self.sums.objects)
        if np.ndim(start) == 0:
            return np.asarray(root * self.similarity.rows_of(np.array([int(start)]))[0])
        return self.image_of(Point.of(np.where(self.alive, weights_of(start, self.n), 0.0)))

    def image_of(self, x: Point) -> Floats:
        """U'x of a point."""
        return np.asarray(self.similarity.formula.root * self.similarity.mix(*x).rows)

    def near(self, x: Point, level: float) -> Ints | None:
        return None

    def room_of(self, objects: Ints) -> float | None:
        return None

    def _solve(self, options: SolverOptions, monitor: Monitor, start: Any) -> DominantSet:
        return self._ascend([self.image(start)], options, monitor)[0]

    def solve_from(self, x: Point, options: SolverOptions, monitor: Monitor) -> DominantSet:
        return self._ascend([self.image_of(x)], options, monitor)[0]

    def solve_many(
        self, objects: Ints, options: SolverOptions, monitor: Monitor, n_jobs: int | None = None
    ) -> list[DominantSet]:
        """Solve from many objects, which share each round."""
        root = self.similarity.formula.root
        images = list(root * self.similarity.rows_of(objects))
        if options.start == "barycenter" and self.n_alive > 1:  # half of the mass is spread over the others
            whole, others = root * self.sums.rows, self.sums.objects - 1.0
            images = [HALF * row + HALF * (whole - row) / others for row in images]
        try:
            return self._ascend(images, options, monitor)
        except Interrupted:  # before the first pass was made
            return []

    def _ascend(self, images: list[Floats], options: SolverOptions, monitor: Monitor) -> list[DominantSet]:
        """Solve from several starts at once, given by their U'x: all share each round."""
        similarity = self.similarity
        similarity.rows.balance()
        require_concave(similarity.least_own + self.shift, self.shift)
        dual = ChunkDual(similarity, self.shift, self.mask, self.n_alive, self.extra)
        ascents: list[NewtonAscent[ChunkPoint]] = [NewtonAscent(dual, image) for image in images]

        def visit(active: list[int], W: list[Floats]) -> list[ChunkPoint]:
            return dual.at(W, [ascents[k].point for k in active])

        ends = ascend_many(ascents, visit, options, monitor)
        if monitor.interrupted:
            monitor.hurry()  # what was reached is certified
        reached = [(a, end) for a, end in zip(ascents, ends, strict=True) if a.point is not None]
        if not reached:
            raise Interrupted  # before the first pass was made: there is nothing to show
        here = [ascent.reached() for ascent, _ in reached]
        points = [PointSpec(point.w, point.tau, options.cutoff * point.total) for point in here]
        found = dual.members(points)
        if any(not one.members.size for one in found):  # equal weights, all up to the cutoff
            points = [point._replace(floor=0.0) for point in points]
            found = dual.members(points)
        numbers = dual.extremes([(point, one.mixture) for point, one in zip(points, found, strict=True)])
        out = []
        for (ascent, end), one, (low, high, outside, f) in zip(reached, found, numbers, strict=True):
            x = Point(one.members, one.weights / one.mixture.total)
            history = ascent.trace() if options.trace else None
            outcome = Outcome(x, ascent.passes, end, history, ascent.room())
            ball = similarity.ball_of(one.mixture.normalised(), f)
            out.append(
                certify(self, outcome, options, Recomputed(f, low, high, outside, self.unit_of(x), ball))
            )
        return out
