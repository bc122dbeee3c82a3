"""The rule of labels as numbers, for a program that knows nothing of this package."""

from __future__ import annotations

from typing import Any

import numpy as np

from dominantsets.labels.mixture import Labelling
from dominantsets.rows.base import Cores, Mixture
from dominantsets.rows.rule import Rule
from dominantsets.similarity import Similarity
from dominantsets.similarity.formulas import Formula

FARTHEST = 1e300  # stands for an infinite number in JSON


def stated_scores(rule: Any, similarity: Similarity) -> dict[str, Any] | None:
    """The scores of a mixture as constants, rows and rates, see ``checker/README.md``; None for other rules.

    An object with the row y has the score ``constants + rows · y - rates |y|^2`` at a cluster. It belongs to
    the best cluster, unless the score is below ``least``, or the background has a higher one.
    """
    formula = getattr(getattr(similarity, "recipe", None), "formula", None)
    if not (isinstance(rule, Labelling) and isinstance(formula, Formula)):
        return None
    made: Rule = rule.rule
    if made.cores.tails is not None or not all(isinstance(m, Mixture) for m in made.cores.mixtures):
        return None
    least = np.asarray(made.cores.constants) - made.falls
    return _affine(made.cores, formula) | {
        "least": np.clip(np.where(made.least > 1.0, FARTHEST, least), -FARTHEST, FARTHEST).tolist(),
        "rest": np.asarray(made.rest).tolist(),
        "background": None if made.background is None else _affine(made.background, formula),
        "judges": None if made.judges is None else _affine(made.judges, formula),
    }


def _affine(cores: Cores, formula: Formula) -> dict[str, Any]:
    rates, rows = np.asarray(cores.rates), np.array([np.asarray(mixture.rows) for mixture in cores.mixtures])
    totals = np.array([mixture.total for mixture in cores.mixtures])
    biases = np.array([mixture.bias_sum for mixture in cores.mixtures])
    constants = cores.constants + rates * (formula.offset * (totals - 0.5) + biases - 0.5 * cores.inside)
    per_square = rates * totals if formula.has_bias else 0.5 * formula.factor * rates
    return {
        "constants": np.asarray(constants).tolist(),
        "rows": (formula.factor * rates[:, None] * rows).tolist(),
        "rates": per_square.tolist(),
    }
