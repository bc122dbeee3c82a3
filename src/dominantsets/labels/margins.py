r"""How far a label is from another one, in the unit of the similarity.

The score of object i at cluster k is its average similarity to the members but itself,
:math:`p_{ik} = \sum_{j \ne i} x^{(k)}_j a_{ij} / \sum_{j \ne i} x^{(k)}_j`. The margin of a label is half of
what the score at the own cluster has more than the best other score. If no similarity changes by more than e,
no average does: a label with a margin above e has the highest score before and after. The half is sharp where
clusters share no members: take a little more than the margin off the similarities to the own cluster, and add
it to those to the other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.solvers import DominantSet


def label_margins(S: Any, labels: Any, clusters: Sequence[DominantSet] | None = None) -> Floats:
    """How much similarities must change before labels do, for the labels of any method.

    An object with a positive margin m has a higher average similarity to its own cluster than to any other,
    also for all similarities that differ from these by less than m (up to rounding). Where the margin is
    negative, another cluster has the highest average. Members and their weights are taken as they are.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A precomputed similarity, or what :func:`as_similarity` returned.
    labels : array of int of shape (n,)
        The cluster of each object, -1 for none.
    clusters : sequence of DominantSet, optional
        The cluster of each label: averages are by the weights of its members. Without it the members of a
        cluster are all objects with its label, and count alike.

    Returns
    -------
    ndarray of shape (n,)
        Margins, in the unit of the similarity. nan for objects without a label, and for those whose cluster
        has no other member; inf where there is no other cluster, or no path to any.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity, label_margins
    >>> S = as_similarity(np.array([[0.0], [1.0], [2.0], [5.0], [6.0]]), "euclidean")
    >>> label_margins(S, [0, 0, 0, 1, 1])  # the third has mean distances 1.5 and 3.5: half of 2
    array([2.  , 1.75, 1.  , 1.5 , 2.  ])
    """
    similarity, labels = as_similarity(S), np.asarray(labels)
    n = similarity.n
    if labels.shape != (n,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(
            f"labels must be whole numbers, one for each of {n} objects, got {labels.dtype} of shape "
            f"{labels.shape}."
        )
    count = int(labels.max()) + 1 if clusters is None else len(clusters)
    if labels.max() >= count:
        raise ValueError(f"label {labels.max()} has no cluster: there are {count}.")
    own, best = np.full(n, np.nan), np.full(n, -np.inf)
    for k in range(count):
        mine = labels == k
        members = np.flatnonzero(mine) if clusters is None else clusters[k].members
        weights = np.ones(members.size) if clusters is None else clusters[k].weights
        if members.size:
            scores = _averages(similarity.for_cluster(k), members, weights)
            own[mine] = scores[mine]
            best = np.where(mine, best, np.fmax(best, scores))
    with np.errstate(invalid="ignore"):  # no path leads to any cluster
        return np.asarray(0.5 * (own - best))


def _averages(similarity: Similarity, members: Ints, weights: Floats) -> Floats:
    """The average similarity of each object to the members but itself; nan where there is no other one."""
    rest = np.full(similarity.n, weights.sum())
    rest[members] = rest[members] - weights if members.size > 1 else np.nan
    scores = similarity.gradient(members, weights) / rest
    if similarity.components is not None:  # nothing leads from one component to another
        homes = similarity.components[members]
        scores[(similarity.components != homes[0]) | (homes != homes[0]).any()] = -np.inf
    return np.asarray(scores)
