"""Dominant sets that belong to their labels: a set that has lost members to other labels is solved again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dominantsets._typing import Ints
from dominantsets.similarity import Similarity
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.faces import EPS
from dominantsets.solvers import DominantSet, Monitor, Point, SolverOptions, make_problem


def belonging(
    similarity: Similarity,
    clusters: list[DominantSet],
    labels: Ints,
    options: SolverOptions,
    monitor: Monitor,
    peeled: bool = False,
) -> tuple[list[DominantSet], Ints]:
    """The dominant set of each label, all of whose members have that label.

    A set of all objects whose members have its label is one of the objects with that label, too. Where some
    have another label, the set is solved again among the objects of the label, at the same shift. So is a set
    that is none of all objects, because it was found among those that earlier sets had left.

    Parameters
    ----------
    similarity : Similarity
        Of any kind.
    clusters : list of DominantSet
        The clusters, one for each label.
    labels : ndarray of int
        Labels of all objects, -1 for noise. Every cluster has objects.
    options : SolverOptions
        Those of the dominant sets.
    monitor : Monitor
        At its time limit sets are as good as they are by then.
    peeled : bool, default=False
        Whether each set was found among the objects that the sets before it left.

    Returns
    -------
    clusters : list of DominantSet
        The dominant sets.
    among : ndarray of int
        Among how many objects each is certified.
    """
    found, among = list(clusters), np.full(len(clusters), similarity.n)
    best = isinstance(options.start, str) and options.start == "global"
    if not options.starts_anywhere:
        options = replace(options, algorithm="auto")
    inside = [labels[cluster.members] == k for k, cluster in enumerate(clusters)]
    lost = [
        k
        for k, cluster in enumerate(clusters)
        if not inside[k].all() or (peeled and _is_joined(similarity.for_cluster(k), cluster))
    ]
    for k, mine in zip(lost, _with_labels(labels, lost, len(clusters)), strict=True):
        cluster, here = clusters[k], similarity.for_cluster(k)
        among[k] = mine.size
        members, weights = cluster.members[inside[k]], cluster.weights[inside[k]]
        part = here.part(mine)
        if not members.size and not best:  # begin at the object that gains most against the set
            payoffs = arrivals_of(here).payoffs_in(part, mine, cluster.members, cluster.weights)
            members, weights = mine[[payoffs.argmax()]], np.ones(1)
        if part is None:
            problem, names = make_problem(here, cluster.shift), np.arange(similarity.n)
            problem.remove(np.setdiff1d(names, mine, assume_unique=True))
        else:
            problem, names = make_problem(part, cluster.shift), mine
        if best:
            one = problem.solve(options.chosen_for(here, cluster.shift), monitor)
        else:
            start = Point(
                members if part is None else np.searchsorted(mine, members), weights / weights.sum()
            )
            one = problem.solve_from(start, options.chosen_for(here, cluster.shift, 0), monitor)
        found[k] = replace(one, members=names[one.members], undecided=names[one.undecided])
    return found, among


def _with_labels(labels: Ints, some: list[int], count: int) -> list[Ints]:
    """The objects with each of some labels, in increasing order; one pass over all labels."""
    wanted = np.zeros(count + 1, dtype=bool)  # the last place is for the label -1
    wanted[some] = True
    objects = np.flatnonzero(wanted[labels])
    order = np.argsort(labels[objects], kind="stable")
    sizes = np.bincount(labels[objects], minlength=count)[sorted(some)]
    return np.split(objects[order], np.cumsum(sizes)[:-1]) if some else []


def _is_joined(similarity: Similarity, cluster: DominantSet) -> bool:
    """Whether some outsider has a higher payoff than the margin allows: the set is none of all objects."""
    payoffs = similarity.gradient(cluster.members, cluster.weights)
    payoffs[cluster.members] = -np.inf
    error = bounds_of(similarity).rounding_of(len(cluster)) + 4.0 * EPS * abs(cluster.shift)
    return bool(payoffs.max() > cluster.threshold - cluster.margin + 4.0 * error)
