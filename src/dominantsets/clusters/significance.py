r"""Whether a set that was peeled off is significant in all of the data.

Peeling looks at what is left. A set found late may be a shell around a removed cluster, or a part of the
noise; two numbers tell, and both look at *all* objects, the removed ones too.

**Joiners.** Objects that were removed earlier and have a payoff above the set's threshold f: they would gain
by joining. A cluster of the data has few of them; a leftover is outnumbered by them.

**Sharpness.** With J the Jacobian of :math:`w \mapsto U^T x(w)` over the set and its joiners
(docs/theory-dual.md), :math:`1 - \lambda_{\max}(J)`: how strongly the maximum bends, as a share of
:math:`\kappa`. In a region of constant density a ball can be moved without loss, so J is the identity in the
limit and the sharpness 0; a cluster with nothing around it has a sharpness near 1. For any similarity it is
:math:`1 - \lambda_{\max}(H S H) / \kappa` with S the similarities of the set (an object's own on the
diagonal), H the centring matrix and :math:`\kappa` the similarity of an object to its copy plus the shift.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.similarity import Similarity
from dominantsets.similarity.base import evenly
from dominantsets.similarity.located import located
from dominantsets.solvers import DominantSet, Point, Problem

OUTNUMBERED = 1.0  # joiners for each member up to which a set counts as one of the data's own
# Least sharpness of a significant set, and more for few objects: J of m objects of a flat region
# differs from the identity by about 1 / root m
SHARP, SHARP_OF_FEW = 0.2, 3.0
SHARP_ENOUGH = 0.7
SOME = 400  # objects of a set from which its sharpness is found, where it takes a matrix of them
MANY = 20_000  # and where it takes their features only


class Judgement(NamedTuple):
    """What all of the data say about a set: its size, its joiners, and its sharpness (nan for a graph)."""

    size: int
    joiners: int
    sharpness: float

    @property
    def own(self) -> bool:
        """Whether it is one of the data's own sets, not the shell of another."""
        return self.joiners <= OUTNUMBERED * self.size

    @property
    def significant(self) -> bool:
        """Whether it is significant: one of the data's own sets, and sharp."""
        least = max(SHARP, min(0.9, SHARP_OF_FEW / np.sqrt(self.size)))
        return self.size > 1 and self.own and not self.sharpness < least

    @property
    def weight(self) -> float:
        """Its share in the score of a resolution: size times sharpness, nothing for a shell.

        A sharpness above 0.7 counts as 0.7: a ball with nothing around it gets ever sharper as it grows.
        """
        return self.size * min(self.sharpness, SHARP_ENOUGH) if self.own else 0.0


def judge(problem: Problem, found: DominantSet) -> Judgement:
    """Hold a set against all objects, those removed from the problem too; one product with the similarity."""
    slack = 1e-9 * max(abs(found.threshold), abs(problem.shift))
    joiners = problem.joiners(Point(found.members, found.weights), found.threshold + slack)
    together = np.concatenate([found.members, joiners])
    members, others = (round(float(problem.copies_of(some).sum())) for some in (found.members, joiners))
    copies = problem.copies_of(together)
    return Judgement(members, others, sharpness(problem.similarity, problem.shift, together, copies))


def sharpness(similarity: Similarity, shift: float, objects: Ints, copies: Floats | None = None) -> float:
    """1 minus the largest eigenvalue of J over some objects, 1 for a single one.

    ``copies`` is how many each of them stands for. nan where objects have no similarity to their copies, or
    where that and the shift are not above 0.
    """
    if similarity.self_similarity is None or objects.size == 0:
        return float("nan")
    places = evenly(np.arange(objects.size), located(similarity).scatter_limit(SOME, MANY))
    few = objects[places]
    kappa = similarity.self_similarities(few) + shift
    if few.size < 2:
        return 1.0
    if float(kappa.min()) <= 0.0:
        return float("nan")
    scale = objects.size / few.size / kappa
    if copies is not None:
        scale = scale * copies[places]
    J = located(similarity).scatter(few, kappa - shift, scale, SOME)
    return 1.0 - float(np.linalg.eigvalsh(J)[-1])
