"""A kernel of features in chunks, solved by a working set: payoffs stay where the rows are."""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.rows.base import Block, Recipe
from dominantsets.rows.operations import Few, kernel_rows, kernel_sums
from dominantsets.solvers.api import HostProblem
from dominantsets.solvers.problem import Point

SPARE = 256  # best others that come with the payoffs of a point


class Reply(NamedTuple):
    """A block's part of the payoffs: those of its own members, the best others with their rows."""

    inside: Floats
    others: Ints
    r: Floats
    rows: Floats


class Asked(NamedTuple):
    """Payoffs of a point: its members with their rows, the shift, and a name to remember them by."""

    recipe: Recipe
    few: Few
    shift: float
    name: str


def _mine(block: Block, objects: Ints) -> Any:
    return (objects >= block.begin) & (objects < block.begin + block.size)


def payoffs(block: Block, asked: Asked, count: int, level: float, besides: Ints) -> Reply:
    """Payoffs of the members that are here, and the best others above a level, none of ``besides``."""
    own = _mine(block, asked.few.objects)
    places = block.places(asked.few.objects[own])

    def make() -> Floats:
        r = kernel_sums(block, asked.recipe, asked.few)
        r[places] -= asked.shift * asked.few.weights[own]
        r[~block.alive] = -np.inf
        return r

    r = block.recall("payoffs", (asked.name, block.token), make)
    outside = r.copy()
    outside[block.places(besides[_mine(block, besides)])] = -np.inf
    best = np.flatnonzero(outside > level)
    if best.size > count:
        best = np.sort(best[np.argpartition(-outside[best], count)[:count]])
    rows = kernel_rows(block, asked.recipe).take(best)
    return Reply(r[places], block.begin + best, outside[best], rows)


class ChunkPayoffs:
    """As :class:`Payoffs`, but only those of the members came here, and the best of the others."""

    objects = None
    others = -np.inf

    def __init__(self, problem: ChunkKernelProblem, x: Point) -> None:
        self._problem, self._x = problem, x
        similarity = problem.similarity
        few = similarity.few(*x)
        self._asked = Asked(similarity.recipe, few, problem.shift, uuid.uuid4().hex)
        replies = self._ask(SPARE, -np.inf, x.support)
        self._inside = np.concatenate([reply.inside for reply in replies])
        self.f = float(x.weights @ self._inside)
        self._spare = self._best_of(replies, SPARE)

    def _ask(self, count: int, level: float, besides: Ints) -> list[Reply]:
        problem = self._problem
        replies: list[Reply] = problem.similarity.rows.ask(
            payoffs, self._asked, count, level, besides, mask=problem.mask
        )
        return replies

    def _best_of(self, replies: list[Reply], count: int) -> tuple[Ints, Floats]:
        objects = np.concatenate([reply.others for reply in replies])
        r = np.concatenate([reply.r for reply in replies])
        rows = np.concatenate([reply.rows for reply in replies])
        order = np.lexsort((objects, -r))[:count]
        self._problem.similarity.rows.remember(self._asked.recipe, objects[order], rows[order])
        return objects[order], r[order]

    def largest(self) -> float:
        return max(float(self._inside.max()), float(self._spare[1].max(initial=-np.inf)))

    def of(self, members: Ints) -> Floats:
        """The payoffs of members of the point."""
        return self._inside[np.searchsorted(self._x.support, members)]

    def extremes(self, members: Ints) -> tuple[float, float, float]:
        """Smallest and largest payoff of the members, and the largest of the others."""
        outside = float(self._spare[1].max(initial=-np.inf))
        return float(self._inside.min()), float(self._inside.max()), outside

    def best(self, count: int, level: float, besides: Ints) -> tuple[Ints, Floats, bool]:
        """The best objects above a level that are none of ``besides``, and whether there are more."""
        objects, r = self._spare
        new = (r > level) & ~np.isin(objects, besides)
        inside = (self._inside > level) & ~np.isin(self._x.support, besides)
        # what came suffices where it reaches down to the level, or holds enough
        if r.size < SPARE or r[-1] <= level or np.count_nonzero(new) > count:
            objects, r = objects[new], r[new]
        else:
            replies = self._ask(count + 1, level, np.union1d(besides, self._x.support))
            objects, r = self._best_of(replies, count + 1)
        objects = np.concatenate([objects, self._x.support[inside]])
        r = np.concatenate([r, self._inside[inside]])
        order = np.lexsort((objects, -r))
        return objects[order[:count]], r[order[:count]], objects.size > count


class ChunkKernelProblem(HostProblem):
    """As :class:`Problem`, with payoffs that stay with the blocks; row sums are here."""

    moves_payoffs = False

    def __init__(self, similarity: Any, shift: float, degrees: Any = None) -> None:
        self.mask = similarity.rows.mask()
        super().__init__(similarity, shift, degrees)

    def _everybody(self) -> Any:
        return self.mask.alive

    def payoffs(self, x: Point) -> Any:
        return ChunkPayoffs(self, x)

    def remove(self, members: Ints) -> None:
        super().remove(members)
        self.mask.remove(members)

    def thread_copy(self) -> ChunkKernelProblem:
        return self

    def solve_many(self, objects: Ints, options: Any, monitor: Any, n_jobs: int | None = None) -> Any:
        """One after another: each round is on all workers already."""
        return super().solve_many(objects, options, monitor, 1)
