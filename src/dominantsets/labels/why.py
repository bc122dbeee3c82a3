r"""Why an object has its label, and what would give it another one.

Two rules of labels say how far an object is from a change. **Sets and averages.** Let object i be in no
dominant set, with the payoff :math:`p_k` against the set k, whose threshold is :math:`f_k`. If the
similarities of i change by less than :math:`f_k - p_k`, so does its average :math:`p_k`: i stays outside, no
payoff of another object changes, and k remains a dominant set. Averages keep their order below half of their
difference (:mod:`dominantsets.labels.margins`). **Scores.** The difference of two scores is
:math:`q(u) = c + b \cdot u - a |u|^2` for the row u. Over all moves of the length t its least value is
:math:`q(u) - t |b - 2 a u| - a t^2`: the smallest t at which that is 0 is the distance to the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats
from dominantsets.labels.stated import FARTHEST
from dominantsets.similarity import Similarity
from dominantsets.solvers import DominantSet


@dataclass(frozen=True)
class Why:
    """Why an object has its label, from ``DominantSets.why``; print it for sentences.

    Attributes
    ----------
    object : int
        Its number.
    label : int
        Its label, -1 for none.
    rule : str
        What gave it the label: "members", "average", "scores" or "other".
    weight : float
        Its weight in the dominant set of its label; 0 outside.
    runner_up : int or None
        The label that it would have next; None where there is no other.
    change : float or None
        No smaller change of ``what`` gives it another label, the sets and the rule as they are. None: nothing
        can be shown.
    what : str
        What would have to change.
    """

    object: int
    label: int
    rule: str
    weight: float
    runner_up: int | None
    change: float | None
    what: str

    def __str__(self) -> str:
        has = f"the label {self.label}" if self.label >= 0 else "no label (-1)"
        lines = [f"Object {self.object} has {has}: {_REASONS[self.rule][self.label < 0]}."]
        if self.weight > 0.0:
            lines.append(f"It is a member of the dominant set, with the weight {self.weight:.3g}.")
        if self.runner_up is not None:
            lines.append(f"Next is {'noise (-1)' if self.runner_up < 0 else f'the label {self.runner_up}'}.")
        if self.change is None:
            lines.append("No smallest change that gives it another label can be shown.")
        elif np.isinf(self.change):
            lines.append(f"No change of {self.what} gives it another label.")
        else:
            lines.append(f"No change of {self.what} by less than {self.change:.3g} gives it another label.")
        return "\n".join(lines)


_REASONS = {  # of a cluster, and of none
    "members": ("it is a member of this dominant set", "it is a member of no dominant set"),
    "average": ("its mean similarity to this cluster is the highest one", "no cluster is similar to it"),
    "scores": (
        "its score is the highest one at this cluster",
        "its scores are below those of the background, or below what clusters ask for",
    ),
    "other": ("the rule of the labels gave it", "the rule of the labels says noise"),
}


class _Next(NamedTuple):
    """The label that is next, and how far it is."""

    label: int | None
    change: float | None


def why(
    similarity: Similarity, clusters: Sequence[DominantSet], said: dict[str, Any], i: int, what: str
) -> Why:
    """Why object i has its label.

    Parameters
    ----------
    similarity : Similarity
        That of the fit.
    clusters : sequence of DominantSet
        The cluster of each label.
    said : dict
        The rule and the labels, as certificates have them.
    i : int
        The object.
    what : str
        What a row is, for rules of scores.

    Returns
    -------
    Why
        To be printed.
    """
    label, rule, here = int(said["labels"][i]), said["rule"], np.array([i])
    means, joins = np.full(len(clusters), -np.inf), np.full(len(clusters), np.inf)
    weight, inside = 0.0, False
    for k, c in enumerate(clusters):
        place = np.flatnonzero(c.members == i)
        inside |= bool(place.size)
        weight = float(c.weights[place[0]]) if place.size and k == label else weight
        row = similarity.for_cluster(k).block(here, c.members)[0]
        others = c.members != i
        if others.any():
            w = np.ones(len(c)) if rule == "average" else c.weights
            means[k] = float(row[others] @ w[others] / w[others].sum())
        joins[k] = c.threshold - float(row @ c.weights) if not place.size else 0.0
    found = _Next(_second(means, label), None)
    if rule == "scores" and not said["scores"]["only_members"]:
        found = _by_scores(said["scores"], similarity.rows_of(here)[0], label)  # type: ignore[attr-defined]
    elif rule in ("members", "average") and not inside:
        what, found = "its similarities", _outside(means, joins, label, rule)
    return Why(i, label, rule, weight, found.label, found.change, what if found.change is not None else "")


def _second(means: Floats, label: int) -> int | None:
    """The cluster with the highest mean similarity among the others."""
    others = np.where(np.arange(means.size) == label, -np.inf, means)
    return int(others.argmax()) if others.size and others.max() > -np.inf else None


def _outside(means: Floats, joins: Floats, label: int, rule: str) -> _Next:
    """What is next for an object in no dominant set: a set that it would join, or a higher average."""
    if not means.size:
        return _Next(None, np.inf)
    k = int(joins.argmin())
    nearest = _Next(k, max(0.0, float(joins[k])))
    second = _second(means, label)
    if rule == "members" or second is None or label < 0:
        return nearest
    margin = max(0.0, 0.5 * float(means[label] - means[second]))
    if margin <= (nearest.change or 0.0):
        return _Next(second, margin)
    return nearest if k != label else _Next(second, nearest.change)


class _Score(NamedTuple):
    """A score c + b·u - a|u|², or a difference of two."""

    c: float
    b: Floats
    a: float

    def __sub__(self, other: _Score) -> _Score:
        return _Score(self.c - other.c, self.b - other.b, self.a - other.a)

    def lifted(self, by: float) -> _Score:
        """The score and a constant."""
        return self._replace(c=self.c + by)

    def distance(self, u: Floats) -> float:
        """The length of the shortest move from u to where it is no longer positive."""
        value, slope = self.c + self.b @ u - self.a * (u @ u), np.linalg.norm(self.b - 2.0 * self.a * u)
        if value <= 0.0:
            return 0.0
        root = slope * slope + 4.0 * self.a * value if value < 0.1 * FARTHEST else -1.0
        if root < 0.0:
            return float("inf")
        # the smaller positive root of value - slope t - a t², without a difference of large numbers
        return float(2.0 * value / (slope + np.sqrt(root))) if slope + np.sqrt(root) > 0.0 else float("inf")


def _scores(of: dict[str, Any]) -> list[_Score]:
    parts = zip(of["constants"], of["rows"], of["rates"], strict=True)
    return [_Score(c, np.array(b), a) for c, b, a in parts]


def _by_scores(said: dict[str, Any], u: Floats, label: int) -> _Next:
    """The nearest place where another score is the highest, or noise begins or ends."""
    scores = _scores(said)
    back = _scores(said["background"])[0] if said["background"] else None
    judges = _scores(said["judges"]) if said["judges"] else None

    def noise(k: int) -> list[tuple[_Score, ...]]:
        """What must stay positive, each group in at least one, lest an object of k is noise."""
        limits: list[tuple[_Score, ...]] = [(scores[k].lifted(-said["least"][k]),)]
        if back is not None:
            above = scores[k].lifted(said["rest"][k])
            limits.append(tuple(one - back for one in judges or [above]))
        return limits

    if label >= 0:
        mine = scores[label]
        reach = {j: (mine - other).distance(u) for j, other in enumerate(scores) if j != label}
        reach[-1] = min(max(one.distance(u) for one in group) for group in noise(label))
    else:
        reach = {}
        for k, score in enumerate(scores):
            needed = [min(_negative(one).distance(u) for one in group) for group in noise(k)]
            needed += [(other - score).distance(u) for j, other in enumerate(scores) if j != k]
            reach[k] = max(needed)
    nearest = min(reach, key=lambda k: reach[k])
    return _Next(nearest, reach[nearest])


def _negative(score: _Score) -> _Score:
    return _Score(-score.c, -score.b, -score.a)
