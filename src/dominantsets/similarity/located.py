"""Objects as points of a feature space: what groups of points and their labels ask of a similarity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from dominantsets._typing import Floats, Ints
from dominantsets.rows.base import Cores
from dominantsets.rows.points import Points
from dominantsets.rows.rule import Rule
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.dense import Dense

AXES = 128  # of the points that stand for objects


class Coordinates(NamedTuple):
    """Objects as points, half of whose squared distances of feature space are those of the rows.

    ``extra`` are the squares of what the rows leave out (at right angles for different objects), ``own`` is
    the similarity of an object to its copy; ``points`` makes of rows and extra what works on them.
    """

    rows: Floats
    extra: Floats
    own: float
    points: Callable[[Floats, Floats], Points] = Points


@dataclass(frozen=True)
class Spread:
    """Chooses objects that are spread evenly over an order: the same ones in whatever order they came."""

    n: int
    ranked: Callable[[Ints], Ints]  # which objects have given ranks

    def __call__(self, count: int) -> Ints:
        if self.n <= count:
            return np.arange(self.n)
        return np.sort(self.ranked(np.linspace(0, self.n - 1, count).astype(np.int64)))


@dataclass
class Located:
    """Objects as points: for samples, the tree of modes, mixtures of clouds and their labels.

    ``has_clouds`` says whether groups are clouds, with widths of their own and perhaps a background. Not in a
    spectral embedding: groups are directions, and what lies between two is on the border, not noise.
    ``n_groups`` is how many groups the similarity itself tells of, where it does.
    """

    of: Similarity

    has_clouds = True

    @property
    def n_groups(self) -> int | None:
        return None

    def sample(self, objects: Ints) -> Similarity:
        """The similarity of some of the objects, in memory."""
        sub = Dense(self.of.block(objects, objects))
        sub.self_similarity = self.of.self_similarity
        return sub

    def sample_limit(self, of_rows: int, of_matrix: int) -> int:
        """Objects up to which there is no need of a sample."""
        return min(of_rows, of_matrix)

    @property
    def large_sample(self) -> int:
        """Objects up to which a sample may grow where groups are hardly seen in it; 0: it does not."""
        return 0

    def coordinates(self, objects: Ints) -> Coordinates:
        """Some objects as points, from their similarities to each other."""
        gram = self.of.block(objects, objects)
        own = self.of.self_similarities(objects)
        return of_gram(gram, own)

    def scatter_limit(self, of_matrix: int, of_rows: int) -> int:
        """How many objects ``scatter`` may be asked of."""
        return of_matrix

    def scatter(self, objects: Ints, own: Floats, scale: Floats, limit: int) -> Floats:
        r"""A matrix with the largest eigenvalue of :math:`H S H`, each object with its scale.

        S are the similarities of the objects with ``own`` on the diagonal, H centres them. ``limit`` is
        that of ``scatter_limit``.
        """
        J = self.of.block(objects, objects)
        J[np.diag_indices_from(J)] = own
        J -= scale @ J / scale.sum()
        J -= (J @ scale / scale.sum())[:, None]
        J *= np.sqrt(np.multiply.outer(scale, scale))
        return J

    def centres(self, objects: Ints, weights: sp.csr_array) -> list[Any]:
        """Mixtures of objects, as ``nearest`` takes them: one for each row of weights."""
        parts = [slice(*ends) for ends in pairwise(weights.indptr.tolist())]
        mixed = arrivals_of(self.of).summarise
        return [mixed(objects[weights.indices[part]], weights.data[part]) for part in parts]

    def nearest(self, cores: Cores) -> tuple[Ints, Floats]:
        """The core with the highest score of each object (of equals the first), and the score."""
        own = self.of.self_similarities(np.arange(self.of.n))
        best, top = np.zeros(self.of.n, dtype=np.int64), np.full(self.of.n, -np.inf)
        for k, (objects, weights) in enumerate(cores.mixtures):
            payoffs = self.of.gradient(objects, weights)
            payoffs[objects] += own[objects] * weights
            score = cores.constants[k] - cores.rates[k] * 0.5 * (own - 2.0 * payoffs + cores.inside[k])
            better = score > top
            best[better], top[better] = k, score[better]
        return best, top

    def spread(self, random_state: int | np.random.RandomState | None = 0) -> Callable[[int], Ints]:
        """Chooses so many objects, spread evenly over the order of their degrees."""
        degrees = self.of.degrees(random_state)
        return Spread(self.of.n, np.argsort(degrees, kind="stable").__getitem__)

    def label(self, rule: Rule) -> tuple[Ints, Floats]:
        """Labels of all objects by a rule, and their probabilities."""
        labels, probabilities = rule.decide(self.nearest, rule.beyond, np.log, np.asarray)
        return labels, probabilities

    def label_new(self, new: Any, rule: Rule) -> tuple[Ints, Floats]:
        """The same of new objects; those that have no similarity to any cluster are far."""
        far = bool(np.isfinite(rule.far).any())
        labels, probabilities = rule.decide(self.scores_of(new, far), rule.beyond, np.log, np.asarray)
        return labels, probabilities

    def scores_of(self, new: Any, far: bool = False) -> Callable[[Cores], tuple[Ints, Floats]]:
        """What gives the core with the highest score of each new object, and the score.

        If new is None it is that of all objects. If there are ``far`` objects, those that have no similarity
        to any core are.
        """
        if new is None:
            return self.nearest
        arrivals = arrivals_of(self.of)
        own = arrivals.self_similarities(new)
        bounded = self.of.zero_means_unrelated and far

        def nearest(cores: Cores) -> tuple[Ints, Floats]:
            scores, unlike = np.empty((new.shape[0], len(cores.mixtures))), np.full(new.shape[0], bounded)
            for k, mixture in enumerate(cores.mixtures):
                payoffs = arrivals.payoff_of(new, mixture)
                away = 0.5 * (own - 2.0 * payoffs + cores.inside[k])
                scores[:, k] = cores.constants[k] - cores.rates[k] * away
                unlike &= payoffs == 0.0
            best = scores.argmax(axis=1)
            return best, np.where(unlike, -np.inf, scores[np.arange(len(best)), best])

        return nearest


@singledispatch
def located(similarity: Similarity) -> Located:
    """The objects of a similarity as points; a kind with coordinates of its own registers them here."""
    return Located(similarity)


def of_gram(gram: Floats, own: Floats) -> Coordinates:
    """Points from inner products (with anything on the diagonal) and squared lengths.

    Up to 128 principal axes; what they leave out is ``extra``.
    """
    gram[np.diag_indices_from(gram)] = own
    mean = gram.mean(axis=0)
    gram -= mean
    gram -= mean[:, None] - mean.mean()
    lengths = gram.diagonal().copy()
    if len(gram) <= 2 * AXES:
        values, vectors = np.linalg.eigh(gram)
    else:
        vectors, _, _ = randomized_svd(gram, AXES, n_oversamples=32, n_iter=4, random_state=0)
        values, turn = np.linalg.eigh(vectors.T @ gram @ vectors)
        vectors = vectors @ turn
    kept = values > 1e-10 * max(float(values.max(initial=0.0)), 1e-300)
    rows = np.ascontiguousarray((vectors[:, kept] * np.sqrt(0.5 * values[kept]))[:, ::-1][:, :AXES])
    return Coordinates(rows, _left_out(0.5 * lengths, rows), float(own.mean()))


def of_rows(rows: Floats, own: float, axes: int = AXES) -> Coordinates:
    """Points from features, on up to so many principal axes where they have more."""
    rows = rows - rows.mean(axis=0)
    rows = rows[:, np.ptp(rows, axis=0) > 0.0]  # a constant column is no dimension
    lengths = np.square(rows).sum(axis=1)
    if rows.shape[1] > axes:
        _, _, turn = randomized_svd(rows, axes, n_oversamples=32, n_iter=4, random_state=0)
        rows = rows @ turn.T
    return Coordinates(np.ascontiguousarray(rows), _left_out(lengths, rows), own)


def _left_out(lengths: Floats, rows: Floats) -> Floats:
    """The squares of what rows leave out of objects with these squared lengths; rounding is nothing."""
    left = lengths - np.square(rows).sum(axis=1)
    return np.where(left > 1e-9 * lengths.mean(), left, 0.0)
