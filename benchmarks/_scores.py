"""How good labels are: the same measures for every method, taken here and not by the method itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from _worker import Outcome
from families import Data

# In a result file the figures of a fit are a list in this order.
MEASURES = ("ari", "planted", "precision", "recall", "called", "clusters", "seconds")


def measured(y: np.ndarray, labels: np.ndarray) -> dict[str, float | None]:
    """The measures of one labelling of the objects that count (those of class -2 do not).

    ``ari`` is over all of them, noise being a class in both; ``planted`` is over those that are not noise in
    truth, ``called`` the share called noise. There is no precision where nothing is called noise, and no
    recall where nothing is noise.
    """
    y, labels = y[y > -2], labels[y > -2]
    labels = np.where(labels < 0, -1, labels)
    noise, called, inside = y < 0, labels < 0, y >= 0
    both = float((noise & called).sum())
    return {
        "ari": float(adjusted_rand_score(y, labels)),
        "planted": float(adjusted_rand_score(y[inside], labels[inside])),
        "precision": both / called.sum() if called.any() else None,
        "recall": both / noise.sum() if noise.any() else None,
        "called": float(called.mean()),
        "clusters": float(np.unique(labels[~called]).size),
    }


def scored(data: Data, group: str, out: Outcome) -> list[float | None] | str:
    """The figures of a method on a data set, or why there are none.

    Parameters
    ----------
    data : Data
        With labellings that are equally good: the one with the highest ARI counts, and for ``planted`` the
        one with the highest of it.
    group : str
        Among nulls, no cluster or one is right: ARI 1; else 0.
    out : Outcome
        Of the fit.
    """
    if out.failed:
        return out.failed
    rows: list[dict[str, Any]] = [measured(y, out.value) for y in data.labellings]
    best = max(rows, key=lambda row: row["ari"]) | {"seconds": out.seconds}
    best["planted"] = max(row["planted"] for row in rows)
    if group == "nulls":
        best["ari"] = best["planted"] = float(best["clusters"] <= 1)
    return [None if best[m] is None else round(best[m], 3) for m in MEASURES]
