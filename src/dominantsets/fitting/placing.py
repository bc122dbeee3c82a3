"""Labels of many rows by a fit of some of them: ``predict``, block after block, wherever the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Floats, Ints
from dominantsets.labels.average import of_own, predict_by_average, predict_by_payoff
from dominantsets.labels.noise import FAR
from dominantsets.rows.foreign import is_tensor
from dominantsets.rows.operations import stacked
from dominantsets.similarity import Similarity
from dominantsets.similarity.data import Data, divided
from dominantsets.similarity.isolation import isolation_of, nearby
from dominantsets.similarity.search import searched_once

HEIGHT = 2**16  # rows of a block


@dataclass(frozen=True, eq=False)
class Placing:
    """What a fit needs to label new rows; it can be sent to where these are.

    Attributes
    ----------
    similarity : Similarity
        That of the objects that were fitted.
    assign : str or None
        How objects in no dominant set are labelled.
    rule : Rule or None
        The rule of the labels.
    levels, averages : list
        What the dominant sets ask of an object that joins.
    scale : ndarray or None
        What columns are divided by.
    directions : bool
        Whether rows are directions, so that a row of zeros has no label.
    typical : list of ndarray
        The isolation of the objects of each cluster, in increasing order; empty where the rule has
        probabilities of its own.
    """

    similarity: Similarity
    assign: str | None
    rule: Any
    levels: list[Any]
    averages: list[Any]
    scale: Floats | None = None
    directions: bool = False
    typical: Sequence[Floats] = ()

    @classmethod
    def of(cls, model: Any, *, far: float | None = None, typical: bool = True) -> Self:
        """That of a fitted estimator; with another distance from which objects are noise, if one is given."""
        rule = model._rule if model._rule is None or far is None else model._rule.within(far)
        isolation, inside = isolation_of(model.similarity_) if typical else None, list[Floats]()
        if isolation is not None and rule is not None:
            away, labels = isolation.of_objects(), np.asarray(model.labels_)
            inside = [np.sort(away[labels == k]) for k in range(len(model.clusters_))]
        directions = model.affinity_ == "cosine" or model.affinity_params_.get("metric") == "cosine"
        made = model.similarity_, model.assign, rule, model._levels, model._averages
        return cls(*made, model.scale_, directions, inside)

    def labels(self, rows: Any) -> Ints:
        """Labels of new objects, as the similarity takes them."""
        if self.assign == "average":
            return predict_by_average(self.similarity, self.levels, self.averages, rows)
        if self.rule is None:
            return predict_by_payoff(self.similarity, self.levels, rows)
        labels: Ints = self.rule.of_new(self.similarity, rows)
        return of_own(self.similarity, self.levels, labels, rows) if self.levels else labels

    def __call__(self, rows: Any) -> tuple[Ints, Floats]:
        """Labels of rows as they were given, and how typical these are of their clusters."""
        empty = np.asarray(abs(rows).sum(axis=1)).ravel() == 0 if self.directions else None
        rows = rows if self.scale is None else divided(rows, self.scale)
        if not is_tensor(rows):
            rows = sp.csr_array(rows) if sp.issparse(rows) else np.ascontiguousarray(rows)
        with searched_once():
            labels = self.labels(rows)
            labels = labels if empty is None else np.where(empty, -1, labels)
            return labels, self._typical(rows, labels)

    def _typical(self, rows: Any, labels: Ints) -> Floats:
        """The share of the cluster, with the object, that is at least as isolated; 1 without isolations."""
        isolation = isolation_of(self.similarity) if self.typical else None
        out = np.where(labels >= 0, 1.0, 0.0)
        if isolation is None:
            return out
        away = isolation.of_new(rows)
        for k, known in enumerate(self.typical):
            mine = labels == k
            nearer = np.searchsorted(known, away[mine], side="left")
            out[mine] = (1.0 + known.size - nearer) / (1.0 + known.size)
        return out

    def everywhere(self, X: Any) -> tuple[Ints, Floats]:
        """The same of all rows of a store, a block at a time and where they are."""
        rows = X.rows if isinstance(X, Data) else Data(X).rows
        try:
            labels, typical = stacked(rows.ask("apply", self, HEIGHT))
        finally:
            if (search := nearby(self.similarity, None)) is not None:
                search.leave()
        return labels, typical

    def stays(self, device: str) -> bool:
        """Whether rows on a kind of device find their neighbors there, and need not come here."""
        neighbors_only = self.assign == "refine" and self.rule is not None and not self.levels
        return neighbors_only and not self.directions and nearby(self.similarity, device) is not None


def place_rows(model: Any, X: Any, far: float = FAR) -> Ints:
    """Labels of new rows that are not in the memory of this process."""
    if X.ndim != 2 or X.shape[1] != model.n_features_in_:
        name, count = type(model).__name__, model.n_features_in_
        raise ValueError(f"X has the shape {tuple(X.shape)}, but {name} was fitted with {count} features.")
    return Placing.of(model, far=far, typical=False).everywhere(X)[0]
